//! `petgraph`, with its own compressed graph type: all arcs, directed, as its algorithms walk them. Its breadth-first walk visits what
//! it reaches and tells no levels, which is less work than ours does.

use crate::contender::{Answer, Contender, timed};
use crate::task::{Subject, Task};
use anyhow::{Result, anyhow};
use petgraph::Directed;
use petgraph::algo::{connected_components, dijkstra};
use petgraph::csr::Csr;
use petgraph::visit::Bfs;
use std::time::Instant;

type Arcs<W> = Csr<(), W, Directed, u32>;

pub(super) fn contender(subject: &Subject, task: Task) -> Result<Option<Contender>> {
    let source = subject.source;
    Ok(Some(match task {
        Task::Bfs => {
            let (graph, build_seconds) = build(subject, |_| ())?;
            Contender::new("petgraph", build_seconds, move |purpose| {
                let search = || {
                    let (mut walk, mut reached) = (Bfs::new(&graph, source), 0);
                    while walk.next(&graph).is_some() {
                        reached += 1;
                    }
                    Ok(reached)
                };
                timed(purpose, search, |reached| Answer::Search(reached, None))
            })
        }
        Task::Sssp => {
            let (graph, build_seconds) = build(subject, u64::from)?;
            Contender::new("petgraph", build_seconds, move |purpose| {
                let search = || Ok(dijkstra(&graph, source, None, |edge| *edge.weight()));
                timed(purpose, search, |found| Answer::Distances(found.len() as u64, found.values().sum()))
            })
        }
        Task::Cc => {
            let (graph, build_seconds) = build(subject, |_| ())?;
            Contender::new("petgraph", build_seconds, move |purpose| {
                timed(purpose, || Ok(connected_components(&graph)), |count| Answer::Count(count as u64))
            })
        }
        Task::PageRank | Task::Tc | Task::Mxv | Task::Spmm | Task::Signs => return Ok(None),
    }))
}

fn build<W: Clone>(subject: &Subject, weight: impl Fn(u32) -> W) -> Result<(Arcs<W>, f64)> {
    let start = Instant::now();
    let arcs: Vec<(u32, u32, W)> = subject.arcs().map(|(u, v, w)| (u, v, weight(w))).collect();
    let mut graph = Arcs::from_sorted_edges(&arcs).map_err(|_| anyhow!("petgraph does not take the edges as sorted"))?;
    // It knows of no vertices past the largest one with an edge.
    while graph.node_count() < subject.csr().nrows() {
        graph.add_node(());
    }
    Ok((graph, start.elapsed().as_secs_f64()))
}
