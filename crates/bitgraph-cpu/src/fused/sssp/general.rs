//! Arcs over CSR with any non-negative weights of `u32`, `u64`, `f32` or `f64` sums.
//!
//! Invariant: a row is pushed as a whole; buckets are `delta` wide.

use super::rounds::{self, Own};
use crate::fused::buckets::arcs::{Arcs, Out, Task};
use crate::fused::buckets::distance::Native;
use crate::fused::buckets::free;
use crate::fused::tc::work::Pool;
use crate::team;
use bitgraph_algorithms::SsspConfig;
use bitgraph_backend::Result;
use bitgraph_sparse::ahead::{beside, fetch};
use bitgraph_sparse::{Buffer, Csr};

/// Entries and vertices from which on a search is worth more than one thread.
const SHARED: usize = 1 << 17;
/// How much wider buckets of several threads are, who do not wait for each other at their ends, and look around instead: where vertices have few arcs,
/// as in meshes and on roads, and where they have more.
const WIDER_LOW: f64 = 4.0;
const WIDER: f64 = 2.0;
/// And where there are hubs, whose arcs are better relaxed once: with sixteen threads, Kronecker graphs of scale 18 and 20 took .6 and .5 of the time of
/// twice the width.
const WIDER_HUBS: f64 = 0.25;
/// Arcs a vertex that are few.
const LOW: usize = 9;
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
    /// Whether most arcs lead to few vertices.
    pub hubs: bool,
    /// The default width of a bucket of one thread.
    pub delta: f64,
    /// Of runs that are over, for the next ones.
    pub scratch: Pool<Vec<Own<D>>>,
    /// The same of runs on several threads.
    pub members: Pool<Vec<free::Own<D>>>,
}

impl<D> General<D> {
    /// How much wider buckets of several threads are than those of one.
    fn wider(&self) -> f64 {
        match () {
            () if self.out.nnz() < LOW * self.out.nrows() => WIDER_LOW,
            () if self.hubs => WIDER_HUBS,
            () => WIDER,
        }
    }
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
        for (i, &(d, v)) in entries.iter().enumerate() {
            if let Some(&(_, ahead)) = entries.get(i + AHEAD) {
                let row = pattern.row_range(ahead as usize).start;
                fetch(indices.as_ptr().wrapping_add(row));
                if let Some(w) = &self.graph.weights {
                    fetch(w.as_ptr().wrapping_add(row));
                }
            }
            if out.known(v) != d {
                continue;
            }
            let row = pattern.row_range(v as usize);
            if self.graph.near {
                beside(indices.as_ptr(), row.clone());
                if let Some(w) = &self.graph.weights {
                    beside(w.as_ptr(), row.clone());
                }
                beside(out.dist.as_ptr(), v as usize..v as usize);
            }
            let heads = &indices[row.clone()];
            let mut relax = |u: u32, w: D| {
                let sum = d.extend(w);
                out.relax(u, sum, || sum.bucket(self.inverse));
            };
            match &self.graph.weights {
                Some(w) => heads.iter().zip(&w[row]).for_each(|(&u, &w)| relax(u, w)),
                None => heads.iter().for_each(|&u| relax(u, D::ONE)),
            }
        }
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
            let width = if config.delta.is_some() { delta } else { delta * graph.wider() };
            let buckets = Buckets { graph, inverse: 1.0 / width };
            let mut members = graph.members.take();
            let result = free::search(&Task { graph: &buckets, ..task }, team, &mut distances, &mut members);
            graph.members.give(members);
            result
        }
    });
    result.map(|()| distances)
}
