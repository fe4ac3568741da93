//! Operations of the front by the typed forms: operands as arrays, layouts kept with the matrix, and what a form lacks done after it.
//!
//! # Invariants
//! `select.rs` has said that the form has the combination. A form that could not be laid out for want of memory reports that it did not run,
//! and the general kernels do. A layout's work arrays are used in the order of the matrix's stream, which all operands share.

pub(super) mod attention;
pub(super) mod layouts;
pub(super) mod sddmm;
pub(super) mod spmm;

use super::CudaArray;
use super::epilogue::finished;
use super::forms::Feature;
use super::map;
use super::params::{Target, most};
use super::softmax::scratch;
use crate::device::Buffer;
use crate::{Cuda, Result};
use bitgraph_semiring::DType;
use bitgraph_tensor::{Any, AnyMut, Dense, Element, Epilogue, Out, Reals, Step, Window, with_dense, with_out};

/// The bytes of a window whose rows lie without gaps.
pub(super) fn bytes<T: Element>(array: &CudaArray<T>, window: Window) -> Option<Buffer<u8>> {
    if window.is_empty() {
        return Some(Buffer::default());
    }
    let from = window.offset() * size_of::<T>();
    window.is_contiguous().then(|| array.bytes().part(from..from + window.len() * size_of::<T>()))
}

/// The elements of a matrix as an array, if they are of type `T` and lie without gaps.
pub(super) fn array<T: Element + bytemuck::Pod>(x: &Any<Cuda>) -> Option<Buffer<T>> {
    fn of<T: Element>(x: &Dense<Cuda, T>) -> Option<Buffer<u8>> {
        bytes(x.raw(), x.window())
    }
    let found = if x.dtype() == T::DTYPE { with_dense!(x, x => of(x)) } else { None };
    found.map(|bytes| bytes.cast())
}
/// As [`array`], of scales and biases.
pub(super) fn reals(x: &Reals<Cuda>) -> Option<Buffer<f32>> {
    match x {
        Reals::F32(x) => bytes(x.raw(), x.window()).map(|bytes| bytes.cast()),
        Reals::F64(_) => None,
    }
}
/// As [`array`], of an output.
pub(super) fn output<T: Element + bytemuck::Pod>(y: &AnyMut<'_, Cuda>) -> Option<Buffer<T>> {
    fn of<T: Element>(y: &Out<'_, Cuda, T>) -> Option<Buffer<u8>> {
        bytes(y.array, y.window)
    }
    let found = if y.dtype() == T::DTYPE { with_out!(y, y => of(y)) } else { None };
    found.map(|bytes| bytes.cast())
}
/// Whether an array begins where 16 bytes are loaded at once; one without memory does.
pub(super) fn is_aligned<T: bytemuck::Pod>(array: &Buffer<T>) -> bool {
    array.ptr().address().is_multiple_of(16)
}

/// Calls `run` with an array of `f32` of so many rows and columns, and takes what it leaves there through the steps to the output. Whether
/// `run` ran.
fn through<T: Feature + Element>(
    cuda: &Cuda,
    (rows, columns): (usize, usize),
    steps: &[Step<Cuda>],
    y: &AnyMut<'_, Cuda>,
    run: impl FnOnce(&Buffer<T>) -> Result<bool>,
) -> Result<bool> {
    let between = scratch(cuda, rows, columns, T::DTYPE)?.cast::<T>();
    if !run(&between)? {
        return Ok(false);
    }
    let neighbours = most(T::DTYPE);
    let x = Target::scratch(between.ptr().cast(), columns, T::DTYPE, neighbours).view();
    finished(cuda, &Epilogue(steps.to_vec()), (DType::F32, neighbours), y, |epilogue, y| {
        map::steps(cuda, &x, DType::F32, (rows, columns), epilogue, y)
    })?;
    Ok(true)
}
