//! How a graph is loaded.

use crate::WeightSource;
#[cfg(feature = "io")]
use bitgraph_io::{FileFormat, Listener, Remark};
use bitgraph_sparse::Control;
#[cfg(feature = "io")]
use bitgraph_sparse::Duplicates;

/// How a graph is to be loaded. The default takes a file as it is, as a pattern. What files alone need is there with the feature `io`.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The format of the file. Default: what its contents cannot but be, else what its ending says.
    #[cfg(feature = "io")]
    pub format: Option<FileFormat>,
    /// Where weights come from. Default: unit, that is, none are stored.
    pub weights: WeightSource,
    /// Take the union with the transpose.
    #[cfg(feature = "io")]
    pub symmetrize: bool,
    /// Edge lists: the number of vertices, instead of what a `# Nodes:` comment says, or the largest number + 1.
    #[cfg(feature = "io")]
    pub nodes: Option<usize>,
    /// Edge lists: vertices are numbered from 1 (in results they are numbered from 0).
    #[cfg(feature = "io")]
    pub one_based: bool,
    /// What becomes of entries given more than once. Default: the first is kept.
    #[cfg(feature = "io")]
    pub duplicates: Duplicates,
    /// Edge lists: vertex numbers are arbitrary 64-bit numbers, replaced by their rank.
    #[cfg(feature = "io")]
    pub relabel: bool,
    /// Cancellation and progress, in the source's own unit (bytes, edges, rows).
    pub control: Control,
    /// Hears what a reader noticed about a file that is no error.
    #[cfg(feature = "io")]
    pub remark: Listener<Remark>,
}
