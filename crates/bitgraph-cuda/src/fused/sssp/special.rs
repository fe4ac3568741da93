//! The choice of a form: those that a graph suits run once from its heaviest vertex, and the fastest is kept.
//!
//! Invariant: a special form finds the same distances as the general one, or none at all.

use super::SsspLayout;
use super::sweep::{SweepOptions, Sweeps};
use super::weights::heaviest;
use crate::Result;
use crate::device::{Buffer, Device};
use bitgraph_backend::SsspConfig;

/// Sweeps after which a run leaves the graph to the general form.
pub(super) const RUN_SWEEPS: u32 = 4096;
/// Sweeps in a trial: a graph that needs more has too great a diameter.
const TRIAL_SWEEPS: u32 = 256;
/// No round of the general form is faster, in seconds: bounds the rounds that a trial needs.
const FASTEST_ROUND: f64 = 3e-6;

/// The forms of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Near-far stepping: any graph, any weights.
    General,
    /// Sweeps over rows sorted by weight.
    Sweeps,
}

/// A form for graphs and weights of a kind.
#[derive(Debug, Default)]
pub(super) enum Special {
    #[default]
    None,
    Sweeps(Box<Sweeps>),
}

impl Special {
    pub fn form(&self) -> Form {
        match self {
            Self::None => Form::General,
            Self::Sweeps(_) => Form::Sweeps,
        }
    }
    pub fn bytes(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Sweeps(s) => s.bytes(),
        }
    }
    /// The greatest distance that it can sum up.
    pub fn limit(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Sweeps(_) => Sweeps::LIMIT,
        }
    }
    /// Distances from the source; none if it gave up.
    pub fn search(&self, device: &Device, config: &SsspConfig, most_sweeps: u32) -> Result<Option<&Buffer<u32>>> {
        match self {
            Self::None => Ok(None),
            Self::Sweeps(s) => s.search(device, config, most_sweeps),
        }
    }
}

/// Seconds of the second of two runs, the first one being slowed by cold caches; none if it gave up.
fn time(device: &Device, mut run: impl FnMut() -> Result<bool>) -> Result<Option<f64>> {
    for _ in 0..2 {
        if !run()? {
            return Ok(None);
        }
    }
    Ok(device.last_run_seconds())
}

/// Builds what the graph suits and keeps the fastest.
pub(super) fn choose(device: &Device, layout: &SsspLayout) -> Result<Special> {
    let (arcs, summary, options) = (&layout.out, &layout.summary, &layout.options);
    let wanted = |form| options.form.is_none_or(|f| f == form);
    if summary.whole.is_none() || options.form == Some(Form::General) {
        return Ok(Special::None);
    }
    let config = SsspConfig { source: heaviest(device, arcs)?, ..SsspConfig::default() };
    let mut best = (f64::INFINITY, Special::None);
    if wanted(Form::Sweeps) && Sweeps::suits(device, arcs, summary) {
        let symmetric = layout.incoming.is_none();
        if let Some(mut sweeps) = Sweeps::build(device, arcs, layout.whole.weights(device, arcs)?, symmetric, summary)? {
            if let Some(fixed) = options.sweep {
                sweeps.options = fixed;
                return Ok(Special::Sweeps(Box::new(sweeps)));
            }
            let mut fastest: Option<(f64, SweepOptions)> = None;
            for tried in SweepOptions::TRIED {
                sweeps.options = tried;
                let seconds = time(device, || Ok(sweeps.search(device, &config, TRIAL_SWEEPS)?.is_some()))?;
                if let Some(s) = seconds
                    && fastest.is_none_or(|f| s < f.0)
                {
                    fastest = Some((s, tried));
                }
            }
            if let Some((seconds, found)) = fastest
                && seconds < best.0
            {
                sweeps.options = found;
                best = (seconds, Special::Sweeps(Box::new(sweeps)));
            }
        }
    }
    if best.0.is_finite() && options.form.is_none() {
        let general = layout.whole.general(device, layout)?;
        let weights = layout.whole.weights(device, arcs)?;
        let rounds = (best.0 / FASTEST_ROUND) as u32 + 4;
        let seconds = time(device, || Ok(general.search(device, arcs, weights, &config, rounds)?.is_some()))?;
        if seconds.is_some_and(|s| s < best.0) {
            return Ok(Special::None);
        }
    }
    Ok(best.1)
}
