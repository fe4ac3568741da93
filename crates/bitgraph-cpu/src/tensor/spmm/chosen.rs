//! Maxima and minima: what the vectors leave open, the columns that gave them, and their backward pass.
#![allow(unsafe_code)]

use super::gather::Gather;
use super::store::shared;
use super::{entries, seen};
use crate::tensor::number::{Number, Reading, Sum};
use crate::tensor::view::{AnyView, View, reals};
use crate::{Cpu, Isa};
use bitgraph_sparse::parallel::DisjointSlice;
use bitgraph_tensor::ops::{Reduce, SpmmOp};
use bitgraph_tensor::{Any, AnyMut, Dense, Element, Out, Window, with_out};
use std::ops::Range;

/// The factor of entry `k` of a row for a head.
fn factor<S: Sum>(factors: &[S], k: usize, head: usize, heads: usize) -> S {
    factors.get(k * heads + head).copied().unwrap_or(S::ONE)
}

/// The factors of a row's entries, none for ones.
fn factors<'a, T: Element, S: Sum>(g: &'a Gather<'_, T, S>, i: usize, scratch: &'a mut Vec<S>) -> &'a [S] {
    if g.entries.are_ones() { &[] } else { g.entries.row(i, scratch) }
}

/// Rows without entries become 0, and elements whose messages were all NaN become NaN: vectors leave `none` there, since a NaN loses against
/// every number.
pub fn settle<T: Element, S: Sum + Reading<T>>(none: S, g: &Gather<'_, T, S>, rows: Range<usize>, out: &mut [S], stride: usize) {
    let (columns, heads) = (g.features.window.columns(), g.entries.heads);
    let width = (columns / heads).max(1);
    let mut scratch = Vec::new();
    for (k, i) in rows.enumerate() {
        let row = &mut out[k * stride..k * stride + columns];
        let ids = g.entries.csr.row(i);
        if ids.is_empty() {
            row.fill(S::ZERO);
            continue;
        }
        if !S::DTYPE.is_float() || !row.contains(&none) {
            continue;
        }
        let factors = factors(g, i, &mut scratch);
        for c in (0..columns).filter(|&c| row[c] == none).collect::<Vec<_>>() {
            let message = |k: usize| {
                let mut x = [S::ZERO];
                S::read(g.entries.isa, &g.features.row(ids[k] as usize)[c..=c], &mut x);
                x[0].times(factor(factors, k, c / width, heads))
            };
            let first = message(0);
            if (0..ids.len()).all(|k| message(k).partial_cmp(&S::ZERO).is_none()) {
                row[c] = first;
            }
        }
    }
}

/// A maximum or minimum that tells which columns gave it.
pub struct Chosen<'a, T: Element, S> {
    reduce: Reduce,
    gather: &'a Gather<'a, T, S>,
    columns: DisjointSlice<'a, i32>,
    window: Window,
}

impl<'a, T: Element, S: Sum + Reading<T>> Chosen<'a, T, S> {
    pub fn new(reduce: Reduce, gather: &'a Gather<'a, T, S>, out: Out<'a, Cpu, i32>) -> Self {
        let window = out.window;
        Self { reduce, gather, columns: DisjointSlice::new(out.array.as_mut_slice()), window }
    }
    /// Reduces rows; each may be in one call only.
    pub fn rows(&self, rows: Range<usize>, out: &mut [S], stride: usize) {
        let (g, columns) = (self.gather, self.gather.features.window.columns());
        let (heads, mut scratch, mut x) = (g.entries.heads, Vec::new(), vec![S::ZERO; columns]);
        let width = (columns / heads).max(1);
        for (k, i) in rows.enumerate() {
            let best = &mut out[k * stride..k * stride + columns];
            // SAFETY: rows are disjoint, and each is in one call.
            let from = unsafe { self.columns.range(self.window.row(i)) };
            best.fill(S::ZERO);
            from.fill(-1);
            let factors = factors(g, i, &mut scratch);
            for (k, &j) in g.entries.csr.row(i).iter().enumerate() {
                S::read(g.entries.isa, g.features.row(j as usize), &mut x);
                for c in 0..columns {
                    let message = x[c].times(factor(factors, k, c / width, heads));
                    let better = if self.reduce == Reduce::Max { message > best[c] } else { message < best[c] };
                    let nan = |v: S| v.partial_cmp(&S::ZERO).is_none();
                    if from[c] < 0 || better || (nan(best[c]) && !nan(message)) {
                        (best[c], from[c]) = (message, j as i32);
                    }
                }
            }
        }
    }
}

/// The backward pass: column by column of the matrix, each sums what the rows that chose it send.
pub fn chosen_backward(op: &SpmmOp<Cpu>, chosen: &Dense<Cpu, i32>, dy: &Any<Cpu>, dx: AnyMut<'_, Cpu>) {
    with_out!(dx, out => {
        if matches!(dy, Any::F64(_)) { backward::<f64, _>(op, chosen, dy, out) } else { backward::<f32, _>(op, chosen, dy, out) }
    });
}

fn backward<R: Number + super::super::number::Writing<U>, U: Element>(
    op: &SpmmOp<Cpu>,
    chosen: &Dense<Cpu, i32>,
    dy: &Any<Cpu>,
    out: Out<'_, Cpu, U>,
) {
    let (isa, dy, chosen, window) = (Isa::current(), AnyView::of(dy), View::of(chosen), out.window);
    // Seen from the columns, the entries' factors are those of the transpose, the row scale being that of its columns.
    let reversed = SpmmOp { transposed: !op.transposed, ..op.clone() };
    let entries = entries::<R>(&reversed, op.scale_rows.as_ref().map(reals));
    let scale: Option<Vec<R>> = op.scale_columns.as_ref().map(reals);
    let (csr, _) = seen(&op.matrix, reversed.transposed);
    let columns = window.columns();
    let width = (columns / entries.heads).max(1);
    let all = DisjointSlice::new(out.array.as_mut_slice());
    shared(csr, &|rows| {
        let (mut sums, mut scratch, mut x) = (vec![R::ZERO; columns], Vec::new(), Vec::new());
        for j in rows {
            sums.fill(R::ZERO);
            let factors: &[R] = if entries.are_ones() { &[] } else { entries.row(j, &mut scratch) };
            for (k, &i) in csr.row(j).iter().enumerate() {
                let (dy, from) = (dy.row_as::<R>(isa, i as usize, &mut x), chosen.row(i as usize));
                for c in 0..columns {
                    if from[c] == j as i32 {
                        sums[c] += dy[c] * factor(factors, k, c / width, entries.heads);
                    }
                }
            }
            if let Some(scale) = &scale {
                sums.iter_mut().for_each(|v| *v *= scale[j]);
            }
            // SAFETY: rows are disjoint, and each is in one range.
            R::write(isa, &sums, unsafe { all.range(window.row(j)) });
        }
    });
}
