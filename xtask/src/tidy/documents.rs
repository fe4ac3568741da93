//! Rules for what a checkout holds beside the code: the README with the commands that CI runs, and the other documents.

use super::Report;
use super::tree::File;

const MOST_README_LINES: usize = 150;

/// The commands that the README promises. CI runs each as it is written there.
const COMMANDS: &[&str] = &["cargo run --release -- bfs kron:18", "cargo test --workspace"];

pub fn check(files: &[File], report: &mut Report) {
    let text_of = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    for path in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", ".ci/run"] {
        if text_of(path).is_none() {
            report.finding(path, "is missing");
        }
    }
    for path in ["README.md", ".ci/run"] {
        let Some(text) = text_of(path) else { continue };
        for command in COMMANDS {
            if !text.lines().any(|line| line.trim() == *command) {
                report.finding(path, format!("does not have the line `{command}`"));
            }
        }
    }
    let lines = text_of("README.md").map_or(0, |text| text.lines().count());
    if lines > MOST_README_LINES {
        report.finding("README.md", format!("{lines} lines; at most {MOST_README_LINES}"));
    }
}
