//! Exclusive prefix sums.
//!
//! Cost: one launch, each element read and each sum written once. Memory beside the result: 8 bytes for each 4096 elements.

use super::launch::{THREADS, blocks, threads};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use bytemuck::Pod;

parameters! {
    struct ScanParams = "formats/scan.cu" "bg::ScanParams" {
        input: DevicePtr<u32>,
        output: DevicePtr<u8>,
        state: DevicePtr<u64>,
        n: u64,
    }
}

fn scan<T: Pod>(device: &Device, input: &Buffer<u32>, kernel: &str) -> Result<Buffer<T>> {
    let n = input.len() as u64;
    let block = threads(device, THREADS);
    let grid = blocks(n, u64::from(block) * 16)?;
    let state = device.zeroed::<u64>(grid as usize + 1)?;
    let output = device.alloc::<T>(input.len() + 1)?;
    let kernel = device.kernel("formats/scan", kernel)?;
    let shared = 36 * size_of::<T>() as u32;
    let parameters = ScanParams { input: input.ptr(), output: output.ptr().cast(), state: state.ptr(), n };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { device.launch(&kernel, Shape { grid, block, shared, mode: Mode::Plain }, &parameters) }?;
    Ok(output)
}

/// The sums of all elements before each, and of all at the end: one element more than the input has. The sum of all must be
/// below 2^32; where it may not be, use [`exclusive_scan_wide`].
///
/// # Errors
/// Out of memory.
pub fn exclusive_scan(device: &Device, input: &Buffer<u32>) -> Result<Buffer<u32>> {
    scan(device, input, "scan_u32")
}

/// As [`exclusive_scan`], and the sum of all on the host. Waits.
///
/// # Errors
/// Out of memory.
pub fn exclusive_scan_total(device: &Device, input: &Buffer<u32>) -> Result<(Buffer<u32>, u32)> {
    let sums = exclusive_scan(device, input)?;
    let total = sums.get(input.len())?;
    Ok((sums, total))
}

/// As [`exclusive_scan`] with sums of 64 bits.
///
/// # Errors
/// Out of memory.
pub fn exclusive_scan_wide(device: &Device, input: &Buffer<u32>) -> Result<Buffer<u64>> {
    scan(device, input, "scan_u64")
}
