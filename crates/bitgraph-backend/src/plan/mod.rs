//! Which order and format a graph is laid out in: the request, the plan, and the planner between them.
//!
//! Invariant: what the user forces is never changed; what is automatic is decided by predicted time alone, build included.

mod planner;

pub(crate) use planner::Given;
pub use planner::{CostModel, Planner, StoredCost};

use bitgraph_semiring::DType;
use bitgraph_sparse::FormatKind;
use bitgraph_sparse::ordering::Ordering;
use std::fmt;

/// The algorithm that a layout is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Breadth-first search from one source.
    Bfs,
    /// Breadth-first search from many sources at once.
    MsBfs,
    /// Shortest paths from one source.
    Sssp,
    /// `PageRank`.
    PageRank,
    /// Connected components.
    Cc,
    /// Triangle counting.
    Tc,
    /// Repeated products of the matrix with float vectors.
    MxvFloat,
    /// Repeated products of the matrix with bit vectors.
    MxvBool,
}

impl Algorithm {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bfs => "bfs",
            Self::MsBfs => "ms_bfs",
            Self::Sssp => "sssp",
            Self::PageRank => "pagerank",
            Self::Cc => "cc",
            Self::Tc => "tc",
            Self::MxvFloat => "mxv_float",
            Self::MxvBool => "mxv_bool",
        }
    }
    /// Whether the algorithm reads the incoming arcs of a directed graph.
    #[must_use]
    pub const fn wants_incoming(self) -> bool {
        !matches!(self, Self::Tc | Self::MxvFloat | Self::MxvBool)
    }
    /// Whether edge weights take part.
    #[must_use]
    pub const fn wants_weights(self) -> bool {
        matches!(self, Self::Sssp)
    }
}

/// What the layout will be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// How many runs the cost of building may be spread over, at least 1.
    pub passes: u32,
    /// Iterations of one run, for `PageRank`; 1 otherwise.
    pub iterations: u32,
    /// The type that the algorithm computes in, where there is a choice. Default: `f32`.
    pub dtype: DType,
}

impl Workload {
    /// One run of an algorithm.
    #[must_use]
    pub const fn once(algorithm: Algorithm) -> Self {
        Self { algorithm, passes: 1, iterations: if matches!(algorithm, Algorithm::PageRank) { 20 } else { 1 }, dtype: DType::F32 }
    }
    /// The same use, many times over.
    #[must_use]
    pub const fn with_passes(mut self, passes: u32) -> Self {
        self.passes = passes;
        self
    }
    /// The same use in another type.
    #[must_use]
    pub const fn with_dtype(mut self, dtype: DType) -> Self {
        self.dtype = dtype;
        self
    }
}

/// What is asked of the planner; `None` leaves the choice to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanRequest {
    /// The use of the layout.
    pub workload: Workload,
    /// The format, if forced.
    pub format: Option<FormatKind>,
    /// The order, if forced.
    pub ordering: Option<Ordering>,
}

impl PlanRequest {
    /// Everything left to the planner.
    #[must_use]
    pub const fn auto(workload: Workload) -> Self {
        Self { workload, format: None, ordering: None }
    }
    /// Exactly this layout.
    #[must_use]
    pub const fn forced(workload: Workload, format: FormatKind, ordering: Ordering) -> Self {
        Self { workload, format: Some(format), ordering: Some(ordering) }
    }
}

/// One layout that the planner weighed.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The order.
    pub ordering: Ordering,
    /// The format.
    pub format: FormatKind,
    /// Whether the backend also builds what the algorithm's fused form wants.
    pub prepared: bool,
    /// Predicted seconds to order and build.
    pub build_seconds: f64,
    /// Predicted seconds of one run.
    pub run_seconds: f64,
    /// Why it costs what it costs.
    pub why: String,
}

impl Candidate {
    /// Predicted seconds of building once and running `passes` times.
    #[must_use]
    pub fn total_seconds(&self, passes: u32) -> f64 {
        self.build_seconds + f64::from(passes) * self.run_seconds
    }
}

/// The layout to build, and the sums behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The use of the layout.
    pub workload: Workload,
    /// The chosen layout.
    pub chosen: Candidate,
    /// The layouts that were weighed, best first, the chosen one included.
    pub candidates: Vec<Candidate>,
    /// The format and order that the graph came in, which cost nothing to build; none for lists in the input's order.
    pub stored: Option<(FormatKind, Ordering)>,
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
}

/// The table that `--explain` prints.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passes = self.workload.passes;
        writeln!(f, "plan for {} ({passes} pass{}):", self.workload.algorithm.name(), if passes == 1 { "" } else { "es" })?;
        writeln!(f, "  {:10} {:9} {:9} {:>11} {:>11} {:>12}  why", "format", "order", "prepared", "build ms", "run ms", "total ms")?;
        for c in &self.candidates {
            writeln!(
                f,
                "{} {:10} {:9} {:9} {:>11.3} {:>11.3} {:>12.3}  {}",
                if *c == self.chosen { '>' } else { ' ' },
                c.format.name(),
                c.ordering.name(),
                if c.prepared { "yes" } else { "no" },
                c.build_seconds * 1e3,
                c.run_seconds * 1e3,
                c.total_seconds(passes) * 1e3,
                c.why
            )?;
        }
        let Some((format, ordering)) = self.stored else { return Ok(()) };
        let used = if format == self.format() { "used as it is" } else { "converted" };
        writeln!(f, "  stored as {format} in order {}: {used}", ordering.name())
    }
}
