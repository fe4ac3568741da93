//! `bitgraph-verify`: runs the verification and prints the table of what ran, what was skipped and why.

use bitgraph_verify::{Options, RINGS, Target, run};
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Verifies a backend of bitgraph.
#[derive(Parser)]
#[command(name = "bitgraph-verify", version)]
struct Arguments {
    /// The backend.
    #[arg(long, default_value = "cpu", value_parser = target)]
    backend: Target,
    /// A folder of graphs with an `expected.json`. Default: the variable `BITGRAPH_DATA`.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Every combination instead of every pair of choices.
    #[arg(long)]
    full: bool,
    /// A few graphs of the corpus, and every format in one order only: for the host shim, which is slow.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Only these rings.
    #[arg(long, value_parser = RINGS)]
    ring: Vec<String>,
    /// Only graphs whose name contains this.
    #[arg(long)]
    graph: Option<String>,
}

/// `cpu`, `cuda` or `cuda:N`.
fn target(text: &str) -> Result<Target, &'static str> {
    match text.split_once(':') {
        None if text == "cpu" => Ok(Target::Cpu),
        None if text == "cuda" => Ok(Target::Cuda(0)),
        Some(("cuda", number)) => number.parse().map(Target::Cuda).map_err(|_| "the device number is not a whole number"),
        _ => Err("backends are cpu, cuda and cuda:N"),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let data = arguments.data.or_else(|| std::env::var_os("BITGRAPH_DATA").map(PathBuf::from));
    let options = Options {
        target: arguments.backend,
        full: arguments.full,
        quick: arguments.quick,
        data,
        rings: arguments.ring,
        graph: arguments.graph,
        progress: true,
    };
    match run(&options) {
        Ok(report) => {
            print!("{report}");
            if report.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("bitgraph-verify: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
