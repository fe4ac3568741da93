//! Real graphs against known answers: every algorithm in every format and order, one graph at a time.

use crate::{Options, Outcome, Report};
use anyhow::{Context, Result};
use bitgraph::algorithms::FullBackend;
use bitgraph::b2sr::Layout;
use bitgraph::backend::{Definition, Fused};
use bitgraph::prelude::*;
use bitgraph_testkit::Tolerance;
use serde_json::Value;
use std::path::Path;

pub(crate) const RING: &str = "data";
/// Entries up to which every format is verified without `--full`.
const QUICK: usize = 120_000;

pub(crate) fn run<B: FullBackend>(report: &mut Report, backend: &B, options: &Options) -> Result<()> {
    let Some(folder) = &options.data else {
        report.skip(RING, "real graphs", "no --data DIR and no BITGRAPH_DATA");
        return Ok(());
    };
    let path = folder.join("expected.json");
    if !path.exists() {
        report.skip(RING, "real graphs", &format!("{} is not there", path.display()));
        return Ok(());
    }
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let expected: Value = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    for (name, answers) in expected.as_object().context("expected.json is not an object")? {
        if options.graph.as_ref().is_some_and(|part| !name.contains(part.as_str())) {
            continue;
        }
        let file = ["mtx", "mtx.gz"].iter().map(|e| folder.join(format!("{name}.{e}"))).find(|f| f.exists());
        report.begin(RING, name);
        match file {
            Some(file) => one(report, backend, name, &file, answers, options.full)?,
            None => report.skip(RING, name, "no such file"),
        }
    }
    Ok(())
}

/// The answers' entry of a prefix: `pagerank_d0.85_tol1e-10` for `pagerank`.
fn answer<'a>(answers: &'a Value, prefix: &str) -> Option<&'a Value> {
    answers.as_object()?.iter().find(|(k, _)| k.starts_with(prefix)).map(|(_, v)| v)
}

fn one<B: FullBackend>(report: &mut Report, backend: &B, name: &str, file: &Path, answers: &Value, full: bool) -> Result<()> {
    let source: GraphSource = file.to_string_lossy().parse()?;
    let weights = if answer(answers, "sssp").is_some() { WeightSource::FileOrUnit } else { WeightSource::Unit };
    let loaded = source.load(&LoadOptions { weights, ..LoadOptions::default() })?;
    let undirected = if loaded.symmetric { loaded.csr.clone() } else { loaded.csr.symmetrized()? };
    let mut check = |what: &str, outcome: Outcome| report.check(RING, name, || what.to_string(), outcome);
    check("nodes", same(answers.get("nodes"), loaded.csr.nrows() as u64));
    check("entries", same(answers.get("stored_entries"), loaded.csr.nnz() as u64));
    check("loops", same(answers.get("self_loops"), loaded.csr.count_loops() as u64));
    let graph = loaded.clone().on(backend.clone())?;
    let undirected = Graph::new(backend.clone(), GraphData::new(Layout::Csr(undirected), None, Symmetry::Symmetric, None)?);
    let formats: Vec<Option<FormatKind>> = [None].into_iter().chain(FormatKind::ALL.map(Some)).collect();
    for &format in &formats {
        for order in [None].into_iter().chain(Ordering::ALL.map(Some)) {
            // Every format in one order and every order in one format, unless all is asked for; the definitions, which run
            // on tiles, take minutes on the larger graphs.
            let tiled = format.is_some_and(|f| f != FormatKind::Csr);
            if !full && tiled && (order.is_some_and(|o| o != Ordering::None) || loaded.csr.nnz() > QUICK) {
                continue;
            }
            let request = Request { reuse: Reuse::Runs(100), format, ordering: order, variant: None };
            let label = format!("{} {}", format.map_or("auto", FormatKind::name), order.map_or("auto", Ordering::name));
            if let Some(searches) = answers.get("bfs").and_then(Value::as_array) {
                for search in searches {
                    let source = search["source"].as_u64().unwrap_or(0) as u32;
                    let found = answered(&graph, &request, &BfsConfig { source, ..BfsConfig::default() })?;
                    let sum: i64 = found.levels.iter().flatten().filter(|&&l| l > 0).map(|&l| i64::from(l)).sum();
                    check(&format!("bfs reached, {label}"), same(search.get("reached"), found.reached));
                    check(&format!("bfs depth, {label}"), same(search.get("depth"), found.depth.into()));
                    check(&format!("bfs sum of levels, {label}"), same(search.get("sum_levels"), sum as u64));
                }
            }
            if let Some(components) = answer(answers, "cc") {
                let found = answered(&graph, &request, &CcConfig::default())?;
                check(&format!("components, {label}"), same(components.get("components"), found.components));
                check(&format!("largest component, {label}"), same(components.get("largest"), found.largest));
            }
            if let Some(triangles) = answer(answers, "tc") {
                let found = answered(&undirected, &request, &TcConfig::default())?;
                check(&format!("triangles, {label}"), same(triangles.get("triangles"), found.triangles));
            }
            if let Some(ranks) = answer(answers, "pagerank") {
                let config = PageRankConfig { tolerance: 1e-10, max_iterations: 1000, ..PageRankConfig::default() };
                let found = answered(&graph, &request, &Typed::<_, f64>::new(config))?;
                check(&format!("pagerank, {label}"), top_scores(ranks, found.scores));
            }
            if let Some(paths) = answer(answers, "sssp") {
                for path in paths.as_array().cloned().unwrap_or_else(|| vec![paths.clone()]) {
                    let source = path["source"].as_u64().unwrap_or(0) as u32;
                    let found = answered(&graph, &request, &Typed::<_, i64>::new(SsspConfig { source, ..SsspConfig::default() }))?;
                    let finite = || found.distances.iter().copied().filter(|&d| d != i64::MAX);
                    check(&format!("sssp reached, {label}"), same(path.get("reached"), found.reached));
                    check(&format!("sssp farthest, {label}"), same(path.get("max_distance"), finite().max().unwrap_or(0) as u64));
                    check(&format!("sssp sum, {label}"), same(path.get("sum_distance"), finite().sum::<i64>() as u64));
                }
            }
        }
    }
    Ok(())
}

/// One run of an algorithm in a format and order.
fn answered<B: FullBackend + Fused<A>, A: Definition<B>>(
    graph: &Graph<B>,
    request: &Request,
    algorithm: &A,
) -> Result<A::Output, B::Error> {
    graph.prepare(algorithm, request)?.run(algorithm)
}

/// An integer answer; a key that the answers lack passes.
fn same(expected: Option<&Value>, found: u64) -> Outcome {
    match expected.and_then(|v| v.as_u64().or_else(|| v.as_f64().map(|x| x as u64))) {
        Some(e) if e != found => Outcome::Failed(format!("expected {e}, found {found}")),
        _ => Outcome::Passed,
    }
}

/// The largest scores, rank by rank: exact ties may name their vertices in any order.
fn top_scores(expected: &Value, mut scores: Vec<f64>) -> Outcome {
    scores.sort_by(|a, b| b.total_cmp(a));
    for (rank, entry) in expected["top"].as_array().into_iter().flatten().enumerate() {
        let (Some(want), Some(&found)) = (entry[1].as_f64(), scores.get(rank)) else {
            return Outcome::Failed(format!("rank {rank} is missing"));
        };
        if !(Tolerance { relative: 1e-6, absolute: 0.0 }).accepts(want, found) {
            return Outcome::Failed(format!("rank {rank}: expected {want}, found {found}"));
        }
    }
    Outcome::Passed
}
