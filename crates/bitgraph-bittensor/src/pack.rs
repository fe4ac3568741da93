//! Codes to planes of bits: the one packing loop behind sign bits, thresholds and quantisation.
//!
//! Invariant: bit `p` of the code of an element is the element's bit in plane `p`; padding stays zero; the result does not depend on the
//! number of threads.
//!
//! Method: a block of elements is encoded into a small array, from which every plane takes its bit, so that the input is read once
//! however many planes there are. The inner loops have no branch and constant shifts or masks, which compilers turn into vector
//! instructions of any width.

use crate::memory::zeros;
use crate::meter::{BLOCK, Meter};
use crate::packing::WORD;
use crate::{BitLayout, Packing, Result, View};
use bitgraph_sparse::Control;
use rayon::prelude::*;

/// Columns that are encoded at once: the codes stay in the first cache.
const CHUNK: usize = 512;

/// What an element's code is. Implementations clamp to the number of planes.
pub(crate) trait Encode<T>: Sync {
    /// Writes the codes of elements `first..` of row `row`, and tells whether one of them has none (it is not a number, or does not fit).
    fn encode(&self, row: usize, first: usize, elements: &[T], codes: &mut [u32]) -> bool;
}

/// The words of `planes` planes, and whether an element had no code.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) or [`Error::Cancelled`](crate::Error::Cancelled).
pub(crate) fn pack<T: Copy + Sync, E: Encode<T>>(
    view: &View<'_, T>,
    layout: &BitLayout,
    planes: usize,
    encode: &E,
    control: &Control,
) -> Result<(Vec<u32>, bool)> {
    debug_assert_eq!((view.nrows(), view.ncols()), (layout.nrows(), layout.ncols()));
    let mut words = zeros::<u32>(layout.words() * planes, "planes of bits")?;
    if view.nrows() == 0 || view.ncols() == 0 {
        return Ok((words, false));
    }
    let meter = Meter::new(control, view.nrows() * view.ncols());
    let breach = match layout.packing() {
        Packing::Rows => pack_rows(view, layout, encode, &meter, &mut words)?,
        Packing::Columns => pack_columns(view, layout, planes, encode, &meter, &mut words)?,
    };
    Ok((words, breach))
}

/// The pieces of `lines` lines each that a plane-by-plane array is cut into: piece `k` of every plane.
pub(crate) fn blocks_of_planes<'a>(words: &'a mut [u32], layout: &BitLayout, lines: usize) -> Vec<Vec<&'a mut [u32]>> {
    let mut blocks: Vec<Vec<&mut [u32]>> = Vec::new();
    for plane in words.chunks_exact_mut(layout.words()) {
        for (k, piece) in plane.chunks_mut(lines * layout.stride()).enumerate() {
            if blocks.len() == k {
                blocks.push(Vec::new());
            }
            blocks[k].push(piece);
        }
    }
    blocks
}

/// A word of bits `plane` of 32 codes.
#[inline(always)]
fn word_of(codes: &[u32; WORD], plane: usize) -> u32 {
    let mut word = 0;
    for i in 0..WORD {
        word |= (codes[i] >> plane & 1) << i;
    }
    word
}

fn pack_rows<T: Copy + Sync, E: Encode<T>>(
    view: &View<'_, T>,
    layout: &BitLayout,
    encode: &E,
    meter: &Meter<'_>,
    words: &mut [u32],
) -> Result<bool> {
    let (stride, columns) = (layout.stride(), view.ncols());
    let lines = (BLOCK / columns).clamp(1, layout.padded_lines());
    let pack_block = |(k, mut planes): (usize, Vec<&mut [u32]>)| -> Result<bool> {
        let rows = k * lines..((k + 1) * lines).min(view.nrows());
        let mut breach = false;
        for (l, row) in rows.clone().enumerate() {
            let elements = view.row(row);
            for (c, chunk) in elements.chunks(CHUNK).enumerate() {
                // Codes past the end of the row stay zero: they are the padding of its last word.
                let mut codes = [0u32; CHUNK];
                breach |= encode.encode(row, c * CHUNK, chunk, &mut codes[..chunk.len()]);
                let first = l * stride + c * (CHUNK / WORD);
                for (w, codes) in codes.as_chunks::<WORD>().0.iter().take(chunk.len().div_ceil(WORD)).enumerate() {
                    for (p, plane) in planes.iter_mut().enumerate() {
                        plane[first + w] = word_of(codes, p);
                    }
                }
            }
        }
        meter.advance(rows.len() * columns)?;
        Ok(breach)
    };
    let blocks = blocks_of_planes(words, layout, lines);
    blocks.into_par_iter().enumerate().map(pack_block).try_reduce(|| false, |a, b| Ok(a | b))
}

fn pack_columns<T: Copy + Sync, E: Encode<T>>(
    view: &View<'_, T>,
    layout: &BitLayout,
    planes: usize,
    encode: &E,
    meter: &Meter<'_>,
    words: &mut [u32],
) -> Result<bool> {
    let (rows, columns) = (view.nrows(), view.ncols());
    // Each task packs a band of rows into an array of its own, line by line; the lines are put together afterwards. That writes the
    // bits twice, a small part of reading the elements once.
    let bands = (BLOCK / columns / WORD).max(1);
    let pack_band = |k: usize| -> Result<(Vec<u32>, bool)> {
        let band = k * bands * WORD..((k + 1) * bands * WORD).min(rows);
        let (width, mut breach) = (band.len().div_ceil(WORD), false);
        let mut local = zeros::<u32>(planes * columns * width, "a band of planes of bits")?;
        let mut sums = vec![[0u32; CHUNK]; planes];
        for w in 0..width {
            let first = band.start + w * WORD;
            for start in (0..columns).step_by(CHUNK) {
                let chunk = CHUNK.min(columns - start);
                sums.iter_mut().for_each(|plane| plane[..chunk].fill(0));
                for row in first..(first + WORD).min(band.end) {
                    let mut codes = [0u32; CHUNK];
                    breach |= encode.encode(row, start, &view.row(row)[start..start + chunk], &mut codes[..chunk]);
                    let bit = row - first;
                    for (p, plane) in sums.iter_mut().enumerate() {
                        for (sum, code) in plane[..chunk].iter_mut().zip(&codes[..chunk]) {
                            *sum |= (code >> p & 1) << bit;
                        }
                    }
                }
                for (p, plane) in sums.iter().enumerate() {
                    for (c, &sum) in plane[..chunk].iter().enumerate() {
                        local[(p * columns + start + c) * width + w] = sum;
                    }
                }
            }
        }
        meter.advance(band.len() * columns)?;
        Ok((local, breach))
    };
    let count = rows.div_ceil(bands * WORD);
    let locals: Vec<(Vec<u32>, bool)> = (0..count).into_par_iter().map(pack_band).collect::<Result<_>>()?;
    words.par_chunks_mut(layout.words()).enumerate().for_each(|(p, plane)| {
        plane.par_chunks_mut(layout.stride()).take(columns).enumerate().with_min_len(64).for_each(|(line, out)| {
            for ((local, _), piece) in locals.iter().zip(out.chunks_mut(bands)) {
                let width = local.len() / (planes * columns);
                piece[..width].copy_from_slice(&local[(p * columns + line) * width..][..width]);
            }
        });
    });
    Ok(locals.iter().any(|(_, breach)| *breach))
}
