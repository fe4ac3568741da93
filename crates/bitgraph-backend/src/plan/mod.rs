//! Which order, format and variant a graph is laid out in: the request, the plan, and the planner between them.
//!
//! Invariant: what the user forces is never changed; what is automatic is decided by predicted time alone, build included.

mod planner;
mod reuse;
#[cfg(test)]
mod tests;

pub use planner::StoredCost;
pub(crate) use planner::{Forecast, weigh};
pub(crate) use reuse::Learnt;
pub use reuse::Reuse;

use crate::GraphData;
use bitgraph_sparse::FormatKind;
use bitgraph_sparse::ordering::Ordering;
use std::fmt;

/// What is asked of the planner; `None` leaves the choice to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Request {
    /// How often the algorithm will run.
    pub reuse: Reuse,
    /// The format, if forced.
    pub format: Option<FormatKind>,
    /// The order, if forced.
    pub ordering: Option<Ordering>,
    /// The variant, if forced: a name that [`Plan`] prints. For tests and benches.
    pub variant: Option<&'static str>,
}

impl Request {
    /// Everything left to the planner, which counts on so many runs.
    #[must_use]
    pub const fn runs(runs: u32) -> Self {
        Self { reuse: Reuse::Runs(runs), format: None, ordering: None, variant: None }
    }
    /// Exactly this format and order.
    #[must_use]
    pub const fn forced(format: FormatKind, ordering: Ordering) -> Self {
        Self { reuse: Reuse::Learn, format: Some(format), ordering: Some(ordering), variant: None }
    }
}

/// One layout that the planner weighed.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The order.
    pub ordering: Ordering,
    /// The format.
    pub format: FormatKind,
    /// Which kernel runs, of those that the backend has for the algorithm.
    pub variant: &'static str,
    /// Predicted seconds to order and build.
    pub build_seconds: f64,
    /// Predicted seconds of one run.
    pub run_seconds: f64,
    /// Threads that a run uses; 0 for all that are allowed.
    pub threads: usize,
    /// Why it costs what it costs.
    pub why: String,
}

impl Candidate {
    /// The variant that runs the algorithm's definition over the backend's operations.
    pub const DEFINITION: &'static str = "definition";
    /// Seconds that an operation over one entry takes in a definition, roughly: it only has to lose to every fused form.
    const DEFINITION_ENTRY: f64 = 2e-8;

    /// The definition, on the graph as it came.
    #[must_use]
    pub fn definition(graph: &GraphData) -> Self {
        Self {
            ordering: graph.order().map_or(Ordering::None, |o| o.0),
            format: graph.layout().kind(),
            variant: Self::DEFINITION,
            build_seconds: 0.0,
            run_seconds: Self::DEFINITION_ENTRY * (graph.nodes() + graph.edges()) as f64,
            threads: 0,
            why: "operations over the matrix".into(),
        }
    }
    /// Predicted seconds of building once and running so often.
    #[must_use]
    pub fn total_seconds(&self, runs: f64) -> f64 {
        self.build_seconds + runs * self.run_seconds
    }
}

/// The layout to build, and the sums behind it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// The runs that were counted on; the runs so far and the next one where that is learnt.
    pub runs: u32,
    /// Whether the number of runs was learnt, not said.
    pub learnt: bool,
    /// The chosen layout.
    pub chosen: Candidate,
    /// The layouts that were weighed, best first, the chosen one included.
    pub candidates: Vec<Candidate>,
    /// The format and order that the graph came in, which cost nothing to build; none for CSR in the input's order.
    pub stored: Option<(FormatKind, Ordering)>,
    /// What else is to be said, such as a layout that a memory budget did not allow.
    pub note: Option<String>,
}

impl Plan {
    /// The order.
    #[must_use]
    pub fn ordering(&self) -> Ordering {
        self.chosen.ordering
    }
    /// The format.
    #[must_use]
    pub fn format(&self) -> FormatKind {
        self.chosen.format
    }
    /// The variant.
    #[must_use]
    pub fn variant(&self) -> &'static str {
        self.chosen.variant
    }
}

/// The table that `--explain` prints.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plural, how) = (if self.runs == 1 { "" } else { "s" }, if self.learnt { ", learnt" } else { "" });
        writeln!(f, "plan for {} ({} run{plural}{how}):", self.algorithm, self.runs)?;
        let width = self.candidates.iter().map(|c| c.variant.len()).max().unwrap_or(0).max(7);
        writeln!(f, "  {:8} {:9} {:width$} {:>10} {:>10} {:>11}  why", "format", "order", "variant", "build ms", "run ms", "total ms")?;
        for c in &self.candidates {
            write!(
                f,
                "{} {:8} {:9} {:width$} {:>10.3} {:>10.3} {:>11.3}  {}",
                if *c == self.chosen { '>' } else { ' ' },
                c.format.name(),
                c.ordering.name(),
                c.variant,
                c.build_seconds * 1e3,
                c.run_seconds * 1e3,
                c.total_seconds(f64::from(self.runs)) * 1e3,
                c.why,
            )?;
            if c.threads > 0 {
                write!(f, "; {} thread{}", c.threads, if c.threads == 1 { "" } else { "s" })?;
            }
            writeln!(f)?;
        }
        if let Some((format, ordering)) = self.stored {
            let used = if (format, ordering) == (self.format(), self.ordering()) { "used as it is" } else { "converted" };
            writeln!(f, "  stored as {format} in order {}: {used}", ordering.name())?;
        }
        self.note.as_ref().map_or(Ok(()), |note| writeln!(f, "  {note}"))
    }
}
