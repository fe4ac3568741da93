//! `cargo xtask tidy`: the rules of the house that no compiler checks.
//!
//! [`sources`] looks at one file at a time, [`manifests`] at the crates and the arrows between them, [`algorithms`] at
//! where an algorithm is named, [`rings`] at the arrows between the modules of a crate, [`commands`] at those between
//! commands, [`library`] at what may panic, [`documents`] at what a checkout must hold, [`words`] at what things are called. Findings fail; warnings are printed. The rules also run as a test of this crate.

mod algorithms;
mod commands;
mod documents;
mod library;
mod manifests;
mod paths;
mod rings;
mod sources;
mod toml;
mod tree;
mod words;

use crate::run;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// What tidy has to say about the tree.
#[derive(Debug, Default)]
pub struct Report {
    /// Breaches of a rule: `path[:line]: what`.
    findings: Vec<String>,
    /// Worth a look, not a failure.
    warnings: Vec<String>,
}

impl Report {
    fn finding(&mut self, place: impl std::fmt::Display, what: impl std::fmt::Display) {
        self.findings.push(format!("{place}: {what}"));
    }
    fn warning(&mut self, place: impl std::fmt::Display, what: impl std::fmt::Display) {
        self.warnings.push(format!("{place}: {what}"));
    }
}

pub fn run() -> Result<()> {
    let report = check(&run::root())?;
    for warning in &report.warnings {
        println!("warning: {warning}");
    }
    for finding in &report.findings {
        println!("error: {finding}");
    }
    match report.findings.len() {
        0 => println!("tidy: nothing to mend ({} warnings)", report.warnings.len()),
        n => bail!("tidy: {n} findings"),
    }
    Ok(())
}

/// The names of the crates that are not published.
///
/// # Errors
/// If the tree cannot be read.
pub fn unpublished(root: &Path) -> Result<Vec<String>> {
    Ok(manifests::unpublished(&tree::texts(root)?))
}

/// The oldest version of Rust that the workspace states.
///
/// # Errors
/// If the manifest cannot be read, or states none.
pub fn rust_version(root: &Path) -> Result<String> {
    let text = std::fs::read_to_string(root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let manifest = toml::Manifest::parse(&text);
    let version = manifest.get("workspace.package", "rust-version").context("Cargo.toml states no rust-version")?;
    Ok(version.trim_matches('"').to_string())
}

fn check(root: &Path) -> Result<Report> {
    let files = tree::texts(root)?;
    let mut report = Report::default();
    for file in &files {
        sources::check(file, &mut report);
        paths::check(file, &mut report);
        words::check(file, &mut report);
    }
    manifests::check(&files, &mut report);
    algorithms::check(&files, &mut report);
    rings::check(&files, &mut report);
    commands::check(&files, &mut report);
    library::check(&files, &mut report);
    documents::check(&files, &mut report);
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let report = check(&run::root()).unwrap();
        assert!(report.findings.is_empty(), "{}", report.findings.join("\n"));
    }
}
