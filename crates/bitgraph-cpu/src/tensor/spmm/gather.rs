//! The inner loop: rows of features gathered and reduced in registers, a block of columns at a time.
//!
//! A block is as wide as the registers hold; the rows of entries to come are prefetched, across the ends of rows. Every element is reduced in
//! ascending order of columns, so that results do not depend on blocks or threads.
#![allow(unsafe_code)]

use super::factors::Entries;
use super::lanes::{LANES, Loads};
#[cfg(target_arch = "x86_64")]
use super::lanes::{Ymm, Zmm};
use crate::Isa;
use crate::tensor::number::Sum;
use crate::tensor::view::View;
use bitgraph_semiring::Scalar;
use bitgraph_tensor::Element;
use half::{bf16, f16};
use std::ops::Range;

/// The reductions, as parameters of the loops.
pub const SUM: u8 = 0;
pub const LARGEST: u8 = 1;
pub const SMALLEST: u8 = 2;

/// Bytes of features that are prefetched ahead.
const AHEAD: usize = 3072;

/// Features of type `T`, gathered into sums of type `S`.
pub struct Gather<'a, T, S> {
    pub entries: &'a Entries<'a, S>,
    pub features: View<'a, T>,
    /// One more message of every row: of its own features, times this and the column's factor.
    pub own: Option<S>,
}

/// Element types and the vectors that each instruction set reads them into.
pub trait Gathered<S>: Element {
    /// Reduces rows: row `i` to the elements from `out[(i - rows.start) * stride]` on.
    fn gather<const RULE: u8>(isa: Isa, g: &Gather<'_, Self, S>, rows: Range<usize>, out: &mut [S], stride: usize);
}

macro_rules! gathered {
    ($($t:ident => $s:ident: $avx512:ty, $avx2:ty;)*) => { $(
        impl Gathered<$s> for $t {
            fn gather<const RULE: u8>(isa: Isa, g: &Gather<'_, Self, $s>, rows: Range<usize>, out: &mut [$s], stride: usize) {
                // What the loops rely on: every column has a row of features, and every row a place.
                let (f, n) = (g.features.window, rows.len());
                assert!(f.rows() >= g.entries.csr.ncols() && f.end() <= g.features.data.len() && rows.end <= g.entries.csr.nrows());
                assert!(n == 0 || f.columns() == 0 || out.len() >= (n - 1) * stride + f.columns());
                assert!(g.own.is_none() || rows.end <= f.rows());
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi1,bmi2")]
                    fn avx512<const RULE: u8>(g: &Gather<'_, $t, $s>, rows: Range<usize>, out: &mut [$s], stride: usize) {
                        // SAFETY: these are the vector's instructions, and the operands were checked.
                        unsafe { all::<$avx512, $t, RULE>(g, rows, out, stride) }
                    }
                    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2")]
                    fn avx2<const RULE: u8>(g: &Gather<'_, $t, $s>, rows: Range<usize>, out: &mut [$s], stride: usize) {
                        // SAFETY: these are the vector's instructions, and the operands were checked.
                        unsafe { all::<$avx2, $t, RULE>(g, rows, out, stride) }
                    }
                    match isa {
                        // SAFETY: this instruction set is in force only where the CPU has its features.
                        Isa::Avx512 => return unsafe { avx512::<RULE>(g, rows, out, stride) },
                        // SAFETY: this instruction set is in force only where the CPU has its features.
                        Isa::Avx2 => return unsafe { avx2::<RULE>(g, rows, out, stride) },
                        Isa::Portable => {}
                    }
                }
                let _ = isa;
                // SAFETY: arrays need no instruction set, and the operands were checked.
                unsafe { all::<[$s; LANES], $t, RULE>(g, rows, out, stride) }
            }
        }
    )* };
}
#[cfg(target_arch = "x86_64")]
gathered! {
    f16 => f32: Zmm, Ymm;
    bf16 => f32: Zmm, Ymm;
    f32 => f32: Zmm, Ymm;
    f64 => f64: [f64; LANES], [f64; LANES];
    i8 => f32: Zmm, Ymm;
    u8 => f32: Zmm, Ymm;
    i16 => f32: Zmm, Ymm;
    i32 => f32: Zmm, Ymm;
    i8 => i32: [i32; LANES], [i32; LANES];
    u8 => i32: [i32; LANES], [i32; LANES];
    i16 => i32: [i32; LANES], [i32; LANES];
    i32 => i32: [i32; LANES], [i32; LANES];
}
#[cfg(not(target_arch = "x86_64"))]
gathered! {
    f16 => f32: (), ();
    bf16 => f32: (), ();
    f32 => f32: (), ();
    f64 => f64: (), ();
    i8 => f32: (), ();
    u8 => f32: (), ();
    i16 => f32: (), ();
    i32 => f32: (), ();
    i8 => i32: (), ();
    u8 => i32: (), ();
    i16 => i32: (), ();
    i32 => i32: (), ();
}

/// Rows one after the other.
///
/// # Safety
/// The CPU has the vector's instruction set; features, rows and output are as `gather` checks.
#[inline(always)]
unsafe fn all<V: Loads<T>, T, const RULE: u8>(g: &Gather<'_, T, V::S>, rows: Range<usize>, out: &mut [V::S], stride: usize)
where
    V::S: Sum,
{
    // SAFETY: by the contract.
    unsafe {
        if g.entries.are_ones() && g.own.is_none_or(|own| own == V::S::ONE) {
            rows_of::<V, T, RULE, false>(g, rows, out, stride);
        } else {
            rows_of::<V, T, RULE, true>(g, rows, out, stride);
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
    /// The row of features of one more message, and its factor.
    own: Option<(usize, S)>,
}

/// # Safety
/// As [`all`].
#[inline(always)]
unsafe fn rows_of<V: Loads<T>, T, const RULE: u8, const FACTORS: bool>(
    g: &Gather<'_, T, V::S>,
    rows: Range<usize>,
    out: &mut [V::S],
    stride: usize,
) where
    V::S: Sum,
{
    let (entries, window) = (g.entries, g.features.window);
    let (features, width) = (g.features.data.as_ptr(), window.columns() / entries.heads.max(1));
    let mut scratch = Vec::new();
    for (k, i) in rows.enumerate() {
        let range = entries.csr.row_range(i);
        let factors: &[V::S] = if FACTORS && !entries.are_ones() { entries.row(i, &mut scratch) } else { &[] };
        for head in 0..entries.heads {
            let row = Row {
                columns: &entries.csr.indices()[range.clone()],
                rest: &entries.csr.indices()[range.start..],
                factors: factors.get(head..).unwrap_or(&[]),
                step: entries.heads,
                own: g.own.map(|own| (i, entries.columns.as_ref().map_or(own, |d| own.times(d[i])))),
            };
            let (mut c, end) = (head * width, (head + 1) * width);
            while c < end {
                let left = end - c;
                // SAFETY: the block's columns are within a row of features, and within a row of the output.
                c += unsafe {
                    let from = features.add(window.offset() + c);
                    let to = out.as_mut_ptr().add(k * stride + c);
                    block::<V, T, RULE, FACTORS>(&row, from, window.stride(), to, left)
                };
            }
        }
    }
}

/// Reduces as many of the columns that are left as fit the registers; says how many.
///
/// # Safety
/// As [`all`]; every row of features has `left` elements from `from` on, and so has the output from `to` on.
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
                (LARGEST, false) => sums[v].larger(x),
                (LARGEST, true) => sums[v].larger(x.times(V::splat(factor))),
                (_, false) => sums[v].smaller(x),
                (_, true) => sums[v].smaller(x.times(V::splat(factor))),
            };
        }
    }
}
