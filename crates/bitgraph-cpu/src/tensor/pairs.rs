//! Numbers for pairs of rows: dot products and the scores of GATv2 of one row with the rows of its entries, head by head.
//!
//! The rows of entries to come are prefetched. Every number is formed in the same order whatever the threads.
#![allow(unsafe_code)]

use super::number::Sum;
use super::spmm::lanes::{LANES, Lanes, Loads};
#[cfg(target_arch = "x86_64")]
use super::spmm::lanes::{Ymm, Zmm};
use super::view::{AnyView, View};
use crate::Isa;
use crate::spmv::per_level;
use bitgraph_semiring::Scalar;
use half::{bf16, f16};

/// What is summed over a head's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `u v`.
    Dot,
    /// `a leaky(u + v)`.
    Leaky,
}

/// The kinds as parameters of the loops.
const DOT: u8 = 0;
const LEAKY: u8 = 1;

/// A row, and what it is paired with.
#[derive(Clone, Copy)]
pub struct Pairs<'a, S> {
    pub kind: Kind,
    /// `u`: as wide as a row of the features.
    pub row: &'a [S],
    /// `a`, for [`Kind::Leaky`]: as wide.
    pub vector: &'a [S],
    /// The slope of the leaky ReLU.
    pub slope: S,
    /// `v`: the rows of features.
    pub features: AnyView<'a>,
    /// The rows that are paired.
    pub ids: &'a [u32],
    /// Those, and the ones of rows to come.
    pub rest: &'a [u32],
    /// Heads.
    pub heads: usize,
}

/// Sums of pairs.
pub trait Paired: Sum {
    /// Writes `heads` numbers for each of the ids.
    fn pair(isa: Isa, p: &Pairs<'_, Self>, out: &mut [Self]) {
        // What the loops rely on: operands as wide as the features, whose rows reach beyond every id, and a place for each number.
        let window = p.features.window();
        assert!(p.row.len() == window.columns() && (p.kind == Kind::Dot || p.vector.len() == window.columns()));
        assert!(out.len() >= p.ids.len() * p.heads && p.rest.len() >= p.ids.len() && p.heads > 0);
        assert!(p.ids.iter().all(|&j| (j as usize) < window.rows()));
        if !Self::vectors(isa, p, out) {
            converted(isa, isa, p, out);
        }
    }
    /// As [`Paired::pair`], where there is a loop for the features' type; whether there is.
    fn vectors(isa: Isa, p: &Pairs<'_, Self>, out: &mut [Self]) -> bool;
}

/// Runs a loop over features that a view holds.
macro_rules! run {
    ($p:ident $out:ident: $($variant:ident $t:ty),* => $s:ty, $features:literal, $vector:ty) => {
        match $p.features {
            $( AnyView::$variant(features) => {
                #[target_feature(enable = $features)]
                fn loops(p: &Pairs<'_, $s>, features: View<'_, $t>, out: &mut [$s]) {
                    // SAFETY: these are the vector's instructions, and `pair` has checked the operands.
                    unsafe {
                        match p.kind {
                            Kind::Dot => all::<$vector, $t, DOT>(p, features, out),
                            Kind::Leaky => all::<$vector, $t, LEAKY>(p, features, out),
                        }
                    }
                }
                // SAFETY: this instruction set is in force only where the CPU has its features.
                unsafe { loops($p, features, $out) };
                true
            } )*
            _ => false,
        }
    };
}

impl Paired for f32 {
    fn vectors(isa: Isa, p: &Pairs<'_, Self>, out: &mut [Self]) -> bool {
        #[cfg(target_arch = "x86_64")]
        match isa {
            Isa::Avx512 => {
                return run!(p out: F16 f16, Bf16 bf16, F32 f32 => f32, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi1,bmi2", Zmm);
            }
            Isa::Avx2 => return run!(p out: F16 f16, Bf16 bf16, F32 f32 => f32, "avx2,fma,f16c,bmi1,bmi2", Ymm),
            Isa::Portable => {}
        }
        let _ = (isa, p, out);
        false
    }
}
impl Paired for f64 {
    fn vectors(isa: Isa, p: &Pairs<'_, Self>, out: &mut [Self]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if isa == Isa::Avx512 {
            return run!(p out: F64 f64 => f64, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi1,bmi2", [f64; LANES]);
        }
        let _ = (isa, p, out);
        false
    }
}

per_level! {
    /// Pairs by converting every row of features first: for all types, in plain loops over sixteen sums.
    fn converted<S: Sum>(isa_of_rows: Isa, p: &Pairs<'_, S>, out: &mut [S]) = converted_body
}

#[inline(always)]
fn converted_body<S: Sum>(isa: Isa, p: &Pairs<'_, S>, out: &mut [S]) {
    let width = p.row.len() / p.heads;
    let mut scratch = Vec::new();
    for (&j, out) in p.ids.iter().zip(out.chunks_exact_mut(p.heads)) {
        let x = p.features.row_as::<S>(isa, j as usize, &mut scratch);
        for (h, out) in out.iter_mut().enumerate() {
            let block = h * width..(h + 1) * width;
            let (x, u) = (&x[block.clone()], &p.row[block.clone()]);
            let mut sums = [S::ZERO; LANES];
            match p.kind {
                Kind::Dot => {
                    for (x, u) in x.chunks(LANES).zip(u.chunks(LANES)) {
                        sums.iter_mut().zip(x).zip(u).for_each(|((sum, &x), &u)| *sum = sum.plus(x.times(u)));
                    }
                }
                Kind::Leaky => {
                    for ((x, u), a) in x.chunks(LANES).zip(u.chunks(LANES)).zip(p.vector[block].chunks(LANES)) {
                        for (((sum, &x), &u), &a) in sums.iter_mut().zip(x).zip(u).zip(a) {
                            let z = x.plus(u);
                            *sum = sum.plus(a.times(if z > S::ZERO { z } else { p.slope.times(z) }));
                        }
                    }
                }
            }
            *out = sums.iter().fold(S::ZERO, |a, &b| a.plus(b));
        }
    }
}

/// Entries from the one at hand to the one that is prefetched.
const AHEAD: usize = 6;
/// Bytes of a row that are prefetched.
const PREFETCHED: usize = 1024;

/// # Safety
/// The CPU has the vector's instruction set; the operands are as `pair` checks.
#[inline(always)]
unsafe fn all<V: Loads<T> + Loads<<V as Lanes>::S>, T, const KIND: u8>(p: &Pairs<'_, V::S>, features: View<'_, T>, out: &mut [V::S])
where
    V::S: Sum,
{
    let window = features.window;
    let (width, heads) = (window.columns() / p.heads, p.heads);
    let bytes = (window.columns() * size_of::<T>()).min(PREFETCHED);
    for (k, &j) in p.ids.iter().enumerate() {
        let next = p.rest[(k + AHEAD).min(p.rest.len() - 1)] as usize;
        prefetch(features.data.as_ptr().wrapping_add(window.offset() + next * window.stride()), bytes);
        for head in 0..heads {
            let at = head * width;
            // SAFETY: the head's columns are within a row of features, and within the operands, which are as wide.
            out[k * heads + head] = unsafe {
                let from = features.data.as_ptr().add(window.offset() + j as usize * window.stride() + at);
                let (row, vector) = (p.row.as_ptr().add(at), p.vector.as_ptr().wrapping_add(at));
                one::<V, T, KIND>(from, row, vector, p.slope, width)
            };
        }
    }
}

/// Prefetches a row.
#[inline(always)]
fn prefetch<T>(row: *const T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..bytes.div_ceil(64) {
        // SAFETY: a prefetch has no effect but on caches, wherever it points.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(row.cast::<i8>().wrapping_add(64 * line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (row, bytes);
}

/// The number of one pair and head: four sums of sixteen, which hide each other's latency.
///
/// # Safety
/// The CPU has the vector's instruction set; features and row, and with [`LEAKY`] the vector, have `width` elements.
#[inline(always)]
unsafe fn one<V: Loads<T> + Loads<<V as Lanes>::S>, T, const KIND: u8>(
    features: *const T,
    row: *const V::S,
    vector: *const V::S,
    slope: V::S,
    width: usize,
) -> V::S
where
    V::S: Sum,
{
    // SAFETY: by the contract; so for all that follows.
    unsafe {
        let mut sums = [V::splat(V::S::ZERO); 4];
        let whole = width / LANES;
        let mut v = 0;
        while v + 4 <= whole {
            for (k, sum) in sums.iter_mut().enumerate() {
                let c = (v + k) * LANES;
                let a = if KIND == LEAKY { <V as Loads<V::S>>::load(vector.add(c)) } else { *sum };
                *sum = term::<V, KIND>(*sum, <V as Loads<T>>::load(features.add(c)), <V as Loads<V::S>>::load(row.add(c)), a, slope);
            }
            v += 4;
        }
        while v < whole {
            let c = v * LANES;
            let a = if KIND == LEAKY { <V as Loads<V::S>>::load(vector.add(c)) } else { sums[0] };
            sums[0] = term::<V, KIND>(sums[0], <V as Loads<T>>::load(features.add(c)), <V as Loads<V::S>>::load(row.add(c)), a, slope);
            v += 1;
        }
        let (c, rest) = (whole * LANES, width % LANES);
        if rest > 0 {
            // Lanes beyond are zero in all operands, and add nothing.
            let x = <V as Loads<T>>::load_part(features.add(c), rest);
            let u = <V as Loads<V::S>>::load_part(row.add(c), rest);
            let a = if KIND == LEAKY { <V as Loads<V::S>>::load_part(vector.add(c), rest) } else { sums[1] };
            sums[1] = term::<V, KIND>(sums[1], x, u, a, slope);
        }
        sums[0].add(sums[1]).add(sums[2].add(sums[3])).total()
    }
}

/// One step of a sum.
///
/// # Safety
/// The CPU has the vector's instruction set.
#[inline(always)]
unsafe fn term<V: Lanes, const KIND: u8>(sum: V, x: V, u: V, a: V, slope: V::S) -> V
where
    V::S: Sum,
{
    // SAFETY: by the contract.
    unsafe {
        if KIND == DOT {
            return sum.add_product(x, u);
        }
        let (z, zero) = (x.add(u), V::splat(V::S::ZERO));
        // Written so that a NaN stays one: it is neither larger nor smaller than zero.
        let leaky = z.larger(zero).add_product(z.smaller(zero), V::splat(slope));
        sum.add_product(leaky, a)
    }
}
