//! `bitgraph-bench qgtc`: Tables 2 and 3 of QGTC, its zero tiles, what using tiles again saves, and its sweep of sizes, beside ours.

pub mod batches;
pub mod products;
pub mod published;
pub mod tables;

use super::listed::{self, Listed, chosen};
use super::networks;
use super::paper::{Common, Tables};
use crate::timing::Bench;
use anyhow::{Context, Result};
use batches::{Parts, Tiles};
use bitgraph::cuda::tensor::bits::map_tiles;
use bitgraph::gnn::Architecture;
use products::{Size, Times};
use published::{HIDDEN, PARTS, REUSE, REUSE_SIZES};
use tables::{Counted, TILE_BITS};

/// N and columns of products in a quick run.
const QUICK: (usize, usize) = (256, 64);
/// N and columns where bits are held against 8-bit numbers.
const INT8_SIZES: [(usize, usize); 2] = [(8192, 64), (8192, 1024)];
/// N of the sweep, and its columns.
const SWEEP: ([usize; 9], [usize; 4]) = ([128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768], [16, 64, 256, 1024]);

/// What to run.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Those of every paper.
    #[command(flatten)]
    pub common: Common,
    /// Parts of a graph.
    #[arg(long, default_value_t = PARTS as u32, value_parser = clap::value_parser!(u32).range(1..))]
    pub parts: u32,
    /// Parts of a batch; the paper does not say how many.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: u32,
    /// Runs of each model, from seeds that follow each other, whose mean accuracy counts.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub seeds: u32,
}

impl Options {
    /// A size, in a quick run a small one.
    fn size(&self, n: usize, columns: usize, bits: u32) -> Size {
        if self.common.quick { Size { n: n.min(QUICK.0), columns: columns.min(QUICK.1), bits } } else { Size { n, columns, bits } }
    }
    fn measure(&self, tables: &mut Tables, bench: Option<&Bench<'_>>, size: Size, int8: bool) -> Result<Times> {
        eprintln!("{size}");
        size.measure(tables, bench, int8, self.common.runs()).with_context(|| size.to_string())
    }
    fn tiles(&self, tables: &mut Tables, bench: Option<&Bench<'_>>, listed: &Listed) -> Result<Counted> {
        let loaded = self.common.load(listed, u64::from(self.parts))?;
        let parts = Parts::of(&loaded, (self.parts as usize).min(loaded.csr.nrows()))?;
        let (mut sum, mut batches) = (Tiles::default(), 0);
        for batch in parts.batches(self.batch as usize) {
            sum += parts.tiles(batch, map_tiles())?;
            batches += 1;
        }
        let gpu = tables.on_gpu(bench, listed.name, |bench| {
            let adjacency = parts.matrix(0..parts.count().min(self.batch as usize))?;
            let (all, jumping) = products::jumping(bench, &adjacency, HIDDEN, TILE_BITS)?;
            Ok((1e3 * all, 1e3 * jumping))
        });
        Ok(Counted { ran: listed.ran(&loaded), parts: (parts.count(), batches), tiles: sum, gpu })
    }
}

/// Table 2: accuracy by bits, published for its data sets and ours for those at hand.
fn accuracies(options: &Options, tables: &mut Tables, bench: Option<&Bench<'_>>) -> Result<()> {
    let networks = networks::Options { common: options.common.clone(), seeds: options.seeds };
    let mut ours = Vec::new();
    for (name, set) in networks.sets(tables)? {
        let mut row = Vec::new();
        for precision in tables::ACCURACY_BITS {
            row.push(networks.found((tables, bench), (name, &set), (Architecture::Gcn, precision))?.accuracy.mean);
        }
        ours.push((name, row));
    }
    tables.tables.push(tables::accuracy(&networks::published::qgtc()?, &ours));
    Ok(())
}

/// Runs what can be run here; a graph is in memory while its tiles are counted.
///
/// # Errors
/// A graph that is not listed or cannot be read; a product on the host that is wrong; a file that cannot be written.
pub fn run(options: &Options) -> Result<Tables> {
    let common = &options.common;
    let timing = common.timing();
    let mut tables = Tables::new("QGTC (PPoPP 2022)", common.quick);
    let bench = tables.open(common.backend, &timing);
    let bench = bench.as_ref();

    let mut counted = Vec::new();
    for listed in chosen(published::datasets()?, &common.graphs)? {
        counted.push(options.tiles(&mut tables, bench, &listed).with_context(|| listed.name)?);
    }
    tables.tables.push(listed::table("Graphs (Table 1)", counted.iter().map(|c| &c.ran)));
    let map = map_tiles();
    tables.tables.push(tables::tiles(&counted, &format!("{}x{}", map.lines(), map.bits())));

    let mut gemm = Vec::new();
    for row in published::gemm()? {
        let widths =
            (1..=row.bits.len() as u32).map(|bits| options.measure(&mut tables, bench, options.size(row.n, row.columns, bits), true));
        let widths = widths.collect::<Result<Vec<_>>>()?;
        gemm.push((row, widths));
    }
    tables.tables.push(tables::gemm(&gemm));

    let mut beside = Vec::new();
    for (n, columns) in INT8_SIZES {
        for bits in published::AGAINST_INT8 {
            beside.push(options.measure(&mut tables, bench, options.size(n, columns, bits), true)?);
        }
    }
    tables.tables.push(tables::against_int8(&beside));

    let (sizes, columns) = SWEEP;
    let sizes: Vec<usize> = sizes.into_iter().filter(|&n| !common.quick || n <= QUICK.0).collect();
    let columns: Vec<usize> = columns.into_iter().filter(|&d| !common.quick || d <= QUICK.1).collect();
    let mut sweep = Vec::new();
    for &n in &sizes {
        for &d in &columns {
            sweep.push(options.measure(&mut tables, bench, Size { n, columns: d, bits: 1 }, false)?);
        }
    }
    tables.tables.push(tables::sizes(&sizes, &columns, &sweep));

    let mut again = Vec::new();
    for n in REUSE_SIZES.into_iter().filter(|&n| !common.quick || n == REUSE_SIZES[0]) {
        for bits in REUSE.1 {
            again.push(products::reuse(options.size(n, REUSE.0, bits), &mut tables, bench, common.runs())?);
        }
    }
    tables.tables.push(tables::reuse(&again));
    accuracies(options, &mut tables, bench)?;
    tables.write(common)?;
    Ok(tables)
}
