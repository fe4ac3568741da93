//! Planes of bits to elements: the inverse of packing.
//!
//! Invariant: every element is written once, whatever the packing; padding is not read as an element.

use crate::memory::zeros;
use crate::meter::{BLOCK, Meter};
use crate::packing::WORD;
use crate::{BitLayout, Packing, Result};
use bitgraph_sparse::Control;
use rayon::prelude::*;

/// Columns that are decoded at once: the codes stay in the first cache.
const CHUNK: usize = 512;

/// What the element of a code is.
pub(crate) trait Decode<T>: Sync {
    /// Writes the elements `first..` of row `row` from their codes.
    fn decode(&self, row: usize, first: usize, codes: &[u32], elements: &mut [T]);
}

/// The elements of all planes of `words`, row by row.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) or [`Error::Cancelled`](crate::Error::Cancelled).
pub(crate) fn unpack<T: Clone + Default + Send, D: Decode<T>>(
    words: &[u32],
    layout: &BitLayout,
    decode: &D,
    control: &Control,
) -> Result<Vec<T>> {
    let (rows, columns) = (layout.nrows(), layout.ncols());
    // Each element has a bit, so that the product fits an address space if the bits do; its bytes need not.
    let mut elements = zeros::<T>(rows * columns, "the elements of a bit tensor")?;
    if elements.is_empty() {
        return Ok(elements);
    }
    let planes: Vec<&[u32]> = words.chunks_exact(layout.words()).collect();
    let meter = Meter::new(control, elements.len());
    // Blocks of whole words in both packings.
    let block = (BLOCK / columns / WORD).max(1) * WORD;
    elements.par_chunks_mut(block * columns).enumerate().try_for_each(|(k, out)| -> Result<()> {
        let mut sums = vec![[0u32; CHUNK]; planes.len()];
        for (band, out) in out.chunks_mut(WORD * columns).enumerate() {
            match layout.packing() {
                Packing::Rows => rows_of(&planes, layout, k * block + band * WORD, decode, out),
                Packing::Columns => columns_of(&planes, &mut sums, layout, k * block + band * WORD, decode, out),
            }
        }
        meter.advance(out.len())
    })?;
    Ok(elements)
}

fn rows_of<T, D: Decode<T>>(planes: &[&[u32]], layout: &BitLayout, first: usize, decode: &D, out: &mut [T]) {
    for (r, out) in out.chunks_mut(layout.ncols()).enumerate() {
        for (c, out) in out.chunks_mut(CHUNK).enumerate() {
            let mut codes = [0u32; CHUNK];
            for (p, plane) in planes.iter().enumerate() {
                let line = &layout.line(plane, first + r)[c * (CHUNK / WORD)..];
                for (codes, &word) in codes.as_chunks_mut::<WORD>().0.iter_mut().zip(line).take(out.len().div_ceil(WORD)) {
                    for i in 0..WORD {
                        codes[i] |= (word >> i & 1) << p;
                    }
                }
            }
            decode.decode(first + r, c * CHUNK, &codes[..out.len()], out);
        }
    }
}

fn columns_of<T, D: Decode<T>>(planes: &[&[u32]], sums: &mut [[u32; CHUNK]], layout: &BitLayout, first: usize, decode: &D, out: &mut [T]) {
    let columns = layout.ncols();
    for start in (0..columns).step_by(CHUNK) {
        let chunk = CHUNK.min(columns - start);
        for (sums, plane) in sums.iter_mut().zip(planes) {
            for (c, sum) in sums[..chunk].iter_mut().enumerate() {
                *sum = plane[(start + c) * layout.stride() + first / WORD];
            }
        }
        for (r, out) in out.chunks_mut(columns).enumerate() {
            let mut codes = [0u32; CHUNK];
            for (p, sums) in sums.iter().enumerate() {
                for (code, sum) in codes[..chunk].iter_mut().zip(&sums[..chunk]) {
                    *code |= (sum >> r & 1) << p;
                }
            }
            decode.decode(first + r, start, &codes[..chunk], &mut out[start..start + chunk]);
        }
    }
}
