//! `bfs`: levels or parents from one source, or sums over many at once.

use super::search;
use crate::failure::Result;
use crate::files;
use crate::options::BfsArgs;
use crate::progress::Reporter;
use crate::report::{self, BfsResult, ManyBfsResult, PathResult};
use crate::run::{CommandBackend, Run};
use bitgraph::WeightSource;
use bitgraph::algorithms::{BfsConfig, BfsOutput, MsBfsConfig};
use bitgraph::backend::Algorithm;
use bitgraph::io::Naming;
use std::ffi::OsStr;

/// Runs the search.
pub fn run<B: CommandBackend>(backend: B, args: &BfsArgs, reporter: Reporter) -> Result<()> {
    search::check_output(&args.common, &args.search)?;
    let algorithm = if args.search.sources.is_some() { MsBfsConfig::NAME } else { BfsConfig::NAME };
    let mut degrees = Vec::new();
    let run = Run::start(backend, &args.common, algorithm, WeightSource::Unit, reporter, |stored| {
        if args.search.sources.is_some() {
            degrees = stored.degrees();
        }
        Ok(())
    })?;
    match &args.search.sources {
        None => one(args, &run),
        Some(sources) => many(args, &run, sources, &degrees),
    }
}

fn one<B: CommandBackend>(args: &BfsArgs, run: &Run<B>) -> Result<()> {
    let target = args.search.target.map(|t| run.vertex(t)).transpose()?;
    let Some(source) = run.source(args.search.source)? else { return empty(args, run) };
    let parents = args.search.parents;
    // Levels are written, or counted for the path, unless parents alone are asked for.
    let output = match (parents, target) {
        (false, None) => BfsOutput::Levels,
        (true, None) => BfsOutput::Parents,
        (_, Some(_)) => BfsOutput::Both,
    };
    let config = BfsConfig { source, output, deterministic: output.parents(), control: run.reporter.running("bfs") };
    let (seconds, bfs) = run.repeat(&config)?;
    if let Some(file) = &args.common.output {
        match (&bfs.parents, &bfs.levels) {
            (Some(p), _) if parents => search::write_parents(file, run, p)?,
            (_, levels) => files::write_vector(file, levels.as_deref().unwrap_or_default(), &run.naming(), &run.reporter)?,
        }
    }
    let mut summary = format!(
        "bfs from vertex {}: {} vertices reached, depth {}, {} arcs traversed\n",
        run.number(source),
        bfs.reached,
        bfs.depth,
        bfs.edges_traversed
    );
    let path = target.map(|t| {
        let path: Vec<u64> = search::path(bfs.parents.as_deref().unwrap_or_default(), t).into_iter().map(|v| run.number(v)).collect();
        let level = bfs.levels.as_ref().map_or(-1, |l| l[t as usize]);
        PathResult { target: run.number(t), distance: u32::try_from(level).ok(), path }
    });
    if let Some(p) = &path {
        search::describe(&mut summary, p);
    }
    let (reached, depth, edges_traversed) = (bfs.reached, bfs.depth, bfs.edges_traversed);
    let result = BfsResult { source: Some(run.number(source)), reached, depth, edges_traversed, path };
    report::finish(run, "bfs", &seconds, result, &summary)
}

/// A graph without vertices has nowhere to start: nothing is reached.
fn empty<B: CommandBackend>(args: &BfsArgs, run: &Run<B>) -> Result<()> {
    if let Some(file) = &args.common.output {
        files::write_vector(file, &[0i32; 0][..], &run.naming(), &run.reporter)?;
    }
    let seconds = vec![0.0; args.common.layout.runs() as usize];
    let result = BfsResult { source: None, reached: 0, depth: 0, edges_traversed: 0, path: None };
    report::finish(run, "bfs", &seconds, result, "bfs: the graph has no vertices\n")
}

/// Bytes of one source's numbers and sums, from when it is drawn until they are printed.
const MANY_BYTES: u64 = 64;

fn many<B: CommandBackend>(args: &BfsArgs, run: &Run<B>, asked: &OsStr, degrees: &[u32]) -> Result<()> {
    // The levels are needed only where they are written.
    let levels = args.common.output.is_some();
    let each = MANY_BYTES + if levels { 4 * run.graph.nodes() as u64 } else { 0 };
    let sources = search::sources(run, asked, each, |v| degrees[v as usize] > 0)?;
    let config = MsBfsConfig { sources, levels, control: run.reporter.running("bfs") };
    let (seconds, bfs) = run.repeat(&config)?;
    let sources: Vec<u64> = config.sources.iter().map(|&s| run.number(s)).collect();
    if let (Some(file), Some(levels)) = (&args.common.output, bfs.levels) {
        let naming = Naming { sources: Some(&sources), ..run.naming() };
        files::write_vector(file, &levels[..], &naming, &run.reporter)?;
    }
    let count = sources.len();
    let result = ManyBfsResult {
        sources: count,
        reached: bfs.reached.iter().sum(),
        depth: bfs.depth.iter().copied().max().unwrap_or(0),
        source: sources,
        reached_by_source: bfs.reached,
        depth_by_source: bfs.depth,
        sum_levels_by_source: bfs.sum_levels,
    };
    let summary = format!("bfs from {} sources: {} vertices reached in all, depth {}\n", count, result.reached, result.depth);
    report::finish(run, "bfs", &seconds, result, &summary)
}
