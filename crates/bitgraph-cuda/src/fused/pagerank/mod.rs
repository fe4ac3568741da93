//! `PageRank` in one launch.
//!
//! The general form (any graph, any numbering, both precisions, all of the config) pulls over the incoming arcs with one barrier an
//! iteration. Special forms stand before it where `select.rs` chooses them.
//!
//! Invariant: Jacobi iteration from the teleport distribution; sums over the grid are kept as integers, so a layout gives the same
//! bits on every run.

mod core;
mod general;
mod select;
mod special;
#[cfg(test)]
mod tests;
mod tiles;

use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::spmv::Pattern;
use bitgraph_algorithms::{Dangling, PageRank, PageRankConfig};
use bitgraph_sparse::Stored;
use bytemuck::Pod;
pub use core::CoreChoice;
use general::General;
pub use select::{VARIANTS, Variant};
use special::Special;
pub use tiles::{TileChoice, TileForm};

/// The precisions of scores.
pub trait Score: Stored + Pod {
    /// The general form's kernel.
    const KERNEL: &'static str;
    /// Its threads a block.
    const THREADS: u32;
}
impl Score for f32 {
    const KERNEL: &'static str = "pagerank_f32";
    const THREADS: u32 = 768;
}
impl Score for f64 {
    const KERNEL: &'static str = "pagerank_f64";
    const THREADS: u32 = 512;
}

parameters! {
    #[derive(Debug)]
    struct RankResult = "graph/pagerank.cuh" "bg::RankResult" {
        residual: u64,
        iterations: u32,
        reserved: u32,
    }
}

impl RankResult {
    /// The residual, which the kernels keep in units of 2^-60.
    fn residual(&self) -> f64 {
        self.residual as f64 / (1u64 << 60) as f64
    }
}

/// Which form a layout is to take. The general form stands in for one that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// That of a variant, cut as suits the device.
    Variant(Variant),
    /// The operand in shared memory; the data too, if so asked and they fit.
    Shared(TileChoice, bool),
    /// A core in shared memory, the rest through the second-level cache.
    Core(CoreChoice),
}

/// A graph laid out for `PageRank`.
#[derive(Debug)]
pub struct RankLayout {
    general: General,
    special: Option<Special>,
}

impl RankLayout {
    /// Lays out a graph: row `v` of `incoming` lists the `u` with an arc `u -> v`; `outgoing` gives the out-degrees (the same for an
    /// undirected graph). The general form stands in for one that does not fit: [`RankLayout::variant`].
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub fn build(device: &Device, outgoing: &Pattern, incoming: &Pattern, form: Form) -> Result<Self> {
        let general = General::build(device, outgoing, incoming)?;
        let special = match form {
            Form::Variant(variant) => Special::build(device, incoming, &general, outgoing.is(incoming), variant)?,
            Form::Core(choice) => Special::build_core(device, incoming, &general, choice)?,
            Form::Shared(choice, resident) => Special::build_as(device, incoming, &general, choice, resident)?,
        };
        Ok(Self { general, special })
    }
    /// The variant that runs, where the settings allow it.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.special.as_ref().map_or(Variant::General, Special::variant)
    }
    /// The scores, by the layout's form.
    ///
    /// # Errors
    /// Those of [`PageRankConfig::validate`], cancellation, a wait past the bound, or the driver's.
    pub fn run<T: Score>(&self, device: &Device, config: &PageRankConfig) -> Result<PageRank<T>> {
        let n = self.general.nodes();
        config.validate(n)?;
        if n == 0 {
            return Ok(PageRank { scores: Vec::new(), iterations: 0, residual: 0.0, converged: true });
        }
        if config.max_iterations == 0 {
            let scores = config.teleport(n).unwrap_or_else(|| vec![1.0 / n as f64; n]).into_iter().map(T::from_f64).collect();
            return Ok(PageRank { scores, iterations: 0, residual: f64::INFINITY, converged: false });
        }
        // The special forms know the mass of every iteration beforehand.
        let plain = config.personalization.is_none()
            && (config.dangling == Dangling::Drop || self.general.bins.unnamed == self.general.bins.isolated);
        match &self.special {
            Some(special) if plain && size_of::<T>() == 4 => special.run(device, config, n, self.general.bins.isolated),
            _ => self.general.run(device, config),
        }
    }
    /// Which form it is, and how it is laid out.
    #[must_use]
    pub fn explain(&self) -> String {
        self.special.as_ref().map_or_else(|| self.general.explain(), Special::explain)
    }
    /// Bytes beyond the matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.general.bytes() + self.special.as_ref().map_or(0, Special::bytes)
    }
}

fn finished<T: Score>(scores: &Buffer<T>, result: &RankResult, config: &PageRankConfig) -> Result<PageRank<T>> {
    let residual = result.residual();
    Ok(PageRank { scores: scores.to_vec()?, iterations: result.iterations, residual, converged: residual < config.tolerance })
}

/// Per vertex 1 / outdegree, or 0 for a dangling one, and the out-degrees.
struct Inverse {
    degrees: Buffer<u32>,
    single: Buffer<f32>,
    double: Buffer<f64>,
}

parameters! {
    struct InverseParams = "graph/pagerank.cu" "bg::InverseParams" {
        offsets: DevicePtr<u32>,
        degrees: DevicePtr<u32>,
        inverse32: DevicePtr<f32>,
        inverse64: DevicePtr<f64>,
        count: u32,
        reserved: u32,
    }
}

impl Inverse {
    fn build(device: &Device, outgoing: &Pattern) -> Result<Self> {
        let n = outgoing.rows();
        let own = Self { degrees: device.alloc(n)?, single: device.alloc(n)?, double: device.alloc(n)? };
        let parameters = InverseParams {
            offsets: outgoing.offsets.ptr(),
            degrees: own.degrees.ptr(),
            inverse32: own.single.ptr(),
            inverse64: own.double.ptr(),
            count: n as u32,
            reserved: 0,
        };
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { device.launch(&device.kernel("graph/pagerank", "pagerank_inverse")?, device.cover(n, 256), &parameters) }?;
        Ok(own)
    }
}
