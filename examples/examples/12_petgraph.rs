//! How do I run the algorithms on a graph of `petgraph`, and `petgraph`'s on a graph of mine? With the feature `petgraph` of
//! `bitgraph-sparse`; a pattern is a graph that `petgraph` walks as it is.

use bitgraph::prelude::*;
use bitgraph_sparse::Csr;
use petgraph::graph::UnGraph;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Two triangles that share an edge, and a vertex on its own.
    let mut theirs = UnGraph::<(), ()>::from_edges([(0u32, 1), (1, 2), (2, 0), (1, 3), (3, 2)]);
    theirs.add_node(());
    let pattern = Csr::from_petgraph(&theirs)?;

    let graph = Graph::try_from(pattern.clone())?;
    let found = graph.tc().run()?;
    println!("{} triangles", found.triangles);
    assert_eq!(found.triangles, 2);

    // The other way round, without a copy.
    let mut walk = petgraph::visit::Dfs::new(&pattern, 0);
    let mut reached = 0;
    while walk.next(&pattern).is_some() {
        reached += 1;
    }
    assert_eq!(reached, 4);
    Ok(())
}
