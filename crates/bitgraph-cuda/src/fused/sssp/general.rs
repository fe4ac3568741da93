//! Near-far stepping on any graph with any weights: the form behind every other.
//!
//! # Memory
//! 16 bytes per vertex and 32 per queue entry (one per vertex and one per piece of a row), kept for the next run.

use super::Arcs;
use super::distance::Native;
use super::select;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, parameters};
use bitgraph_algorithms::SsspConfig;

const MODULE: &str = "graph/sssp_general";
/// Vertices that a block collects, near and far each.
const STAGE: u32 = 2048;
/// Bytes of shared memory before the stages.
const FIXED: u32 = 256;
const BLOCK: u32 = 1024;
/// Arcs that keep a block busy; small graphs take fewer blocks, which meet sooner.
const ARCS_PER_BLOCK: usize = 256;

parameters! {
    struct Params = "graph/sssp_general.cu" "bg::NearFarParams" {
        state: DevicePtr<GridState>,
        link: HostLink,
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        weights: DevicePtr<u8>,
        words: DevicePtr<u64>,
        tags: DevicePtr<u32>,
        distances: DevicePtr<u8>,
        near0: DevicePtr<[u32; 4]>,
        near1: DevicePtr<[u32; 4]>,
        far0: DevicePtr<u32>,
        far1: DevicePtr<u32>,
        smallest: DevicePtr<u64>,
        delta: u64,
        nodes: u32,
        source: u32,
        target: u32,
        piece: u32,
        lanes: u32,
        stage: u32,
    }
}

/// How rows are shared and how far a step goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneralOptions {
    /// Lanes that share a piece of a row; a power of two up to 32.
    pub lanes: u32,
    /// Entries of a piece.
    pub piece: u32,
    /// The width of a step.
    pub delta: f64,
}

impl GeneralOptions {
    /// For a graph with rows of at most `longest` entries, of this mean weight. Wider steps repeat work, narrower ones take more rounds;
    /// where rows are short or reach far, rounds are what costs.
    pub(super) fn suited(nodes: usize, arcs: usize, longest: u32, mean: f64) -> Self {
        let degree = arcs as f64 / nodes.max(1) as f64;
        let (lanes, breadth) = select::general(degree, crate::skew::ratio(longest, nodes, arcs));
        let delta = breadth * mean / degree.max(1.0);
        Self { lanes, piece: 8 * lanes, delta: if delta.is_finite() && delta > 0.0 { delta } else { 1.0 } }
    }
}

/// The queues and distances of a search that sums in `D`.
#[derive(Debug)]
pub(super) struct General<D> {
    pub options: GeneralOptions,
    words: Buffer<u64>,
    tags: Buffer<u32>,
    distances: Buffer<D>,
    near: [Buffer<[u32; 4]>; 2],
    far: [Buffer<u32>; 2],
    smallest: Buffer<u64>,
}

impl<D: Native> General<D> {
    /// Only allocates.
    pub fn build(device: &Device, arcs: &Arcs, options: GeneralOptions) -> Result<Self> {
        let (n, m) = (arcs.nodes(), arcs.nnz());
        let entries = n + m / options.piece as usize + 1;
        let queue = || device.alloc_for(entries, "a queue of shortest paths");
        let list = || device.alloc_for(n, "a list of shortest paths");
        Ok(Self {
            options,
            words: device.alloc_for(n, "distances")?,
            tags: device.alloc_for(if size_of::<D>() == 8 { n } else { 0 }, "distances")?,
            distances: device.alloc_for(n, "distances")?,
            near: [queue()?, queue()?],
            far: [list()?, list()?],
            smallest: device.alloc(4)?,
        })
    }
    pub fn bytes(&self) -> u64 {
        let queues = self.near.iter().map(Buffer::bytes).sum::<u64>() + self.far.iter().map(Buffer::bytes).sum::<u64>();
        self.words.bytes() + self.tags.bytes() + self.distances.bytes() + queues
    }
    /// Distances from the source; with a target, those above the target's are upper bounds.
    pub fn search(&self, device: &Device, arcs: &Arcs, weights: Option<&Buffer<D>>, config: &SsspConfig) -> Result<&Buffer<D>> {
        let kernel = device.kernel(MODULE, &format!("sssp_general_{}", D::SUFFIX))?;
        let blocks = arcs.nnz().div_ceil(ARCS_PER_BLOCK).clamp(1, 1 << 16) as u32;
        let shape = device.persistent_shape(&kernel, BLOCK, FIXED + 20 * STAGE, blocks)?;
        let weights = weights.map_or(DevicePtr::NULL, |w| w.ptr().cast());
        let parameters = |state, link| Params {
            state,
            link,
            offsets: arcs.offsets.ptr(),
            indices: arcs.indices.ptr(),
            weights,
            words: self.words.ptr(),
            tags: self.tags.ptr(),
            distances: self.distances.ptr().cast(),
            near0: self.near[0].ptr(),
            near1: self.near[1].ptr(),
            far0: self.far[0].ptr(),
            far1: self.far[1].ptr(),
            smallest: self.smallest.ptr(),
            delta: D::delta_bits(config.delta.unwrap_or(self.options.delta)),
            nodes: arcs.nodes() as u32,
            source: config.source,
            target: config.target.unwrap_or(u32::MAX),
            piece: self.options.piece,
            lanes: self.options.lanes,
            stage: STAGE,
        };
        // SAFETY: the arrays were made for this graph when it was laid out; the launch is cooperative.
        unsafe { device.persistent(&kernel, shape, &config.control, parameters) }?;
        Ok(&self.distances)
    }
}
