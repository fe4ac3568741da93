//! The matrix operations other than products. They work on lists; a tile format is expanded and laid out again.

use super::rows::{LISTS, RowSink, Typed, build, seen};
use super::selection;
use super::write::{MaskView, merge, write_back};
use crate::Cpu;
use crate::matrix::CpuMatrix;
use crate::tile::RowEntries;
use bitgraph_b2sr::with_layout;
use bitgraph_backend::ops::{MatrixWrite, Region, VectorWrite, View};
use bitgraph_backend::{Accumulate, Error, MatrixOps, NoAccum};
use bitgraph_semiring::{BinaryOp, Monoid, SelectOp, UnaryOp};
use bitgraph_sparse::{Csr, Offsets, Stored, Values, Vector, parallel};

/// Writes a result `t` as an operation says.
fn finish<T: Stored, C: Accumulate<T>>(cpu: Cpu, c: &mut CpuMatrix, write: MatrixWrite<'_, Cpu, C>, t: CpuMatrix) -> Result<(), Error> {
    write_back(cpu, c, write.mask.map(MaskView::of).as_ref(), write.accum, write.replace, t)
}

impl MatrixOps for Cpu {
    fn ewise_matrix<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        write: MatrixWrite<'_, Self, C>,
        op: Op,
        union: bool,
        (a, b): (View<'_, Self>, View<'_, Self>),
    ) -> Result<(), Error> {
        let a = Typed::<T>::operand(a)?;
        let b = Typed::<T>::operand(b)?;
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
        finish::<_, C>(*self, c, write, t.into_matrix(LISTS, false)?)
    }
    fn apply_matrix<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        c: &mut CpuMatrix,
        write: MatrixWrite<'_, Self, C>,
        op: Op,
        a: View<'_, Self>,
    ) -> Result<(), Error> {
        let a = Typed::<T>::operand(a)?;
        let t = Typed { values: parallel::map(&a.values, |&x| op.apply(x)).into(), csr: a.csr };
        finish::<_, C>(*self, c, write, t.into_matrix(LISTS, false)?)
    }
    fn select_matrix<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        write: MatrixWrite<'_, Self, C>,
        op: Op,
        a: View<'_, Self>,
    ) -> Result<(), Error> {
        let source = Typed::<T>::operand(a)?;
        let fill = |(): &mut (), i: usize, sink: &mut RowSink<'_, T>| {
            let (columns, values) = source.row(i);
            for (&c, &v) in columns.iter().zip(values).filter(|&(&c, &v)| op.keep(i as u32, c, v)) {
                sink.push(c, v);
            }
        };
        let t = build(source.csr.nrows(), source.csr.ncols(), self.is_reference(), || (), fill)?;
        let t = t.into_matrix(LISTS, a.matrix.values().is_none())?;
        finish::<T, C>(*self, c, write, t)
    }
    fn reduce_matrix<T: Stored, M: Monoid<T>>(&self, _monoid: M, a: View<'_, Self>) -> Result<T, Error> {
        let a = Typed::<T>::operand(a)?;
        let blocks: Vec<&[T]> = a.values.chunks(4096).collect();
        let partial = parallel::collect(blocks.len(), |b| M::fold(blocks[b].iter().copied()));
        Ok(M::fold_wide(partial.into_iter().flatten()).map_or_else(M::identity, T::narrow))
    }
    fn reduce_rows<T: Stored, M: Monoid<T>, C: Accumulate<T>>(
        &self,
        w: &mut Vector<T>,
        write: VectorWrite<'_, Self, C>,
        _monoid: M,
        a: View<'_, Self>,
    ) -> Result<(), Error> {
        let a = seen(a);
        if a.values().is_none() {
            with_layout!(a.layout(), m => selection::write_back(*self, w, write, |i| {
                M::fold(m.row_entries(i).map(|_| T::ONE)).map(T::narrow)
            }));
            return Ok(());
        }
        let a = Typed::<T>::of(a)?;
        selection::write_back(*self, w, write, |i| M::fold(a.row(i).1.iter().copied()).map(T::narrow));
        Ok(())
    }
    fn extract_matrix<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        write: MatrixWrite<'_, Self, C>,
        a: View<'_, Self>,
        Region { rows, columns }: Region<'_>,
    ) -> Result<(), Error> {
        let source = Typed::<T>::operand(a)?;
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
        let t = t.into_matrix(LISTS, a.matrix.values().is_none())?;
        finish::<T, C>(*self, c, write, t)
    }
    fn assign_matrix<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        write: MatrixWrite<'_, Self, C>,
        a: View<'_, Self>,
        Region { rows, columns }: Region<'_>,
    ) -> Result<(), Error> {
        // The operand at its places in the output.
        let source = Typed::<T>::operand(a)?;
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
        let placed = build(nrows, ncols, self.is_reference(), Vec::new, fill)?.into_matrix(LISTS, a.matrix.values().is_none())?;
        // The output with that part of it assigned, as if there were no mask; then the mask decides where it shows.
        let mut assigned = CpuMatrix::new(&c.to_csr(), c.values(), LISTS)?;
        let region = MaskView::region(c.shape(), rows, columns);
        write_back::<T, C>(*self, &mut assigned, Some(&region), write.accum, false, placed)?;
        let MatrixWrite { mask, replace, .. } = write;
        finish::<T, _>(*self, c, MatrixWrite { mask, accum: NoAccum, replace }, assigned)
    }
    fn copy_matrix<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        write: MatrixWrite<'_, Self, C>,
        a: View<'_, Self>,
    ) -> Result<(), Error> {
        let t = if a.transposed { a.matrix.transpose() } else { a.matrix.clone() };
        finish::<T, C>(*self, c, write, t)
    }
    fn kronecker<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut CpuMatrix,
        write: MatrixWrite<'_, Self, C>,
        op: Op,
        (a, b): (View<'_, Self>, View<'_, Self>),
    ) -> Result<(), Error> {
        let pattern = a.matrix.values().is_none() && b.matrix.values().is_none() && op.apply(T::ONE, T::ONE) == T::ONE;
        let a = Typed::<T>::operand(a)?;
        let b = Typed::<T>::operand(b)?;
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
        finish::<T, C>(*self, c, write, t)
    }
    fn matrix_diagonal<T: Stored>(&self, vector: &Vector<T>) -> Result<CpuMatrix, Error> {
        Csr::ids(vector.len() as u64, vector.len() as u64)?;
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..vector.len() {
            if let Some(value) = vector.get(i) {
                indices.push(i as u32);
                values.push(value);
            }
            offsets.push(indices.len());
        }
        let csr = Csr::from_valid(vector.len(), vector.len(), Offsets::from_usizes(&offsets), indices.into());
        CpuMatrix::new(&csr, Some(&Values::from_vec(values)), LISTS)
    }
    fn matrix_cast<T: Stored>(&self, matrix: &CpuMatrix) -> Result<CpuMatrix, Error> {
        CpuMatrix::from_layout(matrix.layout().clone(), matrix.values().map(Values::cast::<T>).as_ref())
    }
}

/// Pushes entries whose columns differ, in the order of these.
fn push_sorted<T: Stored>(entries: &mut [(u32, T)], sink: &mut RowSink<'_, T>) {
    entries.sort_unstable_by_key(|&(column, _)| column);
    entries.iter().for_each(|&(column, value)| sink.push(column, value));
}
