//! `cargo xtask fuzz`: every reader on mutated bytes, from the kept corpus on.
//!
//! The targets are built as cargo-fuzz builds them, by cargo alone, so that nothing need be installed but a C++ compiler. What a run adds
//! to the corpus stays below the target folder; what makes a target fail is written to `fuzz/artifacts`.
//!
//! Invariant: a target that fails makes the task fail, and the others are still run.

use crate::run;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;

const USAGE: &str = "usage: cargo xtask fuzz [--seconds S] [--jobs N] [TARGET ..]";

/// Coverage for libFuzzer, and the address sanitizer; as `cargo fuzz` sets them.
const FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Zsanitizer=address",
    "-Cdebug-assertions",
];

/// Longest input: what the readers do is decided by the first few lines.
const LONGEST: &str = "-max_len=4096";
/// Runs of one tree on one machine try much the same inputs: what CI finds, it finds again. Longer runs go further.
const SEED: &str = "-seed=1";
/// Memory held when a target returns is no leak yet: the thread that unpacks a gzip file may outlive its reader by a moment.
const LEAKS: &str = "-detect_leaks=0";
/// An input that takes longer than this fails.
const TIMEOUT: &str = "-timeout=20";
/// Mebibytes that a target may take; a reader trusts a header for some hundreds.
const MEMORY: &str = "-rss_limit_mb=4096";

struct Options {
    seconds: u64,
    jobs: usize,
    targets: Vec<String>,
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options { seconds: 30, jobs: std::thread::available_parallelism().map_or(1, usize::from), targets: Vec::new() };
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let mut number = || rest.next().and_then(|text| text.parse().ok()).with_context(|| format!("{word} needs a number; {USAGE}"));
        match word.as_str() {
            "--seconds" => options.seconds = number()?,
            "--jobs" => options.jobs = number()?.max(1) as usize,
            flag if flag.starts_with('-') => bail!("{USAGE}"),
            target => options.targets.push(target.into()),
        }
    }
    let known = targets()?;
    match options.targets.iter().find(|target| !known.contains(target)) {
        Some(target) => bail!("there is no target {target:?}; there are {}", known.join(", ")),
        None if options.targets.is_empty() => options.targets = known,
        None => {}
    }
    Ok(options)
}

/// The targets: the folders of the corpus.
fn targets() -> Result<Vec<String>> {
    let corpus = run::root().join("fuzz/corpus");
    let mut names = Vec::new();
    for entry in corpus.read_dir().with_context(|| format!("cannot list {}", corpus.display()))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

pub fn run(arguments: &[String]) -> Result<()> {
    let options = parse(arguments)?;
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    if Command::new(&compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        println!("fuzz: skipped, since libFuzzer is built by a C++ compiler and there is no {}", compiler.display());
        return Ok(());
    }
    let Some(host) = run::host_triple() else {
        println!("fuzz: skipped, since rustc does not tell its host");
        return Ok(());
    };
    let folder = run::target_folder().join("fuzz");
    let folder_text = folder.to_str().context("the target folder's name is not UTF-8")?;
    let flags = FLAGS.join(" ");
    // Of readers, optimised code runs little faster, and compiles for twice as long.
    let variables =
        [("RUSTFLAGS", &*flags), ("CARGO_TARGET_DIR", folder_text), ("RUSTC_BOOTSTRAP", "1"), ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")];
    run::cargo_with(&["build", "--release", "--package", "bitgraph-fuzz", "--bins", "--target", &host], &[], &variables)?;
    let programs = folder.join(&host).join("release");
    let failures = Mutex::new(Vec::new());
    let targets: Vec<&str> = options.targets.iter().map(String::as_str).collect();
    run::parallel(&targets, options.jobs, |target| {
        let failed = one(target, programs.join(target), &folder, options.seconds)?;
        if let (true, Ok(mut list)) = (failed, failures.lock()) {
            list.push(target.to_string());
        }
        Ok(())
    })?;
    match failures.into_inner() {
        Ok(list) if list.is_empty() => Ok(()),
        Ok(list) => bail!("fuzz: {} failed; the inputs are in fuzz/artifacts", list.join(", ")),
        Err(_) => bail!("fuzz: a thread panicked"),
    }
}

/// Runs a target for so many seconds; whether an input made it fail.
fn one(target: &str, program: PathBuf, folder: &std::path::Path, seconds: u64) -> Result<bool> {
    let root = run::root();
    let (grown, artifacts) = (folder.join("corpus").join(target), root.join("fuzz/artifacts").join(target));
    for directory in [&grown, &artifacts] {
        fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    }
    let output = Command::new(&program)
        .args([SEED, LEAKS, LONGEST, TIMEOUT, MEMORY, "-print_final_stats=1", "-reload=0"])
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args([&grown, &root.join("fuzz/corpus").join(target)])
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let runs = text.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:")).unwrap_or("?").trim();
    println!("fuzz: {target:<14} {runs:>9} inputs in {seconds} s, {}", if output.status.success() { "passed" } else { "FAILED" });
    if !output.status.success() {
        let from = text.lines().count().saturating_sub(60);
        text.lines().skip(from).for_each(|line| println!("    {line}"));
    }
    Ok(!output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let list = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let options = parse(&list("--seconds 5 --jobs 1 npz metis")).unwrap();
        assert_eq!((options.seconds, options.jobs, options.targets), (5, 1, vec!["npz".to_string(), "metis".into()]));
        assert!(parse(&list("--seconds many")).is_err());
        assert!(parse(&list("nothing")).is_err());
        assert!(parse(&[]).unwrap().targets.len() > 1);
    }

    #[test]
    fn every_target_has_a_binary() {
        for target in targets().unwrap() {
            assert!(run::root().join(format!("fuzz/src/bin/{target}.rs")).is_file(), "{target}");
        }
    }
}
