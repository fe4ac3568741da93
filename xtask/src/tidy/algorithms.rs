//! Where an algorithm of the library is named: in folders of its own, in four registers, and by callers who want that one.
//!
//! Invariant: a new algorithm is added without a change to a crate that names none, the contracts above all.

use super::Report;
use super::tree::File;

/// Lines of code of a definition, over all of them: as in the papers, or a fused form has a program to be held against and not a formula.
const MOST_LINES: usize = 32;

/// What an algorithm is entered into.
const REGISTERS: &[&str] = &[
    "crates/bitgraph-algorithms/src/lib.rs",
    "crates/bitgraph-cpu/src/fused/mod.rs",
    "crates/bitgraph-cuda/src/fused/mod.rs",
    "crates/bitgraph-cli/src/commands/mod.rs",
];
/// Those who call some algorithms for what they are about.
const CALLERS: &[&str] = &[
    "benches/",
    "examples/",
    "fuzz/",
    "crates/bitgraph-testkit/",
    "crates/bitgraph-verify/",
    "crates/bitgraph-cli/src/choice.rs",
    "crates/bitgraph-cli/src/options.rs",
    "crates/bitgraph-cli/src/commands/bench/",
    "crates/bitgraph-cli/src/commands/convert.rs",
    "crates/bitgraph-cli/src/commands/info.rs",
];

pub fn check(files: &[File], report: &mut Report) {
    definitions(files, report);
    let all: Vec<(&str, &str)> = files.iter().filter_map(settings).collect();
    for (_, settings) in &all {
        // An algorithm may be made of another.
        let own = |path: &str| path.split('/').any(|part| all.iter().any(|(folder, _)| part.trim_end_matches(".rs").ends_with(folder)));
        for file in files.iter().filter(|f| f.path.ends_with(".rs") && holds(code(&f.text), settings)) {
            let path = &file.path;
            let known = own(path) || is_test(path) || CALLERS.iter().any(|c| path.starts_with(c)) || REGISTERS.contains(&path.as_str());
            if !known {
                report.finding(path, format_args!("names {settings}, which belongs in the folders of its algorithm or in a register"));
            }
        }
    }
}

/// Holds all definitions together against the lines that they may have.
fn definitions(files: &[File], report: &mut Report) {
    let definition = |f: &&File| f.path.starts_with("crates/bitgraph-algorithms/src/") && f.path.ends_with("/definition.rs");
    let lines: Vec<usize> = files.iter().filter(definition).map(|f| code(&f.text).filter(|l| !l.trim().is_empty()).count()).collect();
    let (all, most) = (lines.iter().sum::<usize>(), MOST_LINES * lines.len());
    if all > most {
        report
            .finding("crates/bitgraph-algorithms", format_args!("{} definitions have {all} lines of code; {most} are enough", lines.len()));
    }
}

/// The folder of an algorithm and the name of its settings.
fn settings(file: &File) -> Option<(&str, &str)> {
    let folder = file.path.strip_prefix("crates/bitgraph-algorithms/src/")?.strip_suffix("/mod.rs")?;
    let declared = |line: &'_ str| -> Option<usize> { line.strip_prefix("pub struct ")?.find("Config").map(|at| at + "Config".len()) };
    let line = file.text.lines().find(|l| declared(l).is_some())?;
    let end = declared(line)?;
    Some((folder, &line["pub struct ".len()..][..end]))
}

/// The text without comments of its own lines and without unit tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|l| *l != "#[cfg(test)]").filter(|l| !l.trim_start().starts_with("//"))
}

fn holds<'a>(mut lines: impl Iterator<Item = &'a str>, name: &str) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    lines.any(|line| {
        line.match_indices(name).any(|(at, _)| !word(line[..at].chars().next_back()) && !word(line[at + name.len()..].chars().next()))
    })
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("/fused/variants.rs") || path.contains("/examples/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let own = file("crates/bitgraph-algorithms/src/core/mod.rs", "/// Settings.\npub struct CoreConfig {\n}\n");
        let mut report = Report::default();
        check(&[own, file(path, text)], &mut report);
        report.findings.len()
    }

    #[test]
    fn definitions_stay_short() {
        let found = |lines: usize| {
            let file = |name: &str, text: String| File { path: format!("crates/bitgraph-algorithms/src/{name}/definition.rs"), text };
            let mut report = Report::default();
            definitions(&[file("a", "x;\n".repeat(lines)), file("b", "//! What.\n\ny;\n#[cfg(test)]\nz;\n".into())], &mut report);
            report.findings.len()
        };
        assert_eq!((found(2 * MOST_LINES - 1), found(2 * MOST_LINES)), (0, 1));
    }

    #[test]
    fn a_crate_that_names_no_algorithm_stays_so() {
        assert_eq!(findings("crates/bitgraph-backend/src/graph/mod.rs", "use x::CoreConfig;\n"), 1);
        assert_eq!(findings("crates/bitgraph-backend/src/graph/mod.rs", "// CoreConfig\nuse x::ScoreConfig;\n"), 0);
        assert_eq!(findings("crates/bitgraph-backend/src/graph/mod.rs", "#[cfg(test)]\nuse x::CoreConfig;\n"), 0);
        assert_eq!(findings("crates/bitgraph-cpu/src/fused/mod.rs", "use x::CoreConfig;\n"), 0);
        assert_eq!(findings("crates/bitgraph-cpu/src/fused/core/select.rs", "use x::CoreConfig;\n"), 0);
        assert_eq!(findings("crates/bitgraph-cpu/src/fused/lists.rs", "use x::CoreConfig;\n"), 1);
    }
}
