//! What models and their training refuse, with the numbers.

use bitgraph_backend::{Backend, FamilyError};

/// Everything that is refused before a backend is called.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting outside its range.
    #[error("{what} is {found}; it must be {allowed}")]
    Setting {
        /// Which one.
        what: &'static str,
        /// The number found.
        found: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// Two things whose sizes do not fit.
    #[error("{what}: {found} where {expected} are needed")]
    Size {
        /// What was counted.
        what: &'static str,
        /// How many are needed.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// A combination that has no meaning.
    #[error("{what}: {why}")]
    Combination {
        /// What was asked for.
        what: &'static str,
        /// Why not.
        why: &'static str,
    },
    /// A node that training, validation or test names and that is not there.
    #[error("{what}: node {node} of a graph of {nodes} nodes")]
    Node {
        /// What names it.
        what: &'static str,
        /// The node.
        node: u64,
        /// How many there are.
        nodes: u64,
    },
    /// A label that is no class.
    #[error("the label of node {node} is {label}; classes are 0 to {}", i64::from(*.classes) - 1)]
    Label {
        /// The node.
        node: u64,
        /// Its label.
        label: i64,
        /// How many classes there are.
        classes: u32,
    },
    /// A feature that is not a finite number.
    #[error("feature {column} of node {node} is not a finite number")]
    Feature {
        /// The node.
        node: u64,
        /// The column.
        column: u64,
    },
    /// A name that is none of those there are.
    #[error("'{found}' is no {what}; it is one of {known}")]
    Unknown {
        /// What it should name.
        what: &'static str,
        /// The name found.
        found: String,
        /// The names there are.
        known: &'static str,
    },
    /// A precision that a model cannot be trained in.
    #[error("{model} cannot be trained in {precision}; it can in {possible}")]
    Unsupported {
        /// The model.
        model: &'static str,
        /// The precision.
        precision: String,
        /// The precisions that are possible.
        possible: &'static str,
    },
    /// Work that was stopped through its control.
    #[error(transparent)]
    Cancelled(#[from] bitgraph_sparse::Cancelled),
    /// A graph that METIS does not take apart.
    #[error("METIS does not take a graph of {nodes} nodes and {entries} entries apart into {parts} parts: {why}")]
    Partition {
        /// Nodes.
        nodes: u64,
        /// Entries, both directions of an edge counted.
        entries: u64,
        /// Parts.
        parts: u32,
        /// Why not.
        why: String,
    },
    /// Training whose loss left the numbers.
    #[error("training diverged in epoch {epoch}, before any state was good; a lower learning rate may help")]
    Diverged {
        /// The epoch, from 1.
        epoch: u32,
    },
    /// Work that is predicted not to fit in memory.
    #[error("this is predicted to take {needed} bytes of memory, of which there are {limit}; {instead}")]
    Memory {
        /// Bytes that it takes.
        needed: u64,
        /// Bytes that there are.
        limit: u64,
        /// What would fit.
        instead: String,
    },
    /// A file of parameters that does not fit the model, or is damaged.
    #[error("{file}: {what}")]
    Checkpoint {
        /// The file.
        file: String,
        /// What is wrong.
        what: String,
    },
}

impl From<Error> for bitgraph_backend::Error {
    fn from(error: Error) -> Self {
        Self::Family(FamilyError::new(error))
    }
}

/// An error of this crate as one of a backend: what a layer of a user's returns its own refusals by.
pub fn refused<B: Backend>(error: Error) -> B::Error {
    B::Error::from(bitgraph_backend::Error::from(error))
}
