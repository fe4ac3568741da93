//! `bitgraph-bench tc-gnn`: Tables 5 and 6 of TC-GNN, and what its translation saves and costs, beside ours.

pub mod products;
pub mod published;
pub mod translation;

use super::listed::{self, chosen};
use super::paper::{Common, Tables};
use anyhow::{Context, Result};
use products::Product;
use published::{HIDDEN, SIDE, Spmm};
use translation::Translated;

/// Rows of the matrices of Table 6 in a quick run.
const QUICK_SIDE: usize = 512;

/// What to run.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Those of every paper.
    #[command(flatten)]
    pub common: Common,
}

/// Runs what can be run here; a graph is in memory while it is looked at.
///
/// # Errors
/// A graph that is not listed or cannot be read; a result on the host that differs from sums of `f64`; a file that cannot be written.
pub fn run(options: &Options) -> Result<Tables> {
    let common = &options.common;
    let (timing, runs) = (common.timing(), common.runs());
    let mut tables = Tables::new("TC-GNN (USENIX ATC 2023)", common.quick);
    let bench = tables.open(common.backend, &timing);
    let published = published::spmm()?;
    let (mut translated, mut products) = (Vec::new(), Vec::<(Spmm, String, Product)>::new());
    for listed in chosen(published::datasets()?, &common.graphs)? {
        let mut one = || -> Result<()> {
            let loaded = common.load(&listed, 1)?;
            let mut found = Translated::measure(&listed, &loaded, runs)?;
            found.gpu_product = tables
                .on_gpu(bench.as_ref(), listed.name, |bench| Ok(1e-3 * products::on_gpu(bench, listed.name, &loaded.csr, HIDDEN)?.single));
            found.gpu_translation = tables.on_gpu(bench.as_ref(), listed.name, |bench| translation::on_gpu(bench, &loaded.csr));
            if let Some(row) = published.iter().find(|row| row.graph == listed.abbreviation) {
                for width in [HIDDEN, listed.width] {
                    let product = products::measure(&mut tables, bench.as_ref(), listed.name, &loaded.csr, width, runs)?;
                    products.push((row.clone(), found.ran.marked(), product));
                }
            }
            translated.push(found);
            Ok(())
        };
        one().with_context(|| listed.name)?;
    }
    tables.tables.push(listed::table("Graphs (Table 4)", translated.iter().map(|t| &t.ran)));
    tables.tables.push(translation::effectiveness(&translated));
    tables.tables.push(translation::overhead(&translated));
    tables.tables.push(products::times(&products));
    let side = if common.quick { QUICK_SIDE } else { SIDE };
    let mut sparsities = Vec::new();
    for row in published::sparsity()? {
        let csr = products::blocks(side, row.blocks)?;
        let product = products::measure(&mut tables, bench.as_ref(), "dense blocks", &csr, HIDDEN, runs);
        sparsities.push((row.clone(), product.with_context(|| format!("{} blocks a window", row.blocks))?));
    }
    tables.tables.push(products::sparsities(&sparsities, side));
    tables.write(common)?;
    Ok(tables)
}
