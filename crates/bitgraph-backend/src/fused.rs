//! The hook for fused forms: a backend's own form of an algorithm, with a layout of its own.
//!
//! Invariant: a fused form gives what the definition gives (floats within rounding). Vertices are in the numbers of the
//! [`Arranged`] graph at hand; [`crate::Graph`] translates.

use crate::{Algorithm, Arranged, Backend, Candidate, GraphData, Plan, StoredCost};
use bitgraph_b2sr::Layout;

/// A backend's form of an algorithm. A backend without one for `A` says so with [`no_fused_form`](crate::no_fused_form), and the
/// definition runs.
pub trait Fused<A: Algorithm>: Backend {
    /// What is built once from a graph and serves any number of runs.
    type Layout: Send + Sync + 'static;

    /// The variants that make sense for a graph, each with the order and format it wants and its predicted times, for about `runs` runs.
    /// Simpler ones come first. This is where a backend chooses; nothing is chosen by a stopwatch.
    fn variants(&self, graph: &GraphData, algorithm: &A, runs: u32) -> Vec<Candidate>;
    /// Predicts what a graph that is stored in tiles takes as it is, from counts alone. `None`: it is turned into CSR first.
    fn stored(&self, layout: &Layout, algorithm: &A) -> Option<StoredCost> {
        let _ = (layout, algorithm);
        None
    }
    /// Loads what runs and layouts of the algorithm need from the backend (kernels), which is done at first use otherwise. Nothing by
    /// default.
    ///
    /// # Errors
    /// A kernel that cannot be loaded or compiled.
    fn warm_up(&self) -> Result<(), Self::Error> {
        Ok(())
    }
    /// Builds the planned variant's layout. `None` means that this graph cannot have it (offsets of 64 bits, say), and the definition
    /// runs.
    ///
    /// # Errors
    /// Out of memory, or weights that the algorithm cannot take.
    fn layout(&self, graph: &Arranged<Self>, algorithm: &A, plan: &Plan) -> Result<Option<Self::Layout>, Self::Error>;
    /// Runs on the graph that the layout was built from.
    ///
    /// # Errors
    /// Cancellation, out of memory, or the backend's.
    fn run(&self, graph: &Arranged<Self>, layout: &Self::Layout, algorithm: &A) -> Result<A::Output, Self::Error>;
    /// Bytes of the layout, the graph that it was built from not counted.
    fn layout_bytes(&self, layout: &Self::Layout) -> u64 {
        let _ = layout;
        0
    }
}

/// The layout of a backend that has no fused form of an algorithm: there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLayout {}

/// Says that a backend has no fused form of an algorithm, so that its definition runs: `no_fused_form!(Cuda: MyAlgorithm);`.
#[macro_export]
macro_rules! no_fused_form {
    ($backend:ty: $($algorithm:ty),+) => { $(
        impl $crate::Fused<$algorithm> for $backend {
            type Layout = $crate::NoLayout;
            fn variants(&self, graph: &$crate::GraphData, _: &$algorithm, _: u32) -> Vec<$crate::Candidate> {
                vec![$crate::Candidate::definition(graph)]
            }
            fn layout(
                &self,
                _: &$crate::Arranged<Self>,
                _: &$algorithm,
                _: &$crate::Plan,
            ) -> Result<Option<$crate::NoLayout>, <Self as $crate::Backend>::Error> {
                Ok(None)
            }
            fn run(
                &self,
                _: &$crate::Arranged<Self>,
                layout: &$crate::NoLayout,
                _: &$algorithm,
            ) -> Result<<$algorithm as $crate::Algorithm>::Output, <Self as $crate::Backend>::Error> {
                match *layout {}
            }
        }
    )+ };
}
