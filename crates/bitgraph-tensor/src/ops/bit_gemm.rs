//! Dense products with operands of few bits.

use super::bit_result::BitComputation;
use super::operation::{Computation, Fusing, Operation};
use crate::any::{Any, AnyMut, Reals};
use crate::bits::{BitOperand, BitOut, PlaneSteps, SignScales};
use crate::epilogue::{Epilogue, Step};
use crate::error::same_shape;
use crate::{Bits, Dense, Error, Tensor};
use bitgraph_bittensor::Packing;

/// `A B` over the operands' values, then the epilogue.
///
/// Signs here have no scales: those of the first one's rows and of the second one's columns are the epilogue's first steps. With codes
/// `q` and signs as codes of one bit of scale 2 around zero point 1/2, an element is
/// `scale_a(i) scale_b(j) (sum q_a q_b - zero_b(j) sum q_a - zero_a(i) sum q_b + length zero_a(i) zero_b(j))`: products by AND and counting, and
/// a correction of rank 2.
pub struct BitGemmOp<B: Tensor> {
    /// The first matrix; bits are packed along rows.
    pub a: BitOperand<B>,
    /// The second matrix; bits are packed along columns.
    pub b: BitOperand<B>,
    /// What is done to the elements before they are stored.
    pub epilogue: Epilogue<B>,
}

impl<B: Tensor> BitGemmOp<B> {
    /// Rows of the product, columns of the product, and the length of its sums.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize, usize) {
        (self.a.shape().0, self.b.shape().1, self.a.shape().1)
    }
    /// Whether results are whole numbers, stored as they are: they are formed exactly, and wrap as `i32` where integers are stored.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.a.is_whole() && self.b.is_whole() && self.epilogue.is_empty()
    }
}

/// [`bit_gemm`].
pub struct BitGemm<B: Tensor> {
    op: BitGemmOp<B>,
}

/// `A B` where operands may be signs, planes or dense floats: the product of their values, scales and steps included. O(rows * columns *
/// length / 32 * planes of both) for bits.
///
/// Bits of the first operand are packed along rows, of the second along columns, so that both are read along the dimension that is summed
/// over. Scales or steps that vary along that dimension are refused: they cannot be taken out of the sum. Sums of bits are exact. With dense
/// elements in one operand sums are formed in `f32`; that operand is not binarised ([`Dense::sign`] does that).
///
/// [`Operation::eval`] gives `f32`, [`Operation::eval_as`] any type, [`Operation::eval_signs`] and [`Operation::eval_planes`] bits. Two signs
/// that meet count as +1 or -1: a product of length `n` is `n` minus twice the number of places that differ.
pub fn bit_gemm<B: Bits>(a: impl Into<BitOperand<B>>, b: impl Into<BitOperand<B>>) -> Operation<BitGemm<B>> {
    let (mut a, mut b, mut epilogue) = (a.into(), b.into(), Epilogue::default());
    if let BitOperand::Signs(x) = &mut a
        && let SignScales::Rows(d) = x.scales()
    {
        epilogue.0.push(Step::ScaleRows(Reals::new(d)));
        *x = x.clone().without_scales();
    }
    if let BitOperand::Signs(x) = &mut b
        && let SignScales::Columns(d) = x.scales()
    {
        epilogue.0.push(Step::ScaleColumns(Reals::new(d)));
        *x = x.clone().without_scales();
    }
    Operation(BitGemm { op: BitGemmOp { a, b, epilogue } })
}

impl<B: Bits> Operation<BitGemm<B>> {
    /// Multiplies every row by its element of a matrix of one column: [`Operation::times_rows`] under the name that sparse products have for it.
    pub fn scale_rows(self, d: &Dense<B, f32>) -> Self {
        self.times_rows(d)
    }
    /// Multiplies every column by its element of a matrix of one row.
    pub fn scale_columns(self, d: &Dense<B, f32>) -> Self {
        self.times_columns(d)
    }
    /// The descriptor that a backend gets.
    #[must_use]
    pub fn descriptor(&self) -> &BitGemmOp<B> {
        &self.0.op
    }
}

/// Refuses scales or steps of an operand that vary along the dimension that is summed over.
fn inner<B: Tensor>(operand: &'static str, along: Packing, x: &BitOperand<B>) -> Result<(), Error> {
    let varies = match (x, along) {
        (BitOperand::Signs(x), Packing::Columns) => matches!(x.scales(), SignScales::Columns(_)),
        (BitOperand::Signs(x), Packing::Rows) => matches!(x.scales(), SignScales::Rows(_)),
        (BitOperand::Planes(x), Packing::Columns) => matches!(x.steps(), PlaneSteps::Columns { .. }),
        (BitOperand::Planes(x), Packing::Rows) => matches!(x.steps(), PlaneSteps::Rows { .. }),
        (BitOperand::Dense(_), _) => false,
    };
    if varies { Err(Error::Bits(bitgraph_bittensor::Error::InnerScales { operand, along })) } else { Ok(()) }
}

impl<B: Bits> Computation for BitGemm<B> {
    type Backend = B;
    type Real = f32;
    type Output = f32;
    const NAME: &'static str = "bit_gemm";

    fn backend(&self) -> &B {
        self.op.a.backend()
    }
    fn check(&self) -> Result<(usize, usize), Error> {
        let (name, op) = (Self::NAME, &self.op);
        let (rows, columns, length) = op.sizes();
        same_shape(name, "the second matrix", (length, columns), op.b.shape())?;
        op.a.check(name, "the first", Packing::Rows)?;
        op.b.check(name, "the second", Packing::Columns)?;
        inner("first", Packing::Columns, &op.a)?;
        inner("second", Packing::Rows, &op.b)?;
        if let (BitOperand::Dense(_), BitOperand::Dense(_)) = (&op.a, &op.b) {
            let why = "there is no bit in it; take gemm";
            return Err(Error::Combination { operation: name, what: "two dense matrices", why });
        }
        op.epilogue.check(name, (rows, columns))?;
        Ok((rows, columns))
    }
    fn operands(&self, f: &mut dyn FnMut(&'static str, &Any<B>)) {
        self.op.a.arrays("the first matrix", f);
        self.op.b.arrays("the second matrix", f);
        self.op.epilogue.operands(f);
    }
    fn run(&self, y: AnyMut<'_, B>) -> Result<(), B::Error> {
        self.run_bits(BitOut::Dense(y))
    }
}
impl<B: Bits> Fusing for BitGemm<B> {
    fn epilogue(&mut self) -> &mut Epilogue<B> {
        &mut self.op.epilogue
    }
}
impl<B: Bits> BitComputation for BitGemm<B> {
    fn run_bits(&self, y: BitOut<'_, B>) -> Result<(), B::Error> {
        self.backend().bit_gemm(&self.op, y)
    }
}
