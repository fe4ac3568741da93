//! Tables VII to IX: whole algorithms on the paper's matrices, beside the published times.
//!
//! Invariant: nothing is timed before its result agreed with the CPU's.

use super::published::{self, Gpu, PAGERANK_ITERATIONS, PAGERANK_TOLERANCE, Time};
use crate::contender::median;
use anyhow::{Result, ensure};
use bitgraph::algorithms::FullBackend;
use bitgraph::backend::{Definition, Fused};
use bitgraph::cuda::device::Device;
use bitgraph::prelude::*;
use bitgraph_measure::Clock;
use serde::Serialize;
use std::fmt::Write;
use std::time::Instant;

/// A backend, and the device whose clock counts.
pub trait Timed: FullBackend + Backend<Error: Into<bitgraph::Error>> {
    /// The device of its own.
    fn accelerator(&self) -> Option<&Device> {
        None
    }
}
impl Timed for Cpu {}
impl Timed for Cuda {
    fn accelerator(&self) -> Option<&Device> {
        Some(self.device())
    }
}

/// Ours on a matrix.
#[derive(Clone, Debug, Serialize)]
pub struct Ours {
    /// The matrix.
    pub matrix: String,
    /// `bfs`, `sssp`, `pr`, `cc` or `tc`.
    pub algorithm: &'static str,
    /// The layout.
    pub format: &'static str,
    /// Building it.
    pub build_s: f64,
    /// The median of the runs on the device.
    pub seconds: f64,
    /// The median with the call and the fetching of the result.
    pub wall_s: f64,
}

/// The algorithms of the paper, as its tables call them.
pub const ALGORITHMS: [&str; 5] = ["bfs", "sssp", "pr", "cc", "tc"];

/// A result to compare.
#[derive(PartialEq)]
enum Found {
    Levels(Option<Vec<i32>>),
    Distances(Vec<u32>),
    Labels(Vec<u32>),
    Scores(Vec<f32>),
    Triangles(u64),
}

impl Found {
    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Scores(a), Self::Scores(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= 1e-4 * x.abs().max(y.abs()) + 1e-9)
            }
            (a, b) => a == b,
        }
    }
}

/// Edges count 1 in shortest paths: the matrices are binary.
fn pattern<B: Timed>(backend: &B, loaded: &LoadedGraph) -> Result<Graph<B>, bitgraph::Error> {
    let mut binary = loaded.clone();
    binary.values = None;
    binary.on(backend.clone())
}

/// An algorithm laid out for many runs.
struct Laid<B: Timed> {
    format: &'static str,
    run: Box<dyn Fn() -> Result<Found, B::Error>>,
}

impl<B: Timed> Laid<B> {
    fn of<A: Definition<B>>(graph: &Graph<B>, algorithm: A, found: impl Fn(A::Output) -> Found + 'static) -> Result<Self, B::Error>
    where
        B: Fused<A>,
    {
        let ready = graph.prepare(&algorithm, &Request::runs(100))?;
        Ok(Self { format: ready.plan().format().name(), run: Box::new(move || ready.run(&algorithm).map(&found)) })
    }
    fn run(&self) -> Result<Found, B::Error> {
        (self.run)()
    }
}

fn run<B: Timed>(graph: &Graph<B>, algorithm: &str, source: u32) -> Result<Laid<B>, B::Error> {
    match algorithm {
        "sssp" => Laid::of(graph, Typed::<_, u32>::new(SsspConfig { source, ..SsspConfig::default() }), |r| Found::Distances(r.distances)),
        "pr" => {
            let config = PageRankConfig { max_iterations: PAGERANK_ITERATIONS, tolerance: PAGERANK_TOLERANCE, ..PageRankConfig::default() };
            Laid::of(graph, Typed::<_, f32>::new(config), |r| Found::Scores(r.scores))
        }
        "cc" => Laid::of(graph, CcConfig::default(), |r| Found::Labels(r.labels)),
        "tc" => Laid::of(graph, TcConfig::default(), |r| Found::Triangles(r.triangles)),
        _ => Laid::of(graph, BfsConfig { source, ..BfsConfig::default() }, |r| Found::Levels(r.levels)),
    }
}

/// Times the algorithms that the paper publishes of this matrix.
///
/// # Errors
/// The backend's; a result that differs from the CPU's.
pub fn measure<B: Timed>(backend: &B, name: &str, loaded: &LoadedGraph, times: &[Time], repeat: usize, source: u32) -> Result<Vec<Ours>> {
    let mut found = Vec::new();
    for text in ALGORITHMS {
        let published = times.iter().any(|t| t.matrix == name && t.algorithm == text);
        if !published || !loaded.csr.is_square() || (source as usize) >= loaded.csr.nrows() || (text == "tc" && !loaded.symmetric) {
            continue;
        }
        let reference = run(&pattern(&Cpu::new(), loaded)?, text, source)?;
        let expected = reference.run().map_err(bitgraph::Error::from)?;
        let start = Instant::now();
        let mine = run(&pattern(backend, loaded)?, text, source).map_err(Into::<bitgraph::Error>::into)?;
        let build_s = start.elapsed().as_secs_f64();
        let (clock, mut seconds, mut wall) = (Clock::of(backend.accelerator()), Vec::new(), Vec::new());
        for turn in 0..=repeat {
            let timed = clock.algorithm(|| mine.run().map_err(Into::<bitgraph::Error>::into))?;
            if turn == 0 {
                ensure!(expected.agrees(&timed.result), "{text} on {name} gives another result than on the CPU");
            } else {
                wall.push(timed.wall);
                seconds.push(timed.seconds);
            }
        }
        let format = mine.format;
        found.push(Ours { matrix: name.into(), algorithm: text, format, build_s, seconds: median(&seconds), wall_s: median(&wall) });
    }
    Ok(found)
}

/// The published time of a cell.
fn cell<'a>(times: &'a [Time], gpu: Gpu, matrix: &str, algorithm: &str, kernel: bool) -> Option<&'a Time> {
    times.iter().find(|t| t.gpu == gpu && t.matrix == matrix && t.algorithm == algorithm && t.kernel == kernel)
}

/// The tables: published times of every matrix, ours where there are any, and theirs over ours.
///
/// # Errors
/// If the published data is damaged.
pub fn describe(ours: &[Ours]) -> Result<String> {
    let times = published::times()?;
    let mut text = String::from(
        "Tables VII to IX: ms of whole algorithms, in brackets of the products in them alone (published); ours on the device, and with\n\
         call and result; BG/ours is Bit-GraphBLAS's time over ours on the device, in brackets its products alone over all of ours\n",
    );
    let _ = writeln!(
        text,
        "{:20} {:4} | {:>17} {:>17} | {:>17} {:>17} | {:>8} {:>8} | {:>15} {:>15}",
        "", "", "GTX 1080 GrBLAST", "Bit-GraphBLAS", "Titan V GrBLAST", "Bit-GraphBLAS", "ours", "call", "BG/ours GTX", "BG/ours TitanV"
    );
    let mut shown: Vec<(&str, &str)> = Vec::new();
    for t in &times {
        if !shown.contains(&(t.matrix, t.algorithm)) {
            shown.push((t.matrix, t.algorithm));
        }
    }
    let order = |algorithm: &str| ALGORITHMS.iter().position(|name| *name == algorithm);
    shown.sort_by_key(|&(matrix, algorithm)| (times.iter().position(|t| t.matrix == matrix), order(algorithm)));
    let mut ratios: Vec<(&str, Gpu, f64)> = Vec::new();
    for &(matrix, algorithm) in &shown {
        let mine = ours.iter().find(|o| o.matrix == matrix && o.algorithm == algorithm);
        let _ = write!(text, "{matrix:20} {algorithm:4}");
        for gpu in Gpu::ALL {
            let pair = |of: fn(&Time) -> f64| {
                let at = |kernel| cell(&times, gpu, matrix, algorithm, kernel).map_or("-".into(), |t| format!("{:.2}", of(t)));
                if algorithm == "tc" { at(false) } else { format!("{} ({})", at(false), at(true)) }
            };
            let _ = write!(text, " | {:>17} {:>17}", pair(|t| t.graphblast), pair(|t| t.bit_graphblas));
        }
        let ms = |seconds: Option<f64>| seconds.map_or("-".into(), |s| format!("{:.4}", s * 1e3));
        let _ = write!(text, " | {:>8} {:>8} |", ms(mine.map(|o| o.seconds)), ms(mine.map(|o| o.wall_s)));
        for gpu in Gpu::ALL {
            let ratio = |kernel| Some(cell(&times, gpu, matrix, algorithm, kernel)?.bit_graphblas / (mine?.seconds * 1e3));
            if let Some(r) = ratio(false) {
                ratios.push((algorithm, gpu, r));
            }
            let shown = |r: Option<f64>| r.map_or("-".into(), |r| if r < 9.95 { format!("{r:.2}") } else { format!("{r:.1}") });
            let both = if algorithm == "tc" { shown(ratio(false)) } else { format!("{} ({})", shown(ratio(false)), shown(ratio(true))) };
            let _ = write!(text, " {both:>15}");
        }
        text.push('\n');
    }
    for algorithm in ALGORITHMS {
        for gpu in Gpu::ALL {
            let found: Vec<f64> = ratios.iter().filter(|r| r.0 == algorithm && r.1 == gpu).map(|r| r.2).collect();
            if !found.is_empty() {
                let mean = (found.iter().map(|r| r.ln()).sum::<f64>() / found.len() as f64).exp();
                let minimum = found.iter().copied().fold(f64::INFINITY, f64::min);
                let (name, count) = (gpu.name(), found.len());
                let _ = writeln!(
                    text,
                    "{algorithm:4} {name:8} Bit-GraphBLAS/ours over {count} matrices: geometric mean {mean:.1}, minimum {minimum:.1}"
                );
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_times_alone_and_with_ours() {
        let text = describe(&[]).unwrap();
        assert!(text.contains("whitaker3_dual       bfs") && !text.contains("geometric mean"));
        let ours = Ours { matrix: "uk".into(), algorithm: "bfs", format: "csr", build_s: 0.0, seconds: 1e-5, wall_s: 2e-5 };
        let text = describe(&[ours]).unwrap();
        let line = text.lines().find(|l| l.starts_with("uk ") && l.contains(" bfs ")).unwrap();
        assert!(line.ends_with("25.0 (7.00)"), "{line}");
        assert!(text.contains("bfs  Titan V  Bit-GraphBLAS/ours over 1 matrices: geometric mean 25.0, minimum 25.0"));
    }

    #[test]
    fn the_cpu_is_a_backend_too() {
        let loaded = "mycielskian:9".parse::<GraphSource>().unwrap().load(&LoadOptions::default()).unwrap();
        let ours = measure(&Cpu::new(), "mycielskian9", &loaded, &published::times().unwrap(), 1, 0).unwrap();
        assert_eq!(ours.iter().map(|o| o.algorithm).collect::<Vec<_>>(), ["bfs", "sssp", "pr", "cc", "tc"]);
        assert!(ours.iter().all(|o| o.seconds > 0.0 && o.wall_s >= o.seconds));
    }
}
