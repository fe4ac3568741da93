//! Sweeps over rows sorted by weight: for graphs of small diameter with small whole weights.
//!
//! Needs: a weight and an id pack into 32 bits, distances stay below 2^31, a state per vertex fits the shared memory of the device.
//!
//! # Memory
//! 4 bytes per arc, each row padded to 16 bytes, and 9 per vertex. Built by one sort of all arcs.

use super::Arcs;
use super::weights::Summary;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, Mode, Shape, parameters};
use crate::primitives::{Order, degree_order, degrees, elementwise, exclusive_scan, exclusive_scan_total, gather, id_bits, sort_pairs};
use bitgraph_algorithms::SsspConfig;
use std::sync::atomic::{AtomicU32, Ordering};

const MODULE: &str = "graph/sssp_sweep";
const BUILD: &str = "graph/sssp_rows";
/// Bytes of shared memory before the states.
const FIXED: u32 = 64;
const BLOCK: u32 = 1024;
/// A state holds weights below 2^20.
const MIN_SHIFT: u32 = 12;
/// In the sweeps that a kernel reports: it gave up.
const GAVE_UP: u32 = 1 << 31;
/// No distance above this may occur.
const LIMIT: u64 = 1 << 31;

parameters! {
    #[derive(Debug, PartialEq, Eq)]
    struct RowShape = "graph/sssp_rows.cu" "bg::RowShape" {
        limit: u32,
        piece_quads: u32,
    }
}
const ROW_SHAPE: RowShape = RowShape { limit: 128, piece_quads: 256 };

parameters! {
    struct SizesParams = "graph/sssp_rows.cu" "bg::RowSizesParams" {
        offsets: DevicePtr<u32>,
        quads: DevicePtr<u32>,
        pieces: DevicePtr<u32>,
        lengths: DevicePtr<u8>,
        nodes: u32,
        shape: RowShape,
        pad: u32,
    }
    struct KeysParams = "graph/sssp_rows.cu" "bg::RowKeysParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        weights: DevicePtr<u32>,
        places: DevicePtr<u32>,
        keys: DevicePtr<u32>,
        heads: DevicePtr<u32>,
        nodes: u32,
        weight_bits: u32,
    }
    struct PlacesParams = "graph/sssp_rows.cu" "bg::RowPlacesParams" {
        offsets: DevicePtr<u32>,
        starts: DevicePtr<u32>,
        piece_starts: DevicePtr<u32>,
        first: DevicePtr<u32>,
        pieces: DevicePtr<[u32; 4]>,
        nodes: u32,
        shape: RowShape,
        pad: u32,
    }
    struct ArcsParams = "graph/sssp_rows.cu" "bg::RowArcsParams" {
        offsets: DevicePtr<u32>,
        starts: DevicePtr<u32>,
        keys: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        arcs: DevicePtr<u32>,
        arc_count: u32,
        weight_bits: u32,
        shift: u32,
        shape: RowShape,
        pad: u32,
    }
    struct Params = "graph/sssp_sweep.cu" "bg::SweepParams" {
        state: DevicePtr<GridState>,
        link: HostLink,
        first: DevicePtr<u32>,
        lengths: DevicePtr<u8>,
        quads: DevicePtr<[u32; 4]>,
        pieces: DevicePtr<[u32; 4]>,
        distances: DevicePtr<u32>,
        order: DevicePtr<u32>,
        places: DevicePtr<u32>,
        result: DevicePtr<u32>,
        nodes: u32,
        source: u32,
        piece_count: u32,
        slots: u32,
        warp_pieces: u32,
        shift: u32,
        long_step: u32,
        short_step: u32,
        few: u32,
        rest: u32,
        most_sweeps: u32,
        pad: u32,
    }
}

/// How fast the threshold rises and when the rest pulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepOptions {
    /// What the threshold grows by while few vertices move, in parts of the mean weight, 256 to the whole.
    pub long_step: u32,
    /// And while many do.
    pub short_step: u32,
    /// The rest pulls once it holds at most the arcs over two to this.
    pub rest: u32,
    /// Rows by descending degree, so that a warp's rows are alike and hubs lie together.
    pub by_degree: bool,
}

/// The rows, and the distances of a run.
#[derive(Debug)]
pub(super) struct Sweeps {
    first: Buffer<u32>,
    lengths: Buffer<u8>,
    quads: Buffer<[u32; 4]>,
    pieces: Buffer<[u32; 4]>,
    distances: Buffer<u32>,
    /// Rows by descending degree, and distances by the vertices.
    order: Option<(Order, Buffer<u32>)>,
    piece_count: u32,
    shape: Shape,
    slots: u32,
    warp_pieces: u32,
    shift: u32,
    mean: f64,
    symmetric: bool,
    /// Sweeps of the last run.
    pub steps: AtomicU32,
    options: SweepOptions,
}

impl Sweeps {
    /// The largest distance that the form can sum up.
    pub const LIMIT: u64 = LIMIT - 1;

    /// Whether the rows can be packed at all, of a graph whose largest weight is this and whole.
    pub fn suits(device: &Device, nodes: usize, arcs: usize, largest: u64) -> bool {
        let shift = id_bits(nodes).max(MIN_SHIFT);
        let room = u64::from(device.properties().sms) * u64::from(device.properties().shared_per_block - FIXED);
        shift < 31 && largest < u64::from(u32::MAX >> shift) && 8 * nodes as u64 + (1 << 16) < room && arcs > 0
    }
    /// Packs and sorts the rows; none if the states do not fit.
    pub fn build(
        device: &Device,
        arcs: &Arcs,
        weights: Option<&Buffer<u32>>,
        symmetric: bool,
        summary: &Summary,
        options: SweepOptions,
    ) -> Result<Option<Self>> {
        let (n, m) = (arcs.nodes(), arcs.nnz());
        let shift = id_bits(n).max(MIN_SHIFT);
        let largest = summary.whole.unwrap_or(0);
        let weight_bits = u64::BITS - largest.leading_zeros();
        let (nodes, row_shape) = (n as u32, ROW_SHAPE);
        let order = if options.by_degree { Some(degree_order(device, &arcs.pattern())?) } else { None };
        let sorted_offsets = match &order {
            Some(order) => exclusive_scan(device, &gather(device, &degrees(device, &arcs.pattern())?, &order.old_of_new)?)?,
            None => arcs.offsets.clone(),
        };
        let offsets = sorted_offsets.ptr();
        let (quads, pieces, lengths) = (device.alloc::<u32>(n)?, device.alloc::<u32>(n)?, device.alloc::<u8>(n)?);
        let p = SizesParams { offsets, quads: quads.ptr(), pieces: pieces.ptr(), lengths: lengths.ptr(), nodes, shape: row_shape, pad: 0 };
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { elementwise(device, BUILD, "sssp_row_sizes", n as u64, &p) }?;
        let (starts, quad_count) = exclusive_scan_total(device, &quads)?;
        let (piece_starts, piece_count) = exclusive_scan_total(device, &pieces)?;
        let block = BLOCK.min(device.properties().max_threads_per_block);
        let grid = device.properties().sms;
        let slots = nodes.div_ceil(grid * block);
        let kernel = device.kernel::<Params>(MODULE, kernel_name(slots))?;
        let warp_pieces = piece_count.div_ceil(grid * block / 32);
        let shared = u64::from(FIXED) + 8 * u64::from(slots * block + warp_pieces * (block / 32));
        if shared > u64::from(device.properties().shared_per_block) || device.resident(&kernel, block, shared as u32)? == 0 {
            return Ok(None);
        }

        let weights = weights.map_or(DevicePtr::NULL, Buffer::ptr);
        let (keys, heads) = (device.alloc_for::<u32>(m, "the keys of a sort")?, device.alloc_for::<u32>(m, "the keys of a sort")?);
        let p = KeysParams {
            offsets: arcs.offsets.ptr(),
            indices: arcs.indices.ptr(),
            weights,
            places: order.as_ref().map_or(DevicePtr::NULL, |o| o.new_of_old.ptr()),
            keys: keys.ptr(),
            heads: heads.ptr(),
            nodes,
            weight_bits,
        };
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { elementwise(device, BUILD, "sssp_row_keys", 32 * n as u64, &p) }?;
        let (keys, indices) = sort_pairs(device, &keys, &heads, 0..weight_bits + id_bits(n))?;
        let quads = device.alloc_for::<[u32; 4]>(quad_count as usize + 1, "rows sorted by weight")?;
        quads.fill_bytes(0xff)?;
        let p = ArcsParams {
            offsets,
            starts: starts.ptr(),
            keys: keys.ptr(),
            indices: indices.ptr(),
            arcs: quads.ptr().cast(),
            arc_count: m as u32,
            weight_bits,
            shift,
            shape: row_shape,
            pad: 0,
        };
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { elementwise(device, BUILD, "sssp_row_arcs", m as u64, &p) }?;
        let (first, pieces) = (device.alloc::<u32>(n)?, device.alloc(piece_count as usize)?);
        let p = PlacesParams {
            offsets,
            starts: starts.ptr(),
            piece_starts: piece_starts.ptr(),
            first: first.ptr(),
            pieces: pieces.ptr(),
            nodes,
            shape: row_shape,
            pad: 0,
        };
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { elementwise(device, BUILD, "sssp_row_places", n as u64, &p) }?;
        let shape = Shape { grid, block, shared: shared as u32, mode: Mode::Cooperative };
        Ok(Some(Self {
            first,
            lengths,
            quads,
            pieces,
            distances: device.alloc(n)?,
            order: order.map(|o| Ok::<_, crate::Error>((o, device.alloc(n)?))).transpose()?,
            piece_count,
            shape,
            slots,
            warp_pieces,
            shift,
            mean: summary.mean,
            symmetric,
            steps: AtomicU32::new(0),
            options,
        }))
    }
    pub fn bytes(&self) -> u64 {
        let order = self.order.as_ref().map_or(0, |(o, d)| o.new_of_old.bytes() + o.old_of_new.bytes() + d.bytes());
        order + self.first.bytes() + self.lengths.bytes() + self.quads.bytes() + self.pieces.bytes() + self.distances.bytes()
    }
    /// Distances from the source; none after `most` sweeps, where a graph's diameter does not suit them.
    pub fn search(&self, device: &Device, config: &SsspConfig, most: u32) -> Result<Option<&Buffer<u32>>> {
        let options = self.options;
        let step = |parts: u32| ((f64::from(parts) / 256.0 * self.mean).round() as u32).clamp(1, 1 << 20);
        let nodes = self.first.len() as u32;
        let kernel = device.kernel(MODULE, kernel_name(self.slots))?;
        let parameters = |state, link| Params {
            state,
            link,
            first: self.first.ptr(),
            lengths: self.lengths.ptr(),
            quads: self.quads.ptr(),
            pieces: self.pieces.ptr(),
            distances: self.distances.ptr(),
            order: self.order.as_ref().map_or(DevicePtr::NULL, |o| o.0.old_of_new.ptr()),
            places: self.order.as_ref().map_or(DevicePtr::NULL, |o| o.0.new_of_old.ptr()),
            result: self.order.as_ref().map_or(DevicePtr::NULL, |o| o.1.ptr()),
            nodes,
            source: config.source,
            piece_count: self.piece_count,
            slots: self.slots,
            warp_pieces: self.warp_pieces,
            shift: self.shift,
            long_step: step(options.long_step),
            short_step: step(options.short_step),
            few: nodes >> 7,
            // Pulling reads rows as arcs into their vertex.
            rest: if self.symmetric { (self.quads.len() as u64 >> options.rest) as u32 } else { 0 },
            most_sweeps: most,
            pad: 0,
        };
        // SAFETY: the arrays were made for this graph when it was laid out; the launch is cooperative.
        let steps = unsafe { device.persistent(&kernel, self.shape, &config.control, parameters) }?;
        self.steps.store(steps & !GAVE_UP, Ordering::Relaxed);
        let result = self.order.as_ref().map_or(&self.distances, |o| &o.1);
        Ok((steps & GAVE_UP == 0).then_some(result))
    }
}

/// The kernel for threads that own so many vertices.
fn kernel_name(slots: u32) -> &'static str {
    if slots == 1 { "sssp_sweep_single" } else { "sssp_sweep" }
}
