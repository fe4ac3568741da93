//! Products of sparse matrices with features, products sampled at the entries of a matrix, and attention over them: typed forms over lists and
//! arrays, laid out once for many runs.
//!
//! They need nothing of the front of tensors: a matrix as lists and dense arrays, row after row without gaps. Their conventions are those of
//! `bitgraph_tensor::sddmm` and `bitgraph_tensor::attention`, for which they are the fast forms.
//!
//! # Invariants
//! A layout gives the same bits on every run: no form adds floats atomically. Sums are of `f32`.
#![allow(unsafe_code)]

pub mod attention;
pub mod sddmm;
pub mod spmm;
#[cfg(test)]
pub(crate) mod testing;

use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, Mode, Parameters, Shape};
use bitgraph_backend::Error as Base;
use bitgraph_semiring::{DType, Scalar};
use half::{bf16, f16};

/// An element type of features: `f16`, `bf16` or `f32`.
pub trait Feature: Scalar + bytemuck::Pod + sealed::Listed {
    /// In kernel names.
    const NAME: &'static str;
}

mod sealed {
    /// Keeps the list of feature types closed.
    pub trait Listed {}
}

macro_rules! features {
    ($($t:ident)*) => { $(
        impl sealed::Listed for $t {}
        impl Feature for $t {
            const NAME: &'static str = stringify!($t);
        }
    )* };
}
features! { f16 bf16 f32 }

/// Whether elements are of 16 bits, which tensor cores multiply with sums of `f32`.
fn is_half<T: Feature>() -> bool {
    size_of::<T>() == 2
}

/// `rows * columns` elements, checked.
fn expect_len(operation: &'static str, operand: &'static str, rows: usize, columns: usize, found: usize) -> Result<()> {
    let overflow = Base::Overflow { what: "the number of elements of a dense matrix", dtype: DType::U64 };
    let expected = (rows as u64).checked_mul(columns as u64).ok_or(overflow)?;
    if expected == found as u64 {
        return Ok(());
    }
    Err(Base::Shape { operation, operand, expected, found: found as u64 }.into())
}

/// Columns that fall into heads of equal width, at least one of each; the width.
fn head_width(columns: usize, heads: usize) -> Result<usize> {
    let whole = heads > 0 && columns > 0 && columns.is_multiple_of(heads) && u32::try_from(columns).is_ok();
    if whole {
        return Ok(columns / heads);
    }
    let found = heads as f64;
    let allowed = "a divisor of the number of columns, which is from 1 to 2^32 - 1";
    Err(Base::Parameter { parameter: "the number of heads", found, allowed }.into())
}

/// Whether an array starts where 16 bytes can be loaded at once.
fn is_aligned<T: bytemuck::Pod>(buffer: &Buffer<T>) -> bool {
    buffer.ptr().address().is_multiple_of(16)
}

/// The address of an array, its type left to the kernel.
fn address<T: bytemuck::Pod>(buffer: &Buffer<T>) -> DevicePtr<u8> {
    buffer.ptr().cast()
}

/// Threads of a block. Warps do not work together, and small blocks leave fewer registers unused.
const THREADS: u32 = 128;
/// The same where warps have shared memory, each a part of its own.
const SHARING_THREADS: u32 = bitgraph_kernels::constant("tuning/attention.cuh", "BACKWARD_THREADS") as u32;

/// Launches a kernel with a warp for each of `warps` tasks; nothing if there are none.
///
/// # Safety
/// As of [`Device::launch`].
unsafe fn launch_warps<P: Parameters>(device: &Device, module: &str, kernel: &str, warps: u32, parameters: &P) -> Result<()> {
    // SAFETY: the caller's promises.
    unsafe { launch_warps_within(device, module, kernel, (warps, u32::MAX), parameters) }
}

/// As [`launch_warps`], in so many blocks at most, whose warps go on.
///
/// # Safety
/// As of [`Device::launch`].
unsafe fn launch_warps_within<P: Parameters>(device: &Device, module: &str, kernel: &str, warps: (u32, u32), parameters: &P) -> Result<()> {
    // SAFETY: the caller's promises.
    unsafe { launch_warps_sharing(device, module, kernel, warps, 0, parameters) }
}

/// Blocks of a kernel whose warps go on, `turns` for each that the device holds at once; any number of one whose warps do not.
fn most_blocks<P: Parameters>(device: &Device, module: &str, kernel: &str, turns: Option<u64>) -> Result<u32> {
    let Some(turns) = turns else { return Ok(u32::MAX) };
    let resident = device.resident(&device.kernel::<P>(module, kernel)?, crate::primitives::threads(device, THREADS), 0)?;
    let blocks = u64::from(resident.max(1)) * u64::from(device.properties().sms) * turns;
    Ok(u32::try_from(blocks).unwrap_or(u32::MAX))
}

/// As [`launch_warps_within`], with so many bytes of shared memory for each warp.
///
/// # Safety
/// As of [`Device::launch`].
unsafe fn launch_warps_sharing<P: Parameters>(
    device: &Device,
    module: &str,
    kernel: &str,
    (warps, most_blocks): (u32, u32),
    shared: u32,
    parameters: &P,
) -> Result<()> {
    if warps == 0 {
        return Ok(());
    }
    // A block keeps its place until the last of its warps is done.
    let block = crate::primitives::threads(device, if shared > 0 { SHARING_THREADS } else { THREADS });
    let shape = Shape { grid: warps.div_ceil(block / 32).min(most_blocks), block, shared: block / 32 * shared, mode: Mode::Plain };
    // SAFETY: the caller's promises.
    unsafe { device.launch(&device.kernel(module, kernel)?, shape, parameters) }
}
