//! `completions`: a shell's completion script on standard output.

use super::Cli;
use crate::failure::Result;
use crate::output;
use clap::CommandFactory;

/// Prints the script.
pub fn run(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bitgraph", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
