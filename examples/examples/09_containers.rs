//! How do I store a graph so that it opens in no time? As a `.bgr` container: it is mapped into memory, not parsed. It may hold the
//! graph in the format and order that it is to be used in, which then cost no time to build.

use bitgraph::b2sr::Layout;
use bitgraph::io::{self, WriteSource};
use bitgraph::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("bitgraph-example-{}.bgr", std::process::id()));
    let loaded = "kron:14".parse::<GraphSource>()?.load(&LoadOptions::default())?;
    // Written under a temporary name and renamed, so that a reader never sees half a file.
    io::write(&path, &WriteSource::new(&loaded.csr).with_symmetric(Some(loaded.symmetric)), &io::WriteOptions::default())?;

    let start = std::time::Instant::now();
    let again = GraphSource::File(path.clone()).load(&LoadOptions::default());
    println!("{} opened in {:.2} ms", path.display(), start.elapsed().as_secs_f64() * 1e3);
    let again = again?;
    assert_eq!(again.csr, loaded.csr);

    // The same graph in order of degree, as bit tiles.
    if let Some(permutation) = Ordering::Degree.compute(&loaded.csr) {
        let ordered = permutation.apply(&loaded.csr)?;
        let mut source = WriteSource::new(&ordered).with_symmetric(Some(loaded.symmetric));
        (source.permutation, source.ordering) = (Some(&permutation), Ordering::Degree);
        source.format = Some((FormatKind::B2sr8, Layout::from_csr(&ordered, FormatKind::B2sr8).sections()));
        io::write(&path, &source, &io::WriteOptions::default())?;
    }
    let stored = GraphSource::File(path.clone()).load_stored(&LoadOptions::default())?;
    let graph = stored.on(Cpu::new())?;
    // The last line says what becomes of the stored layout.
    print!("{}", graph.plan(&Product { x: vec![true; graph.nodes()] }, &Request::default())?);
    std::fs::remove_file(&path)?;
    Ok(())
}
