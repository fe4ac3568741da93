//! `bitgraph-bench conversions`: lists made into the forms of graph neural networks on a GPU, by the device's clock, beside the host.
//!
//! Invariant: nothing is timed before its result was the host's, byte for byte.

use crate::features::Subject;
use crate::reproduce::paper::seconds;
use crate::timing::{self, Bench};
use anyhow::{Context, Result, ensure};
use bitgraph::cuda::convert::{SgtOptions, frdc, sgt};
use bitgraph::sparse::Control;
use bitgraph_frdc::{Frdc, Normalization};
use bitgraph_sgt::{BlockShape, MaskOrder, Sgt, SgtConfig};
use serde::Serialize;

/// The command line.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Graphs: cora, mesh200k, er100k, rmat17, grid1k, rmat21 for graphs of that kind and size; generators or files.
    #[arg(long, value_delimiter = ',', default_values = ["cora", "mesh200k", "er100k", "rmat17", "grid1k"])]
    graphs: Vec<String>,
    #[command(flatten)]
    timing: timing::Options,
}

/// One conversion of one graph.
#[derive(Debug, Serialize)]
pub struct Measured {
    graph: String,
    nodes: usize,
    edges: usize,
    form: &'static str,
    /// The median by the device's clock, from lists that are there.
    ms: f64,
    /// Entries a second, in 10^9.
    entries_g_s: f64,
    /// The median on the host, by all its threads.
    host_ms: f64,
}

impl Measured {
    fn line(&self) -> String {
        let Self { graph, nodes, edges, form, ms, entries_g_s, host_ms } = self;
        format!("{graph:<20} {nodes:>9} {edges:>9} {form:<18} {ms:>9.4} {entries_g_s:>12.2} {host_ms:>9.2}")
    }
}

const HEADER: &str = "graph                    nodes   entries form                      ms  G entries/s   host ms";

/// Runs of the host, whose median counts.
const HOST_RUNS: usize = 3;

/// Runs the bench and prints a table.
///
/// # Errors
/// No GPU, a graph that cannot be loaded, a result that differs from the host's.
pub fn run(options: &Options) -> Result<()> {
    let bench = Bench::open(&options.timing)?;
    let mut all = Vec::new();
    println!("{HEADER}");
    for name in &options.graphs {
        let subject = Subject::load(&bench, name, 1)?;
        let found = measure(&bench, &subject).with_context(|| name.clone())?;
        found.iter().for_each(|m| println!("{}", m.line()));
        all.extend(found);
    }
    bench.report(&all)
}

fn measure(bench: &Bench<'_>, subject: &Subject<'_>) -> Result<Vec<Measured>> {
    let (device, lists, csr) = (&bench.device, &subject.lists, &subject.csr);
    let (config, control, shape) = (SgtConfig::default(), Control::default(), BlockShape::TF32_16X8);
    let mut all = Vec::new();
    let mut add = |form, there: f64, here: f64| {
        let (nodes, edges, graph) = (csr.nrows(), csr.nnz(), subject.name.to_owned());
        all.push(Measured { graph, nodes, edges, form, ms: 1e3 * there, entries_g_s: edges as f64 / there / 1e9, host_ms: 1e3 * here });
    };

    let translate = || sgt(device, lists, &config, &SgtOptions::default(), &control);
    let (there, here) = (translate()?, Sgt::from_csr(csr, &config, &control)?);
    ensure!(there.to_form(device)?.to_host::<Sgt>()? == here, "the GPU's translation is not the host's");
    let of_host = seconds(HOST_RUNS, || Ok(Sgt::from_csr(csr, &config, &control)?))?;
    add("sgt", bench.median_of(|| Ok(bench.clock.whole(translate)?.seconds))?, of_host);
    let lay_out = || there.blocks(device, shape, MaskOrder::Rows);
    let of_host = seconds(HOST_RUNS, || Ok(here.blocks(shape, MaskOrder::Rows, &control)?))?;
    add("sgt blocks 16x8", bench.median_of(|| Ok(bench.clock.whole(lay_out)?.seconds))?, of_host);

    for (form, how) in [("frdc", None), ("frdc, normalised", Some(Normalization::Symmetric))] {
        let host = || how.map_or_else(|| Frdc::from_csr(csr), |how| Frdc::from_csr(csr).normalized(how));
        let build = || frdc(device, lists, how);
        ensure!(build()?.to_form().to_host::<Frdc>()? == host(), "the GPU's tiles are not the host's");
        let of_host = seconds(HOST_RUNS, || Ok(host()))?;
        add(form, bench.median_of(|| Ok(bench.clock.whole(build)?.seconds))?, of_host);
    }
    Ok(all)
}
