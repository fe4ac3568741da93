//! `bitgraph-bench halfgnn`: training in half precision beside f32, sums of hubs by batches beside plain ones, and loss curves.

use super::{Found, Options, published};
use crate::reproduce::paper::Tables;
use crate::reproduce::table::{Table, number, percent};
use anyhow::Result;
use bitgraph::gnn::{Architecture, Precision, f16};
use bitgraph::prelude::*;
use bitgraph::sparse::{Buffer, Csr, Offsets};
use bitgraph::tensor::Dense;
use bitgraph::tensor::ops::{Accumulation, Reduce, spmm};

/// The paper's models.
const MODELS: [Architecture; 3] = [Architecture::Gcn, Architecture::Gat, Architecture::Gin];
/// Neighbours of a hub, and the value of each: sums of the larger hubs are beyond the largest number of f16, means are not.
const HUBS: [usize; 4] = [100, 10_000, 100_000, 1_000_000];
const VALUE: f32 = 1.5;
/// Entries of a batch.
const BATCH: u32 = 64;
/// Epochs between two points of a curve.
const EVERY: usize = 10;

/// Runs what can be run here.
///
/// # Errors
/// A data set that cannot be read; a training without any good state; a file that cannot be written.
pub fn run(options: &Options) -> Result<Tables> {
    let timing = options.common.timing();
    let mut tables = Tables::new("HalfGNN (HPDC 2025)", options.common.quick);
    let bench = tables.open(options.common.backend, &timing);
    let mut pairs = Vec::new();
    for (name, set) in options.sets(&mut tables)? {
        for model in MODELS {
            let mut one = |precision| options.found((&mut tables, bench.as_ref()), (name, &set), (model, precision));
            pairs.push((name, model, one(Precision::F32)?, one(Precision::F16)?));
        }
    }
    tables.tables.push(headlines()?);
    tables.tables.push(accuracy(&pairs));
    tables.tables.push(hubs(options.common.quick)?);
    tables.tables.push(curves(&pairs));
    tables.write(&options.common)?;
    Ok(tables)
}

fn headlines() -> Result<Table> {
    let mut table = Table::new("What the paper states (sections 6.1.1 to 6.1.3)", &["of", "value"]);
    for (what, value) in published::halfgnn()? {
        table.row([what.into(), number(Some(value), 2)]);
    }
    Ok(table)
}

type Pair = (&'static str, Architecture, Found, Found);

fn accuracy(pairs: &[Pair]) -> Table {
    let header = [
        "data set",
        "model",
        "f32 %",
        "f16 %",
        "points",
        "f32 MB",
        "f16 MB",
        "ratio",
        "f32 train s",
        "f16 train s",
        "f32 CPU ms",
        "f16 CPU ms",
    ];
    let mut table = Table::new("Training in f32 and in f16 on the host: test accuracy, predicted memory, time", &header);
    for (name, model, full, half) in pairs {
        let megabytes = |found: &Found| number(Some(1e-6 * found.train_bytes as f64), 2);
        table.row([
            (*name).into(),
            model.name().into(),
            percent(full.accuracy.mean),
            percent(half.accuracy.mean),
            percent(half.accuracy.mean - full.accuracy.mean),
            megabytes(full),
            megabytes(half),
            number(Some(full.train_bytes as f64 / half.train_bytes.max(1) as f64), 2),
            number(Some(full.train_s), 2),
            number(Some(half.train_s), 2),
            number(Some(1e3 * full.infer_s), 3),
            number(Some(1e3 * half.infer_s), 3),
        ]);
    }
    table
}

/// The mean over the neighbours of a hub in three ways of summing.
fn hubs(quick: bool) -> Result<Table> {
    let header = ["neighbours", "exact", "f32 sums", "f16, by batches", "f16, plain"];
    let mut table = Table::new("Means over the neighbours of a hub in f16, discretised and plain (section 5.2.2)", &header);
    let cpu = Cpu::new();
    for degree in HUBS.into_iter().filter(|d| !quick || *d <= HUBS[1]) {
        let columns: Vec<u32> = (0..degree as u32).collect();
        let star = Csr::new(1, degree, Offsets::from_usizes(&[0, degree]), Buffer::from(columns))?;
        let a = Matrix::new(&cpu, &star, None, FormatKind::Csr)?;
        let x = Dense::from_slice(&cpu, degree, 1, &vec![f16::from_f32(VALUE); degree])?;
        let mean = |how| -> Result<String> {
            let y = spmm(&a, &x).reduce(Reduce::Mean).accumulation(how).eval()?.to_host()?;
            Ok(number(Some(f64::from(y[0])), 4))
        };
        let ways = [Accumulation::Wide, Accumulation::Discretised { batch: BATCH }, Accumulation::Discretised { batch: u32::MAX }];
        let [wide, batches, plain] = ways.map(mean);
        table.row([degree.to_string(), number(Some(f64::from(VALUE)), 4), wide?, batches?, plain?]);
    }
    table.note(format!(
        "Batches are of {BATCH} entries, each multiplied by the mean's factor before it is added; plain is one batch for all."
    ));
    Ok(table)
}

/// Losses of the first run, every so many epochs.
fn curves(pairs: &[Pair]) -> Table {
    let mut table = Table::new(
        "Losses of the first run: training and validation",
        &["data set", "model", "epoch", "f32", "f16", "f32 val.", "f16 val."],
    );
    for (name, model, full, half) in pairs {
        for (f, h) in full.epochs.iter().zip(&half.epochs).step_by(EVERY) {
            let losses = [f.loss, h.loss, f.scores.validation_loss, h.scores.validation_loss].map(|l| number(Some(l), 4));
            table.row([(*name).into(), model.name().into(), f.epoch.to_string()].into_iter().chain(losses));
        }
    }
    table
}
