//! `Planes`: codes of 1 to 16 bits on a backend, a plane for each bit, and what the codes stand for.
//!
//! Invariant: the words are as the layout says, plane by plane, the lowest bit first, and bits beyond the matrix are zero.

use super::{BitOperand, CodesOut, download, fits, refused_bits, upload};
use crate::any::Out;
use crate::error::{refused, same_shape};
use crate::{Bits, Dense, Error, Tensor};
use bitgraph_bittensor::{BitLayout, BitPlanes, MOST_BITS, Packing, Quantization, Rounding, Step, Steps, TileShape};
use bitgraph_sparse::Control;
use std::fmt::{Debug, Formatter};

/// What codes stand for: code `q` for `scale * (q - zero)`.
pub enum PlaneSteps<B: Tensor> {
    /// One step for the matrix.
    Tensor(Step),
    /// One for each row, rows x 1 each.
    Rows {
        /// The distances between the values of neighbouring codes.
        scale: Dense<B, f32>,
        /// The zero points.
        zero: Dense<B, f32>,
    },
    /// One for each column, 1 x columns each.
    Columns {
        /// The distances between the values of neighbouring codes.
        scale: Dense<B, f32>,
        /// The zero points.
        zero: Dense<B, f32>,
    },
}

impl<B: Tensor> PlaneSteps<B> {
    /// Steps of the host on a backend.
    ///
    /// # Errors
    /// Out of memory.
    pub fn from_host(backend: &B, steps: &Steps) -> Result<Self, B::Error> {
        let split = |steps: &[Step]| (steps.iter().map(|s| s.scale).collect::<Vec<_>>(), steps.iter().map(|s| s.zero).collect::<Vec<_>>());
        Ok(match steps {
            Steps::Tensor(step) => Self::Tensor(*step),
            Steps::Rows(steps) => {
                let (scale, zero) = split(steps);
                Self::Rows { scale: Dense::column_vector(backend, scale)?, zero: Dense::column_vector(backend, zero)? }
            }
            Steps::Columns(steps) => {
                let (scale, zero) = split(steps);
                Self::Columns { scale: Dense::row_vector(backend, scale)?, zero: Dense::row_vector(backend, zero)? }
            }
        })
    }
    /// The steps on the host.
    ///
    /// # Errors
    /// Out of memory, or whatever went wrong in the work before.
    pub fn to_host(&self) -> Result<Steps, B::Error> {
        let join = |scale: &Dense<B, f32>, zero: &Dense<B, f32>| {
            let steps = scale.to_host()?.into_iter().zip(zero.to_host()?).map(|(scale, zero)| Step { scale, zero });
            Ok::<_, B::Error>(steps.collect::<Vec<_>>().into())
        };
        Ok(match self {
            Self::Tensor(step) => Steps::Tensor(*step),
            Self::Rows { scale, zero } => Steps::Rows(join(scale, zero)?),
            Self::Columns { scale, zero } => Steps::Columns(join(scale, zero)?),
        })
    }
    /// Whether every code stands for itself.
    #[must_use]
    pub fn is_unit(&self) -> bool {
        matches!(self, Self::Tensor(step) if *step == Step::UNIT)
    }
    pub(crate) fn check(&self, (rows, columns): (usize, usize)) -> Result<(), Error> {
        let (expected, scale, zero) = match self {
            Self::Tensor(_) => return Ok(()),
            Self::Rows { scale, zero } => ((rows, 1), scale, zero),
            Self::Columns { scale, zero } => ((1, columns), scale, zero),
        };
        same_shape("planes", "the scales of the steps", expected, scale.shape())?;
        same_shape("planes", "the zero points of the steps", expected, zero.shape())
    }
}
impl<B: Tensor> Clone for PlaneSteps<B> {
    fn clone(&self) -> Self {
        match self {
            Self::Tensor(step) => Self::Tensor(*step),
            Self::Rows { scale, zero } => Self::Rows { scale: scale.clone(), zero: zero.clone() },
            Self::Columns { scale, zero } => Self::Columns { scale: scale.clone(), zero: zero.clone() },
        }
    }
}

/// A matrix of `rows x columns` codes on a backend. Cheap to clone.
pub struct Planes<B: Tensor> {
    words: Dense<B, i32>,
    layout: BitLayout,
    bits: u32,
    rounding: Rounding,
    steps: PlaneSteps<B>,
}

impl<B: Bits> Planes<B> {
    /// A host matrix on a backend. O(words).
    ///
    /// # Errors
    /// Out of memory.
    pub fn from_host(backend: &B, host: &BitPlanes) -> Result<Self, B::Error> {
        let words = upload(backend, host.layout(), host.bits(), host.words())?;
        let steps = PlaneSteps::from_host(backend, host.quantization().steps())?;
        Ok(Self { words, layout: *host.layout(), bits: host.bits(), rounding: host.quantization().rounding(), steps })
    }
    /// The same codes packed and padded otherwise, through the host. O(words); shares the words if nothing changes.
    ///
    /// # Errors
    /// Out of memory.
    pub fn repacked(&self, packing: Packing, padding: TileShape) -> Result<Self, B::Error> {
        if (packing, padding) == (self.layout.packing(), self.layout.padding()) {
            return Ok(self.clone());
        }
        let host = self.to_host()?.repacked(packing, padding, &Control::default()).map_err(refused_bits::<B>)?;
        Ok(Self { steps: self.steps.clone(), ..Self::from_host(self.backend(), &host)? })
    }
    /// The values of the codes, on the backend. O(elements * bits).
    ///
    /// # Errors
    /// Out of memory.
    pub fn to_dense(&self) -> Result<Dense<B, f32>, B::Error> {
        BitOperand::from(self).to_dense()
    }
}

impl<B: Tensor> Planes<B> {
    /// The handle of words that a backend made. Bits beyond the matrix must be zero.
    ///
    /// # Errors
    /// [`Error::Bits`] for a width outside 1 to 16; [`Error::Shape`] if the words are not `bits * padded_lines x stride`, or for steps that
    /// do not fit; [`Error::Combination`] if there are gaps between lines.
    pub fn from_raw(words: Dense<B, i32>, layout: BitLayout, bits: u32, rounding: Rounding, steps: PlaneSteps<B>) -> Result<Self, Error> {
        width(bits)?;
        fits(words.shape(), words.window().is_contiguous(), &layout, bits)?;
        steps.check((layout.nrows(), layout.ncols()))?;
        Ok(Self { words, layout, bits, rounding, steps })
    }
    /// The matrix on the host. O(words).
    ///
    /// # Errors
    /// [`Error::Bits`] for steps whose scale is not positive and finite; out of memory; whatever went wrong in the work before.
    pub fn to_host(&self) -> Result<BitPlanes, B::Error> {
        let quantization = Quantization::new(self.bits, self.rounding, self.steps.to_host()?).map_err(refused_bits::<B>)?;
        BitPlanes::from_words(self.layout, quantization, download(&self.words)?.into()).map_err(refused_bits::<B>)
    }
    /// The same codes with other steps.
    ///
    /// # Errors
    /// [`Error::Shape`] for steps that do not fit.
    pub fn with_steps(self, steps: PlaneSteps<B>) -> Result<Self, B::Error> {
        steps.check(self.shape()).map_err(refused::<B>)?;
        Ok(Self { steps, ..self })
    }
    /// The words, `bits * padded_lines x stride`, plane by plane and line by line.
    #[must_use]
    pub fn words(&self) -> &Dense<B, i32> {
        &self.words
    }
    /// Where each bit of a plane is.
    #[must_use]
    pub fn layout(&self) -> &BitLayout {
        &self.layout
    }
    /// Bits of a code: the number of planes.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }
    /// How elements became codes.
    #[must_use]
    pub fn rounding(&self) -> Rounding {
        self.rounding
    }
    /// What the codes stand for.
    #[must_use]
    pub fn steps(&self) -> &PlaneSteps<B> {
        &self.steps
    }
    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &B {
        self.words.backend()
    }
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.layout.nrows(), self.layout.ncols())
    }
    /// The words to write to, and the steps; what other handles share is copied or replaced first.
    pub(crate) fn open(&mut self) -> Result<(CodesOut<'_, B>, &mut PlaneSteps<B>), B::Error> {
        let Out { array, window } = self.words.as_mut().open()?;
        Ok((CodesOut { words: Out { array, window }, layout: self.layout, planes: self.bits }, &mut self.steps))
    }
    /// Bytes of words and steps.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let steps = match &self.steps {
            PlaneSteps::Tensor(_) => 8,
            PlaneSteps::Rows { scale, zero } | PlaneSteps::Columns { scale, zero } => scale.bytes() + zero.bytes(),
        };
        self.words.bytes() + steps
    }
    /// The transpose, packed the other way: the words are shared. O(1), or O(steps) where a backend has to move them.
    ///
    /// # Errors
    /// Out of memory.
    pub fn transposed(&self) -> Result<Self, B::Error> {
        let steps = match &self.steps {
            PlaneSteps::Tensor(step) => PlaneSteps::Tensor(*step),
            PlaneSteps::Rows { scale, zero } => {
                PlaneSteps::Columns { scale: scale.reshaped(1, scale.nrows())?, zero: zero.reshaped(1, zero.nrows())? }
            }
            PlaneSteps::Columns { scale, zero } => {
                PlaneSteps::Rows { scale: scale.reshaped(scale.ncols(), 1)?, zero: zero.reshaped(zero.ncols(), 1)? }
            }
        };
        Ok(Self { words: self.words.clone(), layout: self.layout.transposed(), bits: self.bits, rounding: self.rounding, steps })
    }
}

/// Refuses a width outside 1 to 16 bits.
pub(crate) fn width(bits: u32) -> Result<(), Error> {
    if (1..=MOST_BITS).contains(&bits) {
        return Ok(());
    }
    Err(Error::Bits(bitgraph_bittensor::Error::Width { bits, smallest: 1 }))
}

impl<B: Tensor> Clone for Planes<B> {
    fn clone(&self) -> Self {
        let Self { words, layout, bits, rounding, steps } = self;
        Self { words: words.clone(), layout: *layout, bits: *bits, rounding: *rounding, steps: steps.clone() }
    }
}
impl<B: Tensor> Debug for Planes<B> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (rows, columns) = self.shape();
        let (bits, packing) = (self.bits, self.layout.packing());
        write!(f, "Planes({rows} x {columns}, {bits} bits, packed along {packing} on {})", self.backend().name())
    }
}
