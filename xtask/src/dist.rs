//! `cargo xtask dist`: the shipped program, with its kernels, as small as it gets.
//!
//! Machine code is that of one GPU; every other one compiles the portable assembly when a kernel is first used, and its driver keeps the result.

use crate::{kernels, run};
use anyhow::{Context, Result};

/// What kernels are compiled for unless arguments say otherwise.
const KERNELS: [&str; 4] = ["--arch", "90a", "--portable", "80"];

/// No names of functions, which the profile asks for in vain, since its packages have settings of their own; and no tables of unwinding, which a
/// panic does not read.
const FLAGS: [&str; 2] = ["-Cstrip=symbols", "-Cforce-unwind-tables=no"];
/// Where the linker that comes with Rust does the linking: addresses are fixed, which saves a list of them, equal functions and constants become
/// one, and the tables of unwinding that are left go.
const LINKED: [&str; 2] = ["-Crelocation-model=static", "-Clink-arg=-Wl,--icf=all,--ignore-data-address-equality,-O2"];
const LINKING: &str = "x86_64-unknown-linux-gnu";
/// What the linker is told to drop.
const DROPPED: &str =
    "SECTIONS { /DISCARD/ : { *(.eh_frame) *(.eh_frame_hdr) *(.gcc_except_table .gcc_except_table.*) } } INSERT AFTER .text;\n";

pub fn run(arguments: &[String]) -> Result<()> {
    let asked: Vec<String> = if arguments.is_empty() { KERNELS.map(String::from).into() } else { arguments.to_vec() };
    kernels::run(&asked)?;
    let host = run::host_triple().context("rustc does not tell its host")?;
    let mut flags = FLAGS.map(String::from).to_vec();
    if host == LINKING {
        let script = run::target_folder().join("dist.ld");
        std::fs::create_dir_all(run::target_folder())
            .and_then(|()| std::fs::write(&script, DROPPED))
            .with_context(|| format!("cannot write {}", script.display()))?;
        flags.extend(LINKED.map(String::from));
        flags.push(format!("-Clink-arg=-Wl,-T,{}", script.display()));
    }
    // Between flags, which may have spaces in them.
    let flags = flags.join("\u{1f}");
    // Named, the target has flags of its own: what runs while it is built keeps the usual ones.
    // Link-time optimisation goes by the level of the program, which is a few lines; what is to be small says so function by function.
    let build = ["rustc", "--profile", "dist", "--package", "bitgraph-cli", "--bin", "bitgraph", "--target", &host, "--", "-Copt-level=3"];
    run::cargo_with(&build, &[], &[("CARGO_ENCODED_RUSTFLAGS", &flags)])?;
    let program = run::target_folder().join(&host).join("dist").join(format!("bitgraph{}", std::env::consts::EXE_SUFFIX));
    let bytes = program.metadata().with_context(|| format!("cannot find {}", program.display()))?.len();
    println!("{}: {:.2} MB", program.display(), bytes as f64 / 1e6);
    Ok(())
}
