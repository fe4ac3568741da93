//! What the selectors of all fused forms share: what they look at, and the terms that they predict times in.
//!
//! A `select.rs` names the variants of an algorithm, says which of them can run a graph (`fits`) and which one is expected to be the
//! fastest (`preferred`). All that fit are offered, so that they can be forced; the preferred ones are predicted to be faster than the
//! general form, the others slower.
//!
//! Invariant: what is chosen depends on numbers of [`GraphData`] and of the device's properties alone, never on a clock.

use crate::device::Device;
use crate::{Cuda, Result};
use bitgraph_backend::{Algorithm, Candidate, GraphData, Stats};
use bitgraph_sparse::FormatKind;
use bitgraph_sparse::ordering::Ordering;

/// Seconds that a run takes at least: a launch, and its result on the host.
const START: f64 = 3e-5;
/// Seconds between two levels of a search, or two iterations, in a form with a barrier of the whole grid.
const BARRIER: f64 = 2e-6;
/// Entries and vertices a second that a general form passes over on one H200, rounded.
const RATE: f64 = 5e10;
/// What a variant that fits but is not preferred is predicted to take, of the general form's time: more, so that it is only ever forced.
const NOT_PREFERRED: f64 = 1.25;
/// Entries up to which offsets have 32 bits in every layout; kernels count some entries past the end.
const MOST_ENTRIES: usize = u32::MAX as usize - 4096;

/// An algorithm whose kernels can be loaded before they are needed.
pub trait Kernels: Algorithm {
    /// How the names of the kernel modules begin that its layouts and runs use.
    const MODULES: &'static [&'static str];
}

impl Cuda {
    /// Loads the kernels of an algorithm's fused form and of its layouts, and sets up what the driver needs for memory and copies. All of
    /// it is done at first use otherwise, as a part of whatever is timed then.
    ///
    /// # Errors
    /// A kernel that cannot be loaded or compiled; the driver's.
    pub fn load_kernels<A: Kernels>(&self) -> Result<()> {
        self.device().preload(A::MODULES)?;
        self.device().preload(&["formats/"])?;
        self.device().warm_up()
    }
}

/// Declares the variants of an algorithm, the general form first, with the names that plans give them.
macro_rules! variants {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        /// The names of the variants, the general form first.
        pub const VARIANTS: &[&str] = &[$($text),+];

        impl $name {
            /// All variants, in the order of [`VARIANTS`].
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The name in plans, by which a request forces it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                VARIANTS[self as usize]
            }
            /// The variant that a plan chose; the general form for a name of none.
            #[must_use]
            pub fn planned(plan: &bitgraph_backend::Plan) -> Self {
                Self::ALL.iter().copied().find(|v| v.name() == plan.variant()).unwrap_or(Self::ALL[0])
            }
        }
    };
}
pub(crate) use variants;

/// What selectors look at.
pub(crate) struct Facts<'g> {
    pub device: &'g Device,
    pub graph: &'g GraphData,
    pub nodes: usize,
    pub entries: usize,
    pub symmetric: bool,
}

impl<'g> Facts<'g> {
    /// The facts about a graph of at most `most_nodes` vertices; none where no fused form runs it. `symmetric`: with the values that take part.
    pub fn of(cuda: &'g Cuda, graph: &'g GraphData, symmetric: bool, most_nodes: usize) -> Option<Self> {
        let (nodes, entries) = (graph.nodes(), graph.edges());
        let fits = !cuda.is_reference() && entries <= MOST_ENTRIES && nodes <= most_nodes;
        fits.then(|| Self { device: cuda.device(), graph, nodes, entries, symmetric })
    }
    pub fn stats(&self) -> &'g Stats {
        self.graph.stats()
    }
    /// The largest out-degree over the mean.
    pub fn skew(&self) -> f64 {
        crate::skew::ratio(self.stats().max_degree, self.nodes, self.entries)
    }
    /// Seconds to build what takes `start` at least and passes over so many entries a second.
    pub fn build_seconds(&self, start: f64, rate: f64) -> f64 {
        start + (self.nodes + self.entries) as f64 / rate
    }
    /// Predicted seconds of a general form: so many passes over all entries, with so many barriers each.
    pub fn general_seconds(&self, passes: f64, barriers: f64) -> f64 {
        START + passes * (barriers * BARRIER + (self.nodes + self.entries) as f64 / RATE)
    }
}

/// A variant that can run a graph.
pub(crate) struct Offer {
    pub variant: &'static str,
    pub build_seconds: f64,
    /// What it is predicted to take, of the general form's time.
    pub share: f64,
    pub why: String,
}

impl Offer {
    /// The general form, which takes this long to build.
    pub fn general(variant: &'static str, build_seconds: f64) -> Self {
        Self { variant, build_seconds, share: 1.0, why: "the general form".into() }
    }
    /// A variant that is expected to take this share of the general form's time if it is preferred.
    pub fn of(variant: &'static str, build_seconds: f64, preferred: bool, share: f64, why: &str) -> Self {
        let (share, why) = if preferred { (share, why.into()) } else { (NOT_PREFERRED, format!("{why}; not expected to pay here")) };
        Self { variant, build_seconds, share, why }
    }
}

/// The candidates for a planner, on lists in the order at hand; `general` are the seconds of the general form.
pub(crate) fn candidates(offers: impl IntoIterator<Item = Offer>, general: f64) -> Vec<Candidate> {
    let candidate = |offer: Offer| Candidate {
        ordering: Ordering::None,
        format: FormatKind::Csr,
        variant: offer.variant,
        build_seconds: offer.build_seconds,
        run_seconds: offer.share * general,
        threads: 0,
        why: offer.why,
    };
    offers.into_iter().map(candidate).collect()
}
