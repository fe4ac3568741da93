//! The errors of the facade: its own few, and those of the crates below as they are.

use bitgraph_backend::Error as BackendError;

/// The result of the facade's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong between the name of a graph and a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text that names no source of weights.
    #[error("'{text}' names no weights; there are file, unit and hash:MAX with MAX from 1 to {max}", max = u32::MAX)]
    WeightSource {
        /// The text.
        text: String,
    },
    /// The weights of a graph that has none were asked for.
    #[error("{graph} has no weights; take unit or hash:MAX ones")]
    NoWeights {
        /// The graph.
        graph: String,
    },
    /// A vertex that is not among the arbitrary numbers of a relabelled graph.
    #[error("vertex {vertex} does not occur in {graph}")]
    NoSuchVertex {
        /// The number asked for.
        vertex: u64,
        /// The graph.
        graph: String,
    },
    /// A name whose kind of source was left out of this build.
    #[error("'{name}' needs the feature `{feature}` of the crate bitgraph, which this program was built without")]
    Feature {
        /// The name.
        name: String,
        /// The feature.
        feature: &'static str,
    },
    /// From reading or writing a file.
    #[cfg(feature = "io")]
    #[error(transparent)]
    Io(#[from] bitgraph_io::Error),
    /// From a generator.
    #[cfg(feature = "generate")]
    #[error(transparent)]
    Generate(#[from] bitgraph_generate::Error),
    /// From a backend or an algorithm.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// From the CUDA backend alone.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Cuda(bitgraph_cuda::Error),
    /// From the storage layer.
    #[error(transparent)]
    Sparse(#[from] bitgraph_sparse::Error),
}

/// What the contracts know is told as theirs, whichever backend found it.
#[cfg(feature = "cuda")]
impl From<bitgraph_cuda::Error> for Error {
    fn from(error: bitgraph_cuda::Error) -> Self {
        match error {
            bitgraph_cuda::Error::Base(base) => Self::Backend(base),
            other => Self::Cuda(other),
        }
    }
}

impl Error {
    /// Whether the work was stopped on demand.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match self {
            #[cfg(feature = "io")]
            Self::Io(e) => matches!(e, bitgraph_io::Error::Cancelled),
            #[cfg(feature = "generate")]
            Self::Generate(e) => matches!(e, bitgraph_generate::Error::Cancelled),
            Self::Backend(e) => matches!(e, BackendError::Cancelled),
            _ => false,
        }
    }
    /// Whether there was no room for it in the memory of a device: it may fit in another format, or on another device.
    #[must_use]
    pub fn is_out_of_device_memory(&self) -> bool {
        #[cfg(feature = "cuda")]
        if let Self::Cuda(e) = self {
            return matches!(e, bitgraph_cuda::Error::OutOfMemory { .. });
        }
        false
    }
    /// Whether what was asked for is at fault (a name, a parameter, a vertex), not what was found.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        #[cfg(feature = "generate")]
        use bitgraph_generate::Error as Generate;
        match self {
            Self::WeightSource { .. } | Self::NoSuchVertex { .. } | Self::Feature { .. } => true,
            #[cfg(feature = "generate")]
            Self::Generate(e) => !matches!(e, Generate::OutOfMemory { .. } | Generate::Cancelled | Generate::Sparse(_)),
            #[cfg(feature = "io")]
            Self::Io(e) => matches!(e, bitgraph_io::Error::UnknownEnding { .. }),
            Self::Backend(e) => {
                matches!(e, BackendError::VertexOutOfRange { .. } | BackendError::Parameter { .. } | BackendError::Directed { .. })
            }
            _ => false,
        }
    }
}
