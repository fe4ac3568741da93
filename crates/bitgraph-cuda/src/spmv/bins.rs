//! The rows of a matrix grouped by how many lanes sum them, built on the device: what `kernels/ops/row_bins.cuh` reads.
//!
//! Invariant: every row is listed once, class by class, each class ascending; or no row is, and all take the same lanes in their
//! natural order.

use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::{DeviceCsr, Offsets, Result};
use bitgraph_kernels::constant;

/// The pattern of a square or rectangular matrix on the device, rows ascending, fewer than 2^32 entries. Clones share the memory.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Where rows begin, and the end.
    pub offsets: Buffer<u32>,
    /// Columns, ascending in each row.
    pub indices: Buffer<u32>,
}

impl Pattern {
    /// That of a matrix; none if its offsets are 64 bits wide.
    #[must_use]
    pub fn of(csr: &DeviceCsr) -> Option<Self> {
        let offsets = csr.offsets.as_u32()?.clone();
        (csr.nnz < u32::MAX as usize - 4096).then(|| Self { offsets, indices: csr.indices.prefix(csr.nnz) })
    }
    /// Whether it is the same memory, as an undirected graph's two patterns are.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.offsets.ptr().address() == other.offsets.ptr().address() && self.indices.ptr().address() == other.indices.ptr().address()
    }
    /// As a square matrix.
    pub(crate) fn as_csr(&self) -> DeviceCsr {
        let (rows, nnz) = (self.rows(), self.entries());
        DeviceCsr { rows, columns: rows, nnz, offsets: Offsets::U32(self.offsets.clone()), indices: self.indices.clone() }
    }
    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }
    /// Entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.indices.len()
    }
}

parameters! {
    #[derive(Debug)]
    pub(crate) struct RowBinsParams = "ops/row_bins.cuh" "bg::RowBins" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        rows: DevicePtr<u32>,
        chunks: DevicePtr<[u32; 4]>,
        arrived: DevicePtr<u32>,
        chunk_count: u32,
        ends: [u32; 4],
        row_count: u32,
        lanes: u32,
        reserved: u32,
    }

    struct BuildParams = "ops/row_bins.cu" "bg::RowBinsBuild" {
        offsets: DevicePtr<u32>,
        named: DevicePtr<u32>,
        counts: DevicePtr<u32>,
        totals: DevicePtr<u32>,
        rows: DevicePtr<u32>,
        chunks: DevicePtr<[u32; 4]>,
        row_count: u32,
        blocks: u32,
    }
}

const MODULE: &str = "ops/row_bins";
/// Rows that a block of the build classes; `SPAN` in the kernel.
const SPAN: usize = constant("tuning/spmv.cuh", "SPAN") as usize;
const CLASSES: usize = constant("ops/row_bins.cuh", "ROW_CLASSES") as usize;
const CHUNK_ARCS: usize = constant("tuning/spmv.cuh", "CHUNK_ARCS") as usize;

/// Lanes that keep a device busy with gathers.
const LANES_ENOUGH: usize = 60_000;

/// Rows by class.
#[derive(Clone, Debug)]
pub(crate) struct RowBins {
    pub(crate) parameters: RowBinsParams,
    /// Without arcs of their own but named by others: where they end in the list; the rest are isolated.
    pub(crate) sources_end: u32,
    /// Empty columns.
    pub(crate) unnamed: u32,
    /// Those of them that have no arcs either.
    pub(crate) isolated: u32,
    /// Rows without arcs that others name.
    pub(crate) sources: u32,
    /// The most entries of a row.
    pub(crate) largest: u32,
    /// Sums of chunks that a run needs room for.
    pub(crate) pieces: usize,
    list: Buffer<u32>,
    chunks: Buffer<[u32; 4]>,
    arrived: Buffer<u32>,
    /// Keeps the arrays alive that the parameters point to.
    pattern: Pattern,
}

/// Lanes for every row in natural order, if rows are alike enough for that.
fn lanes_alike(rows: usize, entries: usize, largest: u32) -> Option<u32> {
    let mean = entries / rows.max(1);
    let mut lanes = match mean {
        0..=8 => 1,
        9..=48 => 4,
        49..=96 => 8,
        _ => 16,
    };
    // Small matrices leave lanes idle; more of them at a row shorten its wait.
    while rows * lanes < LANES_ENOUGH && lanes < 16 {
        lanes = if lanes == 1 { 4 } else { 2 * lanes };
    }
    let bound = (4 * mean + 16).max(16 * lanes).min(64 * lanes);
    (largest as usize <= bound).then_some(lanes as u32)
}

impl RowBins {
    /// Groups the rows. `named` holds for every row how often others name it, which tells isolated rows from sources; without it a row
    /// is isolated if it has no entries. `listed` lists the rows even where their natural order would do. O(rows) on the device.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub(crate) fn build(device: &Device, pattern: &Pattern, named: Option<&Buffer<u32>>, listed: bool) -> Result<Self> {
        let (rows, entries) = (pattern.rows(), pattern.entries());
        let blocks = rows.div_ceil(SPAN);
        let counts = device.alloc::<u32>(CLASSES * blocks)?;
        let totals = device.zeroed::<u32>(16)?;
        let mut build = BuildParams {
            offsets: pattern.offsets.ptr(),
            named: named.map_or(DevicePtr::NULL, Buffer::ptr),
            counts: counts.ptr(),
            totals: totals.ptr(),
            rows: DevicePtr::NULL,
            chunks: DevicePtr::NULL,
            row_count: rows as u32,
            blocks: blocks as u32,
        };
        let threads = |most: u32| most.min(device.properties().max_threads_per_block);
        let shape = |grid: usize, block: u32, shared: u32| Shape { grid: grid as u32, block: threads(block), shared, mode: Mode::Plain };
        // SAFETY: the arrays were made for this matrix, and the vectors are as long as its sides.
        unsafe { device.launch(&device.kernel(MODULE, "row_bins_count")?, shape(blocks, 256, 64), &build) }?;
        // SAFETY: the arrays were made for this matrix, and the vectors are as long as its sides.
        unsafe { device.launch(&device.kernel(MODULE, "row_bins_scan")?, shape(1, 1024, 256), &build) }?;
        let found = totals.to_vec()?;
        let (largest, unnamed) = (found[6], found[7]);
        let mut parameters = RowBinsParams {
            offsets: pattern.offsets.ptr(),
            indices: pattern.indices.ptr(),
            rows: DevicePtr::NULL,
            chunks: DevicePtr::NULL,
            arrived: DevicePtr::NULL,
            chunk_count: 0,
            ends: [0; 4],
            row_count: rows as u32,
            lanes: 0,
            reserved: 0,
        };
        if let (false, Some(lanes)) = (listed, lanes_alike(rows, entries, largest)) {
            parameters.lanes = lanes;
            let (list, chunks, arrived) = Default::default();
            let pattern = pattern.clone();
            return Ok(Self {
                parameters,
                sources_end: rows as u32,
                unnamed,
                isolated: rows as u32 - found[4],
                sources: found[4] - found[3],
                largest,
                pieces: 0,
                list,
                chunks,
                arrived,
                pattern,
            });
        }
        let list = device.alloc::<u32>(rows.max(1))?;
        build.rows = list.ptr();
        // SAFETY: the arrays were made for this matrix, and the vectors are as long as its sides.
        unsafe { device.launch(&device.kernel(MODULE, "row_bins_place")?, shape(blocks, 32, 0), &build) }?;
        let cut = found[0] as usize;
        let (mut chunks, mut arrived) = (Buffer::default(), Buffer::default());
        if cut > 0 {
            // A cut row has more than a chunk's arcs, so its chunks are fewer than twice its arcs by a chunk's.
            chunks = device.alloc(2 * entries / CHUNK_ARCS + 1)?;
            arrived = device.zeroed(cut)?;
            build.chunks = chunks.ptr();
            // SAFETY: the arrays were made for this matrix, and the vectors are as long as its sides.
            unsafe { device.launch(&device.kernel(MODULE, "row_bins_cut")?, shape(1, 1024, 256), &build) }?;
            parameters.chunk_count = totals.get(8)?;
        }
        parameters.rows = list.ptr();
        parameters.chunks = chunks.ptr();
        parameters.arrived = arrived.ptr();
        parameters.ends = [found[0], found[1], found[2], found[3]];
        Ok(Self {
            parameters,
            sources_end: found[4],
            unnamed,
            isolated: rows as u32 - found[4],
            sources: found[4] - found[3],
            largest,
            pieces: parameters.chunk_count as usize,
            list,
            chunks,
            arrived,
            pattern: pattern.clone(),
        })
    }
    /// How the rows are grouped.
    pub(crate) fn explain(&self) -> String {
        let p = &self.parameters;
        match p.lanes {
            0 => format!(
                "rows by length: {} cut, {} of a warp, {} of 8 lanes, {} of one",
                p.ends[0],
                p.ends[1] - p.ends[0],
                p.ends[2] - p.ends[1],
                p.ends[3] - p.ends[2]
            ),
            lanes => format!("rows in natural order, {lanes} lanes each"),
        }
    }
    /// Whether rows are listed by class.
    pub(crate) fn is_listed(&self) -> bool {
        self.parameters.lanes == 0
    }
    /// Bytes of the pattern that the parameters point to.
    pub(crate) fn pattern_bytes(&self) -> u64 {
        self.pattern.offsets.bytes() + self.pattern.indices.bytes()
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.list.bytes() + self.chunks.bytes() + self.arrived.bytes()
    }
    /// Warps' worth of tasks in a sweep.
    pub(crate) fn tasks(&self) -> u32 {
        let p = &self.parameters;
        if p.rows.address() == 0 {
            return p.row_count.div_ceil(32 / p.lanes.max(1));
        }
        p.chunk_count + (p.ends[1] - p.ends[0]) + (p.ends[2] - p.ends[1]).div_ceil(4) + (p.ends[3] - p.ends[2]).div_ceil(32)
    }
}
