//! What a product of bits reads and writes: dense, signs, or planes.

use super::{PlaneSteps, Planes, SignScales, Signs};
use crate::any::{Any, AnyMut, Out};
use crate::{Bits, Dense, Element, Error, Tensor};
use bitgraph_bittensor::{BitLayout, Packing};
use bitgraph_semiring::DType;

/// An operand of a product of bits.
pub enum BitOperand<B: Tensor> {
    /// Elements of 16 or 32 bits, as they are: nothing is binarised.
    Dense(Any<B>),
    /// Signs.
    Signs(Signs<B>),
    /// Codes.
    Planes(Planes<B>),
}

impl<B: Tensor> BitOperand<B> {
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Self::Dense(x) => x.shape(),
            Self::Signs(x) => x.shape(),
            Self::Planes(x) => x.shape(),
        }
    }
    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &B {
        match self {
            Self::Dense(x) => x.backend(),
            Self::Signs(x) => x.backend(),
            Self::Planes(x) => x.backend(),
        }
    }
    /// The layout of a matrix of bits; none of a dense one.
    #[must_use]
    pub fn layout(&self) -> Option<&BitLayout> {
        match self {
            Self::Dense(_) => None,
            Self::Signs(x) => Some(x.layout()),
            Self::Planes(x) => Some(x.layout()),
        }
    }
    /// Whether its values are whole numbers without further ado: signs without scales, and codes that stand for themselves.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Dense(_) => false,
            Self::Signs(x) => matches!(x.scales(), SignScales::None),
            Self::Planes(x) => x.steps().is_unit(),
        }
    }
    /// Refuses dense elements that are not floats of 16 or 32 bits, and bits that are packed the other way.
    pub(crate) fn check(&self, operation: &'static str, operand: &'static str, expected: Packing) -> Result<(), Error> {
        match self {
            Self::Dense(x) if !matches!(x.dtype(), DType::F16 | DType::Bf16 | DType::F32) => Err(Error::Type {
                operation,
                operand,
                other: DType::F32,
                found: x.dtype(),
                allowed: "f16, bf16, f32, signs or planes".into(),
            }),
            _ => match self.layout().map(BitLayout::packing) {
                Some(found) if found != expected => {
                    Err(Error::Bits(bitgraph_bittensor::Error::Packed { operand: operand.trim_start_matches("the "), expected, found }))
                }
                _ => Ok(()),
            },
        }
    }
    /// Calls `f` with every array of the operand.
    pub(crate) fn arrays(&self, operand: &'static str, f: &mut dyn FnMut(&'static str, &Any<B>)) {
        match self {
            Self::Dense(x) => f(operand, x),
            Self::Signs(x) => f(operand, &x.words().any()),
            Self::Planes(x) => {
                f(operand, &x.words().any());
                if let PlaneSteps::Rows { scale, zero } | PlaneSteps::Columns { scale, zero } = x.steps() {
                    f(operand, &scale.any());
                    f(operand, &zero.any());
                }
            }
        }
    }
}

impl<B: Bits> BitOperand<B> {
    /// The values, on the backend.
    pub(crate) fn to_dense(&self) -> Result<Dense<B, f32>, B::Error> {
        let (rows, columns) = self.shape();
        let mut y = Dense::<B, f32>::zeros(self.backend(), rows, columns)?;
        self.backend().unpack(self, f32::erase_mut(y.as_mut().open()?))?;
        Ok(y)
    }
}

impl<B: Tensor> Clone for BitOperand<B> {
    fn clone(&self) -> Self {
        match self {
            Self::Dense(x) => Self::Dense(x.clone()),
            Self::Signs(x) => Self::Signs(x.clone()),
            Self::Planes(x) => Self::Planes(x.clone()),
        }
    }
}
impl<B: Tensor, T: Element> From<&Dense<B, T>> for BitOperand<B> {
    fn from(x: &Dense<B, T>) -> Self {
        Self::Dense(x.any())
    }
}
impl<B: Tensor> From<&Signs<B>> for BitOperand<B> {
    fn from(x: &Signs<B>) -> Self {
        Self::Signs(x.clone())
    }
}
impl<B: Tensor> From<&Planes<B>> for BitOperand<B> {
    fn from(x: &Planes<B>) -> Self {
        Self::Planes(x.clone())
    }
}

/// Words that a backend writes to, all of them: those beyond the matrix hold zeros already.
pub struct CodesOut<'a, B: Tensor> {
    /// The words, `planes * padded_lines x stride`.
    pub words: Out<'a, B, i32>,
    /// Where each bit of a plane is.
    pub layout: BitLayout,
    /// Bits of a code.
    pub planes: u32,
}

/// What the result of a product of bits is written to.
pub enum BitOut<'a, B: Tensor> {
    /// Elements.
    Dense(AnyMut<'a, B>),
    /// Bits, packed along rows. The epilogue's last step is [`Step::Sign`](crate::Step::Sign), whose 1 is a bit of 1 and whose -1 one of 0, or
    /// [`Step::Quantise`](crate::Step::Quantise), whose level is the code.
    Codes(CodesOut<'a, B>),
    /// For [`bit_spmm`](crate::ops::bit_spmm) of signs, without an epilogue: how many +1 are among the messages of each row, packed along rows.
    Counts(CodesOut<'a, B>),
}

impl<'a, B: Tensor> BitOut<'a, B> {
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Self::Dense(y) => y.window().shape(),
            Self::Codes(y) | Self::Counts(y) => (y.layout.nrows(), y.layout.ncols()),
        }
    }
}
