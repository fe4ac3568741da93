//! Grids for the kernels of this crate's primitives and conversions.

use crate::Result;
use crate::device::{Device, Mode, Parameters, Shape};
use bitgraph_backend::Error;

/// Threads of a block of most kernels here.
pub(crate) const THREADS: u32 = 256;

/// The block size: `wanted`, or what the device has at most.
pub(crate) fn threads(device: &Device, wanted: u32) -> u32 {
    wanted.min(device.properties().max_threads_per_block)
}

/// Blocks that cover `n` elements, `per_block` each; at least one.
pub(crate) fn blocks(n: u64, per_block: u64) -> Result<u32> {
    let wanted = n.div_ceil(per_block).max(1);
    u32::try_from(wanted).ok().filter(|&b| i32::try_from(b).is_ok()).ok_or_else(|| too_large(n))
}

/// An input past what a kernel counts in.
pub(crate) fn too_large(n: u64) -> crate::Error {
    Error::Shape { operation: "device primitive", operand: "elements", expected: u64::from(u32::MAX), found: n }.into()
}

/// Launches a kernel whose threads stride over `n` elements; nothing if there are none.
///
/// # Safety
/// As of [`Device::launch`].
pub(crate) unsafe fn elementwise<P: Parameters>(device: &Device, module: &str, kernel: &str, n: u64, parameters: &P) -> Result<()> {
    // SAFETY: the caller's promises.
    unsafe { ranged(device, module, kernel, n, 0, parameters) }
}

/// As [`elementwise`], with shared memory for the kernel.
///
/// # Safety
/// As of [`Device::launch`].
pub(crate) unsafe fn ranged<P: Parameters>(device: &Device, module: &str, kernel: &str, n: u64, shared: u32, parameters: &P) -> Result<()> {
    if n == 0 {
        return Ok(());
    }
    let block = threads(device, THREADS);
    let grid = elementwise_grid(device, n, 1);
    let kernel = device.kernel(module, kernel)?;
    // SAFETY: the caller's promises.
    unsafe { device.launch(&kernel, Shape { grid, block, shared, mode: Mode::Plain }, parameters) }
}

/// Blocks whose threads stride over `n` elements, `each` at a time: enough to fill the device twice over.
pub(crate) fn elementwise_grid(device: &Device, n: u64, each: u64) -> u32 {
    let most = u64::from(device.properties().sms) * 16;
    n.div_ceil(u64::from(threads(device, THREADS)) * each).clamp(1, most) as u32
}
