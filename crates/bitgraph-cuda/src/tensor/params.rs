//! Dense operands as the kernels see them: an address, the distance of rows, an element type.
//!
//! Invariant: field by field the C++ structs of the same names, padding written out.

use crate::Cuda;
use crate::device::{DevicePtr, parameters};
use bitgraph_semiring::DType;
use bitgraph_tensor::{Any, AnyMut, Dense, Element, Out, Reals, Window, with_dense, with_out};
use bytemuck::Zeroable;

parameters! {
    pub(super) struct View = "tensor/types.cuh" "bg::TensorView" {
        pub data: DevicePtr<u8>,
        pub stride: u64,
        pub dtype: u32,
        pub reserved: u32,
    }
    pub(super) struct Target = "tensor/types.cuh" "bg::TensorOut" {
        pub data: DevicePtr<u8>,
        pub stride: u64,
        pub dtype: u32,
        pub packed: u32,
    }
}

/// The address of a window's first element.
pub(super) fn dense<T>(array: DevicePtr<T>, window: Window) -> DevicePtr<T> {
    // What is empty may have no memory.
    if window.is_empty() { DevicePtr::NULL } else { array.offset(window.offset()) }
}

/// Whether rows that begin at an address, so many bytes apart, are aligned for `bytes` at once.
fn aligned(address: u64, stride: u64, bytes: u64) -> bool {
    let bytes = bytes.min(16);
    address.is_multiple_of(bytes) && stride.is_multiple_of(bytes)
}

impl View {
    /// No operand.
    pub const NONE: Self = Self { data: DevicePtr::NULL, stride: 0, dtype: 0, reserved: 0 };

    pub fn of<T: Element>(dense: &Dense<Cuda, T>) -> Self {
        let window = dense.window();
        Self { data: self::dense(dense.raw().ptr(), window).cast(), stride: window.stride() as u64, dtype: T::DTYPE as u32, reserved: 0 }
    }
    pub fn any(any: &Any<Cuda>) -> Self {
        with_dense!(any, dense => Self::of(dense))
    }
    pub fn reals(reals: &Reals<Cuda>) -> Self {
        Self::any(&reals.any())
    }
    pub fn optional(reals: Option<&Reals<Cuda>>) -> Self {
        reals.map_or(Self::NONE, Self::reals)
    }
    /// Elements next to each other, in one column.
    pub fn column(data: DevicePtr<u8>, dtype: DType) -> Self {
        Self { data, stride: 1, dtype: dtype as u32, reserved: 0 }
    }
    /// Whether so many elements of a type can be read at once wherever a multiple of them begins.
    pub fn reads(&self, dtype: DType, elements: u32) -> bool {
        let size = dtype.bytes() as u64;
        aligned(self.data.address(), self.stride * size, size * u64::from(elements))
    }
    /// Whether the elements are of `f32` or of one of its halves, and so many neighbours are read in words of up to 16 bytes.
    pub fn reads_floats(&self, elements: u32) -> bool {
        let dtype = DType::ALL[self.dtype as usize];
        matches!(dtype, DType::F32 | DType::F16 | DType::Bf16) && self.reads(dtype, elements.min(16 / dtype.bytes() as u32))
    }
}

impl Target {
    /// An output, which so many neighbours are stored to at once where they can be.
    pub fn of(out: &AnyMut<'_, Cuda>, neighbours: u32) -> Self {
        fn typed<T: Element>(out: &Out<'_, Cuda, T>, neighbours: u32) -> Target {
            let size = size_of::<T>() as u64;
            let (data, stride) = (dense(out.array.ptr(), out.window), out.window.stride() as u64);
            let packed = aligned(data.address(), stride * size, size * u64::from(neighbours));
            Target { data: data.cast(), stride, dtype: T::DTYPE as u32, packed: u32::from(packed) }
        }
        with_out!(out, out => typed(out, neighbours))
    }
    /// An array of the kernels' own: rows of so many columns.
    pub fn scratch(data: DevicePtr<u8>, columns: usize, dtype: DType, neighbours: u32) -> Self {
        let (size, stride) = (dtype.bytes() as u64, columns as u64);
        let packed = aligned(data.address(), stride * size, size * u64::from(neighbours));
        Self { data, stride, dtype: dtype as u32, packed: u32::from(packed) }
    }
    /// The same elements to read.
    pub fn view(&self) -> View {
        View { data: self.data, stride: self.stride, dtype: self.dtype, reserved: 0 }
    }
    /// Nothing is written.
    pub fn none() -> Self {
        Self::zeroed()
    }
}

/// What sums of elements of a type are formed in.
pub(super) fn sum_of(dtype: DType) -> DType {
    match dtype {
        DType::F64 => DType::F64,
        dtype if dtype.is_float() => DType::F32,
        _ => DType::I32,
    }
}
/// What scales and epilogues over elements of a type are computed in.
pub(super) fn real_of(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// The most elements of a type that a lane reads at once: `Most` of the kernels.
pub(super) fn most(dtype: DType) -> u32 {
    if dtype.bytes() > 2 { 16 / dtype.bytes() as u32 } else { LANE_COLUMNS }
}

/// Columns of a row that a lane works on at once.
pub(super) const LANE_COLUMNS: u32 = bitgraph_kernels::constant("tensor/types.cuh", "LANE_COLUMNS") as u32;

/// The elements that are read at once of features whose columns fall into blocks of `width`: as many as alignment allows.
pub(super) fn neighbours(x: &View, dtype: DType, width: usize) -> u32 {
    let most = most(dtype);
    if width.is_multiple_of(most as usize) && x.reads(dtype, most) { most } else { 1 }
}

/// The name of an element type in the kernels.
pub(super) fn name(dtype: DType) -> &'static str {
    dtype.name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_their_sums() {
        assert_eq!((sum_of(DType::Bf16), sum_of(DType::F64), sum_of(DType::U8)), (DType::F32, DType::F64, DType::I32));
        assert_eq!((real_of(DType::I32), real_of(DType::F64)), (DType::F32, DType::F64));
        assert_eq!([DType::F16, DType::F32, DType::F64, DType::I8].map(most), [8, 4, 2, 8]);
        assert!(DType::ALL.iter().enumerate().all(|(code, &dtype)| dtype as usize == code));
    }

    #[test]
    fn alignment_is_of_the_address_and_the_distance_of_rows() {
        let view = |address, stride| View { data: DevicePtr::new(address), stride, ..View::NONE };
        assert_eq!(neighbours(&view(0x1000, 64), DType::F16, 64), 8);
        assert_eq!(neighbours(&view(0x1008, 64), DType::F16, 64), 1);
        assert_eq!(neighbours(&view(0x1000, 63), DType::F16, 56), 1);
        assert_eq!(neighbours(&view(0x1000, 64), DType::F16, 12), 1);
        assert_eq!(neighbours(&view(0x1008, 8), DType::I8, 8), 8, "eight bytes at once");
    }
}
