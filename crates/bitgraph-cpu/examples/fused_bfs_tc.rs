//! Times the fused searches and triangle counts: `fused_bfs_tc [bfs] [tc] [msbfs] kron:18 grid:1000x1000 ...`, at 1 thread and at 2.
//!
//! Medians and least times in milliseconds; nothing is checked here, the tests do that.

use bitgraph_backend::{BfsConfig, BfsOutput, MsBfsConfig, TcConfig};
use bitgraph_cpu::fused::{bfs::BfsLayout, msbfs::MsBfsLayout, tc::TcLayout};
use std::time::Instant;

/// The median time of a few runs, after one to warm up, and the shortest.
fn median(repeats: usize, mut run: impl FnMut()) -> String {
    run();
    let mut times: Vec<f64> = (0..repeats)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    format!("{:.3} (least {:.3})", times[repeats / 2], times[0])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (only, specs): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| ["bfs", "tc", "msbfs"].contains(&a.as_str()));
    let wants = |name: &str| only.is_empty() || only.iter().any(|o| o == name);
    for spec in specs {
        let graph = spec.parse::<bitgraph_generate::Generator>()?.generate(&bitgraph_generate::GenerateControl::default())?;
        let source = graph.heaviest_row().unwrap_or(0);
        let start = Instant::now();
        let search = BfsLayout::build(&graph, &graph);
        let build = start.elapsed().as_secs_f64() * 1e3;
        let (many, triangles) = (MsBfsLayout::build(&graph, &graph), TcLayout::default());
        let sources: Vec<u32> = (0..512).map(|k| (k * 7919 % graph.nrows()) as u32).collect();
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            let bfs = |output| {
                let config = BfsConfig { source, output, ..Default::default() };
                median(51, || drop(pool.install(|| search.run(&graph, &graph, &config))))
            };
            print!("{spec}, {threads} threads:");
            if wants("bfs") {
                print!(" bfs levels {} parents {} (build {build:.1})", bfs(BfsOutput::Levels), bfs(BfsOutput::Parents));
            }
            if wants("tc") {
                print!(" tc {}", median(7, || drop(pool.install(|| triangles.run(&graph, &TcConfig::default())))));
            }
            if wants("msbfs") {
                let config = MsBfsConfig { sources: sources.clone(), ..Default::default() };
                print!(" 512 sources {}", median(3, || drop(pool.install(|| many.run(&graph, &graph, &config)))));
            }
            println!(" ms");
        }
    }
    Ok(())
}
