//! How do I show progress, and stop work that takes too long?

use bitgraph::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let graph = Graph::open("urand:12")?;

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
    match graph.pagerank().tolerance(0.0).max_iterations(1_000_000).control(control).run::<f64>() {
        Err(error) => println!("stopped after {} iterations: {error}", last.load(Relaxed)),
        Ok(_) => return Err("a million iterations were not stopped".into()),
    }
    Ok(())
}
