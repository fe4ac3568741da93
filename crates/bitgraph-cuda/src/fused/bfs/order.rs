//! A local numbering for graphs that have one and do not use it, made on the device.
//!
//! Needs: a symmetric pattern of small degrees in one large component, whose searches take many levels, so that a level is
//! narrow. A search finds out, and finds a vertex at an end of the graph; from there Cuthill and McKee's order is built level by
//! level.

use super::grid::{GridOptions, GridScratch, Search};
use super::prepare::{Prepared, looping};
use super::{Rows, count32};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape};
use crate::primitives::{Order, degrees, reduce};
use crate::{DeviceCsr, Result};
use bitgraph_backend::BfsConfig;
use bytemuck::{Pod, Zeroable};

const MODULE: &str = "graph/bfs_order";
/// Most arcs of a vertex, and of vertices in the mean.
const MOST_ARCS: u32 = 64;
const MEAN_ARCS: usize = 16;
/// Fewest levels.
const LEVELS: u32 = 100;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct FarthestParams {
    levels: DevicePtr<i32>,
    farthest: DevicePtr<u64>,
    nodes: u32,
    reserved: u32,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct OrderParams {
    offsets: DevicePtr<u32>,
    indices: DevicePtr<u32>,
    rank: DevicePtr<u32>,
    order: DevicePtr<u32>,
    least: DevicePtr<u32>,
    most: DevicePtr<u32>,
    children: DevicePtr<u32>,
    places: DevicePtr<u32>,
    listed: DevicePtr<u32>,
    result: DevicePtr<u32>,
    nodes: u32,
    start: u32,
}

/// The order, if the graph is such a one. `fewest` is the number of vertices from which it is worth while, `widest` the largest level that is of use.
pub(crate) fn local_order(
    device: &Device,
    out: &DeviceCsr,
    rows: &Rows,
    prepared: &Prepared,
    fewest: usize,
    widest: usize,
) -> Result<Option<Order>> {
    let nodes = out.rows;
    if nodes < fewest || out.nnz > MEAN_ARCS * nodes || reduce(device, &degrees(device, out)?)?.max > MOST_ARCS {
        return Ok(None);
    }
    let options = GridOptions::default();
    let search = Search { device, nodes, arcs: out.nnz, rows, entering: rows, prepared: Some(prepared), options: &options };
    let mut scratch = GridScratch::new(device, nodes, out.nnz)?;
    let config = BfsConfig { source: count32(nodes / 2)?, ..BfsConfig::default() };
    let found = search.run(&mut scratch, &config)?;
    let totals = found.totals.get(0)?;
    if totals.depth < LEVELS || (totals.reached as usize) < nodes / 10 * 9 || nodes / totals.depth as usize > widest {
        return Ok(None);
    }
    let farthest = device.zeroed::<u64>(1)?;
    let parameters = FarthestParams { levels: found.levels.ptr(), farthest: farthest.ptr(), nodes: count32(nodes)?, reserved: 0 };
    device.launch(&device.kernel(MODULE, "bfs_farthest")?, looping(device, nodes), &parameters)?;
    let start = !(farthest.get(0)? as u32);
    let filled = |byte: u8| -> Result<Buffer<u32>> {
        let buffer = device.alloc(nodes)?;
        buffer.fill_bytes(byte)?;
        Ok(buffer)
    };
    let (rank, order, least, most) = (filled(0xff)?, device.alloc(nodes)?, filled(0xff)?, filled(0)?);
    let (children, places, listed) = (filled(0)?, device.alloc::<u32>(nodes)?, device.alloc::<u32>(nodes)?);
    let result = device.zeroed::<u32>(4)?;
    let parameters = OrderParams {
        offsets: rows.offsets.ptr(),
        indices: rows.indices.ptr(),
        rank: rank.ptr(),
        order: order.ptr(),
        least: least.ptr(),
        most: most.ptr(),
        children: children.ptr(),
        places: places.ptr(),
        listed: listed.ptr(),
        result: result.ptr(),
        nodes: count32(nodes)?,
        start,
    };
    let block = device.properties().max_threads_per_block;
    device.launch(&device.kernel(MODULE, "bfs_order")?, Shape { grid: 1, block, shared: 1024, mode: Mode::Plain }, &parameters)?;
    let level = result.get(2)? as usize;
    Ok((level <= widest).then_some(Order { new_of_old: rank, old_of_new: order }))
}
