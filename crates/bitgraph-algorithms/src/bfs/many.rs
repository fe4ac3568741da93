//! Breadth-first search from many sources: one search after another.

use super::definition::bfs;
use crate::GraphBackend;
use crate::{BfsConfig, MsBfs, MsBfsConfig};
use bitgraph_backend::Arranged;

/// One search after another.
///
/// # Errors
/// As [`bfs`].
pub fn ms_bfs<B: GraphBackend>(graph: &Arranged<B>, config: &MsBfsConfig) -> Result<MsBfs, B::Error> {
    let mut result = MsBfs { reached: Vec::new(), depth: Vec::new(), sum_levels: Vec::new(), levels: config.levels.then(Vec::new) };
    for &source in &config.sources {
        let one = bfs(graph, &BfsConfig { source, control: config.control.clone(), ..BfsConfig::default() })?;
        let levels = one.levels.unwrap_or_default();
        result.reached.push(one.reached);
        result.depth.push(one.depth);
        result.sum_levels.push(levels.iter().filter(|&&l| l > 0).map(|&l| l as u64).sum());
        result.levels.iter_mut().for_each(|all| all.extend(&levels));
    }
    Ok(result)
}
