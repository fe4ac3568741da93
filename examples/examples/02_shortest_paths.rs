//! How do I find shortest paths with weights?
//!
//! Weights come from the file (`WeightSource::File`), or are derived from the edge's ends, so that any graph has some.

use bitgraph::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = LoadOptions { weights: WeightSource::Hash(255), ..LoadOptions::default() };
    let graph = Graph::open_with("grid:40x50", &options)?;
    let (source, target) = (0, graph.nodes() as u32 - 1);

    // The type of the distances is the caller's choice: u32 is exact, f32 and f64 take any non-negative weight.
    let paths = graph.sssp(source).parents().run::<u32>()?;
    println!("{} vertices reached; vertex {target} is {} away", paths.reached, paths.distances[target as usize]);

    let parents = paths.parents.ok_or("parents were asked for")?;
    let steps = std::iter::successors(Some(target), |&v| (v != source).then(|| parents[v as usize])).count() - 1;
    println!("its shortest path has {steps} edges");
    assert!(steps >= 39 + 49, "a path across the grid");
    Ok(())
}
