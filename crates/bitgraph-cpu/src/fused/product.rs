//! Repeated products with a graph's matrix: which layout of sums or bits they run on.

use crate::Cpu;
use crate::rates::{Cost, NEAR_CACHE, hubs, in_orders, scattered};
use crate::spmv::{SpmvKind, SpmvLayout, SpmvPlan};
use bitgraph_algorithms::{Factor, Product};
use bitgraph_b2sr::Layout;
use bitgraph_backend::{Arranged, Candidate, Definition, Error, Fused, GraphData, Mxv, Plan, StoredCost};
use bitgraph_semiring::DType;
use bitgraph_sparse::FormatKind;
use bitgraph_sparse::ordering::Ordering;

/// Fewer vertices than this have their bits in the first cache.
const NEAR_BITS: usize = 262_144;
/// The variant of products over a format as it is.
const PLAIN: &str = "rows";
/// The variant of products over bit tiles.
const TILES: &str = "tiles";

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

/// Sums of floats of so many bytes: one layout of sums or another.
fn floats(graph: &GraphData, element: usize) -> Vec<Candidate> {
    let s = graph.stats();
    let costs = SpmvPlan::new(graph.csr(), 1, element).costs;
    let mut all = Vec::new();
    for (kind, build, pass) in costs {
        all.extend(in_orders(graph, kind.name(), |ordering, far| {
            let better = match ordering {
                Ordering::Rcm if scattered(s) && !far => 0.3,
                // What is read most lies together.
                Ordering::Degree if hubs(s) && s.nodes > NEAR_CACHE => 0.75,
                _ => 1.0,
            };
            // Milliseconds there, nanoseconds here.
            Some(Cost { build: 1e6 * build, run: 1e6 * pass * better, why: kind.describe() })
        }));
    }
    all
}

/// Products with bits: CSR, or tiles where they are filled.
fn bits(graph: &GraphData) -> Vec<Candidate> {
    let s = graph.stats();
    let mut all = in_orders(graph, PLAIN, |_, far| {
        // Short rows are looked at whole; longer ones end at a hit, as long as the vector is not nearly empty.
        let gather = if far && s.nodes > NEAR_BITS { 1.5 } else { 1.0 };
        Some(Cost { build: 0.0, run: s.nodes as f64 * (0.5 + 0.27 * gather * s.mean_degree).min(10.0 * gather), why: "CSR" })
    });
    for format in FormatKind::ALL.into_iter().filter(|&f| s.fill(f) > 0.0) {
        let run = s.entries as f64 / s.fill(format) * bit_tile_ns(format);
        let tiles = in_orders(graph, TILES, |_, _| Some(Cost { build: 8.0 * s.entries as f64, run, why: "bit tiles" }));
        all.extend(tiles.into_iter().map(|c| Candidate { format, ..c }));
    }
    all
}

impl<T: Factor> Fused<Product<T>> for Cpu
where
    Cpu: Mxv<T::Semiring>,
{
    /// Layouts of sums are kept with the matrix, whose products use them.
    type Layout = ();

    fn variants(&self, graph: &GraphData, _: &Product<T>, _: u32) -> Vec<Candidate> {
        match T::DTYPE {
            _ if self.is_reference() => vec![Candidate::definition(graph)],
            DType::Bool => bits(graph),
            _ => floats(graph, size_of::<T>()),
        }
    }
    fn stored(&self, layout: &Layout, _: &Product<T>) -> Option<StoredCost> {
        let (tiles, listed) = layout.parts();
        let (tiles, listed, entries) = (tiles as f64, listed as f64, layout.nnz() as f64);
        // What CSR takes where everything that is gathered is near.
        let (tile_ns, min_ns) = match T::DTYPE {
            DType::Bool => (bit_tile_ns(layout.kind()), 0.15),
            _ => (float_tile_ns(layout.kind()), 0.25),
        };
        let seconds = |ns: f64| 1e-9 * ns / rayon::current_num_threads() as f64;
        Some(StoredCost {
            variant: TILES,
            run_seconds: seconds(tiles * tile_ns + listed),
            csr_seconds: seconds(3.0 * entries + 6.0 * tiles),
            min_seconds: seconds(min_ns * entries),
        })
    }
    fn layout(&self, graph: &Arranged<Self>, _: &Product<T>, plan: &Plan) -> Result<Option<()>, Error> {
        let kind = SpmvKind::ALL.into_iter().find(|k| k.name() == plan.variant() && *k != SpmvKind::Plain);
        if let (Some(kind), Some(csr)) = (kind, graph.matrix().as_csr()) {
            graph.matrix().keep_sums(SpmvLayout::build(csr, kind));
        }
        Ok(Some(()))
    }
    fn run(&self, graph: &Arranged<Self>, (): &(), algorithm: &Product<T>) -> Result<Vec<T>, Error> {
        algorithm.define(graph)
    }
}
