//! The general form: rows by class, one barrier an iteration.
//!
//! Invariant: the arrays of a run are allocated before it is timed; everything else is done by its launch.

use super::{Inverse, RankResult, Score, finished};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, parameters};
use crate::spmv::{Pattern, RowBins, RowBinsParams};
use bitgraph_algorithms::{Dangling, PageRank, PageRankConfig};

parameters! {
    /// `bg::RankParams<T>`.
    struct RankParams = "graph/pagerank.cu" "bg::RankParams" {
        state: DevicePtr<GridState>,
        link: HostLink,
        result: DevicePtr<RankResult>,
        bins: RowBinsParams,
        inverse: DevicePtr<u8>,
        teleport: DevicePtr<u8>,
        shares: [DevicePtr<u8>; 2],
        scores: DevicePtr<u8>,
        pieces: DevicePtr<u8>,
        damping: f64,
        tolerance: f64,
        max_iterations: u32,
        dangling: u32,
        sources_end: u32,
        spread: u32,
    }
}

/// The layout of the general form.
pub(super) struct General {
    pub(super) bins: RowBins,
    pub(super) inverse: Inverse,
}

impl std::fmt::Debug for General {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("General").field("bins", &self.bins.parameters).finish_non_exhaustive()
    }
}

impl General {
    pub(super) fn build(device: &Device, outgoing: &Pattern, incoming: &Pattern) -> Result<Self> {
        let inverse = Inverse::build(device, outgoing)?;
        let bins = RowBins::build(device, incoming, Some(&inverse.degrees), false)?;
        Ok(Self { bins, inverse })
    }
    pub(super) fn explain(&self) -> String {
        self.bins.explain()
    }
    pub(super) fn bytes(&self) -> u64 {
        let own = &self.inverse;
        self.bins.bytes() + own.degrees.bytes() + own.single.bytes() + own.double.bytes()
    }
    pub(super) fn nodes(&self) -> usize {
        self.inverse.degrees.len()
    }
    pub(super) fn run<T: Score>(&self, device: &Device, config: &PageRankConfig) -> Result<PageRank<T>> {
        let n = self.nodes();
        let inverse: DevicePtr<u8> = if size_of::<T>() == 4 { self.inverse.single.ptr().cast() } else { self.inverse.double.ptr().cast() };
        let shares: [Buffer<T>; 2] = [device.alloc(n)?, device.alloc(n)?];
        let (scores, pieces) = (device.alloc::<T>(n)?, device.alloc::<T>(self.bins.pieces)?);
        let teleport: Option<Buffer<T>> = match config.teleport(n) {
            Some(weights) => Some(device.upload(&weights.into_iter().map(T::from_f64).collect::<Vec<T>>())?),
            None => None,
        };
        let result = device.alloc::<RankResult>(1)?;
        let kernel = device.kernel("graph/pagerank", T::KERNEL)?;
        let block = T::THREADS.min(device.properties().max_threads_per_block);
        let most = self.bins.tasks().max(1).div_ceil(block / 32);
        let shape = device.persistent_shape(&kernel, block, 66 * 8, most)?;
        // SAFETY: the arrays were made for this graph when it was laid out; the launch is cooperative, or one cluster.
        unsafe {
            device.persistent(&kernel, shape, &config.control, |state, link| RankParams {
                state,
                link,
                result: result.ptr(),
                bins: self.bins.parameters,
                inverse,
                teleport: teleport.as_ref().map_or(DevicePtr::NULL, |t| t.ptr().cast()),
                shares: [shares[0].ptr().cast(), shares[1].ptr().cast()],
                scores: scores.ptr().cast(),
                pieces: pieces.ptr().cast(),
                damping: config.damping,
                tolerance: config.tolerance,
                max_iterations: config.max_iterations,
                dangling: self.bins.unnamed,
                sources_end: self.bins.sources_end,
                spread: u32::from(config.dangling == Dangling::Spread),
            })
        }?;
        finished(&scores, &result.get(0)?, config)
    }
}
