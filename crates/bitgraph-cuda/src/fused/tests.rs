//! Every variant forced through a graph: the plan names it, the layout reports it, and its results are those of plain loops. On the host
//! shim (or a GPU, where there is one).

use super::{bfs, cc, msbfs, pagerank, product, sssp, tc};
use crate::device::testing::{hold, out_of_memory, small_device};
use crate::{Cuda, Error};
use bitgraph_algorithms::{
    BfsConfig, BfsOutput, CcConfig, ComponentsOfGraph, MsBfsConfig, PageRankConfig, PathsOfGraph, Product, RankGraph, SearchGraph,
    SsspConfig, TcConfig, Typed,
};
use bitgraph_b2sr::Layout;
use bitgraph_backend::{Algorithm, Candidate, Definition, Error as Base, Fused, Graph, GraphData, Ready, Request, Symmetry};
use bitgraph_generate::{Control, Generator};
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Coo, Csr, Duplicates, FormatKind, Values};
use bitgraph_testkit::reference;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn cuda() -> Option<Cuda> {
    Cuda::open(0).map_err(|error| eprintln!("skipped: {error}")).ok()
}

fn generated(generator: &str) -> Csr {
    let generator: Generator = generator.parse().unwrap();
    generator.generate(&Control::default()).unwrap()
}

/// A star on a path, whose leaves are one hop from the hub.
fn star(n: u32) -> Csr {
    let (rows, columns) = (1..n).map(|v| (0, v)).chain((2..n).map(|v| (v - 1, v))).unzip();
    Coo { mirrored: true, ..Coo::pattern(n as usize, n as usize, rows, columns) }.into_csr(Duplicates::First).unwrap().0
}

fn graphs() -> Vec<(&'static str, Csr)> {
    vec![
        ("grid", generated("grid:20x30")),
        ("renumbered grid", generated("grid:24x25@3")),
        ("random", generated("urand:300:4")),
        ("kronecker", generated("kron:9:8")),
        ("star", star(400)),
    ]
}

fn graph(cuda: &Cuda, csr: &Csr, values: Option<Values>) -> Graph<Cuda> {
    Graph::new(cuda.clone(), GraphData::new(csr.clone().into(), values, Symmetry::Find, None).unwrap())
}

/// A weight of 1 to 9 for every entry, the same in both directions.
fn weights(csr: &Csr) -> Vec<u32> {
    (0..csr.nrows() as u32).flat_map(|u| csr.row(u as usize).iter().map(move |&v| (u ^ v).wrapping_mul(7) % 9 + 1)).collect()
}

/// Runs every variant on every graph that it suits, and asserts that each suited one, those in `missing` left out.
fn every_variant<A: Algorithm>(
    names: &[&'static str],
    missing: &[&str],
    algorithm: &A,
    graphs: &[(&'static str, Graph<Cuda>)],
    variant_of: impl Fn(&<Cuda as Fused<A>>::Layout) -> &'static str,
    check: impl Fn(&'static str, &Ready<Cuda, A>),
) where
    Cuda: Fused<A>,
{
    let mut entered = BTreeSet::new();
    for (name, graph) in graphs {
        for &variant in names {
            let request = Request { variant: Some(variant), ..Request::runs(100) };
            let ready = match graph.prepare(algorithm, &request) {
                Err(Error::Base(Base::NoVariant { variant: asked, available, .. })) => {
                    assert_eq!(asked, variant);
                    assert!(available.contains("general") || available.contains("rows"), "{available}");
                    continue;
                }
                other => other.unwrap(),
            };
            assert_eq!(ready.plan().variant(), variant, "{name}");
            // A layout says so where the device finds what counts do not tell.
            if variant_of(ready.layout().unwrap()) == variant {
                entered.insert(variant);
            }
            check(name, &ready);
        }
    }
    let wanted: BTreeSet<&str> = names.iter().copied().filter(|n| !missing.contains(n)).collect();
    assert_eq!(entered, wanted);
}

fn plain(cuda: &Cuda) -> Vec<(&'static str, Graph<Cuda>)> {
    graphs().into_iter().map(|(name, csr)| (name, graph(cuda, &csr, None))).collect()
}

#[test]
fn breadth_first_searches() {
    let Some(cuda) = cuda() else { return };
    let config = BfsConfig { source: 7, output: BfsOutput::Both, ..BfsConfig::default() };
    every_variant(
        bfs::VARIANTS,
        &[],
        &config,
        &plain(&cuda),
        |l| l.variant().name(),
        |name, ready| {
            let csr = ready.arranged().matrix().to_host().unwrap().0;
            let found = ready.run(&config).unwrap();
            assert_eq!(found.levels, Some(reference::levels(&csr, 7)), "{name}");
            reference::validate_parents(&csr, 7, &found.parents.unwrap()).unwrap();
        },
    );
    let many = MsBfsConfig { sources: vec![3, 7, 3], levels: true, ..MsBfsConfig::default() };
    every_variant(
        msbfs::VARIANTS,
        &[],
        &many,
        &plain(&cuda),
        |l| l.variant().name(),
        |name, ready| {
            let csr = ready.arranged().matrix().to_host().unwrap().0;
            let levels = many.sources.iter().flat_map(|&s| reference::levels(&csr, s)).collect::<Vec<_>>();
            assert_eq!(ready.run(&many).unwrap().levels, Some(levels), "{name}");
        },
    );
}

#[test]
fn shortest_paths() {
    let Some(cuda) = cuda() else { return };
    let config = Typed::<_, u32>::new(SsspConfig { source: 7, ..SsspConfig::default() });
    let check = |name: &'static str, ready: &Ready<Cuda, Typed<SsspConfig, u32>>| {
        let (csr, values) = ready.arranged().matrix().to_host().unwrap();
        let weights = values.as_ref().map(|v| v.as_slice::<u32>().unwrap());
        assert_eq!(ready.run(&config).unwrap().distances, reference::dijkstra(&csr, weights, 7), "{name}");
    };
    let weighted: Vec<_> = graphs().into_iter().map(|(n, g)| (n, graph(&cuda, &g, Some(Values::from_vec(weights(&g)))))).collect();
    let (steps, rest): (Vec<&str>, Vec<&str>) = sssp::VARIANTS.iter().partition(|v| v.starts_with("steps"));
    every_variant(sssp::VARIANTS, &steps, &config, &weighted, |l| l.variant().name(), check);
    let rest: Vec<&str> = rest.into_iter().filter(|&v| v != "general").collect();
    every_variant(sssp::VARIANTS, &rest, &config, &plain(&cuda), |l| l.variant().name(), check);
}

#[test]
fn page_ranks() {
    let Some(cuda) = cuda() else { return };
    let config = Typed::<_, f32>::new(PageRankConfig { tolerance: 0.0, max_iterations: 9, ..PageRankConfig::default() });
    // The host shim has fewer multiprocessors than a core has columns.
    let missing: &[&str] = if cuda.device().properties().sms < 6 { &["core"] } else { &[] };
    every_variant(
        pagerank::VARIANTS,
        missing,
        &config,
        &plain(&cuda),
        |l| l.variant().name(),
        |name, ready| {
            let csr = ready.arranged().matrix().to_host().unwrap().0;
            let parameters = reference::PageRankParameters { tolerance: 0.0, max_iterations: 9, ..Default::default() };
            let (wanted, _) = reference::pagerank(&csr, &parameters);
            let found = ready.run(&config).unwrap().scores;
            let error: f64 = wanted.iter().zip(&found).map(|(a, &b)| (a - f64::from(b)).abs()).sum();
            assert!(error < 1e-5, "{name}: off by {error}");
        },
    );
    // What only the general form takes is planned for it.
    let (_, grid) = &plain(&cuda)[0];
    let personal = Typed::<_, f32>::new(PageRankConfig { personalization: Some(vec![(3, 1.0)]), ..PageRankConfig::default() });
    let ready = grid.prepare(&personal, &Request::runs(1000)).unwrap();
    assert_eq!((ready.plan().variant(), ready.layout().unwrap().variant().name()), ("general", "general"));
    assert_ne!(grid.prepare(&config, &Request::runs(1000)).unwrap().plan().variant(), "general");
}

#[test]
fn components_and_triangles() {
    let Some(cuda) = cuda() else { return };
    let config = CcConfig::default();
    every_variant(
        cc::VARIANTS,
        &[],
        &config,
        &plain(&cuda),
        |l| l.variant().name(),
        |name, ready| {
            let csr = ready.arranged().matrix().to_host().unwrap().0;
            assert_eq!(ready.run(&config).unwrap().labels, reference::components(&csr), "{name}");
        },
    );
    let config = TcConfig::default();
    every_variant(
        tc::VARIANTS,
        &[],
        &config,
        &plain(&cuda),
        |l| l.variant().name(),
        |name, ready| {
            let csr = ready.arranged().matrix().to_host().unwrap().0;
            assert_eq!(ready.run(&config).unwrap().triangles, reference::triangles(&csr), "{name}");
        },
    );
}

#[test]
fn products() {
    let Some(cuda) = cuda() else { return };
    let x = |n: usize| (0..n).map(|i| (i % 7) as f32 - 2.0).collect::<Vec<_>>();
    for (name, csr) in graphs() {
        let one = [(name, graph(&cuda, &csr, None))];
        let product = Product { x: x(csr.nrows()) };
        let wanted: Vec<f32> = (0..csr.nrows()).map(|v| csr.row(v).iter().map(|&u| product.x[u as usize]).sum()).collect();
        every_variant(
            product::VARIANTS,
            &[],
            &product,
            &one,
            |l| l.variant().name(),
            |name, ready| {
                // Small whole numbers, exact in f32.
                assert_eq!(ready.run(&product).unwrap(), wanted, "{name}");
                assert!(ready.layout().unwrap().bytes() > 0 || ready.plan().variant() == "rows");
            },
        );
        let plan = one[0].1.plan(&product, &Request::runs(1)).unwrap();
        assert_eq!(plan.variant(), Candidate::DEFINITION);
    }
}

#[test]
fn what_is_chosen_is_what_runs() {
    let Some(cuda) = cuda() else { return };
    let grid = graph(&cuda, &generated("grid:60x80"), None);
    let config = BfsConfig::default();
    // One run pays for nothing, many do.
    assert_eq!(grid.plan(&config, &Request::runs(1)).unwrap().variant(), "general");
    let ready = grid.prepare(&config, &Request::runs(1000)).unwrap();
    assert_eq!(ready.plan().variant(), ready.layout().unwrap().variant().name());
    assert!(["slices", "block", "queue"].contains(&ready.plan().variant()), "{}", ready.plan());
    let ranks = Typed::<_, f32>::new(PageRankConfig::default());
    let before = grid.bytes();
    let layout = grid.prepare(&ranks, &Request::runs(1000)).unwrap();
    assert!(layout.layout().unwrap().bytes() > 0);
    assert_eq!(grid.bytes(), before + layout.layout().unwrap().bytes());
    // Definitions alone, where fused forms are left out.
    let reference = graph(&cuda.without_fused_forms(), &generated("grid:5x6"), None);
    assert_eq!(reference.prepare(&config, &Request::runs(1000)).unwrap().plan().variant(), Candidate::DEFINITION);
}

#[test]
fn a_transpose_counts_once() {
    let Some(cuda) = cuda() else { return };
    let (rows, columns) = (1..300u32).map(|v| (v / 2, v)).unzip();
    let csr = Coo::pattern(300, 300, rows, columns).into_csr(Duplicates::First).unwrap().0;
    let tree = graph(&cuda, &csr, None);
    let ready = tree.prepare(&BfsConfig::default(), &Request::runs(1)).unwrap();
    let matrix = ready.arranged().matrix();
    assert_eq!(tree.bytes(), 2 * matrix.bytes() + ready.layout().unwrap().bytes());
}

/// Arcs from smaller to larger vertices.
fn directed() -> Csr {
    generated("kron:9:8").filter_with_positions(|row, column| row < column).0
}

/// Runs an algorithm on a directed graph that is laid out, without and with memory; gives what it found.
fn starved<A: Definition<Cuda>>(cuda: &Cuda, graph: &Graph<Cuda>, format: FormatKind, algorithm: &A) -> A::Output
where
    Cuda: Fused<A>,
{
    let request = Request::forced(format, Ordering::None);
    let run = || graph.prepare(algorithm, &request)?.run(algorithm);
    let held = hold(cuda.device(), 1 << 10);
    assert!(out_of_memory(run()), "{} on {format}", A::NAME);
    drop(held);
    run().unwrap()
}

#[test]
fn no_memory_for_in_edges_is_an_error_of_the_algorithm() {
    let Some(device) = small_device(1 << 22) else { return };
    let (cuda, csr) = (Cuda::on(device), directed());
    let (levels, labels) = (reference::levels(&csr, 0), reference::components(&csr));
    for backend in [cuda.clone(), cuda.without_fused_forms()] {
        for format in [FormatKind::Csr, FormatKind::B2sr8] {
            let fresh = || {
                let data = GraphData::new(Layout::from_csr(&csr, format), None, Symmetry::Directed, None).unwrap();
                let graph = Graph::new(backend.clone(), data);
                graph.arranged().unwrap();
                graph
            };
            assert_eq!(starved(&cuda, &fresh(), format, &BfsConfig::default()).levels.unwrap(), levels);
            assert_eq!(starved(&cuda, &fresh(), format, &CcConfig::default()).labels, labels);
            let ranks = starved(&cuda, &fresh(), format, &Typed::<_, f64>::new(PageRankConfig::default()));
            assert!((ranks.scores.iter().sum::<f64>() - 1.0).abs() < 1e-6);
            let paths = starved(&cuda, &fresh(), format, &Typed::<_, u32>::new(SsspConfig::default()));
            assert!(paths.distances.iter().zip(&levels).all(|(&d, &l)| if l < 0 { d == u32::MAX } else { d == l as u32 }));
        }
    }
}

/// A run that was stopped before it began has no result, whatever in-edges it made.
#[test]
fn a_stopped_run_on_a_directed_graph_is_an_error() {
    fn stopped<T>(result: crate::Result<T>) -> bool {
        matches!(result.err(), Some(Error::Base(Base::Cancelled)))
    }
    let Some(cuda) = cuda() else { return };
    let control = Control::default().with_cancel(Arc::new(AtomicBool::new(true)));
    for backend in [cuda.clone(), cuda.without_fused_forms()] {
        let graph = Graph::new(backend, GraphData::new(directed().into(), None, Symmetry::Directed, None).unwrap());
        assert!(stopped(graph.bfs(0).control(control.clone()).run()));
        assert!(stopped(graph.cc().control(control.clone()).run()));
        assert!(stopped(graph.pagerank().control(control.clone()).run::<f32>()));
        assert!(stopped(graph.sssp(0).control(control.clone()).run::<u32>()));
        assert_eq!(graph.cc().run().unwrap().labels, reference::components(&directed()));
    }
}
