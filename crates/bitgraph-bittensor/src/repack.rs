//! From one packing and padding to another, without decoding.
//!
//! Invariant: every element keeps its bit. Squares of 32 x 32 bits are transposed in registers, so that the cost is one read and one
//! write of the words.

use crate::memory::zeros;
use crate::meter::Meter;
use crate::pack::blocks_of_planes;
use crate::packing::WORD;
use crate::{BitLayout, Result};
use bitgraph_sparse::Control;
use rayon::prelude::*;

/// Transposes a square of bits: bit `j` of word `i` becomes bit `i` of word `j`.
///
/// Five rounds exchange the off-diagonal quarters of blocks of 32, 16, 8, 4 and 2.
pub(crate) fn transpose32(words: &mut [u32; WORD]) {
    let (mut size, mut mask) = (16, 0x0000_ffffu32);
    while size > 0 {
        for i in (0..WORD).filter(|i| i & size == 0) {
            let swap = (words[i] >> size ^ words[i + size]) & mask;
            words[i + size] ^= swap;
            words[i] ^= swap << size;
        }
        size /= 2;
        mask ^= mask << size;
    }
}

/// The planes of `words`, which lie as `from` says, laid out as `to` says: the same shape, another packing or padding.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) or [`Error::Cancelled`](crate::Error::Cancelled).
pub(crate) fn repack(words: &[u32], from: &BitLayout, to: &BitLayout, control: &Control) -> Result<Vec<u32>> {
    debug_assert_eq!((from.nrows(), from.ncols()), (to.nrows(), to.ncols()));
    if from.words() == 0 || to.words() == 0 {
        return Ok(Vec::new());
    }
    let mut out = zeros::<u32>(words.len() / from.words() * to.words(), "planes of bits")?;
    let planes: Vec<&[u32]> = words.chunks_exact(from.words()).collect();
    let meter = Meter::new(control, out.len());
    // About 64 KiB of a plane a block, in whole squares.
    let lines = ((1 << 14) / (to.stride() * WORD)).max(1) * WORD;
    let repack_block = |(k, pieces): (usize, Vec<&mut [u32]>)| -> Result<()> {
        let mut done = 0;
        for (piece, plane) in pieces.into_iter().zip(&planes) {
            done += piece.len();
            for (band, piece) in piece.chunks_mut(WORD * to.stride()).enumerate() {
                let first = k * lines + band * WORD;
                let count = to.lines().saturating_sub(first).min(WORD);
                if from.packing() == to.packing() {
                    let used = to.length().div_ceil(WORD);
                    for (l, line) in piece.chunks_mut(to.stride()).take(count).enumerate() {
                        line[..used].copy_from_slice(&from.line(plane, first + l)[..used]);
                    }
                    continue;
                }
                for w in 0..if count == 0 { 0 } else { to.length().div_ceil(WORD) } {
                    let mut square = [0u32; WORD];
                    for (i, word) in square.iter_mut().enumerate().take(from.lines() - w * WORD) {
                        *word = plane[(w * WORD + i) * from.stride() + first / WORD];
                    }
                    transpose32(&mut square);
                    for (line, &word) in piece.chunks_mut(to.stride()).zip(&square).take(count) {
                        line[w] = word;
                    }
                }
            }
        }
        meter.advance(done)
    };
    blocks_of_planes(&mut out, to, lines).into_par_iter().enumerate().try_for_each(repack_block)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_transposed() {
        let mut words: [u32; WORD] = std::array::from_fn(|i| (i as u32 + 1).wrapping_mul(0x9e37_79b9).rotate_left(i as u32));
        let before = words;
        transpose32(&mut words);
        for i in 0..WORD {
            for j in 0..WORD {
                assert_eq!(words[i] >> j & 1, before[j] >> i & 1, "({i}, {j})");
            }
        }
        transpose32(&mut words);
        assert_eq!(words, before);
    }
}
