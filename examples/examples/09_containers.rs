//! How do I store a graph so that it opens in no time? As a `.bgr` container: it is mapped into memory, not parsed.

use bitgraph::io::{self, WriteSource};
use bitgraph::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("bitgraph-example-{}.bgr", std::process::id()));
    let loaded = "kron:14".parse::<GraphSource>()?.load(&LoadOptions::default())?;
    // Written under a temporary name and renamed, so that a reader never sees half a file.
    io::write(&path, &WriteSource::new(&loaded.csr).with_symmetric(Some(loaded.symmetric)), &io::Control::default())?;

    let start = std::time::Instant::now();
    let again = GraphSource::File(path.clone()).load(&LoadOptions::default());
    println!("{} opened in {:.2} ms", path.display(), start.elapsed().as_secs_f64() * 1e3);
    let again = again?;
    assert_eq!(again.csr, loaded.csr);
    std::fs::remove_file(&path)?;
    Ok(())
}
