//! The inner loop: rows of features gathered and reduced in registers, a block of columns at a time.
//!
//! A block is as wide as the registers hold; the rows of entries to come are prefetched, across the ends of rows. Every element is reduced in
//! ascending order of columns, so that results do not depend on blocks or threads. Types and instruction sets without a loop of their own go
//! through [`converted`], row by row.
#![allow(unsafe_code)]

use super::factors::{Entries, Scratch};
use super::lanes::{LANES, Loads};
#[cfg(target_arch = "x86_64")]
use super::lanes::{Ymm, Zmm};
use crate::Isa;
use crate::spmv::per_level;
use crate::tensor::number::Sum;
use crate::tensor::view::{AnyView, View};
use bitgraph_semiring::Scalar;
use half::{bf16, f16};
use std::ops::Range;

/// How messages are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Sum,
    Largest,
    Smallest,
}

/// The rules as parameters of the loops.
const SUM: u8 = 0;
const LARGEST: u8 = 1;
const SMALLEST: u8 = 2;

/// Bytes of features that are prefetched ahead.
const AHEAD: usize = 3072;

/// Bytes of a result from which it is written past the caches: few of them would keep it until it is read, and a line is not read before it is
/// written. With 64 columns, on two cores with 32 MiB of cache, one thread and two take .91 and .82 of the time on `grid:1000x1000`, .8 on
/// `debruijn:20`, .94 on `urand:1000000:2`, and as long as before where rows are long (kron:18, `mesh:100x100x60`, `urand:400000:6`).
const STREAMED: usize = 64 << 20;

/// Bytes of rows that are reduced at a time where they are not read again at once.
const STRETCH: usize = 128 << 10;

/// Features, gathered into sums of type `S`.
pub struct Gather<'a, S> {
    pub entries: &'a Entries<'a, S>,
    pub features: AnyView<'a>,
    /// One more message of every row: of its own features, times this and the column's factor.
    pub own: Option<S>,
    pub rule: Rule,
}

/// Sums that features are gathered into.
pub trait Gathers: Sum {
    /// Reduces rows: row `i` to the elements from `out[(i - rows.start) * stride]` on.
    fn gather(g: &Gather<'_, Self>, rows: Range<usize>, out: &mut [Self], stride: usize) {
        let (f, n) = (g.features.window(), rows.len());
        // What the loops rely on: every column has a row of features, and every row a place.
        assert!(f.rows() >= g.entries.csr.ncols() && rows.end <= g.entries.csr.nrows());
        assert!(n == 0 || f.columns() == 0 || out.len() >= (n - 1) * stride + f.columns());
        assert!(g.own.is_none() || rows.end <= f.rows());
        if !Self::vectors(g, rows.clone(), out, stride) {
            converted(g.entries.isa, g, rows, out, stride);
        }
    }
    /// As [`Gathers::gather`], where there is a loop for the features' type; whether there is.
    fn vectors(g: &Gather<'_, Self>, rows: Range<usize>, out: &mut [Self], stride: usize) -> bool;
}

/// Defines a loop over features of one type, compiled for an instruction set, with a vector of sums.
macro_rules! compiled {
    ($name:ident, $features:literal, $t:ty, $s:ty, $vector:ty) => {{
        #[target_feature(enable = $features)]
        fn $name(g: &Gather<'_, $s>, features: View<'_, $t>, rows: Range<usize>, out: &mut [$s], stride: usize) {
            // SAFETY: these are the vector's instructions, and `gather` has checked the operands.
            unsafe { by_rule::<$vector, $t>(g, features, rows, out, stride) }
        }
        $name
    }};
}

/// Runs a loop over features that a view holds.
macro_rules! run {
    ($g:ident $rows:ident $out:ident $stride:ident: $($variant:ident $t:ty),* => $s:ty, $features:literal, $vector:ty) => {
        match $g.features {
            $( AnyView::$variant(features) => {
                // SAFETY: this instruction set is in force only where the CPU has its features.
                unsafe { compiled!(loops, $features, $t, $s, $vector)($g, features, $rows, $out, $stride) };
                true
            } )*
            _ => false,
        }
    };
}

impl Gathers for f32 {
    fn vectors(g: &Gather<'_, Self>, rows: Range<usize>, out: &mut [Self], stride: usize) -> bool {
        #[cfg(target_arch = "x86_64")]
        match g.entries.isa {
            Isa::Avx512 => {
                return run!(g rows out stride: F16 f16, Bf16 bf16, F32 f32 => f32, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi1,bmi2", Zmm);
            }
            Isa::Avx2 => return run!(g rows out stride: F16 f16, Bf16 bf16, F32 f32 => f32, "avx2,fma,f16c,bmi1,bmi2", Ymm),
            Isa::Portable => {}
        }
        let _ = (g, rows, out, stride);
        false
    }
}
impl Gathers for f64 {
    fn vectors(g: &Gather<'_, Self>, rows: Range<usize>, out: &mut [Self], stride: usize) -> bool {
        #[cfg(target_arch = "x86_64")]
        if g.entries.isa == Isa::Avx512 {
            return run!(g rows out stride: F64 f64 => f64, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi1,bmi2", [f64; LANES]);
        }
        let _ = (g, rows, out, stride);
        false
    }
}
impl Gathers for i32 {
    fn vectors(g: &Gather<'_, Self>, rows: Range<usize>, out: &mut [Self], stride: usize) -> bool {
        #[cfg(target_arch = "x86_64")]
        if g.entries.isa == Isa::Avx512 {
            return run!(g rows out stride: I8 i8, U8 u8, I16 i16, I32 i32 => i32, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi1,bmi2", [i32; LANES]);
        }
        let _ = (g, rows, out, stride);
        false
    }
}

per_level! {
    /// Reduces rows by converting every row of features first: for all types, in plain loops that the compiler makes vectors of.
    fn converted<S: Sum>(g: &Gather<'_, S>, rows: Range<usize>, out: &mut [S], stride: usize) = converted_body
}

#[inline(always)]
fn converted_body<S: Sum>(g: &Gather<'_, S>, rows: Range<usize>, out: &mut [S], stride: usize) {
    let (entries, columns) = (g.entries, g.features.window().columns());
    let width = (columns / entries.heads).max(1);
    let (mut scratch, mut x) = (Scratch::default(), Vec::new());
    for (k, i) in rows.enumerate() {
        let sums = &mut out[k * stride..k * stride + columns];
        sums.fill(match g.rule {
            Rule::Sum => S::ZERO,
            Rule::Largest => S::smallest(),
            Rule::Smallest => S::largest(),
        });
        let factors: &[S] = if entries.are_ones() { &[] } else { entries.row(i, &mut scratch) };
        for (k, &j) in entries.csr.row(i).iter().enumerate() {
            let x = g.features.row_as::<S>(entries.isa, j as usize, &mut x);
            for (h, (sums, x)) in sums.chunks_mut(width).zip(x.chunks(width)).enumerate() {
                add_row(g.rule, sums, x, factors.get(k * entries.heads + h).copied().unwrap_or(S::ONE));
            }
        }
        if let Some(own) = g.own {
            let x = g.features.row_as::<S>(entries.isa, i, &mut x);
            add_row(g.rule, sums, x, entries.columns.as_ref().map_or(own, |d| own.times(d[i])));
        }
    }
}

#[inline(always)]
fn add_row<S: Sum>(rule: Rule, sums: &mut [S], x: &[S], factor: S) {
    let each = sums.iter_mut().zip(x).map(|(sum, x)| (sum, x.times(factor)));
    match rule {
        Rule::Sum => each.for_each(|(sum, x)| *sum = sum.plus(x)),
        Rule::Largest => each.for_each(|(sum, x)| *sum = if x > *sum { x } else { *sum }),
        Rule::Smallest => each.for_each(|(sum, x)| *sum = if x < *sum { x } else { *sum }),
    }
}

/// # Safety
/// The CPU has the vector's instruction set; features, rows and output are as `gather` checks.
#[inline(always)]
unsafe fn by_rule<V: Loads<T>, T>(g: &Gather<'_, V::S>, features: View<'_, T>, rows: Range<usize>, out: &mut [V::S], stride: usize)
where
    V::S: Sum,
{
    let ones = g.entries.are_ones() && g.own.is_none_or(|own| own == V::S::ONE);
    // SAFETY: by the contract.
    unsafe {
        match g.rule {
            Rule::Sum if ones => rows_of::<V, T, SUM, false>(g, features, rows, out, stride),
            Rule::Sum => rows_of::<V, T, SUM, true>(g, features, rows, out, stride),
            // A product with 1 costs little beside the gather.
            Rule::Largest => rows_of::<V, T, LARGEST, true>(g, features, rows, out, stride),
            Rule::Smallest => rows_of::<V, T, SMALLEST, true>(g, features, rows, out, stride),
        }
    }
}

/// A row's entries, ready to be gathered.
struct Row<'a, S> {
    columns: &'a [u32],
    /// Those of this row and of all after it.
    rest: &'a [u32],
    /// A factor for each entry, `step` apart; none for ones.
    factors: &'a [S],
    step: usize,
    /// Whether the result is written past the caches.
    streams: bool,
    /// The row of features of one more message, and its factor.
    own: Option<(usize, S)>,
}

/// # Safety
/// As [`by_rule`].
#[inline(always)]
unsafe fn rows_of<V: Loads<T>, T, const RULE: u8, const FACTORS: bool>(
    g: &Gather<'_, V::S>,
    features: View<'_, T>,
    rows: Range<usize>,
    out: &mut [V::S],
    stride: usize,
) where
    V::S: Sum,
{
    let (entries, window) = (g.entries, features.window);
    let (features, width) = (features.data.as_ptr(), window.columns() / entries.heads);
    let mut scratch = Scratch::default();
    let size = size_of::<V::S>();
    let streams = RULE == SUM
        && entries.csr.nrows() * stride * size >= STREAMED
        && size_of_val(out) >= STRETCH
        && (out.as_ptr() as usize).is_multiple_of(64)
        && (stride * size).is_multiple_of(64)
        && (width * size).is_multiple_of(64);
    for (k, i) in rows.enumerate() {
        let range = entries.csr.row_range(i);
        let factors: &[V::S] = if FACTORS && !entries.are_ones() { entries.row(i, &mut scratch) } else { &[] };
        for head in 0..entries.heads {
            let row = Row {
                columns: &entries.csr.indices()[range.clone()],
                rest: &entries.csr.indices()[range.start..],
                factors: factors.get(head..).unwrap_or(&[]),
                step: entries.heads,
                streams,
                own: g.own.map(|own| (i, entries.columns.as_ref().map_or(own, |d| own.times(d[i])))),
            };
            let (mut c, end) = (head * width, (head + 1) * width);
            while c < end {
                // SAFETY: the block's columns are within a row of features, and within a row of the output.
                c += unsafe {
                    let from = features.add(window.offset() + c);
                    let to = out.as_mut_ptr().add(k * stride + c);
                    block::<V, T, RULE, FACTORS>(&row, from, window.stride(), to, end - c)
                };
            }
        }
    }
    if streams {
        // What was written past the caches is seen by whoever waits for this thread.
        // SAFETY: every CPU of this architecture has the instruction.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

/// Reduces as many of the columns that are left as fit the registers; says how many.
///
/// # Safety
/// As [`by_rule`]; every row of features has `left` elements from `from` on, and so has the output from `to` on.
#[inline(always)]
unsafe fn block<V: Loads<T>, T, const RULE: u8, const FACTORS: bool>(
    row: &Row<'_, V::S>,
    from: *const T,
    stride: usize,
    to: *mut V::S,
    left: usize,
) -> usize
where
    V::S: Sum,
{
    macro_rules! run {
        ($vectors:literal, $part:literal) => {{
            let columns = left.min($vectors * LANES);
            // SAFETY: by the contract.
            unsafe { reduce::<V, T, RULE, FACTORS, $vectors, $part>(row, from, stride, to, columns) };
            columns
        }};
    }
    // Only combinations that occur are compiled: those of a wide vector are not for others.
    match (left / LANES, left % LANES) {
        (16.., _) if V::WIDE => run!(16, false),
        (8.., _) if V::WIDE => run!(8, false),
        (4.., _) => run!(4, false),
        (3, 1..) if V::WIDE => run!(4, true),
        (3, 0) | (2, 1..) if V::WIDE => run!(3, true),
        (1, 1..) if V::WIDE => run!(2, true),
        (2.., _) => run!(2, false),
        (1, _) => run!(1, false),
        (0, _) => run!(1, true),
    }
}

/// Reduces the columns of `VECTORS` vectors, the last of them in part with `PART`.
///
/// # Safety
/// As [`block`].
#[inline(always)]
unsafe fn reduce<V: Loads<T>, T, const RULE: u8, const FACTORS: bool, const VECTORS: usize, const PART: bool>(
    row: &Row<'_, V::S>,
    from: *const T,
    stride: usize,
    to: *mut V::S,
    columns: usize,
) where
    V::S: Sum,
{
    let last = columns - (VECTORS - 1) * LANES;
    let none = match RULE {
        SUM => V::S::ZERO,
        LARGEST => V::S::smallest(),
        _ => V::S::largest(),
    };
    // SAFETY: by the contract.
    let mut sums = [unsafe { V::splat(none) }; VECTORS];
    for (k, &j) in row.columns.iter().enumerate() {
        prefetch::<T, VECTORS>(from.wrapping_add(row.rest[(k + ahead::<T, VECTORS>()).min(row.rest.len() - 1)] as usize * stride));
        let factor = if FACTORS && !row.factors.is_empty() { row.factors[k * row.step] } else { V::S::ONE };
        // SAFETY: a column is below the number of columns, which have a row of features each.
        unsafe { merge::<V, T, RULE, FACTORS, VECTORS, PART>(&mut sums, from.add(j as usize * stride), factor, last) };
    }
    if let Some((i, factor)) = row.own {
        // SAFETY: the row itself has a row of features.
        unsafe { merge::<V, T, RULE, FACTORS, VECTORS, PART>(&mut sums, from.add(i * stride), factor, last) };
    }
    if RULE == SUM && !PART && row.streams {
        // SAFETY: by the contract; all blocks of the output begin with a cache line.
        return (0..VECTORS).for_each(|v| unsafe { sums[v].stream(to.add(v * LANES)) });
    }
    for v in 0..VECTORS {
        let count = if PART && v + 1 == VECTORS { last } else { LANES };
        // SAFETY: by the contract the output has the columns of the block.
        unsafe { sums[v].store(to.add(v * LANES), count) };
    }
}

/// Entries from the one at hand to the one whose features are prefetched.
const fn ahead<T, const VECTORS: usize>() -> usize {
    let entries = AHEAD / (VECTORS * LANES * size_of::<T>());
    if entries < 4 {
        4
    } else if entries > 16 {
        16
    } else {
        entries
    }
}

/// Prefetches a block's columns of a row of features.
#[inline(always)]
fn prefetch<T, const VECTORS: usize>(features: *const T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..(VECTORS * LANES * size_of::<T>()).div_ceil(64) {
        // SAFETY: a prefetch has no effect but on caches, wherever it points.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(features.cast::<i8>().wrapping_add(64 * line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = features;
}

/// One message.
///
/// # Safety
/// As [`block`]; `features` are the block's columns of a row.
#[inline(always)]
unsafe fn merge<V: Loads<T>, T, const RULE: u8, const FACTORS: bool, const VECTORS: usize, const PART: bool>(
    sums: &mut [V; VECTORS],
    features: *const T,
    factor: V::S,
    last: usize,
) {
    for v in 0..VECTORS {
        // SAFETY: by the contract.
        unsafe {
            let at = features.add(v * LANES);
            let x = if PART && v + 1 == VECTORS { V::load_part(at, last) } else { V::load(at) };
            sums[v] = match (RULE, FACTORS) {
                (SUM, false) => sums[v].add(x),
                (SUM, true) => sums[v].add_product(x, V::splat(factor)),
                (LARGEST, _) => sums[v].larger(x.times(V::splat(factor))),
                (_, _) => sums[v].smaller(x.times(V::splat(factor))),
            };
        }
    }
}
