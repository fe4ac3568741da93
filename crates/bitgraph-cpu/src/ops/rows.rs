//! Builds matrices row by row in parallel: each task collects a block of rows, and the blocks are joined in order.

use crate::Cpu;
use crate::matrix::CpuMatrix;
use bitgraph_backend::Error;
use bitgraph_backend::ops::View;
use bitgraph_sparse::{Csr, FormatKind, Offsets, Stored, Values, parallel};
use std::borrow::Cow;
use std::sync::OnceLock;

/// The format of results on their way to an output: it costs nothing.
pub(crate) const LISTS: FormatKind = FormatKind::Csr;

/// The matrix that a view shows.
pub(crate) fn seen(view: View<'_, Cpu>) -> &CpuMatrix {
    if view.transposed { view.matrix.transposed() } else { view.matrix }
}

/// A pattern with a value for each entry: of a matrix, or of one that was built.
pub(crate) struct Typed<'a, T: Clone> {
    pub(crate) csr: Csr,
    pub(crate) values: Cow<'a, [T]>,
}

impl<'a, T: Stored> Typed<'a, T> {
    /// A matrix with its values, 1 everywhere for a pattern.
    pub(crate) fn of(matrix: &'a CpuMatrix) -> Result<Self, Error> {
        let csr = matrix.to_csr();
        let values = match matrix.values() {
            Some(v) => Cow::Borrowed(v.expect::<T>()?),
            None => Cow::Owned(vec![T::ONE; csr.nnz()]),
        };
        Ok(Self { csr, values })
    }
    /// A matrix as an operand, transposed if asked for.
    pub(crate) fn operand(view: View<'a, Cpu>) -> Result<Self, Error> {
        Self::of(seen(view))
    }
    /// The entries of a row.
    #[inline]
    pub(crate) fn row(&self, i: usize) -> (&[u32], &[T]) {
        let range = self.csr.row_range(i);
        (&self.csr.indices()[range.clone()], &self.values[range])
    }
    /// Laid out as a matrix; a pattern drops the values.
    pub(crate) fn into_matrix(self, format: FormatKind, pattern: bool) -> Result<CpuMatrix, Error> {
        let values = (!pattern).then(|| Values::from_vec(self.values.into_owned()));
        CpuMatrix::new(&self.csr, values.as_ref(), format)
    }
}

/// A row under construction; columns are pushed in ascending order.
pub(crate) struct RowSink<'a, T> {
    columns: &'a mut Vec<u32>,
    values: &'a mut Vec<T>,
}

impl<T> RowSink<'_, T> {
    #[inline]
    pub(crate) fn push(&mut self, column: u32, value: T) {
        self.columns.push(column);
        self.values.push(value);
    }
}

/// Columns, values and row ends of a block of rows.
type Block<T> = (Vec<u32>, Vec<T>, Vec<usize>);

/// Calls `f` for every block; behind a pointer, so that threads are dealt with in one place and not once for every type.
pub(crate) fn each_block(blocks: usize, serial: bool, f: &(dyn Fn(usize) + Sync)) {
    if serial {
        (0..blocks).for_each(f);
    } else {
        parallel::each(blocks, f);
    }
}

/// The matrix whose row `i` is what `fill(scratch, i, sink)` pushes. Each task has its own scratch.
pub(crate) fn build<T: Stored, W>(
    rows: usize,
    columns: usize,
    serial: bool,
    scratch: impl Fn() -> W + Sync,
    fill: impl Fn(&mut W, usize, &mut RowSink<'_, T>) + Sync,
) -> Result<Typed<'static, T>, Error> {
    Csr::ids(rows as u64, columns as u64)?;
    let parts = if serial { 1 } else { (rayon::current_num_threads() * 8).min(rows.div_ceil(64)).max(1) };
    let size = rows.div_ceil(parts).max(1);
    let slots: Vec<OnceLock<Block<T>>> = (0..rows.div_ceil(size)).map(|_| OnceLock::new()).collect();
    each_block(slots.len(), serial, &|k| {
        let (mut cols, mut vals, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut work = scratch();
        for i in k * size..(k * size + size).min(rows) {
            fill(&mut work, i, &mut RowSink { columns: &mut cols, values: &mut vals });
            ends.push(cols.len());
        }
        let _ = slots[k].set((cols, vals, ends));
    });
    let blocks: Vec<Block<T>> = slots.into_iter().filter_map(OnceLock::into_inner).collect();
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(0usize);
    let total = blocks.iter().map(|b| b.0.len()).sum();
    let (mut indices, mut values) = (Vec::with_capacity(total), Vec::with_capacity(total));
    for (cols, vals, ends) in blocks {
        offsets.extend(ends.iter().map(|e| e + indices.len()));
        indices.extend(cols);
        values.extend(vals);
    }
    Ok(Typed { csr: Csr::from_valid(rows, columns, Offsets::from_usizes(&offsets), indices.into()), values: Cow::Owned(values) })
}
