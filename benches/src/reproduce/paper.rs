//! What the reproductions of papers share: options, the device, how they are written, and products on the host.
//!
//! Invariant: without a GPU everything that needs none runs, and the report says what does not.

use super::listed::{Listed, Loaded};
use super::table::{FAILED, Gpu, NO_GPU, Table};
use super::{Machine, Place, machine_of};
use crate::features::number;
use crate::timing::{self, Bench};
use anyhow::{Context, Result, ensure};
use bitgraph::prelude::*;
use bitgraph::tensor::Dense;
use bitgraph::tensor::ops::spmm;
use bitgraph_measure::median;
use clap::Args;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Rows of a product on the host that are compared with sums of `f64`.
const CHECKED_ROWS: usize = 64;

/// The options of every paper.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// A folder of graphs, NAME.mtx or NAME/graph.mtx, there or in gnn in it. Graphs of the paper without a file are generated, and said to be.
    #[arg(long)]
    pub data: Option<PathBuf>,
    /// Where the products run: cuda or cuda:N, or cpu to leave the GPU out.
    #[arg(long, default_value = "cuda", value_parser = super::device)]
    pub backend: Place,
    /// Only these graphs, by the paper's names [default: all of the paper].
    #[arg(long, value_delimiter = ',')]
    pub graphs: Vec<String>,
    /// Timed runs, whose median counts.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Small stand-ins and sizes, one timed run: whether everything works.
    #[arg(long)]
    pub quick: bool,
    /// Writes everything to this file, too.
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Writes the tables to this file, too, as Markdown.
    #[arg(long)]
    pub markdown: Option<PathBuf>,
}

impl Common {
    /// Timed runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        if self.quick { 1 } else { self.repeat as usize }
    }
    /// A graph, which standard error names; where it is generated in parts, in so many.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn load(&self, listed: &Listed, parts: u64) -> Result<Loaded> {
        let loaded = listed.load(self.data.as_deref(), parts, self.quick)?;
        eprintln!("{}: {}, {} vertices, {} entries", listed.name, loaded.source, loaded.csr.nrows(), loaded.csr.nnz());
        Ok(loaded)
    }
    /// How a GPU is timed.
    pub(crate) fn timing(&self) -> timing::Options {
        let number = if let Place::Cuda(number) = self.backend { number } else { 0 };
        timing::Options::of(self.runs(), number)
    }
}

/// The tables of a paper beside ours.
#[derive(Debug, Serialize)]
pub struct Tables {
    /// The version of this form.
    pub schema: u32,
    /// The paper.
    pub paper: &'static str,
    /// The GPU that ran.
    pub device: Option<Machine>,
    /// Threads of the host.
    pub threads: usize,
    /// Whether sizes are those of a quick run.
    pub quick: bool,
    /// The state of the sources.
    pub commit: Option<String>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// Measurements on the GPU that failed, and why.
    pub failed: Vec<String>,
    /// The tables, as they are printed.
    pub tables: Vec<Table>,
}

impl Tables {
    /// Without tables.
    #[must_use]
    pub fn new(paper: &'static str, quick: bool) -> Self {
        let (device, left_out, failed, tables) = (None, Vec::new(), Vec::new(), Vec::new());
        Self {
            schema: 1,
            paper,
            device,
            threads: rayon::current_num_threads(),
            quick,
            commit: bitgraph::commit(),
            left_out,
            failed,
            tables,
        }
    }
    /// Opens the GPU; without one says so, and why.
    pub(crate) fn open<'a>(&mut self, place: Place, timing: &'a timing::Options) -> Option<Bench<'a>> {
        if place == Place::Cpu {
            self.left_out.push("columns of a GPU: --backend cpu".into());
            return None;
        }
        match Bench::open(timing) {
            Ok(bench) => {
                self.device = Some(machine_of(&bench.cuda));
                Some(bench)
            }
            Err(error) => {
                self.left_out.push(format!("columns of a GPU: {error:#}"));
                None
            }
        }
    }
    /// Measures on the GPU, where there is one. What fails is noted, and the others are made all the same.
    pub(crate) fn on_gpu<T>(&mut self, bench: Option<&Bench<'_>>, what: &str, work: impl FnOnce(&Bench<'_>) -> Result<T>) -> Gpu<T> {
        work(bench.ok_or(NO_GPU)?).map_err(|error| {
            let text = format!("{what}: {error:#}");
            eprintln!("failed: {text}");
            self.failed.push(text);
            FAILED
        })
    }
    /// Writes the files that were asked for.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, options: &Common) -> Result<()> {
        let save = |path: &PathBuf, text: String| std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()));
        if let Some(path) = &options.json {
            save(path, serde_json::to_string_pretty(self)? + "\n")?;
        }
        if let Some(path) = &options.markdown {
            save(path, self.markdown())?;
        }
        Ok(())
    }
    fn heading(&self) -> String {
        let mut text = format!("{} beside bitgraph", self.paper);
        if let Some(m) = &self.device {
            let clock = m.sm_mhz.map_or(String::new(), |mhz| format!(" at {mhz} MHz"));
            let _ = write!(text, " on {}{clock}, driver {}", m.name, m.driver.as_deref().unwrap_or("unknown"));
            let _ = write!(text, ", cuSPARSE {}", m.cusparse.as_deref().unwrap_or("not installed"));
        }
        let threads = if self.threads == 1 { "1 thread".into() } else { format!("{} threads", self.threads) };
        let _ = write!(text, "; the host with {threads}; commit {}", self.commit.as_deref().unwrap_or("unknown"));
        if self.quick {
            text.push_str("; QUICK: sizes are small and times are of one run");
        }
        text
    }
    /// Prints the tables.
    ///
    /// # Errors
    /// If a measurement failed.
    pub fn print(&self) -> Result<()> {
        print!("{}", self.text());
        ensure!(self.failed.is_empty(), "{} measurements failed", self.failed.len());
        Ok(())
    }
    /// For a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.heading() + "\n";
        for what in &self.left_out {
            let _ = writeln!(text, "left out: {what}");
        }
        for what in &self.failed {
            let _ = writeln!(text, "failed: {what}");
        }
        self.tables.iter().for_each(|table| {
            let _ = write!(text, "\n{}", table.text());
        });
        text
    }
    /// As Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n", self.heading());
        for what in &self.left_out {
            let _ = write!(text, "\nLeft out: {what}\n");
        }
        for what in &self.failed {
            let _ = write!(text, "\nFailed: {what}\n");
        }
        self.tables.iter().for_each(|table| {
            let _ = write!(text, "\n{}", table.markdown());
        });
        text
    }
}

/// The median of the seconds that work takes on the host, after one run that is not counted.
///
/// # Errors
/// The work's.
pub fn seconds<R>(runs: usize, mut work: impl FnMut() -> Result<R>) -> Result<f64> {
    work()?;
    let mut once = || {
        let start = Instant::now();
        let result = work()?;
        let seconds = start.elapsed().as_secs_f64();
        drop(result);
        Ok(seconds)
    };
    Ok(median(&(0..runs.max(1)).map(|_| once()).collect::<Result<Vec<_>>>()?))
}

/// Seconds of a product with features of `f32` on the host, rows of which are compared with sums of `f64` first.
///
/// # Errors
/// Out of memory; a row that differs.
pub fn host_spmm(csr: &Csr, width: usize, runs: usize) -> Result<f64> {
    let cpu = Cpu::new();
    let elements = csr.ncols().checked_mul(width).context("the features' elements overflow")?;
    let host: Vec<f32> = (0..elements).map(|k| number(k, 0) as f32).collect();
    let a = Matrix::new(&cpu, csr, None, FormatKind::Csr)?;
    let x = Dense::from_slice(&cpu, csr.ncols(), width, &host)?;
    let mut y = Dense::<Cpu, f32>::zeros(&cpu, csr.nrows(), width)?;
    spmm(&a, &x).into(&mut y)?;
    let found = y.to_host()?;
    for i in (0..csr.nrows()).step_by(csr.nrows().div_ceil(CHECKED_ROWS).max(1)) {
        for (c, &found) in found[i * width..(i + 1) * width].iter().enumerate() {
            let terms = || csr.row(i).iter().map(|&j| f64::from(host[j as usize * width + c]));
            let (sum, sizes) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
            ensure!((f64::from(found) - sum).abs() <= 1e-6 * sizes + 1e-30, "element ({i}, {c}) is {found}, not {sum}");
        }
    }
    seconds(runs, || Ok(spmm(&a, &x).into(&mut y)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_hold_the_tables_and_what_is_left_out() {
        let mut tables = Tables::new("Paper (2000)", true);
        assert!(tables.open(Place::Cpu, &timing::Options::of(1, 0)).is_none());
        let mut table = Table::new("Times", &["graph"]);
        assert_eq!(tables.on_gpu(None, "a product", |_| Ok(1)), Err(NO_GPU));
        assert!(tables.failed.is_empty() && tables.print().is_ok());
        tables.failed.push("a product: it differs".into());
        assert!(tables.print().unwrap_err().to_string().starts_with("1 measurement"));
        table.row(["a".into()]);
        tables.tables.push(table);
        let (text, markdown) = (tables.text(), tables.markdown());
        assert!(text.starts_with("Paper (2000) beside bitgraph; the host with") && text.contains("QUICK"), "{text}");
        assert!(text.contains("left out: columns of a GPU: --backend cpu\nfailed: a product: it differs\n\nTimes\ngraph\na\n"), "{text}");
        assert!(markdown.contains("\nLeft out: columns of a GPU") && markdown.contains("\n## Times\n"), "{markdown}");
    }

    #[test]
    fn a_product_on_the_host_is_compared() {
        let csr = "skew:200:900".parse::<GraphSource>().unwrap().load(&LoadOptions::default()).unwrap().csr;
        assert!(host_spmm(&csr, 5, 1).unwrap() > 0.0);
    }
}
