//! The command line of bitgraph: parses it, runs one command inside a pool of the wanted size, and turns what went wrong into one sentence
//! and an exit code. It is a library so that the shipped binary can be optimised as a whole, and what is here for size.
//!
//! Invariant: standard output carries results only; everything else goes to standard error.

mod choice;
mod commands;
mod failure;
mod files;
mod ids;
mod options;
mod output;
mod plot;
mod progress;
mod report;
mod run;
mod signals;
mod system;

use clap::Parser;
use commands::Cli;
use failure::Failure;
use std::process::ExitCode;

/// Counts peak memory, and puts big arrays on huge pages.
#[global_allocator]
static ALLOCATOR: bitgraph::memory::TrackingAllocator = bitgraph::memory::TrackingAllocator;

/// Runs the command that the arguments of the process name.
#[must_use]
pub fn main() -> ExitCode {
    bitgraph::memory::keep_freed_blocks();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return finish(options::parse_failure(&error)),
    };
    finish(commands::run(cli))
}

/// The exit code of an outcome; a failure is told in one sentence.
fn finish(outcome: Result<(), Failure>) -> ExitCode {
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    if let Some(sentence) = failure.sentence() {
        let sentence = format!("bitgraph: error: {sentence}\n");
        match failure {
            Failure::Interrupted => signals::tell_interrupted(&sentence),
            _ => output::note(&sentence),
        }
    }
    ExitCode::from(failure.code())
}
