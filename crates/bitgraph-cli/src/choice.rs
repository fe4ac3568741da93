//! Option values that are names of the library's own types, or `auto`.

use bitgraph::io::FileFormat;
use bitgraph::semiring::DType;
use bitgraph::sparse::ordering::Ordering;
use bitgraph::sparse::{Duplicates, FormatKind};
use bitgraph::{GraphSource, WeightSource};
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use std::ffi::OsStr;
use std::str::FromStr;

/// A graph and the text that names it.
#[derive(Clone, Debug)]
pub struct NamedGraph {
    /// As given.
    pub text: String,
    /// What it names.
    pub source: GraphSource,
}

impl NamedGraph {
    fn parse(name: &OsStr) -> Result<Self, bitgraph::Error> {
        Ok(Self { text: name.to_string_lossy().into_owned(), source: GraphSource::from_name(name)? })
    }
    /// The files that are read.
    pub fn files(&self) -> Vec<&OsStr> {
        match &self.source {
            GraphSource::File(path) => vec![path.as_os_str()],
            _ => Vec::new(),
        }
    }
}

/// Parses GRAPH, which need not be text.
pub fn graph_parser() -> impl TypedValueParser<Value = NamedGraph> {
    OsStringValueParser::new().try_map(|name| NamedGraph::parse(&name))
}

/// Parses `--input-format`.
pub fn input_parser() -> impl TypedValueParser<Value = FileFormat> {
    file_format_parser(&FileFormat::ALL)
}

/// Parses `--output-format`.
pub fn output_parser() -> impl TypedValueParser<Value = FileFormat> {
    file_format_parser(&FileFormat::WRITTEN)
}

fn file_format_parser(formats: &'static [FileFormat]) -> impl TypedValueParser<Value = FileFormat> {
    let names: Vec<&str> = formats.iter().map(|f| f.name()).collect();
    PossibleValuesParser::new(names).map(|name| FileFormat::from_name(&name).unwrap_or(FileFormat::Edges))
}

/// Something forced, or left to the planner.
#[derive(Clone, Copy, Debug)]
pub struct Auto<T>(pub Option<T>);

/// Parses `--format`.
pub fn format_parser() -> impl TypedValueParser<Value = Auto<FormatKind>> {
    let names = ["auto"].into_iter().chain(FormatKind::ALL.map(FormatKind::name));
    PossibleValuesParser::new(names.collect::<Vec<_>>()).map(|name| Auto(FormatKind::from_name(&name)))
}

/// Parses `--reorder`.
pub fn ordering_parser() -> impl TypedValueParser<Value = Auto<Ordering>> {
    let names = ["auto"].into_iter().chain(Ordering::ALL.map(Ordering::name));
    PossibleValuesParser::new(names.collect::<Vec<_>>()).map(|name| Auto(Ordering::from_name(&name)))
}

/// What `bench` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    MxvFloat,
    MxvBool,
    Bfs,
    Sssp,
    PageRank,
    Cc,
    Tc,
}

impl Operation {
    /// All of it.
    pub const ALL: [Self; 7] = [Self::MxvFloat, Self::MxvBool, Self::Bfs, Self::Sssp, Self::PageRank, Self::Cc, Self::Tc];
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MxvFloat => "mxv_float",
            Self::MxvBool => "mxv_bool",
            Self::Bfs => "bfs",
            Self::Sssp => "sssp",
            Self::PageRank => "pagerank",
            Self::Cc => "cc",
            Self::Tc => "tc",
        }
    }
}

/// Parses `--operations`.
pub fn operation_parser() -> impl TypedValueParser<Value = Operation> {
    let names = Operation::ALL.map(Operation::name);
    PossibleValuesParser::new(names).map(|name| Operation::ALL.into_iter().find(|o| o.name() == name).unwrap_or(Operation::Bfs))
}

/// Parses `--variant`; which names there are depends on algorithm, backend and graph, so that the planner refuses the others. The text is
/// kept for as long as the process.
pub fn variant(name: &str) -> Result<&'static str, std::convert::Infallible> {
    Ok(Box::leak(name.to_string().into_boxed_str()))
}

/// Parses `--duplicates`.
pub fn duplicates_parser() -> impl TypedValueParser<Value = Duplicates> {
    PossibleValuesParser::new(["sum", "min", "max", "first", "last", "error"]).map(|name| match &name[..] {
        "sum" => Duplicates::Sum,
        "min" => Duplicates::Min,
        "max" => Duplicates::Max,
        "last" => Duplicates::Last,
        "error" => Duplicates::Error,
        _ => Duplicates::First,
    })
}

/// The device to compute on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    Cpu,
    /// A graphics processor, by number.
    Cuda(u32),
}

impl FromStr for Device {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "cpu" => Ok(Self::Cpu),
            None if text == "cuda" => Ok(Self::Cuda(0)),
            Some(("cuda", number)) => number.parse().map(Self::Cuda).map_err(|_| "the device number is not a whole number"),
            _ => Err("backends are cpu, cuda and cuda:N"),
        }
    }
}

/// Parses `--source` and `--target`; whether the graph has the vertex shows once it is there.
pub fn vertex(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "a vertex is a whole number of at most 64 bits, 0 or more")
}

/// Parses `--weights`.
pub fn weights(text: &str) -> Result<WeightSource, bitgraph::Error> {
    text.parse()
}

/// The floating-point type of scores and distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 64 bits.
    F64,
}

impl Precision {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        self.dtype().name()
    }
    /// The type.
    pub const fn dtype(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::F64 => DType::F64,
        }
    }
}

/// What becomes of the score of a vertex without out-arcs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DanglingChoice {
    /// Spread evenly, or over the personalisation vector.
    Spread,
    /// Lost, as in the GAP benchmark.
    Drop,
}
