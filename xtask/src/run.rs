//! Running cargo in the workspace's root, with the command shown first.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::Command;

/// The workspace's root: the directory above this crate.
pub fn root() -> PathBuf {
    // Cargo sets the variable for `cargo run` and `cargo test`; a binary started by hand falls back on where it was built.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), PathBuf::from)
}

/// Runs cargo with `first` and then `rest` as arguments.
///
/// # Errors
/// If cargo cannot be started or does not succeed.
pub fn cargo(first: &[&str], rest: &[String]) -> Result<()> {
    cargo_with(first, rest, &[])
}

/// As [`cargo`], with environment variables set.
///
/// # Errors
/// If cargo cannot be started or does not succeed.
pub fn cargo_with(first: &[&str], rest: &[String], variables: &[(&str, &str)]) -> Result<()> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let shown: Vec<&str> = first.iter().copied().chain(rest.iter().map(String::as_str)).collect();
    let prefix: String = variables.iter().map(|(name, value)| format!("{name}={value:?} ")).collect();
    eprintln!("$ {prefix}cargo {}", shown.join(" "));
    let mut command = Command::new(&program);
    command.args(first).args(rest).current_dir(root()).envs(variables.iter().copied());
    // These describe this crate; the programs that cargo starts set their own.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
        command.env_remove(name);
    }
    let status = command.status().with_context(|| format!("cannot start {}", program.display()))?;
    if !status.success() {
        bail!("cargo {} ended with {status}", shown.first().copied().unwrap_or(""));
    }
    Ok(())
}
