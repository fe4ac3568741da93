//! What is refused of a data set, with the file.

use std::path::{Path, PathBuf};

/// The result of this module's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can be wrong with a data set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Parts that do not fit each other, or hold what they may not.
    #[error(transparent)]
    Content(#[from] crate::Error),
    /// A file that cannot be read.
    #[error(transparent)]
    Read(#[from] bitgraph_io::Error),
    /// A built-in set whose graph cannot be made.
    #[error(transparent)]
    Generate(#[from] bitgraph_generate::Error),
    /// A matrix that is none.
    #[error(transparent)]
    Matrix(#[from] bitgraph_sparse::Error),
    /// What is wrong, with the file or folder that it is in.
    #[error("{}: {source}", path.display())]
    In {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        source: Box<Error>,
    },
    /// A folder without one of the files.
    #[error("{}: there is no {wanted}", folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The names that would do.
        wanted: &'static str,
    },
    /// An array of another shape.
    #[error("the array has the shape {found:?}; {wanted}")]
    Shape {
        /// Its shape.
        found: Vec<usize>,
        /// What it must be.
        wanted: &'static str,
    },
    /// An element that may not be.
    #[error("element {position} is {found}; {wanted}")]
    Element {
        /// Where, from 0.
        position: u64,
        /// The element.
        found: f64,
        /// What it must be.
        wanted: &'static str,
    },
    /// A mask without nodes.
    #[error("split {split} selects no nodes")]
    Nothing {
        /// Which split, from 0.
        split: usize,
    },
    /// A node in two parts of a split.
    #[error("split {split}: node {node} is both in {first} and in {second}")]
    Overlap {
        /// Which split, from 0.
        split: usize,
        /// The node.
        node: u64,
        /// A part that it is in.
        first: &'static str,
        /// Another one.
        second: &'static str,
    },
    /// An entry of an adjacency of many graphs that leads from one to another.
    #[error("nodes {node} and {other}, counted from 0, are of different graphs, and there is an edge between them")]
    Between {
        /// A node.
        node: u64,
        /// The other one.
        other: u64,
    },
    /// A split of a size that the labels do not yield.
    #[error("{labelled} nodes have labels; {wanted}")]
    Few {
        /// Nodes with a label.
        labelled: u64,
        /// How many are needed.
        wanted: String,
    },
    /// A name that is neither a folder, nor a file of a known form, nor a built-in set.
    #[error(
        "'{name}' is no data set: it must be a folder (of plain files, of OGB's tables or of TU's lists), a file .npz, or planted:N:COMMUNITIES:DEGREE[:SEED]"
    )]
    Unknown {
        /// The name.
        name: String,
    },
}

/// Says where something was wrong.
pub(super) trait Within<T> {
    /// The result, with the path in its error.
    fn within(self, path: &Path) -> Result<T>;
}

impl<T, E: Into<Error>> Within<T> for std::result::Result<T, E> {
    fn within(self, path: &Path) -> Result<T> {
        self.map_err(|e| match e.into() {
            // These name their file themselves.
            named @ (Error::Read(_) | Error::In { .. } | Error::Missing { .. }) => named,
            source => Error::In { path: path.to_path_buf(), source: Box::new(source) },
        })
    }
}
