//! The commands: what each is called, its options, and the module that runs it.

mod bench;
mod bfs;
mod cc;
mod completions;
mod convert;
mod doctor;
mod generate;
mod gnn;
mod gpu;
mod info;
mod pagerank;
mod search;
mod sssp;
mod tc;
mod written;

use crate::failure::{Failure, Result};
use crate::options::{BenchArgs, BfsArgs, ConvertArgs, GRAPHS, GeneralArgs, GenerateArgs, InfoArgs, PagerankArgs, PlainArgs, SsspArgs};
use crate::progress::Reporter;
use crate::run::on_backend;
use crate::signals;
use bitgraph::cpu::Isa;
use clap::{Parser, Subcommand};

/// Graph algorithms on bit-level tile formats.
#[derive(Debug, Parser)]
#[command(name = "bitgraph", version, arg_required_else_help = true, after_help = GRAPHS)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Breadth-first search: levels or parents, from one source or from many at once.
    #[command(after_help = GRAPHS)]
    Bfs(BfsArgs),
    /// Shortest paths from one source. Whole-number weights are summed exactly, others in the precision asked for.
    #[command(after_help = GRAPHS)]
    Sssp(SsspArgs),
    /// PageRank.
    #[command(after_help = GRAPHS)]
    Pagerank(PagerankArgs),
    /// Connected components, weak on directed graphs.
    #[command(after_help = GRAPHS)]
    Cc(PlainArgs),
    /// Triangle counting on an undirected graph.
    #[command(after_help = GRAPHS)]
    Tc(PlainArgs),
    /// Sizes, degrees, pattern categories, the bytes of every format, and the planned layouts.
    #[command(after_help = GRAPHS)]
    Info(InfoArgs),
    /// Write a graph in another format, or check a file.
    #[command(after_help = GRAPHS)]
    Convert(ConvertArgs),
    /// Write a generated graph.
    #[command(after_help = GRAPHS)]
    Generate(GenerateArgs),
    /// Time products and algorithms over the formats, after checking that their results agree; with --amortize 1 the plan
    /// beside plain lists, each run with its building. Shortest paths have weights hash:255, PageRank 20 iterations.
    #[command(after_help = GRAPHS)]
    Bench(BenchArgs),
    /// Graph neural networks: training and inference.
    #[command(subcommand)]
    Gnn(gnn::GnnCommand),
    /// What this machine and this build offer.
    Doctor(GeneralArgs),
    /// Print a shell's completion script.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// The options that every command has.
    pub fn general(&self) -> GeneralArgs {
        match self {
            Self::Bfs(a) => a.common.general.clone(),
            Self::Sssp(a) => a.common.general.clone(),
            Self::Pagerank(a) => a.common.general.clone(),
            Self::Cc(a) | Self::Tc(a) => a.common.general.clone(),
            Self::Info(a) => a.general.clone(),
            Self::Convert(a) => a.general.clone(),
            Self::Generate(a) => a.general.clone(),
            Self::Bench(a) => a.general.clone(),
            Self::Gnn(command) => command.general().clone(),
            Self::Doctor(a) => a.clone(),
            Self::Completions { .. } => GeneralArgs::default(),
        }
    }
}

/// Runs a command inside a pool of the wanted size.
pub fn run(cli: Cli) -> Result<()> {
    let general = cli.command.general();
    if let Command::Completions { shell } = cli.command {
        return completions::run(shell);
    }
    check_simd()?;
    let allowed = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = general.threads.map_or(allowed, |n| n as usize);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Failure::other(format_args!("{threads} threads cannot be started: {e}")))?;
    let reporter = Reporter::new(signals::install(), general.quiet);
    pool.install(|| match cli.command {
        Command::Bfs(args) => on_backend!(args.common.layout.backend, b => bfs::run(b, &args, reporter)),
        Command::Sssp(args) => on_backend!(args.common.layout.backend, b => sssp::run(b, &args, reporter)),
        Command::Pagerank(args) => on_backend!(args.common.layout.backend, b => pagerank::run(b, &args, reporter)),
        Command::Cc(args) => on_backend!(args.common.layout.backend, b => cc::run(b, &args, reporter)),
        Command::Tc(args) => on_backend!(args.common.layout.backend, b => tc::run(b, &args, reporter)),
        Command::Info(args) => info::run(&args, &reporter),
        Command::Convert(args) => convert::run(&args, &reporter),
        Command::Generate(args) => generate::run(&args, &reporter),
        Command::Bench(args) => on_backend!(args.layout.backend, b => bench::run(&b, &args, &reporter)),
        Command::Gnn(command) => gnn::run(&command, &reporter),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions { shell } => completions::run(shell),
    })
}

/// Refuses an instruction set that there is not, which the library would take for the highest.
fn check_simd() -> Result<()> {
    match std::env::var_os("BITGRAPH_SIMD") {
        Some(name) if !name.is_empty() && name.to_str().and_then(Isa::from_name).is_none() => {
            Err(Failure::usage(format_args!("BITGRAPH_SIMD is '{}'; it must be portable, avx2 or avx512", name.display())))
        }
        _ => Ok(()),
    }
}
