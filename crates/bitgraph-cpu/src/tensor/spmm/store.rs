//! Where reduced rows go: through scale, epilogue and conversion, block by block, shared among threads.
//!
//! A block of rows stays in the nearest cache between its reduction and its store; where nothing has to be done to it, rows are reduced where
//! they belong.
#![allow(unsafe_code)]

use crate::tensor::finish::Finish;
use crate::tensor::number::{Number, Reading, Sum, Writing};
use crate::tensor::view::reals;
use crate::{Cpu, Isa};
use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_sparse::{Csr, with_offsets};
use bitgraph_tensor::ops::{Reduce, SpmmOp};
use bitgraph_tensor::{AnyMut, Element, Out, with_out};
use std::ops::Range;

/// Reduces rows: row `i` to the elements from `out[(i - rows.start) * stride]` on.
pub type Reduced<'a, S> = &'a (dyn Fn(Range<usize>, &mut [S], usize) + Sync);

/// Divides and scales a row of sums.
type Scaled<'a, R> = &'a (dyn Fn(usize, &mut [R]) + Sync);

/// Bytes of sums that are reduced before they are stored.
const BLOCK: usize = 16 << 10;

/// Reduces all rows of a pattern, and stores them.
pub fn rows<S: Sum, R: Number + Reading<S>>(op: &SpmmOp<Cpu>, csr: &Csr, isa: Isa, reduced: Reduced<'_, S>, y: AnyMut<'_, Cpu>) {
    let finish = Finish::<R>::new(isa, &op.epilogue);
    let scale: Option<Vec<R>> = op.scale_rows.as_ref().map(reals);
    let mean = op.reduce == Reduce::Mean;
    let own = usize::from(op.own.is_some());
    // A mean is divided, not multiplied by an inverse, so that whole results stay whole.
    let scaled = |i: usize, x: &mut [R]| {
        let count = if mean { csr.degree(i) + own } else { 1 };
        if count > 1 {
            let count = R::of(count as f64);
            x.iter_mut().for_each(|x| *x /= count);
        }
        if let Some(scale) = &scale {
            let scale = scale[i];
            x.iter_mut().for_each(|x| *x *= scale);
        }
    };
    let scaled: Option<Scaled<'_, R>> = if mean || scale.is_some() { Some(&scaled) } else { None };
    with_out!(y, out => {
        if scaled.is_none() && finish.is_empty() {
            plain(csr, isa, reduced, out);
        } else {
            finished(csr, isa, reduced, scaled, &finish, out);
        }
    });
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

/// Stores sums as they are, rounded to the output's type.
fn plain<S: Sum + Writing<U>, U: Element>(csr: &Csr, isa: Isa, reduced: Reduced<'_, S>, out: Out<'_, Cpu, U>) {
    let (window, columns) = (out.window, out.window.columns());
    if window.is_empty() {
        return;
    }
    let all = out.array.as_mut_slice();
    if let Some(all) = as_sums::<U, S>(all) {
        let all = DisjointSlice::new(all);
        shared(csr, &|rows| {
            // SAFETY: the stretches from the first to the last element of disjoint ranges of rows are disjoint.
            let stretch = unsafe { all.range(window.row(rows.start).start..window.row(rows.end - 1).end) };
            reduced(rows, stretch, window.stride());
        });
        return;
    }
    let all = DisjointSlice::new(all);
    shared(csr, &|rows| {
        let mut sums = Vec::new();
        for block in blocks(rows, columns, size_of::<S>()) {
            sums.resize(block.len() * columns, S::ZERO);
            reduced(block.clone(), &mut sums, columns);
            for (i, row) in block.zip(sums.chunks_exact(columns)) {
                // SAFETY: rows are disjoint, and each is in one range.
                S::write(isa, row, unsafe { all.range(window.row(i)) });
            }
        }
    });
}

/// Scales, finishes and stores sums.
fn finished<S: Sum, R: Number + Reading<S> + Writing<U>, U: Element>(
    csr: &Csr,
    isa: Isa,
    reduced: Reduced<'_, S>,
    scaled: Option<Scaled<'_, R>>,
    finish: &Finish<'_, R>,
    out: Out<'_, Cpu, U>,
) {
    let (window, columns) = (out.window, out.window.columns());
    if window.is_empty() {
        return;
    }
    let all = DisjointSlice::new(out.array.as_mut_slice());
    shared(csr, &|rows| {
        let (mut sums, mut numbers, mut scratch) = (Vec::new(), vec![R::ZERO; columns], Vec::new());
        for block in blocks(rows, columns, size_of::<S>()) {
            sums.resize(block.len() * columns, S::ZERO);
            reduced(block.clone(), &mut sums, columns);
            for (i, row) in block.zip(sums.chunks_exact_mut(columns)) {
                let row = match as_sums::<S, R>(row) {
                    Some(row) => row,
                    None => {
                        R::read(isa, row, &mut numbers);
                        &mut numbers
                    }
                };
                if let Some(scaled) = scaled {
                    scaled(i, row);
                }
                finish.row(i, row, &mut scratch);
                // SAFETY: rows are disjoint, and each is in one range.
                R::write(isa, row, unsafe { all.range(window.row(i)) });
            }
        }
    });
}

/// A slice under another name of its element type.
fn as_sums<U: 'static, S: 'static>(slice: &mut [U]) -> Option<&mut [S]> {
    let same = std::any::TypeId::of::<U>() == std::any::TypeId::of::<S>();
    // SAFETY: the element types are the same.
    same.then(|| unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), slice.len()) })
}
