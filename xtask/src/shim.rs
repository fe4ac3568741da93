//! `cargo xtask shim`: the tests of the CUDA crate, every form of every algorithm among them, and of the command line with a GPU, on the host shim.
//!
//! Without it these tests pass over themselves where there is no GPU.
//!
//! Invariant: a run of all tests launches every kernel of a fused algorithm and of the operations on dense matrices, or fails; a form that no
//! test enters is no form.

use crate::kernels;
use crate::programs::{self, Build};
use anyhow::{Context, Result, bail};
use bitgraph_kernels::listed_modules;
use std::collections::BTreeSet;

/// Modules of which every kernel must be launched; those of the operations on graphs are generated, and verified by `emulate`.
const WHOLE: &[&str] = &["graph/", "tensor/"];

/// Runs the tests whose names hold one of the words, all of them without.
pub fn run(words: &[String]) -> Result<()> {
    let (build, words) = Build::of(words);
    kernels::run(&["--host".into()])?;
    let folder = kernels::host_folder();
    let list = folder.join("launched.txt");
    // Of an earlier run, if there was one.
    let _ = std::fs::remove_file(&list);
    let text = |path: &std::path::Path| path.to_str().map(String::from).context("the target folder's name is not UTF-8");
    let (folder, name) = (text(&folder)?, text(&list)?);
    let variables = [("BITGRAPH_CUDA_EMULATOR", &*folder), ("BITGRAPH_REQUIRE_GPU", "1"), ("BITGRAPH_LAUNCHED", &*name)];
    let filters: Vec<&str> = words.iter().map(String::as_str).collect();
    for program in programs::of(build, "bitgraph-cuda", &[], &[], &[])? {
        program.run(&[], &filters, &variables)?;
    }
    if words.is_empty() {
        for program in programs::of(build, "bitgraph-cli", &["gpu"], &[], &[])?.iter().filter(|program| program.target == "gpu") {
            program.run(&[], &[], &variables)?;
        }
        let launched = std::fs::read_to_string(&list).with_context(|| format!("cannot read {name}"))?;
        return all_launched(&launched.lines().collect());
    }
    Ok(())
}

fn all_launched(launched: &BTreeSet<&str>) -> Result<()> {
    let whole = listed_modules().filter(|m| WHOLE.iter().any(|folder| m.name.starts_with(folder)));
    let all: Vec<&str> = whole.flat_map(|m| m.kernels).copied().collect();
    let missing: Vec<&str> = all.iter().copied().filter(|kernel| !launched.contains(kernel)).collect();
    if !missing.is_empty() {
        bail!("shim: no test launches {}", missing.join(", "));
    }
    println!("shim: {} kernels of fused algorithms and of dense matrices were launched", all.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_no_test_launches_is_named() {
        let mut all: BTreeSet<&str> = listed_modules().flat_map(|m| m.kernels).copied().collect();
        all_launched(&all).unwrap();
        all.remove("cc_general");
        assert!(all_launched(&all).unwrap_err().to_string().contains("cc_general"));
    }
}
