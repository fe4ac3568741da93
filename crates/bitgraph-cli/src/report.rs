//! What a run says about itself: the JSON object of the contract, and the same for people.

use crate::failure::Result;
use crate::output;
use crate::run::{CommandBackend, Run};
use serde::Serialize;
use std::fmt::Write;

/// The JSON object of an algorithm's run. The order of the fields is that of the documentation.
#[derive(Serialize)]
struct Report<'a, R: Serialize> {
    schema: u32,
    algorithm: &'static str,
    graph: &'a str,
    nodes: usize,
    edges: usize,
    backend: &'static str,
    format: &'static str,
    reorder: &'static str,
    precision: &'static str,
    threads: usize,
    load_s: f64,
    build_s: f64,
    seconds: &'a [f64],
    /// Where the algorithm ran on a device of its own: the times with calling it and fetching the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    wall_s: Vec<f64>,
    peak_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_bytes: Option<u64>,
    result: R,
}

/// The result of `bfs`.
#[derive(Serialize)]
pub struct BfsResult {
    pub source: Option<u64>,
    pub reached: u64,
    pub depth: u32,
    pub edges_traversed: u64,
    #[serde(flatten)]
    pub path: Option<PathResult<u32>>,
}

/// The result of `bfs --sources`: sums over the sources, and an array with one element for each.
#[derive(Serialize)]
pub struct ManyBfsResult {
    pub sources: usize,
    pub reached: u64,
    pub depth: u32,
    pub source: Vec<u64>,
    pub reached_by_source: Vec<u64>,
    pub depth_by_source: Vec<u32>,
    pub sum_levels_by_source: Vec<u64>,
}

/// The result of `sssp`. Distances are whole numbers where weights are.
#[derive(Serialize)]
pub struct SsspResult {
    pub source: Option<u64>,
    pub reached: u64,
    pub max_distance: serde_json::Number,
    pub sum_distance: serde_json::Number,
    #[serde(flatten)]
    pub path: Option<PathResult<serde_json::Number>>,
}

/// The result of `sssp --sources`.
#[derive(Serialize)]
pub struct ManySsspResult {
    pub sources: usize,
    pub reached: u64,
    pub max_distance: serde_json::Number,
    pub sum_distance: serde_json::Number,
    pub source: Vec<u64>,
    pub reached_by_source: Vec<u64>,
    pub max_distance_by_source: Vec<serde_json::Number>,
    pub sum_distance_by_source: Vec<serde_json::Number>,
}

/// What `--target` adds: the distance (none if unreached) and the vertices of a shortest path.
#[derive(Serialize)]
pub struct PathResult<D> {
    pub target: u64,
    pub distance: Option<D>,
    pub path: Vec<u64>,
}

/// The result of `pagerank`.
#[derive(Serialize)]
pub struct PagerankResult {
    pub iterations: u32,
    pub residual: f64,
    pub converged: bool,
    pub sum: f64,
    pub top: Vec<(u64, f64)>,
}

/// The result of `cc`.
#[derive(Serialize)]
pub struct CcResult {
    pub components: u64,
    pub largest: u64,
}

/// The result of `tc`.
#[derive(Serialize)]
pub struct TcResult {
    pub triangles: u64,
}

/// Prints the report of a run: JSON, or `summary` with times and layout.
pub fn finish<B: CommandBackend, R: Serialize>(
    run: &Run<B>,
    algorithm: &'static str,
    seconds: &[f64],
    result: R,
    summary: &str,
) -> Result<()> {
    run.reporter.clear();
    let plan = run.graph.plan();
    let peak_bytes = bitgraph::memory::peak_bytes();
    let threads = rayon::current_num_threads();
    if run.general.json {
        return json(&Report {
            schema: 1,
            algorithm,
            graph: &run.name,
            nodes: run.graph.nodes(),
            edges: run.graph.edges(),
            backend: run.graph.backend().name(),
            format: plan.format().name(),
            reorder: plan.ordering().name(),
            precision: run.precision.name(),
            threads,
            load_s: run.load_s,
            build_s: run.build_s,
            seconds,
            wall_s: run.wall_seconds(),
            peak_bytes,
            device_bytes: run.graph.backend().device_bytes(),
            result,
        });
    }
    if run.general.quiet {
        return Ok(());
    }
    let mut text = format!("{}: {} vertices, {} entries\n{summary}", run.name, run.graph.nodes(), run.graph.edges());
    let _ = write!(text, "load {}, build {}, run {}", time(run.load_s), time(run.build_s), time(bitgraph_measure::median(seconds)));
    if seconds.len() > 1 {
        let _ = write!(text, " (median of {}, best {})", seconds.len(), time(seconds.iter().copied().fold(f64::INFINITY, f64::min)));
    }
    let _ = writeln!(
        text,
        "\nformat {}, order {}, {threads} thread{}, peak memory {}",
        plan.format(),
        plan.ordering(),
        if threads == 1 { "" } else { "s" },
        bytes(peak_bytes)
    );
    output::print(&text)
}

/// Prints one JSON object on a line of its own.
pub fn json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(crate::failure::Failure::other)?;
    output::print(&(text + "\n"))
}

/// A time in a unit that suits it.
pub fn time(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 1e-3 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{:.1} us", seconds * 1e6)
    }
}

/// A number of bytes in a unit that suits it.
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.2} GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!((bytes(12), bytes(1536), bytes(3 << 30)), ("12 B".into(), "1.5 KiB".into(), "3.00 GiB".into()));
        assert_eq!((time(2.0), time(0.25), time(1e-5)), ("2.00 s".into(), "250.00 ms".into(), "10.0 us".into()));
    }
}
