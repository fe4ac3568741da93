//! Parents from distances, and checks of distances that may have outgrown their type. On the device, O(nnz) each.

use super::Arcs;
use super::distance::Native;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, parameters};
use crate::primitives::elementwise;
use bitgraph_algorithms::SsspConfig;

const MODULE: &str = "graph/sssp_parents";

parameters! {
    struct Params = "graph/sssp_parents.cu" "bg::ParentParams" {
        state: DevicePtr<GridState>,
        link: HostLink,
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        weights: DevicePtr<u8>,
        distances: DevicePtr<u8>,
        parents: DevicePtr<u32>,
        rounds: DevicePtr<u32>,
        open: DevicePtr<u32>,
        nodes: u32,
        source: u32,
        target: u32,
        pad: u32,
    }
    struct StuckParams = "graph/sssp_parents.cu" "bg::StuckParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        distances: DevicePtr<u64>,
        stuck: DevicePtr<u32>,
        nodes: u32,
        pad: u32,
    }
    struct FarthestParams = "graph/sssp_parents.cu" "bg::FarthestParams" {
        distances: DevicePtr<u32>,
        farthest: DevicePtr<u32>,
        nodes: u32,
        unreached: u32,
    }
}

/// The smallest vertex before each on a shortest path. `incoming` are the arcs into each vertex with their weights.
pub(super) fn parents<D: Native>(
    device: &Device,
    incoming: &Arcs,
    weights: Option<&Buffer<D>>,
    distances: &Buffer<D>,
    config: &SsspConfig,
) -> Result<Buffer<u32>> {
    let n = incoming.nodes();
    let kernel = device.kernel(MODULE, &format!("sssp_parents_{}", D::SUFFIX))?;
    let (parents, rounds, open) = (device.alloc(n)?, device.alloc(n)?, device.alloc(n)?);
    let shape = device.persistent_shape(&kernel, 256, 16, n.div_ceil(8).clamp(1, 1 << 16) as u32)?;
    let parameters = |state, link| Params {
        state,
        link,
        offsets: incoming.offsets.ptr(),
        indices: incoming.indices.ptr(),
        weights: weights.map_or(DevicePtr::NULL, |w| w.ptr().cast()),
        distances: distances.ptr().cast(),
        parents: parents.ptr(),
        rounds: rounds.ptr(),
        open: open.ptr(),
        nodes: n as u32,
        source: config.source,
        target: config.target.unwrap_or(u32::MAX),
        pad: 0,
    };
    // SAFETY: the arrays were made for this graph when it was laid out; the launch is cooperative.
    unsafe { device.persistent(&kernel, shape, &config.control, parameters) }?;
    Ok(parents)
}

/// The largest finite distance.
pub(super) fn farthest(device: &Device, distances: &Buffer<u32>) -> Result<u32> {
    let farthest = device.zeroed(1)?;
    let p = FarthestParams { distances: distances.ptr(), farthest: farthest.ptr(), nodes: distances.len() as u32, unreached: u32::MAX };
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { elementwise(device, MODULE, "sssp_farthest", distances.len() as u64, &p) }?;
    farthest.get(0)
}

/// Whether a sum stuck at the largest value although there is a path: a reached vertex has an arc to one that is not.
pub(super) fn stuck(device: &Device, arcs: &Arcs, distances: &Buffer<u64>) -> Result<bool> {
    let stuck = device.zeroed(1)?;
    let (offsets, indices) = (arcs.offsets.ptr(), arcs.indices.ptr());
    let p = StuckParams { offsets, indices, distances: distances.ptr(), stuck: stuck.ptr(), nodes: arcs.nodes() as u32, pad: 0 };
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { elementwise(device, MODULE, "sssp_stuck_u64", 32 * arcs.nodes() as u64, &p) }?;
    Ok(stuck.get(0)? != 0)
}
