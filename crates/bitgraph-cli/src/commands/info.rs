//! `info`: what a graph is like, what it takes in every format, and how it would be laid out.

use crate::choice::Precision;
use crate::failure::Result;
use crate::options::InfoArgs;
use crate::progress::Reporter;
use crate::{files, output, plot, report, run};
use bitgraph::algorithms::{BfsConfig, CcConfig, Factor, MsBfsConfig, PageRankConfig, Product, SsspConfig, TcConfig, Typed};
use bitgraph::b2sr::{Profile, ProfileConfig};
use bitgraph::backend::{Graph, Mxv, Plan};
use bitgraph::cpu::Cpu;
use bitgraph::io::{self, Container, FileFormat, ReadMode};
use bitgraph::semiring::Float;
use bitgraph::sparse::{Csr, FormatKind};
use bitgraph::{GraphSource, LoadedGraph, WeightSource};
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
    /// The format and order that a container holds it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<StoredAs>,
    degrees: Degrees,
    bandwidth_mean: f64,
    bandwidth_max: usize,
    patterns: Vec<&'static str>,
    sample: Sample,
    formats: Vec<FormatRow>,
    plans: Vec<PlanRow>,
    load_s: f64,
    peak_bytes: u64,
}

#[derive(Serialize)]
struct StoredAs {
    format: &'static str,
    reorder: &'static str,
}

/// Out-degrees.
#[derive(Serialize)]
struct Degrees {
    minimum: usize,
    p10: usize,
    p25: usize,
    median: usize,
    p75: usize,
    p90: usize,
    p99: usize,
    maximum: usize,
    mean: f64,
    deviation: f64,
    /// Vertices without out-arcs.
    zero: usize,
    /// The share of the entries that the hundredth part of largest degree holds.
    top_share: f64,
}

/// The paper's sampling profile (Algorithm 1), for tiles of 4, 8, 16 and 32.
#[derive(Serialize)]
struct Sample {
    rows: usize,
    entries_per_bit_row: [f64; 4],
    bytes_to_float_csr: [f64; 4],
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
    variant: &'static str,
    build_s: f64,
    run_s: f64,
    why: String,
}

/// Loads, counts, plans and prints; draws if asked to.
pub fn run(args: &InfoArgs, reporter: &Reporter) -> Result<()> {
    run::host_only("info", args.layout.backend)?;
    plot::check_name(args.plot.as_deref())?;
    if let Some(plot) = &args.plot {
        files::check_target(plot, &args.graph.files())?;
    }
    let (loaded, load_s) = run::load(&args.graph, &args.reading, WeightSource::FileOrUnit, reporter)?;
    let stored = stored(args)?;
    reporter.note("counting");
    let profile = Profile::new(&loaded.csr, &ProfileConfig { seed: args.general.seed, ..ProfileConfig::default() });
    reporter.check()?;
    let info = Info {
        schema: 1,
        graph: loaded.name.clone(),
        rows: profile.rows,
        columns: profile.columns,
        edges: profile.nnz,
        loops: profile.loops,
        symmetric: loaded.symmetric,
        weights: loaded.values.as_ref().map(|v| v.dtype().name()),
        stored,
        degrees: degrees(&profile),
        bandwidth_mean: profile.bandwidth_mean,
        bandwidth_max: profile.bandwidth_max,
        patterns: profile.categories.iter().map(|c| c.name()).collect(),
        sample: Sample {
            rows: profile.sample.rows,
            entries_per_bit_row: profile.sample.entries_per_bit_row,
            bytes_to_float_csr: profile.sample.bytes_ratio,
        },
        formats: formats(&profile),
        plans: if loaded.csr.is_square() { plans(args, &loaded, reporter)? } else { Vec::new() },
        load_s,
        peak_bytes: bitgraph::memory::peak_bytes(),
    };
    if let Some(path) = &args.plot {
        plot::write(path, &loaded.name, &loaded.csr, &distribution(&loaded.csr), reporter)?;
    }
    reporter.clear();
    if args.general.json { report::json(&info) } else { output::print(&describe(&info, args.layout.amortize.unwrap_or(1))) }
}

/// How a container holds its graph; none for other files.
fn stored(args: &InfoArgs) -> Result<Option<StoredAs>> {
    let GraphSource::File(path) = &args.graph.source else { return Ok(None) };
    // What cannot be read twice is read already.
    if !path.is_file() || io::file_format(path, args.reading.input_format)? != FileFormat::Bgr {
        return Ok(None);
    }
    let container = Container::open(path, ReadMode::Map)?;
    let reorder = container.ordering().name();
    Ok(container.format().map(|format| StoredAs { format: format.name(), reorder }))
}

/// (Degree, number of rows of it), ascending. O(rows log of the number of degrees).
fn distribution(csr: &Csr) -> Vec<(usize, u64)> {
    let mut counts = BTreeMap::new();
    for i in 0..csr.nrows() {
        *counts.entry(csr.degree(i)).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

fn degrees(profile: &Profile) -> Degrees {
    let d = &profile.degrees;
    let [p10, p25, median, p75, p90, p99] = d.percentiles;
    let (minimum, maximum, zero) = (d.min, d.max, d.empty);
    Degrees { minimum, p10, p25, median, p75, p90, p99, maximum, mean: d.mean, deviation: d.deviation, zero, top_share: d.top_share }
}

fn formats(profile: &Profile) -> Vec<FormatRow> {
    let counts = &profile.tiles;
    let row = |kind: FormatKind| {
        let size = profile.size_of(kind)?;
        // The hybrid's tiles hold what is not listed.
        let tiled = match (kind, counts.hybrid) {
            (FormatKind::Hybrid, Some((tiles, listed))) => Some((tiles, counts.nnz - listed)),
            _ => counts.tiles_of(kind).map(|tiles| (tiles, counts.nnz)),
        };
        Some(FormatRow {
            format: kind.name(),
            bytes: size.bytes,
            tiles: tiled.map(|t| t.0),
            entries_per_tile: tiled.map(|(tiles, entries)| entries as f64 / tiles.max(1) as f64),
            to_float_csr: size.to_float_csr,
            to_pattern_csr: size.to_pattern_csr,
        })
    };
    FormatKind::ALL.into_iter().filter_map(row).collect()
}

/// The planned layout of every algorithm that takes the graph.
fn plans(args: &InfoArgs, loaded: &LoadedGraph, reporter: &Reporter) -> Result<Vec<PlanRow>> {
    let graph = loaded.clone().on(Cpu::new())?;
    match args.layout.precision {
        Precision::F32 => plans_in::<f32>(args, &graph, reporter),
        Precision::F64 => plans_in::<f64>(args, &graph, reporter),
    }
}

fn plans_in<T: Factor + Float>(args: &InfoArgs, graph: &Graph<Cpu>, reporter: &Reporter) -> Result<Vec<PlanRow>>
where
    Cpu: Mxv<T::Semiring>,
{
    let (request, n, mut rows) = (run::request(&args.layout), graph.nodes(), Vec::new());
    let mut add = |plan: Plan| {
        if args.layout.explain {
            reporter.clear();
            output::note(&plan.to_string());
        }
        rows.push(PlanRow {
            algorithm: plan.algorithm,
            format: plan.format().name(),
            reorder: plan.ordering().name(),
            variant: plan.variant(),
            build_s: plan.chosen.build_seconds,
            run_s: plan.chosen.run_seconds,
            why: plan.chosen.why,
        });
    };
    if n > 0 {
        add(graph.plan(&BfsConfig::default(), &request)?);
        // Weights that shortest paths refuse are no fault of the graph.
        if let Ok(plan) = graph.plan(&Typed::<_, T>::new(SsspConfig::default()), &request) {
            add(plan);
        }
    }
    add(graph.plan(&MsBfsConfig::default(), &request)?);
    add(graph.plan(&Typed::<_, T>::new(PageRankConfig::default()), &request)?);
    add(graph.plan(&CcConfig::default(), &request)?);
    if graph.is_symmetric() {
        add(graph.plan(&TcConfig::default(), &request)?);
    }
    add(graph.plan(&Product { x: vec![T::ZERO; n] }, &request)?);
    add(graph.plan(&Product { x: vec![false; n] }, &request)?);
    Ok(rows)
}

fn describe(info: &Info, runs: u32) -> String {
    let mut t = String::new();
    let d = &info.degrees;
    let _ = writeln!(t, "{}: {} x {}, {} entries, {} on the diagonal", info.graph, info.rows, info.columns, info.edges, info.loops);
    let _ = writeln!(
        t,
        "{}, {}",
        if info.symmetric { "symmetric" } else { "not symmetric" },
        info.weights.map_or("no weights".into(), |w| format!("{w} weights"))
    );
    if let Some(stored) = &info.stored {
        let _ = writeln!(t, "stored    as {} in order {}", stored.format, stored.reorder);
    }
    let _ = writeln!(
        t,
        "degrees   minimum {}, median {}, mean {:.2} +- {:.2}, 90 % {}, 99 % {}, maximum {}; {} are 0; the largest 1 % hold {:.0} % of the entries",
        d.minimum,
        d.median,
        d.mean,
        d.deviation,
        d.p90,
        d.p99,
        d.maximum,
        d.zero,
        d.top_share * 100.0
    );
    let _ = writeln!(t, "distance  from the diagonal: mean {:.1}, maximum {}", info.bandwidth_mean, info.bandwidth_max);
    let _ = writeln!(t, "pattern   {}", if info.patterns.is_empty() { "none".into() } else { info.patterns.join(", ") });
    let list = |a: &[f64; 4]| a.map(|x| format!("{x:.2}")).join(", ");
    let _ = writeln!(
        t,
        "sample    of {} rows, for tiles of 4, 8, 16, 32: {} entries in a bit row, at least {} of float CSR",
        info.sample.rows,
        list(&info.sample.entries_per_bit_row),
        list(&info.sample.bytes_to_float_csr)
    );
    let _ =
        writeln!(t, "\nformat   {:>12} {:>12} {:>13} {:>13} {:>15}", "bytes", "tiles", "entries/tile", "of float CSR", "of pattern CSR");
    for f in &info.formats {
        let tiles = f.tiles.map_or_else(|| "-".into(), |n| n.to_string());
        let fill = f.entries_per_tile.map_or_else(|| "-".into(), |n| format!("{n:.2}"));
        let _ = writeln!(t, "{:8} {:>12} {tiles:>12} {fill:>13} {:>13.3} {:>15.3}", f.format, f.bytes, f.to_float_csr, f.to_pattern_csr);
    }
    if !info.plans.is_empty() {
        let _ = writeln!(t, "\nplanned for {runs} run{}", if runs == 1 { "" } else { "s" });
        for p in &info.plans {
            let _ = writeln!(
                t,
                "{:10} {:8} order {:10} variant {:16} build {:>10}, run {:>10}: {}",
                p.algorithm,
                p.format,
                p.reorder,
                p.variant,
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
    fn degrees_are_counted_once_each() {
        let loaded = "grid:3x3".parse::<bitgraph::GraphSource>().unwrap().load(&bitgraph::LoadOptions::default()).unwrap();
        assert_eq!(distribution(&loaded.csr), [(2, 4), (3, 4), (4, 1)]);
    }
}
