//! One graph for every algorithm: what is built, kept, counted and bounded; what is refused before anything is.

use bitgraph_algorithms::*;
use bitgraph_b2sr::Layout;
use bitgraph_backend::{Candidate, Error, Graph, GraphData, Request, Reuse, Symmetry};
use bitgraph_cpu::Cpu;
use bitgraph_generate::{Control, Generator};
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Csr, FormatKind, Values};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn generated(text: &str) -> Csr {
    text.parse::<Generator>().unwrap().generate(&Control::default()).unwrap()
}

fn weighted(csr: &Csr) -> Graph<Cpu> {
    let weight = |u: usize, v: u32| ((u as u32).min(v) * 7 + (u as u32).max(v)) % 200 + 1;
    let weights: Vec<u32> = (0..csr.nrows()).flat_map(|u| csr.row(u).iter().map(move |&v| weight(u, v))).collect();
    Graph::try_from((csr.clone(), Values::from_vec(weights))).unwrap()
}

#[test]
fn every_algorithm_runs_on_the_same_graph() {
    let graph = weighted(&generated("kron:10"));
    let source = graph.data().max_degree_vertex().unwrap();
    let levels = graph.bfs(source).run().unwrap().levels.unwrap();
    let paths = graph.sssp(source).parents().run::<u32>().unwrap();
    let parts = graph.cc().run().unwrap();
    // Weights were not dropped by the search before: distances are no levels.
    assert!(paths.distances.iter().zip(&levels).any(|(&d, &l)| d != u32::MAX && d != l as u32));
    assert!(paths.distances.iter().zip(&levels).all(|(&d, &l)| (d == u32::MAX) == (l < 0)));
    assert!((graph.pagerank().run::<f64>().unwrap().scores.iter().sum::<f64>() - 1.0).abs() < 1e-6);
    assert_eq!(parts.labels.len(), graph.nodes());
    assert_eq!(graph.tc().run().unwrap().triangles, Graph::try_from(generated("kron:10")).unwrap().tc().run().unwrap().triangles);
    // The same on another backend, which has layouts of its own.
    let other = graph.to(Cpu::reference());
    assert_eq!(other.bytes(), 0);
    assert_eq!(other.bfs(source).run().unwrap().levels.unwrap(), levels);
    assert_eq!(other.sssp(source).run::<u32>().unwrap().distances, paths.distances);
}

#[test]
fn layouts_are_kept_and_counted() {
    let graph = weighted(&generated("kron:14"));
    assert_eq!(graph.bytes(), 0);
    let often = |graph: &Graph<Cpu>| graph.sssp(0).expect_runs(1000).in_type::<u32>().prepare().map(|ready| ready.plan().variant());
    assert_eq!(often(&graph).unwrap(), "packed");
    let (with_sssp, built) = (graph.bytes(), graph.times().prepare);
    assert!(with_sssp > graph.data().bytes());
    // The second preparation finds the first one's layout.
    often(&graph).unwrap();
    assert_eq!((graph.bytes(), graph.times().prepare), (with_sssp, built));
    graph.pagerank().expect_runs(1000).run::<f32>().unwrap();
    let with_ranks = graph.bytes();
    assert!(with_ranks > with_sssp);
    graph.pagerank().expect_runs(1000).run::<f64>().unwrap();
    assert!(graph.bytes() > with_ranks);
}

#[test]
fn a_budget_bounds_what_is_kept() {
    let csr = generated("kron:14");
    let free = weighted(&csr);
    let single = |graph: &Graph<Cpu>| graph.pagerank().expect_runs(1000).run::<f32>().unwrap().scores;
    let double = |graph: &Graph<Cpu>| graph.pagerank().expect_runs(1000).run::<f64>().unwrap().scores;
    let (want, room) = (single(&free), free.bytes() - free.data().csr().bytes());
    // Scores of both types do not fit: the layout that was used longest ago goes.
    let bounded = weighted(&csr).with_budget(2 * room);
    assert_eq!(single(&bounded), want);
    double(&bounded);
    let built = bounded.times().prepare;
    double(&bounded);
    assert_eq!(bounded.times().prepare, built);
    assert_eq!(single(&bounded), want);
    assert!(bounded.times().prepare > built);
    // No room at all: the simplest variant runs, and the plan says why.
    let tight = weighted(&csr).with_budget(1000);
    let algorithm = Typed::<_, u32>::new(SsspConfig::default());
    let ready = tight.prepare(&algorithm, &Request::runs(1000)).unwrap();
    let note = ready.plan().note.clone().unwrap();
    assert!(note.starts_with("the layout of variant packed takes") && note.ends_with("more than the budget of 1000"), "{note}");
    assert_eq!(ready.run(&algorithm).unwrap().distances, free.sssp(0).run::<u32>().unwrap().distances);
}

#[test]
fn layouts_go_by_when_they_were_used_last() {
    let csr = generated("kron:12");
    let graph = || Graph::<Cpu>::try_from(csr.clone()).unwrap();
    let algorithm = Typed::<_, f64>::new(PageRankConfig::default());
    let prepare = |graph: &Graph<Cpu>, variant| {
        let request = Request { variant: Some(variant), ordering: Some(Ordering::None), ..Request::default() };
        graph.prepare(&algorithm, &request).unwrap().plan().clone()
    };
    let bytes = |variant| {
        let graph = graph();
        prepare(&graph, Candidate::DEFINITION);
        let before = graph.bytes();
        prepare(&graph, variant);
        graph.bytes() - before
    };
    let [slices, blocks, cells] = ["slices", "blocks", "cells"].map(bytes);
    assert!(slices > 0 && blocks > 0 && cells > 0);
    let bounded = graph().with_budget(slices + blocks.max(cells));
    let builds = |variant| {
        let before = bounded.times().prepare;
        assert_eq!((prepare(&bounded, variant).note, prepare(&bounded, variant).variant()), (None, variant));
        bounded.times().prepare > before
    };
    assert!(builds("slices") && builds("blocks") && !builds("slices"));
    // There is no room for three: the blocks go.
    assert!(builds("cells") && !builds("slices") && !builds("cells") && builds("blocks"));
    // A layout that fills the budget is kept, and one that is larger by a byte is not.
    assert_eq!(prepare(&graph().with_budget(slices), "slices").note, None);
    let refused = prepare(&graph().with_budget(slices - 1), "slices");
    assert_eq!(refused.note, Some(format!("the layout of variant slices takes {slices} bytes, more than the budget of {}", slices - 1)));
}

#[test]
fn reuse_is_learnt_by_predicted_costs() {
    // What pays depends on the threads.
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(learns);
}

fn learns() {
    let graph = weighted(&generated("kron:14"));
    let variant = |graph: &Graph<Cpu>| graph.sssp(0).in_type::<u32>().prepare().unwrap().plan().variant();
    let first = graph.sssp(0).in_type::<u32>().plan().unwrap();
    assert!(first.learnt && first.runs == 1 && first.variant() == "buckets");
    let better = first.candidates.iter().find(|c| c.variant == "packed" && c.ordering == Ordering::None).unwrap();
    let pays = (better.build_seconds / first.chosen.run_seconds).ceil() as usize;
    let variants: Vec<_> = (0..pays + 2).map(|_| variant(&graph)).collect();
    let switched = variants.iter().position(|v| *v != "buckets").unwrap();
    assert!((1..=pays).contains(&switched), "{switched} of {pays}");
    // Planning counts no run.
    let graph = weighted(&generated("kron:14"));
    (0..pays + 2).for_each(|_| assert_eq!(graph.sssp(0).in_type::<u32>().plan().unwrap().variant(), "buckets"));
}

#[test]
fn variants_are_forced_by_name_and_refused_by_name() {
    let graph = weighted(&generated("grid:40x50"));
    let want = graph.sssp(3).run::<u32>().unwrap().distances;
    for variant in ["buckets", "packed-rows", Candidate::DEFINITION] {
        let search = graph.sssp(3).variant(variant);
        assert_eq!(search.in_type::<u32>().plan().unwrap().variant(), variant);
        assert_eq!(search.run::<u32>().unwrap().distances, want, "{variant}");
    }
    let error = graph.sssp(3).variant("sideways").run::<u32>().unwrap_err().to_string();
    assert_eq!(error, "sssp has no variant sideways for this graph; available: buckets, packed-rows");
    for variant in ["low-degree", "ascending", "ranked", Candidate::DEFINITION] {
        assert_eq!(graph.tc().variant(variant).run().unwrap().triangles, 0, "{variant}");
    }
    for variant in ["search", "hook"] {
        assert_eq!(graph.cc().variant(variant).run().unwrap().components, 1, "{variant}");
    }
    // A format that has no fused form runs the definition, in that format; another order is kept to as well.
    let request = Request { format: Some(FormatKind::B2sr8), ordering: Some(Ordering::Degree), ..Request::default() };
    let ready = graph.prepare(&BfsConfig::default(), &request).unwrap();
    let plan = ready.plan();
    assert_eq!((plan.variant(), plan.format(), plan.ordering()), (Candidate::DEFINITION, FormatKind::B2sr8, Ordering::Degree));
    assert!(plan.to_string().contains("b2sr-8") && plan.to_string().contains("definition"), "{plan}");
    assert_eq!(ready.run(&BfsConfig::default()).unwrap().levels, graph.bfs(0).run().unwrap().levels);
}

#[test]
fn trees_along_arcs_that_add_nothing_are_the_same_in_every_order() {
    // Of vertices at one distance most have several neighbours that are as near to what is nearer.
    for text in ["grid:14x11@3", "kron:7"] {
        let csr = generated(text);
        let weight = |u: usize, v: u32| u8::from((u as u32).min(v).is_multiple_of(29));
        let weights: Vec<u8> = (0..csr.nrows()).flat_map(|u| csr.row(u).iter().map(move |&v| weight(u, v))).collect();
        let graph = Graph::<Cpu>::try_from((csr.clone(), Values::from_vec(weights))).unwrap();
        let algorithm = Typed::<_, u32>::new(SsspConfig { source: 3, parents: true, ..SsspConfig::default() });
        let tree = |variant, ordering| {
            let request = Request { variant: Some(variant), ordering: Some(ordering), ..Request::default() };
            let ready = graph.prepare(&algorithm, &request).unwrap();
            assert_eq!((ready.plan().variant(), ready.plan().ordering()), (variant, ordering));
            let found = ready.run(&algorithm).unwrap();
            (found.distances, found.parents.unwrap())
        };
        let wanted = tree(Candidate::DEFINITION, Ordering::None);
        for ordering in Ordering::ALL {
            for variant in ["buckets", Candidate::DEFINITION] {
                assert_eq!(tree(variant, ordering), wanted, "{text}, {variant} in order {ordering}");
            }
        }
    }
}

#[test]
fn graphs_are_made_of_edges() {
    let graph = Graph::from_edges([(0, 1), (1, 2), (2, 0), (2, 0)]).nodes(7).undirected().build().unwrap();
    assert_eq!((graph.nodes(), graph.edges(), graph.is_symmetric()), (7, 6, true));
    assert_eq!((graph.tc().run().unwrap().triangles, graph.cc().run().unwrap().components), (1, 5));
    let roads = [(0, 1, 4.0f32), (0, 2, 1.0), (2, 1, 2.0), (1, 3, 5.0)];
    let graph = Graph::from_edges(roads.map(|r| (r.0, r.1))).weights(roads.map(|r| r.2)).order(Ordering::Degree).build().unwrap();
    assert!(!graph.is_symmetric());
    assert_eq!(graph.sssp(0).run::<f32>().unwrap().distances, [0.0, 3.0, 1.0, 8.0]);
    assert_eq!(graph.bfs(0).parents().deterministic().run().unwrap().parents.unwrap(), [0, 0, 0, 1]);
    assert_eq!(graph.bfs(3).parents().run().unwrap().parents.unwrap(), [UNREACHED, UNREACHED, UNREACHED, 3]);
    let text = |graph: Result<Graph<Cpu>, Error>| graph.unwrap_err().to_string();
    assert_eq!(text(Graph::from_edges([(0, 9)]).nodes(4).build()), "vertex 9 is out of range: the graph has 4 vertices, numbered from 0");
    let short = Graph::from_edges([(0, 1), (1, 0)]).weights([1u8]).build();
    assert_eq!(text(short), "graph: list of weights has 1 elements where 2 are needed");
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_built() {
    let graph = Graph::<Cpu>::try_from(generated("grid:4x4")).unwrap();
    let text = |error: Error| error.to_string();
    assert_eq!(text(graph.bfs(16).run().unwrap_err()), "vertex 16 is out of range: the graph has 16 vertices, numbered from 0");
    assert_eq!(text(graph.pagerank().damping(2.0).run::<f32>().unwrap_err()), "damping is 2; it must be between 0 and 1");
    assert_eq!(graph.bytes(), 0);
    let directed = Graph::from_edges([(0, 1), (1, 2)]).build().unwrap();
    assert_eq!(text(directed.tc().run().unwrap_err()), "tc needs an undirected graph; symmetrize this directed one first");
    let claimed = GraphData::new(Layout::Csr(directed.data().csr().clone()), None, Symmetry::Symmetric, None).unwrap_err();
    assert_eq!(text(claimed), "the graph was said to be undirected, but edge 0 -> 1 has no opposite");
    let oblong = Graph::<Cpu>::try_from(Csr::empty(2, 3).unwrap()).unwrap_err();
    assert_eq!(text(oblong), "a graph needs a square matrix, this one is 2 x 3");
    // Weights that only shortest paths refuse.
    let bad = Graph::from_edges([(0, 1), (1, 0)]).weights([-1.0f32, 2.0]).build().unwrap();
    assert_eq!(bad.cc().run().unwrap().components, 1);
    assert_eq!(text(bad.sssp(0).run::<f32>().unwrap_err()), "edge 0 -> 1 has weight -1: shortest paths need weights of 0 or more");
}

#[test]
fn weights_that_differ_by_direction_leave_the_pattern_undirected() {
    let graph = Graph::from_edges([(0, 1), (1, 0), (1, 2), (2, 1)]).weights([1u32, 9, 2, 7]).build().unwrap();
    assert!(graph.is_symmetric() && !graph.data().is_symmetric_with_values());
    assert_eq!(graph.tc().run().unwrap().triangles, 0);
    assert_eq!(graph.sssp(0).run::<u32>().unwrap().distances, [0, 1, 3]);
    assert_eq!(graph.sssp(2).run::<u32>().unwrap().distances, [16, 7, 0]);
    for format in FormatKind::ALL {
        let request = Request { reuse: Reuse::Runs(5), ..Request::forced(format, Ordering::Degree) };
        let algorithm = Typed::<_, u32>::new(SsspConfig { source: 2, ..SsspConfig::default() });
        assert_eq!(graph.prepare(&algorithm, &request).unwrap().run(&algorithm).unwrap().distances, [16, 7, 0]);
        assert_eq!(graph.prepare(&CcConfig::default(), &request).unwrap().run(&CcConfig::default()).unwrap().components, 1);
        assert_eq!(graph.prepare(&TcConfig::default(), &request).unwrap().run(&TcConfig::default()).unwrap().triangles, 0);
        let ranks = Typed::<_, f64>::new(PageRankConfig::default());
        assert!(graph.prepare(&ranks, &request).unwrap().run(&ranks).unwrap().converged);
    }
}

/// A run that was stopped before it began is an error, whatever in-edges it wanted, and the next one finds what it built.
#[test]
fn a_stopped_run_on_a_directed_graph_is_an_error() {
    let csr = generated("kron:8").filter_with_positions(|row, column| row < column).0;
    let control = Control::default().with_cancel(Arc::new(AtomicBool::new(true)));
    for backend in [Cpu::new(), Cpu::reference()] {
        for format in FormatKind::ALL {
            let data = GraphData::new(Layout::from_csr(&csr, format), None, Symmetry::Directed, None).unwrap();
            let graph = Graph::new(backend, data);
            let expected = Some(Error::Cancelled);
            assert_eq!(graph.bfs(0).control(control.clone()).run().err(), expected, "{format}");
            assert_eq!(graph.sssp(0).control(control.clone()).run::<u32>().err(), expected, "{format}");
            assert_eq!(graph.pagerank().control(control.clone()).run::<f32>().err(), expected, "{format}");
            assert_eq!(graph.cc().control(control.clone()).run().err(), expected, "{format}");
            assert_eq!(graph.cc().run().unwrap().labels.len(), csr.nrows());
        }
    }
}
