//! One module per command.

mod bench;
mod bfs;
mod cc;
mod completions;
mod convert;
mod doctor;
mod generate;
mod gpu;
mod info;
mod pagerank;
mod search;
mod sssp;
mod tc;

use crate::failure::{Failure, Result};
use crate::options::{Cli, Command};
use crate::progress::Reporter;
use crate::run::on_backend;
use crate::signals;
use bitgraph::cpu::Level;

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
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions { shell } => completions::run(shell),
    })
}

/// Refuses a level of instructions that there is not, which the library would take for the highest.
fn check_simd() -> Result<()> {
    match std::env::var_os("BITGRAPH_SIMD") {
        Some(name) if !name.is_empty() && name.to_str().and_then(Level::from_name).is_none() => {
            Err(Failure::usage(format_args!("BITGRAPH_SIMD is '{}'; it must be portable, avx2 or avx512", name.display())))
        }
        _ => Ok(()),
    }
}
