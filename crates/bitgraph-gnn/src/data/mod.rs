//! Data sets: a graph, features, labels, and which nodes are trained on, in host memory.
//!
//! [`open`] reads one: a folder of plain files, an `.npz` file of the gnn-benchmark collection, or a built-in set that is made.

mod arrays;
mod benchmark;
mod dataset;
mod error;
mod features;
mod folder;
mod planted;
mod split;
#[cfg(test)]
mod tests;

pub use dataset::{Dataset, Labels};
pub use error::{Error, Result};
pub(crate) use features::row_of;
pub use features::{Features, Normalise};
pub use planted::planted;
pub use split::{Sizes, seeded};

use bitgraph_generate::{Control, Generator};
use bitgraph_io::ReadMode;
use std::path::Path;

/// Opens a data set.
///
/// | name | what it is |
/// |---|---|
/// | a folder | `graph.mtx` (`.mtx.gz`, `.npz`, `.bgr`, `.el`); `features.npz` (scipy) or `features.npy`; `labels.npy`, whole numbers from 0, -1 for none; `unlabelled_nodes.npy` where some labels mean nothing; `train_mask.npy`, `val_mask.npy`, `test_mask.npy` for one split, or `train_masks.npy` and so on with a row for each |
/// | a file `.npz` | the arrays `adj_*`, `attr_*` or `attr_matrix`, and `labels` of the gnn-benchmark collection; the graph is made symmetric |
/// | `planted:N:COMMUNITIES:DEGREE[:SEED]` | [`planted`] |
///
/// Without masks a split is drawn: [`seeded`] by the seed 1 in [`Sizes::fitting`]. There are as many classes as the largest label asks for.
/// Values of the graph are left out. A graph of a folder has the entries of its file: an edge list of an undirected one names both
/// directions; it has as many nodes as the features have rows. Features given twice are added. O(bytes of the files).
///
/// # Errors
/// Any [`Error`], with the file.
pub fn open(name: &Path, control: &Control) -> Result<Dataset> {
    open_as(name, ReadMode::Copy, control)
}

/// As [`open`], with the `features.npy` of a folder left in its file where [`ReadMode::Map`] can have it so: 32-bit floats, row by row.
///
/// # Errors
/// As [`open`].
pub fn open_mapped(name: &Path, control: &Control) -> Result<Dataset> {
    open_as(name, ReadMode::Map, control)
}

fn open_as(name: &Path, features: ReadMode, control: &Control) -> Result<Dataset> {
    if name.is_dir() {
        return folder::open(name, features, control);
    }
    let text = name.to_string_lossy();
    if Generator::is_generator_prefix(&text)
        && let Generator::Planted { nodes, communities, degree, seed } = text.parse()?
    {
        return planted(nodes, communities, degree, seed, control);
    }
    if name.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz")) {
        return benchmark::open(name, control);
    }
    Err(Error::Unknown { name: text.into_owned() })
}
