//! How do I build a graph from edges in memory, find its components and count its triangles?

use bitgraph::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Two triangles that share the edge 1-2, an edge 4-5, and vertex 6 on its own, which counts too.
    let edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (4, 5)];
    let (rows, columns) = edges.iter().copied().unzip();
    let mut coo = Coo::pattern(7, 7, rows, columns);
    coo.mirrored = true;
    let (csr, _) = coo.into_csr(Duplicates::First)?;

    let build = |algorithm| Graph::build(Cpu::new(), csr.clone(), None, true, &PlanRequest::auto(Workload::once(algorithm)));
    let components = cc(&build(Algorithm::Cc)?, &CcConfig::default())?;
    println!("{} components, the largest of {}: {:?}", components.components, components.largest, components.labels);
    assert_eq!(components.labels, [0, 0, 0, 0, 4, 4, 6]);

    let count = tc(&build(Algorithm::Tc)?, &TcConfig::default())?;
    println!("{} triangles", count.triangles);
    assert_eq!(count.triangles, 2);
    Ok(())
}
