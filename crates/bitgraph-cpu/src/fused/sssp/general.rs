//! Arcs over CSR with any non-negative weights of `u32`, `u64`, `f32` or `f64` sums.
//!
//! Invariant: a row is pushed as a whole; buckets are `delta` wide.

use super::arcs::{Arcs, Out, Task};
use super::distance::Native;
use super::free;
use super::rounds::{self, Own};
use crate::fused::tc::work::Pool;
use crate::team;
use bitgraph_algorithms::SsspConfig;
use bitgraph_backend::Result;
use bitgraph_sparse::ahead::{beside, fetch};
use bitgraph_sparse::{Buffer, Csr};

/// Entries and vertices from which on a search is worth more than one thread.
const SHARED: usize = 1 << 17;
/// Arcs between two looks at how much is listed.
const PART: usize = 16;
/// Arcs a vertex below which buckets of several threads are four times as wide, and otherwise twice: long meshes and roads, of few arcs, gain by it.
const LOW: u64 = 9;
/// How many entries ahead rows are fetched.
const AHEAD: usize = 8;

/// A graph with weights in the type that distances are summed in.
#[derive(Debug)]
pub(super) struct General<D> {
    pub out: Csr,
    /// In the pattern's order; none for weight 1 everywhere.
    pub weights: Option<Buffer<D>>,
    /// Whether what lies beside a vertex is fetched.
    pub near: bool,
    /// The default width of a bucket.
    pub delta: f64,
    /// Of runs that are over, for the next ones.
    pub scratch: Pool<Vec<Own<D>>>,
    /// The same of runs on several threads.
    pub members: Pool<Vec<free::Own<D>>>,
}

/// The same with buckets of a width.
struct Buckets<'a, D> {
    graph: &'a General<D>,
    inverse: f64,
}

impl<D: Native> Arcs for Buckets<'_, D> {
    type D = D;
    const LAZY: bool = false;
    fn nodes(&self) -> usize {
        self.graph.out.nrows()
    }
    fn arcs(&self) -> u64 {
        self.graph.out.nnz() as u64
    }
    #[inline(always)]
    fn key(&self, distance: D) -> u64 {
        distance.bucket(self.inverse)
    }
    fn expand(&self, entries: &[(D, u32)], _: u64, out: &mut Out<'_, D>) {
        let (pattern, indices) = (&self.graph.out, self.graph.out.indices());
        let valid = out.valid(entries);
        for (i, &(d, v)) in valid.iter().enumerate() {
            if let Some(&(_, ahead)) = valid.get(i + AHEAD) {
                let row = pattern.row_range(ahead as usize).start;
                fetch(indices.as_ptr().wrapping_add(row));
                if let Some(w) = &self.graph.weights {
                    fetch(w.as_ptr().wrapping_add(row));
                }
            }
            let row = pattern.row_range(v as usize);
            if self.graph.near {
                beside(indices.as_ptr(), row.clone());
                if let Some(w) = &self.graph.weights {
                    beside(w.as_ptr(), row.clone());
                }
                beside(out.dist.as_ptr(), v as usize..v as usize);
            }
            // Parts that a list has room for.
            for start in row.clone().step_by(PART) {
                let part = start..row.end.min(start + PART);
                let heads = &indices[part.clone()];
                match &self.graph.weights {
                    Some(w) => heads.iter().zip(&w[part]).for_each(|(&u, &w)| out.list(u, d.extend(w))),
                    None => heads.iter().for_each(|&u| out.list(u, d.extend(D::ONE))),
                }
                out.lower_many(|distance| distance.bucket(self.inverse));
            }
        }
        out.lower_all(|distance| distance.bucket(self.inverse));
        out.found.give_back(valid);
    }
}

/// Distances from the config's source, in buckets of width `delta`. With a target, distances above the target's are upper bounds.
/// O((n + m) log-free for bounded re-insertion); the worst case over adversarial weights is that of label correcting.
///
/// # Errors
/// [`bitgraph_backend::Error::Cancelled`], asked once per window, or now and then.
pub(super) fn search<D: Native>(graph: &General<D>, config: &SsspConfig, delta: f64) -> Result<Vec<D>> {
    let mut distances = vec![D::largest(); graph.out.nrows()];
    let buckets = Buckets { graph, inverse: 1.0 / delta };
    let task = Task { graph: &buckets, source: config.source, target: config.target, control: &config.control };
    let large = graph.out.nnz() + graph.out.nrows() >= SHARED;
    let wanted = if large || cfg!(test) { usize::MAX } else { 1 };
    let result = team::with(wanted, |team| match team.workers() {
        1 => {
            let mut own = graph.scratch.take();
            let result = rounds::search(&task, team, &mut distances, &mut own);
            graph.scratch.give(own);
            result
        }
        _ => {
            // Wider buckets: members do not wait for each other at their ends, and look around instead.
            let wider = if config.delta.is_some() {
                1.0
            } else if buckets.arcs() < LOW * buckets.nodes() as u64 {
                4.0
            } else {
                2.0
            };
            let buckets = Buckets { graph, inverse: 1.0 / (delta * wider) };
            let mut members = graph.members.take();
            let result = free::search(&Task { graph: &buckets, ..task }, team, &mut distances, &mut members);
            graph.members.give(members);
            result
        }
    });
    result.map(|()| distances)
}
