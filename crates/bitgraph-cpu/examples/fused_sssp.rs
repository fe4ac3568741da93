//! Times the fused shortest paths: `fused_sssp [threads] [repetitions] [graph...]`, hashed weights 1..=255, several sources.
//!
//! A graph is a generator (`kron:18`) or a weighted graph of the GAP benchmark (`name.wsg`), whose weights are taken.

use bitgraph_backend::SsspConfig;
use bitgraph_cpu::fused::sssp::SsspLayout;
use bitgraph_generate::{GenerateControl, Generator, mix64};
use bitgraph_sparse::{Csr, Offsets, Values};
use std::time::Instant;

/// A weighted graph in the file layout of the GAP benchmark.
fn read_wsg(path: &str) -> Result<(Csr, Values), Box<dyn std::error::Error + Send + Sync>> {
    let bytes = std::fs::read(path)?;
    let long =
        |at: usize| bytes.get(at..at + 8).map(|b| i64::from_le_bytes(b.try_into().unwrap_or_default()) as usize).ok_or("a short file");
    let n = long(9)?;
    let offsets: Vec<usize> = (0..=n).map(|i| long(17 + 8 * i)).collect::<Result<_, _>>()?;
    let base = 17 + 8 * (n + 1);
    let entries: Vec<usize> = (0..offsets[n]).map(|i| long(base + 8 * i)).collect::<Result<_, _>>()?;
    let ids: Vec<u32> = entries.iter().map(|&e| e as u32).collect();
    let weights: Vec<u8> = entries.iter().map(|&e| (e >> 32) as u8).collect();
    Ok((Csr::new(n, n, Offsets::from_usizes(&offsets), ids.into())?, weights.into()))
}

fn hashed(graph: &Csr) -> Values {
    let weight = |u: u32, v: u32| 1 + (mix64(u64::from(u.min(v)) << 32 | u64::from(u.max(v))) % 255) as u8;
    (0..graph.nrows() as u32).flat_map(|u| graph.row(u as usize).iter().map(move |&v| weight(u, v))).collect::<Vec<u8>>().into()
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let threads: usize = args.first().map_or(Ok(1), |a| a.parse())?;
    let repetitions: usize = args.get(1).map_or(Ok(9), |a| a.parse())?;
    let names: Vec<&str> = match args.get(2..) {
        Some(names) if !names.is_empty() => names.iter().map(String::as_str).collect(),
        _ => vec!["kron:18", "urand:18", "grid:1000x1000", "mycielskian:14", "grid:1000x1000@1"],
    };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?
        .install(|| names.iter().try_for_each(|name| time(name, threads, repetitions)))
}

fn time(name: &str, threads: usize, repetitions: usize) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (graph, weights) = if name.ends_with(".wsg") {
        read_wsg(name)?
    } else {
        let graph = name.parse::<Generator>()?.generate(&GenerateControl::default())?;
        let weights = hashed(&graph);
        (graph, weights)
    };
    let start = Instant::now();
    let layout = SsspLayout::build(&graph, None, Some(&weights))?;
    let built = start.elapsed().as_secs_f64() * 1e3;
    let n = graph.nrows();
    let sources: Vec<u32> = std::iter::once(graph.heaviest_row().unwrap_or(0))
        .chain((0..n).map(|i| ((i * 7919 + 13) % n) as u32).filter(|&v| graph.degree(v as usize) > 0).take(3))
        .collect();
    let mut all = Vec::new();
    for (k, &source) in sources.iter().enumerate() {
        let config = SsspConfig { source, delta: std::env::var("DELTA").ok().and_then(|d| d.parse().ok()), ..SsspConfig::default() };
        let first = layout.run::<u32>(&config)?;
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..repetitions {
            let start = Instant::now();
            let found = layout.run::<u32>(&config)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            assert_eq!(found.distances, first.distances);
        }
        times.sort_by(f64::total_cmp);
        let sum: u64 = first.distances.iter().filter(|&&d| d != u32::MAX).map(|&d| u64::from(d)).sum();
        if k == 0 {
            println!(
                "{name}: {} threads, {} form, {:.1} MB, built in {built:.1} ms; source {source} reached {} sum {sum}: median {:.3} least {:.3} ms",
                threads,
                layout.form(),
                layout.bytes() as f64 / 1e6,
                first.reached,
                times[times.len() / 2],
                times[0]
            );
        }
        all.extend(times);
    }
    all.sort_by(f64::total_cmp);
    println!("    {} sources: median {:.3} ms", sources.len(), all[all.len() / 2]);
    Ok(())
}
