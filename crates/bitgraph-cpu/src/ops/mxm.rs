//! Matrix times matrix: Gustavson's row-wise product for a sparse result and for the sum of one; under a mask that lists places,
//! intersections for these alone are summed.

use super::rows::{LISTS, Spare, build, each_block, seen};
use super::write::{MaskView, write_back};
use crate::Cpu;
use crate::matrix::{CpuMatrix, Layout};
use crate::tile::bmm_sum_masked;
use bitgraph_backend::ops::{MatrixMask, MatrixWrite, View};
use bitgraph_backend::{Accumulate, Error, Mxm, StorableSemiring};
use bitgraph_semiring::builtin_name;
use bitgraph_sparse::Csr;
use std::any::{Any, TypeId};
use std::sync::OnceLock;

/// A matrix with typed values or none, transposed if asked for.
struct Operand<'a, T> {
    csr: Csr,
    values: Option<&'a [T]>,
}

impl<'a, T: bitgraph_sparse::Stored> Operand<'a, T> {
    fn of(view: View<'a, Cpu>) -> Result<Self, Error> {
        let source = seen(view);
        let values = source.values().map(|v| v.expect::<T>()).transpose()?;
        Ok(Self { csr: source.to_csr(), values })
    }
    #[inline]
    fn value(&self, position: usize) -> Option<T> {
        self.values.map(|v| v[position])
    }
}

/// The product of two values, either of which may be the implicit 1.
#[inline]
fn product<S: StorableSemiring>(a: Option<S::A>, x: Option<S::X>) -> S::Acc {
    let x = x.unwrap_or(<S::X as bitgraph_semiring::Scalar>::ONE);
    a.map_or_else(|| S::multiply_pattern(x), |a| S::multiply(a, x))
}

/// The sums of one row of a product at a time, by column.
struct RowSums<S: StorableSemiring> {
    sums: Vec<S::Acc>,
    /// The row that last touched each column.
    seen: Vec<u32>,
    /// The columns of the row at hand.
    list: Vec<u32>,
}

impl<S: StorableSemiring> RowSums<S> {
    fn new(columns: usize) -> Self {
        Self { sums: vec![S::zero(); columns], seen: vec![u32::MAX; columns], list: Vec::new() }
    }
    /// Visits row `i` of `A B` in the order of its columns; every sum is formed in the order of the inner index. A row may be asked for
    /// once. O(products of the row, and their columns sorted).
    fn visit(&mut self, a: &Operand<'_, S::A>, b: &Operand<'_, S::X>, i: usize, mut f: impl FnMut(u32, S::Acc)) {
        self.list.clear();
        for p in a.csr.row_range(i) {
            let k = a.csr.indices()[p] as usize;
            let left = a.value(p);
            for q in b.csr.row_range(k) {
                let j = b.csr.indices()[q];
                let slot = j as usize;
                let value = product::<S>(left, b.value(q));
                if self.seen[slot] == i as u32 {
                    self.sums[slot] = S::add(self.sums[slot], value);
                } else {
                    self.seen[slot] = i as u32;
                    self.sums[slot] = value;
                    self.list.push(j);
                }
            }
        }
        self.list.sort_unstable();
        for &j in &self.list {
            f(j, self.sums[j as usize]);
        }
    }
}

/// The sum of two sums, either of which may be of nothing.
fn add<S: StorableSemiring>(a: Option<S::Acc>, b: Option<S::Acc>) -> Option<S::Acc> {
    match (a, b) {
        (Some(a), Some(b)) => Some(S::add(a, b)),
        (a, b) => a.or(b),
    }
}

/// The sum of the rows' sums, each made by `row` with scratch of its own. Rows are combined in blocks of fixed size, in order: the same
/// result whatever the threads. There is one scratch for each of these, however many blocks there are.
fn sum_rows<S: StorableSemiring, W: Send>(
    cpu: Cpu,
    rows: usize,
    scratch: impl Fn() -> W + Sync,
    row: impl Fn(&mut W, usize) -> Option<S::Acc> + Sync,
) -> S::Out {
    let blocks = rows.div_ceil(256);
    let slots: Vec<OnceLock<Option<S::Acc>>> = (0..blocks).map(|_| OnceLock::new()).collect();
    let spare = Spare::new(scratch);
    each_block(blocks, cpu.is_reference(), &|k| {
        let sum = spare.with(|work| (k * 256..(k * 256 + 256).min(rows)).map(|i| row(work, i)).fold(None, add::<S>));
        let _ = slots[k].set(sum);
    });
    let partial = slots.into_iter().filter_map(OnceLock::into_inner);
    S::finish(partial.fold(None, add::<S>).unwrap_or_else(S::zero))
}

impl<S: StorableSemiring> Mxm<S> for Cpu {
    fn mxm<C: Accumulate<S::Out>>(
        &self,
        c: &mut CpuMatrix,
        write: MatrixWrite<'_, Self, C>,
        a: View<'_, Self>,
        b: View<'_, Self>,
    ) -> Result<(), Error> {
        let (a, b) = (Operand::<S::A>::of(a)?, Operand::<S::X>::of(b)?);
        let MatrixWrite { mask, accum, replace } = write;
        let view = mask.map(MaskView::of);
        let columns = b.csr.ncols();
        let scratch = || RowSums::<S>::new(columns);
        let t = build::<S::Out, _>(a.csr.nrows(), columns, self.is_reference(), scratch, |sums, i, sink| {
            sums.visit(&a, &b, i, |j, sum| {
                if view.as_ref().is_none_or(|v| v.selects(i, j)) {
                    sink.push(j, S::finish(sum));
                }
            });
        })?;
        write_back(*self, c, view.as_ref(), accum, replace, t.into_matrix(LISTS, false)?)
    }

    fn mxm_reduce(&self, mask: Option<MatrixMask<'_, Self>>, a: View<'_, Self>, b: View<'_, Self>) -> Result<S::Out, Error> {
        if !self.is_reference()
            && let Some(sum) = tiles::<S>(mask, a, b)
        {
            return Ok(sum);
        }
        let view = mask.map(MaskView::of);
        let listed = mask.is_some_and(|m| !m.mode.complement);
        let a = Operand::<S::A>::of(a)?;
        // Where the places wanted are listed, columns of the second matrix are intersected with rows of the first: they are rows of its
        // transpose.
        let b = Operand::<S::X>::of(View { transposed: b.transposed != listed, ..b })?;
        let rows = a.csr.nrows();
        if let (true, Some(v)) = (listed, &view) {
            let row = |table: &mut RowTable, i: usize| v.columns(i).and_then(|list| table.sum::<S>(&a, i, &b, list));
            return Ok(sum_rows::<S, _>(*self, rows, || RowTable::new(a.csr.ncols()), row));
        }
        let scratch = || RowSums::<S>::new(b.csr.ncols());
        let row = |sums: &mut RowSums<S>, i: usize| {
            let mut total = None;
            sums.visit(&a, &b, i, |j, sum| {
                if view.as_ref().is_none_or(|v| v.selects(i, j)) {
                    total = add::<S>(total, Some(sum));
                }
            });
            total
        };
        Ok(sum_rows::<S, _>(*self, rows, scratch, row))
    }
}

/// A row of the second matrix that is so many times as long as the one of the first is searched, not walked.
const SEARCHED: usize = 32;
/// No entry of the row at hand is in this column.
const NONE: u32 = u32::MAX;

/// A row of the first matrix by column, for its products with many rows of the second.
struct RowTable {
    /// The place of a column's entry in the row at hand.
    places: Vec<u32>,
}

impl RowTable {
    fn new(columns: usize) -> Self {
        Self { places: vec![NONE; columns] }
    }
    /// The sum over the entries that row `i` of `a` and a row of `b` have in common, for all rows of `b` that the list names; each is summed in
    /// the order of the columns. O(entries of all these rows), and of those much longer than row `i` only the logarithm for each of its entries.
    fn sum<S: StorableSemiring>(&mut self, a: &Operand<'_, S::A>, i: usize, b: &Operand<'_, S::X>, list: &[u32]) -> Option<S::Acc> {
        let (row, start) = (a.csr.row(i), a.csr.row_range(i).start);
        let (&last, false) = (row.last()?, list.is_empty()) else { return None };
        for (&column, place) in row.iter().zip(0..) {
            self.places[column as usize] = place;
        }
        let mut total = None;
        for &j in list {
            let (other, at) = (b.csr.row(j as usize), b.csr.row_range(j as usize).start);
            let mut sum: Option<S::Acc> = None;
            let mut meet = |place: usize, k: usize| {
                let value = product::<S>(a.value(start + place), b.value(at + k));
                sum = Some(sum.map_or(value, |s| S::add(s, value)));
            };
            if row.len() * SEARCHED < other.len() {
                let mut from = 0;
                for (place, column) in row.iter().enumerate() {
                    from += other[from..].partition_point(|c| c < column);
                    if other.get(from) == Some(column) {
                        meet(place, from);
                    }
                }
            } else {
                for (k, &column) in other.iter().enumerate() {
                    if column > last {
                        break;
                    }
                    let place = self.places[column as usize];
                    if place != NONE {
                        meet(place as usize, k);
                    }
                }
            }
            total = add::<S>(total, sum);
        }
        for &column in row {
            self.places[column as usize] = NONE;
        }
        total
    }
}

/// Counts on bit tiles, under a structural mask of the same format: `bmm_bin_bin_sum_masked`.
fn tiles<S: StorableSemiring>(mask: Option<MatrixMask<'_, Cpu>>, a: View<'_, Cpu>, b: View<'_, Cpu>) -> Option<S::Out> {
    let mask = mask.filter(|m| !m.mode.complement && (m.mode.structural || m.matrix.values().is_none()))?;
    let patterns = a.matrix.values().is_none() && b.matrix.values().is_none();
    let counts = TypeId::of::<S::Out>() == TypeId::of::<u64>() && builtin_name::<S>() == Some("plus_pair");
    if !patterns || !counts || a.transposed || !b.transposed {
        return None;
    }
    let sum: u64 = match (a.matrix.layout(), b.matrix.layout(), mask.matrix.layout()) {
        (Layout::B2sr4(a), Layout::B2sr4(b), Layout::B2sr4(m)) => bmm_sum_masked(a, b, m)?,
        (Layout::B2sr8(a), Layout::B2sr8(b), Layout::B2sr8(m)) => bmm_sum_masked(a, b, m)?,
        (Layout::B2sr16(a), Layout::B2sr16(b), Layout::B2sr16(m)) => bmm_sum_masked(a, b, m)?,
        (Layout::B2sr32(a), Layout::B2sr32(b), Layout::B2sr32(m)) => bmm_sum_masked(a, b, m)?,
        _ => return None,
    };
    (&sum as &dyn Any).downcast_ref::<S::Out>().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_backend::Matrix;
    use bitgraph_backend::ops::mxm_reduce;
    use bitgraph_semiring::PlusTimes;
    use bitgraph_sparse::{FormatKind, Values};
    use bitgraph_testkit::graphs::undirected;

    #[test]
    fn rows_of_a_mask_meet_long_and_short_rows() {
        // Two hubs of 200 neighbours, which rows of two to five search, and a ring with chords, whose rows are walked.
        let hubs = (2..202).flat_map(|v| [(0, v), (1, v)]);
        let ring = (2..202u32).flat_map(|v| [(v, 2 + (v - 1) % 200), (v, 2 + (v + 5) % 200)]);
        let csr = undirected(202, hubs.chain(ring));
        let values: Vec<i64> = (0..csr.nnz() as i64).map(|k| k % 23 - 11).collect();
        let at = |i: usize, j: u32| csr.row(i).binary_search(&j).ok().map(|k| values[csr.row_range(i).start + k]);
        let mut wanted = 0;
        for i in 0..202 {
            for &j in csr.row(i) {
                wanted += (0..202).filter_map(|k| Some(at(i, k)? * at(j as usize, k)?)).sum::<i64>();
            }
        }
        let stored = Values::from_vec(values.clone());
        for cpu in [Cpu::new(), Cpu::reference()] {
            let a = Matrix::new(&cpu, &csr, Some(&stored), FormatKind::Csr).unwrap();
            assert_eq!(
                mxm_reduce(PlusTimes::<i64>::new(), &a, &a).transpose_b().mask(&a.pattern()).eval().unwrap().read().unwrap(),
                wanted
            );
        }
        let long = |i: usize| csr.row(i).iter().filter(|&&j| csr.degree(i) * SEARCHED < csr.degree(j as usize)).count();
        assert!((0..202).map(long).sum::<usize>() > 100);
    }
}
