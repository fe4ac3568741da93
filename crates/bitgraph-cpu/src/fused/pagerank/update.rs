//! What becomes of the sums of an iteration: the next operand, the change of the scores and the dangling mass.
//!
//! A score is not stored: it is the operand over `|inverse|`. Its change is that of the operand, divided likewise.
//!
//! Invariant: totals are formed block by block in eight `f64` sums by position, whatever the instruction set; all slices are equally long.
#![allow(unsafe_code)]

use crate::Isa;
use crate::spmv::{Real, per_level};
use std::array::from_fn;
use std::mem::MaybeUninit;

/// Sums of one kind of total.
const LANES: usize = 8;
/// Vertices whose dangling mass is added up while their operands are in the first cache; a multiple of the sums.
const BLOCK: usize = 512;

/// The numbers of an iteration.
#[derive(Clone, Copy)]
pub(super) struct Rates<T> {
    /// The weight of the teleport distribution.
    pub(super) base: f64,
    /// The same times the probability of a vertex, if all have the same.
    pub(super) even: f64,
    /// The damping factor.
    pub(super) damping: T,
    /// Add up the scores of dangling vertices.
    pub(super) lost: bool,
    /// Add up the change of the scores.
    pub(super) change: bool,
}

/// Totals of a part, each in sums by position.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    /// The L1 change of the scores.
    pub(super) change: [f64; LANES],
    /// The scores of dangling vertices.
    pub(super) lost: [f64; LANES],
}

/// What [`update`] reads.
#[derive(Clone, Copy)]
pub(super) struct Operands<'a, T> {
    /// The sums over incoming arcs.
    pub(super) sums: &'a [T],
    /// One over the out-degree, -1 for dangling vertices.
    pub(super) inverse: &'a [T],
    /// The teleport distribution, unless it is even.
    pub(super) teleport: Option<&'a [T]>,
    /// The operand of the iteration before.
    pub(super) before: &'a [T],
}

per_level! {
    /// Turns sums into scores, `score = base p + damping sum`, with `p` the teleport distribution, and these into `next`.
    pub(super) fn update<T: Real>(operands: Operands<'_, T>, rates: Rates<T>, next: &mut [T], totals: &mut Totals) = body
}

per_level! {
    /// The scores that an operand was made from, within two roundings.
    pub(super) fn restore<T: Real>(operand: &[T], inverse: &[T], scores: &mut [MaybeUninit<T>]) = restored
}

#[inline(always)]
fn restored<T: Real>(operand: &[T], inverse: &[T], scores: &mut [MaybeUninit<T>]) {
    for ((score, &share), inverse) in scores.iter_mut().zip(operand).zip(inverse) {
        score.write(share / inverse.magnitude());
    }
}

#[inline(always)]
fn body<T: Real>(operands: Operands<'_, T>, rates: Rates<T>, next: &mut [T], totals: &mut Totals) {
    let damping = rates.damping;
    match operands.teleport {
        None => {
            let even = T::from_f64(rates.even);
            write(operands, rates, next, totals, |_, sum| even + damping * sum);
        }
        Some(p) => {
            let (base, p) = (T::from_f64(rates.base), &p[..next.len()]);
            write(operands, rates, next, totals, |i, sum| base * p[i] + damping * sum);
        }
    }
}

#[inline(always)]
fn write<T: Real>(operands: Operands<'_, T>, rates: Rates<T>, next: &mut [T], totals: &mut Totals, score: impl Fn(usize, T) -> T) {
    for (number, next) in next.chunks_mut(BLOCK).enumerate() {
        let (first, n) = (number * BLOCK, next.len());
        let [sums, inverse, before] = [operands.sums, operands.inverse, operands.before].map(|all| &all[first..first + n]);
        let score = |i: usize, sum: T| score(first + i, sum);
        if rates.change {
            write_and_compare(sums, inverse, before, next, &mut totals.change, score);
        } else {
            for i in 0..n {
                next[i] = score(i, sums[i]) * inverse[i].magnitude();
            }
        }
        if rates.lost {
            add_dangling(next, inverse, &mut totals.lost);
        }
    }
}

/// One pass: the divisions are done while the next operands come from memory. Eight vertices are taken through each step together, which
/// is how the compiler makes vectors of all of it.
#[inline(always)]
fn write_and_compare<T: Real>(
    sums: &[T],
    inverse: &[T],
    before: &[T],
    next: &mut [T],
    change: &mut [f64; LANES],
    score: impl Fn(usize, T) -> T,
) {
    let whole = next.len() / LANES * LANES;
    let [(sums_8, _), (inverse_8, _), (before_8, _)] = [sums, inverse, before].map(<[T]>::as_chunks::<LANES>);
    let (next_8, rest) = next.as_chunks_mut::<LANES>();
    for (k, (((next, sums), inverse), before)) in next_8.iter_mut().zip(sums_8).zip(inverse_8).zip(before_8).enumerate() {
        let weight = inverse.map(T::magnitude);
        let share: [T; LANES] = from_fn(|lane| score(k * LANES + lane, sums[lane]) * weight[lane]);
        let by: [T; LANES] = from_fn(|lane| (share[lane] - before[lane]).magnitude() / weight[lane]);
        *change = from_fn(|lane| change[lane] + by[lane].to_f64());
        *next = share;
    }
    for (lane, next) in rest.iter_mut().enumerate() {
        let i = whole + lane;
        let weight = inverse[i].magnitude();
        *next = score(i, sums[i]) * weight;
        change[lane] += ((*next - before[i]).magnitude() / weight).to_f64();
    }
}

/// Adds up the operands of dangling vertices, which are their scores.
#[inline(always)]
fn add_dangling<T: Real>(next: &[T], inverse: &[T], lost: &mut [f64; LANES]) {
    let dangling = |score: T, inverse: T| if inverse < T::ZERO { score } else { T::ZERO };
    let ((next_8, next), (inverse_8, inverse)) = (next.as_chunks::<LANES>(), inverse.as_chunks::<LANES>());
    for (next, inverse) in next_8.iter().zip(inverse_8) {
        let scores: [T; LANES] = from_fn(|lane| dangling(next[lane], inverse[lane]));
        *lost = from_fn(|lane| lost[lane] + scores[lane].to_f64());
    }
    for (lane, (&next, &inverse)) in next.iter().zip(inverse).enumerate() {
        lost[lane] += dangling(next, inverse).to_f64();
    }
}
