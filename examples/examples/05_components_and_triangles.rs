//! How do I build a graph from edges in memory, find its components and count its triangles?

use bitgraph::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Two triangles that share the edge 1-2, an edge 4-5, and vertex 6 on its own, which counts too.
    let edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (4, 5)];
    let graph = Graph::from_edges(edges).nodes(7).undirected().build()?;

    let components = graph.cc().run()?;
    println!("{} components, the largest of {}: {:?}", components.components, components.largest, components.labels);
    assert_eq!(components.labels, [0, 0, 0, 0, 4, 4, 6]);

    let count = graph.tc().run()?;
    println!("{} triangles", count.triangles);
    assert_eq!(count.triangles, 2);
    Ok(())
}
