//! A local numbering for graphs that have one and do not use it, made on the device.
//!
//! Needs: a symmetric pattern of small degrees in one large component, whose searches take many levels, so that a level is
//! narrow. A search finds out, and finds a vertex at an end of the graph, where the order by levels begins.

use super::grid::{GridOptions, GridScratch, Search};
use super::prepare::{Prepared, looping};
use super::select::RENUMBERED_LEVELS;
use super::{Rows, count32};
use crate::device::{Device, DevicePtr, parameters};
use crate::primitives::{LevelOrderConfig, Order, level_order};
use crate::{DeviceCsr, Result};
use bitgraph_algorithms::BfsConfig;

const MODULE: &str = "graph/bfs_order";

parameters! {
    struct FarthestParams = "graph/bfs_order.cu" "bg::FarthestParams" {
        levels: DevicePtr<i32>,
        farthest: DevicePtr<u64>,
        nodes: u32,
        reserved: u32,
    }
}

/// Where a search ended.
pub(crate) struct FarEnd {
    /// A vertex of the last level.
    pub vertex: u32,
    pub depth: u32,
    pub reached: u32,
}

/// An end of a symmetric graph: what is farthest from the vertex in the middle of the numbering.
pub(crate) fn far_end(device: &Device, nodes: usize, rows: &Rows, prepared: Option<&Prepared>) -> Result<FarEnd> {
    let (arcs, options) = (rows.indices.len(), GridOptions::default());
    let search = Search { device, nodes, arcs, rows, entering: rows, prepared, options: &options };
    let mut scratch = GridScratch::new(device, nodes, arcs)?;
    let config = BfsConfig { source: count32(nodes / 2)?, ..BfsConfig::default() };
    let found = search.run(&mut scratch, &config)?;
    let farthest = device.zeroed::<u64>(1)?;
    let parameters = FarthestParams { levels: found.levels.ptr(), farthest: farthest.ptr(), nodes: count32(nodes)?, reserved: 0 };
    // SAFETY: the arrays were made for this graph's vertices and arcs, which were counted when they were.
    unsafe { device.launch(&device.kernel(MODULE, "bfs_farthest")?, looping(device, nodes), &parameters) }?;
    let totals = found.totals.get(0)?;
    Ok(FarEnd { vertex: !(farthest.get(0)? as u32), depth: totals.depth, reached: totals.reached })
}

/// The order, if the graph is such a one. `widest` is the largest level that is of use.
pub(crate) fn local_order(device: &Device, out: &DeviceCsr, rows: &Rows, prepared: &Prepared, widest: usize) -> Result<Option<Order>> {
    let nodes = out.rows;
    let end = far_end(device, nodes, rows, Some(prepared))?;
    if end.depth < RENUMBERED_LEVELS || (end.reached as usize) < nodes / 10 * 9 || nodes / end.depth as usize > widest {
        return Ok(None);
    }
    let config = LevelOrderConfig { start: Some(end.vertex), sweeps: 1, components: 1, narrow: None, longest_row: u32::MAX };
    let found = level_order(device, out, &config)?;
    Ok(found.filter(|f| f.widest as usize <= widest).map(|f| f.order))
}
