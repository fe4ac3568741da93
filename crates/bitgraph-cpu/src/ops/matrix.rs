//! The matrix operations other than products. They work on lists; a tile format is expanded and laid out again.

use super::rows::{LISTS, RowSink, Typed, build};
use super::selection::{self, Selection};
use super::write::{MaskView, merge, write_back};
use crate::Cpu;
use crate::matrix::CpuMatrix;
use bitgraph_backend::{Accumulate, Error, MatrixMask, MatrixOps, NoAccum, VectorMask};
use bitgraph_semiring::{BinaryOp, Monoid, SelectOp, UnaryOp};
use bitgraph_sparse::{Descriptor, Stored, Vector};
use rayon::prelude::*;

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
        write_back(*self, c, view(mask).as_ref(), accum, descriptor.replace, t.into_matrix(LISTS, false)?)
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
        write_back(*self, c, view(mask).as_ref(), accum, descriptor.replace, t.into_matrix(LISTS, false)?)
    }
    fn select_matrix_checked<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        mask: Mask<'_>,
        accum: C,
        op: Op,
        a: &CpuMatrix,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        let source = Typed::<T>::operand(a, descriptor.transpose_a)?;
        let fill = |(): &mut (), i: usize, sink: &mut RowSink<'_, T>| {
            let (columns, values) = source.row(i);
            for (&c, &v) in columns.iter().zip(values).filter(|&(&c, &v)| op.keep(i as u32, c, v)) {
                sink.push(c, v);
            }
        };
        let t = build(source.csr.nrows(), source.csr.ncols(), self.is_reference(), || (), fill)?;
        let t = t.into_matrix(LISTS, a.values().is_none())?;
        write_back(*self, c, view(mask).as_ref(), accum, descriptor.replace, t)
    }
    fn reduce_matrix_checked<T: Stored, M: Monoid<T>>(&self, _monoid: M, a: &CpuMatrix) -> Result<T, Error> {
        let a = Typed::<T>::of(a)?;
        let partial: Vec<Option<T::Accumulator>> = a.values.par_chunks(4096).map(|c| M::fold(c.iter().copied())).collect();
        Ok(M::fold_wide(partial.into_iter().flatten()).map_or_else(M::identity, T::narrow))
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
        let row = |i: usize| M::fold(a.row(i).1.iter().copied()).map(T::narrow);
        selection::write_back(*self, w, Selection::new(mask), accum, descriptor.replace, row);
        Ok(())
    }
    fn extract_matrix_checked<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        mask: Mask<'_>,
        accum: C,
        a: &CpuMatrix,
        rows: &[u32],
        columns: &[u32],
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        let source = Typed::<T>::operand(a, descriptor.transpose_a)?;
        // Where each column of the source goes: a column may be taken several times.
        let mut places: Vec<(u32, u32)> = columns.iter().enumerate().map(|(j, &c)| (c, j as u32)).collect();
        places.sort_unstable();
        let fill = |found: &mut Vec<(u32, T)>, i: usize, sink: &mut RowSink<'_, T>| {
            found.clear();
            let (columns, values) = source.row(rows[i] as usize);
            for (&c, &v) in columns.iter().zip(values) {
                let first = places.partition_point(|&(column, _)| column < c);
                found.extend(places[first..].iter().take_while(|&&(column, _)| column == c).map(|&(_, j)| (j, v)));
            }
            push_sorted(found, sink);
        };
        let t = build(rows.len(), columns.len(), self.is_reference(), Vec::new, fill)?;
        let t = t.into_matrix(LISTS, a.values().is_none())?;
        write_back(*self, c, view(mask).as_ref(), accum, descriptor.replace, t)
    }
    fn assign_matrix_checked<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        mask: Mask<'_>,
        accum: C,
        a: &CpuMatrix,
        rows: &[u32],
        columns: &[u32],
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        // The operand at its places in the output.
        let source = Typed::<T>::operand(a, descriptor.transpose_a)?;
        let (nrows, ncols) = c.shape();
        let mut row_of = vec![u32::MAX; nrows];
        for (i, &r) in rows.iter().enumerate() {
            row_of[r as usize] = i as u32;
        }
        let fill = |moved: &mut Vec<(u32, T)>, r: usize, sink: &mut RowSink<'_, T>| {
            if row_of[r] != u32::MAX {
                moved.clear();
                let (cols, vals) = source.row(row_of[r] as usize);
                moved.extend(cols.iter().zip(vals).map(|(&c, &v)| (columns[c as usize], v)));
                push_sorted(moved, sink);
            }
        };
        let placed = build(nrows, ncols, self.is_reference(), Vec::new, fill)?.into_matrix(LISTS, a.values().is_none())?;
        // The output with that part of it assigned, as if there were no mask; then the mask decides where it shows.
        let mut assigned = CpuMatrix::new(&c.to_csr(), c.values(), LISTS)?;
        let region = MaskView::region(c.shape(), rows, columns);
        write_back::<T, C>(*self, &mut assigned, Some(&region), accum, false, placed)?;
        write_back::<T, _>(*self, c, view(mask).as_ref(), NoAccum, descriptor.replace, assigned)
    }
    fn transpose_checked<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        mask: Mask<'_>,
        accum: C,
        a: &CpuMatrix,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        let t = if descriptor.transpose_a { a.clone() } else { a.transpose() };
        write_back::<T, C>(*self, c, view(mask).as_ref(), accum, descriptor.replace, t)
    }
    fn kronecker_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        mask: Mask<'_>,
        accum: C,
        op: Op,
        a: &CpuMatrix,
        b: &CpuMatrix,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        let pattern = a.values().is_none() && b.values().is_none() && op.apply(T::ONE, T::ONE) == T::ONE;
        let a = Typed::<T>::operand(a, descriptor.transpose_a)?;
        let b = Typed::<T>::operand(b, descriptor.transpose_b)?;
        let (p, q) = (b.csr.nrows(), b.csr.ncols());
        let fill = |(): &mut (), r: usize, sink: &mut RowSink<'_, T>| {
            let ((left, x), (right, y)) = (a.row(r / p), b.row(r % p));
            for (&j, &x) in left.iter().zip(x) {
                for (&l, &y) in right.iter().zip(y) {
                    sink.push(j * q as u32 + l, op.apply(x, y));
                }
            }
        };
        let (rows, columns) = c.shape();
        let t = build(rows, columns, self.is_reference(), || (), fill)?.into_matrix(LISTS, pattern)?;
        write_back(*self, c, view(mask).as_ref(), accum, descriptor.replace, t)
    }
}

/// Pushes entries whose columns differ, in the order of these.
fn push_sorted<T: Stored>(entries: &mut [(u32, T)], sink: &mut RowSink<'_, T>) {
    entries.sort_unstable_by_key(|&(column, _)| column);
    entries.iter().for_each(|&(column, value)| sink.push(column, value));
}
