//! `cargo xtask verify` and `emulate`: the verification program, built once and run as a process for each ring.
//!
//! Rings are independent, and most of each runs on one thread: without a GPU they run side by side. On a GPU one process runs all of them, since
//! some of them fill its memory.

use crate::{kernels, run};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Rings of the CPU backend; the longest first, so that none is left alone at the end.
const OF_CPU: &[&str] = &["data", "products", "tensors", "matrices", "vectors", "algorithms"];
/// Rings of the CUDA backend on the host shim, likewise. Without real graphs, which would take hours.
const OF_SHIM: &[&str] = &["products", "matrices", "tensors", "vectors", "algorithms", "faults"];
/// Memory of the shim while it is verified, little enough to be filled.
const EMULATED_MEMORY: &str = "268435456";

/// What the program found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    /// Those of the last line of a report.
    fn of(report: &str) -> Option<Self> {
        let mut numbers = report.lines().next_back()?.split(", ").zip(["passed", "failed", "skipped"]).map(|(part, name)| {
            let (number, word) = part.split_once(' ')?;
            (word == name).then(|| number.parse().ok()).flatten()
        });
        Some(Self { passed: numbers.next()??, failed: numbers.next()??, skipped: numbers.next()?? })
    }
}

/// Verifies a backend; the arguments are those of the program.
pub fn run(arguments: &[String]) -> Result<()> {
    // A GPU's rings, one ring that is named, and what only prints are one process.
    let one = |a: &String| {
        ["--ring", "cuda", "--backend=cuda"].iter().any(|one| a.starts_with(one))
            || ["--help", "-h", "--version", "-V"].contains(&a.as_str())
    };
    program(arguments, if arguments.iter().any(one) { &[] } else { OF_CPU }, &[])
}

/// Compiles the kernels for the host shim and verifies the CUDA backend on them; all rings but that of real graphs unless rings are named.
pub fn emulate(arguments: &[String]) -> Result<()> {
    kernels::run(&["--host".into()])?;
    let folder = kernels::host_folder();
    let folder = folder.to_str().context("the target folder's name is not UTF-8")?;
    let mut words: Vec<String> = ["--backend", "cuda"].map(String::from).into();
    if !arguments.iter().any(|a| a == "--full") {
        words.push("--quick".into());
    }
    words.extend(arguments.iter().cloned());
    let rings = if arguments.iter().any(|a| a.starts_with("--ring")) { &[] } else { OF_SHIM };
    let variables = [("BITGRAPH_CUDA_EMULATOR", folder), ("BITGRAPH_REQUIRE_GPU", "1"), ("BITGRAPH_CUDA_EMULATED_MEMORY", EMULATED_MEMORY)];
    program(&words, rings, &variables)
}

/// Runs the program, for each of the rings if there are any. It is built beside the command line, so that the libraries below are compiled once
/// for both.
fn program(arguments: &[String], rings: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    let both = ["build", "--release", "--package", "bitgraph-cli", "--package", "bitgraph-verify", "--bin", "bitgraph-verify"];
    run::cargo(&both, &[])?;
    let path = run::target_folder().join("release").join(format!("bitgraph-verify{}", std::env::consts::EXE_SUFFIX));
    let command = || {
        let mut command = Command::new(&path);
        command.args(arguments).envs(variables.iter().copied()).current_dir(run::root());
        command
    };
    let cannot = || format!("cannot start {}", path.display());
    if rings.is_empty() {
        let status = command().status().with_context(cannot)?;
        if !status.success() {
            bail!("bitgraph-verify {} ended with {status}", arguments.join(" "));
        }
        return Ok(());
    }
    let total = Mutex::new(Counts::default());
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    run::parallel(rings, jobs, |ring| {
        let mut child = command().args(["--ring", ring]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().with_context(cannot)?;
        let table = child.stdout.take().context("no output")?;
        let table = std::thread::spawn(move || std::io::read_to_string(table));
        // By lines, so that those of several rings do not mix; a ring says now and then how far it is.
        let progress = BufReader::new(child.stderr.take().context("no output")?);
        progress.lines().map_while(std::io::Result::ok).for_each(|line| eprintln!("{line}"));
        let report = table.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        print!("{report}");
        let status = child.wait().with_context(cannot)?;
        if !status.success() {
            bail!("bitgraph-verify {} --ring {ring} ended with {status}", arguments.join(" "));
        }
        let counts = Counts::of(&report).with_context(|| format!("the report of ring {ring} has no counts"))?;
        let mut total = total.lock().map_err(|_| anyhow::anyhow!("a thread panicked"))?;
        *total =
            Counts { passed: total.passed + counts.passed, failed: total.failed + counts.failed, skipped: total.skipped + counts.skipped };
        Ok(())
    })?;
    let Counts { passed, failed, skipped } = total.into_inner().unwrap_or_default();
    println!("all rings: {passed} passed, {failed} failed, {skipped} skipped");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_last_line() {
        let report = "ring what passed failed\ndata x 2 0\n89411 passed, 2 failed, 1 skipped\n";
        assert_eq!(Counts::of(report), Some(Counts { passed: 89411, failed: 2, skipped: 1 }));
        assert_eq!((Counts::of(""), Counts::of("2 passed\n"), Counts::of("2 failed, 1 passed, 0 skipped\n")), (None, None, None));
    }
}
