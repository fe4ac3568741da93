//! `cargo xtask reproduce`: everything behind the results that the project states, in one command.
//!
//! It runs the verification on the graphs of `--data`, then the benches on the standard graphs. With the name of a paper it runs the
//! tables of that paper instead, which `bitgraph-bench` knows.

use anyhow::{Result, bail};

/// The papers, by the names of the bench's commands.
const PAPERS: &[&str] = &["bit-graphblas", "tc-gnn", "qgtc", "bitgnn", "halfgnn"];

pub fn run(arguments: &[String]) -> Result<()> {
    if let Some((paper, rest)) = arguments.split_first()
        && !paper.starts_with('-')
    {
        anyhow::ensure!(PAPERS.contains(&paper.as_str()), "there is no paper {paper:?} to reproduce; there are {}", PAPERS.join(", "));
        let bench: Vec<String> = std::iter::once(paper.clone()).chain(rest.iter().cloned()).collect();
        return crate::dispatch(&with_task("bench", &bench));
    }
    let mut verify: Vec<String> = ["--backend", "cpu"].map(String::from).to_vec();
    match arguments {
        [] => match std::env::var("BITGRAPH_DATA") {
            Ok(directory) => verify.extend(["--data".into(), directory]),
            Err(_) => println!("reproduce: without --data DIR (or BITGRAPH_DATA) only the built-in graphs are verified"),
        },
        [flag, directory] if flag == "--data" => verify.extend([flag.clone(), directory.clone()]),
        _ => bail!("usage: cargo xtask reproduce [--data DIR], or reproduce {} [--data DIR] [--backend cuda|cpu]", PAPERS.join("|")),
    }
    crate::dispatch(&with_task("verify", &verify))?;
    crate::dispatch(&with_task("bench", &["cpu".into()]))
}

fn with_task(task: &str, arguments: &[String]) -> Vec<String> {
    std::iter::once(task.to_string()).chain(arguments.iter().cloned()).collect()
}
