//! The commands of the command line: each stands alone, and what several share is a module that is none.

use super::Report;
use super::library::library;
use super::rings::arrows;
use super::tree::File;
use std::collections::BTreeSet;

const FOLDER: &str = "crates/bitgraph-cli/src/commands";

/// Refuses that a module needs a command: one with a function `run` that others see.
pub fn check(files: &[File], report: &mut Report) {
    let runs = |text: &str| text.contains("pub fn run(") || text.contains("pub fn run<");
    let modules = library(FOLDER, files);
    let commands: BTreeSet<&str> =
        modules.iter().filter(|m| m.path.len() == 1 && runs(&m.text)).filter_map(|m| m.path.first()).map(String::as_str).collect();
    for (from, needs) in arrows(FOLDER, files) {
        for (to, places) in needs.iter().filter(|(to, _)| commands.contains(to.as_str())) {
            let shared = format_args!("the command {from} needs the command {to}: what both need is a module of its own").to_string();
            places.iter().for_each(|place| report.finding(place, &shared));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_needs_no_other() {
        let findings = |text: &str| {
            let file = |path: &str, text: &str| File { path: format!("{FOLDER}/{path}"), text: text.into() };
            let files = [
                file("mod.rs", "mod bfs;\nmod search;\nmod sssp;\n"),
                file("bfs.rs", "pub fn run<B>() {}\n"),
                file("search.rs", "pub fn path() {}\n"),
                file("sssp.rs", text),
            ];
            let mut report = Report::default();
            check(&files, &mut report);
            report.findings
        };
        assert_eq!(findings("use super::search;\n// use super::bfs;\npub fn run() {}\n"), [""; 0]);
        assert_eq!(findings("use super::{bfs, search};\npub fn run() {}\n").len(), 1);
    }
}
