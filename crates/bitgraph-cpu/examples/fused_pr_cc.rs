//! Times connected components, `PageRank` (20 iterations) and sums over rows, in every layout, on graphs in GAP's serialised
//! format (`.sg`), with 1 and 2 threads.
//!
//! Usage: `fused_pr_cc FOLDER cc|pr|spmv REPETITIONS NAME...`; `pr64` and `spmv64` are in `f64`, `auto` prints predictions.

use bitgraph_backend::{CcConfig, PageRankConfig};
use bitgraph_cpu::fused::cc::CcLayout;
use bitgraph_cpu::fused::pagerank::{PageRankLayout, out_degrees};
use bitgraph_cpu::spmv::{Real, SpmvKind, SpmvLayout, SpmvPlan};
use bitgraph_sparse::{Csr, Offsets};
use std::time::Instant;

/// GAP's format: directed flag, entries and vertices, 64-bit offsets, 32-bit neighbours.
fn load(path: &str) -> Result<Csr, Box<dyn std::error::Error>> {
    let bytes = std::fs::read(path)?;
    let word = |at: usize| -> Result<u64, std::array::TryFromSliceError> { Ok(u64::from_le_bytes(bytes[at..at + 8].try_into()?)) };
    let n = word(9)? as usize;
    let offsets = (0..=n).map(|i| word(17 + 8 * i).map(|o| o as u32)).collect::<Result<Vec<u32>, _>>()?;
    let lists = bytes[17 + 8 * (n + 1)..].chunks_exact(4).take(offsets[n] as usize);
    let indices: Vec<u32> = lists.map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    Ok(Csr::new(n, n, Offsets::U32(offsets.into()), indices.into())?)
}

/// Runs `f` and prints the least and the median time in ms.
fn time<R>(name: &str, repetitions: usize, mut f: impl FnMut() -> R) -> R {
    let mut result = f();
    let mut times: Vec<f64> = (0..repetitions)
        .map(|_| {
            let start = Instant::now();
            result = f();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name:48} min {:9.4} median {:9.4} ms", times[0], times[times.len() / 2]);
    result
}

fn pagerank<T: Real>(label: &str, repetitions: usize, csr: &Csr) -> Result<(), bitgraph_backend::Error> {
    let config = PageRankConfig { tolerance: 0.0, max_iterations: 20, ..PageRankConfig::default() };
    let degrees = out_degrees(csr);
    for (kind, ordered) in SpmvKind::ALL.map(|k| (k, false)).into_iter().chain([(SpmvKind::Blocks, true)]) {
        let start = Instant::now();
        let build = if ordered { PageRankLayout::<T>::build_ordered } else { PageRankLayout::<T>::build_as };
        let layout = build(csr, &degrees, kind)?;
        let build = start.elapsed().as_secs_f64() * 1e3;
        let ranks = time(&format!("{label} {}", layout.explain()), repetitions, || layout.run(&config))?;
        let sum: f64 = ranks.scores.iter().map(|s| s.to_f64()).sum();
        println!("  build {build:.1} ms, {} bytes, sum {sum:.6}, residual {:.3e}", layout.bytes(), ranks.residual);
    }
    Ok(())
}

fn sums<T: Real>(label: &str, repetitions: usize, csr: &Csr) {
    let x: Vec<T> = (0..csr.ncols()).map(|j| T::from_f64((j % 1000) as f64 / 1000.0)).collect();
    let mut y = vec![T::ZERO; csr.nrows()];
    for kind in SpmvKind::ALL {
        let layout = SpmvLayout::build(csr, kind);
        time(&format!("{label} {}", kind.name()), repetitions, || layout.run(&x, &mut y));
        println!("  {} bytes, filler {:.3}", layout.extra_bytes(), layout.filler(csr));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, what, repetitions, names @ ..] = &arguments[..] else {
        return Err("usage: fused_pr_cc FOLDER cc|pr|spmv REPETITIONS NAME...".into());
    };
    let repetitions: usize = repetitions.parse()?;
    for name in names {
        let csr = load(&format!("{folder}/{name}.sg"))?;
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            let label = format!("{name} {what} {threads} threads");
            pool.install(|| -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
                if what == "cc" {
                    let layout = CcLayout::new();
                    let config = CcConfig::default();
                    let cc = time(&label, repetitions, || layout.run(&csr, None, &config))?;
                    println!("  components {} largest {}", cc.components, cc.largest);
                }
                match &what[..] {
                    "pr" => pagerank::<f32>(&label, repetitions, &csr)?,
                    "pr64" => pagerank::<f64>(&label, repetitions, &csr)?,
                    "spmv" => sums::<f32>(&label, repetitions, &csr),
                    "spmv64" => sums::<f64>(&label, repetitions, &csr),
                    "auto" => [1, 20, 100, 2000].iter().for_each(|&p| println!("{name} {}", SpmvPlan::new(&csr, p))),
                    _ => {}
                }
                Ok(())
            })
            .map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}
