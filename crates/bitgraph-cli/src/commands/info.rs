//! `info`: what a graph is like, what it takes in every format, and how it would be laid out.

use crate::failure::Result;
use crate::options::InfoArgs;
use crate::progress::Reporter;
use crate::{output, plot, report, run};
use bitgraph::b2sr::{HybridConfig, TileCounts};
use bitgraph::backend::{Algorithm, Planner, Workload};
use bitgraph::cpu::Cpu;
use bitgraph::sparse::{Csr, FormatKind};
use bitgraph::{LoadedGraph, WeightSource};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Serialize)]
struct Info {
    schema: u32,
    graph: String,
    rows: usize,
    columns: usize,
    edges: usize,
    loops: usize,
    symmetric: bool,
    weights: Option<&'static str>,
    degrees: Degrees,
    patterns: Vec<&'static str>,
    formats: Vec<FormatRow>,
    plans: Vec<PlanRow>,
    load_s: f64,
    peak_bytes: u64,
}

/// Out-degrees.
#[derive(Serialize)]
struct Degrees {
    least: usize,
    median: usize,
    mean: f64,
    p90: usize,
    p99: usize,
    greatest: usize,
    /// Vertices without out-arcs.
    zero: u64,
    /// The share of the entries that the hundredth part of largest degree holds.
    top_share: f64,
}

#[derive(Serialize)]
struct FormatRow {
    format: &'static str,
    bytes: u64,
    tiles: Option<u64>,
    entries_per_tile: Option<f64>,
    to_float_csr: f64,
    to_pattern_csr: f64,
}

#[derive(Serialize)]
struct PlanRow {
    algorithm: &'static str,
    format: &'static str,
    reorder: &'static str,
    prepared: bool,
    build_s: f64,
    run_s: f64,
    why: String,
}

/// Loads, counts, plans and prints; draws if asked to.
pub fn run(args: &InfoArgs, reporter: &Reporter) -> Result<()> {
    run::check_device(args.layout.backend)?;
    let (loaded, load_s) = run::load(&args.graph, &args.reading, WeightSource::FileOrUnit, reporter)?;
    reporter.note("counting");
    let distribution = distribution(&loaded.csr);
    let counts = TileCounts::exact_with_hybrid(&loaded.csr, &HybridConfig::default());
    reporter.check()?;
    let info = Info {
        schema: 1,
        graph: loaded.name.clone(),
        rows: loaded.csr.nrows(),
        columns: loaded.csr.ncols(),
        edges: loaded.csr.nnz(),
        loops: if loaded.csr.is_square() { loaded.csr.count_loops() } else { 0 },
        symmetric: loaded.symmetric,
        weights: loaded.values.as_ref().map(|v| v.dtype().name()),
        degrees: degrees(&distribution, loaded.csr.nrows(), loaded.csr.nnz()),
        patterns: patterns(&loaded.csr),
        formats: formats(&counts),
        plans: if loaded.csr.is_square() { plans(args, &loaded, reporter) } else { Vec::new() },
        load_s,
        peak_bytes: bitgraph::memory::peak_bytes(),
    };
    if let Some(path) = &args.plot {
        plot::write(path, &loaded.name, &loaded.csr, &distribution)?;
    }
    reporter.clear();
    if args.general.json {
        report::json(&info)
    } else {
        output::print(&describe(&info, args.layout.amortize.unwrap_or(args.layout.repeat)))
    }
}

/// (Degree, number of rows of it), ascending. O(rows log of the number of degrees).
fn distribution(csr: &Csr) -> Vec<(usize, u64)> {
    let mut counts = BTreeMap::new();
    for i in 0..csr.nrows() {
        *counts.entry(csr.degree(i)).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

fn degrees(distribution: &[(usize, u64)], rows: usize, entries: usize) -> Degrees {
    // The degree that the given share of the rows does not exceed.
    let quantile = |share: f64| {
        let wanted = ((rows as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let found = distribution.iter().find(|d| {
            seen += d.1;
            seen >= wanted
        });
        found.map_or(0, |d| d.0)
    };
    let mut left = rows.div_ceil(100) as u64;
    let top: f64 = distribution
        .iter()
        .rev()
        .map(|&(degree, count)| {
            let taken = count.min(left);
            left -= taken;
            taken as f64 * degree as f64
        })
        .sum();
    let per = |x: f64, of: usize| if of == 0 { 0.0 } else { x / of as f64 };
    Degrees {
        least: distribution.first().map_or(0, |d| d.0),
        median: quantile(0.5),
        mean: per(entries as f64, rows),
        p90: quantile(0.9),
        p99: quantile(0.99),
        greatest: distribution.last().map_or(0, |d| d.0),
        zero: distribution.first().filter(|d| d.0 == 0).map_or(0, |d| d.1),
        top_share: per(top, entries),
    }
}

/// The categories of the pattern.
fn patterns(_: &Csr) -> Vec<&'static str> {
    Vec::new()
}

fn formats(counts: &TileCounts) -> Vec<FormatRow> {
    let float_csr = counts.float_csr_bytes().max(1) as f64;
    let pattern_csr = counts.bytes(FormatKind::Csr).unwrap_or(0).max(1) as f64;
    let row = |kind: FormatKind| {
        let bytes = counts.bytes(kind)?;
        let tiles = counts.tiles_of(kind);
        Some(FormatRow {
            format: kind.name(),
            bytes,
            tiles,
            entries_per_tile: tiles.map(|_| counts.fill(kind)),
            to_float_csr: bytes as f64 / float_csr,
            to_pattern_csr: bytes as f64 / pattern_csr,
        })
    };
    FormatKind::ALL.into_iter().filter_map(row).collect()
}

/// The algorithms that a graph is laid out for.
const PLANNED: [Algorithm; 8] = [
    Algorithm::Bfs,
    Algorithm::MsBfs,
    Algorithm::Sssp,
    Algorithm::PageRank,
    Algorithm::Cc,
    Algorithm::Tc,
    Algorithm::MxvFloat,
    Algorithm::MxvBool,
];

fn plans(args: &InfoArgs, loaded: &LoadedGraph, reporter: &Reporter) -> Vec<PlanRow> {
    let mut rows = Vec::new();
    for algorithm in PLANNED {
        if algorithm == Algorithm::Tc && !loaded.symmetric {
            continue;
        }
        let weighted = algorithm.wants_weights() && loaded.values.is_some();
        let workload = Workload::once(algorithm).with_dtype(args.layout.precision.dtype());
        let request = run::plan_request(&args.layout, workload);
        let plan = Planner::plan(&Cpu::new(), &loaded.csr, loaded.symmetric, weighted, &request);
        if args.layout.explain {
            reporter.clear();
            output::note(&plan.to_string());
        }
        rows.push(PlanRow {
            algorithm: algorithm.name(),
            format: plan.format().name(),
            reorder: plan.ordering().name(),
            prepared: plan.chosen.prepared,
            build_s: plan.chosen.build_seconds,
            run_s: plan.chosen.run_seconds,
            why: plan.chosen.why,
        });
    }
    rows
}

fn describe(info: &Info, passes: u32) -> String {
    let mut t = String::new();
    let d = &info.degrees;
    let _ = writeln!(t, "{}: {} x {}, {} entries, {} on the diagonal", info.graph, info.rows, info.columns, info.edges, info.loops);
    let _ = writeln!(
        t,
        "{}, {}",
        if info.symmetric { "symmetric" } else { "not symmetric" },
        info.weights.map_or("no weights".into(), |w| format!("{w} weights"))
    );
    let _ = writeln!(
        t,
        "degrees   least {}, median {}, mean {:.2}, 90 % {}, 99 % {}, greatest {}; {} are 0; the largest 1 % hold {:.0} % of the entries",
        d.least,
        d.median,
        d.mean,
        d.p90,
        d.p99,
        d.greatest,
        d.zero,
        d.top_share * 100.0
    );
    if !info.patterns.is_empty() {
        let _ = writeln!(t, "pattern   {}", info.patterns.join(", "));
    }
    let _ =
        writeln!(t, "\nformat   {:>12} {:>12} {:>13} {:>13} {:>15}", "bytes", "tiles", "entries/tile", "of float CSR", "of pattern CSR");
    for f in &info.formats {
        let tiles = f.tiles.map_or_else(|| "-".into(), |n| n.to_string());
        let fill = f.entries_per_tile.map_or_else(|| "-".into(), |n| format!("{n:.2}"));
        let _ = writeln!(t, "{:8} {:>12} {tiles:>12} {fill:>13} {:>13.3} {:>15.3}", f.format, f.bytes, f.to_float_csr, f.to_pattern_csr);
    }
    if !info.plans.is_empty() {
        let _ = writeln!(t, "\nplanned for {passes} pass{}", if passes == 1 { "" } else { "es" });
        for p in &info.plans {
            let prepared = if p.prepared { ", with a layout of its own" } else { "" };
            let _ = writeln!(
                t,
                "{:10} {:8} order {:10} build {:>10}, run {:>10}{prepared}: {}",
                p.algorithm,
                p.format,
                p.reorder,
                report::time(p.build_s),
                report::time(p.run_s),
                p.why
            );
        }
    }
    let _ = writeln!(t, "\nloaded in {}, peak memory {}", report::time(info.load_s), report::bytes(info.peak_bytes));
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_shares() {
        let d = degrees(&[(0, 10), (1, 80), (5, 9), (100, 1)], 100, 225);
        assert_eq!((d.least, d.median, d.p90, d.p99, d.greatest, d.zero), (0, 1, 1, 5, 100, 10));
        assert!((d.top_share - 100.0 / 225.0).abs() < 1e-12 && (d.mean - 2.25).abs() < 1e-12);
        let none = degrees(&[], 0, 0);
        assert_eq!((none.greatest, none.top_share), (0, 0.0));
    }
}
