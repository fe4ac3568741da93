//! Where reduced rows go: through scale, epilogue and conversion, block by block, shared among threads.
//!
//! A block of rows stays in the nearest cache between its reduction and its store; where nothing has to be done to it, rows are reduced where
//! they belong.
#![allow(unsafe_code)]

use crate::Isa;
use crate::spmv::per_level;
use crate::tensor::finish::Finish;
use crate::tensor::number::{Number, Reading, Sum};
use crate::tensor::sink::{Sink, Target};
use bitgraph_sparse::{Csr, parallel, with_offsets};
use std::any::TypeId;
use std::ops::Range;

/// Reduces rows: row `i` to the elements from `out[(i - rows.start) * stride]` on.
pub type Reduced<'a, S> = &'a (dyn Fn(Range<usize>, &mut [S], usize) + Sync);

/// Bytes of sums that are reduced before they are stored.
const BLOCK: usize = 16 << 10;

/// What is done to the sums of a row before they are stored.
pub struct After<'a, R> {
    /// A factor of every row.
    pub scale: Option<Vec<R>>,
    /// Whether sums are divided by the number of entries.
    pub mean: bool,
    /// Whether every row has one more entry than the pattern says.
    pub own: bool,
    pub finish: Finish<'a, R>,
}

impl<'a, R: Number> After<'a, R> {
    /// Nothing but an epilogue.
    pub fn only(finish: Finish<'a, R>) -> Self {
        Self { scale: None, mean: false, own: false, finish }
    }
    fn is_nothing(&self) -> bool {
        self.scale.is_none() && !self.mean && self.finish.is_empty()
    }
    /// Takes the sums of row `i` through all of it.
    #[inline(always)]
    fn row(&self, csr: &Csr, i: usize, x: &mut [R], scratch: &mut Vec<R>) {
        let count = if self.mean { csr.degree(i) + usize::from(self.own) } else { 1 };
        // A mean is divided, not multiplied by an inverse, so that whole results stay whole.
        if count > 1 {
            let count = R::of(count as f64);
            x.iter_mut().for_each(|x| *x /= count);
        }
        if let Some(scale) = &self.scale {
            let scale = scale[i];
            x.iter_mut().for_each(|x| *x *= scale);
        }
        self.finish.row(i, x, scratch);
    }
}

per_level! {
    /// Takes the sums of consecutive rows, `stride` apart, through all that is done to them.
    fn finish<R: Number>(after: &After<'_, R>, csr: &Csr, rows: Range<usize>, columns: usize, stride: usize, x: &mut [R], scratch: &mut Vec<R>) = finish_body
}

#[inline(always)]
fn finish_body<R: Number>(
    after: &After<'_, R>,
    csr: &Csr,
    rows: Range<usize>,
    columns: usize,
    stride: usize,
    x: &mut [R],
    scratch: &mut Vec<R>,
) {
    for (i, row) in rows.zip(x.chunks_mut(stride)) {
        after.row(csr, i, &mut row[..columns], scratch);
    }
}

/// Calls `f` for ranges of rows of about equal work, in parallel.
pub fn shared(csr: &Csr, f: &(dyn Fn(Range<usize>) + Sync)) {
    let parts = with_offsets!(csr.offsets(), o => parallel::balanced_rows(o, 8 * crate::threads::allowed()));
    parallel::each(parts.len(), &|k| f(parts[k].clone()));
}

/// Blocks of a range of rows of so many elements each.
fn blocks(rows: Range<usize>, columns: usize, bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let step = (BLOCK / (columns * bytes).max(1)).max(1);
    rows.clone().step_by(step).map(move |start| start..(start + step).min(rows.end))
}

/// Reduces all rows of a pattern, and stores them.
pub fn rows<S: Sum, R: Number + Reading<S>>(csr: &Csr, isa: Isa, reduced: Reduced<'_, S>, after: &After<'_, R>, y: Target<'_>) {
    if y.is_empty() {
        return;
    }
    if after.is_nothing() {
        plain(csr, reduced, &Sink::new(isa, y));
    } else {
        finished(csr, isa, reduced, after, &Sink::new(isa, y));
    }
}

/// Stores sums as they are, rounded to the output's type.
fn plain<S: Sum>(csr: &Csr, reduced: Reduced<'_, S>, sink: &Sink<'_, S>) {
    let window = sink.window();
    if sink.is_direct() {
        return shared(csr, &|rows| {
            for rows in blocks(rows, window.columns(), size_of::<S>()) {
                // SAFETY: rows are disjoint, and each is in one range.
                let stretch = unsafe { sink.stretch(rows.clone()) };
                reduced(rows, stretch, window.stride());
            }
        });
    }
    let columns = window.columns();
    shared(csr, &|rows| {
        let mut sums = Vec::new();
        for block in blocks(rows, columns, size_of::<S>()) {
            sums.resize(block.len() * columns, S::ZERO);
            reduced(block.clone(), &mut sums, columns);
            // SAFETY: rows are disjoint, and each is in one range.
            unsafe { sink.rows(block.start, &sums) };
        }
    });
}

/// Scales, finishes and stores sums.
fn finished<S: Sum, R: Number + Reading<S>>(csr: &Csr, isa: Isa, reduced: Reduced<'_, S>, after: &After<'_, R>, sink: &Sink<'_, R>) {
    let (window, columns) = (sink.window(), sink.window().columns());
    if sink.is_direct() && TypeId::of::<S>() == TypeId::of::<R>() {
        return shared(csr, &|rows| {
            let mut scratch = Vec::new();
            for block in blocks(rows, columns, size_of::<S>()) {
                // SAFETY: rows are disjoint, and each is in one range.
                let x = unsafe { sink.stretch(block.clone()) };
                if let Some(sums) = as_numbers::<R, S>(x) {
                    reduced(block.clone(), sums, window.stride());
                }
                finish(isa, after, csr, block, columns, window.stride(), x, &mut scratch);
            }
        });
    }
    shared(csr, &|rows| {
        let (mut sums, mut numbers, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
        for block in blocks(rows, columns, size_of::<S>()) {
            sums.resize(block.len() * columns, S::ZERO);
            reduced(block.clone(), &mut sums, columns);
            let finished = match as_numbers::<S, R>(&mut sums) {
                Some(same) => same,
                None => {
                    numbers.resize(sums.len(), R::ZERO);
                    R::read(isa, &sums, &mut numbers);
                    &mut numbers[..]
                }
            };
            finish(isa, after, csr, block.clone(), columns, columns, finished, &mut scratch);
            // SAFETY: rows are disjoint, and each is in one range.
            unsafe { sink.rows(block.start, finished) };
        }
    });
}

/// A slice under another name of its element type.
fn as_numbers<S: 'static, R: 'static>(slice: &mut [S]) -> Option<&mut [R]> {
    let same = TypeId::of::<S>() == TypeId::of::<R>();
    // SAFETY: the element types are the same.
    same.then(|| unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), slice.len()) })
}
