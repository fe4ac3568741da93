//! What becomes of the sums of an iteration: the next operand, the change of the scores and the dangling mass.
//!
//! A score is not stored: it is the operand over `|inverse|`. Its change is that of the operand, divided likewise.
//!
//! Invariant: totals are formed block by block in eight `f64` sums by position, whatever the instruction set; all slices are equally long.
#![allow(unsafe_code)]

use crate::Isa;
use crate::spmv::{Real, per_level};
use std::array::from_fn;

/// Sums of one kind of total.
const LANES: usize = 8;
/// Vertices whose totals are formed while their operands are in the first cache.
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
    pub(super) fn restore<T: Real>(operand: &[T], inverse: &[T], scores: &mut [T]) = restored
}

#[inline(always)]
fn restored<T: Real>(operand: &[T], inverse: &[T], scores: &mut [T]) {
    for ((score, &share), inverse) in scores.iter_mut().zip(operand).zip(inverse) {
        *score = share / inverse.magnitude();
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
        for i in 0..n {
            next[i] = score(first + i, sums[i]) * inverse[i].magnitude();
        }
        if rates.change {
            total(&mut totals.change, next, before, inverse, |share, before, inverse| (share - before).magnitude() / inverse.magnitude());
        }
        if rates.lost {
            total(&mut totals.lost, next, before, inverse, |score, _, inverse| if inverse < T::ZERO { score } else { T::ZERO });
        }
    }
}

/// Adds `f` of the elements of three slices of one length to the sums by position.
#[inline(always)]
fn total<T: Real>(sums: &mut [f64; LANES], next: &[T], before: &[T], inverse: &[T], f: impl Fn(T, T, T) -> T) {
    let (next, next_rest) = next.as_chunks::<LANES>();
    let (before, before_rest) = before.as_chunks::<LANES>();
    let (inverse, inverse_rest) = inverse.as_chunks::<LANES>();
    for ((next, before), inverse) in next.iter().zip(before).zip(inverse) {
        let terms: [T; LANES] = from_fn(|lane| f(next[lane], before[lane], inverse[lane]));
        *sums = from_fn(|lane| sums[lane] + terms[lane].to_f64());
    }
    for (lane, ((&next, &before), &inverse)) in next_rest.iter().zip(before_rest).zip(inverse_rest).enumerate() {
        sums[lane] += f(next, before, inverse).to_f64();
    }
}
