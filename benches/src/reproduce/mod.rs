//! `bitgraph-bench bit-graphblas`: the tables of the Bit-GraphBLAS paper beside ours, on the matrices at hand. Those of other papers are in
//! [`tc_gnn`], [`qgtc`] and [`networks`].
//!
//! Invariant: what cannot run here is said to be left out, and why; published figures and compression need no GPU.

pub mod algorithms;
pub mod compression;
pub mod graphs;
pub mod kernels;
pub mod listed;
pub mod networks;
pub mod paper;
pub mod published;
pub mod qgtc;
pub mod small_graphs;
pub mod table;
pub mod tc_gnn;

use algorithms::{Ours, Timed};
use anyhow::{Context, Result};
use bitgraph::prelude::*;
use bitgraph_measure::machine;
use clap::Args;
use compression::Sizes;
use graphs::AtHand;
use published::{KernelMean, Time};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// What to run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// A folder of graphs; a file's name without its ending is the matrix's. Those of the paper that a generator makes need no file.
    #[arg(long)]
    pub data: Option<PathBuf>,
    /// Where to run: cuda, cuda:N or cpu.
    #[arg(long, default_value = "cuda", value_parser = device)]
    pub backend: Place,
    /// Only these graphs, by name [default: all at hand].
    #[arg(long, value_delimiter = ',')]
    pub graphs: Vec<String>,
    /// Timed runs, whose median counts.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// The vertex that searches start from; the paper names none.
    #[arg(long, default_value_t = 0)]
    pub source: u32,
    /// Leaves the statistics of the kernels out.
    #[arg(long)]
    pub without_kernels: bool,
    /// Writes everything to this file, too.
    #[arg(long)]
    pub json: Option<PathBuf>,
}

/// Where to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The processor.
    Cpu,
    /// A GPU, by number.
    Cuda(u32),
}

fn device(text: &str) -> Result<Place, String> {
    match text.split_once(':') {
        None if text == "cpu" => Ok(Place::Cpu),
        None if text == "cuda" => Ok(Place::Cuda(0)),
        Some(("cuda", number)) => number.parse().map(Place::Cuda).map_err(|_| "the device number is not a whole number".into()),
        _ => Err("backends are cpu, cuda and cuda:N".into()),
    }
}

/// Everything that was found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The version of this form.
    pub schema: u32,
    /// What ran: the device, its driver and clocks.
    pub device: Option<Machine>,
    /// The state of the sources.
    pub commit: Option<String>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// Bytes of the graphs at hand.
    pub compression: Vec<Sizes>,
    /// Our times of the paper's algorithms.
    pub algorithms: Vec<Ours>,
    /// Our times of the paper's schemes.
    pub kernels: Vec<kernels::Measured>,
    /// Tables VII to IX.
    pub published_times: Vec<Time>,
    /// Section VI-D.
    pub published_kernels: Vec<KernelMean>,
}

/// The machine that ran.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The driver's release.
    pub driver: Option<String>,
    /// The clock of the multiprocessors, MHz.
    pub sm_mhz: Option<u32>,
    /// The clock of the memory, MHz.
    pub memory_mhz: Option<u32>,
    /// The version of cuSPARSE.
    pub cusparse: Option<String>,
}

/// Runs what can be run here.
///
/// # Errors
/// A graph that cannot be read, a wrong result, or the device's.
pub fn run(options: &Options) -> Result<Report> {
    let mut report = Report {
        schema: 1,
        device: None,
        commit: bitgraph::commit(),
        left_out: Vec::new(),
        compression: Vec::new(),
        algorithms: Vec::new(),
        kernels: Vec::new(),
        published_times: published::times()?,
        published_kernels: published::kernels()?,
    };
    if options.data.is_none() {
        report.left_out.push("matrices that are files: no folder was given (--data DIR)".into());
    }
    let cuda = match options.backend {
        Place::Cpu => {
            report.left_out.push("the speed-up of the kernels: they are compared with cuSPARSE on a GPU".into());
            None
        }
        Place::Cuda(number) => match Cuda::open(number) {
            Ok(cuda) => Some(cuda),
            Err(error) => {
                report.left_out.push(format!("algorithms and kernels on the GPU: {error}"));
                None
            }
        },
    };
    report.device = cuda.as_ref().map(machine_of);
    for graph in graphs::at_hand(options.data.as_deref(), &options.graphs)? {
        let loaded = graph.load()?;
        eprintln!("{}: {} rows, {} entries", graph.name, loaded.csr.nrows(), loaded.csr.nnz());
        report.compression.push(Sizes::of(&graph.name, &loaded.csr));
        match (&cuda, options.backend) {
            (Some(cuda), _) => {
                one(cuda, &graph, &loaded, options, &mut report)?;
                if !options.without_kernels {
                    let found = kernels::measure(cuda, &graph.name, &loaded.csr, options.repeat as usize);
                    report.kernels.extend(found.with_context(|| format!("kernels on {}", graph.name))?);
                }
            }
            (None, Place::Cpu) => one(&Cpu::new(), &graph, &loaded, options, &mut report)?,
            (None, Place::Cuda(_)) => {}
        }
    }
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&report)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(report)
}

fn one<B: Timed>(backend: &B, graph: &AtHand, loaded: &LoadedGraph, options: &Options, report: &mut Report) -> Result<()> {
    let found = algorithms::measure(backend, &graph.name, loaded, &report.published_times, options.repeat as usize, options.source);
    report.algorithms.extend(found.with_context(|| format!("algorithms on {}", graph.name))?);
    Ok(())
}

fn machine_of(cuda: &Cuda) -> Machine {
    let properties = cuda.device().properties();
    let found = if properties.emulated { None } else { machine::management(cuda.device().ordinal()) };
    Machine {
        name: properties.name.clone(),
        sm_mhz: found.as_ref().and_then(|m| m.sm_mhz),
        memory_mhz: found.as_ref().and_then(|m| m.memory_mhz),
        driver: found.map(|m| m.driver),
        cusparse: machine::cusparse_version().map(|(major, minor, patch)| format!("{major}.{minor}.{patch}")),
    }
}

impl Report {
    /// All tables.
    ///
    /// # Errors
    /// If the published data is damaged.
    pub fn describe(&self) -> Result<String> {
        let mut text = String::from("Bit-GraphBLAS (IPDPS 2022) beside bitgraph");
        if let Some(m) = &self.device {
            let clock = m.sm_mhz.map_or(String::new(), |mhz| format!(" at {mhz} MHz"));
            let _ = write!(text, " on {}{clock}, driver {}", m.name, m.driver.as_deref().unwrap_or("unknown"));
            let _ = write!(text, ", cuSPARSE {}", m.cusparse.as_deref().unwrap_or("not installed"));
        }
        let _ = writeln!(text, "; commit {}", self.commit.as_deref().unwrap_or("unknown"));
        for what in &self.left_out {
            let _ = writeln!(text, "left out: {what}");
        }
        let (algorithms, kernels) = (algorithms::describe(&self.algorithms)?, kernels::describe(&self.kernels)?);
        let _ = write!(text, "\n{algorithms}\n{}\n{kernels}", compression::describe(&self.compression));
        Ok(text)
    }
}
