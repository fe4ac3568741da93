//! Arcs over CSR with any non-negative weights of `u32`, `u64`, `f32` or `f64` sums.
//!
//! Invariant: a row is pushed as a whole; buckets are `delta` wide.
#![allow(unsafe_code)]

use super::rounds::{self, Own};
use super::sorted::{Search, Sorted};
use crate::Isa;
use crate::fused::buckets::arcs::{Arcs, Out, Task};
use crate::fused::buckets::distance::Native;
#[cfg(target_arch = "x86_64")]
use crate::fused::buckets::lanes;
use crate::fused::buckets::{MOST_NODES, free};
use crate::fused::tc::work::Pool;
use crate::team::{self, Team};
use crate::trace;
use bitgraph_algorithms::SsspConfig;
use bitgraph_backend::Result;
use bitgraph_sparse::ahead::{beside, fetch};
use bitgraph_sparse::{Buffer, Csr};
use std::ops::Range;

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
    /// Rows by rising weight, to be searched in place of the pattern's.
    pub sorted: Option<Sorted<D>>,
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
    isa: Isa,
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
        #[cfg(target_arch = "x86_64")]
        if self.isa == Isa::Avx512 {
            // SAFETY: the CPU has the instructions; queued are vertices, which have rows, and their neighbours distances, at most `MOST_NODES`.
            return unsafe { self.avx512(entries, out) };
        }
        self.one_by_one(entries, out);
    }
}

impl<D: Native> Buckets<'_, D> {
    /// Asks for the row of an entry some places behind the `i`th.
    #[inline(always)]
    fn ask(&self, entries: &[(D, u32)], i: usize) {
        let (pattern, indices) = (&self.graph.out, self.graph.out.indices());
        if let Some(&(_, ahead)) = entries.get(i + AHEAD) {
            let row = pattern.row_range(ahead as usize).start;
            fetch(indices.as_ptr().wrapping_add(row));
            if let Some(w) = &self.graph.weights {
                fetch(w.as_ptr().wrapping_add(row));
            }
        }
    }
    /// Where the row of a vertex is; asks for what lies beside it, where that is of use.
    #[inline(always)]
    fn row(&self, v: u32, out: &Out<'_, D>) -> Range<usize> {
        let row = self.graph.out.row_range(v as usize);
        if self.graph.near {
            beside(self.graph.out.indices().as_ptr(), row.clone());
            if let Some(w) = &self.graph.weights {
                beside(w.as_ptr(), row.clone());
            }
            beside(out.dist.as_ptr(), v as usize..v as usize);
        }
        row
    }
    /// Arc by arc. Vectors of eight, with a table in place of an instruction, took .8 to 1.4 times as long, most of them above 1.
    #[inline(never)]
    fn one_by_one(&self, entries: &[(D, u32)], out: &mut Out<'_, D>) {
        for (i, &(d, v)) in entries.iter().enumerate() {
            self.ask(entries, i);
            if out.known(v) != d {
                continue;
            }
            let row = self.row(v, out);
            let heads = &self.graph.out.indices()[row.clone()];
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
    /// # Safety
    /// The CPU has the instructions; queued are vertices of a valid pattern of at most [`MOST_NODES`], and `out` has a distance for each.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn avx512(&self, entries: &[(D, u32)], out: &mut Out<'_, D>) {
        let (indices, weights) = (self.graph.out.indices(), self.graph.weights.as_deref());
        for (i, &(d, v)) in entries.iter().enumerate() {
            self.ask(entries, i);
            if out.known(v) == d {
                let row = self.row(v, out);
                let ids = &indices[row.clone()];
                // SAFETY: the contract.
                unsafe { lanes::list_wide::<false, _>(ids, weights.map(|w| &w[row]), (d, D::largest()), out, |d| self.key(d)) };
            }
        }
        out.lower_all(|d| self.key(d));
    }
}

/// Distances from the config's source, in buckets of width `delta`. With a target, distances above the target's are upper bounds.
/// O((n + m) log-free for bounded re-insertion); the worst case over adversarial weights is that of label correcting.
///
/// # Errors
/// [`bitgraph_backend::Error::Cancelled`], asked once per window, or now and then.
pub(super) fn search<D: Native>(graph: &General<D>, config: &SsspConfig, delta: f64) -> Result<Vec<D>> {
    let mut distances = vec![D::largest(); graph.out.nrows()];
    let isa = if graph.out.nrows() <= MOST_NODES { Isa::current() } else { Isa::Portable };
    // Where most arcs lead to few vertices, hardly any improves a distance, and to branch on whether one does takes less than to gather: with one thread of
    // a processor whose gathers are slow, vectors took 1.1 to 1.5 times as long on web, social and skewed graphs, and .75 to 1.1 times on others.
    let buckets = Buckets { graph, isa: if graph.hubs { Isa::Portable } else { isa }, inverse: 1.0 / delta };
    let task = Task { graph: &buckets, source: config.source, target: config.target, control: &config.control };
    let large = graph.out.nnz() + graph.out.nrows() >= SHARED;
    let wanted = if large || cfg!(test) { usize::MAX } else { 1 };
    if let Some(sorted) = &graph.sorted {
        trace::enter("sssp: rows sorted by weight");
        let arcs = Search::new(sorted, isa, config.delta);
        let task = Task { graph: &arcs, source: config.source, target: config.target, control: &config.control };
        return team::with(wanted, |team| in_rounds(graph, &task, team, &mut distances)).map(|()| distances);
    }
    let result = team::with(wanted, |team| match team.workers() {
        1 => in_rounds(graph, &task, team, &mut distances),
        _ => {
            let width = if config.delta.is_some() { delta } else { delta * graph.wider() };
            let buckets = Buckets { inverse: 1.0 / width, ..buckets };
            let mut members = graph.members.take();
            let result = free::search(&Task { graph: &buckets, ..task }, team, &mut distances, &mut members);
            graph.members.give(members);
            result
        }
    });
    result.map(|()| distances)
}

/// A search in rounds.
fn in_rounds<D: Native>(graph: &General<D>, task: &Task<'_, impl Arcs<D = D>>, team: &Team<'_>, distances: &mut [D]) -> Result<()> {
    let mut own = graph.scratch.take();
    let result = rounds::search(task, team, distances, &mut own);
    graph.scratch.give(own);
    result
}
