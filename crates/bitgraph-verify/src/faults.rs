//! Faults on a device: memory that runs out before or in the middle of the work, a graph that does not fit, a run that is stopped. Each ends
//! as an error value, and the device works as before.

use crate::algorithms::Run;
use crate::{Outcome, Report};
use bitgraph::b2sr::Layout;
use bitgraph::cuda::device::{Buffer, EMULATED_MEMORY_VARIABLE};
use bitgraph::cuda::{Error, Result};
use bitgraph::generate::{Control, Generator};
use bitgraph::prelude::*;
use bitgraph_testkit::{Known, NamedGraph};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub(crate) const RING: &str = "faults";
/// Bytes that are left while the rest is held.
const LEFT: [u64; 10] = [0, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 21, 1 << 22, 1 << 23, 1 << 24, 1 << 26];
/// More memory than this is not filled on the host shim, which writes all of it.
const MOST_EMULATED: u64 = 1 << 30;
/// Vertices of the path that a search takes long to walk.
const LONG_PATH: u32 = 2_000_000;

pub(crate) fn run(report: &mut Report, device: &Cuda) {
    // Opened anew: none of its kernels is loaded yet, whatever ran before.
    let opened = Cuda::open(device.device().ordinal());
    let device = match &opened {
        Ok(device) => device,
        Err(error) => return report.skip(RING, "everything", &error.to_string()),
    };
    let emulated = device.device().properties().emulated;
    let (name, generator) = if emulated { ("kron:7", "kron:7") } else { ("kron:14", "kron:14") };
    let csr = match generator.parse::<Generator>().and_then(|g| g.generate(&Control::default())) {
        Ok(csr) => csr,
        Err(error) => return report.skip(RING, "everything", &error.to_string()),
    };
    // Every second arc of it, whose in-edges are arrays of their own.
    let directed = NamedGraph { name: format!("{name}, directed"), csr: upper(&csr), symmetric: false, known: Known::default() };
    let graph = NamedGraph { name: name.into(), csr, symmetric: true, known: Known::default() };
    if emulated && device.device().properties().memory > MOST_EMULATED {
        report.skip(RING, "memory", &format!("the host shim has too much of it; {EMULATED_MEMORY_VARIABLE} sets it"));
    } else {
        memory(report, device, &graph);
        memory(report, device, &directed);
        large(report, device);
    }
    if emulated {
        report.skip(RING, "stopping", "the host shim ends a kernel before anybody can stop it");
    } else {
        stopping(report, device, &graph);
    }
}

fn works(report: &mut Report, device: &Cuda, graph: &NamedGraph, after: &str) {
    for (what, outcome) in every(device, graph) {
        let outcome = outcome.unwrap_or_else(|e| Outcome::Failed(e.to_string()));
        report.check(RING, &format!("{what}, after {after}"), || graph.name.clone(), outcome);
    }
}

fn every(device: &Cuda, graph: &NamedGraph) -> Vec<(&'static str, Result<Outcome>)> {
    let run = Run { backend: device, graph, format: None, ordering: None };
    let mut all = vec![("bfs", run.bfs(1)), ("sssp", run.sssp(1)), ("pagerank", run.pagerank()), ("cc", run.cc())];
    if graph.symmetric {
        all.push(("tc", run.tc()));
    }
    all
}

/// The arcs from a vertex to a larger one.
fn upper(csr: &Csr) -> Csr {
    csr.filter_with_positions(|row, column| column > row).0
}

/// Takes all memory but about `left` bytes.
fn hold(device: &Cuda, left: u64) -> Result<Vec<Buffer<u8>>> {
    let (device, mut held) = (device.device(), Vec::new());
    let mut piece = device.memory()?.free.saturating_sub(left);
    while piece >= 1 << 12 {
        match device.alloc::<u8>(piece as usize) {
            Ok(buffer) => {
                held.push(buffer);
                piece = piece.min(device.memory()?.free.saturating_sub(left));
            }
            Err(Error::OutOfMemory { .. }) => piece /= 2,
            Err(error) => return Err(error),
        }
    }
    Ok(held)
}

/// Every algorithm while hardly any memory is left: right, or the error that says so.
fn memory(report: &mut Report, device: &Cuda, graph: &NamedGraph) {
    let mut refused = 0;
    for left in LEFT {
        let held = match hold(device, left) {
            Ok(held) => held,
            Err(error) => return report.check(RING, "memory", || "holding".into(), Outcome::Failed(error.to_string())),
        };
        for (what, outcome) in every(device, graph) {
            let outcome = match outcome {
                Ok(outcome) => outcome,
                Err(Error::OutOfMemory { .. }) => {
                    refused += 1;
                    Outcome::Passed
                }
                Err(error) => Outcome::Failed(error.to_string()),
            };
            report.check(RING, &format!("{what}, hardly any memory"), || format!("{} bytes left", left), outcome);
        }
        drop(held);
    }
    let outcome = if refused > 0 { Outcome::Passed } else { Outcome::Failed("memory never ran out".into()) };
    report.check(RING, "memory runs out", || graph.name.clone(), outcome);
    works(report, device, graph, "memory ran out");
}

fn large(report: &mut Report, device: &Cuda) {
    let outcome = too_large(device).unwrap_or_else(|e| Outcome::Failed(e.to_string()));
    report.check(RING, "a graph larger than the memory", || "a path".into(), outcome);
}

/// A graph that does not fit is refused before it is uploaded, with both sizes.
fn too_large(device: &Cuda) -> Result<Outcome> {
    let held = hold(device, 1 << 12)?;
    // Eight bytes a vertex at least, and more vertices than bytes are left.
    let csr = path(device.device().memory()?.free.max(1000) as u32)?;
    let used = device.device().memory()?.used;
    let refused = undirected(device, csr)?.bfs(0).run();
    let after = device.device().memory()?.used;
    drop(held);
    Ok(match refused {
        Err(Error::OutOfMemory { wanted, free, .. }) if wanted > free && used == after => Outcome::Passed,
        Err(Error::OutOfMemory { wanted, free, .. }) => {
            Outcome::Failed(format!("{wanted} bytes wanted, {free} free, {used} in use before and {after} after"))
        }
        Err(error) => Outcome::Failed(error.to_string()),
        Ok(_) => Outcome::Failed("it was taken".into()),
    })
}

/// Long runs that are stopped at the first word of progress.
fn stopping(report: &mut Report, device: &Cuda, graph: &NamedGraph) {
    let mut check = |what: &str, stopped: Result<bool>| {
        let outcome = match stopped {
            Ok(true) => Outcome::Passed,
            Ok(false) => Outcome::Failed("it ran to its end".into()),
            Err(error) => Outcome::Failed(error.to_string()),
        };
        report.check(RING, what, || format!("a path of {LONG_PATH} vertices"), outcome);
    };
    check("bfs, stopped", stopped(device, |graph, control| graph.bfs(0).control(control).run().map(drop)));
    check("sssp, stopped", stopped(device, |graph, control| graph.sssp(0).control(control).run::<u32>().map(drop)));
    check(
        "pagerank, stopped",
        stopped(device, |graph, control| graph.pagerank().tolerance(0.0).max_iterations(1_000_000).control(control).run::<f32>().map(drop)),
    );
    works(report, device, graph, "runs were stopped");
}

/// Whether a run on a long path ends with the error of one that was stopped.
fn stopped(device: &Cuda, run: impl FnOnce(&Graph<Cuda>, Control) -> Result<()>) -> Result<bool> {
    let graph = undirected(device, path(LONG_PATH)?)?;
    let flag = Arc::new(AtomicBool::new(false));
    let seen = flag.clone();
    let control = Control::default().with_cancel(flag).with_progress(move |_| seen.store(true, Relaxed));
    match run(&graph, control) {
        Ok(()) => Ok(false),
        Err(Error::Base(bitgraph::backend::Error::Cancelled)) => Ok(true),
        Err(error) => Err(error),
    }
}

fn undirected(device: &Cuda, csr: Csr) -> Result<Graph<Cuda>> {
    let data = GraphData::new(Layout::Csr(csr), None, Symmetry::Symmetric, None).map_err(Error::from)?;
    Ok(Graph::new(device.clone(), data))
}

fn path(vertices: u32) -> Result<Csr> {
    let (n, steps) = (vertices as usize, vertices.max(1) - 1);
    let arcs = Coo::pattern(n, n, (1..=steps).collect(), (0..steps).collect());
    Ok(Coo { mirrored: true, ..arcs }.into_csr(Duplicates::First)?.0)
}
