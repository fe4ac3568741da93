//! What the CPU knows about its own speed: the cost model behind `--format auto` and `--reorder auto`.
//!
//! The rates are nanoseconds of one thread, set by hand from a few runs on one Zen 4: Kronecker and uniform graphs of scale 18, a
//! grid in order and shuffled, a Mycielski graph. No other graph was held out to test them. They are meant to be right about
//! large differences: whether a renumbering turns gathers all over memory into neighbouring ones, and whether building pays over
//! the passes that are left.

use crate::Cpu;
use crate::spmv::SpmvPlan;
use bitgraph_b2sr::{Layout, TileCounts};
use bitgraph_backend::{Algorithm, Candidate, CostModel, StoredCost, Workload};
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Csr, FormatKind, OffsetInt, with_offsets};
use std::collections::HashSet;

/// Rows looked at for locality.
const SAMPLED_ROWS: usize = 2048;
/// Sampled rows for tile counts.
const SAMPLED_BANDS: usize = 1024;
/// Vertices that the diameter probe looks for.
const PROBED: usize = 4096;
/// Neighbours further apart than this share of the vertices are gathered from anywhere.
const FAR: f64 = 0.02;
/// Fewer vertices than this are in the near caches whatever their order.
const NEAR_CACHE: f64 = 65_536.0;
/// Fewer vertices than this have their bits in the first cache.
const NEAR_BITS: f64 = 262_144.0;

/// What is measured of a graph before anything is predicted.
#[derive(Clone, Debug)]
pub struct GraphProfile {
    nodes: f64,
    entries: f64,
    /// The mean number of entries of a row.
    degree: f64,
    /// The largest number of entries of a row.
    largest: f64,
    /// The share of sampled entries whose ends are far apart.
    far: f64,
    /// Whether entries have values: shortest paths are a breadth-first search otherwise.
    weighted: bool,
    /// Whether a search spreads as in a plane or in space, rather than as in a random graph.
    spreads_slowly: bool,
    /// The costs of float sums in the given order, for the workloads made of them.
    sums: Option<SpmvPlan>,
    /// Sampled tile counts, for products with bit vectors.
    tiles: Option<TileCounts>,
}

impl GraphProfile {
    /// No hubs and few neighbours: a mesh or a road network, which has a numbering that keeps neighbours together.
    fn mesh_like(&self) -> bool {
        self.spreads_slowly && self.largest <= 64.0 && self.largest <= 8.0 * self.degree.max(1.0)
    }
    /// Hubs: degrees are skewed.
    fn skewed(&self) -> bool {
        self.largest > 16.0 * self.degree
    }
    /// Whether gathers go all over memory.
    fn scattered(&self) -> bool {
        self.far > 0.25 && self.nodes > NEAR_CACHE
    }
}

/// Whether the pattern is a mesh whose numbering puts neighbours anywhere: one that renumbering makes local.
pub(crate) fn scattered_mesh(csr: &Csr) -> bool {
    let shape = Workload::once(Algorithm::Bfs);
    let profile = Cpu::new().profile(csr, true, false, &shape);
    profile.scattered() && profile.mesh_like()
}

/// The share of entries (i, j) with |i - j| above [`FAR`] of the rows, over evenly spaced rows.
fn far_share(csr: &Csr) -> f64 {
    let rows = csr.nrows();
    let step = (rows / SAMPLED_ROWS).max(1);
    let bound = (rows as f64 * FAR) as u32;
    let (mut far, mut all) = (0u64, 0u64);
    for i in (0..rows).step_by(step) {
        // A long row says no more than its first entries.
        for &j in csr.row(i).iter().take(64) {
            far += u64::from(j.abs_diff(i as u32) > bound);
            all += 1;
        }
    }
    if all == 0 { 0.0 } else { far as f64 / all as f64 }
}

/// The diameter probe: whether a search needs clearly more levels to meet [`PROBED`] vertices than it would in a random graph
/// of the same mean degree, where every level is a factor of the degree. From two vertices; false for smaller components.
fn spreads_slowly(csr: &Csr) -> bool {
    let n = csr.nrows();
    let degree = csr.nnz() as f64 / n.max(1) as f64;
    let random = (PROBED as f64).ln() / (degree - 1.0).max(1.5).ln();
    let levels = |source: usize| {
        let mut seen = HashSet::from([source as u32]);
        let (mut front, mut levels) = (vec![source as u32], 0u32);
        while !front.is_empty() && seen.len() < PROBED {
            let mut next = Vec::new();
            for &v in &front {
                // A hub shows that this is no mesh.
                next.extend(csr.row(v as usize).iter().take(256).copied().filter(|&u| seen.insert(u)));
            }
            front = next;
            levels += 1;
        }
        (seen.len() >= PROBED).then_some(levels)
    };
    n > 2 * PROBED && [n / 3, 2 * n / 3].into_iter().filter_map(levels).max().is_some_and(|l| f64::from(l) > 1.6 * random + 2.0)
}

impl CostModel for Cpu {
    type Profile = GraphProfile;

    fn profile(&self, csr: &Csr, _symmetric: bool, weighted: bool, workload: &Workload) -> GraphProfile {
        let (nodes, entries) = (csr.nrows() as f64, csr.nnz() as f64);
        let largest = with_offsets!(csr.offsets(), o => o.windows(2).map(|w| w[1].index() - w[0].index()).max().unwrap_or(0));
        let passes = workload.passes.saturating_mul(workload.iterations);
        let float = matches!(workload.algorithm, Algorithm::PageRank | Algorithm::MxvFloat);
        let tiles = workload.algorithm == Algorithm::MxvBool;
        GraphProfile {
            nodes,
            entries,
            degree: entries / nodes.max(1.0),
            largest: largest as f64,
            far: far_share(csr),
            weighted,
            spreads_slowly: largest <= 64 && spreads_slowly(csr),
            sums: float.then(|| SpmvPlan::new(csr, passes)),
            tiles: tiles.then(|| TileCounts::sampled(csr, SAMPLED_BANDS, 1)),
        }
    }

    fn predict(
        &self,
        profile: &GraphProfile,
        workload: &Workload,
        ordering: Ordering,
        format: FormatKind,
        prepared: bool,
    ) -> Option<Candidate> {
        let p = profile;
        // What a renumbering does to the distance between neighbours.
        let scattered = match ordering {
            Ordering::Rcm if p.mesh_like() => false,
            _ => p.scattered(),
        };
        let order_ns = match ordering {
            Ordering::None => 0.0,
            Ordering::Degree => 8.0 * p.entries + 5.0 * p.nodes,
            Ordering::Rcm => 25.0 * p.entries + 60.0 * p.nodes,
            Ordering::Community => 80.0 * p.entries + 200.0 * p.nodes,
        };
        let cost = match format {
            FormatKind::Csr => lists(p, workload, ordering, scattered, prepared)?,
            _ => tiles(p, workload, format, prepared)?,
        };
        // A renumbering that changes nothing the model can see costs what it costs; by degree it spoils an order that is local already.
        let spoilt = if ordering == Ordering::Degree && !p.scattered() && p.mesh_like() { 3.0 } else { 1.0 };
        let threads = rayon::current_num_threads() as f64;
        Some(Candidate {
            ordering,
            format,
            prepared,
            build_seconds: 1e-9 * (order_ns + cost.build_ns / threads),
            run_seconds: 1e-9 * spoilt * cost.run_ns / threads,
            why: format!("{}; {}", cost.why, if scattered { "neighbours far apart" } else { "neighbours near" }),
        })
    }

    /// Products alone run on tiles; the algorithms' fused forms work on lists.
    fn predict_stored(&self, layout: &Layout, workload: &Workload) -> Option<StoredCost> {
        let (tiles, listed) = layout.parts();
        let (tiles, listed, entries) = (tiles as f64, listed as f64, layout.nnz() as f64);
        // What lists take where everything that is gathered is near.
        let (tile_ns, least_ns) = match workload.algorithm {
            Algorithm::MxvBool => (bit_tile_ns(layout.kind()), 0.15),
            Algorithm::MxvFloat => (float_tile_ns(layout.kind()), 0.25),
            _ => return None,
        };
        let seconds = |ns: f64| 1e-9 * ns / rayon::current_num_threads() as f64;
        Some(StoredCost {
            run_seconds: seconds(tiles * tile_ns + listed),
            lists_seconds: seconds(3.0 * entries + 6.0 * tiles),
            least_seconds: seconds(least_ns * entries),
        })
    }
}

/// The nanoseconds of one tile in a product with a bit vector: its words come in order, the vector's from wherever. Tiles of 8 have a
/// vector form.
fn bit_tile_ns(format: FormatKind) -> f64 {
    match format {
        FormatKind::B2sr4 => 1.6,
        FormatKind::B2sr8 | FormatKind::Hybrid => 0.42,
        FormatKind::B2sr16 => 2.4,
        FormatKind::B2sr32 | FormatKind::Csr => 7.0,
    }
}

/// The nanoseconds of one tile in a sum of floats.
fn float_tile_ns(format: FormatKind) -> f64 {
    match format {
        FormatKind::B2sr4 => 1.2,
        FormatKind::B2sr8 | FormatKind::Hybrid => 2.7,
        FormatKind::B2sr16 | FormatKind::B2sr32 | FormatKind::Csr => 60.0,
    }
}

struct Cost {
    build_ns: f64,
    run_ns: f64,
    why: &'static str,
}

/// Lists, with or without what the fused form builds.
fn lists(p: &GraphProfile, workload: &Workload, ordering: Ordering, scattered: bool, prepared: bool) -> Option<Cost> {
    let gather: f64 = if scattered { 6.0 } else { 1.0 };
    let cost = |build_ns, run_ns, why| Some(Cost { build_ns, run_ns, why });
    let algorithm = if workload.algorithm == Algorithm::Sssp && !p.weighted { Algorithm::Bfs } else { workload.algorithm };
    match algorithm {
        // Low diameter: few arcs are looked at. A mesh is walked whole.
        Algorithm::Bfs if p.skewed() => {
            let run = 0.2 * p.entries + 2.0 * p.nodes;
            if prepared { cost(1.5 * p.entries, 0.5 * run, "heaviest neighbours first") } else { cost(0.0, run, "lists") }
        }
        // A front of a mesh is one run of vertices in the order of Cuthill-McKee, and a vertex a cache line in any other.
        Algorithm::Bfs if !prepared && p.mesh_like() && ordering == Ordering::Rcm => cost(0.0, 2.6 * p.entries, "lists, fronts in line"),
        Algorithm::Bfs if !prepared && p.mesh_like() => {
            let vertex = if p.nodes > NEAR_CACHE { 6.5 } else { 2.6 };
            cost(0.0, vertex * p.entries, "lists")
        }
        Algorithm::Bfs if !prepared => cost(0.0, 0.6 * p.entries + 2.0 * p.nodes, "lists"),
        Algorithm::MsBfs if !prepared => cost(0.0, 60.0 * p.entries, "lists, 512 sources to a step"),
        Algorithm::Sssp if prepared => cost(9.0 * p.entries, 1.2 * p.entries * gather.sqrt() + 4.0 * p.nodes, "sorted, packed arcs"),
        Algorithm::Sssp => cost(1.0 * p.entries, 5.0 * p.entries * gather.sqrt() + 8.0 * p.nodes, "lists"),
        // Hooking to the first neighbour wants rows before columns, which Cuthill-McKee does not keep.
        Algorithm::Cc if !prepared && ordering == Ordering::Rcm && p.mesh_like() => cost(0.0, 2.5 * p.entries, "lists"),
        Algorithm::Cc if !prepared => cost(0.0, 0.2 * p.entries * if p.mesh_like() { gather * 7.0 } else { 1.0 } + 0.5 * p.nodes, "lists"),
        Algorithm::Tc if !prepared => cost(0.0, 8.0 * p.entries * if p.mesh_like() { gather * 0.15 } else { 1.0 }, "intersections"),
        // The layout of sums is chosen by its own plan, for the order at hand; a better order is credited by its gathers.
        Algorithm::PageRank | Algorithm::MxvFloat if prepared => {
            let plan = p.sums.as_ref()?;
            let &(_, build, pass) = plan.costs.iter().find(|c| c.0 == plan.kind)?;
            let better = if p.scattered() && !scattered {
                0.3
            } else if ordering == Ordering::Degree && workload.algorithm == Algorithm::MxvFloat && p.skewed() && p.nodes > NEAR_CACHE {
                // What is read most lies together; PageRank's layout sees to that itself.
                0.75
            } else {
                1.0
            };
            // Milliseconds there, nanoseconds here.
            cost(build * 1e6, f64::from(workload.iterations) * pass * 1e6 * better, plan.kind.name())
        }
        Algorithm::MxvFloat => cost(0.0, p.entries * gather, "lists"),
        // Short rows are looked at whole; longer ones end at a hit, as long as the vector is not nearly empty.
        Algorithm::MxvBool if !prepared => {
            let gather = if scattered && p.nodes > NEAR_BITS { 1.5 } else { 1.0 };
            cost(0.0, p.nodes * (0.5 + 0.27 * gather * p.degree).min(10.0 * gather), "lists")
        }
        _ => None,
    }
}

/// Tiles, for products with bit vectors: the algorithms' fused forms work on lists.
fn tiles(p: &GraphProfile, workload: &Workload, format: FormatKind, prepared: bool) -> Option<Cost> {
    if prepared || workload.algorithm != Algorithm::MxvBool {
        return None;
    }
    let counts = p.tiles.as_ref()?;
    let fill = counts.fill(format);
    // Lists and the hybrid have none.
    if fill == 0.0 {
        return None;
    }
    let tile_ns = bit_tile_ns(format);
    let tiles = p.entries / fill;
    Some(Cost { build_ns: 8.0 * p.entries, run_ns: tiles * tile_ns, why: "bit tiles" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_generate::{GenerateControl, Generator};

    fn profile(graph: &str) -> GraphProfile {
        let csr = graph.parse::<Generator>().unwrap().generate(&GenerateControl::default()).unwrap();
        Cpu::new().profile(&csr, true, false, &Workload::once(Algorithm::Bfs))
    }

    #[test]
    fn meshes_are_told_from_random_graphs() {
        for mesh in ["grid:200x300", "grid:200x300@1", "mesh:30x30x30@1"] {
            assert!(profile(mesh).mesh_like(), "{mesh}");
        }
        for other in ["urand:16", "urand:16:2", "kron:14", "skew:20000:90000", "mycielskian:11", "grid:3x3"] {
            assert!(!profile(other).mesh_like(), "{other}");
        }
        assert!(profile("grid:300x300@1").scattered() && !profile("grid:300x300").scattered());
        assert!(profile("kron:14").skewed());
    }
}
