//! Dense matrices to bits on the backend: signs, and codes by known steps.

use crate::any::{Any, Out, Reals};
use crate::bits::{CodesOut, PlaneSteps, Planes, Signs, empty, refused_bits};
use crate::error::{refused, same_shape};
use crate::{Bits, Dense, Element, Error, Tensor};
use bitgraph_bittensor::{BitLayout, Packing, Quantization, Rounding, Scaling, TileShape};
use bitgraph_semiring::DType;

/// What the code of an element is.
pub enum Coding<B: Tensor> {
    /// One bit: 1 where the element is at or above its column's threshold, of one row, or 0 without; 0 elsewhere and for a NaN.
    Sign(Option<Reals<B>>),
    /// The code whose value is next to the element, as [`bitgraph_bittensor::Quantization`] says: `clamp(x / scale + zero, 0, 2^bits - 1)`,
    /// rounded half up or down; 0 for a NaN.
    Steps {
        /// Bits of a code, 1 to 16.
        bits: u32,
        /// How a position between two codes becomes one.
        rounding: Rounding,
        /// What the codes stand for.
        steps: PlaneSteps<B>,
    },
}

/// The codes of the elements of `x`, which are read as `f32`.
pub struct PackOp<B: Tensor> {
    /// The matrix.
    pub x: Any<B>,
    /// What a code is.
    pub coding: Coding<B>,
}

/// Elements that are read as `f32` without losing their sign or their order.
fn check<B: Tensor>(operation: &'static str, x: &Any<B>) -> Result<(), Error> {
    if x.dtype() != DType::F64 {
        return Ok(());
    }
    let allowed = "a type of 32 bits or fewer".into();
    Err(Error::Type { operation, operand: "the matrix", other: DType::F32, found: DType::F64, allowed })
}

/// Memory for the codes of a matrix, and what the backend writes into it.
fn packed<B: Bits>(op: &PackOp<B>, planes: u32, packing: Packing) -> Result<(Dense<B, i32>, BitLayout), B::Error> {
    let (rows, columns) = op.x.shape();
    let layout = BitLayout::new(rows, columns, packing, TileShape::WORD).map_err(refused_bits::<B>)?;
    let mut words = empty(op.x.backend(), &layout, planes)?;
    let Out { array, window } = words.as_mut().open()?;
    op.x.backend().pack(op, CodesOut { words: Out { array, window }, layout, planes })?;
    Ok((words, layout))
}

/// Matrices of few bits, made on the backend.
impl<B: Bits, T: Element> Dense<B, T> {
    /// The signs of the elements (BitGNN's BIN): +1 from zero up, -1 below and for a NaN. O(elements).
    ///
    /// # Errors
    /// [`Error::Type`] for `f64`; [`Error::Bits`] for a shape beyond 32 bits; out of memory.
    pub fn sign(&self, packing: Packing) -> Result<Signs<B>, B::Error> {
        self.signs(None, packing)
    }
    /// As [`Dense::sign`], +1 from a threshold for each column up, of one row.
    ///
    /// # Errors
    /// As [`Dense::sign`], and [`Error::Shape`] for thresholds that do not fit.
    pub fn sign_from(&self, thresholds: &Dense<B, f32>, packing: Packing) -> Result<Signs<B>, B::Error> {
        same_shape("sign", "the thresholds", (1, self.ncols()), thresholds.shape()).map_err(refused::<B>)?;
        self.signs(Some(Reals::new(thresholds)), packing)
    }
    /// The signs, and as their scales the mean magnitudes of rows or columns (BitGNN's SCL). Means are formed in double precision.
    ///
    /// # Errors
    /// As [`Dense::sign`].
    pub fn sign_scaled(&self, packing: Packing, scaling: Scaling) -> Result<Signs<B>, B::Error> {
        let signs = self.sign(packing)?;
        let (rows, columns) = self.shape();
        let shape = match scaling {
            Scaling::None => return Ok(signs),
            Scaling::RowMeans => (rows, 1),
            Scaling::ColumnMeans => (1, columns),
        };
        let mut means = Dense::<B, f32>::zeros(self.backend(), shape.0, shape.1)?;
        let along = if scaling == Scaling::RowMeans { Packing::Rows } else { Packing::Columns };
        self.backend().mean_magnitudes(&self.any(), along, f32::erase_mut(means.as_mut().open()?))?;
        if scaling == Scaling::RowMeans { signs.with_row_scales(&means) } else { signs.with_column_scales(&means) }
    }
    fn signs(&self, thresholds: Option<Reals<B>>, packing: Packing) -> Result<Signs<B>, B::Error> {
        let x = self.any();
        check("sign", &x).map_err(refused::<B>)?;
        let (words, layout) = packed(&PackOp { x, coding: Coding::Sign(thresholds) }, 1, packing)?;
        Signs::from_raw(words, layout).map_err(refused::<B>)
    }
    /// The codes of the elements by known steps; 0 for a NaN. O(elements * bits).
    ///
    /// # Errors
    /// As [`Dense::sign`], and [`Error::Shape`] for steps that do not fit.
    pub fn quantize(&self, quantization: &Quantization, packing: Packing) -> Result<Planes<B>, B::Error> {
        let (x, bits, rounding) = (self.any(), quantization.bits(), quantization.rounding());
        check("quantize", &x).map_err(refused::<B>)?;
        let steps = PlaneSteps::from_host(self.backend(), quantization.steps())?;
        steps.check(self.shape()).map_err(refused::<B>)?;
        let op = PackOp { x, coding: Coding::Steps { bits, rounding, steps: steps.clone() } };
        let (words, layout) = packed(&op, bits, packing)?;
        Planes::from_raw(words, layout, bits, rounding, steps).map_err(refused::<B>)
    }
}
