//! What becomes of the sums of an iteration: scores, the next operand, the change and the dangling mass.
//!
//! Invariant: totals are formed in eight `f64` sums by position, whatever the level; all slices are equally long, `scores` may
//! be empty.
#![allow(unsafe_code)]

use crate::Level;
use crate::spmv::{Real, per_level};

/// Sums of one kind of total.
const LANES: usize = 8;

/// The numbers of an iteration.
#[derive(Clone, Copy)]
pub(super) struct Rates<T> {
    /// The weight of the teleport distribution.
    pub(super) base: f64,
    /// The damping factor.
    pub(super) damping: T,
    /// Add up the scores of dangling vertices.
    pub(super) lost: bool,
    /// Add up the change of the scores.
    pub(super) change: bool,
}

/// Totals of a part.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    /// The L1 change of the scores.
    pub(super) change: f64,
    /// The scores of dangling vertices.
    pub(super) lost: f64,
}

/// What [`update`] writes.
pub(super) struct Outputs<'a, T> {
    /// The scores over the out-degrees.
    pub(super) operand: &'a mut [T],
    /// The scores, before and after; empty if they are not stored.
    pub(super) scores: &'a mut [T],
    /// Totals to add to.
    pub(super) totals: &'a mut Totals,
}

per_level! {
    /// Turns sums into scores: `score = base p + damping sum`, with `p` the teleport distribution or `even`.
    pub(super) fn update<T: Real>(
        sums: &[T], inverse: &[T], teleport: Option<&[T]>, even: T, rates: Rates<T>, outputs: Outputs<'_, T>
    ) = body
}

#[inline(always)]
fn body<T: Real>(sums: &[T], inverse: &[T], teleport: Option<&[T]>, even: T, rates: Rates<T>, outputs: Outputs<'_, T>) {
    let Outputs { operand, scores, totals } = outputs;
    let base = T::from_f64(rates.base);
    match teleport {
        None => {
            let constant = T::from_f64(rates.base * even.to_f64());
            let score = |i: usize| constant + rates.damping * sums[i];
            write(score, inverse, rates, operand, scores, totals);
        }
        Some(p) => {
            let p = &p[..sums.len()];
            let score = |i: usize| base * p[i] + rates.damping * sums[i];
            write(score, inverse, rates, operand, scores, totals);
        }
    }
}

#[inline(always)]
fn write<T: Real>(score: impl Fn(usize) -> T, inverse: &[T], rates: Rates<T>, operand: &mut [T], scores: &mut [T], totals: &mut Totals) {
    let n = operand.len();
    let inverse = &inverse[..n];
    for i in 0..n {
        operand[i] = score(i) * inverse[i];
    }
    if rates.lost {
        totals.lost += total(n, |i| if inverse[i] == T::ZERO { score(i).to_f64() } else { 0.0 });
    }
    if !scores.is_empty() {
        let scores = &mut scores[..n];
        if rates.change {
            totals.change += total(n, |i| (score(i) - scores[i]).magnitude().to_f64());
        }
        for i in 0..n {
            scores[i] = score(i);
        }
    }
}

/// The sum of `f` over `0..n`, in [`LANES`] sums by position.
#[inline(always)]
fn total(n: usize, f: impl Fn(usize) -> f64) -> f64 {
    let mut sums = [0.0; LANES];
    let whole = n / LANES * LANES;
    let mut i = 0;
    while i < whole {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += f(i + lane);
        }
        i += LANES;
    }
    for (lane, i) in (whole..n).enumerate() {
        sums[lane] += f(i);
    }
    sums.iter().sum()
}
