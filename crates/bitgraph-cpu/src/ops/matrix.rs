//! The matrix operations other than products. They work on lists; a tile format is expanded and laid out again.

use super::rows::{RowSink, Typed, build};
use super::selection::{self, Selection};
use crate::Cpu;
use crate::matrix::CpuMatrix;
use bitgraph_backend::{Accumulate, Error, MatrixMask, MatrixOps, VectorMask};
use bitgraph_semiring::{BinaryOp, Monoid, SelectOp, UnaryOp};
use bitgraph_sparse::{Csr, Descriptor, MaskMode, Stored, Vector};
use rayon::prelude::*;

/// A matrix mask, asked entry by entry: the positions that hold an entry, or a non-zero one.
pub(super) struct MaskView {
    csr: Csr,
    complement: bool,
}

impl MaskView {
    pub(super) fn of(matrix: &CpuMatrix, mode: MaskMode) -> Self {
        let csr = matrix.to_csr();
        let csr = match matrix.values() {
            Some(values) if !mode.structural => {
                let start: Vec<usize> = (0..csr.nrows()).map(|i| csr.offsets().get(i)).collect();
                let keep = |r: u32, c: u32| {
                    let row = csr.row(r as usize);
                    row.binary_search(&c).is_ok_and(|k| values.get_f64(start[r as usize] + k) != 0.0)
                };
                csr.filter_with_positions(keep).0
            }
            _ => csr,
        };
        Self { csr, complement: mode.complement }
    }
    pub(super) fn is_complement(&self) -> bool {
        self.complement
    }
    /// The columns that hold true in a row, before any complement.
    pub(super) fn columns(&self, row: usize) -> impl Iterator<Item = u32> + '_ {
        self.csr.row(row).iter().copied()
    }
    pub(super) fn selects(&self, row: usize, column: u32) -> bool {
        self.csr.row(row).binary_search(&column).is_ok() != self.complement
    }
}

/// Visits the union of two rows; an absent entry is `None`.
fn merge<A: Copy, B: Copy>(a: (&[u32], &[A]), b: (&[u32], &[B]), mut f: impl FnMut(u32, Option<A>, Option<B>)) {
    let (mut i, mut j) = (0, 0);
    while i < a.0.len() || j < b.0.len() {
        let x = a.0.get(i).copied().unwrap_or(u32::MAX);
        let y = b.0.get(j).copied().unwrap_or(u32::MAX);
        let (left, right) = (x <= y && i < a.0.len(), y <= x && j < b.0.len());
        f(x.min(y), left.then(|| a.1[i]), right.then(|| b.1[j]));
        i += usize::from(left);
        j += usize::from(right);
    }
}

/// `C<mask, replace> = C accum T`; the output keeps its format.
pub(super) fn write_back<T: Stored, C: Accumulate<T>>(
    cpu: Cpu,
    c: &mut CpuMatrix,
    mask: Option<&MaskView>,
    accum: C,
    replace: bool,
    t: &Typed<T>,
) -> Result<(), Error> {
    let old = Typed::<T>::of(c)?;
    let (rows, columns) = c.shape();
    let new = build::<T, ()>(
        rows,
        columns,
        cpu.is_reference(),
        || (),
        |(), i, sink| {
            merge(old.row(i), t.row(i), |column, before, now| {
                let value = if mask.is_none_or(|m| m.selects(i, column)) {
                    match (before.filter(|_| C::ACTIVE), now) {
                        (Some(a), Some(b)) => Some(accum.merge(a, b)),
                        (a, b) => a.or(b),
                    }
                } else {
                    before.filter(|_| !replace)
                };
                if let Some(value) = value {
                    sink.push(column, value);
                }
            });
        },
    )?;
    *c = new.into_matrix(c.format())?;
    Ok(())
}

type Mask<'a> = Option<MatrixMask<'a, Cpu>>;

fn view(mask: Mask<'_>) -> Option<MaskView> {
    mask.map(|m| MaskView::of(m.matrix, m.mode))
}

impl MatrixOps for Cpu {
    fn ewise_matrix_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        mask: Mask<'_>,
        accum: C,
        op: Op,
        union: bool,
        a: &CpuMatrix,
        b: &CpuMatrix,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        let a = Typed::<T>::operand(a, descriptor.transpose_a)?;
        let b = Typed::<T>::operand(b, descriptor.transpose_b)?;
        let t = build::<T, ()>(
            a.csr.nrows(),
            a.csr.ncols(),
            self.is_reference(),
            || (),
            |(), i, sink| {
                merge(a.row(i), b.row(i), |column, x, y| match (x, y) {
                    (Some(x), Some(y)) => sink.push(column, op.apply(x, y)),
                    (Some(only), None) | (None, Some(only)) if union => sink.push(column, only),
                    _ => {}
                });
            },
        )?;
        write_back(*self, c, view(mask).as_ref(), accum, descriptor.replace, &t)
    }
    fn apply_matrix_checked<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        c: &mut CpuMatrix,
        mask: Mask<'_>,
        accum: C,
        op: Op,
        a: &CpuMatrix,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        let a = Typed::<T>::operand(a, descriptor.transpose_a)?;
        let t = Typed { values: a.values.iter().map(|&x| op.apply(x)).collect(), csr: a.csr };
        write_back(*self, c, view(mask).as_ref(), accum, descriptor.replace, &t)
    }
    fn select_matrix_checked<T: Stored, Op: SelectOp<T>>(&self, op: Op, a: &CpuMatrix, descriptor: Descriptor) -> Result<CpuMatrix, Error> {
        let source = if descriptor.transpose_a { a.transposed() } else { a };
        let csr = source.to_csr();
        let Some(values) = source.values() else {
            let (kept, _) = csr.filter_with_positions(|r, c| op.keep(r, c, T::ONE));
            return CpuMatrix::new(&kept, None, a.format());
        };
        let typed = Typed::<T> { values: values.expect::<T>()?.to_vec(), csr };
        let fill = |(): &mut (), i: usize, sink: &mut RowSink<'_, T>| {
            let (columns, values) = typed.row(i);
            for (&c, &v) in columns.iter().zip(values).filter(|&(&c, &v)| op.keep(i as u32, c, v)) {
                sink.push(c, v);
            }
        };
        build(typed.csr.nrows(), typed.csr.ncols(), self.is_reference(), || (), fill)?.into_matrix(a.format())
    }
    fn reduce_matrix_checked<T: Stored, M: Monoid<T>>(&self, _monoid: M, a: &CpuMatrix) -> Result<T, Error> {
        let a = Typed::<T>::of(a)?;
        let partial: Vec<Option<T>> = a.values.par_chunks(4096).map(|c| c.iter().copied().reduce(M::combine)).collect();
        Ok(partial.into_iter().flatten().reduce(M::combine).unwrap_or_else(M::identity))
    }
    fn reduce_rows_checked<T: Stored, M: Monoid<T>, C: Accumulate<T>>(
        &self,
        w: &mut Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        _monoid: M,
        a: &CpuMatrix,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        let a = Typed::<T>::operand(a, descriptor.transpose_a)?;
        let row = |i: usize| a.row(i).1.iter().copied().reduce(M::combine);
        selection::write_back(*self, w, Selection::new(mask), accum, descriptor.replace, row);
        Ok(())
    }
    fn extract_matrix_checked(&self, a: &CpuMatrix, rows: &[u32], columns: &[u32], descriptor: Descriptor) -> Result<CpuMatrix, Error> {
        let source = if descriptor.transpose_a { a.transposed() } else { a };
        let csr = source.to_csr();
        // Where each column of the source goes: a column may be taken several times.
        let mut places: Vec<(u32, u32)> = columns.iter().enumerate().map(|(j, &c)| (c, j as u32)).collect();
        places.sort_unstable();
        let fill = |found: &mut Vec<(u32, u64)>, i: usize, sink: &mut RowSink<'_, u64>| {
            found.clear();
            for p in csr.row_range(rows[i] as usize) {
                let c = csr.indices()[p];
                let first = places.partition_point(|&(column, _)| column < c);
                found.extend(places[first..].iter().take_while(|&&(column, _)| column == c).map(|&(_, j)| (j, p as u64)));
            }
            found.sort_unstable();
            for &(j, p) in found.iter() {
                sink.push(j, p);
            }
        };
        let t = build::<u64, _>(rows.len(), columns.len(), self.is_reference(), Vec::new, fill)?;
        let positions: Vec<usize> = t.values.iter().map(|&p| p as usize).collect();
        let values = source.values().map(|v| v.gather(&positions));
        CpuMatrix::new(&t.csr, values.as_ref(), a.format())
    }
    fn assign_matrix_checked<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        accum: C,
        a: &CpuMatrix,
        rows: &[u32],
        columns: &[u32],
    ) -> Result<(), Error> {
        let (old, new) = (Typed::<T>::of(c)?, Typed::<T>::of(a)?);
        let (nrows, ncols) = c.shape();
        let mut row_of = vec![u32::MAX; nrows];
        for (i, &r) in rows.iter().enumerate() {
            row_of[r as usize] = i as u32;
        }
        let mut assigned_column = vec![false; ncols];
        for &k in columns {
            assigned_column[k as usize] = true;
        }
        let fill = |_: &mut (), r: usize, sink: &mut RowSink<'_, T>| {
            if row_of[r] == u32::MAX {
                let (cols, vals) = old.row(r);
                cols.iter().zip(vals).for_each(|(&c, &v)| sink.push(c, v));
                return;
            }
            let (cols, vals) = new.row(row_of[r] as usize);
            let mut moved: Vec<(u32, T)> = cols.iter().zip(vals).map(|(&c, &v)| (columns[c as usize], v)).collect();
            moved.sort_unstable_by_key(|&(c, _)| c);
            let (cols, vals): (Vec<u32>, Vec<T>) = moved.into_iter().unzip();
            merge(old.row(r), (&cols, &vals), |column, before, now| {
                let value = match (before, now) {
                    (Some(a), Some(b)) if C::ACTIVE => Some(accum.merge(a, b)),
                    (_, Some(b)) => Some(b),
                    (Some(a), None) => (C::ACTIVE || !assigned_column[column as usize]).then_some(a),
                    (None, None) => None,
                };
                if let Some(value) = value {
                    sink.push(column, value);
                }
            });
        };
        *c = build(nrows, ncols, self.is_reference(), || (), fill)?.into_matrix(c.format())?;
        Ok(())
    }
    fn transpose_checked(&self, a: &CpuMatrix) -> Result<CpuMatrix, Error> {
        Ok(a.transpose())
    }
    fn kronecker_checked<T: Stored, Op: BinaryOp<T>>(&self, op: Op, a: &CpuMatrix, b: &CpuMatrix) -> Result<CpuMatrix, Error> {
        let pattern = a.values().is_none() && b.values().is_none();
        let format = a.format();
        let (a, b) = (Typed::<T>::of(a)?, Typed::<T>::of(b)?);
        let (p, q) = (b.csr.nrows(), b.csr.ncols());
        let rows = a.csr.nrows() as u64 * p as u64;
        let columns = a.csr.ncols() as u64 * q as u64;
        Csr::ids(rows, columns)?;
        let fill = |_: &mut (), r: usize, sink: &mut RowSink<'_, T>| {
            let ((left, x), (right, y)) = (a.row(r / p), b.row(r % p));
            for (&j, &x) in left.iter().zip(x) {
                for (&l, &y) in right.iter().zip(y) {
                    sink.push(j * q as u32 + l, op.apply(x, y));
                }
            }
        };
        let t = build(rows as usize, columns as usize, self.is_reference(), || (), fill)?;
        if pattern { CpuMatrix::new(&t.csr, None, format) } else { t.into_matrix(format) }
    }
}
