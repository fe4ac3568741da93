//! Scores against plain power iteration in `f64`: every layout, instruction set and number of threads.

use super::*;
use crate::Cpu;
use bitgraph_algorithms::Typed;
use bitgraph_backend::{Graph, Request};
use bitgraph_sparse::ordering::Ordering as Order;
use bitgraph_testkit::graphs::{Random, directed};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn random(n: usize, arcs: usize, seed: u64) -> Csr {
    let mut random = Random(seed);
    directed(n, (0..arcs).map(|k| (random.below(n), random.below(if k % 3 == 0 { n.div_ceil(20) } else { n }))))
}

/// Scores and residual after exactly `iterations` iterations.
fn reference(out: &Csr, config: &PageRankConfig, iterations: u32) -> (Vec<f64>, f64) {
    let n = out.nrows();
    let p = config.teleport(n).unwrap_or_else(|| vec![1.0 / n as f64; n]);
    let (mut scores, mut residual) = (p.clone(), f64::INFINITY);
    for _ in 0..iterations {
        let lost: f64 = (0..n).filter(|&v| out.degree(v) == 0).map(|v| scores[v]).sum();
        let share = if config.dangling == Dangling::Spread { config.damping * lost } else { 0.0 };
        let mut next: Vec<f64> = p.iter().map(|p| (1.0 - config.damping + share) * p).collect();
        for u in 0..n {
            for &v in out.row(u) {
                next[v as usize] += config.damping * scores[u] / out.degree(u) as f64;
            }
        }
        residual = next.iter().zip(&scores).map(|(a, b)| (a - b).abs()).sum();
        scores = next;
    }
    (scores, residual)
}

fn check<T: Real>(name: &str, out: &Csr, config: &PageRankConfig, tolerance: f64) {
    let incoming = out.transpose();
    let plain = SpmvKind::ALL.map(|kind| PageRankLayout::<T>::build_as(&incoming, &out_degrees(out), kind).unwrap());
    let ordered = PageRankLayout::<T>::build_ordered(&incoming, &out_degrees(out), SpmvKind::Blocks).unwrap();
    for layout in plain.iter().chain([&ordered]) {
        let kind = (layout.kind().name(), layout.order.is_some());
        for isa in Isa::ALL.into_iter().filter(|&l| l <= Isa::detect()) {
            let mut first: Option<PageRank<T>> = None;
            for threads in 1..=3 {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let found = pool.install(|| layout.run_at(config, isa)).unwrap();
                let (scores, residual) = reference(out, config, found.iterations);
                let error: f64 = scores.iter().zip(&found.scores).map(|(a, b)| (a - b.to_f64()).abs()).sum();
                assert!(error <= tolerance, "{name}, {kind:?}, {isa:?}: scores differ by {error}");
                let wrong = (residual - found.residual).abs();
                assert!(wrong <= tolerance || residual == found.residual, "{name}, {kind:?}: residual {}, not {residual}", found.residual);
                assert_eq!(found.converged, found.residual < config.tolerance);
                assert!(found.converged || found.iterations == config.max_iterations);
                assert!(first.get_or_insert_with(|| found.clone()) == &found, "{name}, {kind:?}: {threads} threads differ");
            }
        }
    }
}

#[test]
fn scores_of_random_graphs() {
    for (n, arcs) in [(1, 0), (1, 1), (2, 1), (50, 120), (3001, 9000), (2000, 60_000)] {
        let out = random(n, arcs, 7);
        for dangling in [Dangling::Spread, Dangling::Drop] {
            for personalization in [None, Some(vec![(0, 2.0), (n as u32 / 2, 1.0), (0, 1.0)])] {
                for (tolerance, max_iterations) in [(1e-5, 100), (0.0, 20), (0.0, 1), (0.0, 0), (1e-3, 2)] {
                    let config = PageRankConfig {
                        dangling,
                        personalization: personalization.clone(),
                        tolerance,
                        max_iterations,
                        ..Default::default()
                    };
                    let name = format!("{n} vertices, {arcs} arcs, {max_iterations} iterations");
                    if max_iterations == 20 || arcs < 1000 {
                        check::<f64>(&name, &out, &config, 1e-12);
                    }
                    check::<f32>(&name, &out, &config, 2e-5);
                }
            }
        }
    }
}

#[test]
fn what_is_lost_in_later_parts_is_lost_by_their_own_vertices() {
    let n = 40_000u32;
    let out = random(n as usize, 40_000, 5);
    assert!(PageRankLayout::<f64>::build_as(&out.transpose(), &out_degrees(&out), SpmvKind::Plain).unwrap().matrix.parts().len() > 2);
    // Jumps lead to vertices without arcs alone, each as often as its number says.
    let personalization = (0..n).filter(|&v| out.degree(v as usize) == 0).step_by(7).map(|v| (v, f64::from(v) + 1.0)).collect();
    let config = PageRankConfig { personalization: Some(personalization), tolerance: 0.0, max_iterations: 2, ..Default::default() };
    check::<f64>("lost in parts", &out, &config, 1e-12);
    check::<f32>("lost in parts", &out, &config, 2e-5);
}

#[test]
fn iterations_end_with_the_first_residual_below_the_tolerance() {
    for graph in ["grid:60x60", "grid:300x3", "kron:8", "urand:8"] {
        let out = &graph.parse::<bitgraph_generate::Generator>().unwrap().generate(&Default::default()).unwrap();
        let layout = PageRankLayout::<f64>::build_as(&out.transpose(), &out_degrees(out), SpmvKind::Plain).unwrap();
        for tolerance in [1e-3, 1e-5, 1e-8] {
            let config = PageRankConfig { tolerance, ..PageRankConfig::default() };
            let found = layout.run(&config).unwrap();
            assert!(found.converged && found.residual < tolerance, "{graph}, {tolerance}");
            assert!(reference(out, &config, found.iterations - 1).1 >= tolerance, "{graph}, {tolerance}: {} iterations", found.iterations);
        }
    }
}

#[test]
fn refuses_and_stops() {
    let out = random(40_000, 200_000, 3);
    let layout = PageRankLayout::<f32>::build_as(&out.transpose(), &out_degrees(&out), SpmvKind::Blocks).unwrap();
    let bad = PageRankConfig { damping: 1.5, ..Default::default() };
    assert!(matches!(layout.run(&bad), Err(Error::Parameter { .. })));
    assert!(matches!(PageRankLayout::<f64>::build_as(&out, &[1, 2], SpmvKind::Plain), Err(Error::Shape { .. })));
    let flag = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&flag);
    let control = bitgraph_backend::Control::default().with_cancel(flag).with_progress(move |p| stop.store(p.done == 3, Ordering::Relaxed));
    let config = PageRankConfig { control, tolerance: 0.0, ..Default::default() };
    assert_eq!(layout.run(&config).unwrap_err(), Error::Cancelled);
    let empty = PageRankLayout::<f32>::build_as(&Csr::empty(0, 0).unwrap(), &[], SpmvKind::Cells).unwrap();
    assert!(empty.run(&PageRankConfig::default()).unwrap().scores.is_empty());
}

#[test]
fn a_mesh_numbered_at_random_is_renumbered_where_that_pays() {
    let mesh = "grid:300x300@1".parse::<bitgraph_generate::Generator>().unwrap().generate(&Default::default()).unwrap();
    let graph = Graph::<Cpu>::try_from(mesh).unwrap();
    let ranks = |runs| {
        let config = PageRankConfig { tolerance: 0.0, max_iterations: 20, ..PageRankConfig::default() };
        let algorithm = Typed::<_, f64>::new(config);
        let ready = graph.prepare(&algorithm, &Request::runs(runs)).unwrap();
        (ready.plan().ordering(), ready.plan().variant(), ready.run(&algorithm).unwrap().scores)
    };
    let (once, often) = (ranks(1), ranks(2000));
    assert_eq!((once.0, often.0, often.1), (Order::None, Order::Rcm, SpmvKind::Bands.name()));
    assert!(once.2.iter().zip(&often.2).all(|(a, b)| (a - b).abs() <= 1e-12 * a));
}
