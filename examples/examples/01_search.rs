//! How do I search a graph from a vertex, and read off levels, parents and a path?
//!
//! `cargo run --release -p bitgraph-examples --example 01_search -- GRAPH` takes a file or a generator such as `kron:12`.

use bitgraph::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "grid:20x30".into());
    let graph = Graph::open(&name)?;
    let source = graph.data().max_degree_vertex().ok_or("the graph has no vertices")?;

    // The planner chooses order and format; results always speak of the input's own vertices.
    let search = graph.bfs(source).levels_and_parents().run()?;
    println!("{name}: {} of {} vertices within {} steps of vertex {source}", search.reached, graph.nodes(), search.depth);

    let (levels, parents) = (search.levels.unwrap_or_default(), search.parents.unwrap_or_default());
    let (farthest, level) = levels.iter().enumerate().max_by_key(|&(_, level)| level).ok_or("no levels")?;
    let mut path = vec![farthest as u32];
    while path[path.len() - 1] != source {
        path.push(parents[path[path.len() - 1] as usize]);
    }
    println!("a farthest vertex is {farthest}; a path back is {path:?}");
    assert_eq!(path.len() as i32, level + 1);
    Ok(())
}
