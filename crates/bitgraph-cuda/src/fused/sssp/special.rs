//! The special forms of a search, one behind each variant but the general one.
//!
//! Invariant: a special form finds the same distances as the general one, or none at all.

use super::sweep::{SweepOptions, Sweeps};
use super::tile::{TileOptions, Tiles};
use super::{Arcs, SsspLayout, Variant};
use crate::device::{Buffer, Device};
use crate::fused::bfs::{self, BfsLayout, BfsOptions};
use crate::{DeviceCsr, Error, Result};
use bitgraph_algorithms::{BfsConfig, SsspConfig};
use std::sync::atomic::Ordering;

/// Sweeps after which a run leaves the graph to the general form.
const RUN_SWEEPS: u32 = 4096;

/// A form for graphs and weights of a kind.
#[derive(Debug, Default)]
pub(super) enum Special {
    #[default]
    None,
    Steps(Box<Steps>),
    Sweeps(Box<Sweeps>, Variant),
    Tiles(Box<Tiles>),
}

impl Special {
    /// Builds what a variant asks for; none where the graph does not suit it, or the device has no room for it.
    pub fn build(device: &Device, layout: &SsspLayout, variant: Variant) -> Result<Self> {
        let built = match variant {
            Variant::General => return Ok(Self::None),
            Variant::OneTile | Variant::Tiles => tiles(device, layout, variant == Variant::OneTile),
            Variant::Sweeps | Variant::SweepsSlow => sweeps(device, layout, variant),
            Variant::StepsGeneral | Variant::StepsFirst | Variant::StepsSlices | Variant::StepsBlock | Variant::StepsQueue => {
                steps(device, layout, variant)
            }
        };
        match built {
            // The general form may still fit.
            Err(Error::OutOfMemory { .. }) => Ok(Self::None),
            other => other,
        }
    }
    pub fn variant(&self) -> Variant {
        match self {
            Self::None => Variant::General,
            Self::Steps(s) => Variant::of_steps(s.search.variant()),
            Self::Sweeps(_, variant) => *variant,
            Self::Tiles(t) if t.options.parts == 1 => Variant::OneTile,
            Self::Tiles(_) => Variant::Tiles,
        }
    }
    pub fn bytes(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Steps(s) => s.search.bytes(),
            Self::Sweeps(s, _) => s.bytes(),
            Self::Tiles(t) => t.bytes(),
        }
    }
    /// Sweeps or hops of the last run.
    pub fn steps(&self) -> u32 {
        match self {
            Self::None | Self::Steps(_) => 0,
            Self::Sweeps(s, _) => s.steps.load(Ordering::Relaxed),
            Self::Tiles(t) => t.steps.load(Ordering::Relaxed),
        }
    }
    /// The largest distance that it can sum up.
    pub fn limit(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Steps(_) => u64::MAX,
            Self::Sweeps(..) => Sweeps::LIMIT,
            Self::Tiles(_) => Tiles::LIMIT,
        }
    }
    /// Distances from the source; none if it gave up.
    pub fn search(&self, device: &Device, config: &SsspConfig) -> Result<Option<Buffer<u32>>> {
        match self {
            Self::None => Ok(None),
            Self::Steps(s) => s.levels(device, config).map(Some),
            Self::Sweeps(s, _) => Ok(s.search(device, config, RUN_SWEEPS)?.cloned()),
            Self::Tiles(t) => Ok(Some(t.search(device, config)?.clone())),
        }
    }
}

/// Patterns for a breadth-first search; their memory is the layout's.
#[derive(Debug)]
pub(super) struct Steps {
    out: DeviceCsr,
    incoming: Option<DeviceCsr>,
    search: BfsLayout,
}

impl Steps {
    /// The level of each vertex is its distance; -1 for unreached ones has all bits set.
    fn levels(&self, device: &Device, config: &SsspConfig) -> Result<Buffer<u32>> {
        let search = BfsConfig { source: config.source, control: config.control.clone(), ..BfsConfig::default() };
        Ok(self.search.levels(device, &self.out, self.incoming.as_ref(), &search)?.cast())
    }
}

fn steps(device: &Device, layout: &SsspLayout, variant: Variant) -> Result<Special> {
    if layout.out.values.is_some() {
        return Ok(Special::None);
    }
    let (out, incoming) = (layout.out.pattern(), layout.incoming.as_ref().map(Arcs::pattern));
    let search =
        BfsLayout::build(device, &out, incoming.as_ref(), variant.steps().unwrap_or(bfs::Variant::General), BfsOptions::default())?;
    Ok(search.map_or(Special::None, |search| Special::Steps(Box::new(Steps { out, incoming, search }))))
}

fn tiles(device: &Device, layout: &SsspLayout, alone: bool) -> Result<Special> {
    let (arcs, summary, longest) = (&layout.out, &layout.summary, layout.longest);
    let options = layout.options.tile.unwrap_or_else(|| TileOptions::suited(device, arcs, longest, alone));
    let suits = |largest| Tiles::suits(device, arcs.nodes(), arcs.nnz(), largest, longest, options.parts);
    if !summary.whole.is_some_and(suits) {
        return Ok(Special::None);
    }
    let weights = layout.whole.weights(device, arcs)?;
    let tiles = Tiles::build(device, arcs, weights, summary, longest, options)?;
    Ok(tiles.map_or(Special::None, |t| Special::Tiles(Box::new(t))))
}

fn sweeps(device: &Device, layout: &SsspLayout, variant: Variant) -> Result<Special> {
    let (arcs, summary, symmetric) = (&layout.out, &layout.summary, layout.incoming.is_none());
    if !summary.whole.is_some_and(|largest| Sweeps::suits(device, arcs.nodes(), arcs.nnz(), largest)) {
        return Ok(Special::None);
    }
    let Some(options): Option<SweepOptions> = layout.options.sweep.or_else(|| variant.sweep()) else { return Ok(Special::None) };
    let weights = layout.whole.weights(device, arcs)?;
    let sweeps = Sweeps::build(device, arcs, weights, symmetric, summary, options)?;
    Ok(sweeps.map_or(Special::None, |s| Special::Sweeps(Box::new(s), variant)))
}
