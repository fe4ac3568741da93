//! Which variant of connected components runs: the one place that chooses.

use super::hook::FAR_CREW;
use super::{CcLayout, CcVariant};
use crate::fused::lists::{built_lists, lists};
use crate::rates::{Cost, gather, hubs, in_orders, mesh_like, on_threads, threads_for_passes};
use crate::{Cpu, threads};
use bitgraph_algorithms::{Cc, CcConfig};
use bitgraph_backend::{Arranged, Candidate, Error, Fused, GraphData, Plan, Stats};
use bitgraph_sparse::ordering::Ordering;

/// Entries per vertex from which a search for the giant component looks at few of them; and the same of a graph that is known to be short across:
/// random ones of 4 to 16 took .4 to .8 times as long as by hooking with one thread, de Bruijn graphs 1.05 times.
const DENSE: f64 = 8.0;
const DENSE_SHORT: f64 = 3.5;

/// Vertices that hooking is worth another thread for: each is looked at a few times, in phases that threads wait at the end of. On 16 cores five
/// meshes of 32 to 67 thousand took 0.7 to 0.9 times as long with all threads as with one for every 8 thousand. Fewer than four times as many
/// are hooked by one, in less time than it takes to wake others.
const HOOK_SHARE: usize = 1 << 12;

/// Trees that a pass which joins every vertex to its first neighbour leaves for each vertex, up to which hooking is faster whatever the graph: there is next
/// to nothing left to join. Trees, lattices, cubes, cliques, and preferential attachment numbered by age took .2 to .8 times as long as by a search
/// with one thread and two, and .1 to .9 times with sixteen; of two graphs with .4 and .7 % one took 1.3 times as long and one 1.9 times.
const FEW_ROOTS: f64 = 0.002;

impl CcVariant {
    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Hook => "hook",
        }
    }
    /// The variant that is expected to be faster.
    #[must_use]
    pub fn choose(entries: usize, nodes: usize) -> Self {
        if entries as f64 >= DENSE * nodes as f64 { Self::Search } else { Self::Hook }
    }
    /// The same where more is known: a search of few levels does not get far in a graph of long diameter. Several threads share it better than
    /// hooking, which at 4 to 12 neighbours took 1.1 to 3 times as long with two threads and 2 to 4.5 times with four to sixteen (of many
    /// components 0.7 to 0.9 times with two). With hubs, which most vertices are near, hooking took 0.7 to 6.8 times as long with one, 1.8 times in the mean.
    fn choose_for(s: &Stats) -> Self {
        match () {
            () if s.spreads_slowly || s.roots <= FEW_ROOTS => Self::Hook,
            () if hubs(s) || threads::available().min(search_threads(s)) > 1 => Self::Search,
            () if s.entries as f64 >= DENSE_SHORT * s.nodes as f64 => Self::Search,
            () => Self::Hook,
        }
    }
}

/// Vertices that a search is worth another thread for; fewer of them than `SHARED_SEARCH` are searched by one, fewer than twice as many by
/// two. On 16 cores, against one thread, graphs of 16 to 82 thousand vertices took 1.0 to 2.9 times as long with two to sixteen (two
/// uniform and Kronecker ones of 65 thousand 0.7 to 0.8 times with two), a Kronecker graph of 131 thousand 0.66 times with eight and 0.83
/// times with sixteen.
const SEARCH_SHARE: usize = 1 << 14;
const SHARED_SEARCH: usize = 1 << 16;

/// The threads that hooking is worth sharing among; weighed with more threads than a search, which takes half as long, hooking would seem
/// faster.
fn hook_threads(s: &Stats) -> usize {
    if CcVariant::choose_for(s) == CcVariant::Search {
        search_threads(s)
    } else {
        Some(s.nodes / HOOK_SHARE).filter(|&worth| worth >= 4).unwrap_or(1)
    }
}

fn search_threads(s: &Stats) -> usize {
    match s.nodes {
        n if n < SHARED_SEARCH => 1,
        n if n < 2 * SHARED_SEARCH => 2,
        n => n / SEARCH_SHARE,
    }
}

/// Threads that trees all over memory are hooked by in no more time than by more of them: 16 took 7.2 ms for a shuffled grid of a million vertices.
const SCATTERED_THREADS: f64 = 4.0;

/// How many times as long all allowed threads take for trees all over memory as if they shared them evenly: fewer than a crew leave them to one.
fn scattered(allowed: usize) -> f64 {
    if allowed < FAR_CREW { allowed as f64 } else { (allowed as f64 / SCATTERED_THREADS).max(1.0) }
}

fn nanoseconds(s: &Stats, ordering: Ordering, far: bool) -> f64 {
    let entries = s.entries as f64;
    // Hooking to the first neighbour wants rows before columns, which Cuthill-McKee does not keep.
    if ordering == Ordering::Rcm && mesh_like(s) {
        return 2.5 * entries;
    }
    let scattered = if far { scattered(threads::allowed()) } else { 1.0 };
    0.2 * entries * if mesh_like(s) { gather(far) * 7.0 * scattered } else { 1.0 } + 0.5 * s.nodes as f64
}

impl Fused<CcConfig> for Cpu {
    type Layout = (CcLayout, CcVariant);

    fn variants(&self, graph: &GraphData, _: &CcConfig, _: u32) -> Vec<Candidate> {
        if self.is_reference() {
            return vec![Candidate::definition(graph)];
        }
        let s = graph.stats();
        let best = CcVariant::choose_for(s);
        let cost = |variant| {
            move |ordering, far| {
                let slower = if variant == best { 1.0 } else { 2.0 };
                Some(Cost { build: 0.0, run: slower * nanoseconds(s, ordering, far), why: "CSR" })
            }
        };
        let mut all = on_threads(search_threads(s), in_orders(graph, CcVariant::Search.name(), cost(CcVariant::Search)));
        all.extend(on_threads(hook_threads(s), in_orders(graph, CcVariant::Hook.name(), cost(CcVariant::Hook))));
        on_threads(threads_for_passes(s), all)
    }
    fn layout(&self, graph: &Arranged<Self>, _: &CcConfig, plan: &Plan) -> Result<Option<(CcLayout, CcVariant)>, Error> {
        let variant = if plan.variant() == CcVariant::Hook.name() { CcVariant::Hook } else { CcVariant::Search };
        Ok(lists(graph)?.map(|_| (CcLayout::default(), variant)))
    }
    fn run(&self, graph: &Arranged<Self>, (layout, variant): &(CcLayout, CcVariant), algorithm: &CcConfig) -> Result<Cc, Error> {
        let (out, incoming) = built_lists(graph, "cc")?;
        layout.run_as(out, incoming, algorithm, *variant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_generate::{Control, Generator};

    #[test]
    fn vertices_that_follow_their_neighbours_are_hooked() {
        let variant =
            |graph: &str| CcVariant::choose_for(&Stats::of(&graph.parse::<Generator>().unwrap().generate(&Control::default()).unwrap()));
        // In De Bruijn graphs half of a number is a neighbour of it.
        assert!(variant("debruijn:14") == CcVariant::Hook && variant("mycielskian:11") == CcVariant::Hook);
        assert!(variant("urand:14:16") == CcVariant::Search && variant("kron:14") == CcVariant::Search);
    }
}
