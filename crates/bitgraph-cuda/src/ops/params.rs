//! The parameters of the operations' kernels, laid out as the structs of `kernels/ops`.
//!
//! Invariant: field by field the C++ struct of the same name, padding written out.

use crate::Cuda;
use crate::device::{Buffer, DevicePtr, parameters};
use crate::layout::{DeviceCsr, DeviceValues, Offsets};
use crate::vector::{CudaValue, CudaVector};
use bitgraph_backend::ops::VectorMask;
use bitgraph_semiring::{Parameter, Parameters, Scalar};
use bitgraph_sparse::{MaskMode, Stored};
use bytemuck::Zeroable;

/// An index that stands for no entry.
pub(crate) const NONE: u32 = u32::MAX;

/// How the values of an operand are held; 0 is as in a vector.
pub(crate) const ENTRIES: u32 = 1;
pub(crate) const CONSTANT: u32 = 2;
pub(crate) const SINGLE: u32 = 3;

parameters! {
    pub(crate) struct Operand = "ops/operand.cuh" "bg::Operand" {
        pub values: u64,
        pub present: DevicePtr<u32>,
        pub index: DevicePtr<u32>,
        pub form: u32,
        pub reserved: u32,
    }
}

impl Operand {
    pub fn vector<T: Stored>(v: &CudaVector<T>) -> Self {
        let present = v.present.as_ref().map_or(DevicePtr::NULL, Buffer::ptr);
        Self { values: v.store.ptr().address(), present, ..Self::zeroed() }
    }
    /// One value everywhere.
    pub fn constant<T: Scalar>(value: T) -> Self {
        Self { values: Parameter::of(value).bits, form: CONSTANT, ..Self::zeroed() }
    }
    /// A value on the device everywhere.
    pub fn single<T: Scalar>(value: &CudaValue<T>) -> Self {
        Self { values: value.store.ptr().address(), form: SINGLE, ..Self::zeroed() }
    }
    /// The values of a matrix, 1 for a pattern.
    pub fn entries<T: Scalar>(values: Option<&DeviceValues>) -> Self {
        match values {
            Some(v) => Self { values: v.data.ptr().address(), form: ENTRIES, ..Self::zeroed() },
            None => Self::constant(T::ONE),
        }
    }
    /// The same, position `i` being element `index[i]`.
    pub fn at(self, index: &Buffer<u32>) -> Self {
        Self { index: index.ptr(), ..self }
    }
}

parameters! {
    pub(crate) struct Mask = "ops/operand.cuh" "bg::Mask" {
        pub values: DevicePtr<u32>,
        pub present: DevicePtr<u32>,
        pub flags: u32,
        pub reserved: u32,
    }
}

/// The flags of a mask of this mode.
pub(crate) fn mask_flags(mode: MaskMode, replace: bool) -> u32 {
    1 | u32::from(mode.structural) << 1 | u32::from(mode.complement) << 2 | u32::from(replace) << 3
}

impl Mask {
    pub fn of(mask: Option<VectorMask<'_, Cuda>>, replace: bool) -> Self {
        let Some(m) = mask else { return Self::zeroed() };
        let present = m.vector.present.as_ref().map_or(DevicePtr::NULL, Buffer::ptr);
        Self { values: m.vector.store.ptr().cast(), present, flags: mask_flags(m.mode, replace), reserved: 0 }
    }
}

parameters! {
    pub(crate) struct Target = "ops/operand.cuh" "bg::Target" {
        pub values: DevicePtr<u8>,
        pub present: DevicePtr<u32>,
        pub form: u32,
        pub reserved: u32,
    }
}

impl Target {
    pub fn vector<T: Stored>(v: &CudaVector<T>) -> Self {
        let present = v.present.as_ref().map_or(DevicePtr::NULL, Buffer::ptr);
        Self { values: v.store.ptr(), present, ..Self::zeroed() }
    }
    /// An array of matrix values, or a single value.
    pub fn entries(data: &Buffer<u8>) -> Self {
        Self { values: data.ptr(), form: ENTRIES, ..Self::zeroed() }
    }
}

parameters! {
    pub(crate) struct Arguments = "ops/elementwise.cuh" "bg::Arguments" {
        pub code: u32,
        pub reserved: u32,
        pub p: [u64; 4],
    }
}

impl Arguments {
    pub fn new(code: u32, parameters: Parameters) -> Self {
        Self { code, reserved: 0, p: parameters.map(|p| p.map_or(0, |p| p.bits)) }
    }
}

parameters! {
    pub(crate) struct BinaryParams = "ops/elementwise.cuh" "bg::BinaryParams" {
        pub n: u64,
        pub u: Operand,
        pub v: Operand,
        pub old: Operand,
        pub mask: Mask,
        pub out: Target,
        pub list: DevicePtr<u32>,
        pub combination: u64,
        pub arguments: Arguments,
    }

    pub(crate) struct ApplyParams = "ops/elementwise.cuh" "bg::ApplyParams" {
        pub n: u64,
        pub u: Operand,
        pub old: Operand,
        pub mask: Mask,
        pub out: Target,
        pub rows: DevicePtr<u32>,
        pub columns: DevicePtr<u32>,
        pub flags: DevicePtr<u32>,
        pub arguments: Arguments,
    }

    pub(crate) struct Partial = "ops/elementwise.cuh" "bg::Partial" {
        pub value: u64,
        pub place: u64,
    }

    pub(crate) struct ReduceParams = "ops/elementwise.cuh" "bg::ReduceParams" {
        pub n: u64,
        pub u: Operand,
        pub out: Target,
        pub partials: DevicePtr<Partial>,
        pub blocks: u64,
        pub arguments: Arguments,
    }

    pub(crate) struct RowReduceParams = "ops/elementwise.cuh" "bg::RowReduceParams" {
        pub rows: u64,
        pub offsets: DevicePtr<u8>,
        pub wide: u64,
        pub u: Operand,
        pub old: Operand,
        pub mask: Mask,
        pub out: Target,
        pub arguments: Arguments,
    }
}

/// Whether offsets are of 64 bits.
pub(crate) fn wide(offsets: &Offsets) -> u32 {
    u32::from(matches!(offsets, Offsets::U64(_)))
}

parameters! {
    pub(crate) struct Chunk = "ops/mxv.cuh" "bg::Chunk" {
        pub begin: u64,
        pub end: u64,
        pub row: u32,
        pub reserved: u32,
    }

    pub(crate) struct MxvParams = "ops/mxv.cuh" "bg::MxvParams" {
        pub rows: u64,
        pub offsets: DevicePtr<u8>,
        pub indices: DevicePtr<u32>,
        pub values: DevicePtr<u8>,
        pub tile_offsets: DevicePtr<u8>,
        pub tile_columns: DevicePtr<u32>,
        pub tiles: DevicePtr<u8>,
        pub x: DevicePtr<u8>,
        pub x_present: DevicePtr<u32>,
        pub mask: Mask,
        pub y: Target,
        pub carry: DevicePtr<u8>,
        pub carry_present: DevicePtr<u32>,
        pub raw: DevicePtr<u8>,
        pub chunks: DevicePtr<Chunk>,
        pub first_chunk: DevicePtr<u32>,
        pub partials: DevicePtr<Partial>,
        pub long_rows: DevicePtr<u32>,
        pub long_count: u32,
        pub limit: u32,
        pub lanes: u32,
        pub wide: u32,
        pub tile_wide: u32,
        pub reserved: u32,
    }

    pub(crate) struct Rows = "ops/rows.cuh" "bg::Rows" {
        pub offsets: DevicePtr<u8>,
        pub indices: DevicePtr<u32>,
        pub entry_rows: DevicePtr<u32>,
        pub entries: u64,
        pub wide: u32,
        pub reserved: u32,
    }
}

impl Rows {
    pub fn of(csr: &DeviceCsr, entry_rows: Option<&Buffer<u32>>) -> Self {
        Self {
            offsets: csr.offsets.address(),
            indices: csr.indices.ptr(),
            entry_rows: entry_rows.map_or(DevicePtr::NULL, Buffer::ptr),
            entries: csr.nnz as u64,
            wide: wide(&csr.offsets),
            reserved: 0,
        }
    }
}

parameters! {
    pub(crate) struct MatrixMaskParams = "ops/rows.cuh" "bg::MatrixMask" {
        pub pattern: Rows,
        pub truth: DevicePtr<u32>,
        pub row_marks: DevicePtr<u32>,
        pub column_marks: DevicePtr<u32>,
        pub flags: u32,
        pub reserved: u32,
    }

    pub(crate) struct MergeParams = "ops/structure.cu" "bg::MergeParams" {
        pub a: Rows,
        pub b: Rows,
        pub mask: MatrixMaskParams,
        pub rows: u64,
        pub kept_a: DevicePtr<u32>,
        pub kept_b: DevicePtr<u32>,
        pub places_a: DevicePtr<u32>,
        pub places_b: DevicePtr<u32>,
        pub offsets: DevicePtr<u32>,
        pub indices: DevicePtr<u32>,
        pub source_a: DevicePtr<u32>,
        pub source_b: DevicePtr<u32>,
        pub kind: u32,
        pub reserved: u32,
    }

    pub(crate) struct ExpandParams = "ops/structure.cu" "bg::ExpandParams" {
        pub a: Rows,
        pub b: Rows,
        pub mask: MatrixMaskParams,
        pub counts: DevicePtr<u32>,
        pub offsets: DevicePtr<u64>,
        pub total: u64,
        pub keys: DevicePtr<u64>,
        pub pairs: DevicePtr<u64>,
        pub column_bits: u32,
        pub marker: u32,
    }

    pub(crate) struct HeadsParams = "ops/structure.cu" "bg::HeadsParams" {
        pub keys: DevicePtr<u64>,
        pub flags: DevicePtr<u32>,
        pub n: u64,
        pub marker: u32,
        pub reserved: u32,
    }

    pub(crate) struct SegmentsParams = "ops/structure.cu" "bg::SegmentsParams" {
        pub keys: DevicePtr<u64>,
        pub starts: DevicePtr<u32>,
        pub entry_rows: DevicePtr<u32>,
        pub indices: DevicePtr<u32>,
        pub n: u64,
        pub column_bits: u32,
        pub reserved: u32,
    }

    pub(crate) struct KroneckerParams = "ops/structure.cu" "bg::KroneckerParams" {
        pub a: Rows,
        pub b: Rows,
        pub offsets: DevicePtr<u64>,
        pub rows: u64,
        pub entries: u64,
        pub b_rows: u32,
        pub b_columns: u32,
        pub counts: DevicePtr<u32>,
        pub indices: DevicePtr<u32>,
        pub source_a: DevicePtr<u32>,
        pub source_b: DevicePtr<u32>,
    }

    pub(crate) struct RelabelKeysParams = "ops/structure.cu" "bg::RelabelKeysParams" {
        pub a: Rows,
        pub new_rows: DevicePtr<u32>,
        pub new_columns: DevicePtr<u32>,
        pub keys: DevicePtr<u64>,
        pub positions: DevicePtr<u32>,
        pub column_bits: u32,
        pub reserved: u32,
    }

    pub(crate) struct PairSourcesParams = "ops/structure.cu" "bg::PairSourcesParams" {
        pub pairs: DevicePtr<u64>,
        pub before: DevicePtr<u64>,
        pub sources: DevicePtr<u32>,
        pub n: u64,
    }

    pub(crate) struct KeptOffsetsParams = "ops/structure.cu" "bg::FirstsParams" {
        pub a: Rows,
        pub places: DevicePtr<u32>,
        pub offsets: DevicePtr<u32>,
        pub rows: u64,
    }

    pub(crate) struct SlotsParams = "ops/structure.cu" "bg::SlotsParams" {
        pub indices: DevicePtr<u32>,
        pub slots: DevicePtr<u32>,
        pub n: u64,
    }

    pub(crate) struct IndexListParams = "ops/structure.cu" "bg::IndexListParams" {
        pub indices: DevicePtr<u32>,
        pub present: DevicePtr<u32>,
        pub list: DevicePtr<u32>,
        pub n: u64,
        pub len: u64,
    }

    pub(crate) struct PresenceParams = "ops/structure.cu" "bg::PresenceParams" {
        pub v: Operand,
        pub flags: DevicePtr<u32>,
        pub n: u64,
    }

    pub(crate) struct ConvertParams = "ops/structure.cu" "bg::ConvertParams" {
        pub values: DevicePtr<u8>,
        pub out: DevicePtr<u8>,
        pub n: u64,
        pub from: u32,
        pub to: u32,
    }

    pub(crate) struct LongRowsParams = "ops/structure.cu" "bg::LongRowsParams" {
        pub offsets: DevicePtr<u8>,
        pub rows: u64,
        pub list: DevicePtr<u32>,
        pub count: DevicePtr<u32>,
        pub limit: u32,
        pub wide: u32,
        pub capacity: u32,
        pub reserved: u32,
    }

    pub(crate) struct MxmSumParams = "ops/mxm.cuh" "bg::MxmSumParams" {
        pub pairs: DevicePtr<u64>,
        pub starts: DevicePtr<u32>,
        pub places: u64,
        pub products: u64,
        pub a_values: DevicePtr<u8>,
        pub b_values: DevicePtr<u8>,
        pub out: DevicePtr<u8>,
    }

    pub(crate) struct Total = "ops/mxm.cuh" "bg::Total" {
        pub value: u64,
        pub place: u64,
        pub inner: u64,
    }

    pub(crate) struct MxmReduceParams = "ops/mxm.cuh" "bg::MxmReduceParams" {
        pub a: Rows,
        pub b: Rows,
        pub a_values: DevicePtr<u8>,
        pub b_values: DevicePtr<u8>,
        pub mask: MatrixMaskParams,
        pub totals: DevicePtr<Total>,
        pub blocks: u64,
        pub out: Target,
        pub found: DevicePtr<u32>,
        pub values: DevicePtr<u8>,
    }

    pub(crate) struct BitsParams = "ops/bits.cuh" "bg::BitsParams" {
        pub rows: u64,
        pub columns: u64,
        pub tile_offsets: DevicePtr<u8>,
        pub tile_columns: DevicePtr<u32>,
        pub tiles: DevicePtr<u8>,
        pub list_offsets: DevicePtr<u8>,
        pub list_indices: DevicePtr<u32>,
        pub x: DevicePtr<u8>,
        pub mask: Mask,
        pub y: DevicePtr<u8>,
        pub limit: u32,
        pub lanes: u32,
        pub tile_wide: u32,
        pub list_wide: u32,
        pub list_limit: u32,
        pub reserved: u32,
    }

    pub(crate) struct BitProductParams = "ops/bits.cuh" "bg::BitProductParams" {
        pub a_offsets: DevicePtr<u8>,
        pub a_columns: DevicePtr<u32>,
        pub a_tiles: DevicePtr<u8>,
        pub b_offsets: DevicePtr<u8>,
        pub b_columns: DevicePtr<u32>,
        pub b_tiles: DevicePtr<u8>,
        pub mask_rows: DevicePtr<u32>,
        pub mask_columns: DevicePtr<u32>,
        pub mask_tiles: DevicePtr<u8>,
        pub mask_count: u64,
        pub sum: DevicePtr<u64>,
        pub a_wide: u32,
        pub b_wide: u32,
    }
}
