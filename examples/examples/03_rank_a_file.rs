//! How do I load a file and rank its vertices?
//!
//! `.mtx`, `.mtx.gz`, edge lists, METIS, scipy's `.npz` and `.bgr` are told apart by their ending. Without an argument the example writes a small
//! file first.

use bitgraph::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let made = std::env::temp_dir().join(format!("bitgraph-example-{}.mtx", std::process::id()));
    let path = match std::env::args().nth(1) {
        Some(path) => path.into(),
        None => {
            std::fs::write(&made, "%%MatrixMarket matrix coordinate pattern general\n4 4 5\n1 2\n2 3\n3 1\n4 3\n4 1\n")?;
            made.clone()
        }
    };
    let loaded = GraphSource::File(path).load(&LoadOptions::default());
    // The small file has served; it may not exist.
    let _ = std::fs::remove_file(&made);
    let loaded = loaded?;
    println!("{}: {} vertices, {} arcs, symmetric: {}", loaded.name, loaded.csr.nrows(), loaded.csr.nnz(), loaded.symmetric);

    let graph = loaded.on(Cpu::new())?;
    let ranks = graph.pagerank().tolerance(1e-10).max_iterations(1000).run::<f64>()?;
    println!("converged: {} after {} iterations, residual {:.1e}", ranks.converged, ranks.iterations, ranks.residual);

    let mut order: Vec<usize> = (0..graph.nodes()).collect();
    order.sort_by(|&a, &b| ranks.scores[b].total_cmp(&ranks.scores[a]).then(a.cmp(&b)));
    for v in order.into_iter().take(10) {
        println!("{v:>10} {:.6}", ranks.scores[v]);
    }
    Ok(())
}
