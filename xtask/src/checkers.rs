//! `cargo xtask loom`, `levels`, `valgrind`, `miri`, `tsan`: the tests of the modules with unsafe code and of the lock-free structures,
//! under what sees more than a plain run.
//!
//! Invariant: a checker that is not there is skipped with the reason; one that is there and finds something makes its task fail.

use crate::programs::{self, Build};
use crate::run;
use anyhow::{Context, Result, bail};

/// The tests of a library whose names hold one of the words: the package, and the words.
type Tests = (&'static str, &'static [&'static str]);

/// Small enough for a checker that is forty times slower than the machine. What takes long is several processes, the longest first.
const SMALL: &[Tests] = &[
    ("bitgraph-cpu", &["tile::tests::sums_in"]),
    ("bitgraph-cpu", &["tile::", "--skip", "tile::tests::sums_in"]),
    ("bitgraph-cpu", &["team", "place", "spmv::tests", "fused::tc::ranked", "fused::tc::work", "fused::msbfs::count", "refuses"]),
    ("bitgraph-sparse", &["buffer", "parallel", "bits", "halves", "permutation"]),
    ("bitgraph-io", &["bgr", "map", "number"]),
    ("bitgraph-b2sr", &["keys", "packing", "marks", "tile"]),
];

/// Modules in which threads meet.
const THREADED: &[Tests] = &[("bitgraph-cpu", &["team", "place", "fused::tc::work", "fused::cc::tests::random"])];

/// Without the sanitizers' own support in the standard library, and without a heap that outlives its process.
const MIRI: &[Tests] = &[("bitgraph-sparse", &["buffer", "parallel", "bits"]), ("bitgraph-cpu", &["team", "fused::tc::work"])];

/// Model checking of the lock-free structures.
pub fn loom(rest: &[String]) -> Result<()> {
    run::cargo(&["test", "--package", "bitgraph-cpu", "--test", "models"], rest)
}

/// The tests of the CPU backend once for every instruction set that the machine has; without the best one, which the tests of the workspace
/// have taken, where the programs are theirs.
pub fn levels(rest: &[String]) -> Result<()> {
    let (build, words) = Build::of(rest);
    if !words.is_empty() {
        bail!("usage: cargo xtask levels [{}]", programs::WHOLE);
    }
    let levels = [("portable", true), ("avx2", has_avx2()), ("avx512", has_avx512())];
    let best = levels.iter().rfind(|(_, present)| *present).map(|(name, _)| *name);
    for (name, present) in levels {
        if !present {
            println!("levels: {name} skipped, since this machine has it not");
            continue;
        }
        if build == Build::Workspace && best == Some(name) {
            println!("levels: {name} is what the other tests take here");
            continue;
        }
        // What takes the level in force; the other tests go over the levels by themselves.
        for program in programs::of(build, "bitgraph-cpu", &["graphs"], &[], &[])? {
            let words = if program.target == "bitgraph_cpu" { ["fused::variants", "tile::"] } else { ["definitions::", "contracts::"] };
            program.run(&[], &words, &[("BITGRAPH_SIMD", name)])?;
        }
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
}
#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512vbmi") && is_x86_feature_detected!("avx512vpopcntdq")
}
#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}
#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

/// Reads and writes out of bounds and uses of what was not initialised.
pub fn valgrind(rest: &[String]) -> Result<()> {
    let (build, words) = Build::of(rest);
    if !words.is_empty() {
        bail!("usage: cargo xtask valgrind [{}]", programs::WHOLE);
    }
    if !run::has("valgrind", &[]) {
        println!("valgrind: skipped, since it is not installed");
        return Ok(());
    }
    // It runs one thread at a time, and gives turns to those that wait for others only if told to. It shows no AVX-512 to programs.
    let before = ["valgrind", "--quiet", "--error-exitcode=9", "--leak-check=no", "--fair-sched=try"];
    let variables = [("RAYON_NUM_THREADS", "2"), ("PROPTEST_CASES", "4")];
    let mut all = Vec::new();
    for (package, words) in SMALL {
        let programs = programs::of(build, package, &[], &[], &variables)?;
        all.extend(programs.into_iter().map(|program| (program, *words)));
    }
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    run::parallel(&all, jobs, |(program, words)| program.run_aside(&before, words, &variables))
}

/// Undefined behaviour of the language, by its interpreter.
pub fn miri(rest: &[String]) -> Result<()> {
    if !run::has("cargo", &["miri"]) {
        println!("miri: skipped, since the toolchain has no miri (`rustup +nightly component add miri`, then `cargo +nightly xtask miri`)");
        return Ok(());
    }
    for (package, words) in MIRI {
        let arguments = ["miri", "test", "--package", package, "--lib", "--"];
        let arguments: Vec<&str> = arguments.iter().chain(*words).copied().collect();
        run::cargo_with(&arguments, rest, &[("MIRIFLAGS", "-Zmiri-disable-isolation"), ("PROPTEST_CASES", "2")])?;
    }
    Ok(())
}

/// Races between threads. The standard library is built with the sanitizer as well where its source is there.
pub fn tsan(rest: &[String]) -> Result<()> {
    if !rest.is_empty() {
        bail!("usage: cargo xtask tsan");
    }
    let Some(host) = run::host_triple() else {
        println!("tsan: skipped, since rustc does not tell its host");
        return Ok(());
    };
    let folder = run::target_folder().join("tsan");
    let folder = folder.to_str().context("the target folder's name is not UTF-8")?;
    let sysroot = run::sysroot().unwrap_or_default();
    if !sysroot.join("lib/rustlib/src/rust/library/std").is_dir() {
        println!(
            "tsan: skipped, since the standard library's source is not there (`rustup component add rust-src`), without which its locks look like races"
        );
        return Ok(());
    }
    let variables = [
        ("RUSTFLAGS", "-Zsanitizer=thread"),
        ("CARGO_TARGET_DIR", folder),
        ("RUSTC_BOOTSTRAP", "1"),
        ("RAYON_NUM_THREADS", "3"),
        ("TSAN_OPTIONS", "halt_on_error=1"),
    ];
    for (package, words) in THREADED {
        for program in programs::of(Build::Package, package, &[], &["-Zbuild-std", "--target", &host], &variables)? {
            program.run(&[], words, &variables)?;
        }
    }
    Ok(())
}
