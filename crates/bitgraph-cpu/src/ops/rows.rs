//! Builds matrices row by row in parallel: each task collects a block of rows, and the blocks are joined in order.

use crate::Cpu;
use crate::matrix::CpuMatrix;
use bitgraph_backend::Error;
use bitgraph_backend::ops::View;
use bitgraph_sparse::{Csr, FormatKind, Offsets, Stored, Values, parallel};
use std::borrow::Cow;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The format of results on their way to an output: it costs nothing.
pub(crate) const LISTS: FormatKind = FormatKind::Csr;

/// Elements that a task sets at once.
const BLOCK: usize = 1 << 14;

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
            None => Cow::Owned(parallel::tabulate(csr.nnz(), BLOCK, |_| T::ONE)),
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

/// Scratch of tasks: of each while it runs, and then of another.
pub(crate) struct Spare<W, F> {
    make: F,
    spare: Mutex<Vec<W>>,
}

impl<W, F: Fn() -> W> Spare<W, F> {
    pub(crate) fn new(make: F) -> Self {
        Self { make, spare: Mutex::default() }
    }
    /// Calls `f` with scratch that no other task has at the time.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut W) -> R) -> R {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let found = spare().pop();
        let mut work = found.unwrap_or_else(&self.make);
        let result = f(&mut work);
        spare().push(work);
        result
    }
}

/// The offsets of rows in blocks of `size`, of which those of block `k` end at `end(k, row of the block)`.
fn offsets<O: Default + Clone + Send>(rows: usize, size: usize, end: impl Fn(usize, usize) -> O + Sync) -> Vec<O> {
    let mut offsets = vec![O::default(); rows + 1];
    parallel::chunks_mut(&mut offsets[1..], size, |k, ends| ends.iter_mut().enumerate().for_each(|(row, slot)| *slot = end(k, row)));
    offsets
}

/// The matrix whose row `i` is what `fill(scratch, i, sink)` pushes. Blocks of rows are tasks; each has scratch of its own while it runs, which
/// another block may have had before. A row is filled once.
pub(crate) fn build<T: Stored, W: Send>(
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
    let spare = Spare::new(scratch);
    each_block(slots.len(), serial, &|k| {
        let (mut cols, mut vals, mut ends) = (Vec::new(), Vec::new(), Vec::with_capacity(size));
        spare.with(|work| {
            for i in k * size..(k * size + size).min(rows) {
                fill(work, i, &mut RowSink { columns: &mut cols, values: &mut vals });
                ends.push(cols.len());
            }
        });
        let _ = slots[k].set((cols, vals, ends));
    });
    Ok(joined(rows, columns, size, slots))
}

/// The matrix of these blocks of rows, `size` in each but the last; apart from what fills them, so that it is compiled once for a type.
fn joined<T: Stored>(rows: usize, columns: usize, size: usize, slots: Vec<OnceLock<Block<T>>>) -> Typed<'static, T> {
    let blocks: Vec<Block<T>> = slots.into_iter().filter_map(OnceLock::into_inner).collect();
    let mut total = 0;
    let mut starts = Vec::with_capacity(blocks.len());
    for block in &blocks {
        starts.push(total);
        total += block.0.len();
    }
    let indices = parallel::concat(&blocks.iter().map(|block| &block.0[..]).collect::<Vec<_>>());
    let values = parallel::concat(&blocks.iter().map(|block| &block.1[..]).collect::<Vec<_>>());
    let end = |k: usize, row: usize| starts[k] + blocks[k].2[row];
    let offsets = if Offsets::are_narrow(total as u64) {
        Offsets::U32(offsets(rows, size, |k, row| end(k, row) as u32).into())
    } else {
        Offsets::U64(offsets(rows, size, |k, row| end(k, row) as u64).into())
    };
    Typed { csr: Csr::from_valid(rows, columns, offsets, indices.into()), values: Cow::Owned(values) }
}
