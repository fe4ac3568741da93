//! The backward passes of attention in every precision against those in double precision, which the differences of the ring hold.

use super::operands::{Kind, elements, pattern, patterns};
use super::{check, outcome};
use crate::{Outcome, Report};
use bitgraph::backend::Matrix;
use bitgraph::prelude::{Csr, Dense, Dropout, FormatKind};
use bitgraph::semiring::{DType, Scalar};
use bitgraph::tensor::ops::{Attention, Operation, agnn, dot_attention, gat, gat_v2};
use bitgraph::tensor::{Any, Element, TensorBackend};
use bitgraph_testkit::tensor as oracle;
use bitgraph_testkit::tensor::Grid;
use half::{bf16, f16};

const KINDS: [&str; 4] = ["GAT", "GATv2", "dot products", "AGNN"];
/// Heads and columns of a head: those that fill vectors, and some that do not.
const HEADS: [(usize, usize); 7] = [(1, 8), (1, 64), (1, 128), (4, 16), (3, 24), (2, 33), (2, 128)];

pub(super) fn run<B: TensorBackend>(report: &mut Report, backend: &B, form: &str) {
    for (k, (name, csr)) in patterns().iter().enumerate() {
        for (s, &(heads, width)) in HEADS.iter().enumerate() {
            for (kind, what) in KINDS.iter().enumerate() {
                if (k + s + kind) % 3 != 0 || (kind == 3 && (heads > 1 || !csr.is_square())) {
                    continue;
                }
                let case = Case { csr, heads, width, kind, drop: (k + s) % 2 == 1 };
                let says = || format!("{heads} heads of {width} over {name}, dropout {}", case.drop);
                macro_rules! each {
                    ($($t:ty)*) => { $(
                        let what = format!("gradients of {what} in {} ({form})", <$t>::DTYPE);
                        check(report, &what, says, || case.compared::<B, $t>(backend));
                    )* };
                }
                each!(f32 f16 bf16);
            }
        }
    }
}

struct Case<'a> {
    csr: &'a Csr,
    heads: usize,
    width: usize,
    kind: usize,
    drop: bool,
}

/// Numbers of a type as those of another one that holds them.
fn stored<B: TensorBackend, T: Element, U: Element>(backend: &B, rows: usize, columns: usize, seed: u64) -> Result<Dense<B, U>, B::Error> {
    let numbers = elements::<T>(Kind::Fraction, rows * columns, seed).into_iter().map(|v| U::from_f64(v.to_f64())).collect();
    Dense::from_vec(backend, rows, columns, numbers)
}

impl Case<'_> {
    /// The operation in `U`, over numbers that a `T` holds.
    fn operation<B: TensorBackend, T: Element, U: Element>(&self, a: &Matrix<B>) -> Result<Operation<Attention<B, U>>, B::Error> {
        let (b, n, m, all) = (a.backend(), self.csr.nrows(), self.csr.ncols(), self.heads * self.width);
        let features = |rows, seed| stored::<B, T, U>(b, rows, all, seed);
        let reals = |rows, columns, seed| stored::<B, T, U::Real>(b, rows, columns, seed);
        let values = features(m, 1)?;
        let op = match self.kind {
            0 => gat(a, &reals(n, self.heads, 2)?, &reals(m, self.heads, 3)?, &values, 0.2),
            1 => gat_v2(a, &features(n, 4)?, &values, &reals(1, all, 5)?, self.heads, 0.2),
            2 => dot_attention(a, &features(n, 6)?, &features(m, 7)?, &values, self.heads),
            _ => agnn(a, &values, &Dense::filled(b, 1, 1, U::Real::from_f64(1.5))?),
        };
        Ok(if self.drop { op.attention_dropout(Dropout::new(0.25, 77, 2)) } else { op })
    }
    /// The gradients in a type, one after the other.
    fn gradients<B: TensorBackend, T: Element, U: Element<Output = U>>(
        &self,
        a: &Matrix<B>,
        from: bool,
    ) -> Result<Vec<Vec<f64>>, B::Error> {
        let op = self.operation::<B, T, U>(a)?;
        let (y, lse) = op.eval_for_training()?;
        let dy = stored::<B, T, U>(a.backend(), y.nrows(), y.ncols(), 9)?;
        let found = if from { op.gradient_from(&y, &lse, &dy)? } else { op.gradient_of(&lse, &dy)? };
        let mut all = vec![numbers(&found.values)?, of_any(&found.first)?];
        if let Some(second) = &found.second {
            all.push(of_any(second)?);
        }
        if let Some(parameter) = &found.parameter {
            all.push(numbers(parameter)?);
        }
        Ok(all)
    }
    fn compared<B: TensorBackend, T: Element<Output = T>>(&self, backend: &B) -> Result<Outcome, B::Error> {
        let a = pattern(backend, self.csr, FormatKind::Csr)?;
        let wanted = self.gradients::<B, T, f64>(&a, false)?;
        // The result that a form may take instead of forming it anew is rounded, weights may be, and a gradient is.
        let unit = match T::DTYPE {
            DType::F16 => 2f64.powi(-11),
            DType::Bf16 => 2f64.powi(-8),
            _ => 2f64.powi(-19),
        };
        // The gradient of a score is a difference of two sums over the columns of a head. Where they cancel, what their terms were rounded by is
        // left, whatever the gradient; a node's gradient is a sum over its entries, a parameter's one over all. Roundings are independent of
        // each other: what is left grows as the root of the number of terms.
        let mut into = vec![0usize; self.csr.ncols()];
        self.csr.indices().iter().for_each(|&j| into[j as usize] += 1);
        let longest = (0..self.csr.nrows()).map(|i| self.csr.degree(i)).chain(into).max().unwrap_or(0);
        let cancelled = |which: usize| {
            let entries = if which == 3 { self.csr.nnz() } else { longest };
            2.0 * unit * ((self.width * entries.max(1)) as f64).sqrt()
        };
        for from in [false, true] {
            for (which, (found, wanted)) in self.gradients::<B, T, T>(&a, from)?.iter().zip(&wanted).enumerate() {
                let largest = wanted.iter().fold(0f64, |m, v| m.max(v.abs()));
                let grid = Grid::of(1, wanted.len(), wanted);
                let compared = outcome(oracle::compare(&grid, found, |_| (8.0 * unit * largest.max(1.0) + cancelled(which), 2.0 * unit)));
                if let Outcome::Failed(why) = compared {
                    return Ok(Outcome::Failed(format!("operand {which}, from the result: {from}: {why}")));
                }
            }
        }
        Ok(Outcome::Passed)
    }
}

fn numbers<B: TensorBackend, U: Element>(x: &Dense<B, U>) -> Result<Vec<f64>, B::Error> {
    Ok(x.to_host()?.into_iter().map(Scalar::to_f64).collect())
}
fn of_any<B: TensorBackend>(x: &Any<B>) -> Result<Vec<f64>, B::Error> {
    bitgraph::tensor::with_dense!(x, x => numbers(x))
}
