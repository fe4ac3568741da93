//! Whole-array primitives: each is one launch that reads and writes every element once.

use super::launch::{elementwise, ranged};
use super::scan::exclusive_scan;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, parameters};
use bytemuck::Pod;

const MODULE: &str = "formats/basic";

parameters! {
    struct FillParams = "formats/basic.cu" "bg::FillParams" {
        output: DevicePtr<u8>,
        n: u64,
        value: u64,
    }
    struct GatherParams = "formats/basic.cu" "bg::GatherParams" {
        input: DevicePtr<u8>,
        indices: DevicePtr<u32>,
        output: DevicePtr<u8>,
        n: u64,
    }
    struct InvertParams = "formats/basic.cu" "bg::InvertParams" {
        permutation: DevicePtr<u32>,
        inverse: DevicePtr<u32>,
        n: u64,
    }
    struct CompactParams = "formats/basic.cu" "bg::CompactParams" {
        flags: DevicePtr<u32>,
        places: DevicePtr<u32>,
        output: DevicePtr<u32>,
        n: u64,
    }
    struct ReduceParams = "formats/basic.cu" "bg::ReduceParams" {
        input: DevicePtr<u32>,
        output: DevicePtr<u64>,
        n: u64,
    }
    struct HistogramParams = "formats/basic.cu" "bg::HistogramParams" {
        input: DevicePtr<u32>,
        counts: DevicePtr<u32>,
        n: u64,
        bins: u32,
        shared: u32,
    }
}

/// `n` times `value`.
///
/// # Errors
/// Out of memory.
pub fn fill_u32(device: &Device, n: usize, value: u32) -> Result<Buffer<u32>> {
    let out = device.alloc(n)?;
    fill(device, "fill_u32", &out, u64::from(value))?;
    Ok(out)
}
/// `n` times `value`.
///
/// # Errors
/// Out of memory.
pub fn fill_u64(device: &Device, n: usize, value: u64) -> Result<Buffer<u64>> {
    let out = device.alloc(n)?;
    fill(device, "fill_u64", &out, value)?;
    Ok(out)
}
/// `start`, `start + 1`, ...
///
/// # Errors
/// Out of memory.
pub fn iota(device: &Device, n: usize, start: u32) -> Result<Buffer<u32>> {
    let out = device.alloc(n)?;
    fill(device, "iota_u32", &out, u64::from(start))?;
    Ok(out)
}
fn fill<T: Pod>(device: &Device, kernel: &str, out: &Buffer<T>, value: u64) -> Result<()> {
    let parameters = FillParams { output: out.ptr().cast(), n: out.len() as u64, value };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { elementwise(device, MODULE, kernel, out.len() as u64, &parameters) }
}

/// `input[indices[i]]` for each `i`; elements of 1, 2, 4 or 8 bytes. Every index must be in range.
///
/// # Errors
/// Out of memory; another element size is an error value too.
pub fn gather<T: Pod>(device: &Device, input: &Buffer<T>, indices: &Buffer<u32>) -> Result<Buffer<T>> {
    let kernel = match size_of::<T>() {
        1 => "gather_1",
        2 => "gather_2",
        4 => "gather_4",
        8 => "gather_8",
        size => return Err(super::launch::too_large(size as u64)),
    };
    let out = device.alloc::<T>(indices.len())?;
    let n = indices.len() as u64;
    let parameters = GatherParams { input: input.ptr().cast(), indices: indices.ptr(), output: out.ptr().cast(), n };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { elementwise(device, MODULE, kernel, n, &parameters) }?;
    Ok(out)
}

/// The inverse of a permutation of `0..n`.
///
/// # Errors
/// Out of memory.
pub fn invert(device: &Device, permutation: &Buffer<u32>) -> Result<Buffer<u32>> {
    let inverse = device.alloc(permutation.len())?;
    let n = permutation.len() as u64;
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { elementwise(device, MODULE, "invert_u32", n, &InvertParams { permutation: permutation.ptr(), inverse: inverse.ptr(), n }) }?;
    Ok(inverse)
}

/// The positions whose flag is 1 (the others being 0), ascending. Two launches; waits for their number.
///
/// # Errors
/// Out of memory.
pub fn compact(device: &Device, flags: &Buffer<u32>) -> Result<Buffer<u32>> {
    let places = exclusive_scan(device, flags)?;
    let output = device.alloc(places.get(flags.len())? as usize)?;
    let n = flags.len() as u64;
    if !output.is_empty() {
        let parameters = CompactParams { flags: flags.ptr(), places: places.ptr(), output: output.ptr(), n };
        // SAFETY: every array holds as many elements as the parameters say.
        unsafe { elementwise(device, MODULE, "compact_u32", n, &parameters) }?;
    }
    Ok(output)
}

/// What [`reduce`] finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The sum of all.
    pub sum: u64,
    /// The largest; 0 if there are none.
    pub max: u32,
    /// The smallest; `u32::MAX` if there are none.
    pub min: u32,
}

/// Sum, largest and smallest. One launch; waits.
///
/// # Errors
/// The driver's.
pub fn reduce(device: &Device, input: &Buffer<u32>) -> Result<Reduced> {
    let output = device.zeroed::<u64>(3)?;
    let n = input.len() as u64;
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { elementwise(device, MODULE, "reduce_u32", n, &ReduceParams { input: input.ptr(), output: output.ptr(), n }) }?;
    let found = output.to_vec()?;
    Ok(Reduced { sum: found[0], max: found[1] as u32, min: u32::MAX - found[2] as u32 })
}

/// How often each value below `bins` occurs; larger ones are counted in the last bin. One launch.
///
/// # Errors
/// Out of memory.
pub fn histogram(device: &Device, input: &Buffer<u32>, bins: usize) -> Result<Buffer<u32>> {
    let counts = device.zeroed::<u32>(bins)?;
    if bins == 0 {
        return Ok(counts);
    }
    // Up to here a block counts for itself first.
    let shared = if bins <= 8192 { bins as u32 * 4 } else { 0 };
    let n = input.len() as u64;
    let parameters = HistogramParams {
        input: input.ptr(),
        counts: counts.ptr(),
        n,
        bins: bins.min(u32::MAX as usize) as u32,
        shared: u32::from(shared > 0),
    };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { ranged(device, MODULE, "histogram_u32", n, shared, &parameters) }?;
    Ok(counts)
}
