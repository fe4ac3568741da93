//! The form of large skewed graphs: the vertices of largest degree are a core of tiles swept in shared memory, the other arcs rows by class.
//!
//! Needs f32, even teleport, dangling vertices without any arcs (or dropped ones), and no vertex that only has outgoing arcs.
//!
//! Invariant: core positions come first, dealt to their owners; the others follow by falling number of arcs.

use super::tiles::{BuildParams, NO_VERTEX, ORDER_BYTES, Order, PLAN_WORDS, Sizes, Source, Tile, round_up};
use super::{RankResult, Score, finished};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, Mode, Shape, parameters};
use crate::primitives::exclusive_scan_total;
use crate::spmv::{Pattern, RowBins, RowBinsParams};
use bitgraph_algorithms::{Dangling, PageRank, PageRankConfig};
use bitgraph_kernels::constant;
use std::sync::{Mutex, PoisonError};

parameters! {
    struct CoreRankParams = "graph/pagerank_core.cu" "bg::CoreRankParams" {
        state: DevicePtr<GridState>,
        link: HostLink,
        result: DevicePtr<RankResult>,
        tiles: DevicePtr<Tile>,
        data: DevicePtr<u32>,
        folds: DevicePtr<[u32; 2]>,
        cold: RowBinsParams,
        pieces: DevicePtr<f32>,
        inverse: DevicePtr<f32>,
        vertex: DevicePtr<u32>,
        isolated: DevicePtr<u32>,
        shares: [DevicePtr<f32>; 2],
        partials: DevicePtr<f32>,
        cold_sums: DevicePtr<f32>,
        scores: DevicePtr<f32>,
        damping: f64,
        tolerance: f64,
        max_iterations: u32,
        vertices: u32,
        lost: u32,
        isolated_count: u32,
        columns: u32,
        groups: u32,
        sweeps: u32,
        part: u32,
        core: u32,
        positions: u32,
        x_room: u32,
        sum_room: u32,
        cold_warps: u32,
        reserved: u32,
    }
}

const THREADS: u32 = 1024;
/// Bytes of shared memory ahead of x; `CORE_HEADER` in the kernel.
const HEADER: usize = constant("graph/pagerank_core.cu", "CORE_HEADER") as usize;
/// Entries of a piece of a row; at least the keys of the planning sort.
const SPLIT: u32 = 2048;
/// Tiles of a group of blocks at most: a warp of the build has a counter for each.
const MOST_TILES: u32 = 512;
/// Rows of a tile that may be cut.
const FOLDS: usize = 1024;

/// How the core is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreChoice {
    /// Vertices of the core at most.
    pub vertices: u32,
    /// Columns of blocks, at most 8.
    pub columns: u32,
    /// Sweeps of a block, columns * sweeps at most 512.
    pub sweeps: u32,
    /// Warps of a block that do not sweep.
    pub cold_warps: u32,
    /// Entries of a lane before a row gets another lane.
    pub lane_entries: u32,
}

impl CoreChoice {
    /// What suits a device whose multiprocessors hold 227 KB of shared memory.
    pub const DEFAULT: Self = Self { vertices: 520_000, columns: 6, sweeps: 3, cold_warps: 8, lane_entries: 64 };
    /// For graphs of which half a million vertices hold too little: a block has rows of its own, whole, and sweeps over all columns.
    ///
    /// `vertices` is what there is.
    #[must_use]
    pub fn wide(sms: u32, vertices: u32) -> Self {
        // Sums of so many rows and x of so many vertices fill the shared memory.
        let (rows, x) = (29_600, 24_000);
        let vertices = vertices.min(sms * rows);
        Self { vertices, columns: 1, sweeps: vertices.div_ceil(x).max(1), cold_warps: 8, lane_entries: 64 }
    }
}

/// The layout.
pub(super) struct Core {
    choice: CoreChoice,
    groups: u32,
    part: u32,
    core: u32,
    positions: u32,
    x_room: u32,
    sum_room: u32,
    dealt: usize,
    tile_entries: usize,
    tiles: Buffer<Tile>,
    data: Buffer<u32>,
    folds: Buffer<[u32; 2]>,
    cold: RowBins,
    inverse_at: Buffer<f32>,
    vertex: Buffer<u32>,
    order: Order,
    /// What runs write: shares, partial sums, sums of the core's cold arcs, pieces of rows.
    workspace: Mutex<Workspace>,
}

struct Workspace {
    shares: [Buffer<f32>; 2],
    partials: Buffer<f32>,
    cold_sums: Buffer<f32>,
    pieces: Buffer<f32>,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.explain())
    }
}

impl Core {
    /// The layout, if the graph and the device have workspace for it. O(nnz) on the device.
    pub(super) fn build(source: &Source<'_>, choice: CoreChoice, order: Order) -> Result<Option<Self>> {
        let device = source.device;
        let groups = device.properties().sms / choice.columns.max(1);
        let (n, dealt) = (source.rows(), source.rows() - source.isolated as usize);
        let group_tiles = choice.columns * choice.sweeps;
        if groups == 0 || dealt == 0 || group_tiles == 0 || group_tiles > MOST_TILES || choice.columns > 8 {
            return Ok(None);
        }
        let owners = (groups * choice.columns) as usize;
        let core_dealt = dealt.min(choice.vertices as usize);
        let part = round_up(core_dealt.div_ceil(owners), 4).max(4);
        let core = part * owners;
        // All, if so few are left that the last owners have workspace for them.
        let core_dealt = dealt.min(core);
        let positions = core + round_up(dealt - core_dealt, 4);
        let local_rows = choice.columns as usize * part;
        let span = groups as usize * part;
        let x_span = round_up(span.div_ceil(choice.sweeps as usize), 4);
        let count = owners * choice.sweeps as usize;
        if x_span > 65_000 || local_rows > 60_000 {
            return Ok(None);
        }
        let inverse_at = device.alloc::<f32>(positions)?;
        let vertex = device.alloc::<u32>(positions)?;
        let position = device.alloc::<u32>(n)?;
        let counts = device.zeroed::<u32>(count * local_rows)?;
        let place = device.alloc::<u32>(count * local_rows)?;
        let (slice_room, id_room) = (local_rows + 2048, local_rows + 2304);
        let slices = device.alloc::<[u32; 2]>(count * slice_room)?;
        let ids = device.alloc::<u16>(count * id_room)?;
        let sizes = device.alloc::<Sizes>(count)?;
        let folds = device.alloc::<[u32; 2]>(count * FOLDS)?;
        let cold_counts = device.zeroed::<u32>(positions)?;
        let mut build = BuildParams {
            order: order.0.ptr(),
            position: position.ptr(),
            vertex: vertex.ptr(),
            inverse_at: inverse_at.ptr(),
            counts: counts.ptr(),
            place: place.ptr(),
            slices: slices.ptr(),
            ids: ids.ptr(),
            sizes: sizes.ptr(),
            folds: folds.ptr(),
            cold_counts: cold_counts.ptr(),
            dealt: dealt as u32,
            positions: positions as u32,
            part: part as u32,
            groups,
            columns: choice.columns,
            local_rows: local_rows as u32,
            halo: NO_VERTEX,
            lane_entries: choice.lane_entries,
            sorted: 3,
            slice_room: slice_room as u32,
            id_room: id_room as u32,
            core: core as u32,
            core_dealt: core_dealt as u32,
            sweeps: choice.sweeps,
            x_span: x_span as u32,
            split: SPLIT,
            fold_room: FOLDS as u32,
            ..source.parameters()
        };
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { source.launch("tiles_deal", source.wide(), 256, 0, &build) }?;
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { source.launch("tiles_count", source.wide(), 256, 32 * group_tiles, &build) }?;
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { source.launch("tiles_plan", count as u32, 512, 4 * PLAN_WORDS, &build) }?;
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { source.launch("tiles_cold_count", source.wide(), 256, 0, &build) }?;
        let (cold_offsets, cold_arcs) = exclusive_scan_total(device, &cold_counts)?;
        let found = sizes.to_vec()?;
        let most_sums = found.iter().map(|s| s.pieces).max().unwrap_or(0) as usize;
        if found.iter().any(|s| !s.fit() || s.folds as usize > FOLDS || s.slices as usize > slice_room || s.ids as usize > id_room) {
            return Ok(None);
        }
        let (mut tiles, mut at, mut x_room) = (Vec::with_capacity(count), 0, 4);
        for (index, s) in found.iter().enumerate() {
            let (block, sweep) = (index / choice.sweeps as usize, index % choice.sweeps as usize);
            let column = block % choice.columns as usize;
            let (from, to) = ((sweep * x_span).min(span), ((sweep + 1) * x_span).min(span));
            let mut tile = Tile { x_from: (column * span + from) as u32, x_count: (to - from) as u32, ..Tile::default() };
            tile.folds_at = (index * FOLDS) as u32;
            tile.folds = s.folds;
            at = tile.place(s, at);
            x_room = x_room.max(tile.x_count);
            tiles.push(tile);
        }
        let sum_room = round_up(local_rows + 1 + most_sums, 4) as u32;
        let shared = HEADER + 4 * (x_room as usize + 32 + sum_room as usize);
        if shared > device.properties().shared_per_block as usize {
            return Ok(None);
        }
        let tiles = device.upload(&tiles)?;
        let data = device.alloc_for::<u32>(at.max(4), "the core of PageRank")?;
        data.fill_bytes(0xff)?;
        let cold_indices = device.alloc_for::<u32>(cold_arcs as usize, "the arcs outside the core of PageRank")?;
        build.tiles = tiles.ptr();
        build.data = data.ptr();
        build.x_room = x_room;
        build.cold_counts = DevicePtr::NULL;
        build.cold_offsets = cold_offsets.ptr();
        build.cold_indices = cold_indices.ptr();
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { source.launch("tiles_fill", source.wide(), 256, 32 * group_tiles, &build) }?;
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { source.launch("tiles_order", count as u32, 256, ORDER_BYTES, &build) }?;
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { source.launch("tiles_cold_fill", source.wide(), 256, 0, &build) }?;
        let cold = RowBins::build(device, &Pattern { offsets: cold_offsets, indices: cold_indices }, None, true)?;
        let workspace = Workspace {
            shares: [device.alloc(positions)?, device.alloc(positions)?],
            partials: device.alloc(core * choice.columns as usize)?,
            cold_sums: device.zeroed(core)?,
            pieces: device.alloc(cold.pieces)?,
        };
        Ok(Some(Self {
            choice,
            groups,
            part: part as u32,
            core: core as u32,
            positions: positions as u32,
            x_room,
            sum_room,
            dealt,
            tile_entries: source.incoming.entries() - cold_arcs as usize,
            tiles,
            data,
            folds,
            cold,
            inverse_at,
            vertex,
            order,
            workspace: Mutex::new(workspace),
        }))
    }
    pub(super) fn run<T: Score>(&self, device: &Device, config: &PageRankConfig, n: usize, isolated: u32) -> Result<PageRank<T>> {
        let scores = device.alloc::<T>(n)?;
        let result = device.alloc::<RankResult>(1)?;
        let kernel = device.kernel("graph/pagerank_core", "pagerank_core")?;
        let block = THREADS.min(device.properties().max_threads_per_block);
        let shape = Shape {
            grid: self.groups * self.choice.columns,
            block,
            shared: (HEADER + 4 * (self.x_room as usize + 32 + self.sum_room as usize)) as u32,
            mode: Mode::Cooperative,
        };
        let workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the arrays were made for this graph when it was laid out; the launch is cooperative, or one cluster.
        unsafe {
            device.persistent(&kernel, shape, &config.control, |state, link| CoreRankParams {
                state,
                link,
                result: result.ptr(),
                tiles: self.tiles.ptr(),
                data: self.data.ptr(),
                folds: self.folds.ptr(),
                cold: self.cold.parameters,
                pieces: workspace.pieces.ptr(),
                inverse: self.inverse_at.ptr(),
                vertex: self.vertex.ptr(),
                isolated: self.order.0.ptr().offset(self.dealt),
                shares: [workspace.shares[0].ptr(), workspace.shares[1].ptr()],
                partials: workspace.partials.ptr(),
                cold_sums: workspace.cold_sums.ptr(),
                scores: scores.ptr().cast(),
                damping: config.damping,
                tolerance: config.tolerance,
                max_iterations: config.max_iterations,
                vertices: n as u32,
                lost: if config.dangling == Dangling::Spread { isolated } else { 0 },
                isolated_count: isolated,
                columns: self.choice.columns,
                groups: self.groups,
                sweeps: self.choice.sweeps,
                part: self.part,
                core: self.core,
                positions: self.positions,
                x_room: self.x_room,
                sum_room: self.sum_room,
                cold_warps: (self.choice.cold_warps * block / THREADS).max(1).min(block / 32 - 1),
                reserved: 0,
            })
        }?;
        drop(workspace);
        finished(&scores, &result.get(0)?, config)
    }
    pub(super) fn explain(&self) -> String {
        let c = &self.choice;
        format!(
            "a core of {} positions, {} x {} blocks of {} sweeps, {} arcs in tiles; the rest {}",
            self.core,
            self.groups,
            c.columns,
            c.sweeps,
            self.tile_entries,
            self.cold.explain()
        )
    }
    pub(super) fn bytes(&self) -> u64 {
        let workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        let run =
            workspace.shares.iter().chain([&workspace.partials, &workspace.cold_sums, &workspace.pieces]).map(Buffer::bytes).sum::<u64>();
        let fixed = self.tiles.bytes() + self.data.bytes() + self.folds.bytes() + self.inverse_at.bytes() + self.vertex.bytes();
        run + fixed + self.order.0.bytes() + self.cold.bytes() + self.cold.pattern_bytes()
    }
}
