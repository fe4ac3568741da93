//! How do I search from hundreds of vertices at once? One bit per source: far cheaper than one search each.

use bitgraph::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let graph = Graph::open("kron:12")?;
    let sources: Vec<u32> = (0..512).collect();
    let result = graph.ms_bfs(sources.clone()).run()?;

    // Closeness centrality needs no more than the sums of the levels.
    let closeness = |k: usize| (result.reached[k].saturating_sub(1)) as f64 / result.sum_levels[k].max(1) as f64;
    let best = (0..sources.len()).max_by(|&a, &b| closeness(a).total_cmp(&closeness(b))).ok_or("no sources")?;
    println!("of {} sources, vertex {} is the most central: closeness {:.4}", sources.len(), sources[best], closeness(best));

    let single = graph.bfs(sources[best]).run()?;
    assert_eq!((single.reached, single.depth), (result.reached[best], result.depth[best]));
    Ok(())
}
