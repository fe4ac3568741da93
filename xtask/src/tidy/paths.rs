//! No path of one machine, and none that leaves the checkout, except where CI looks for optional data beside it.

use super::Report;
use super::tree::File;

/// First parts of absolute paths that mean something on one machine only.
const MACHINE: &[&str] = &["home", "mnt", "opt", "root", "srv", "tmp", "usr", "var", "work", "workspace", "Users"];

/// The file that may look beside the checkout, and does without what it does not find.
const LOOKS_BESIDE: &str = ".ci/run";

pub fn check(file: &File, report: &mut Report) {
    for (number, line) in file.text.lines().enumerate() {
        if line.starts_with("#!/") && number == 0 {
            continue;
        }
        for token in line.split(|c: char| c.is_whitespace() || "\"'`()[]<>,;=".contains(c)) {
            let place = format!("{}:{}", file.path, number + 1);
            if let Some(rest) = token.strip_prefix('/')
                && rest.split_once('/').is_some_and(|(first, after)| MACHINE.contains(&first) && !after.is_empty())
            {
                report.finding(&place, format!("{token:?} is a path of one machine"));
            }
            if file.path != LOOKS_BESIDE && leaves(&file.path, token) {
                report.finding(&place, format!("{token:?} leaves the checkout"));
            }
        }
    }
}

/// Whether `token`, read as a path from the directory of the file at `path`, leads above the root.
fn leaves(path: &str, token: &str) -> bool {
    if !token.starts_with("../") {
        return false;
    }
    let depth = path.matches('/').count();
    token.split('/').take_while(|part| *part == "..").count() > depth
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        let mut report = Report::default();
        check(&File { path: path.into(), text: text.into() }, &mut report);
        report.findings.len()
    }

    #[test]
    fn absolute_paths() {
        let path = format!("/{}/me/graphs", "home");
        assert_eq!(findings("a.md", &format!("see `{path}`")), 1);
        assert_eq!(findings("a.md", &format!("see https://example.org{path}")), 0);
        assert_eq!(findings("a.rs", "a / b, /dev/null, /proc/self/status"), 0);
        assert_eq!(findings("a.sh", &format!("#!/{}/bin/env bash", "usr")), 0);
    }

    #[test]
    fn paths_that_leave() {
        let up = "../";
        assert_eq!(findings("README.md", &format!("[x]({up}x)")), 1);
        assert_eq!(findings("crates/a/src/lib.rs", &format!("\"{up}{up}{up}README.md\"")), 0);
        assert_eq!(findings("crates/a/src/lib.rs", &format!("\"{up}{up}{up}{up}x\"")), 1);
        assert_eq!(findings(LOOKS_BESIDE, &format!("{up}x")), 0);
    }
}
