//! Results that are stored as bits: signs, and levels as planes.

use super::operation::{Fusing, Operation};
use crate::any::Out;
use crate::bits::{BitOut, CodesOut, PlaneSteps, Planes, Signs, empty, refused_bits};
use crate::epilogue::{Quantise, Step};
use crate::error::{refused, same_shape};
use crate::{Bits, Dense, Error};
use bitgraph_backend::Backend;
use bitgraph_bittensor::{BitLayout, Packing, Rounding, TileShape};

/// A computation whose result can be stored as bits.
pub trait BitComputation: Fusing {
    /// Computes.
    ///
    /// # Errors
    /// The backend's.
    fn run_bits(&self, y: BitOut<'_, Self::Backend>) -> Result<(), <Self::Backend as Backend>::Error>;
}

/// New words, packed along rows, that `run` has filled.
pub(super) fn filled<B: Bits>(
    backend: &B,
    (rows, columns): (usize, usize),
    planes: u32,
    run: impl FnOnce(CodesOut<'_, B>) -> Result<(), B::Error>,
) -> Result<(Dense<B, i32>, BitLayout), B::Error> {
    let layout = BitLayout::new(rows, columns, Packing::Rows, TileShape::WORD).map_err(refused_bits::<B>)?;
    let mut words = empty(backend, &layout, planes)?;
    let Out { array, window } = words.as_mut().open()?;
    run(CodesOut { words: Out { array, window }, layout, planes })?;
    Ok((words, layout))
}

/// Refuses a result of bits that does not fit, shares words with an operand, or is packed along columns.
pub(super) fn fits<F: BitComputation>(
    computation: &F,
    found: (usize, usize),
    layout: &BitLayout,
    words: &Dense<F::Backend, i32>,
) -> Result<(), Error> {
    same_shape(F::NAME, "the output", computation.check()?, found)?;
    if layout.packing() != Packing::Rows {
        let (expected, found) = (Packing::Rows, layout.packing());
        return Err(Error::Bits(bitgraph_bittensor::Error::Packed { operand: "output", expected, found }));
    }
    let mut shared = None;
    computation.operands(&mut |name, operand| {
        if operand.overlaps(words.array_id(), &words.window()) {
            shared = Some(name);
        }
    });
    shared.map_or(Ok(()), |operand| Err(Error::Overlap { operation: F::NAME, operand }))
}

impl<F: BitComputation> Operation<F>
where
    F::Backend: Bits,
{
    /// Computes, and stores signs, packed along rows: of the last step, [`Operation::sign`] or [`Operation::threshold`], or of the
    /// results where the last step is another.
    ///
    /// # Errors
    /// As [`Operation::into`], and [`Error::Bits`](crate::Error::Bits) for a shape beyond 32 bits.
    pub fn eval_signs(mut self) -> Result<Signs<F::Backend>, <F::Backend as Backend>::Error> {
        if !matches!(self.0.epilogue().0.last(), Some(Step::Sign(_))) {
            self = self.sign();
        }
        let shape = self.0.check().map_err(refused::<F::Backend>)?;
        let (words, layout) = filled(self.0.backend(), shape, 1, |y| self.0.run_bits(BitOut::Codes(y)))?;
        Signs::from_raw(words, layout).map_err(refused::<F::Backend>)
    }
    /// As [`Operation::eval_signs`], to signs that are there, whose scales go.
    ///
    /// # Errors
    /// As [`Operation::eval_signs`], and [`Error::Shape`](crate::Error::Shape), [`Error::Overlap`](crate::Error::Overlap) or
    /// [`Error::Bits`](crate::Error::Bits) for signs that do not fit, are an operand too, or are not packed along rows.
    pub fn into_signs(mut self, y: &mut Signs<F::Backend>) -> Result<(), <F::Backend as Backend>::Error> {
        if !matches!(self.0.epilogue().0.last(), Some(Step::Sign(_))) {
            self = self.sign();
        }
        fits(&self.0, y.shape(), y.layout(), y.words()).map_err(refused::<F::Backend>)?;
        self.0.run_bits(BitOut::Codes(y.open()?))
    }
    /// Computes, and stores the levels of a quantiser as planes, packed along rows.
    ///
    /// # Errors
    /// As [`Operation::eval_signs`].
    pub fn eval_planes(mut self, quantise: Quantise) -> Result<Planes<F::Backend>, <F::Backend as Backend>::Error> {
        self = self.quantise(quantise);
        let shape = self.0.check().map_err(refused::<F::Backend>)?;
        let (words, layout) = filled(self.0.backend(), shape, quantise.bits, |y| self.0.run_bits(BitOut::Codes(y)))?;
        let step = bitgraph_bittensor::Step { scale: quantise.scale as f32, zero: quantise.zero_point as f32 };
        Planes::from_raw(words, layout, quantise.bits, Rounding::Nearest, PlaneSteps::Tensor(step)).map_err(refused::<F::Backend>)
    }
}
