//! `cargo xtask msrv`: whether the workspace compiles with the oldest Rust that its manifest states.
//!
//! With that version, running or installed by rustup, everything is checked. With a later one alone only the statement is: that check is
//! skipped, and said to be.

use crate::run;
use crate::tidy::rust_version;
use anyhow::{Context, Result, bail};
use std::process::Command;

const CHECK: &[&str] = &["check", "--workspace", "--all-targets"];

pub fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("usage: cargo xtask msrv");
    }
    let stated = rust_version(&run::root())?;
    let wanted = version(&stated).with_context(|| format!("rust-version is {stated:?}, which is no version"))?;
    let rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("--version").output();
    let text = String::from_utf8_lossy(&rustc.context("cannot start rustc")?.stdout).into_owned();
    let running = text.split_whitespace().nth(1).and_then(version).with_context(|| format!("{text:?} tells no version of rustc"))?;
    if running < wanted {
        bail!("msrv: rustc is {}.{}, and the workspace states {stated}", running.0, running.1);
    }
    if running == wanted {
        // A check by the running compiler, which is done where clippy has run.
        return crate::clippy(&[]);
    }
    let list = Command::new("rustup").args(["toolchain", "list"]).output();
    let list = list.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
    let Some(toolchain) = installed(&list, wanted) else {
        println!("msrv: rustc is {}.{}; the check with {stated} is skipped, since rustup has no such toolchain", running.0, running.1);
        return Ok(());
    };
    eprintln!("$ rustup run {toolchain} cargo {}", CHECK.join(" "));
    let mut command = Command::new("rustup");
    // Cargo sets these for what it runs; they name the running toolchain.
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    let status = command.args(["run", toolchain, "cargo"]).args(CHECK).current_dir(run::root()).status().context("cannot start rustup")?;
    if !status.success() {
        bail!("msrv: the workspace does not compile with {stated}, which it states");
    }
    Ok(())
}

/// The first two numbers of a version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The name of a toolchain of that version in rustup's list.
fn installed(list: &str, wanted: (u32, u32)) -> Option<&str> {
    list.lines().filter_map(|line| line.split_whitespace().next()).find(|name| version(name) == Some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!((version("1.95"), version("1.95.0"), version("1.97.0-nightly")), (Some((1, 95)), Some((1, 95)), Some((1, 97))));
        assert_eq!((version("stable-x86_64"), version("")), (None, None));
        let list = "stable-x86_64-unknown-linux-gnu (active, default)\nnightly-x86_64\n1.95.0-x86_64-unknown-linux-gnu\n";
        assert_eq!(installed(list, (1, 95)), Some("1.95.0-x86_64-unknown-linux-gnu"));
        assert_eq!(installed(list, (1, 96)), None);
    }
}
