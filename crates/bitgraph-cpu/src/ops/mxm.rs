//! Matrix times matrix: Gustavson's row-wise product for a sparse result, intersections under a mask for a reduced one.

use super::rows::{LISTS, build, each_block};
use super::write::{MaskView, write_back};
use crate::Cpu;
use crate::matrix::{CpuMatrix, Layout};
use crate::tile::bmm_sum_masked;
use bitgraph_backend::{Accumulate, Error, MatrixMask, Mxm, Ring};
use bitgraph_semiring::PlusPair;
use bitgraph_sparse::{Csr, Descriptor};
use std::any::{Any, TypeId};
use std::sync::OnceLock;

/// A matrix with typed values or none, transposed if asked for.
struct Operand<'a, T> {
    csr: Csr,
    values: Option<&'a [T]>,
}

impl<'a, T: bitgraph_sparse::Stored> Operand<'a, T> {
    fn of(matrix: &'a CpuMatrix, transpose: bool) -> Result<Self, Error> {
        let source = if transpose { matrix.transposed() } else { matrix };
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
fn product<S: Ring>(a: Option<S::A>, x: Option<S::X>) -> S::Acc {
    let x = x.unwrap_or(<S::X as bitgraph_semiring::Scalar>::ONE);
    a.map_or_else(|| S::multiply_pattern(x), |a| S::multiply(a, x))
}

impl<S: Ring> Mxm<S> for Cpu {
    fn mxm_checked<C: Accumulate<S::Out>>(
        &self,
        c: &mut CpuMatrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        a: &CpuMatrix,
        b: &CpuMatrix,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        let a = Operand::<S::A>::of(a, descriptor.transpose_a)?;
        let b = Operand::<S::X>::of(b, descriptor.transpose_b)?;
        let view = mask.map(|m| MaskView::of(m.matrix, m.mode));
        let columns = b.csr.ncols();
        // Scratch: for each column the sum and the row that last touched it.
        let scratch = || (vec![S::zero(); columns], vec![u32::MAX; columns], Vec::<u32>::new());
        let t = build::<S::Out, _>(a.csr.nrows(), columns, self.is_reference(), scratch, |(sums, seen, list), i, sink| {
            list.clear();
            for p in a.csr.row_range(i) {
                let k = a.csr.indices()[p] as usize;
                let left = a.value(p);
                for q in b.csr.row_range(k) {
                    let j = b.csr.indices()[q];
                    let slot = j as usize;
                    let value = product::<S>(left, b.value(q));
                    if seen[slot] == i as u32 {
                        sums[slot] = S::add(sums[slot], value);
                    } else {
                        seen[slot] = i as u32;
                        sums[slot] = value;
                        list.push(j);
                    }
                }
            }
            list.sort_unstable();
            for &j in list.iter() {
                if view.as_ref().is_none_or(|v| v.selects(i, j)) {
                    sink.push(j, S::finish(sums[j as usize]));
                }
            }
        })?;
        write_back(*self, c, view.as_ref(), accum, descriptor.replace, t.into_matrix(LISTS, false)?)
    }

    fn mxm_reduce_checked(
        &self,
        mask: Option<MatrixMask<'_, Self>>,
        a: &CpuMatrix,
        b: &CpuMatrix,
        descriptor: Descriptor,
    ) -> Result<S::Out, Error> {
        if !self.is_reference()
            && let Some(sum) = tiles::<S>(mask, a, b, descriptor)
        {
            return Ok(sum);
        }
        let a = Operand::<S::A>::of(a, descriptor.transpose_a)?;
        // Row j of `b` transposed is column j of the second matrix.
        let b = Operand::<S::X>::of(b, !descriptor.transpose_b)?;
        let view = mask.map(|m| MaskView::of(m.matrix, m.mode));
        let dot = |i: usize, j: usize| {
            let (mut p, mut q) = (a.csr.row_range(i), b.csr.row_range(j));
            let (left, right) = (a.csr.indices(), b.csr.indices());
            let mut sum: Option<S::Acc> = None;
            while p.start < p.end && q.start < q.end {
                let (x, y) = (left[p.start], right[q.start]);
                if x == y {
                    let value = product::<S>(a.value(p.start), b.value(q.start));
                    sum = Some(sum.map_or(value, |s| S::add(s, value)));
                }
                p.start += usize::from(x <= y);
                q.start += usize::from(y <= x);
            }
            sum
        };
        let columns = b.csr.nrows();
        let row = |i: usize| {
            let mut sum: Option<S::Acc> = None;
            let mut take = |j: usize| {
                if let Some(value) = dot(i, j) {
                    sum = Some(sum.map_or(value, |s| S::add(s, value)));
                }
            };
            match view.as_ref().and_then(|v| v.columns(i)) {
                Some(list) => list.iter().for_each(|&j| take(j as usize)),
                None => (0..columns).filter(|&j| view.as_ref().is_none_or(|v| v.selects(i, j as u32))).for_each(&mut take),
            }
            sum
        };
        let rows = a.csr.nrows();
        let add = |a: Option<S::Acc>, b: Option<S::Acc>| match (a, b) {
            (Some(a), Some(b)) => Some(S::add(a, b)),
            (a, b) => a.or(b),
        };
        // Rows' sums are combined in blocks of fixed size, in order: the same result whatever the threads.
        let block = |k: usize| (k * 256..(k * 256 + 256).min(rows)).map(row).fold(None, add);
        let blocks = rows.div_ceil(256);
        let slots: Vec<OnceLock<Option<S::Acc>>> = (0..blocks).map(|_| OnceLock::new()).collect();
        each_block(blocks, self.is_reference(), &|k| {
            let _ = slots[k].set(block(k));
        });
        let partial = slots.into_iter().filter_map(OnceLock::into_inner);
        Ok(S::finish(partial.fold(None, add).unwrap_or_else(S::zero)))
    }
}

/// Counts on bit tiles, under a structural mask of the same format: `bmm_bin_bin_sum_masked`.
fn tiles<S: Ring>(mask: Option<MatrixMask<'_, Cpu>>, a: &CpuMatrix, b: &CpuMatrix, descriptor: Descriptor) -> Option<S::Out> {
    let mask = mask.filter(|m| !m.mode.complement && (m.mode.structural || m.matrix.values().is_none()))?;
    let patterns = a.values().is_none() && b.values().is_none();
    let counts = TypeId::of::<S>() == TypeId::of::<PlusPair<u64>>();
    if !patterns || !counts || descriptor.transpose_a || !descriptor.transpose_b {
        return None;
    }
    let sum: u64 = match (a.layout(), b.layout(), mask.matrix.layout()) {
        (Layout::B2sr4(a), Layout::B2sr4(b), Layout::B2sr4(m)) => bmm_sum_masked(a, b, m)?,
        (Layout::B2sr8(a), Layout::B2sr8(b), Layout::B2sr8(m)) => bmm_sum_masked(a, b, m)?,
        (Layout::B2sr16(a), Layout::B2sr16(b), Layout::B2sr16(m)) => bmm_sum_masked(a, b, m)?,
        (Layout::B2sr32(a), Layout::B2sr32(b), Layout::B2sr32(m)) => bmm_sum_masked(a, b, m)?,
        _ => return None,
    };
    (&sum as &dyn Any).downcast_ref::<S::Out>().copied()
}
