//! Kernels on the bit-tile formats: float, boolean, counting and general mxv, and masked products for triangle counting.
//!
//! Invariant: every kernel gives the result of the plain loop over the entries (floats in another order of summation), the
//! same for every number of threads and instruction set. Rows are cut into blocks of whole 64-bit words of the output, one
//! task each; with one thread there is one block and no task.

mod bits;
mod bmm;
mod boolean;
mod float;
mod float_simd;
mod general;
mod hits;
mod lists;
pub mod schemes;

pub use bits::BitTile;
pub use bmm::{bmm_sum, bmm_sum_masked};
pub use boolean::{mxv_boolean, mxv_boolean_hybrid, mxv_boolean_lists, mxv_count};
pub use float::{TileSum, mxv_sum, mxv_sum_grouped, mxv_sum_hybrid};
pub(crate) use general::sum;
pub use general::{RowEntries, mxv_tiles};

#[cfg(target_arch = "x86_64")]
use crate::Isa;
use bitgraph_sparse::{BitVector, parallel};

/// Which rows an operation computes: the positions set in a bit vector, or the others.
#[derive(Clone, Copy, Debug)]
pub struct RowMask<'a> {
    /// One bit for each row.
    pub bits: &'a BitVector,
    /// Compute the rows that are not set.
    pub complement: bool,
}

impl RowMask<'_> {
    /// The mask of the 64 rows of word `w`; bits past the last row are unspecified.
    #[inline(always)]
    fn word(mask: Option<Self>, w: usize) -> u64 {
        match mask {
            None => !0,
            Some(m) if m.complement => !m.bits.words64()[w],
            Some(m) => m.bits.words64()[w],
        }
    }
}

/// Rows of a block of one task: a multiple of 64.
fn block_rows(rows: usize) -> usize {
    let threads = rayon::current_num_threads();
    if threads == 1 { rows.next_multiple_of(64).max(64) } else { (rows / (threads * 8)).clamp(256, 65536).next_multiple_of(64) }
}

/// Calls `f(first row, output of the block)` for blocks of rows.
fn row_blocks<Y: Send>(out: &mut [Y], f: impl Fn(usize, &mut [Y]) + Sync) {
    let block = block_rows(out.len());
    parallel::chunks_mut(out, block, |b, out| f(b * block, out));
}

/// Calls `f(first row, words of the block)` for blocks of rows of a bit vector.
fn word_blocks(bits: &mut BitVector, f: impl Fn(usize, &mut [u64]) + Sync) {
    let block = block_rows(bits.len());
    parallel::chunks_mut(bits.words64_mut(), block / 64, |b, words| f(b * block, words));
}

/// Calls `f` compiled for AVX2, BMI and POPCNT where the instruction set in force allows. The loop belongs inside.
#[allow(unsafe_code)]
fn compiled<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if Isa::current() >= Isa::Avx2 {
        // SAFETY: the instruction set is in force only if the CPU has its features.
        return unsafe { compiled_avx2(f) };
    }
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
fn compiled_avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(test)]
mod tests;
