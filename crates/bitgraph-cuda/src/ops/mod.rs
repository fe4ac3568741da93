//! The operations of the backend on the device.
//!
//! A product or an element-wise operation first makes a result `t`; the mask, the accumulator and `replace` are then one element-wise
//! kernel over `t` and the old output, so that a semiring is compiled once whatever it is combined with. Without an accumulator
//! and a mask `t` is the output. Built-in operators and the listed semirings are compiled ahead; others at first use.
//!
//! # Invariants
//! Nothing but counts, which sizes depend on, crosses to the host, and only what the host has crosses to the device.
//! Operands are checked by `bitgraph_backend::ops`. Outputs are new arrays: memory that another vector may share is never written.
//! Every result is the same from run to run on one kind of device: sums are formed in an order that depends on the operands' sizes and
//! patterns alone, and `Any` takes the smallest column.
#![allow(unsafe_code)]

pub(crate) mod elementwise;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod forks;
mod indices;
#[cfg(test)]
mod listed;
mod matrix;
mod mxm;
pub(crate) mod mxv;
mod operator;
#[cfg(test)]
mod own;
pub(crate) mod params;
mod ring;
pub mod schemes;
pub(crate) mod source;
mod structure;
mod sums;
#[cfg(test)]
mod tests;

use crate::device::{Device, Kernel, Mode, Parameters, Shape};
use crate::matrix::CudaMatrix;
use crate::{Cuda, Result};
use bitgraph_backend::ops::View;

/// The matrix that a view shows.
fn seen(view: View<'_, Cuda>) -> Result<&CudaMatrix> {
    if view.transposed { view.matrix.transposed() } else { Ok(view.matrix) }
}

/// Threads of a block.
const THREADS: u32 = 256;

fn threads(device: &Device) -> u32 {
    THREADS.min(device.properties().max_threads_per_block)
}

/// Launches a kernel whose threads stride over `n` elements; nothing if there are none.
///
/// # Safety
/// As of [`Device::launch`].
unsafe fn strided<P: Parameters>(device: &Device, kernel: &Kernel<P>, n: u64, params: &P) -> Result<()> {
    let block = threads(device);
    let most = u64::from(device.properties().sms) * 16;
    let grid = n.div_ceil(u64::from(block)).min(most) as u32;
    // SAFETY: the caller's promises.
    unsafe { device.launch(kernel, Shape { grid, block, shared: 0, mode: Mode::Plain }, params) }
}
