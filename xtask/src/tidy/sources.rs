//! Rules for one Rust or CUDA file: its header, its length, what it must not hold, and where unsafe code may be.

use super::Report;
use super::tree::File;

const MOST_LINES: usize = 800;
const MANY_LINES: usize = 500;

/// A crate whose README says what it is for.
const FRONT_PAGE: &str = "#![doc = include_str!(\"../README.md\")]\n";

/// Marks of unfinished work. Written in two halves so that this file does not find itself.
const UNFINISHED: &[&str] =
    &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("todo", "!("), concat!("unimplemented", "!("), concat!("dbg", "!(")];

/// Modules that may allow unsafe code, by the beginning of their path: SIMD kernels and prefetches, memory mapping, disjoint parallel
/// writes, threads for short phases, element types that wrap a built-in one, what touches a device, counting allocators and signals. A file that writes through `DisjointSlice` may too: its proof needs an unsafe block.
const UNSAFE: &[&str] = &[
    "crates/bitgraph-semiring/src/scalar/transparent.rs",
    "crates/bitgraph-sparse/src/buffer.rs",
    "crates/bitgraph-sparse/src/parallel/",
    "crates/bitgraph-sparse/src/ahead.rs",
    "crates/bitgraph-b2sr/src/isa.rs",
    "crates/bitgraph-b2sr/src/keys/",
    "crates/bitgraph-io/src/system.rs",
    "crates/bitgraph-io/tests/bad_bytes.rs",
    "crates/bitgraph-cpu/src/fused/",
    "crates/bitgraph-cpu/src/spmv/",
    "crates/bitgraph-cpu/src/tensor/",
    "crates/bitgraph-cpu/src/tile/",
    "crates/bitgraph-cpu/src/place.rs",
    "crates/bitgraph-cpu/src/team/",
    "crates/bitgraph-cpu/tests/models/",
    "crates/bitgraph-cuda/src/",
    "crates/bitgraph-measure/src/",
    "crates/bitgraph/src/memory.rs",
    "crates/bitgraph-cli/src/signals.rs",
];

pub fn check(file: &File, report: &mut Report) {
    let rust = file.path.ends_with(".rs");
    if !rust && !file.path.ends_with(".cu") && !file.path.ends_with(".cuh") {
        return;
    }
    if rust && !file.text.starts_with("//! ") && !file.text.starts_with(FRONT_PAGE) {
        report.finding(&file.path, "does not start with `//!`: say what the file is for");
    }
    length(file, report);
    for (number, line) in file.text.lines().enumerate() {
        let place = format!("{}:{}", file.path, number + 1);
        for mark in UNFINISHED {
            if holds_word(line, mark) {
                report.finding(&place, format!("{:?} marks unfinished work", mark.trim_end_matches('(')));
            }
        }
        if line.trim() == concat!("#[ig", "nore]") {
            report.finding(&place, "a test is ignored without a reason");
        }
    }
    if rust && allows_unsafe(&file.text) && !UNSAFE.iter().any(|start| file.path.starts_with(start)) && !disjoint(&file.text) {
        report.finding(&file.path, "allows unsafe code, and is not one of the modules that may");
    }
}

fn length(file: &File, report: &mut Report) {
    let exempt = file.path.split('/').any(|part| part == "tests" || part == "generated" || part == "tests.rs");
    let lines = file.text.lines().count();
    if exempt || lines <= MANY_LINES {
        return;
    }
    if lines > MOST_LINES {
        report.finding(&file.path, format!("{lines} lines; at most {MOST_LINES}"));
    } else {
        report.warning(&file.path, format!("{lines} lines; above {MANY_LINES} ask why"));
    }
}

/// Whether `line` holds `word`, not as part of a longer identifier.
fn holds_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        let end = &line[start + word.len()..];
        !line[..start].ends_with(part) && (word.ends_with('(') || !end.starts_with(part))
    })
}

/// Whether an attribute allows unsafe code, alone or among other lints.
fn allows_unsafe(text: &str) -> bool {
    let attributes = text.lines().map(str::trim).filter(|line| line.starts_with("#[") || line.starts_with("#!["));
    attributes.filter(|line| ["allow(", "expect(", "warn("].iter().any(|level| line.contains(level))).any(|line| {
        line.contains(concat!("unsafe", "_code")) // the lint's name
    })
}

fn disjoint(text: &str) -> bool {
    text.contains("DisjointSlice")
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
    fn header_and_length() {
        assert_eq!(findings("a.rs", "//! What.\n"), 0);
        assert_eq!(findings("a.rs", "fn f() {}\n"), 1);
        assert_eq!(findings("a.rs", FRONT_PAGE), 0);
        assert_eq!(findings("a.rs", &format!("//! What.\n{}", "\n".repeat(MOST_LINES))), 1);
        assert_eq!(findings("tests/a.rs", &format!("//! What.\n{}", "\n".repeat(MOST_LINES))), 0);
        assert_eq!(findings("a.md", "anything"), 0);
    }

    #[test]
    fn marks_of_unfinished_work() {
        for mark in UNFINISHED {
            assert_eq!(findings("a.rs", &format!("//! What.\n// {mark} later\n")), 1, "{mark}");
            assert_eq!(findings("a.rs", &format!("//! What.\n// no_{mark} here\n")), 0, "{mark}");
        }
        assert_eq!(findings("a.rs", concat!("//! What.\n#[ig", "nore]\n")), 1);
        assert_eq!(findings("a.rs", concat!("//! What.\n#[ig", "nore = \"needs a terminal\"]\n")), 0);
    }

    #[test]
    fn unsafe_code_has_its_places() {
        let text = concat!("//! What.\n#![allow(unsafe", "_code)]\n");
        assert_eq!(findings("crates/bitgraph-cpu/src/tile/mod.rs", text), 0);
        assert_eq!(findings("crates/bitgraph-semiring/src/lib.rs", text), 1);
        assert_eq!(findings("crates/bitgraph-semiring/src/lib.rs", &format!("{text}use x::DisjointSlice;\n")), 0);
        assert_eq!(findings("crates/bitgraph-semiring/src/lib.rs", concat!("//! What.\n#![deny(unsafe", "_code)]\n")), 0);
    }
}
