//! The choice of a form: steps without weights, tiles where searches are long; else those that a graph suits run once from its heaviest
//! vertex, and the fastest is kept.
//!
//! Invariant: a special form finds the same distances as the general one, or none at all.

use super::sweep::{SweepOptions, Sweeps};
use super::tile::{TileOptions, Tiles};
use super::{Arcs, SsspLayout};
use crate::device::{Buffer, Device};
use crate::fused::bfs::{BfsLayout, BfsOptions};
use crate::{DeviceCsr, Error, Result};
use bitgraph_backend::{BfsConfig, SsspConfig};
use std::sync::atomic::Ordering;

/// Sweeps after which a run leaves the graph to the general form.
const RUN_SWEEPS: u32 = 4096;
/// Sweeps in a trial: a graph that needs more has too great a diameter.
const TRIAL_SWEEPS: u32 = 256;
/// Widths of a step of the general form that are tried against each other; the last one suits graphs that tiles suit.
const BREADTHS: [f64; 2] = [32.0, 128.0];
/// What a trial may take, given the best time so far: cold caches slow a first run by some microseconds.
fn patience(seconds: f64) -> f64 {
    1.05 * seconds + 3e-5
}

/// The forms of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A breadth-first search: arcs without weights.
    Steps,
    /// Near-far stepping: any graph, any weights.
    General,
    /// Sweeps over rows sorted by weight.
    Sweeps,
    /// A part in the shared memory of each block.
    Tiles,
    /// All in the shared memory of one block.
    OneTile,
}

/// A form for graphs and weights of a kind.
#[derive(Debug, Default)]
pub(super) enum Special {
    #[default]
    None,
    Steps(Box<Steps>),
    Sweeps(Box<Sweeps>),
    Tiles(Box<Tiles>),
}

impl Special {
    pub fn form(&self) -> Form {
        match self {
            Self::None => Form::General,
            Self::Steps(_) => Form::Steps,
            Self::Sweeps(_) => Form::Sweeps,
            Self::Tiles(t) if t.options.parts == 1 => Form::OneTile,
            Self::Tiles(_) => Form::Tiles,
        }
    }
    pub fn bytes(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Steps(s) => s.search.bytes(),
            Self::Sweeps(s) => s.bytes(),
            Self::Tiles(t) => t.bytes(),
        }
    }
    /// Sweeps or hops of the last run.
    pub fn steps(&self) -> u32 {
        match self {
            Self::None | Self::Steps(_) => 0,
            Self::Sweeps(s) => s.steps.load(Ordering::Relaxed),
            Self::Tiles(t) => t.steps.load(Ordering::Relaxed),
        }
    }
    /// The greatest distance that it can sum up.
    pub fn limit(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Steps(_) => u64::MAX,
            Self::Sweeps(_) => Sweeps::LIMIT,
            Self::Tiles(_) => Tiles::LIMIT,
        }
    }
    /// Distances from the source; none if it gave up.
    pub fn search(&self, device: &Device, config: &SsspConfig) -> Result<Option<Buffer<u32>>> {
        match self {
            Self::None => Ok(None),
            Self::Steps(s) => s.levels(device, config).map(Some),
            Self::Sweeps(s) => Ok(s.search(device, config, RUN_SWEEPS, f64::INFINITY)?.cloned()),
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
    fn build(device: &Device, layout: &SsspLayout) -> Result<Option<Self>> {
        let (out, incoming) = (layout.out.pattern(), layout.incoming.as_ref().map(Arcs::pattern));
        let prepared = !layout.options.plain;
        let search = BfsLayout::with_options(device, &out, incoming.as_ref(), prepared, BfsOptions::default())?;
        Ok(search.map(|search| Self { out, incoming, search }))
    }
    /// The level of each vertex is its distance; -1 for unreached ones has all bits set.
    fn levels(&self, device: &Device, config: &SsspConfig) -> Result<Buffer<u32>> {
        let search = BfsConfig { source: config.source, control: config.control.clone(), ..BfsConfig::default() };
        Ok(self.search.levels(device, &self.out, self.incoming.as_ref(), &search)?.cast())
    }
}

/// A run that takes so many seconds is hardly slowed by cold caches.
const LONG_RUN: f64 = 5e-4;

/// The best form so far and its seconds.
struct Best {
    seconds: f64,
    special: Special,
    /// Nothing else needs a trial.
    settled: bool,
}

impl Best {
    /// Seconds of a run; infinite if it gave up. The first run is slowed by cold caches: what is short and comes near the best runs again.
    fn time(&self, device: &Device, mut run: impl FnMut() -> Result<bool>) -> Result<f64> {
        let mut seconds = f64::INFINITY;
        for _ in 0..2 {
            let start = device.stream().record()?;
            if !run()? {
                return Ok(f64::INFINITY);
            }
            seconds = device.stream().record()?.seconds_since(&start)?;
            if seconds > LONG_RUN || seconds > 1.5 * self.seconds {
                break;
            }
        }
        Ok(seconds)
    }
    fn offer(&mut self, seconds: f64, special: Special) {
        if seconds < self.seconds {
            *self = Self { seconds, special, settled: false };
        }
    }
}

/// Builds what the graph suits and keeps the fastest; in a hurry, only what costs nothing.
pub(super) fn choose(device: &Device, layout: &SsspLayout) -> Result<Special> {
    let (arcs, summary, options) = (&layout.out, &layout.summary, &layout.options);
    if arcs.values.is_none()
        && options.form.is_none_or(|f| f == Form::Steps)
        && let Some(steps) = Steps::build(device, layout)?
    {
        return Ok(Special::Steps(Box::new(steps)));
    }
    if options.plain {
        return Ok(Special::None);
    }
    if summary.whole.is_none() || options.form == Some(Form::General) {
        return Ok(Special::None);
    }
    let (source, longest) = layout.heaviest;
    let config = SsspConfig { source, ..SsspConfig::default() };
    let mut best = Best { seconds: f64::INFINITY, special: Special::None, settled: false };
    for form in [Form::OneTile, Form::Tiles, Form::Sweeps] {
        match options.form {
            Some(wanted) if wanted != form => continue,
            // Small graphs need not look further.
            None if best.settled || best.special.form() == Form::OneTile => break,
            _ => {}
        }
        let tried = match form {
            Form::Sweeps => try_sweeps(device, layout, &config, &mut best),
            _ => try_tiles(device, layout, &config, longest, form == Form::OneTile, &mut best),
        };
        match tried {
            // The general form may still fit.
            Err(Error::OutOfMemory { .. }) => {}
            other => other?,
        }
    }
    if best.seconds.is_finite() && options.form.is_none() && !best.settled {
        let mut general = layout.whole.general(device, layout)?;
        let weights = layout.whole.weights(device, arcs)?;
        let (mut fastest, suited) = (f64::INFINITY, general.options);
        let mut chosen = suited;
        for &breadth in &BREADTHS[usize::from(best.special.form() == Form::Tiles)..] {
            let tried = suited.with_breadth(breadth, layout.degree(), summary.mean);
            general.options = tried;
            let most = patience(best.seconds.min(fastest));
            let seconds = best.time(device, || Ok(general.search(device, arcs, weights, &config, most)?.is_some()))?;
            if seconds < fastest {
                (fastest, chosen) = (seconds, tried);
            }
        }
        general.options = chosen;
        best.offer(fastest, Special::None);
    }
    Ok(best.special)
}

fn try_tiles(device: &Device, layout: &SsspLayout, config: &SsspConfig, longest: u32, alone: bool, best: &mut Best) -> Result<()> {
    let (arcs, summary) = (&layout.out, &layout.summary);
    let options = layout.options.tile.unwrap_or_else(|| TileOptions::suited(device, arcs, longest, alone));
    if !Tiles::suits(device, arcs, summary, longest, options.parts) {
        return Ok(());
    }
    let weights = layout.whole.weights(device, arcs)?;
    if let Some(tiles) = Tiles::build(device, arcs, weights, summary, longest, options)? {
        if tiles.is_far_flung() || layout.options.form.is_some() {
            *best = Best { seconds: 0.0, special: Special::Tiles(Box::new(tiles)), settled: true };
            return Ok(());
        }
        let seconds = best.time(device, || tiles.search(device, config).map(|_| true))?;
        best.offer(seconds, Special::Tiles(Box::new(tiles)));
    }
    Ok(())
}

fn try_sweeps(device: &Device, layout: &SsspLayout, config: &SsspConfig, best: &mut Best) -> Result<()> {
    let (arcs, summary, symmetric) = (&layout.out, &layout.summary, layout.incoming.is_none());
    if !Sweeps::suits(device, arcs, summary) {
        return Ok(());
    }
    let weights = layout.whole.weights(device, arcs)?;
    let fixed = layout.options.sweep;
    let by_degree = fixed.is_some_and(|o| o.by_degree);
    let Some(mut sweeps) = Sweeps::build(device, arcs, weights, symmetric, summary, by_degree)? else { return Ok(()) };
    let (mut fastest, mut settings) = (f64::INFINITY, None);
    // Where tiles are good, one setting says enough.
    let tried = if best.special.form() == Form::Tiles { &SweepOptions::TRIED[..1] } else { &SweepOptions::TRIED[..] };
    for &tried in fixed.as_ref().map_or(tried, std::slice::from_ref) {
        sweeps.options = tried;
        let (most, patience) =
            if fixed.is_some() { (RUN_SWEEPS, f64::INFINITY) } else { (TRIAL_SWEEPS, patience(best.seconds.min(fastest))) };
        let seconds = best.time(device, || Ok(sweeps.search(device, config, most, patience)?.is_some()))?;
        if seconds < fastest {
            (fastest, settings) = (seconds, Some(tried));
        }
    }
    if let Some(found) = settings {
        sweeps.options = found;
        best.offer(fastest, Special::Sweeps(Box::new(sweeps)));
    }
    Ok(())
}
