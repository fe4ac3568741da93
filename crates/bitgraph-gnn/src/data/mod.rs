//! Data sets: a graph, features, labels, and which nodes are trained on, in host memory.
//!
//! [`open`] reads one: a folder of plain files, of OGB's tables or of TU's lists, an `.npz` file of the gnn-benchmark collection, or a built-in
//! set that is made.

mod arrays;
mod benchmark;
mod dataset;
mod error;
mod features;
mod folder;
mod graph_set;
#[cfg(test)]
mod layout_tests;
mod ogb;
mod planted;
mod prepared;
mod split;
#[cfg(test)]
mod tests;
mod tu;

pub use dataset::{Dataset, Labels};
pub use error::{Error, Result};
pub(crate) use features::row_of;
pub use features::{Features, Normalise};
pub use graph_set::GraphSet;
pub use planted::planted;
pub use prepared::Preparation;
pub use split::{Sizes, seeded};

use bitgraph_generate::{Control, Generator};
use bitgraph_io::ReadMode;
use error::Within;
use std::path::Path;

/// A data set of either kind.
#[derive(Clone, Debug)]
pub enum Set {
    /// One graph whose nodes are classified.
    Nodes(Dataset),
    /// Many graphs that are classified each.
    Graphs(GraphSet),
}

/// Opens a data set.
///
/// | name | what it is |
/// |---|---|
/// | a folder | `graph.mtx` (`.mtx.gz`, `.npz`, `.bgr`, `.el`, `.el.gz`); `features.npz` (scipy) or `features.npy`; `labels.npy`, whole numbers from 0, -1 for none, or a matrix of 0 and 1 with a column for each class where a node may be of several; `unlabelled_nodes.npy` where some labels mean nothing; `train_mask.npy`, `val_mask.npy`, `test_mask.npy` for one split, or `train_masks.npy` and so on with a row for each |
/// | a folder with `graph_indicator.npy` | many graphs side by side in `graph.mtx`; the graph of each node; `graph_labels.npy`; `node_labels.npy` or `features.npz`, `.npy`, or both, or none |
/// | a folder with `raw/edge.csv.gz` | OGB's: `raw/node-feat.csv.gz`, `raw/node-label.csv.gz`, `raw/num-node-list.csv.gz`, and `train.csv.gz`, `valid.csv.gz`, `test.csv.gz` in the one folder below `split`; the graph is made symmetric |
/// | a folder with `NAME_graph_indicator.txt` | TU's: `NAME_A.txt`, `NAME_graph_labels.txt`, and `NAME_node_labels.txt`, `NAME_node_attributes.txt` or both or none; the graph is made symmetric |
/// | a file `.npz` | the arrays `adj_*`, `attr_*` or `attr_matrix`, and `labels` of the gnn-benchmark collection; the graph is made symmetric |
/// | `planted:N:COMMUNITIES:DEGREE[:SEED]` | [`planted`] |
///
/// Without masks a split is drawn: [`seeded`] by the seed 1 in [`Sizes::fitting`]. There are as many classes as the largest label asks for.
/// Values of the graph are left out. A graph of a folder has the entries of its file: an edge list of an undirected one names both
/// directions; it has as many nodes as the features have rows. Features given twice are added. Of many graphs, features are a column for each
/// label of nodes, their attributes, and the logarithm of 1 + degree; labels are the ranks of the numbers that there are. Nothing of a file is
/// executed, and nothing is allocated by a size that a header claims alone. O(bytes of the files).
///
/// # Errors
/// Any [`Error`], with the file.
pub fn open_any(name: &Path, control: &Control) -> Result<Set> {
    if !name.is_dir() {
        return open_file(name, control).map(Set::Nodes);
    }
    if name.join(folder::INDICATOR).is_file() {
        return folder::open_graphs(name, control).map(Set::Graphs);
    }
    if holds_graphs(name) {
        return tu::open(name, control).map(Set::Graphs);
    }
    open_nodes(name, ReadMode::Copy, control).map(Set::Nodes)
}

/// A folder whose nodes are classified.
fn open_nodes(name: &Path, features: ReadMode, control: &Control) -> Result<Dataset> {
    let ogb = ogb::FILES.iter().any(|file| name.join(file).is_file());
    if ogb { ogb::open(name, control) } else { folder::open(name, features, control) }
}

/// Whether a folder is, by the names of its files, one of many graphs.
#[must_use]
pub fn holds_graphs(name: &Path) -> bool {
    name.is_dir() && (name.join(folder::INDICATOR).is_file() || tu::prefixes(name).is_ok_and(|found| !found.is_empty()))
}

/// [`open_any`] of a set whose nodes are classified.
///
/// # Errors
/// As [`open_any`]; [`Error::Content`] for many graphs.
pub fn open(name: &Path, control: &Control) -> Result<Dataset> {
    match open_any(name, control)? {
        Set::Nodes(set) => Ok(set),
        Set::Graphs(_) => {
            let (what, why) = ("a set of many graphs", "its graphs are classified, not its nodes");
            Err(crate::Error::Combination { what, why }).within(name)
        }
    }
}

/// As [`open`], with the `features.npy` of a folder left in its file where [`ReadMode::Map`] can have it so: 32-bit floats, row by row.
///
/// # Errors
/// As [`open`].
pub fn open_mapped(name: &Path, control: &Control) -> Result<Dataset> {
    if name.is_dir() && !holds_graphs(name) { open_nodes(name, ReadMode::Map, control) } else { open(name, control) }
}

fn open_file(name: &Path, control: &Control) -> Result<Dataset> {
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
