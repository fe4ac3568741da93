//! `bitgraph-verify`: runs the verification and prints the table of what ran, what was skipped and why.

use bitgraph_verify::{Options, run};
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Verifies a backend of bitgraph.
#[derive(Parser)]
#[command(name = "bitgraph-verify", version)]
struct Arguments {
    /// The backend.
    #[arg(long, default_value = "cpu", value_parser = ["cpu"])]
    backend: String,
    /// A folder of graphs with an `expected.json`. Default: the variable `BITGRAPH_DATA`.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Every combination instead of every pair of choices.
    #[arg(long)]
    full: bool,
    /// Only these rings.
    #[arg(long, value_parser = ["operations", "algorithms", "data"])]
    ring: Vec<String>,
    /// Only graphs whose name contains this.
    #[arg(long)]
    graph: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let data = arguments.data.or_else(|| std::env::var_os("BITGRAPH_DATA").map(PathBuf::from));
    let options = Options { full: arguments.full, data, rings: arguments.ring, graph: arguments.graph };
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
