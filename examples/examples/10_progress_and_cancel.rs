//! How do I show progress, and stop work that takes too long?

use bitgraph::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let loaded = "urand:12".parse::<GraphSource>()?.load(&LoadOptions::default())?;
    let request = PlanRequest::auto(Workload::once(Algorithm::PageRank));
    let graph = Graph::build(Cpu::new(), loaded.csr, None, loaded.symmetric, &request)?;

    // The callback runs on whichever thread does the work; a flag that anybody may set stops it.
    let (stop, last) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let control = {
        let (stop, last) = (Arc::clone(&stop), Arc::clone(&last));
        Control::default().with_cancel(Arc::clone(&stop)).with_progress(move |progress| {
            last.store(progress.done, Relaxed);
            if progress.done >= 3 {
                stop.store(true, Relaxed);
            }
        })
    };
    let config = PageRankConfig { tolerance: 0.0, max_iterations: 1_000_000, control, ..PageRankConfig::default() };
    match pagerank::<_, f64>(&graph, &config) {
        Err(error) => println!("stopped after {} iterations: {error}", last.load(Relaxed)),
        Ok(_) => return Err("a million iterations were not stopped".into()),
    }
    Ok(())
}
