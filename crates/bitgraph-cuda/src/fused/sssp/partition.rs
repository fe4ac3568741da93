//! Parts of a graph that meet in few arcs, found and packed on the device.
//!
//! Cells grow around seeds drawn by a hash, all at once, so the numbering does not matter; the graph of cells is small, and the host
//! divides it (see [`bisect`]). From the part of each vertex the device makes the packed parts.

use super::Arcs;
use super::bisect::{Links, bisect};
use super::tile::Head;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, parameters};
use crate::primitives::{elementwise, exclusive_scan, exclusive_scan_total, id_bits, iota, sort_pairs};
use bitgraph_backend::Control;
use bitgraph_kernels::constant;

const MODULE: &str = "graph/sssp_partition";
/// Cells per part: so many that parts come out even, so few that the host is done in milliseconds.
const CELLS_PER_PART: usize = 32;
/// `bg::CELL_LINKS`.
const CELL_LINKS: usize = constant("tuning/sssp.cuh", "CELL_LINKS") as usize;
/// Links per cell on average from which on a graph is not local: hardly a cell has room for more of them.
const NOT_LOCAL: usize = 31;
/// Rounds of growth: enough for all but long thin graphs, whose rest is cut by the numbering.
const MOST_ROUNDS: u32 = 1024;

parameters! {
    struct SeedsParams = "graph/sssp_partition.cu" "bg::CellSeedsParams" {
        seeds: DevicePtr<u32>,
        nodes: u32,
        stride: u32,
    }
    struct CellsParams = "graph/sssp_partition.cu" "bg::CellsParams" {
        state: DevicePtr<GridState>,
        link: HostLink,
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        seeds: DevicePtr<u32>,
        numbers: DevicePtr<u32>,
        words: DevicePtr<u64>,
        cells: DevicePtr<u32>,
        nodes: u32,
        cell_count: u32,
        most_rounds: u32,
        pad: u32,
    }
    struct LinksParams = "graph/sssp_partition.cu" "bg::CellLinksParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        cells: DevicePtr<u32>,
        links: DevicePtr<u32>,
        weights: DevicePtr<u32>,
        nodes: u32,
        is_short: u32,
    }
    struct CountParams = "graph/sssp_partition.cu" "bg::TileCountParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        cells: DevicePtr<u32>,
        parts: DevicePtr<u32>,
        part: DevicePtr<u32>,
        entered: DevicePtr<u32>,
        quads: DevicePtr<u32>,
        sends: DevicePtr<u32>,
        nodes: u32,
        is_short: u32,
    }
    struct KeysParams = "graph/sssp_partition.cu" "bg::TileKeysParams" {
        part: DevicePtr<u32>,
        entered: DevicePtr<u32>,
        keys: DevicePtr<u32>,
        nodes: u32,
        pad: u32,
    }
    struct PlacesParams = "graph/sssp_partition.cu" "bg::TilePlacesParams" {
        order: DevicePtr<u32>,
        quads: DevicePtr<u32>,
        sends: DevicePtr<u32>,
        places: DevicePtr<u32>,
        quads_at: DevicePtr<u32>,
        sends_at: DevicePtr<u32>,
        nodes: u32,
        pad: u32,
    }
    struct MarksParams = "graph/sssp_partition.cu" "bg::TileMarksParams" {
        keys: DevicePtr<u32>,
        quads_before: DevicePtr<u32>,
        sends_before: DevicePtr<u32>,
        marks: DevicePtr<[u32; 3]>,
        nodes: u32,
        key_count: u32,
    }
    struct FillParams = "graph/sssp_partition.cu" "bg::TileFillParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        weights: DevicePtr<u32>,
        part: DevicePtr<u32>,
        order: DevicePtr<u32>,
        places: DevicePtr<u32>,
        quads_before: DevicePtr<u32>,
        sends_before: DevicePtr<u32>,
        heads: DevicePtr<Head>,
        blobs: DevicePtr<u8>,
        nodes: u32,
        is_short: u32,
    }
}

/// Which vertex lies where.
#[derive(Debug)]
pub(super) struct Partition {
    /// Where each part's data lie.
    pub heads: Vec<Head>,
    /// The vertex at each place; parts one after the other, in each the vertices that other parts' arcs enter first.
    pub order: Buffer<u32>,
    /// The place of each vertex.
    pub places: Buffer<u32>,
    /// Arcs that leave a part, at most.
    pub most_sends: u32,
    part: Buffer<u32>,
    quads_before: Buffer<u32>,
    sends_before: Buffer<u32>,
}

impl Partition {
    pub fn bytes(&self) -> u64 {
        self.order.bytes() + self.places.bytes() + self.part.bytes() + self.quads_before.bytes() + self.sends_before.bytes()
    }
}

/// Connected pieces of the parts.
struct Cells {
    /// The cell of each vertex.
    cells: Buffer<u32>,
    /// The part of each cell.
    parts: Buffer<u32>,
}

/// Grows cells and divides them into parts; none if the graph is not local.
fn cells(device: &Device, arcs: &Arcs, parts: u32, is_short: u32) -> Result<Option<Cells>> {
    let n = arcs.nodes();
    let (nodes, offsets, indices) = (n as u32, arcs.offsets.ptr(), arcs.indices.ptr());
    let seeds = device.alloc::<u32>(n)?;
    let stride = (n / (CELLS_PER_PART * parts as usize)).max(1) as u32;
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { elementwise(device, MODULE, "sssp_cell_seeds", n as u64, &SeedsParams { seeds: seeds.ptr(), nodes, stride }) }?;
    let (numbers, cell_count) = exclusive_scan_total(device, &seeds)?;
    let (words, cells) = (device.alloc::<u64>(n)?, device.alloc::<u32>(n)?);
    let kernel = device.kernel(MODULE, "sssp_cells")?;
    let shape = device.persistent_shape(&kernel, 256, 16, nodes.div_ceil(256))?;
    let parameters = |state, link| CellsParams {
        state,
        link,
        offsets,
        indices,
        seeds: seeds.ptr(),
        numbers: numbers.ptr(),
        words: words.ptr(),
        cells: cells.ptr(),
        nodes,
        cell_count,
        most_rounds: MOST_ROUNDS,
        pad: 0,
    };
    // SAFETY: the arrays were made for this graph when it was laid out; the launch is cooperative.
    unsafe { device.persistent(&kernel, shape, &Control::default(), parameters) }?;
    let links = device.alloc::<u32>(cell_count as usize * CELL_LINKS)?;
    links.fill_bytes(0xff)?;
    let weights = device.zeroed::<u32>(cell_count as usize)?;
    let p = LinksParams { offsets, indices, cells: cells.ptr(), links: links.ptr(), weights: weights.ptr(), nodes, is_short };
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { elementwise(device, MODULE, "sssp_cell_links", n as u64, &p) }?;
    let (links, weights) = (links.to_vec()?, weights.to_vec()?);
    let linked = links.iter().filter(|&&l| l != super::bisect::NONE).count();
    // Fewer cells than a full set of links say nothing.
    if cell_count as usize > 8 * CELL_LINKS && linked > NOT_LOCAL * weights.len() {
        return Ok(None);
    }
    let found = bisect(&Links { links: &links, width: CELL_LINKS, weights: &weights }, parts);
    Ok(Some(Cells { cells, parts: device.upload(&found)? }))
}

/// Divides a graph into parts of about equal size in memory; none if it is not local.
pub(super) fn partition(device: &Device, arcs: &Arcs, parts: u32, is_short: bool) -> Result<Option<Partition>> {
    let n = arcs.nodes();
    let (nodes, offsets, indices, short) = (n as u32, arcs.offsets.ptr(), arcs.indices.ptr(), u32::from(is_short));
    let divided = match parts {
        1 => None,
        _ => match cells(device, arcs, parts, short)? {
            Some(found) => Some(found),
            None => return Ok(None),
        },
    };
    let (cells, part_of_cell) = divided.as_ref().map_or((DevicePtr::NULL, DevicePtr::NULL), |c| (c.cells.ptr(), c.parts.ptr()));
    let (part, quads, sends) = (device.alloc::<u32>(n)?, device.alloc::<u32>(n)?, device.alloc::<u32>(n)?);
    let entered = device.zeroed::<u32>(n)?;
    let p = CountParams {
        offsets,
        indices,
        cells,
        parts: part_of_cell,
        part: part.ptr(),
        entered: entered.ptr(),
        quads: quads.ptr(),
        sends: sends.ptr(),
        nodes,
        is_short: short,
    };
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { elementwise(device, MODULE, "sssp_tile_count", n as u64, &p) }?;
    let keys = device.alloc::<u32>(n)?;
    let p = KeysParams { part: part.ptr(), entered: entered.ptr(), keys: keys.ptr(), nodes, pad: 0 };
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { elementwise(device, MODULE, "sssp_tile_keys", n as u64, &p) }?;
    let (keys, order) = sort_pairs(device, &keys, &iota(device, n, 0)?, 0..id_bits(2 * parts as usize))?;
    let places = device.alloc::<u32>(n)?;
    let (quads_at, sends_at) = (device.alloc::<u32>(n)?, device.alloc::<u32>(n)?);
    let p = PlacesParams {
        order: order.ptr(),
        quads: quads.ptr(),
        sends: sends.ptr(),
        places: places.ptr(),
        quads_at: quads_at.ptr(),
        sends_at: sends_at.ptr(),
        nodes,
        pad: 0,
    };
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { elementwise(device, MODULE, "sssp_tile_places", n as u64, &p) }?;
    let (quads_before, sends_before) = (exclusive_scan(device, &quads_at)?, exclusive_scan(device, &sends_at)?);
    // Where each part starts, and where its entrances end.
    let key_count = 2 * parts;
    let marks = device.alloc::<[u32; 3]>(key_count as usize + 1)?;
    let p = MarksParams {
        keys: keys.ptr(),
        quads_before: quads_before.ptr(),
        sends_before: sends_before.ptr(),
        marks: marks.ptr(),
        nodes,
        key_count,
    };
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { elementwise(device, MODULE, "sssp_tile_marks", u64::from(key_count) + 1, &p) }?;
    let marks = marks.to_vec()?;

    let (mut heads, mut most_sends) = (Vec::with_capacity(parts as usize), 0);
    let (mut blob, mut inbox) = (0u64, 0u32);
    for b in 0..parts as usize {
        let ([first, quads_first, sends_first], [inner, ..], [end, quads_end, sends_end]) =
            (marks[2 * b], marks[2 * b + 1], marks[2 * b + 2]);
        let (count, sends) = (end - first, sends_end - sends_first);
        let rows = if is_short { 0 } else { (4 * count).next_multiple_of(16) };
        let send_starts = rows + 16 * (quads_end - quads_first);
        let sends_from = send_starts + (2 * (count + 1)).next_multiple_of(16);
        let bytes = sends_from + (8 * sends).next_multiple_of(16);
        heads.push(Head {
            blob,
            bytes,
            first,
            count,
            entrances: inner - first,
            inbox,
            edges: rows,
            send_starts,
            sends: sends_from,
            pad: [0; 2],
        });
        blob += u64::from(bytes);
        inbox += (inner - first).next_multiple_of(32);
        most_sends = most_sends.max(sends);
    }
    Ok(Some(Partition { heads, order, places, most_sends, part, quads_before, sends_before }))
}

/// Packs the parts.
pub(super) fn fill(
    device: &Device,
    arcs: &Arcs,
    weights: Option<&Buffer<u32>>,
    partition: &Partition,
    heads: &Buffer<Head>,
    blobs: &Buffer<u8>,
    is_short: bool,
) -> Result<()> {
    let p = FillParams {
        offsets: arcs.offsets.ptr(),
        indices: arcs.indices.ptr(),
        weights: weights.map_or(DevicePtr::NULL, Buffer::ptr),
        part: partition.part.ptr(),
        order: partition.order.ptr(),
        places: partition.places.ptr(),
        quads_before: partition.quads_before.ptr(),
        sends_before: partition.sends_before.ptr(),
        heads: heads.ptr(),
        blobs: blobs.ptr(),
        nodes: arcs.nodes() as u32,
        is_short: u32::from(is_short),
    };
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { elementwise(device, MODULE, "sssp_tile_fill", arcs.nodes() as u64, &p) }
}
