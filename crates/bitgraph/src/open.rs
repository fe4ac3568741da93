//! `Graph::open`: a graph by name, on the CPU.

use crate::{GraphSource, LoadOptions, Result, WeightSource};
use bitgraph_backend::Graph;
use bitgraph_cpu::Cpu;

/// Opens graphs by name; [`Graph::to`] puts them on another backend.
pub trait Open: Sized {
    /// The graph of a file or a generator, with the file's weights if it has any: see [`GraphSource`] for the names.
    ///
    /// # Errors
    /// Whatever is wrong with the name, the file or the generator's parameters; a matrix that is not square.
    fn open(name: &str) -> Result<Self> {
        Self::open_with(name, &LoadOptions { weights: WeightSource::FileOrUnit, ..LoadOptions::default() })
    }
    /// As [`Open::open`], with options of loading.
    ///
    /// # Errors
    /// As [`Open::open`].
    fn open_with(name: &str, options: &LoadOptions) -> Result<Self>;
}

impl Open for Graph<Cpu> {
    fn open_with(name: &str, options: &LoadOptions) -> Result<Self> {
        name.parse::<GraphSource>()?.load_stored(options)?.on(Cpu::new())
    }
}
