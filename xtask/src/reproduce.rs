//! `cargo xtask reproduce`: everything behind the results that the project states, in one command.
//!
//! It runs the verification on the graphs of `--data`, then the benches on the standard graphs.

use anyhow::{Result, bail};

pub fn run(arguments: &[String]) -> Result<()> {
    let mut verify: Vec<String> = ["--backend", "cpu"].map(String::from).to_vec();
    match arguments {
        [] => match std::env::var("BITGRAPH_DATA") {
            Ok(directory) => verify.extend(["--data".into(), directory]),
            Err(_) => println!("reproduce: without --data DIR (or BITGRAPH_DATA) only the built-in graphs are verified"),
        },
        [flag, directory] if flag == "--data" => verify.extend([flag.clone(), directory.clone()]),
        _ => bail!("usage: cargo xtask reproduce [--data DIR]"),
    }
    crate::dispatch(&with_task("verify", &verify))?;
    crate::dispatch(&with_task("bench", &["cpu".into()]))
}

fn with_task(task: &str, arguments: &[String]) -> Vec<String> {
    std::iter::once(task.to_string()).chain(arguments.iter().cloned()).collect()
}
