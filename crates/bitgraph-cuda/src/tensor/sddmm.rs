//! Values for the entries of a pattern by the general kernels: products of features sampled there.

use super::epilogue::activation;
use super::instance::{self, Instance};
use super::params::{Target, View, most, name, neighbours, real_of, sum_of};
use super::pattern::entry_rows;
use super::spmm::edges;
use crate::device::{Device, DevicePtr, Kernel, Shape, parameters};
use crate::ops::source::element;
use crate::{Cuda, Result, primitives};
use bitgraph_semiring::DType;
use bitgraph_tensor::AnyMut;
use bitgraph_tensor::ops::{Pairing, SddmmOp};

const MODULE: &str = "tensor/sddmm_general";

parameters! {
    struct SddmmParams = "tensor/sddmm_general.cuh" "bg::SddmmParams" {
        rows: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        left: View,
        right: View,
        edges: View,
        row_scale: View,
        column_scale: View,
        out: Target,
        factor: f64,
        parameter: f64,
        entries: u64,
        heads: u32,
        width: u32,
        group: u32,
        edge_heads: u32,
        activation: u32,
        multiply: u32,
        direct: u32,
        reserved: u32,
    }
}

/// Lanes for a dot product of so many columns, read so many at a time: a lane has two packs or more where there are.
pub(super) fn group(width: u32, neighbours: u32) -> u32 {
    width.div_ceil(2 * neighbours).clamp(1, 32).next_power_of_two()
}

/// The launch of so many lanes for each of `values` values.
///
/// # Errors
/// More than a grid can have.
pub(super) fn shape(device: &Device, values: u64, group: u32) -> Result<Shape> {
    let block = instance::threads(device);
    Ok(Shape { grid: primitives::blocks(values, u64::from(block / group))?, block, ..Shape::default() })
}

fn kernel(device: &Device, x: DType, n: u32) -> Result<Kernel<SddmmParams>> {
    let sum = sum_of(x);
    let kernel = |n: u32| format!("sddmm_dot_{}_{}_x{n}", name(x), name(sum));
    let instance = |n: u32| Instance::new("BG_SDDMM_DOT", &format!("{}, {}, {n}", element(x), element(sum)), &[kernel(n)]);
    instance::kernel(device, MODULE, &kernel(n), || [most(x), 1].map(instance).into())
}

/// Any value of entries.
pub(super) fn general(cuda: &Cuda, op: &SddmmOp<Cuda>, e: &AnyMut<'_, Cuda>) -> Result<()> {
    let (device, matrix, entries) = (cuda.device(), op.matrix.raw(), op.matrix.nvals());
    if entries == 0 || op.heads == 0 {
        return Ok(());
    }
    let (x, left, right) = (op.left.dtype(), View::any(&op.left), View::any(&op.right));
    let dot = op.pairing == Pairing::Dot;
    let width = if dot { op.left.shape().1 / op.heads } else { 1 };
    let n = if dot { neighbours(&left, x, width).min(neighbours(&right, x, width)) } else { 1 };
    let edges = edges(&op.edge, matrix);
    let edge_heads = if let bitgraph_tensor::ops::Edge::Values(values) = &op.edge { values.shape().1 } else { 1 };
    let plain = edges.data.address() == 0 && op.scale_rows.is_none() && op.scale_columns.is_none() && op.activation.is_none();
    let (activation, parameter) = activation(op.activation);
    let counted = |columns: usize| u32::try_from(columns).map_err(|_| primitives::too_large(columns as u64));
    let width = counted(width)?;
    let params = SddmmParams {
        rows: entry_rows(matrix)?.ptr(),
        indices: matrix.lists()?.indices.ptr(),
        left,
        right,
        edges,
        row_scale: View::optional(op.scale_rows.as_ref()),
        column_scale: View::optional(op.scale_columns.as_ref()),
        out: Target::of(e, 1),
        factor: op.factor,
        parameter,
        entries: entries as u64,
        heads: counted(op.heads)?,
        width,
        group: if dot { group(width, n) } else { 1 },
        edge_heads: counted(edge_heads)?,
        activation,
        multiply: u32::from(op.pairing == Pairing::Multiply),
        direct: u32::from(plain && op.factor == 1.0),
        reserved: 0,
    };
    // What holds every element exactly, as far as it goes.
    let exact = if x == DType::I32 { DType::F64 } else { real_of(x) };
    let kernel = if dot { kernel(device, x, n)? } else { device.kernel(MODULE, &format!("sddmm_pairs_{}", name(exact)))? };
    let values = params.entries.checked_mul(op.heads as u64).ok_or_else(|| primitives::too_large(params.entries))?;
    // SAFETY: operands fit each other (`bitgraph_tensor::ops` checks that), and none shares an element with the output.
    unsafe { device.launch(&kernel, shape(device, values, params.group)?, &params) }
}

#[cfg(test)]
mod tests {
    use super::group;

    #[test]
    fn lanes_have_two_packs() {
        assert_eq!([(0, 1), (1, 1), (33, 1), (64, 4), (64, 8), (4096, 8)].map(|(width, n)| group(width, n)), [1, 1, 32, 8, 4, 32]);
    }
}
