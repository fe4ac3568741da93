//! Developer tasks: `cargo xtask TASK [arguments]`. Every CI step is one of them.
//!
//! Thin on purpose: a task runs cargo or reads files, and needs little beyond the standard library (one draws a chart).

mod chart;
mod checkers;
mod ci;
mod deny;
mod dist;
mod fuzz;
mod kernels;
mod msrv;
mod package;
mod programs;
mod reproduce;
mod run;
mod shim;
mod tidy;
mod verify;

use anyhow::{Result, bail};
use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask TASK [arguments]

  tidy        check what the compiler does not: file headers and sizes, dependency arrows, unsafe, manifests, paths
  fmt         rustfmt over the workspace; `fmt --check` changes nothing
  clippy      clippy over all targets, warnings are errors
  test        cargo test --workspace [arguments]
  doc         build the documentation, warnings are errors; `doc --open` shows it
  verify      run the verification binary: verify --backend cpu [--data DIR] [--full] ...
  emulate     verify the CUDA backend on the host shim, where there is no GPU: emulate [--full] [--ring NAME] ...
  shim        the tests of the CUDA crate on the host shim: shim [--workspace] [TEST ..]; here and below, --workspace runs the programs
              of `test`, which are there after it, instead of compiling the package alone
  levels      tests of the CPU crate with every instruction set forced in turn: levels [--workspace]
  loom        the lock-free structures under a model checker (a part of `test`)
  fuzz        every reader on mutated bytes, from a kept corpus: fuzz [--seconds 30] [--jobs N] [TARGET ..]
  valgrind    the tests of modules with unsafe code under valgrind: valgrind [--workspace]
  miri, tsan  the same under miri, and of threads under ThreadSanitizer; each is skipped where the toolchain has it not
  deny        licences, sources and known faults of dependencies, against deny.toml
  package     every published crate as an archive, without network; --verify compiles the archives
  msrv        everything checked with the oldest Rust that the workspace states, where that is installed
  chart       the ratios of benches/data/ratios.csv as docs/ratios.svg and as the table of the README
  bench       run the side-by-side benches: bench cpu [--graphs ..] [--peer NAME=ALGORITHM:COMMAND] ...
  kernels     compile the CUDA kernels ahead of time: kernels --arch 80,90a [--portable 80] [--nvcc PATH] [--checked] [--line-info] [--quick]; or
              for the host shim: kernels --host
  dist        the shipped program as small as it gets, its size printed; arguments are those of `kernels`, --arch 90a --portable 80 without
  reproduce   everything behind the stated results: verification, then benches: reproduce [--data DIR]; or the tables of a paper:
              reproduce bit-graphblas|tc-gnn|qgtc|bitgnn|halfgnn [--data DIR] [--backend cuda] [--graphs NAME,..] [--json FILE]; all but
              the first also take [--quick] [--markdown FILE], and run what needs no GPU without one; networks take [--seeds R]
  ci          every CI step in order, timed; `ci --without STEP[,STEP]` leaves some out, `ci --list` names them

Arguments after `verify` and `bench` go to those programs; `verify --help` and `bench --help` list them.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((task, rest)) = arguments.split_first() else {
        bail!("which task?\n\n{HELP}");
    };
    match task.as_str() {
        "tidy" => tidy::run(),
        "fmt" => run::cargo(&["fmt", "--all"], rest),
        "clippy" => clippy(rest),
        "test" => run::cargo(&["test", "--workspace"], rest),
        "doc" => doc(rest),
        "verify" => verify::run(rest),
        "emulate" => verify::emulate(rest),
        "shim" => shim::run(rest),
        "levels" => checkers::levels(rest),
        "loom" => checkers::loom(rest),
        "valgrind" => checkers::valgrind(rest),
        "miri" => checkers::miri(rest),
        "tsan" => checkers::tsan(rest),
        "fuzz" => fuzz::run(rest),
        "chart" => chart::run(rest),
        "deny" => deny::run(rest),
        "package" => package::run(rest),
        "msrv" => msrv::run(rest),
        "bench" => run::cargo(&["run", "--release", "--package", "bitgraph-benches", "--bin", "bitgraph-bench", "--"], rest),
        "kernels" => kernels::run(rest),
        "dist" => dist::run(rest),
        "reproduce" => reproduce::run(rest),
        "ci" => ci::run(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => bail!("there is no task {other:?}\n\n{HELP}"),
    }
}

fn clippy(rest: &[String]) -> Result<()> {
    let mut arguments: Vec<&str> = vec!["clippy", "--workspace", "--all-targets"];
    arguments.extend(rest.iter().map(String::as_str));
    arguments.extend(["--", "--deny", "warnings"]);
    run::cargo(&arguments, &[])
}

fn doc(rest: &[String]) -> Result<()> {
    run::cargo_with(&["doc", "--workspace", "--no-deps"], rest, &[("RUSTDOCFLAGS", "--deny warnings")])
}
