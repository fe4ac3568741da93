//! `cargo xtask package`: every published crate as an archive, in the order of their dependencies, without network.
//!
//! Manifests and file lists are what packaging checks. `--verify` compiles each archive as well, which takes as long as a build from nothing.

use crate::{run, tidy};
use anyhow::{Context, Result, bail};
use std::process::Command;

pub fn run(arguments: &[String]) -> Result<()> {
    let verify = match arguments {
        [] => false,
        [flag] if flag == "--verify" => true,
        _ => bail!("usage: cargo xtask package [--verify]"),
    };
    let unpublished = tidy::unpublished(&run::root())?;
    // Changes that are not committed are packaged too: publishing refuses them.
    let mut cargo = vec!["package", "--workspace", "--offline", "--allow-dirty"];
    if !verify {
        cargo.push("--no-verify");
    }
    for name in &unpublished {
        cargo.extend(["--exclude", name]);
    }
    run::cargo(&cargo, &[])?;
    kernels()
}

/// Whether the archive of the kernels has every source.
fn kernels() -> Result<()> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let list = ["package", "--list", "--allow-dirty", "--offline", "--package", "bitgraph-kernels"];
    let output = Command::new(program).args(list).current_dir(run::root()).output().context("cannot start cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let packaged: Vec<&str> = text.lines().collect();
    let missing: Vec<&str> = bitgraph_kernels::sources().iter().map(|source| source.path).filter(|path| !packaged.contains(path)).collect();
    if !missing.is_empty() {
        bail!("package: bitgraph-kernels lacks {}", missing.join(", "));
    }
    println!("package: bitgraph-kernels has all {} sources", bitgraph_kernels::sources().len());
    Ok(())
}
