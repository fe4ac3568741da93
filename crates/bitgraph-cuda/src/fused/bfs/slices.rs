//! Diagonal slices: meshes and grids in a local numbering, searched without a barrier of the grid.
//!
//! Needs: arcs whose ends are near each other in the numbering (a block's words and the margin fit in the block), and lie on few
//! diagonals at a time (so that an entry stands for many arcs). Directed graphs and any degrees are fine.

use super::level_search::LevelSearch;
use super::prepare::looping;
use super::{Outputs, Rows, Totals, count32};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, Mode, Shape, parameters};
use crate::primitives::{exclusive_scan_total, reduce};
use bitgraph_algorithms::BfsConfig;
use bitgraph_kernels::constant;

const MODULE: &str = "graph/bfs_slices";
const BUILD_MODULE: &str = "graph/bfs_slices_build";
const HEAD_BYTES: u32 = constant("graph/bfs_slices.cuh", "SLICES_HEAD") as u32;
/// `bg::slices_pitch`.
const fn pitch(words: u32) -> u32 {
    3072 * words + 32
}
/// Blocks that progress is kept for.
const MOST_BLOCKS: u32 = 1024;
/// Clock cycles of an exchange with the neighbours, of a level's fixed part, and of an entry for each warp.
const EXCHANGE: f64 = 1450.0;
const LEVEL: f64 = 170.0;
const ENTRY: f64 = 3.0;
/// Of what a level costs a warp beside its entries.
const FIXED: f64 = 7.5;
/// Of an entry that is not in registers.
const REST: f64 = 140.0;
/// A level of few warps waits for its loads and the barrier so long.
const WAIT: f64 = 400.0;

/// The constants of the form.
#[derive(Clone, Debug, PartialEq)]
pub struct SlicesOptions {
    /// Blocks; 0: one for each multiprocessor, or a single one where that is enough.
    pub blocks: u32,
    /// Levels between exchanges; 0: as a model of the cost says.
    pub hops: u32,
    /// Words of 32 vertices that a thread has; 0: as the model says.
    pub words: u32,
    /// Entries of a word kept in registers: 4 (if no word has more), 8 or 24; 0: as their number suggests.
    pub registers: u32,
    /// Words between those of neighbouring lanes; 0: consecutive ones.
    pub stride: u32,
    /// The form is not taken where a word has more entries than this in the mean.
    pub most_entries: f64,
}

impl Default for SlicesOptions {
    fn default() -> Self {
        Self { blocks: 0, hops: 0, words: 0, registers: 0, stride: 0, most_entries: 48.0 }
    }
}

parameters! {
    struct BuildParams = "graph/bfs_slices_build.cu" "bg::SlicesBuildParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        counts: DevicePtr<u32>,
        starts: DevicePtr<u32>,
        entries: DevicePtr<u64>,
        farthest: DevicePtr<u32>,
        nodes: u32,
        words: u32,
        limit: u32,
        reserved: u32,
    }

    struct SlicesParams = "graph/bfs_slices.cuh" "bg::BfsSlicesParams" {
        starts: DevicePtr<u32>,
        entries: DevicePtr<u64>,
        order: DevicePtr<u32>,
        out_offsets: DevicePtr<u32>,
        levels: DevicePtr<i32>,
        messages: DevicePtr<[u32; 4]>,
        progress: DevicePtr<u64>,
        done: DevicePtr<u32>,
        totals: DevicePtr<Totals>,
        state: DevicePtr<GridState>,
        link: HostLink,
        nodes: u32,
        words: u32,
        source: u32,
        arcs: u32,
        own: u32,
        bandwidth: u32,
        hops: u32,
        halo: u32,
        window: u32,
        base: u32,
        connected: u32,
        lane_step: u32,
        column_step: u32,
        columns: u32,
    }
}

/// How the words are dealt to blocks and threads.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SlicesPlan {
    /// Blocks.
    pub blocks: u32,
    /// Words of a block.
    pub own: u32,
    /// Words between the ends of an arc.
    pub bandwidth: u32,
    /// Levels between exchanges.
    pub hops: u32,
    /// Words of the margin on either side.
    pub halo: u32,
    /// Words of a thread.
    pub words: u32,
    /// Entries of a word in registers.
    pub registers: u32,
    /// Entries of a word in the mean.
    pub entries: f64,
    /// Words between those of neighbouring lanes.
    pub stride: u32,
    /// Clock cycles of a level, by the model.
    pub cycles: f64,
}

/// A graph as diagonal slices.
#[derive(Debug)]
pub(crate) struct SlicesLayout {
    starts: Buffer<u32>,
    entries: Buffer<u64>,
    /// The input's number of each vertex, and the other way round, where they differ.
    order: Option<(Buffer<u32>, Buffer<u32>)>,
    pub plan: SlicesPlan,
    connected: u32,
}

/// Device memory of a search, used again by the next.
#[derive(Debug)]
pub(crate) struct SlicesScratch {
    messages: Buffer<[u32; 4]>,
    progress: Buffer<u64>,
    done: Buffer<u32>,
    found: LevelSearch,
    base: u32,
}

impl SlicesLayout {
    /// Builds the form from the arcs that enter each vertex, in the numbering `order` if there is one (the input's number of each vertex,
    /// and its inverse). Nothing where it does not fit. O(n + nnz) work on the device.
    pub(crate) fn build(
        device: &Device,
        nodes: usize,
        entering: &Rows,
        order: Option<(Buffer<u32>, Buffer<u32>)>,
        connected: u32,
        options: &SlicesOptions,
    ) -> Result<Option<Self>> {
        let words = nodes.div_ceil(32);
        let farthest = device.zeroed::<u32>(1)?;
        let counts = device.alloc::<u32>(words)?;
        let mut parameters = BuildParams {
            offsets: entering.offsets.ptr(),
            indices: entering.indices.ptr(),
            counts: counts.ptr(),
            starts: DevicePtr::NULL,
            entries: DevicePtr::NULL,
            farthest: farthest.ptr(),
            nodes: count32(nodes)?,
            words: count32(words)?,
            limit: 160,
            reserved: 0,
        };
        // SAFETY: the arrays were made for this graph's vertices and arcs, which were counted when they were.
        unsafe { device.launch(&device.kernel(BUILD_MODULE, "bfs_bandwidth")?, looping(device, nodes), &parameters) }?;
        let farthest = farthest.get(0)?;
        // Whether it fits at all, before anything is counted.
        if SlicesPlan::new(device, words, farthest, 4.0, 4, options).is_none() {
            return Ok(None);
        }
        // SAFETY: the arrays were made for this graph's vertices and arcs, which were counted when they were.
        unsafe { device.launch(&device.kernel(BUILD_MODULE, "bfs_slices_count")?, looping(device, words * 32), &parameters) }?;
        let (starts, total) = exclusive_scan_total(device, &counts)?;
        let mean = f64::from(total) / words as f64;
        let most = reduce(device, &counts)?.max;
        if mean > options.most_entries || most >= parameters.limit {
            return Ok(None);
        }
        let Some(plan) = SlicesPlan::new(device, words, farthest, mean, most, options) else { return Ok(None) };
        let entries = device.alloc::<u64>(total as usize + 1)?;
        parameters.starts = starts.ptr();
        parameters.entries = entries.ptr();
        // SAFETY: the arrays were made for this graph's vertices and arcs, which were counted when they were.
        unsafe { device.launch(&device.kernel(BUILD_MODULE, "bfs_slices_fill")?, looping(device, words * 32), &parameters) }?;
        Ok(Some(Self { starts, entries, order, plan, connected }))
    }
    /// The most vertices between the ends of an arc with which a graph of `nodes` vertices fits.
    pub(crate) fn widest(device: &Device, nodes: usize) -> usize {
        let properties = device.properties();
        let own = nodes.div_ceil(32).div_ceil(properties.sms as usize);
        (properties.max_threads_per_block as usize).saturating_sub(own) / 2 * 32
    }
    pub(crate) fn bytes(&self) -> u64 {
        let order = self.order.as_ref().map_or(0, |(a, b)| a.bytes() + b.bytes());
        self.starts.bytes() + self.entries.bytes() + order
    }
    pub(crate) fn scratch(&self, device: &Device, nodes: usize) -> Result<SlicesScratch> {
        Ok(SlicesScratch {
            messages: device.zeroed(2 * nodes.div_ceil(32))?,
            progress: device.zeroed(MOST_BLOCKS as usize)?,
            done: device.zeroed(1)?,
            found: LevelSearch::new(device, nodes)?,
            base: 1,
        })
    }
    /// Searches; what goes wrong leaves the scratch unfit for another search.
    pub(crate) fn run(
        &self,
        device: &Device,
        scratch: &mut SlicesScratch,
        rows: &Rows,
        entering: &Rows,
        config: &BfsConfig,
    ) -> Result<Outputs> {
        let plan = &self.plan;
        let nodes = scratch.found.nodes();
        let tags = (nodes / plan.hops as usize) as u32 + 1024;
        if scratch.base.checked_add(2 * tags).is_none_or(|end| end > i32::MAX as u32) {
            scratch.messages.fill_bytes(0)?;
            scratch.progress.fill_bytes(0)?;
            scratch.done.fill_bytes(0)?;
            scratch.base = 1;
        }
        let base = scratch.base;
        scratch.base += tags;
        let source = match &self.order {
            Some((_, rank)) => rank.get(config.source as usize)?,
            None => config.source,
        };
        let kernel = device.kernel(MODULE, &format!("bfs_slices_{}x{}", plan.registers, plan.words))?;
        let window = plan.own + 2 * plan.halo;
        // A warp has consecutive words, or one of every row of the grid that the graph nearly is.
        let (lane_step, column_step, columns) = if plan.stride > 1 { (plan.stride, 1, plan.stride) } else { (1, 32, window.div_ceil(32)) };
        let block = (columns.div_ceil(plan.words) * 32).max(64);
        let shared = HEAD_BYTES + 8 * pitch(plan.words);
        let shape = Shape { grid: plan.blocks, block, shared, mode: Mode::Cooperative };
        let words = count32(nodes.div_ceil(32))?;
        let (nodes, arcs) = (count32(nodes)?, count32(rows.indices.len())?);
        let (messages, progress, done) = (scratch.messages.ptr(), scratch.progress.ptr(), scratch.done.ptr());
        scratch.found.run(device, entering, config, |levels, totals| {
            // SAFETY: the layout is of this graph (`BfsLayout::search` checks that), and what a search fills was made for its vertices; the launch is cooperative.
            unsafe {
                device.persistent(&kernel, shape, &config.control, |state, link| SlicesParams {
                    starts: self.starts.ptr(),
                    entries: self.entries.ptr(),
                    order: self.order.as_ref().map_or(DevicePtr::NULL, |(order, _)| order.ptr()),
                    out_offsets: rows.offsets.ptr(),
                    levels,
                    messages,
                    progress,
                    done,
                    totals,
                    state,
                    link,
                    nodes,
                    words,
                    source,
                    arcs,
                    own: plan.own,
                    bandwidth: plan.bandwidth,
                    hops: plan.hops,
                    halo: plan.halo,
                    window,
                    base,
                    connected: self.connected,
                    lane_step,
                    column_step,
                    columns,
                })
            }
        })
    }
}

impl SlicesPlan {
    /// The cheapest way to deal the words, if there is one.
    pub(super) fn new(device: &Device, words: usize, farthest: u32, mean: f64, most: u32, options: &SlicesOptions) -> Option<Self> {
        let properties = device.properties();
        let words = u32::try_from(words).ok()?;
        let bandwidth = farthest.div_ceil(32).max(1);
        let limit = properties.max_threads_per_block;
        let registers = match options.registers {
            0 if most <= 4 => 4,
            // Its kernel has no others.
            4 if most > 4 => 8,
            // With many in registers a block has half as many threads.
            0 if mean <= 8.0 && (most <= 8 || words > limit.min(512)) => 8,
            0 => 24,
            forced => forced,
        };
        let threads = if registers == 24 { limit.min(512) } else { limit };
        let widths: &[u32] = if registers == 24 { &[1] } else { &[1, 2] };
        let single = words <= threads * widths.len() as u32;
        let counts: &[u32] = match options.blocks {
            0 if single => &[1, properties.sms],
            0 => &[properties.sms],
            _ => &[options.blocks],
        };
        let mut best: Option<Self> = None;
        for &count in counts {
            let own = words.div_ceil(count.clamp(1, properties.sms.min(MOST_BLOCKS)));
            let blocks = words.div_ceil(own);
            for &width in widths.iter().filter(|&&w| options.words == 0 || w == options.words) {
                let room = threads * width;
                let mut consider = |hops: u32, halo: u32| {
                    let window = own + 2 * halo;
                    let shared = HEAD_BYTES + 8 * pitch(width);
                    if window > room || window + 2 * bandwidth + 2 >= pitch(width) || shared > properties.shared_per_block {
                        return;
                    }
                    // An odd stride keeps the lanes in different banks. Measured on a grid it does not pay, so that it is only taken when asked for.
                    let fits = |stride: u32| stride <= threads / 32 * width && window <= stride * 32;
                    let stride = match options.stride {
                        0 | 1 => 1,
                        forced if fits(forced) => forced,
                        _ => return,
                    };
                    // With a stride few warps have a frontier at a time.
                    let warps = f64::from(window) / 32.0 * if stride > 1 { 0.25 } else { 1.0 };
                    // Two words do not fit in the registers of a full block.
                    // And what is not in registers is read from memory, one entry after the other: a warp waits for its longest word.
                    let chain = 400.0 * f64::from(width - 1) + REST * f64::from(most.saturating_sub(registers));
                    let level = f64::max(LEVEL + warps * (mean * ENTRY + FIXED), WAIT);
                    let cycles = level + chain + if blocks > 1 { EXCHANGE / f64::from(hops) } else { 0.0 };
                    if best.as_ref().is_none_or(|b| cycles < b.cycles) {
                        best = Some(Self { blocks, own, bandwidth, hops, halo, words: width, registers, entries: mean, stride, cycles });
                    }
                };
                if blocks == 1 {
                    consider(16, 0);
                } else {
                    let most_hops = room.saturating_sub(own) / (2 * bandwidth);
                    for hops in 1..=most_hops.min(64) {
                        // Two levels at a time leave out a branch.
                        if hops == options.hops || (options.hops == 0 && (hops == 1 || hops % 2 == 0)) {
                            consider(hops, hops * bandwidth);
                        }
                    }
                }
            }
        }
        best
    }
}
