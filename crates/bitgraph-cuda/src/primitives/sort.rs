//! Stable radix sort of 32- and 64-bit keys, with values of 32 or 64 bits carried along.
//!
//! Cost: one pass to count, and one for each eight bits of the range, in which every key and value is read and written once. Memory:
//! two arrays of the size of the input (one if a single pass does), and 1 KiB for each 4096 keys.

use super::launch::{THREADS, elementwise_grid, threads, too_large};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use bitgraph_kernels::constant;
use bytemuck::Pod;
use std::ops::Range;

/// A key: `u32` or `u64`.
pub trait SortKey: Pod {
    /// In kernel names.
    const NAME: &'static str;
    /// Keys of a thread.
    const ITEMS: u32;
}
impl SortKey for u32 {
    const NAME: &'static str = "u32";
    const ITEMS: u32 = 16;
}
impl SortKey for u64 {
    const NAME: &'static str = "u64";
    const ITEMS: u32 = 12;
}
/// What goes with a key: `u32`, `u64`, or `()` for nothing.
pub trait SortValue: Pod {
    /// In kernel names.
    const SUFFIX: &'static str;
}
impl SortValue for () {
    const SUFFIX: &'static str = "";
}
impl SortValue for u32 {
    const SUFFIX: &'static str = "_u32";
}
impl SortValue for u64 {
    const SUFFIX: &'static str = "_u64";
}

const MODULE: &str = "formats/sort";
const DIGITS: u32 = constant("formats/sort.cu", "DIGITS") as u32;
/// Keys of one launch: a status word counts in 30 bits.
const PORTION: usize = 1 << 28;

parameters! {
    struct CountParams = "formats/sort.cu" "bg::SortCountParams" {
        keys: DevicePtr<u8>,
        counts: DevicePtr<u32>,
        n: u64,
        first_bit: u32,
        end_bit: u32,
    }
    struct PlaceParams = "formats/sort.cu" "bg::SortPlaceParams" {
        counts: DevicePtr<u32>,
    }
    struct SweepParams = "formats/sort.cu" "bg::SortParams" {
        keys: DevicePtr<u8>,
        sorted_keys: DevicePtr<u8>,
        values: DevicePtr<u8>,
        sorted_values: DevicePtr<u8>,
        places: DevicePtr<u32>,
        next_places: DevicePtr<u32>,
        state: DevicePtr<u32>,
        n: u32,
        shift: u32,
        mask: u32,
        unused: u32,
    }
}

/// The keys in ascending order of the bits in `bits`; keys that agree there keep their order.
///
/// # Errors
/// Out of memory; 2^32 keys or more.
pub fn sort_keys<K: SortKey>(device: &Device, keys: &Buffer<K>, bits: Range<u32>) -> Result<Buffer<K>> {
    let values = Buffer::<()>::default();
    sort::<K, ()>(device, keys, &values, bits, PORTION).map(|(keys, _)| keys)
}

/// As [`sort_keys`], the values moved with their keys.
///
/// # Errors
/// Out of memory; 2^32 keys or more; another number of values than of keys.
pub fn sort_pairs<K: SortKey, V: SortValue>(
    device: &Device,
    keys: &Buffer<K>,
    values: &Buffer<V>,
    bits: Range<u32>,
) -> Result<(Buffer<K>, Buffer<V>)> {
    if keys.len() != values.len() {
        let (expected, found) = (keys.len() as u64, values.len() as u64);
        return Err(bitgraph_backend::Error::Shape { operation: "sort", operand: "values", expected, found }.into());
    }
    sort(device, keys, values, bits, PORTION)
}

pub(super) fn sort<K: SortKey, V: SortValue>(
    device: &Device,
    keys: &Buffer<K>,
    values: &Buffer<V>,
    bits: Range<u32>,
    portion_size: usize,
) -> Result<(Buffer<K>, Buffer<V>)> {
    let n = keys.len();
    if u32::try_from(n).is_err() {
        return Err(too_large(n as u64));
    }
    let bits = bits.start..bits.end.min(8 * size_of::<K>() as u32);
    if bits.is_empty() || n == 0 {
        return Ok((keys.clone(), values.clone()));
    }
    let passes = (bits.end - bits.start).div_ceil(8);
    let block = threads(device, THREADS);
    let piece = block * K::ITEMS;
    // Where one portion is all, the counts and the state of every pass are zeroed together.
    let portions = n.div_ceil(portion_size);
    let states = if portions == 1 { passes as usize } else { 1 };
    let (counted, words) = ((passes * DIGITS) as usize, ((n.min(portion_size) as u32).div_ceil(piece) as usize + 1) * DIGITS as usize);
    let counts = device.zeroed::<u32>(counted + states * words)?;
    let count = CountParams { keys: keys.ptr().cast(), counts: counts.ptr(), n: n as u64, first_bit: bits.start, end_bit: bits.end };
    let kernel = device.kernel(MODULE, &format!("sort_count_{}", K::NAME))?;
    // Few blocks, so that their counters are added up rarely.
    let grid = elementwise_grid(device, n as u64, 16).div_ceil(2);
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { device.launch(&kernel, Shape { grid, block, shared: passes * DIGITS * 4, mode: Mode::Plain }, &count) }?;
    let kernel = device.kernel(MODULE, "sort_places")?;
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe {
        device.launch(
            &kernel,
            Shape { grid: passes, block: 32, shared: DIGITS * 4, mode: Mode::Plain },
            &PlaceParams { counts: counts.ptr() },
        )
    }?;

    let kernel = device.kernel(MODULE, &format!("sort_sweep_{}{}", K::NAME, V::SUFFIX))?;
    let widest = size_of::<K>().max(size_of::<V>()) as u32;
    let shared = (2 * DIGITS + 32 + block / 32 * DIGITS) * 4 + piece * widest;
    // A portion finds its places in one row and leaves those of the next in another.
    let spare = device.alloc::<u32>(2 * DIGITS as usize)?;
    let mut from = (keys.clone(), values.clone());
    let mut to = (device.alloc::<K>(n)?, device.alloc::<V>(n)?);
    for pass in 0..passes {
        let shift = bits.start + 8 * pass;
        let mut places = counts.ptr().offset((pass * DIGITS) as usize);
        for (portion, start) in (0..n).step_by(portion_size).enumerate() {
            let next_places = spare.ptr().offset(portion % 2 * DIGITS as usize);
            let len = (n - start).min(portion_size) as u32;
            let from_word = counted + pass as usize % states * words;
            let state = counts.part(from_word..from_word + words);
            if portions > 1 {
                state.fill_bytes(0)?;
            }
            let parameters = SweepParams {
                keys: from.0.ptr().offset(start).cast(),
                sorted_keys: to.0.ptr().cast(),
                values: from.1.ptr().offset(start).cast(),
                sorted_values: to.1.ptr().cast(),
                places,
                next_places,
                state: state.ptr(),
                n: len,
                shift,
                mask: (1 << (bits.end - shift).min(8)) - 1,
                unused: 0,
            };
            // SAFETY: every array holds as many elements as the parameters say.
            unsafe { device.launch(&kernel, Shape { grid: len.div_ceil(piece), block, shared, mode: Mode::Plain }, &parameters) }?;
            places = next_places;
        }
        if pass + 1 < passes {
            // The input is never written; after the first pass two arrays take turns.
            let next = if pass == 0 { (device.alloc::<K>(n)?, device.alloc::<V>(n)?) } else { from };
            from = std::mem::replace(&mut to, next);
        }
    }
    Ok(to)
}
