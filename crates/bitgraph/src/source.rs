//! Graphs by name: a generator, a file, or standard input.
//!
//! Invariant: a loaded graph's `symmetric` is a fact about pattern and values, known from the source or checked.

#[cfg(feature = "generate")]
use crate::weights;
use crate::{Error, LoadOptions, LoadedGraph, Result, StoredGraph, WeightSource};
#[cfg(feature = "generate")]
use bitgraph_generate::Generator;
#[cfg(feature = "io")]
use bitgraph_io::{self as io, ReadOptions};
use std::ffi::OsStr;
use std::fmt;
#[cfg(feature = "io")]
use std::path::PathBuf;
use std::str::FromStr;

/// Where a graph comes from. Parsed from the text of the command line: a generator's prefix wins, so that a file of such a
/// name is written `./kron:18`; `-` is standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphSource {
    /// A generator. With the feature `generate`.
    #[cfg(feature = "generate")]
    Generator(Generator),
    /// A file; its contents or its ending say the format. With the feature `io`.
    #[cfg(feature = "io")]
    File(PathBuf),
    /// Standard input: an edge list, unless it begins like another format. With the feature `io`.
    #[cfg(feature = "io")]
    Stdin,
}

impl GraphSource {
    /// As parsing does; a name that is no text can be a file's only.
    ///
    /// # Errors
    /// Those of a generator.
    pub fn from_name(name: &OsStr) -> Result<Self> {
        match name.to_str() {
            Some(text) => text.parse(),
            #[cfg(feature = "io")]
            None => Ok(Self::File(name.into())),
            #[cfg(not(feature = "io"))]
            None => Err(Error::Feature { name: name.to_string_lossy().into_owned(), feature: "io" }),
        }
    }
}

/// Whether a text starts like a generator's.
#[cfg(feature = "generate")]
fn is_generator(text: &str) -> bool {
    Generator::is_generator_prefix(text)
}

/// Whether a text may name a generator: which ones there are is not known here.
#[cfg(not(feature = "generate"))]
fn is_generator(text: &str) -> bool {
    text.split_once(':').is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase()))
}

impl FromStr for GraphSource {
    type Err = Error;
    /// Only generators can be wrong here: whether a file is there shows when it is read.
    fn from_str(text: &str) -> Result<Self> {
        if is_generator(text) {
            #[cfg(feature = "generate")]
            return Ok(Self::Generator(text.parse()?));
            #[cfg(not(feature = "generate"))]
            return Err(Error::Feature { name: text.into(), feature: "generate" });
        }
        #[cfg(feature = "io")]
        return Ok(if text == "-" { Self::Stdin } else { Self::File(text.into()) });
        #[cfg(not(feature = "io"))]
        Err(Error::Feature { name: text.into(), feature: "io" })
    }
}

impl fmt::Display for GraphSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "generate")]
            Self::Generator(generator) => generator.fmt(f),
            #[cfg(feature = "io")]
            Self::File(path) => path.display().fmt(f),
            #[cfg(feature = "io")]
            Self::Stdin => f.write_str("-"),
        }
    }
}

impl GraphSource {
    /// Loads the graph: lists, in the input's order.
    ///
    /// # Errors
    /// Whatever is wrong with the file or the generator's parameters; [`Error::NoWeights`].
    pub fn load(&self, options: &LoadOptions) -> Result<LoadedGraph> {
        self.load_stored(options)?.into_lists()
    }
    /// Loads the graph in the format and order that a container holds it in: with every check, and without converting or copying
    /// anything. Hashed weights depend on the input's numbers, so that with them it is turned into lists in the input's order.
    ///
    /// # Errors
    /// As [`GraphSource::load`].
    pub fn load_stored(&self, options: &LoadOptions) -> Result<StoredGraph> {
        let name = self.to_string();
        let mut graph: StoredGraph = match self {
            #[cfg(feature = "generate")]
            Self::Generator(generator) => {
                let csr = generator.generate(&options.control)?;
                LoadedGraph { name, csr, values: None, symmetric: true, original_ids: None }.into()
            }
            #[cfg(feature = "io")]
            Self::File(_) | Self::Stdin => self.read(name, options)?,
        };
        match options.weights {
            WeightSource::Unit => graph.values = None,
            WeightSource::File if graph.values.is_none() => return Err(Error::NoWeights { graph: graph.name }),
            WeightSource::File | WeightSource::FileOrUnit => {}
            #[cfg(feature = "generate")]
            WeightSource::Hash(largest) => {
                let mut lists = graph.into_lists()?;
                lists.values = Some(weights::hashed_weights(&lists.csr, largest));
                graph = lists.into();
            }
        }
        Ok(graph)
    }

    #[cfg(feature = "io")]
    fn read(&self, name: String, options: &LoadOptions) -> Result<StoredGraph> {
        let read = ReadOptions {
            format: options.format,
            symmetrize: options.symmetrize,
            nodes: options.nodes,
            one_based: options.one_based,
            duplicates: options.duplicates,
            relabel: options.relabel,
            as_pattern: !matches!(options.weights, WeightSource::File | WeightSource::FileOrUnit),
            control: options.control.clone(),
            remark: options.remark.clone(),
            ..ReadOptions::default()
        };
        let loaded = match self {
            Self::File(path) => io::read(path, &read)?,
            _ => io::read_from(std::io::stdin().lock(), "standard input", &read)?,
        };
        StoredGraph::new(name, loaded, options)
    }
}

#[cfg(all(test, feature = "io", feature = "generate"))]
mod tests {
    use super::*;

    #[test]
    fn a_generators_prefix_wins() {
        assert!(matches!("kron:5".parse().unwrap(), GraphSource::Generator(_)));
        assert_eq!("./kron:5".parse::<GraphSource>().unwrap(), GraphSource::File("./kron:5".into()));
        assert_eq!("-".parse::<GraphSource>().unwrap(), GraphSource::Stdin);
        assert!("kron:x".parse::<GraphSource>().unwrap_err().is_usage());
        assert_eq!("kron:5:16:1".parse::<GraphSource>().unwrap().to_string(), "kron:5");
    }

    #[test]
    fn weights_of_a_generator() {
        let source: GraphSource = "grid:3x3".parse().unwrap();
        let load = |weights| source.load(&LoadOptions { weights, ..LoadOptions::default() });
        assert!(load(WeightSource::Unit).unwrap().values.is_none());
        assert!(load(WeightSource::FileOrUnit).unwrap().values.is_none());
        assert!(matches!(load(WeightSource::File), Err(Error::NoWeights { .. })));
        let hashed = load(WeightSource::Hash(9)).unwrap();
        assert!(hashed.symmetric && hashed.csr.is_symmetric_with(hashed.values.as_ref()));
    }
}
