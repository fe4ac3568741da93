//! The layout with the operand in shared memory, built on the device: `kernels/graph/pagerank_tiles.cuh`.
//!
//! Invariant: every arc's place in its block's x is below `x_room`, which is below 2^16 - 32; every block's data and arrays fit in the
//! shared memory of a multiprocessor, the data perhaps not (then they are read through the second-level cache).

use super::Inverse;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, Mode, Parameters, Shape, parameters};
use crate::primitives::{LevelOrderConfig, level_order, sort_pairs};
use crate::spmv::Pattern;
use bitgraph_kernels::constant;
use bytemuck::Zeroable;

pub(super) const MODULE: &str = "graph/pagerank_build";
pub(super) const NO_VERTEX: u32 = u32::MAX;
/// Bytes of shared memory ahead of x; `RANK_HEADER` and `SMALL_HEADER` in the kernels.
pub(super) const HEADER: usize = constant("graph/pagerank_shared.cuh", "RANK_HEADER") as usize;
const SMALL_HEADER: usize = constant("graph/pagerank_shared.cuh", "SMALL_HEADER") as usize;
/// Places of x that 16 bits can name, the zeros behind x left out.
const MOST_X: usize = 65_000;
/// Words of the planning sort's shared memory.
pub(super) const PLAN_WORDS: u32 = constant("tuning/pagerank.cuh", "PLAN_KEYS") as u32 + 96;

/// Bytes of shared memory of `tiles_order`, for eight warps.
pub(super) const ORDER_BYTES: u32 = 8 * (2048 + 128);

/// How blocks share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TileForm {
    /// Natural order, windows of x.
    Window,
    /// Groups times columns.
    Grid,
    /// One column, all blocks one cluster.
    Cluster,
    /// One block.
    Block,
}

impl TileForm {
    /// The forms with a kernel of their own, for small graphs.
    pub(super) fn is_small(self) -> bool {
        matches!(self, Self::Cluster | Self::Block)
    }
}

parameters! {
    #[derive(Debug, Default)]
    pub(super) struct Tile = "graph/pagerank_tiles.cuh" "bg::RankTile" {
        pub x_from: u32,
        pub x_count: u32,
        pub own_from: u32,
        pub own_count: u32,
        pub slices: u32,
        pub entries_at: u32,
        pub ids_at: u32,
        pub words: u32,
        pub data_at: u32,
        pub folds_at: u32,
        pub folds: u32,
        pub inner_from: u32,
        pub inner: u32,
        pub reserved: u32,
    }

    #[derive(Debug, Default)]
    pub(super) struct Sizes = "graph/pagerank_build.cu" "bg::TileSizes" {
        pub slices: u32,
        pub entry_words: u32,
        pub ids: u32,
        pub longest: u32,
        pub folds: u32,
        pub pieces: u32,
    }

    pub(super) struct BuildParams = "graph/pagerank_build.cu" "bg::TileBuild" {
        pub offsets: DevicePtr<u32>,
        pub indices: DevicePtr<u32>,
        pub order: DevicePtr<u32>,
        pub position: DevicePtr<u32>,
        pub vertex: DevicePtr<u32>,
        pub inverse: DevicePtr<f32>,
        pub inverse_at: DevicePtr<f32>,
        pub counts: DevicePtr<u32>,
        pub place: DevicePtr<u32>,
        pub slices: DevicePtr<[u32; 2]>,
        pub ids: DevicePtr<u16>,
        pub sizes: DevicePtr<Sizes>,
        pub folds: DevicePtr<[u32; 2]>,
        pub cold_counts: DevicePtr<u32>,
        pub cold_offsets: DevicePtr<u32>,
        pub cold_indices: DevicePtr<u32>,
        pub tiles: DevicePtr<Tile>,
        pub data: DevicePtr<u32>,
        pub widest: DevicePtr<u32>,
        pub readers: DevicePtr<u32>,
        pub told: DevicePtr<u32>,
        pub rows: u32,
        pub dealt: u32,
        pub positions: u32,
        pub part: u32,
        pub groups: u32,
        pub columns: u32,
        pub local_rows: u32,
        pub halo: u32,
        pub lane_entries: u32,
        pub sorted: u32,
        pub slice_room: u32,
        pub id_room: u32,
        pub x_room: u32,
        pub core: u32,
        pub core_dealt: u32,
        pub sweeps: u32,
        pub x_span: u32,
        pub split: u32,
        pub fold_room: u32,
        pub stretches: u32,
    }

    struct KeyParams = "graph/pagerank_build.cu" "bg::TileKeys" {
        offsets: DevicePtr<u32>,
        degrees: DevicePtr<u32>,
        keys: DevicePtr<u32>,
        vertices: DevicePtr<u32>,
        order: DevicePtr<u32>,
        rows: u32,
        longest: u32,
    }
}

impl Tile {
    /// Puts the data of the sizes found at word `at`; returns where they end.
    pub(super) fn place(&mut self, sizes: &Sizes, at: usize) -> usize {
        self.slices = sizes.slices;
        self.entries_at = round_up(2 * sizes.slices as usize, 32) as u32;
        self.ids_at = self.entries_at + sizes.entry_words;
        self.words = self.ids_at + round_up((sizes.ids as usize).div_ceil(2), 4) as u32;
        self.data_at = (at / 4) as u32;
        at + round_up(self.words as usize, 32)
    }
}

impl Tile {
    /// Finds the slices of a window, in natural order, whose rows read own positions alone, if they are enough to be worth it.
    fn find_inner(&mut self, halo: u32, end: u32) {
        let low = if self.x_from < self.own_from { halo } else { 0 };
        let high = if self.own_from + self.own_count < end { halo } else { 0 };
        let from = low.div_ceil(32);
        let to = if high > 0 { self.own_count.saturating_sub(high) / 32 } else { self.slices };
        let inner = to.saturating_sub(from);
        if inner * 4 >= self.slices {
            (self.inner_from, self.inner) = (from, inner);
        }
    }
}

impl Sizes {
    /// Whether descriptors can hold them: 12 bits for four entries of a lane, 16 for the first row.
    pub(super) fn fit(&self) -> bool {
        self.longest < 4096 && self.ids <= 65_535
    }
}

/// A choice of form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileChoice {
    /// How blocks share the work.
    pub form: TileForm,
    /// Groups of blocks.
    pub groups: u32,
    /// Columns of blocks, at most 8.
    pub columns: u32,
    /// Entries of a lane before a row gets another lane.
    pub lane_entries: u32,
    /// Rows by length; a window keeps the natural order if not.
    pub sorted: bool,
    /// Threads of a block that wait for shares before the others do; 0: all.
    pub samples: u32,
    /// A cluster's blocks take stretches of a numbering by levels, so that few read what others make; else vertices are dealt to the
    /// blocks one by one, the largest degree first.
    pub stretches: bool,
}

/// What all layouts of a graph share.
pub(super) struct Source<'a> {
    pub device: &'a Device,
    pub incoming: &'a Pattern,
    pub inverse: &'a Inverse,
    /// The most incoming arcs of a vertex.
    pub longest: u32,
    /// Vertices without arcs.
    pub isolated: u32,
}

/// What a layout has to hold, and the capacity that there is: known before anything is built.
pub(super) struct Capacity {
    pub rows: usize,
    pub entries: usize,
    /// Vertices without arcs.
    pub isolated: usize,
    /// Bytes of shared memory of a block.
    pub shared: usize,
}

impl Capacity {
    /// Positions of an owner, entries of x at most, and bytes of shared memory without the data.
    fn of(&self, choice: &TileChoice, halo: u32) -> (usize, usize, usize) {
        let (groups, columns) = (choice.groups as usize, choice.columns as usize);
        let owners = groups * columns;
        let placed = if choice.form == TileForm::Window { self.rows } else { self.rows - self.isolated };
        let part = round_up(placed.div_ceil(owners), 4).max(4);
        let x = if choice.form == TileForm::Window { (part + 2 * halo as usize).min(round_up(self.rows, 4)) } else { groups * part };
        let bytes = if choice.form.is_small() {
            SMALL_HEADER + 4 * (2 * (x + 32) + part)
        } else {
            HEADER + 4 * (x + 32 + round_up(columns * part + 1, 4) + part)
        };
        (part, x, bytes)
    }
    /// Whether a choice may fit, its data resident (estimated) or not.
    pub(super) fn may_hold(&self, choice: &TileChoice, halo: u32, resident: bool) -> bool {
        let (part, x, bytes) = self.of(choice, halo);
        let blocks = (choice.groups * choice.columns) as usize;
        // The small forms keep an entry in 4 bytes, and always all of them.
        let small = choice.form.is_small();
        let data = if resident || small { self.entries * if small { 4 } else { 2 } / blocks * 21 / 20 } else { 0 };
        let data = data + if resident && !small { 2 * part * choice.columns as usize } else { 0 };
        x <= MOST_X && (choice.columns as usize * part) < 65_000 && bytes + data <= self.shared
    }
}

/// Vertices in the order of their places, isolated ones last: by falling number of incoming arcs, or by levels.
#[derive(Clone, Debug)]
pub(super) struct Order(pub Buffer<u32>);

/// A numbering in which neighbours are close, in place of the natural one.
pub(super) struct Local {
    pub position: Buffer<u32>,
    pub vertex: Buffer<u32>,
}

/// The layout.
pub(super) struct Tiles {
    pub choice: TileChoice,
    pub tiles: Buffer<Tile>,
    pub data: Buffer<u32>,
    pub inverse_at: Buffer<f32>,
    pub vertex: Buffer<u32>,
    order: Option<Order>,
    dealt: usize,
    pub blocks: u32,
    pub part: u32,
    pub halo: u32,
    pub positions: u32,
    pub x_room: u32,
    pub sum_room: u32,
    /// Windows that tell their borders while they sum: all of a block's rows are borders.
    pub early: bool,
    /// Which blocks of a cluster read a position.
    pub readers: Buffer<u32>,
    /// Slices of a block at most.
    pub most_slices: u32,
    /// Bytes of shared memory if the data are resident (of the small forms, the entries), and if they are not.
    pub shared: [usize; 2],
}

/// For every position a bit for each block of a cluster that reads it. Empty for other forms.
fn readers(source: &Source<'_>, form: TileForm, positions: usize, build: &mut BuildParams) -> Result<Buffer<u32>> {
    if form != TileForm::Cluster {
        return Ok(Buffer::default());
    }
    let (bits, told) = (source.device.zeroed::<u32>(positions)?, source.device.zeroed::<u32>(1)?);
    (build.readers, build.told) = (bits.ptr(), told.ptr());
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { source.launch("tiles_readers", source.wide(), 256, 0, build) }?;
    Ok(bits)
}

pub(super) fn round_up(value: usize, to: usize) -> usize {
    value.div_ceil(to) * to
}

impl Source<'_> {
    pub(super) fn rows(&self) -> usize {
        self.incoming.rows()
    }
    /// Launches a kernel of the module.
    ///
    /// # Safety
    /// As of [`Device::launch`].
    pub(super) unsafe fn launch<P: Parameters>(&self, kernel: &str, grid: u32, block: u32, shared: u32, parameters: &P) -> Result<()> {
        let block = block.min(self.device.properties().max_threads_per_block);
        // SAFETY: the caller's promises.
        unsafe { self.device.launch(&self.device.kernel(MODULE, kernel)?, Shape { grid, block, shared, mode: Mode::Plain }, parameters) }
    }
    /// Blocks of a kernel that loops over its items.
    pub(super) fn wide(&self) -> u32 {
        8 * self.device.properties().sms
    }
    pub(super) fn parameters(&self) -> BuildParams {
        BuildParams {
            offsets: self.incoming.offsets.ptr(),
            indices: self.incoming.indices.ptr(),
            inverse: self.inverse.single.ptr(),
            rows: self.rows() as u32,
            halo: NO_VERTEX,
            ..BuildParams::zeroed()
        }
    }
    /// The largest distance of an arc in the natural numbering or another.
    pub(super) fn widest(&self, local: Option<&Local>) -> Result<u32> {
        let widest = self.device.zeroed::<u32>(1)?;
        let position = local.map_or(DevicePtr::NULL, |l| l.position.ptr());
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { self.launch("tiles_widest", self.wide(), 256, 0, &BuildParams { widest: widest.ptr(), position, ..self.parameters() }) }?;
        widest.get(0)
    }
    /// The order by falling number of incoming arcs.
    pub(super) fn order(&self) -> Result<Order> {
        self.keyed(None)
    }
    /// The order by levels, for symmetric graphs without long rows.
    pub(super) fn level_order(&self) -> Result<Option<Order>> {
        let found = level_order(self.device, &self.incoming.as_csr(), &LevelOrderConfig::default())?;
        found.map(|found| self.keyed(Some(&found.order.old_of_new))).transpose()
    }
    fn keyed(&self, order: Option<&Buffer<u32>>) -> Result<Order> {
        let n = self.rows();
        let (keys, vertices) = (self.device.alloc::<u32>(n)?, self.device.alloc::<u32>(n)?);
        let parameters = KeyParams {
            offsets: self.incoming.offsets.ptr(),
            degrees: self.inverse.degrees.ptr(),
            keys: keys.ptr(),
            vertices: vertices.ptr(),
            order: order.map_or(DevicePtr::NULL, Buffer::ptr),
            rows: n as u32,
            longest: self.longest,
        };
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { self.launch("tiles_keys", self.wide(), 256, 0, &parameters) }?;
        let bits = if order.is_some() { 1 } else { 32 - (self.longest + 1).leading_zeros() };
        Ok(Order(sort_pairs(self.device, &keys, &vertices, 0..bits)?.1))
    }
    /// What layouts have to hold, and the capacity that there is.
    pub(super) fn capacity(&self) -> Capacity {
        let shared = self.device.properties().shared_per_block as usize;
        Capacity { rows: self.rows(), entries: self.incoming.entries(), isolated: self.isolated as usize, shared }
    }
    /// Builds a layout; none if it does not fit even with its data outside shared memory. O(nnz) on the device.
    pub(super) fn build(&self, choice: TileChoice, order: Option<&Order>, local: Option<&Local>, halo: u32) -> Result<Option<Tiles>> {
        let device = self.device;
        let (n, columns) = (self.rows(), choice.columns);
        let window = choice.form == TileForm::Window;
        let halo = if window { round_up(halo as usize, 4) as u32 } else { NO_VERTEX };
        if !self.capacity().may_hold(&choice, halo, false) || (order.is_none() && !window) || (order.is_some() && window) {
            return Ok(None);
        }
        let (part, _, bytes) = self.capacity().of(&choice, halo);
        let blocks = choice.groups * columns;
        let positions = part * blocks as usize;
        let local_rows = columns as usize * part;
        let dealt = if window { n } else { n - self.isolated as usize };
        let inverse_at = device.alloc::<f32>(positions)?;
        let natural = window && local.is_none();
        let vertex = device.alloc::<u32>(if natural { 0 } else { positions })?;
        let position = match local {
            Some(local) => local.position.clone(),
            None => device.alloc::<u32>(if window { 0 } else { n })?,
        };
        let counts = device.zeroed::<u32>(blocks as usize * local_rows)?;
        let place = device.alloc::<u32>(blocks as usize * local_rows)?;
        let (slice_room, id_room) = (local_rows + 8, local_rows + 256);
        let slices = device.alloc::<[u32; 2]>(blocks as usize * slice_room)?;
        let ids = device.alloc::<u16>(blocks as usize * id_room)?;
        let sizes = device.alloc::<Sizes>(blocks as usize)?;
        let mut build = BuildParams {
            order: order.map(|o| &o.0).or(local.map(|l| &l.vertex)).map_or(DevicePtr::NULL, Buffer::ptr),
            position: position.ptr(),
            vertex: vertex.ptr(),
            inverse_at: inverse_at.ptr(),
            counts: counts.ptr(),
            place: place.ptr(),
            slices: slices.ptr(),
            ids: ids.ptr(),
            sizes: sizes.ptr(),
            dealt: dealt as u32,
            positions: positions as u32,
            part: part as u32,
            groups: choice.groups,
            columns,
            local_rows: local_rows as u32,
            halo,
            lane_entries: choice.lane_entries,
            // Windows of the natural order read neighbouring banks as they are.
            sorted: if choice.form.is_small() {
                7
            } else if choice.sorted {
                3
            } else if natural {
                0
            } else {
                2
            },
            core: NO_VERTEX,
            core_dealt: dealt as u32,
            sweeps: 1,
            x_span: choice.groups * part as u32,
            slice_room: slice_room as u32,
            id_room: id_room as u32,
            stretches: choice.stretches.into(),
            ..self.parameters()
        };
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { self.launch("tiles_deal", self.wide(), 256, 0, &build) }?;
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { self.launch("tiles_count", self.wide(), 256, 32 * columns, &build) }?;
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { self.launch("tiles_plan", blocks, 512, 4 * PLAN_WORDS, &build) }?;
        let found = sizes.to_vec()?;
        if !found.iter().all(Sizes::fit) {
            return Ok(None);
        }
        let readers = readers(self, choice.form, positions, &mut build)?;
        let end = round_up(n, 4) as u32;
        let (mut tiles, mut at, mut most_words, mut x_room) = (Vec::with_capacity(blocks as usize), 0usize, 0usize, 4u32);
        for (block, s) in (0..blocks).zip(&found) {
            let (group, column) = (block / columns, block % columns);
            let own_from = (column * choice.groups + group) * part as u32;
            let mut tile = Tile { own_from, own_count: part as u32, ..Tile::default() };
            if window {
                tile.own_from = own_from.min(end);
                tile.own_count = (part as u32).min(end - tile.own_from);
                tile.x_from = if tile.own_count > 0 { tile.own_from.saturating_sub(halo) } else { tile.own_from };
                tile.x_count = if tile.own_count > 0 { end.min(tile.own_from + tile.own_count + halo) - tile.x_from } else { 0 };
            } else {
                tile.x_from = column * choice.groups * part as u32;
                tile.x_count = choice.groups * part as u32;
            }
            at = tile.place(s, at);
            if window && !choice.sorted {
                tile.find_inner(halo, end);
            }
            most_words = most_words.max(if choice.form.is_small() { 2 * s.entry_words } else { tile.words } as usize);
            x_room = x_room.max(tile.x_count);
            tiles.push(tile);
        }
        let early = window && !choice.sorted && tiles.iter().all(|t| t.inner == 0);
        let tiles = device.upload(&tiles)?;
        let data = device.alloc_for::<u32>(at.max(4), "the tiles of PageRank")?;
        data.fill_bytes(0xff)?;
        build.tiles = tiles.ptr();
        build.data = data.ptr();
        build.x_room = x_room;
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { self.launch("tiles_fill", self.wide(), 256, 32 * columns, &build) }?;
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { self.launch("tiles_order", blocks, 256, ORDER_BYTES, &build) }?;
        let sum_room = round_up(local_rows + 1, 4) as u32;
        Ok(Some(Tiles {
            choice,
            tiles,
            data,
            inverse_at,
            vertex,
            order: order.cloned(),
            dealt,
            blocks,
            part: part as u32,
            halo,
            positions: positions as u32,
            x_room,
            sum_room,
            early,
            readers,
            most_slices: found.iter().map(|s| s.slices).max().unwrap_or(0),
            shared: [bytes + 4 * most_words, bytes],
        }))
    }
}

impl Tiles {
    /// The vertices without a position.
    pub(super) fn isolated(&self) -> DevicePtr<u32> {
        self.order.as_ref().map_or(DevicePtr::NULL, |o| o.0.ptr().offset(self.dealt))
    }
    /// How many these are.
    pub(super) fn isolated_count(&self) -> u32 {
        self.order.as_ref().map_or(0, |o| (o.0.len() - self.dealt) as u32)
    }
    pub(super) fn bytes(&self) -> u64 {
        let order = self.order.as_ref().map_or(0, |o| o.0.bytes());
        order + self.tiles.bytes() + self.data.bytes() + self.inverse_at.bytes() + self.vertex.bytes() + self.readers.bytes()
    }
}
