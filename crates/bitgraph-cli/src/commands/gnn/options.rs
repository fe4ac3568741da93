//! The options of `gnn train`, `gnn infer` and `gnn tune`, as documented to users.

use super::batches::BatchArgs;
use crate::choice::Device;
use crate::options::GeneralArgs;
use bitgraph::gnn::data::Normalise;
use bitgraph::gnn::graphs::Rule;
use bitgraph::gnn::{Architecture, Method, Precision, Readout, Schedule};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What DATA may be, shown with every command that takes it.
const DATA: &str = "\
DATA is a folder with graph.mtx (.mtx.gz, .npz, .bgr, .el, .el.gz), features.npz (scipy) or features.npy, labels.npy (whole numbers from 0, \
-1 for none; or a matrix of 0 and 1 with a column for each class, where a node may be of several), and train_mask.npy, val_mask.npy, \
test_mask.npy, or train_masks.npy and so on with a row for each split (without masks a split is drawn); a folder of OGB's tables \
(raw/edge.csv.gz, node-feat, node-label, num-node-list, split/NAME/train.csv.gz, valid, test); a file .npz of the gnn-benchmark collection; or \
planted:N:COMMUNITIES:DEGREE[:SEED], which is made. gnn train also takes many graphs, which are classified and cross validated: a folder with \
graph.mtx, graph_indicator.npy, graph_labels.npy, and node_labels.npy or features.npy; or one of TU's lists (NAME_A.txt, \
NAME_graph_indicator.txt, NAME_graph_labels.txt, and NAME_node_labels.txt or NAME_node_attributes.txt).";

/// The commands of graph neural networks.
#[derive(Debug, Subcommand)]
pub enum GnnCommand {
    /// Train a model to classify nodes or graphs, and say how many of those for test it gets right. Whatever no option says is the model's recipe.
    #[command(after_help = DATA)]
    Train(Box<TrainArgs>),
    /// Classify nodes or graphs by a model that was trained.
    #[command(after_help = DATA)]
    Infer(InferArgs),
    /// Train a graph convolution in several precisions and chains of operators, time the ways to compute each on this machine, and choose the
    /// fastest that is accurate enough.
    #[command(after_help = DATA)]
    Tune(Box<TuneArgs>),
}

impl GnnCommand {
    /// The options that every command has.
    pub fn general(&self) -> &GeneralArgs {
        match self {
            Self::Train(a) => &a.general,
            Self::Infer(a) => &a.general,
            Self::Tune(a) => &a.general,
        }
    }
}

/// Options of `gnn train`.
#[derive(Args, Clone, Debug)]
pub struct TrainArgs {
    /// The model: gcn, sage, graphconv, gin, gat, gatv2, transformer or agnn [default: gcn; gin for many graphs]
    #[arg(long, value_name = "MODEL", value_parser = architecture_parser())]
    pub model: Option<Architecture>,
    /// The data set [default: planted:2500:7:6, which is made]
    #[arg(long, value_name = "DATA")]
    pub data: Option<PathBuf>,
    /// What it computes in: f32, f16, bf16, bi-full, bin, bits:W,A, or chain:RSG,RSG,.. as gnn tune tries them [default: f32]
    #[arg(long, value_name = "TYPE")]
    pub precision: Option<Precision>,
    /// The model that it learns from at nodes without labels too: a file of --save, or none [default: a graph convolution in f32, trained
    /// first, for bin and for bits of 3 and fewer; none for the others]
    #[arg(long, value_name = "FILE|none", conflicts_with = "resume")]
    pub teacher: Option<String>,
    /// Runs, whose seeds follow each other from --seed [default: 1]
    #[arg(long, value_name = "R", conflicts_with = "resume", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: Option<u32>,
    /// Runs, or folds of many graphs, that are trained at once and share the threads [default: one for each thread, as far as their memory fits;
    /// on a GPU one run, or five folds]. Numbers do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub abreast: Option<u32>,
    #[command(flatten)]
    pub shape: ShapeArgs,
    #[command(flatten)]
    pub settings: SettingsArgs,
    #[command(flatten)]
    pub batches: BatchArgs,
    #[command(flatten)]
    pub graphs: GraphArgs,
    /// Epochs at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub epochs: Option<u32>,
    /// Save the best model and all that training goes on from: every minute, after Ctrl-C, and at the end. Of many graphs, save the model of a
    /// fold at the end, at the epoch that the rule chooses: the fold of the best validation accuracy, or the first one
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Go on from a file of --save, and save there unless --save says where; model, settings and seeds are the file's
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Draw losses and accuracies of every epoch
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Print layers, parameters, the bytes of every tensor, and how epochs were done, on standard error
    #[arg(long)]
    pub explain: bool,
    /// Check first that the same seed gives the same numbers twice
    #[arg(long)]
    pub deterministic: bool,
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub general: GeneralArgs,
}

/// The shape of a model.
#[derive(Args, Clone, Debug)]
pub struct ShapeArgs {
    /// Columns between layers; with attention those of a head
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub hidden: Option<usize>,
    /// Layers that aggregate
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub layers: Option<usize>,
    /// Heads of hidden layers with attention
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub heads: Option<usize>,
    /// The probability that an element of a layer's input is dropped in training
    #[arg(long, value_name = "P", conflicts_with = "resume", allow_negative_numbers = true)]
    pub dropout: Option<f64>,
    /// Linear maps of a GIN layer: 1 over nearly means, 2 or more (the paper's perceptron) over sums
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub mlp: Option<usize>,
    /// Normalise the columns of hidden layers
    #[arg(long, conflicts_with = "resume")]
    pub batch_norm: bool,
    /// Add the input of hidden layers to their results
    #[arg(long, conflicts_with = "resume")]
    pub residual: bool,
}

/// How a model is trained.
#[derive(Args, Clone, Debug)]
pub struct SettingsArgs {
    /// The learning rate
    #[arg(long, value_name = "RATE", conflicts_with = "resume", allow_negative_numbers = true)]
    pub lr: Option<f64>,
    /// How the learning rate goes on: constant, cosine, or step:EPOCHS:FACTOR
    #[arg(long, value_name = "HOW", conflicts_with = "resume", value_parser = schedule)]
    pub schedule: Option<Schedule>,
    /// The optimiser: adam, adamw or sgd (with momentum 0.9)
    #[arg(long, value_name = "NAME", conflicts_with = "resume", value_parser = method_parser())]
    pub optimiser: Option<Method>,
    /// Weight decay of every parameter, or PARAMETER=DECAY of those whose names begin so (layers.0=5e-4); the last that fits counts
    #[arg(long, value_name = "DECAY", conflicts_with = "resume", value_delimiter = ',', allow_negative_numbers = true, value_parser = decay)]
    pub weight_decay: Vec<(String, f64)>,
    /// Stop a run after so many epochs without a better state
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = clap::value_parser!(u32).range(1..))]
    pub stale_epochs: Option<u32>,
    /// What features are divided by: row (its sum), column (the mean of those that are not zero), column-row (one after the other) or none [default: column-row, or row with --stream, and then times up to 16 where their means over neighbourhoods would lie close together (--explain says so); none for many graphs]
    #[arg(long, value_name = "WHICH", conflicts_with = "resume", value_parser = normalise_parser())]
    pub normalise: Option<Normalise>,
    /// Which split of the data set, from 0
    #[arg(long, value_name = "K", conflicts_with = "resume")]
    pub split: Option<usize>,
}

/// How many graphs are classified.
#[derive(Args, Clone, Debug)]
pub struct GraphArgs {
    /// Many graphs: the folds of the cross validation, with equal shares of every class, drawn by --seed [default: 10]
    #[arg(long, value_name = "K", conflicts_with = "resume")]
    pub folds: Option<usize>,
    /// Many graphs: the epoch that folds are measured at: one-epoch (the best for all folds together, as the paper of GIN has it) or validation
    /// (of each fold the best for a tenth of its training graphs, which is held back)
    #[arg(long, value_name = "HOW", default_value = "one-epoch", conflicts_with = "resume")]
    pub rule: Rule,
    /// Many graphs: how the nodes of a graph are taken together: sum, mean or max
    #[arg(long, value_name = "HOW", default_value = "sum", conflicts_with = "resume")]
    pub readout: Readout,
    /// Many graphs: graphs of a batch [default: 128]
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch_graphs: Option<u32>,
}

/// Where a model is computed.
#[derive(Args, Clone, Debug)]
pub struct PlaceArgs {
    /// The device to compute on: cpu, cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub backend: Device,
    /// Refuse what is predicted to take more memory (K, M and G are units) [default: what is free]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub memory_limit: Option<u64>,
}

/// Options of `gnn infer`.
#[derive(Args, Clone, Debug)]
pub struct InferArgs {
    /// A file of gnn train --save
    #[arg(long, value_name = "FILE")]
    pub model_file: PathBuf,
    /// The data set [default: the one that the model was trained on]; a model of graphs is for test with all graphs of another one
    #[arg(long, value_name = "DATA")]
    pub data: Option<PathBuf>,
    /// Which split of the data set accuracies are of, from 0 [default: the one that the model was trained on]
    #[arg(long, value_name = "K")]
    pub split: Option<usize>,
    /// Write the class of every node or graph to FILE.npy, .csv or .tsv
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Runs, each of them timed
    #[arg(long, value_name = "R", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Print layers, parameters, and the bytes of every tensor, on standard error
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub general: GeneralArgs,
}

/// Options of `gnn tune`.
#[derive(Args, Clone, Debug)]
pub struct TuneArgs {
    /// The data set [default: planted:2500:7:6, which is made]
    #[arg(long, value_name = "DATA")]
    pub data: Option<PathBuf>,
    /// Points of accuracy, in percent of the validation nodes, that the choice may be below the most accurate precision
    #[arg(long, value_name = "POINTS", default_value_t = 1.0, allow_negative_numbers = true)]
    pub within: f64,
    /// The precisions that are tried; chains stands for every chain:RSG,RSG of two layers whose types fit: what each layer Reads, Sums over
    /// neighbours and Gives, b for signs and f for floats
    #[arg(long, value_name = "TYPE", num_args = 1.., default_values = ["f32", "bf16", "bits:8,8", "bits:4,4", "bits:2,2", "bi-full", "bin", "chains"])]
    pub precisions: Vec<Tried>,
    /// Runs of each precision, whose seeds follow each other from --seed; their mean accuracy counts
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: u32,
    /// Columns between layers [default: those of the recipes]
    #[arg(long, value_name = "N")]
    pub hidden: Option<usize>,
    /// Epochs at most [default: those of the recipes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub epochs: Option<u32>,
    /// The model that those of few bits learn from, as gnn train has it
    #[arg(long, value_name = "FILE|none")]
    pub teacher: Option<String>,
    /// Which split of the data set, from 0
    #[arg(long, value_name = "K")]
    pub split: Option<usize>,
    /// Inferences that are timed, whose smallest time counts
    #[arg(long, value_name = "R", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Save the model of the choice, for gnn infer
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Draw accuracy over time, with the front
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub general: GeneralArgs,
}

/// What `gnn tune` tries.
#[derive(Clone, Copy, Debug)]
pub enum Tried {
    /// A precision.
    One(Precision),
    /// All chains.
    Chains,
}

impl std::str::FromStr for Tried {
    type Err = bitgraph::gnn::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "chains" { Ok(Self::Chains) } else { text.parse().map(Self::One) }
    }
}

fn architecture_parser() -> impl TypedValueParser<Value = Architecture> {
    PossibleValuesParser::new(Architecture::ALL.map(Architecture::name)).try_map(|name| name.parse())
}

fn normalise_parser() -> impl TypedValueParser<Value = Normalise> {
    PossibleValuesParser::new(["none", "row", "column", "column-row"]).map(|name| match &name[..] {
        "row" => Normalise::Row,
        "column-row" => Normalise::ColumnThenRow,
        "column" => Normalise::ColumnMeanNonzero,
        _ => Normalise::None,
    })
}

fn method_parser() -> impl TypedValueParser<Value = Method> {
    PossibleValuesParser::new(["adam", "adamw", "sgd"]).map(|name| match &name[..] {
        "adamw" => Method::AdamW,
        "sgd" => Method::Sgd { momentum: 0.9 },
        _ => Method::Adam,
    })
}

fn schedule(text: &str) -> Result<Schedule, &'static str> {
    let steps = || {
        let (every, factor) = text.strip_prefix("step:")?.split_once(':')?;
        Some(Schedule::Steps { every: every.parse().ok()?, factor: factor.parse().ok()? })
    };
    match text {
        "constant" => Ok(Schedule::Constant),
        "cosine" => Ok(Schedule::Cosine),
        _ => steps().ok_or("schedules are constant, cosine and step:EPOCHS:FACTOR"),
    }
}

fn decay(text: &str) -> Result<(String, f64), &'static str> {
    let (name, number) = text.split_once('=').unwrap_or(("", text));
    number.parse().map(|decay| (name.to_owned(), decay)).map_err(|_| "weight decay is a number, or PARAMETER=NUMBER")
}

fn size(text: &str) -> Result<u64, &'static str> {
    let (number, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let bytes = number.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    bytes.ok_or("a size is a whole number of bytes, or one with K, M or G behind it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        assert_eq!((size("12"), size("3K"), size("1G")), (Ok(12), Ok(3072), Ok(1 << 30)));
        assert!(size("").is_err() && size("K").is_err() && size("99999999999G").is_err());
        assert_eq!(schedule("step:50:0.5"), Ok(Schedule::Steps { every: 50, factor: 0.5 }));
        assert!(schedule("step:50").is_err() && schedule("linear").is_err());
        assert_eq!(decay("layers.0=5e-4"), Ok(("layers.0".into(), 5e-4)));
        assert!(decay("layers.0=").is_err());
    }
}
