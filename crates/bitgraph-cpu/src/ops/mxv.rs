//! Matrix times vector: by rows (pull), or by the entries of a sparse vector (push) for a transposed product.
//!
//! Determinism: every output is combined in ascending order of the other index, whatever the threads; sums of the float
//! layouts that a plan asked for use a fixed order of their own.

use super::build;
use super::selection::{Selection, write_back};
use crate::Cpu;
use crate::matrix::CpuMatrix;
use crate::tile::{RowEntries, sum};
use bitgraph_b2sr::with_layout;
use bitgraph_backend::ops::{VectorWrite, View};
use bitgraph_backend::{Accumulate, Error, Mxv, StorableSemiring};
use bitgraph_sparse::{BitVector, Store, Vector, parallel};

/// One thread pushes a vector with one value in so many positions in less time than it pulls it: with one in 20, over a small Kronecker graph in any
/// format, in .07 to .13 of that.
const PUSHED: usize = 4;

impl<S: StorableSemiring> Mxv<S> for Cpu {
    fn mxv<C: Accumulate<S::Out>>(
        &self,
        w: &mut Vector<S::Out>,
        write: VectorWrite<'_, Self, C>,
        View { matrix: a, transposed }: View<'_, Self>,
        u: &Vector<S::X>,
    ) -> Result<(), Error> {
        let selection = Selection::new(write.mask);
        let everything = selection.is_everything() && !C::ACTIVE;
        if everything && !transposed && !self.is_reference() && a.values().is_none() && super::fast::sum_into::<S>(a, u, w) {
            return Ok(());
        }
        let t = product::<S>(*self, selection, a, u, transposed)?;
        if everything {
            *w = t;
        } else {
            write_back(*self, w, write, |i| t.get(i));
        }
        Ok(())
    }
}

/// The product at the positions that the selection wants; elsewhere it may hold anything. Apart from the write-back, so that
/// it is compiled once for a semiring whatever the accumulators.
fn product<S: StorableSemiring>(
    cpu: Cpu,
    selection: Selection<'_>,
    a: &CpuMatrix,
    u: &Vector<S::X>,
    transpose: bool,
) -> Result<Vector<S::Out>, Error> {
    let values = a.values().map(|v| v.expect::<S::A>()).transpose().map_err(Error::from)?;
    if transpose {
        // A sparse vector is pushed along its own rows, by one thread; a fuller one is pulled through the transpose, by all.
        if cpu.is_reference() || u.nvals() < u.len() / (PUSHED * crate::threads::allowed()) {
            return Ok(push::<S>(cpu, a, values, u));
        }
        return product::<S>(cpu, selection, a.transposed(), u, false);
    }
    if !cpu.is_reference()
        && values.is_none()
        && let Some(t) = super::fast::mxv::<S>(a, u, selection)
    {
        return Ok(t);
    }
    if values.is_some() && a.shape().0 > 0 {
        // Derived once here rather than by whichever task comes first.
        let _ = a.row_start(0);
    }
    let values = |i: usize| values.map(|v| &v[a.row_start(i)..]);
    let x = u.store().as_slice().filter(|_| u.is_full());
    Ok(with_layout!(a.layout(), m => {
        build::vector(a.shape().0, cpu.is_reference(), |i| selection.selects(i).then(|| row::<S>(m.row_entries(i), values(i), u, x)).flatten())
    }))
}

/// The sum over one row's entries that meet an entry of `u`, whose values are `x` if it is full; `None` if none does.
#[inline(always)]
fn row<S: StorableSemiring>(
    columns: impl Iterator<Item = u32>,
    values: Option<&[S::A]>,
    u: &Vector<S::X>,
    x: Option<&[S::X]>,
) -> Option<S::Out> {
    let sum = match (x, values) {
        (Some(x), None) => sum::<S>(columns.map(|c| S::multiply_pattern(x[c as usize]))),
        (Some(x), Some(values)) => sum::<S>(columns.zip(values).map(|(c, &value)| S::multiply(value, x[c as usize]))),
        (None, _) => sum::<S>(columns.enumerate().filter_map(|(k, c)| {
            let x = u.get(c as usize)?;
            Some(values.map_or_else(|| S::multiply_pattern(x), |values| S::multiply(values[k], x)))
        })),
    };
    sum.map(S::finish)
}

/// The product with the transpose, row by row of the matrix: every output meets its rows in ascending order.
fn push<S: StorableSemiring>(cpu: Cpu, a: &CpuMatrix, values: Option<&[S::A]>, u: &Vector<S::X>) -> Vector<S::Out> {
    let columns = a.shape().1;
    let mut sums = parallel::tabulate(columns, 1 << 14, |_| S::zero());
    let mut touched = BitVector::zeros(columns);
    let mut scratch = Vec::new();
    for (row, x) in u.iter() {
        let start = if values.is_some() { a.row_start(row) } else { 0 };
        for (k, &c) in a.row(row, &mut scratch).iter().enumerate() {
            let c = c as usize;
            let product = values.map_or_else(|| S::multiply_pattern(x), |v| S::multiply(v[start + k], x));
            if touched.get(c) {
                sums[c] = S::add(sums[c], product);
            } else {
                touched.set(c, true);
                sums[c] = product;
            }
        }
    }
    build::vector(columns, cpu.is_reference(), |i| touched.get(i).then(|| S::finish(sums[i])))
}
