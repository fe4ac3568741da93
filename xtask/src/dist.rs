//! `cargo xtask dist`: the shipped program, with its kernels, as small as it gets.
//!
//! Machine code is that of one GPU; every other one compiles the portable assembly when a kernel is first used, and its driver keeps the result.

use crate::{kernels, run};
use anyhow::{Context, Result};

/// What kernels are compiled for unless arguments say otherwise.
const KERNELS: [&str; 4] = ["--arch", "90a", "--portable", "80"];

/// No names of functions, which the profile asks for in vain, since its packages have settings of their own; and no tables of unwinding, which a
/// panic does not read.
const FLAGS: &str = "-Cstrip=symbols -Cforce-unwind-tables=no";
/// Functions of equal code become one, where the linker that comes with Rust does the linking.
const FOLDS: &str = " -Clink-arg=-Wl,--icf=all";
const FOLDING: &str = "x86_64-unknown-linux-gnu";

pub fn run(arguments: &[String]) -> Result<()> {
    let asked: Vec<String> = if arguments.is_empty() { KERNELS.map(String::from).into() } else { arguments.to_vec() };
    kernels::run(&asked)?;
    let host = run::host_triple().context("rustc does not tell its host")?;
    let linked = if host == FOLDING { FOLDS } else { "" };
    run::cargo_with(&["build", "--profile", "dist", "--package", "bitgraph-cli"], &[], &[("RUSTFLAGS", &format!("{FLAGS}{linked}"))])?;
    let program = run::target_folder().join("dist").join(format!("bitgraph{}", std::env::consts::EXE_SUFFIX));
    let bytes = program.metadata().with_context(|| format!("cannot find {}", program.display()))?.len();
    println!("{}: {:.2} MB", program.display(), bytes as f64 / 1e6);
    Ok(())
}
