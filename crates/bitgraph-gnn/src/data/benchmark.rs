//! The `.npz` of the gnn-benchmark collection: a sparse adjacency `adj_*`, features `attr_*` or `attr_matrix`, `labels`.

use super::error::Within;
use super::{Dataset, Features, Result, Sizes, arrays, split};
use bitgraph_generate::Control;
use bitgraph_io::{Archive, ReadMode};
use bitgraph_sparse::Csr;
use std::path::Path;

pub(super) fn open(path: &Path, control: &Control) -> Result<Dataset> {
    let archive = Archive::open(path, ReadMode::Copy)?;
    let matrix = |prefix: &str| -> Result<(Csr, Vec<f32>)> {
        control.check().map_err(bitgraph_io::Error::from)?;
        let of = |name: &str| archive.array(&format!("{prefix}_{name}"));
        arrays::csr(&of("shape")?, &of("indptr")?, &of("indices")?, &of("data")?).within(path)
    };
    // The collection's graphs are undirected, and some files hold an edge from one side only.
    let graph = matrix("adj")?.0.symmetrized().within(path)?;
    let features = if archive.contains("attr_matrix") {
        arrays::features(&archive.array("attr_matrix")?)
    } else {
        matrix("attr").and_then(|(pattern, values)| Features::sparse(pattern, values))
    };
    let labels = arrays::labels(&archive.array("labels")?, graph.nrows(), &[]).within(path)?;
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    let set = Dataset::new(name, graph, features.within(path)?, labels, Vec::new()).within(path)?;
    let split = split::seeded(set.labels(), Sizes::fitting(set.labels()), 1).within(path)?;
    set.with_splits(vec![split]).within(path)
}
