//! The thread pools of callers: of one thread, of more than there are cores, several at once, and one whose run a panic ended in the middle.
//!
//! Invariant: results are those of one thread, whatever the pool, and whatever happened in it before.

use bitgraph_algorithms::*;
use bitgraph_backend::Graph;
use bitgraph_cpu::Cpu;
use bitgraph_generate::{Control, Generator};
use bitgraph_sparse::Values;
use bitgraph_sparse::ordering::Ordering;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// With weights; large enough for several threads.
fn graph(text: &str) -> Graph<Cpu> {
    let csr = text.parse::<Generator>().unwrap().generate(&Control::default()).unwrap();
    let weight = |u: usize, v: u32| ((u as u32).min(v) * 7 + (u as u32).max(v)) % 200 + 1;
    let weights: Vec<u32> = (0..csr.nrows()).flat_map(|u| csr.row(u).iter().map(move |&v| weight(u, v))).collect();
    Graph::try_from((csr, Values::from_vec(weights))).unwrap()
}

struct Results {
    levels: Option<Vec<i32>>,
    distances: Vec<u32>,
    scores: Vec<f64>,
    /// By one plan, whatever the planner would choose.
    sums: Vec<f64>,
    labels: Vec<u32>,
    triangles: u64,
}

fn results(graph: &Graph<Cpu>, control: &Control) -> Results {
    let source = graph.data().max_degree_vertex().unwrap();
    Results {
        levels: graph.bfs(source).control(control.clone()).run().unwrap().levels,
        distances: graph.sssp(source).control(control.clone()).run::<u32>().unwrap().distances,
        scores: graph.pagerank().control(control.clone()).run::<f64>().unwrap().scores,
        sums: graph.pagerank().control(control.clone()).order(Ordering::None).variant("blocks").run::<f64>().unwrap().scores,
        labels: graph.cc().control(control.clone()).run().unwrap().labels,
        triangles: graph.tc().control(control.clone()).run().unwrap().triangles,
    }
}

/// Where two differ. Scores are those of a plan, which sums in an order of its own, and which changes as runs are counted and with the threads
/// that share them; by one plan every bit is the same.
fn difference(a: &Results, b: &Results) -> Option<&'static str> {
    let near = a.scores.iter().zip(&b.scores).all(|(x, y)| (x - y).abs() <= 1e-12);
    let same = [
        ("levels", a.levels.is_some() && a.levels == b.levels),
        ("distances", a.distances == b.distances),
        ("scores", a.scores.len() == b.scores.len() && near),
        ("sums of one plan", a.sums == b.sums),
        ("labels", a.labels == b.labels),
        ("triangles", a.triangles == b.triangles),
    ];
    same.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
}

const GRAPHS: [&str; 3] = ["kron:14", "mesh:40x40x40", "urand:15"];

#[test]
fn any_number_of_threads_gives_the_same() {
    for text in GRAPHS {
        let alone = pool(1).install(|| results(&graph(text), &Control::default()));
        for threads in [2, 16] {
            let found = pool(threads).install(|| results(&graph(text), &Control::default()));
            assert_eq!(difference(&found, &alone), None, "{text}, {threads} threads");
        }
    }
}

#[test]
fn runs_in_several_pools_and_in_one_at_once() {
    let (graph, pools) = (graph("kron:14"), [pool(2), pool(3)]);
    let alone = pools[0].install(|| results(&graph, &Control::default()));
    std::thread::scope(|scope| {
        for k in 0..6 {
            let (graph, alone, pool) = (&graph, &alone, &pools[k % 2]);
            scope.spawn(move || assert_eq!(difference(&pool.install(|| results(graph, &Control::default())), alone), None));
        }
    });
}

/// A callback that fails at its first call, its second, and so on until none is left to fail: each run ends with its panic, and the graph and
/// the pool serve the next.
#[test]
fn a_panic_in_a_callback_leaves_graph_and_pool_usable() {
    for text in GRAPHS {
        let (graph, pool) = (graph(text), pool(3));
        let expected = pool.install(|| results(&graph, &Control::default()));
        for fatal in [0, 1, 7, 40] {
            let calls = Arc::new(AtomicUsize::new(0));
            let counted = calls.clone();
            let control = Control::default().with_progress(move |_| assert!(counted.fetch_add(1, Relaxed) != fatal, "a callback fails"));
            let caught = pool.install(|| catch_unwind(AssertUnwindSafe(|| results(&graph, &control))));
            let called = calls.load(Relaxed);
            assert_eq!(caught.is_err(), called > fatal, "{text}, call {fatal} of {called}");
            assert!(fatal > 1 || called > fatal, "{text}: {called} calls");
            let after = pool.install(|| results(&graph, &Control::default()));
            assert_eq!(difference(&after, &expected), None, "{text}, after call {fatal}");
        }
    }
}
