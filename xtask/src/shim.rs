//! `cargo xtask shim`: the tests of the CUDA crate, every form of every algorithm among them, on the host shim.
//!
//! Without it these tests pass over themselves where there is no GPU.

use crate::{kernels, run};
use anyhow::{Context, Result};

/// Runs the tests whose names hold one of the words, all of them without; in turns of one thread a test, since a test on the shim
/// has a thread for every one of a block.
pub fn run(words: &[String]) -> Result<()> {
    kernels::run(&["--host".into()])?;
    let folder = kernels::host_folder();
    let folder = folder.to_str().context("the target folder's name is not UTF-8")?;
    let variables = [("BITGRAPH_CUDA_EMULATOR", folder), ("BITGRAPH_REQUIRE_GPU", "1")];
    run::cargo_with(&["test", "--package", "bitgraph-cuda", "--lib", "--"], words, &variables)
}
