//! Scalars as the bytes that travel to and from a device.
//!
//! Invariant: `bool` vectors travel as packed words; a `bool` in a value array is one byte, 0 or 1.
#![allow(unsafe_code)]

use crate::Result;
use bitgraph_semiring::Scalar;

/// The bytes of an array.
pub(crate) fn of<T: Scalar>(values: &[T]) -> &[u8] {
    // SAFETY: scalars are laid out as numbers, halves or `bool`, none of which has padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// An array whose bytes `fill` writes; `fill` gets zeros.
pub(crate) fn filled<T: Scalar>(len: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Vec<T>> {
    let mut values = vec![T::ZERO; len];
    // SAFETY: as in `of`; any bytes are a number. Kernels write `bool`s as 0 or 1 only, which is checked before the array is used.
    let bytes = unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), len * size_of::<T>()) };
    fill(bytes)?;
    if T::DTYPE == bitgraph_semiring::DType::Bool {
        bytes.iter_mut().for_each(|b| *b = u8::from(*b != 0));
    }
    Ok(values)
}
