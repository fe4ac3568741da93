//! `PageRank`.

pub(crate) mod definition;
mod looks;

use crate::{GraphBackend, On, Typed};
use bitgraph_backend::{Algorithm, Arranged, Backend, Control, Definition, Error, Fused, Graph, GraphData, Mxv, Renumber, Result};
use bitgraph_semiring::{Float, PlusSecond};
use bitgraph_sparse::{Permutation, Stored};
pub use looks::ResidualLooks;

/// What becomes of the score of a vertex without out-arcs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dangling {
    /// It is spread evenly, or over the personalisation vector: scores sum to 1.
    #[default]
    Spread,
    /// It is lost, as in the GAP benchmark: scores sum to less than 1 if there are such vertices.
    Drop,
}

/// What to compute. `score(v) = (1 - damping) p(v) + damping (sum over u -> v of score(u) / outdegree(u) + dangling share)`.
#[derive(Clone, Debug)]
pub struct PageRankConfig {
    /// The damping factor, in 0..=1. Default: 0.85.
    pub damping: f64,
    /// Stop once the L1 change of the scores falls below this; 0 runs all iterations. Default: 1e-6.
    ///
    /// Fused forms look for that where it is to be expected ([`ResidualLooks`]): after a change that falls suddenly they may do some
    /// iterations more than the first that is below, at most 15.
    pub tolerance: f64,
    /// Iterations at most. Default: 100.
    pub max_iterations: u32,
    /// What becomes of dangling scores. Default: spread.
    pub dangling: Dangling,
    /// The teleport distribution: non-negative weights of some vertices, scaled to sum to 1. Default: even.
    pub personalization: Option<Vec<(u32, f64)>>,
    /// Cancellation and progress (iterations done).
    pub control: Control,
}

impl PageRankConfig {
    /// The default damping factor.
    pub const DEFAULT_DAMPING: f64 = 0.85;
    /// The default tolerance.
    pub const DEFAULT_TOLERANCE: f64 = 1e-6;
    /// The default limit of iterations.
    pub const DEFAULT_MAX_ITERATIONS: u32 = 100;

    /// Checks the parameters against a graph of `nodes` vertices.
    ///
    /// # Errors
    /// [`Error::Parameter`] or [`Error::VertexOutOfRange`].
    pub fn validate(&self, nodes: usize) -> Result<()> {
        let bad = |parameter, found, allowed| Err(Error::Parameter { parameter, found, allowed });
        if !(0.0..=1.0).contains(&self.damping) {
            return bad("damping", self.damping, "between 0 and 1");
        }
        if self.tolerance.is_nan() || self.tolerance < 0.0 {
            return bad("tolerance", self.tolerance, "0 or more");
        }
        if let Some(p) = &self.personalization {
            for &(vertex, weight) in p {
                if vertex as usize >= nodes {
                    return Err(Error::VertexOutOfRange { vertex: vertex.into(), nodes: nodes as u64 });
                }
                if !weight.is_finite() || weight < 0.0 {
                    return bad("personalization weight", weight, "a finite number, 0 or more");
                }
            }
            // A sum of nothing is a negative zero.
            let sum = p.iter().map(|&(_, w)| w).sum::<f64>() + 0.0;
            if !(sum > 0.0 && sum.is_finite()) {
                return bad("sum of the personalization weights", sum, "positive and finite");
            }
        }
        Ok(())
    }
    /// The teleport distribution, one weight per vertex summing to 1; `None` if even.
    #[must_use]
    pub fn teleport(&self, nodes: usize) -> Option<Vec<f64>> {
        self.personalization.as_ref().map(|p| {
            let sum: f64 = p.iter().map(|&(_, w)| w).sum();
            let mut dense = vec![0.0; nodes];
            for &(v, w) in p {
                dense[v as usize] += w / sum;
            }
            dense
        })
    }
}

impl Default for PageRankConfig {
    fn default() -> Self {
        Self {
            damping: Self::DEFAULT_DAMPING,
            tolerance: Self::DEFAULT_TOLERANCE,
            max_iterations: Self::DEFAULT_MAX_ITERATIONS,
            dangling: Dangling::Spread,
            personalization: None,
            control: Control::default(),
        }
    }
}

/// The result. The same bits on every run of one layout, whatever the number of threads; iterations are Jacobi, so that another order,
/// format or backend differs by rounding only.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRank<T> {
    /// The score of every vertex.
    pub scores: Vec<T>,
    /// Iterations done: as many as the tolerance asks for, rarely some more ([`PageRankConfig::tolerance`]).
    pub iterations: u32,
    /// The L1 change of the last iteration.
    pub residual: f64,
    /// Whether the residual fell below the tolerance.
    pub converged: bool,
}

impl PageRankConfig {
    /// The iterations that a run will take, roughly: the L1 change shrinks by the damping factor in each, as a rule faster.
    #[must_use]
    pub fn expected_iterations(&self) -> u32 {
        let needed = if self.tolerance > 0.0 && self.damping > 0.0 && self.damping < 1.0 {
            (self.tolerance.min(1.0).ln() / self.damping.ln()).ceil() * 0.5
        } else {
            f64::INFINITY
        };
        needed.max(1.0).min(f64::from(self.max_iterations)) as u32
    }
}

impl<T: Stored + Float> Algorithm for Typed<PageRankConfig, T> {
    type Output = PageRank<T>;
    const NAME: &'static str = "pagerank";

    /// Personalised teleport, and dangling vertices whose scores are lost, are what a variant may not take.
    fn key(&self) -> u64 {
        u64::from(self.personalization.is_some()) | u64::from(self.dangling == Dangling::Drop) << 1
    }
    fn passes(&self) -> u32 {
        self.expected_iterations()
    }
    fn check(&self, graph: &GraphData) -> Result<()> {
        self.validate(graph.nodes())
    }
    fn renumbered(&self, numbers: &Permutation) -> Self {
        let mut settings = self.settings.clone();
        for (vertex, _) in settings.personalization.iter_mut().flatten() {
            *vertex = numbers.new_of_old()[*vertex as usize];
        }
        Self::new(settings)
    }
    fn restored(&self, output: PageRank<T>, _: &GraphData, numbers: &Permutation) -> PageRank<T> {
        PageRank { scores: numbers.restore_values(output.scores), ..output }
    }
}

impl<B: GraphBackend + Mxv<PlusSecond<T>>, T: Stored + Float> Definition<B> for Typed<PageRankConfig, T> {
    fn define(&self, graph: &Arranged<B>) -> Result<PageRank<T>, B::Error> {
        definition::pagerank::<B, T>(graph, self)
    }
}

impl<B: Backend> On<'_, B, PageRankConfig> {
    /// The damping factor, in 0..=1.
    pub fn damping(mut self, damping: f64) -> Self {
        self.algorithm.damping = damping;
        self
    }
    /// Stops once the L1 change of the scores falls below this; 0 runs all iterations.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.algorithm.tolerance = tolerance;
        self
    }
    /// Iterations at most.
    pub fn max_iterations(mut self, iterations: u32) -> Self {
        self.algorithm.max_iterations = iterations;
        self
    }
    /// What becomes of the scores of vertices without out-arcs.
    pub fn dangling(mut self, dangling: Dangling) -> Self {
        self.algorithm.dangling = dangling;
        self
    }
    /// The teleport distribution: weights of some vertices, scaled to sum to 1.
    pub fn personalize(mut self, weights: impl IntoIterator<Item = (u32, f64)>) -> Self {
        self.algorithm.personalization = Some(weights.into_iter().collect());
        self
    }
    /// Cancellation and progress (iterations done).
    pub fn control(mut self, control: Control) -> Self {
        self.algorithm.control = control;
        self
    }
    /// Computes the scores, in type `T`: any float. Whole numbers cannot hold shares of 1, and do not compile.
    ///
    /// ```compile_fail
    /// # use bitgraph_algorithms::{GraphBackend, RankGraph};
    /// fn ranks<B: GraphBackend>(graph: &bitgraph_backend::Graph<B>) {
    ///     let _ = graph.pagerank().run::<u32>();
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::Parameter`], [`Error::VertexOutOfRange`], [`Error::Cancelled`], or the backend's.
    pub fn run<T: Stored + Float>(&self) -> Result<PageRank<T>, B::Error>
    where
        B: GraphBackend + Mxv<PlusSecond<T>> + Fused<Typed<PageRankConfig, T>>,
    {
        self.in_type::<T>().run_algorithm()
    }
}

/// `PageRank` as a method of a graph.
pub trait RankGraph<B: Backend> {
    /// `PageRank`.
    fn pagerank(&self) -> On<'_, B, PageRankConfig>;
}

impl<B: Backend> RankGraph<B> for Graph<B> {
    fn pagerank(&self) -> On<'_, B, PageRankConfig> {
        On::new(self, PageRankConfig::default())
    }
}
