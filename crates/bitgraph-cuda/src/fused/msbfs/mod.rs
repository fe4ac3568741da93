//! Fused search from many sources at once: one bit for each source, up to 512 to a launch.
//!
//! # Invariants
//! Results are those of the definition, for any square pattern with offsets of 32 bits. More sources than a launch takes are
//! searched in batches.

mod select;
#[cfg(test)]
mod tests;

pub use select::{VARIANTS, Variant};

use super::bfs::{Rows, count32, looping};
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, parameters};
use crate::primitives::{compact, exclusive_scan_total};
use crate::{DeviceCsr, Result};
use bitgraph_algorithms::{MsBfs, MsBfsConfig};
use bitgraph_backend::Error as Base;

const MODULE: &str = "graph/msbfs";
/// Sources of a launch, and those up to which the narrow kernel is enough.
const LANES: usize = 512;
const NARROW: usize = 128;
/// In-degree above which a row is split, and arcs of a piece of it.
const HUB_DEGREE: u32 = 512;
const PIECE: u32 = 256;
const HEAD_BYTES: u32 = 64;

parameters! {
    struct PiecesParams = "graph/msbfs.cu" "bg::MsBfsPiecesParams" {
        offsets: DevicePtr<u32>,
        hubs: DevicePtr<u32>,
        flags: DevicePtr<u32>,
        counts: DevicePtr<u32>,
        starts: DevicePtr<u32>,
        pieces: DevicePtr<[u32; 4]>,
        nodes: u32,
        hub_count: u32,
        hub_degree: u32,
        piece: u32,
    }

    struct SearchParams = "graph/msbfs.cu" "bg::MsBfsParams" {
        in_offsets: DevicePtr<u32>,
        in_indices: DevicePtr<u32>,
        sources: DevicePtr<u32>,
        pieces: DevicePtr<[u32; 4]>,
        hubs: DevicePtr<u32>,
        pending: DevicePtr<u32>,
        visited: DevicePtr<u32>,
        rows_a: DevicePtr<u32>,
        rows_b: DevicePtr<u32>,
        active: DevicePtr<u32>,
        levels: DevicePtr<i32>,
        reached: DevicePtr<u64>,
        sums: DevicePtr<u64>,
        depths: DevicePtr<u32>,
        state: DevicePtr<GridState>,
        link: HostLink,
        nodes: u32,
        words: u32,
        count: u32,
        piece_count: u32,
        hub_count: u32,
        hub_degree: u32,
    }
}

/// What is known about a graph before any search: the rows of its hubs in pieces.
#[derive(Debug)]
pub struct MsBfsLayout {
    nodes: usize,
    arcs: usize,
    hub_degree: u32,
    hubs: Buffer<u32>,
    pieces: Buffer<[u32; 4]>,
}

impl MsBfsLayout {
    /// Prepares for searches of the graph with the arcs `out`; `incoming` is its transpose, or nothing if it is symmetric.
    /// Nothing for patterns that are not square or have offsets of 64 bits. O(n) work on the device.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub fn build(device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>) -> Result<Option<Self>> {
        Self::new(device, out, incoming, HUB_DEGREE)
    }
    fn new(device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>, hub_degree: u32) -> Result<Option<Self>> {
        let Some(entering) = Rows::of(incoming.unwrap_or(out)) else { return Ok(None) };
        let nodes = out.rows;
        if out.columns != nodes || nodes >= u32::MAX as usize / 4 {
            return Ok(None);
        }
        let mut layout = Self { nodes, arcs: out.nnz, hub_degree, hubs: Buffer::default(), pieces: Buffer::default() };
        if nodes == 0 {
            return Ok(Some(layout));
        }
        let flags = device.alloc(nodes)?;
        let mut parameters = PiecesParams {
            offsets: entering.offsets.ptr(),
            hubs: DevicePtr::NULL,
            flags: flags.ptr(),
            counts: DevicePtr::NULL,
            starts: DevicePtr::NULL,
            pieces: DevicePtr::NULL,
            nodes: count32(nodes)?,
            hub_count: 0,
            hub_degree,
            piece: PIECE.min(hub_degree),
        };
        // SAFETY: the arrays were made above for the graph's vertices and hubs.
        unsafe { device.launch(&device.kernel(MODULE, "msbfs_hubs")?, looping(device, nodes), &parameters) }?;
        let hubs = compact(device, &flags)?;
        if !hubs.is_empty() {
            let counts = device.alloc(hubs.len())?;
            parameters.hubs = hubs.ptr();
            parameters.counts = counts.ptr();
            parameters.hub_count = count32(hubs.len())?;
            // SAFETY: the arrays were made above for the graph's vertices and hubs.
            unsafe { device.launch(&device.kernel(MODULE, "msbfs_count_pieces")?, looping(device, hubs.len()), &parameters) }?;
            let (starts, total) = exclusive_scan_total(device, &counts)?;
            layout.pieces = device.alloc(total as usize)?;
            parameters.starts = starts.ptr();
            parameters.pieces = layout.pieces.ptr();
            // SAFETY: the arrays were made above for the graph's vertices and hubs.
            unsafe { device.launch(&device.kernel(MODULE, "msbfs_fill_pieces")?, looping(device, hubs.len() * 32), &parameters) }?;
        }
        layout.hubs = hubs;
        Ok(Some(layout))
    }
    /// The variant that searches.
    #[must_use]
    pub fn variant(&self) -> Variant {
        Variant::General
    }
    /// Bytes of the layout on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.hubs.bytes() + self.pieces.bytes()
    }
    /// Searches from all sources. `out` and `incoming` are those that the layout was built from. 48 or 192 bytes of device
    /// memory for a vertex, and 4 for each vertex and source of a launch where levels are wanted.
    ///
    /// # Errors
    /// [`Base::Shape`] if the layout is of another graph, [`Base::VertexOutOfRange`], cancellation, out of memory, or the driver's.
    pub fn run(&self, device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>, config: &MsBfsConfig) -> Result<MsBfs> {
        for (operand, expected, found) in [("the layout", self.nodes, out.rows), ("the layout", self.arcs, out.nnz)] {
            if expected != found {
                let (expected, found) = (expected as u64, found as u64);
                return Err(Base::Shape { operation: "ms_bfs", operand, expected, found }.into());
            }
        }
        if let Some(&vertex) = config.sources.iter().find(|&&s| s as usize >= self.nodes) {
            return Err(Base::VertexOutOfRange { vertex: vertex.into(), nodes: self.nodes as u64 }.into());
        }
        let Some(entering) = Rows::of(incoming.unwrap_or(out)) else {
            let what = "offsets of 64 bits".into();
            return Err(Base::Unsupported { operation: "fused search from many sources", what, available: "offsets of 32 bits" }.into());
        };
        let mut result = MsBfs {
            reached: Vec::with_capacity(config.sources.len()),
            depth: Vec::new(),
            sum_levels: Vec::new(),
            levels: config.levels.then(Vec::new),
        };
        if config.sources.is_empty() {
            return Ok(result);
        }
        let lanes = if config.sources.len() <= NARROW { NARROW } else { LANES };
        let memory = Memory::new(device, self.nodes, lanes.min(config.sources.len()), lanes / 32, self.hubs.len(), config.levels)?;
        // One timed run, whatever the number of batches; results are read between them.
        let mut batches = || -> Result<()> {
            for sources in config.sources.chunks(lanes) {
                self.batch(device, &entering, &memory, sources, lanes, config)?;
                result.reached.extend(memory.reached.range_to_vec(0..sources.len())?);
                result.sum_levels.extend(memory.sums.range_to_vec(0..sources.len())?);
                result.depth.extend(memory.depths.range_to_vec(0..sources.len())?);
                if let Some(levels) = &mut result.levels {
                    levels.extend(memory.levels.range_to_vec(0..sources.len() * self.nodes)?);
                }
            }
            Ok(())
        };
        if config.sources.len() > lanes {
            device.span(batches)?
        } else {
            batches()?
        };
        Ok(result)
    }
    fn batch(&self, device: &Device, entering: &Rows, memory: &Memory, sources: &[u32], lanes: usize, config: &MsBfsConfig) -> Result<()> {
        memory.sources.copy_from_slice(0, sources)?;
        memory.reached.fill_bytes(0)?;
        memory.sums.fill_bytes(0)?;
        memory.depths.fill_bytes(0)?;
        memory.pending.fill_bytes(0)?;
        memory.levels.fill_bytes(0xff)?;
        let kernel = device.kernel(MODULE, if lanes == NARROW { "msbfs_128" } else { "msbfs_512" })?;
        let shared = HEAD_BYTES + lanes as u32 * 20;
        let shape = device.persistent_shape(&kernel, 512, shared, u32::MAX)?;
        let (nodes, words) = (count32(self.nodes)?, count32(self.nodes.div_ceil(32))?);
        let (count, piece_count, hub_count) = (count32(sources.len())?, count32(self.pieces.len())?, count32(self.hubs.len())?);
        // SAFETY: a batch's arrays were made for this graph's vertices; the launch is cooperative.
        unsafe {
            device.persistent(&kernel, shape, &config.control, |state, link| SearchParams {
                in_offsets: entering.offsets.ptr(),
                in_indices: entering.indices.ptr(),
                sources: memory.sources.ptr(),
                pieces: self.pieces.ptr(),
                hubs: self.hubs.ptr(),
                pending: memory.pending.ptr(),
                visited: memory.visited.ptr(),
                rows_a: memory.rows[0].ptr(),
                rows_b: memory.rows[1].ptr(),
                active: memory.active.ptr(),
                levels: memory.levels.ptr(),
                reached: memory.reached.ptr(),
                sums: memory.sums.ptr(),
                depths: memory.depths.ptr(),
                state,
                link,
                nodes,
                words,
                count,
                piece_count,
                hub_count,
                hub_degree: if hub_count == 0 { u32::MAX } else { self.hub_degree },
            })
        }?;
        Ok(())
    }
}

/// Device memory of a launch.
struct Memory {
    sources: Buffer<u32>,
    pending: Buffer<u32>,
    visited: Buffer<u32>,
    rows: [Buffer<u32>; 2],
    active: Buffer<u32>,
    levels: Buffer<i32>,
    reached: Buffer<u64>,
    sums: Buffer<u64>,
    depths: Buffer<u32>,
}

impl Memory {
    fn new(device: &Device, nodes: usize, sources: usize, words: usize, hubs: usize, levels: bool) -> Result<Self> {
        let rows = || device.alloc_for::<u32>(nodes * words, "the rows of a search from many sources");
        Ok(Self {
            sources: device.alloc(sources)?,
            pending: device.alloc(hubs * words)?,
            visited: rows()?,
            rows: [rows()?, rows()?],
            active: device.alloc(3 * nodes.div_ceil(32))?,
            levels: if levels { device.alloc_for(sources * nodes, "the levels of a search from many sources")? } else { Buffer::default() },
            reached: device.alloc(sources)?,
            sums: device.alloc(sources)?,
            depths: device.alloc(sources)?,
        })
    }
}
