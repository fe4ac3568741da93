//! The report: a table to read, and the same as JSON.

use crate::bandwidth::Bandwidth;
use crate::contender::{Contender, Layout, Series, median, ratio};
use serde::Serialize;
use std::fmt::Write;

/// How a layout is written: its format, its order, and the bytes that a run moves.
#[derive(Serialize)]
#[serde(remote = "Layout")]
struct LayoutForm {
    format: &'static str,
    order: &'static str,
    bytes: u64,
}

/// The whole report.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The version of this form.
    pub schema: u32,
    /// Runs that building is spread over in planning.
    pub amortize: u32,
    /// Measured bandwidth, for each number of threads.
    pub bandwidth: Vec<Bandwidth>,
    /// One entry per graph, task and number of threads.
    pub results: Vec<Comparison>,
}

/// Ours beside peers.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The graph.
    pub graph: String,
    /// Its vertices.
    pub nodes: usize,
    /// Its entries.
    pub edges: usize,
    /// The task.
    pub task: &'static str,
    /// Threads.
    pub threads: usize,
    /// What ours chose.
    #[serde(with = "LayoutForm")]
    pub layout: Layout,
    /// Bytes of a run over our median time, in GB/s.
    pub gb_per_second: f64,
    /// That over the machine's bandwidth.
    pub bandwidth_fraction: f64,
    /// Ours.
    pub ours: Timing,
    /// Peers.
    pub peers: Vec<Timing>,
}

/// The times of one program, in milliseconds.
#[derive(Debug, Serialize)]
pub struct Timing {
    /// Its name.
    pub name: String,
    /// Building its graph; none if unknown.
    pub build_ms: Option<f64>,
    /// The median of the turns.
    pub median_ms: f64,
    /// The turns.
    pub turns_ms: Vec<f64>,
    /// Whether its result was compared with ours.
    pub checked: bool,
    /// Our time over its time: the median of the turns' ratios.
    pub ratio: f64,
}

impl Comparison {
    /// Puts together what was measured; the first contender is ours.
    #[must_use]
    pub fn new(
        graph: (&str, usize, usize),
        task: &'static str,
        bandwidth: &Bandwidth,
        all: &[Contender],
        series: &[Series],
    ) -> Option<Self> {
        let (first, layout) = (series.first()?, all.first()?.layout?);
        let timing = |(contender, times): (&Contender, &Series)| Timing {
            name: contender.name.clone(),
            build_ms: contender.build_seconds.map(|s| s * 1e3),
            median_ms: median(&times.seconds) * 1e3,
            turns_ms: times.seconds.iter().map(|s| s * 1e3).collect(),
            checked: times.checked,
            ratio: ratio(first, times),
        };
        let mut timings = all.iter().zip(series).map(timing);
        let ours = timings.next()?;
        let gb_per_second = layout.bytes as f64 / 1e6 / ours.median_ms;
        let (name, nodes, edges) = graph;
        Some(Self {
            graph: name.into(),
            nodes,
            edges,
            task,
            threads: bandwidth.threads,
            layout,
            gb_per_second,
            bandwidth_fraction: gb_per_second / bandwidth.best(),
            ours,
            peers: timings.collect(),
        })
    }
}

/// The table, a line for each pair of ours and a peer. A peer whose result could not be compared is marked with a star.
#[must_use]
pub fn table(report: &Report) -> String {
    let header = ["graph", "task", "threads", "layout", "build ms", "ours ms", "GB/s", "of memory", "peer", "build ms", "peer ms", "ratio"];
    let mut rows: Vec<[String; 12]> = vec![header.map(String::from)];
    for c in &report.results {
        let ours = [
            c.graph.clone(),
            c.task.into(),
            c.threads.to_string(),
            format!("{}/{}", c.layout.format, c.layout.order),
            c.ours.build_ms.map_or(String::new(), milliseconds),
            milliseconds(c.ours.median_ms),
            format!("{:.1}", c.gb_per_second),
            format!("{:.0} %", 100.0 * c.bandwidth_fraction),
        ];
        let mut peers: Vec<[String; 4]> = c.peers.iter().map(peer).collect();
        if peers.is_empty() {
            peers.push(std::array::from_fn(|_| "-".into()));
        }
        for peer in peers {
            let mut cells = ours.iter().cloned().chain(peer);
            rows.push(std::array::from_fn(|_| cells.next().unwrap_or_default()));
        }
    }
    let widths: [usize; 12] = std::array::from_fn(|column| rows.iter().map(|r| r[column].len()).max().unwrap_or(0));
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            // Words to the left, numbers to the right.
            let words = matches!(column, 0 | 1 | 3 | 8);
            let _ = if words { write!(line, "{cell:<width$}  ") } else { write!(line, "{cell:>width$}  ") };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    for b in &report.bandwidth {
        let _ = writeln!(text, "memory, {} threads: read {:.1} GB/s, triad {:.1} GB/s", b.threads, b.read_gb_s, b.triad_gb_s);
    }
    text
}

fn peer(timing: &Timing) -> [String; 4] {
    let star = if timing.checked { "" } else { "*" };
    let build = timing.build_ms.map_or("-".into(), milliseconds);
    [format!("{}{star}", timing.name), build, milliseconds(timing.median_ms), format!("{:.3}", timing.ratio)]
}

fn milliseconds(value: f64) -> String {
    match value {
        v if v < 1.0 => format!("{v:.4}"),
        v if v < 100.0 => format!("{v:.2}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table() {
        let bandwidth = Bandwidth { threads: 2, read_gb_s: 20.0, triad_gb_s: 16.0 };
        let layout = Layout { format: "csr", order: "none", bytes: 40_000_000 };
        let all = [Contender::external("ours", || Ok(0.0)).with_layout(layout), Contender::external("peer", || Ok(0.0))];
        let series = [Series { seconds: vec![0.004], checked: true }, Series { seconds: vec![0.2], checked: false }];
        let comparison = Comparison::new(("kron:5", 32, 300), "cc", &bandwidth, &all, &series).unwrap();
        let report = Report { schema: 1, amortize: 100, bandwidth: vec![bandwidth], results: vec![comparison] };
        let text = table(&report);
        let line: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(line, ["kron:5", "cc", "2", "csr/none", "4.00", "10.0", "50", "%", "peer*", "-", "200", "0.020"]);
        assert_eq!(text.lines().count(), 3);
    }
}
