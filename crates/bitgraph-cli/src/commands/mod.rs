//! One module per command.

mod bench;
mod bfs;
mod cc;
mod completions;
mod convert;
mod doctor;
mod generate;
mod info;
mod pagerank;
mod search;
mod sssp;
mod tc;

use crate::failure::{Failure, Result};
use crate::options::{Cli, Command};
use crate::progress::Reporter;
use crate::signals;

/// Runs a command inside a pool of the wanted size.
pub fn run(cli: Cli) -> Result<()> {
    let general = cli.command.general();
    if let Command::Completions { shell } = cli.command {
        return completions::run(shell);
    }
    let allowed = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = general.threads.map_or(allowed, |n| n as usize);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Failure::other(format_args!("{threads} threads cannot be started: {e}")))?;
    let reporter = Reporter::new(signals::install(), general.quiet);
    pool.install(|| match cli.command {
        Command::Bfs(args) => bfs::run(&args, reporter),
        Command::Sssp(args) => sssp::run(&args, reporter),
        Command::Pagerank(args) => pagerank::run(&args, reporter),
        Command::Cc(args) => cc::run(&args, reporter),
        Command::Tc(args) => tc::run(&args, reporter),
        Command::Info(args) => info::run(&args, &reporter),
        Command::Convert(args) => convert::run(&args, &reporter),
        Command::Generate(args) => generate::run(&args, &reporter),
        Command::Bench(args) => bench::run(&args, &reporter),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions { shell } => completions::run(shell),
    })
}
