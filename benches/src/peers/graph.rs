//! The crate `graph`. It runs as many threads as the process has CPUs for ranks and triangles, and rayon's for the others; its ranks
//! are updated in place and drop dangling mass.

use crate::contender::{Answer, Contender, Purpose, timed};
use crate::task::{CHECK_ITERATIONS, ITERATIONS, Subject, Task};
use anyhow::Result;
use bitgraph_measure::Launches;
use graph::prelude::{
    Components, CsrLayout, DeltaSteppingConfig, DirectedCsrGraph, GraphBuilder, PageRankConfig, UndirectedCsrGraph, WccConfig,
    delta_stepping, global_triangle_count, page_rank, relabel_graph, wcc_afforest_dss,
};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Widths of buckets to choose from; the fastest one on a graph is the peer's.
const WIDTHS: [f32; 4] = [4.0, 16.0, 64.0, 255.0];

pub(super) fn contender(subject: &Subject, task: Task) -> Result<Option<Contender>> {
    Ok(Some(match task {
        Task::PageRank => ranks(subject),
        Task::Sssp => paths(subject)?,
        Task::Cc => components(subject),
        Task::Tc => triangles(subject),
        Task::Bfs | Task::Mxv | Task::Spmm | Task::Signs => return Ok(None),
    }))
}

/// The arcs. Values of vertices, of no size, are what tells the builder the number of vertices.
fn directed(subject: &Subject) -> (DirectedCsrGraph<u32>, f64) {
    let start = Instant::now();
    let builder = GraphBuilder::new().csr_layout(CsrLayout::Sorted).edges(subject.arcs().map(|(u, v, _)| (u, v)));
    let graph = builder.node_values(vec![(); subject.csr().nrows()]).build();
    (graph, start.elapsed().as_secs_f64())
}

fn ranks(subject: &Subject) -> Contender {
    let (graph, build_seconds) = directed(subject);
    Contender::new("graph", build_seconds, move |purpose| {
        let iterations = if purpose == Purpose::Check { CHECK_ITERATIONS } else { ITERATIONS };
        let config = PageRankConfig::new(iterations as usize, 0.0, PageRankConfig::DEFAULT_DAMPING_FACTOR);
        timed(purpose, || Ok(page_rank(&graph, config)), |(scores, _, _)| Answer::Scores(scores))
    })
}

fn components(subject: &Subject) -> Contender {
    let (graph, build_seconds) = directed(subject);
    let n = subject.csr().nrows() as u32;
    Contender::new("graph", build_seconds, move |purpose| {
        timed(
            purpose,
            || Ok(wcc_afforest_dss(&graph, WccConfig::default())),
            |found| Answer::Count((0..n).filter(|&v| found.component(v) == v).count() as u64),
        )
    })
}

fn triangles(subject: &Subject) -> Contender {
    let start = Instant::now();
    let edges = subject.arcs().filter(|(u, v, _)| u < v).map(|(u, v, _)| (u, v));
    let builder = GraphBuilder::new().csr_layout(CsrLayout::Deduplicated).edges(edges);
    let mut graph: UndirectedCsrGraph<u32> = builder.node_values(vec![(); subject.csr().nrows()]).build();
    relabel_graph::<u32, _, ()>(&mut graph);
    let build_seconds = start.elapsed().as_secs_f64();
    Contender::new("graph", build_seconds, move |purpose| timed(purpose, || Ok(global_triangle_count(&graph)), Answer::Count))
}

fn paths(subject: &Subject) -> Result<Contender> {
    let start = Instant::now();
    let arcs = subject.arcs().map(|(u, v, weight)| (u, v, weight as f32));
    let builder = GraphBuilder::new().csr_layout(CsrLayout::Sorted).edges_with_values(arcs);
    let graph: DirectedCsrGraph<u32, (), f32> = builder.node_values(vec![(); subject.csr().nrows()]).build();
    let build_seconds = start.elapsed().as_secs_f64();
    let source = subject.source as usize;
    let run = move |purpose, width: f32| {
        let config = DeltaSteppingConfig::new(source, width);
        timed(
            purpose,
            || Ok(delta_stepping(&graph, config)),
            |distances| {
                let finite = || distances.iter().map(|d| d.load(Ordering::Relaxed)).filter(|&d| d < f32::MAX);
                Answer::Distances(finite().count() as u64, finite().map(|d| d as u64).sum())
            },
        )
    };
    let mut best = (f64::INFINITY, WIDTHS[0]);
    for width in WIDTHS {
        let seconds = run(Purpose::Time(Launches::One), width)?.seconds;
        if seconds < best.0 {
            best = (seconds, width);
        }
    }
    let width = best.1;
    Ok(Contender::new(format!("graph, delta {width}"), build_seconds, move |purpose| run(purpose, width)))
}
