//! Boolean mxv on lists: row by row until the first hit, or every entry of a block without a branch, whichever takes less.
//!
//! Invariant: which form runs depends on the lengths of rows and on how many bits the vector has, and changes no result.

use super::{compiled, word_blocks};
use bitgraph_sparse::{BitVector, Csr, OffsetInt, with_offsets};

/// Rows of a block.
const ROWS: usize = 512;
/// Words that are looked at for the density of a vector.
const SAMPLES: usize = 64;

/// The share of a vector's bits that are set, from some of its words.
pub(super) fn density(x: &BitVector) -> f64 {
    let words = x.words64();
    let step = (words.len() / SAMPLES).max(1);
    let sampled = words.iter().step_by(step).take(SAMPLES);
    let (bits, ones) = sampled.fold((0, 0), |(bits, ones), w| (bits + 64, ones + w.count_ones()));
    // The last word may be a part of one.
    f64::from(ones) / f64::from(bits).min(x.len() as f64).max(1.0)
}

/// How rows are looked through.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// Rows of up to so many entries in the mean are not looked through one by one.
    even: usize,
    /// Four entries at a time: whether any one of them is in the vector is harder to foresee than whether one of four is, and a wrong
    /// guess costs more than four looks.
    fours: bool,
}

impl Form {
    /// For a vector of that density: the fuller it is, the sooner a row ends, and the better that is foreseen. Measured on one Zen 4.
    fn of(density: f64) -> Self {
        let (even, fours) = match density {
            d if d < 0.05 => (40, true),
            d if d < 0.25 => (24, true),
            d if d < 0.4 => (16, true),
            d if d < 0.7 => (10, true),
            d if d < 0.85 => (8, false),
            d if d < 0.95 => (6, false),
            _ => (2, false),
        };
        Self { even, fours }
    }
}

/// Whether a list meets `x`, by fours.
#[inline(always)]
fn meets(list: &[u32], x: &[u64]) -> bool {
    let bit = |u: u32| x[u as usize >> 6] >> (u & 63);
    let Some(last) = list.last_chunk::<4>() else {
        // One to three: those in the middle and at the ends.
        let Some(&end) = list.last() else { return false };
        return (bit(list[0]) | bit(list[list.len() / 2]) | bit(end)) & 1 != 0;
    };
    let four = |&[a, b, c, d]: &[u32; 4]| (bit(a) | bit(b) | bit(c) | bit(d)) & 1 != 0;
    // The last four may hold some that were looked at.
    list.as_chunks::<4>().0.iter().any(four) || four(last)
}

/// The bits of 64 rows at most, among the wanted.
#[inline(always)]
fn word<O: OffsetInt, const FOURS: bool>(offsets: &[O], indices: &[u32], x: &[u64], wanted: u64) -> u64 {
    let (mut out, mut start) = (0, offsets[0].index());
    for (r, end) in offsets[1..].iter().enumerate() {
        let list = &indices[start..end.index()];
        start = end.index();
        if wanted >> r & 1 == 0 {
            continue;
        }
        if FOURS {
            out |= u64::from(meets(list, x)) << r;
            continue;
        }
        for &u in list {
            if x[u as usize >> 6] >> (u & 63) & 1 != 0 {
                out |= 1 << r;
                break;
            }
        }
    }
    out
}

/// Sets the bits of the rows that meet `x` among those that `wanted(word, its bits so far)` names; the other bits stay if this
/// `adds`, and are zero if not.
pub(super) fn fill(a: &Csr, x: &BitVector, wanted: impl Fn(usize, u64) -> u64 + Sync, adds: bool, y: &mut BitVector) {
    let (form, rows, indices) = (Form::of(density(x)), a.nrows(), a.indices());
    let x = x.words64();
    with_offsets!(a.offsets(), o => word_blocks(y, |first, words| {
        let mut even = Even::new();
        for (b, words) in words.chunks_mut(ROWS / 64).enumerate() {
            let start = first + b * ROWS;
            let offsets = &o[start..=rows.min(start + 64 * words.len())];
            let mut open = [0; ROWS / 64];
            for (k, (open, word)) in open.iter_mut().zip(words.iter_mut()).enumerate() {
                *word &= u64::from(adds).wrapping_neg();
                *open = wanted(start / 64 + k, *word);
            }
            let (count, height) = (offsets[offsets.len() - 1].index() - offsets[0].index(), offsets.len() - 1);
            let many = 2 * open.iter().map(|w| w.count_ones() as usize).sum::<usize>() >= height;
            if count == 0 {
                continue;
            }
            if many && count <= form.even * height && even.run(offsets, indices, x) {
                words.iter_mut().zip(open).zip(even.found).for_each(|((word, open), found)| *word |= found & open);
                continue;
            }
            compiled(|| {
                for (k, out) in words.iter_mut().enumerate().filter(|(k, _)| open[*k] != 0) {
                    let offsets = &offsets[64 * k..=height.min(64 * k + 64)];
                    *out |= match form.fours {
                        true => word::<_, true>(offsets, indices, x, open[k]),
                        false => word::<_, false>(offsets, indices, x, open[k]),
                    };
                }
            });
        }
    }));
}

/// The form without a branch, where there is one.
struct Even {
    /// The bits of the block's rows.
    found: [u64; ROWS / 64],
    #[cfg(target_arch = "x86_64")]
    hits: super::hits::EntryHits,
}

impl Even {
    const fn new() -> Self {
        Self {
            found: [0; ROWS / 64],
            #[cfg(target_arch = "x86_64")]
            hits: super::hits::EntryHits::new(),
        }
    }
    /// Finds the rows of a block that meet `x`; false if there is no such form.
    #[allow(unsafe_code)]
    fn run<O: OffsetInt>(&mut self, offsets: &[O], indices: &[u32], x: &[u64]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if crate::Isa::current() >= crate::Isa::Avx2 {
            // The last block may have fewer rows than the one before it.
            self.found = [0; ROWS / 64];
            let out = bytemuck::cast_slice_mut(&mut self.found);
            // SAFETY: the instruction set has AVX2; the offsets are those of a matrix and its lists, whose columns are below the length of `x`.
            unsafe { super::hits::entry_block(offsets, indices, bytemuck::cast_slice(x), &mut self.hits, out) };
            return true;
        }
        let _ = (offsets, indices, x);
        false
    }
}
