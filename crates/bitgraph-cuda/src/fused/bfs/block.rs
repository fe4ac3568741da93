//! Small graphs: one block, or one cluster of blocks, with all arcs in registers.
//!
//! Needs: fewer than 65536 vertices, and as many arcs as the registers of the blocks hold. Any shape, directed or not.

use super::level_search::LevelSearch;
use super::prepare::looping;
use super::{Outputs, Rows, Totals, count32};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, Mode, Shape, parameters};
use bitgraph_algorithms::BfsConfig;
use bitgraph_kernels::constant;

const MODULE: &str = "graph/bfs_block";
const HEAD_BYTES: u32 = constant("graph/bfs_block.cuh", "BLOCK_HEAD") as u32;
/// Arcs of a thread, of the kernels there are.
const ARCS: [u32; 3] = [8, 16, 24];
/// Blocks of a cluster.
const CLUSTER: u32 = 8;
/// Clock cycles of a level: of one block, of a cluster, and of an arc for each thread, whose place is in the way of those of other lanes.
const BLOCK_LEVEL: f64 = 550.0;
const CLUSTER_LEVEL: f64 = 1100.0;
const ARC: f64 = 75.0;

/// The constants of the form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockOptions {
    /// Blocks: 1, or those of a cluster; 0: one if that is enough.
    pub blocks: u32,
    /// Threads of a block; 0: as many as there can be.
    pub threads: u32,
}

parameters! {
    struct ArcsParams = "graph/bfs_block.cu" "bg::BfsArcsParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        arcs: DevicePtr<u32>,
        nodes: u32,
        reserved: u32,
    }

    struct BlockParams = "graph/bfs_block.cuh" "bg::BfsBlockParams" {
        arcs: DevicePtr<u32>,
        levels: DevicePtr<i32>,
        totals: DevicePtr<Totals>,
        state: DevicePtr<GridState>,
        link: HostLink,
        nodes: u32,
        count: u32,
        source: u32,
        reserved: u32,
    }
}

/// A graph as packed arcs.
#[derive(Debug)]
pub(crate) struct BlockLayout {
    arcs: Buffer<u32>,
    kernel: String,
    shape: Shape,
}

impl BlockLayout {
    /// How many blocks and arcs a thread it takes, and the clock cycles of a level; nothing if the graph is too large.
    pub(crate) fn plan(device: &Device, nodes: usize, arcs: usize, options: &BlockOptions) -> Option<(u32, u32, f64)> {
        let properties = device.properties();
        let threads = Self::threads(device, options);
        if nodes == 0 || nodes >= 0xffff || HEAD_BYTES as usize + 2 * (nodes + 2) > properties.shared_per_block as usize {
            return None;
        }
        let counts: &[u32] = match options.blocks {
            0 if properties.clusters => &[1, CLUSTER],
            0 => &[1],
            1 => &[1],
            _ if properties.clusters => &[CLUSTER],
            _ => &[],
        };
        counts.iter().find_map(|&blocks| {
            let each = arcs.div_ceil((blocks * threads) as usize);
            let held = ARCS.into_iter().find(|&a| each <= a as usize)?;
            let fixed = if blocks == 1 { BLOCK_LEVEL } else { CLUSTER_LEVEL };
            Some((blocks, held, fixed + ARC * each as f64))
        })
    }
    fn threads(device: &Device, options: &BlockOptions) -> u32 {
        let most = device.properties().max_threads_per_block;
        if options.threads == 0 { most } else { options.threads.min(most) }
    }
    /// Packs the arcs. O(nnz) work on the device, 4 bytes for an arc.
    pub(crate) fn build(device: &Device, nodes: usize, rows: &Rows, options: &BlockOptions) -> Result<Option<Self>> {
        let count = rows.indices.len();
        let Some((blocks, held, _)) = Self::plan(device, nodes, count, options) else { return Ok(None) };
        let arcs = device.alloc(count)?;
        let parameters =
            ArcsParams { offsets: rows.offsets.ptr(), indices: rows.indices.ptr(), arcs: arcs.ptr(), nodes: count32(nodes)?, reserved: 0 };
        // SAFETY: the arrays were made for this graph's vertices and arcs, which were counted when they were.
        unsafe { device.launch(&device.kernel(MODULE, "bfs_arcs")?, looping(device, nodes * 32), &parameters) }?;
        let shape = Shape {
            grid: blocks,
            block: Self::threads(device, options),
            shared: (HEAD_BYTES as usize + 2 * (nodes + 2)) as u32,
            mode: if blocks == 1 { Mode::Plain } else { Mode::Cluster },
        };
        let kernel = format!("bfs_{}_{held}", if blocks == 1 { "block" } else { "cluster" });
        Ok(Some(Self { arcs, kernel, shape }))
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.arcs.bytes()
    }
    pub(crate) fn run(&self, device: &Device, scratch: &mut LevelSearch, entering: &Rows, config: &BfsConfig) -> Result<Outputs> {
        let (nodes, count) = (count32(scratch.nodes())?, count32(self.arcs.len())?);
        let kernel = device.kernel(MODULE, &self.kernel)?;
        scratch.run(device, entering, config, |levels, totals| {
            // SAFETY: the layout is of this graph (`BfsLayout::search` checks that), and what a search fills was made for its vertices; the launch is cooperative.
            unsafe {
                device.persistent(&kernel, self.shape, &config.control, |state, link| BlockParams {
                    arcs: self.arcs.ptr(),
                    levels,
                    totals,
                    state,
                    link,
                    nodes,
                    count,
                    source: config.source,
                    reserved: 0,
                })
            }
        })
    }
}
