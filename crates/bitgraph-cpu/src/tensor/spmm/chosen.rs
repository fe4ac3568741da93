//! Maxima and minima: what the vectors leave open, the columns that gave them, and their backward pass.
#![allow(unsafe_code)]

use super::factors::Scratch;
use super::gather::{Gather, Rule};
use super::store::shared;
use super::{entries, seen};
use crate::tensor::number::{Number, Sum};
use crate::tensor::sink::Sink;
use crate::tensor::view::{AnyView, View, reals};
use crate::{Cpu, Isa};
use bitgraph_sparse::parallel::DisjointSlice;
use bitgraph_tensor::ops::SpmmOp;
use bitgraph_tensor::{Any, AnyMut, Dense, Out, Window};
use std::ops::Range;

/// The factor of entry `k` of a row for a head.
fn factor<S: Sum>(factors: &[S], k: usize, head: usize, heads: usize) -> S {
    factors.get(k * heads + head).copied().unwrap_or(S::ONE)
}

/// The factors of a row's entries, none for ones.
fn factors<'a, S: Sum>(g: &'a Gather<'_, S>, i: usize, scratch: &'a mut Scratch<S>) -> &'a [S] {
    if g.entries.are_ones() { &[] } else { g.entries.row(i, scratch) }
}

/// Rows without entries become 0, and elements whose messages were all NaN become NaN: vectors leave `none` there, since a NaN loses against
/// every number.
pub fn settle<S: Sum>(g: &Gather<'_, S>, rows: Range<usize>, out: &mut [S], stride: usize) {
    let (columns, heads) = (g.features.window().columns(), g.entries.heads);
    let none = if g.rule == Rule::Largest { S::smallest() } else { S::largest() };
    let width = (columns / heads).max(1);
    let (mut scratch, mut x) = (Scratch::default(), Vec::new());
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
        let missing: Vec<usize> = (0..columns).filter(|&c| row[c] == none).collect();
        // The first message of each, until one is found that is a number.
        let mut first: Vec<Option<S>> = vec![None; missing.len()];
        let mut numbers = vec![false; missing.len()];
        for (k, &j) in ids.iter().enumerate() {
            let x = g.features.row_as::<S>(g.entries.isa, j as usize, &mut x);
            for (n, &c) in missing.iter().enumerate() {
                let message = x[c].times(factor(factors, k, c / width, heads));
                first[n].get_or_insert(message);
                numbers[n] |= !is_nan(message);
            }
        }
        for (n, &c) in missing.iter().enumerate() {
            if let (Some(nan), false) = (first[n], numbers[n]) {
                row[c] = nan;
            }
        }
    }
}

fn is_nan<S: Sum>(v: S) -> bool {
    v.partial_cmp(&S::ZERO).is_none()
}

/// A maximum or minimum that tells which columns gave it.
pub struct Chosen<'a, S> {
    gather: &'a Gather<'a, S>,
    columns: DisjointSlice<'a, i32>,
    window: Window,
}

impl<'a, S: Sum> Chosen<'a, S> {
    pub fn new(gather: &'a Gather<'a, S>, out: Out<'a, Cpu, i32>) -> Self {
        let window = out.window;
        Self { gather, columns: DisjointSlice::new(out.array.as_mut_slice()), window }
    }
    /// Reduces rows; each may be in one call only.
    pub fn rows(&self, rows: Range<usize>, out: &mut [S], stride: usize) {
        let (g, columns) = (self.gather, self.gather.features.window().columns());
        let (heads, mut scratch, mut x) = (g.entries.heads, Scratch::default(), Vec::new());
        let width = (columns / heads).max(1);
        for (k, i) in rows.enumerate() {
            let best = &mut out[k * stride..k * stride + columns];
            // SAFETY: rows are disjoint, and each is in one call.
            let from = unsafe { self.columns.range(self.window.row(i)) };
            best.fill(S::ZERO);
            from.fill(-1);
            let factors = factors(g, i, &mut scratch);
            for (k, &j) in g.entries.csr.row(i).iter().enumerate() {
                let x = g.features.row_as::<S>(g.entries.isa, j as usize, &mut x);
                for c in 0..columns {
                    let message = x[c].times(factor(factors, k, c / width, heads));
                    let better = if g.rule == Rule::Largest { message > best[c] } else { message < best[c] };
                    if from[c] < 0 || better || (is_nan(best[c]) && !is_nan(message)) {
                        (best[c], from[c]) = (message, j as i32);
                    }
                }
            }
        }
    }
}

/// The backward pass: column by column of the matrix, each sums what the rows that chose it send.
pub fn chosen_backward(op: &SpmmOp<Cpu>, chosen: &Dense<Cpu, i32>, dy: &Any<Cpu>, dx: AnyMut<'_, Cpu>) {
    if matches!(dy, Any::F64(_)) { backward::<f64>(op, chosen, dy, dx) } else { backward::<f32>(op, chosen, dy, dx) }
}

fn backward<R: Number>(op: &SpmmOp<Cpu>, chosen: &Dense<Cpu, i32>, dy: &Any<Cpu>, dx: AnyMut<'_, Cpu>) {
    let (isa, dy, chosen) = (Isa::current(), AnyView::of(dy), View::of(chosen));
    // Seen from the columns, the entries' factors are those of the transpose, the row scale being that of its columns.
    let reversed = SpmmOp { transposed: !op.transposed, ..op.clone() };
    let entries = entries::<R>(&reversed, op.scale_rows.as_ref().map(reals));
    let scale: Option<Vec<R>> = op.scale_columns.as_ref().map(reals);
    let (csr, _) = seen(&op.matrix, reversed.transposed);
    let sink = Sink::<R>::new(isa, dx);
    let columns = sink.window().columns();
    let width = (columns / entries.heads).max(1);
    shared(csr, &|rows| {
        let (mut sums, mut scratch, mut x) = (vec![R::ZERO; columns], Scratch::default(), Vec::new());
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
            unsafe { sink.rows(j, &sums) };
        }
    });
}
