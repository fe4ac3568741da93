//! The command line: commands and their options, as documented to users.

use crate::choice::Operation;
use crate::choice::{self, Auto, DanglingChoice, Device, NamedGraph, Precision};
use crate::failure::{Failure, Result};
use bitgraph::WeightSource;
use bitgraph::algorithms::PageRankConfig;
use bitgraph::io::FileFormat;
use bitgraph::sparse::ordering::Ordering;
use bitgraph::sparse::{Duplicates, FormatKind};
use clap::Args;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::path::PathBuf;

/// What GRAPH may be, shown with every command that takes one.
pub const GRAPHS: &str = "\
GRAPH is a file (Matrix Market .mtx; edge list .el/.wel/.txt/.tsv/.csv/.edges/.edgelist/.dat or out.*; METIS .graph; DIMACS .gr; each \
with .gz or without; .npz, .bgr, GAP's .sg/.wsg; any name if the contents or --input-format say what it is), '-' for standard input (an \
edge list, unless it begins like another format), or a generator (write ./kron:18 for a file of such a name; EF, edges to a vertex, is \
16 unless given, SEED is 1):
  kron:SCALE[:EF[:SEED]]    Graph500 Kronecker, 2^SCALE vertices      grid:ROWSxCOLS    four neighbours
  urand:N[:EF[:SEED]]       uniform; N <= 63 is a scale               mesh:XxYxZ        three-dimensional mesh
  skew:N:EDGES[:SEED]       one end uniform, one end N r^2            mycielskian:K     Mycielski graph
  planted:N:COMMUNITIES:DEGREE[:SEED]                                 debruijn:K        2^K vertices
any of them followed by @SEED: the same graph with its vertices renumbered at random.
Vertices are numbered from 0, also where a file numbers them from 1.";

/// Options of every command.
#[derive(Args, Clone, Debug, Default)]
pub struct GeneralArgs {
    /// Threads, at most 1024; searches and the like use no more than there are CPUs [default: the CPUs allowed to the process]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// The seed of what the command itself draws at random (--sources N); a generator has its own
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON object on standard output, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// No progress bar and no summary
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Tell more on standard error
    #[arg(long, short)]
    pub verbose: bool,
}

/// How a file is read.
#[derive(Args, Clone, Debug)]
pub struct ReadingArgs {
    /// The format of the file [default: what its contents cannot but be, else what its ending says]
    #[arg(long, value_name = "FORMAT", value_parser = choice::input_parser())]
    pub input_format: Option<FileFormat>,
    /// Take the union of the graph and its transpose; which weight stays of two opposite arcs, --duplicates says
    #[arg(long)]
    pub symmetrize: bool,
    /// The number of vertices of an edge list [default: its '# Nodes:' comment, or the largest number + 1]; of another file: confirms rows or
    /// columns out of all proportion to its size
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32))]
    pub nodes: Option<u32>,
    /// The vertices of an edge list are numbered from 1
    #[arg(long)]
    pub one_based: bool,
    /// What becomes of entries given more than once
    #[arg(long, value_name = "WHICH", default_value = "first", value_parser = choice::duplicates_parser())]
    pub duplicates: Duplicates,
    /// The vertices of an edge list are arbitrary 64-bit numbers, and are called by them (an --output of .npy, and a file that convert writes in
    /// a format without such numbers, has the vertices in ascending order of them)
    #[arg(long, conflicts_with_all = ["nodes", "one_based"])]
    pub relabel: bool,
}

/// How a graph is laid out.
#[derive(Args, Clone, Debug)]
pub struct LayoutArgs {
    /// The device to compute on: cpu, cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub backend: Device,
    /// The storage format
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = choice::format_parser())]
    pub format: Auto<FormatKind>,
    /// The order of the vertices
    #[arg(long, value_name = "ORDER", default_value = "auto", value_parser = choice::ordering_parser())]
    pub reorder: Auto<Ordering>,
    /// Runs that the planner may count on [default: learnt from the runs so far; bench: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub amortize: Option<u32>,
    /// Force a variant, by the name that --explain prints: for tests and benches
    #[arg(long, value_name = "NAME", hide = true, value_parser = choice::variant)]
    pub variant: Option<&'static str>,
    /// Print the plan, and the sums behind it, on standard error
    #[arg(long)]
    pub explain: bool,
    /// The type of scores and distances
    #[arg(long, value_enum, value_name = "TYPE", default_value = "f32")]
    pub precision: Precision,
    /// Runs, each of them timed [default: 1; bench: 5]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
}

impl LayoutArgs {
    /// Runs of a command that runs once unless told otherwise.
    pub fn runs(&self) -> u32 {
        self.repeat.unwrap_or(1)
    }
}

/// Options of every algorithm.
#[derive(Args, Clone, Debug)]
pub struct CommonArgs {
    /// The graph
    #[arg(value_name = "GRAPH", value_parser = choice::graph_parser())]
    pub graph: NamedGraph,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub layout: LayoutArgs,
    /// Write one value per vertex to FILE.npy, .csv or .tsv; with --sources one per source and vertex, in a row of .npy for each source
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub general: GeneralArgs,
}

/// Where a search starts, and what it finds.
#[derive(Args, Clone, Debug)]
pub struct SearchArgs {
    /// The vertex to start from [default: the one of largest degree, then of smallest number]
    #[arg(long, value_name = "V", conflicts_with = "sources", allow_negative_numbers = true, value_parser = choice::vertex)]
    pub source: Option<u64>,
    /// Many vertices to start from: a file (.npy of whole numbers, or one on each line; of a table with a heading the column 'node'), or a
    /// number of vertices to draw among those with arcs
    #[arg(long, value_name = "FILE|N", conflicts_with_all = ["parents", "target"])]
    pub sources: Option<OsString>,
    /// Find the tree: --output writes parents (-1 unreached, the source its own)
    #[arg(long)]
    pub parents: bool,
    /// Print the path to this vertex; without --output the search may end there, and what is farther is not counted
    #[arg(long, value_name = "V", allow_negative_numbers = true, value_parser = choice::vertex)]
    pub target: Option<u64>,
    /// The width of a bucket of shortest paths (of no effect on bfs) [default: from weights and degrees]
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub delta: Option<f64>,
}

/// Options of `bfs`.
#[derive(Args, Clone, Debug)]
pub struct BfsArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    #[command(flatten)]
    pub search: SearchArgs,
}

/// Options of `sssp`.
#[derive(Args, Clone, Debug)]
pub struct SsspArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    #[command(flatten)]
    pub search: SearchArgs,
    /// Edge weights: file, unit, or hash:MAX (whole numbers from 1 to MAX) [default: file if it has any, else unit]
    #[arg(long, value_name = "WHICH", value_parser = choice::weights)]
    pub weights: Option<WeightSource>,
}

/// Options of `pagerank`.
#[derive(Args, Clone, Debug)]
pub struct PagerankArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// The damping factor
    #[arg(long, default_value_t = PageRankConfig::DEFAULT_DAMPING, allow_negative_numbers = true)]
    pub damping: f64,
    /// Stop once the L1 change falls below this
    #[arg(long, default_value_t = PageRankConfig::DEFAULT_TOLERANCE, allow_negative_numbers = true)]
    pub tolerance: f64,
    /// Iterations at most
    #[arg(long, value_name = "N", default_value_t = PageRankConfig::DEFAULT_MAX_ITERATIONS)]
    pub max_iterations: u32,
    /// The teleport distribution: a file with a vertex, and a weight or none, on each line, such as an --output of .csv
    #[arg(long, value_name = "FILE")]
    pub personalize: Option<PathBuf>,
    /// What becomes of the score of vertices without out-arcs
    #[arg(long, value_enum, value_name = "HOW", default_value = "spread")]
    pub dangling: DanglingChoice,
}

/// Options of `cc` and `tc`.
#[derive(Args, Clone, Debug)]
pub struct PlainArgs {
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options of `info`.
#[derive(Args, Clone, Debug)]
pub struct InfoArgs {
    /// The graph
    #[arg(value_name = "GRAPH", value_parser = choice::graph_parser())]
    pub graph: NamedGraph,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub layout: LayoutArgs,
    /// Draw the spy plot and the degree distribution
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub general: GeneralArgs,
}

/// Options of `convert`.
#[derive(Args, Clone, Debug)]
pub struct ConvertArgs {
    /// The graph
    #[arg(value_name = "GRAPH", value_parser = choice::graph_parser())]
    pub graph: NamedGraph,
    /// The file to write; its ending names the format: .mtx, .el, .wel, .txt, .tsv, .csv, .edges, .edgelist, .dat, .graph (each with .gz or without),
    /// .npz or .bgr; '-' for standard output
    #[arg(value_name = "OUT", required_unless_present = "check", conflicts_with = "check")]
    pub out: Option<PathBuf>,
    /// The format of the file to write, whatever its ending; '-' needs it, unless --to says .bgr
    #[arg(long, conflicts_with = "check", value_name = "FORMAT", value_parser = choice::output_parser())]
    pub output_format: Option<FileFormat>,
    /// Read and check everything, write nothing
    #[arg(long)]
    pub check: bool,
    /// The storage format inside a .bgr file; auto: as the planner says
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = choice::format_parser())]
    pub to: Auto<FormatKind>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub layout: LayoutArgs,
    #[command(flatten)]
    pub general: GeneralArgs,
}

/// Options of `generate`.
#[derive(Args, Clone, Debug)]
pub struct GenerateArgs {
    /// The generator
    #[arg(value_name = "GENERATOR", value_parser = choice::graph_parser())]
    pub generator: NamedGraph,
    /// The file to write; its ending names the format: .mtx, .el, .wel, .txt, .tsv, .csv, .edges, .edgelist, .dat, .graph (each with .gz or without),
    /// .npz or .bgr; '-' for standard output
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// The format of the file to write, whatever its ending; '-' needs it
    #[arg(long, value_name = "FORMAT", value_parser = choice::output_parser())]
    pub output_format: Option<FileFormat>,
    #[command(flatten)]
    pub general: GeneralArgs,
}

/// Options of `bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// The graph
    #[arg(value_name = "GRAPH", value_parser = choice::graph_parser())]
    pub graph: NamedGraph,
    /// What to time [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = choice::operation_parser())]
    pub operations: Vec<Operation>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub layout: LayoutArgs,
    #[command(flatten)]
    pub general: GeneralArgs,
}

/// What a refused command line means: help and version are no failures, everything else is told in one sentence.
pub fn parse_failure(error: &clap::Error) -> Result<()> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => crate::output::print(&error.render().to_string()),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Err(Failure::usage("a command is missing"))
        }
        _ => {
            let text = error.render().to_string();
            let first: Vec<&str> = text.lines().take_while(|l| !l.trim().is_empty()).map(str::trim).collect();
            let sentence = first.join(" ");
            Err(Failure::usage(sentence.strip_prefix("error: ").unwrap_or(&sentence)))
        }
    }
}
