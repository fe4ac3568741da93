//! What the weights of a matrix are like, and weights in the type that distances are summed in.
//!
//! Invariant: a [`Summary`] exists only for weights that are neither negative nor NaN.

use super::Arcs;
use super::distance::Native;
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::primitives::{elementwise, ranged};
use crate::{Error, Result};
use bitgraph_backend::Error as Base;
use bitgraph_semiring::DType;

pub(super) const MODULE: &str = "graph/sssp_prepare";

/// The weights in a few numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Summary {
    /// The type of the values; `U8` for a pattern, whose weights are 1.
    pub dtype: DType,
    /// The largest weight, if every weight is a whole number below 2^63 (or of an integer type).
    pub whole: Option<u64>,
    /// The mean of the finite weights; 0 without entries.
    pub mean: f64,
}

parameters! {
    struct RawSummary = "graph/sssp_prepare.cu" "bg::WeightSummary" {
        bad: u64,
        broken: u64,
        whole: u64,
        finite: u64,
        sum: f64,
    }
    struct SummaryParams = "graph/sssp_prepare.cu" "bg::SummaryParams" {
        values: DevicePtr<u8>,
        summary: DevicePtr<RawSummary>,
        count: u64,
        dtype: u32,
        pad: u32,
    }
    struct ConvertParams = "graph/sssp_prepare.cu" "bg::ConvertParams" {
        values: DevicePtr<u8>,
        weights: DevicePtr<u8>,
        count: u64,
        dtype: u32,
        target: u32,
    }

    struct MaxDegreeParams = "graph/sssp_prepare.cu" "bg::MaxDegreeParams" {
        offsets: DevicePtr<u32>,
        max_degree: DevicePtr<u64>,
        nodes: u32,
        pad: u32,
    }
}

/// The most arcs of a vertex. O(n).
pub(super) fn longest(device: &Device, arcs: &Arcs) -> Result<u32> {
    let max_degree = device.zeroed::<u64>(1)?;
    let p = MaxDegreeParams { offsets: arcs.offsets.ptr(), max_degree: max_degree.ptr(), nodes: arcs.nodes() as u32, pad: 0 };
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { elementwise(device, MODULE, "sssp_max_degree", arcs.nodes() as u64, &p) }?;
    Ok((max_degree.get(0)? >> 32) as u32)
}

/// The code of a type, as the container numbers them.
pub(super) fn code(dtype: DType) -> u32 {
    DType::ALL.iter().position(|&d| d == dtype).unwrap_or(0) as u32
}

impl Summary {
    /// Checks and sums up the weights of `arcs`, on the device. O(nnz).
    ///
    /// # Errors
    /// [`Base::Weight`] naming the first edge whose weight is negative or NaN.
    pub fn of(device: &Device, arcs: &Arcs) -> Result<Self> {
        let Some((dtype, values)) = &arcs.values else {
            return Ok(Self { dtype: DType::U8, whole: Some(1), mean: if arcs.nnz() == 0 { 0.0 } else { 1.0 } });
        };
        let summary = device.zeroed::<RawSummary>(1)?;
        let count = arcs.nnz() as u64;
        let p = SummaryParams { values: values.ptr(), summary: summary.ptr(), count, dtype: code(*dtype), pad: 0 };
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { ranged(device, MODULE, "sssp_summary", count, size_of::<RawSummary>() as u32, &p) }?;
        let found = summary.get(0)?;
        if found.bad != 0 {
            return Err(bad_weight(arcs, *dtype, values, !found.bad as usize)?);
        }
        let mean = if found.finite == 0 { 0.0 } else { found.sum / found.finite as f64 };
        Ok(Self { dtype: *dtype, whole: (found.broken == 0).then_some(found.whole), mean })
    }
}

fn bad_weight(arcs: &Arcs, dtype: DType, values: &Buffer<u8>, position: usize) -> Result<Error> {
    let offsets = arcs.offsets.to_vec()?;
    let row = offsets.partition_point(|&o| o as usize <= position) - 1;
    let size = dtype.bytes();
    let bytes = values.range_to_vec(position * size..(position + 1) * size)?;
    let weight = to_f64(dtype, &bytes);
    let what = if weight.is_nan() { "it is not a number" } else { "shortest paths need weights of at least 0" };
    Ok(Base::Weight { row: row as u64, column: arcs.indices.get(position)?.into(), weight, what }.into())
}

/// One value; the types whose values can be negative or NaN.
fn to_f64(dtype: DType, bytes: &[u8]) -> f64 {
    match dtype {
        DType::I8 => f64::from(bytemuck::pod_read_unaligned::<i8>(bytes)),
        DType::I16 => f64::from(bytemuck::pod_read_unaligned::<i16>(bytes)),
        DType::I32 => f64::from(bytemuck::pod_read_unaligned::<i32>(bytes)),
        DType::I64 => bytemuck::pod_read_unaligned::<i64>(bytes) as f64,
        DType::F16 => half::f16::from_bits(bytemuck::pod_read_unaligned(bytes)).to_f64(),
        DType::Bf16 => half::bf16::from_bits(bytemuck::pod_read_unaligned(bytes)).to_f64(),
        DType::F32 => f64::from(bytemuck::pod_read_unaligned::<f32>(bytes)),
        DType::F64 => bytemuck::pod_read_unaligned::<f64>(bytes),
        _ => 0.0,
    }
}

/// Weights in the type that distances are summed in; shared where they have its bits already, none for a pattern.
pub(super) fn native_weights<D: Native>(device: &Device, arcs: &Arcs) -> Result<Option<Buffer<D>>> {
    let Some((dtype, values)) = &arcs.values else { return Ok(None) };
    // Signed integers that are not negative have the bits of unsigned ones.
    let same = match D::DTYPE {
        DType::U32 => matches!(dtype, DType::U32 | DType::I32),
        DType::U64 => matches!(dtype, DType::U64 | DType::I64),
        native => native == *dtype,
    };
    if same {
        return Ok(Some(values.cast()));
    }
    let weights = device.alloc_for::<D>(arcs.nnz(), "weights of shortest paths")?;
    let p = ConvertParams {
        values: values.ptr(),
        weights: weights.ptr().cast(),
        count: arcs.nnz() as u64,
        dtype: code(*dtype),
        target: code(D::DTYPE),
    };
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { elementwise(device, MODULE, "sssp_convert", arcs.nnz() as u64, &p) }?;
    Ok(Some(weights))
}
