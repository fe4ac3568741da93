//! `PageRank`.

use crate::Control;

/// What becomes of the score of a vertex without out-arcs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// [`Error::Parameter`](crate::Error::Parameter) or [`Error::VertexOutOfRange`](crate::Error::VertexOutOfRange).
    pub fn validate(&self, nodes: usize) -> crate::Result<()> {
        let bad = |parameter, found, allowed| Err(crate::Error::Parameter { parameter, found, allowed });
        if !(0.0..=1.0).contains(&self.damping) {
            return bad("damping", self.damping, "between 0 and 1");
        }
        if self.tolerance.is_nan() || self.tolerance < 0.0 {
            return bad("tolerance", self.tolerance, "0 or more");
        }
        if let Some(p) = &self.personalization {
            for &(vertex, weight) in p {
                if vertex as usize >= nodes {
                    return Err(crate::Error::VertexOutOfRange { vertex: vertex.into(), nodes: nodes as u64 });
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
    /// Iterations done.
    pub iterations: u32,
    /// The L1 change of the last iteration.
    pub residual: f64,
    /// Whether the residual fell below the tolerance.
    pub converged: bool,
}
