//! `bitgraph-bench bitgnn`: accuracy, memory and time of the variants in Table 3 of BitGNN, beside ours.

use super::published::{self, Transductive};
use super::{Found, Options};
use crate::reproduce::paper::Tables;
use crate::reproduce::table::{Table, gpu_cells, number, percent};
use anyhow::Result;
use bitgraph::gnn::{Architecture, Precision};

/// Our precision of a variant. Bi-GCN is what `Ours (full)` computes without its kernels: accuracy is the same.
fn ours(variant: &str) -> Precision {
    match variant {
        "Ours (bin)" => Precision::Bin,
        "Bi-GCN" | "Ours (full)" => Precision::BiFull,
        _ => Precision::F32,
    }
}

/// Runs what can be run here.
///
/// # Errors
/// A data set that cannot be read; a training without any good state; a file that cannot be written.
pub fn run(options: &Options) -> Result<Tables> {
    let timing = options.common.timing();
    let mut tables = Tables::new("BitGNN (ICS 2023)", options.common.quick);
    let bench = tables.open(options.common.backend, &timing);
    let table3 = published::bitgnn()?;
    let mut rows = Vec::new();
    for (name, set) in options.sets(&mut tables)? {
        let mut found: Vec<(Precision, Found)> = Vec::new();
        for row in table3.iter().filter(|r| r.dataset == name) {
            let precision = ours(row.variant);
            if !found.iter().any(|(p, _)| *p == precision) {
                let kind = (Architecture::Gcn, precision);
                found.push((precision, options.found((&mut tables, bench.as_ref()), (name, &set), kind)?));
            }
            rows.extend(found.iter().find(|(p, _)| *p == precision).map(|(p, f)| (row.clone(), *p, f.clone())));
        }
    }
    tables.tables.push(table(&rows));
    tables.write(&options.common)?;
    Ok(tables)
}

fn table(rows: &[(Transductive, Precision, Found)]) -> Table {
    let header = [
        "data set",
        "variant",
        "accuracy %",
        "+-",
        "MB",
        "3060 Ti ms",
        "ours in",
        "accuracy %",
        "+-",
        "MB",
        "CPU ms",
        "GPU ms",
        "GPU MB",
        "3060 Ti / GPU",
    ];
    let mut table = Table::new("Transductive GCN (Table 3): published, and ours", &header);
    for (theirs, precision, found) in rows {
        let [gpu_ms, gpu_mb, ratio] = gpu_cells(&found.gpu, |&(s, bytes)| {
            [number(Some(1e3 * s), 4), number(Some(1e-6 * bytes as f64), 3), number(Some(theirs.times[2] / (1e3 * s)), 1)]
        });
        table.row([
            theirs.dataset.into(),
            theirs.variant.into(),
            number(Some(theirs.accuracy.0), 1),
            number(Some(theirs.accuracy.1), 1),
            number(Some(theirs.memory), 2),
            number(Some(theirs.times[2]), 2),
            precision.to_string(),
            percent(found.accuracy.mean),
            percent(found.accuracy.deviation),
            number(Some(1e-6 * found.infer_bytes as f64), 3),
            number(Some(1e3 * found.infer_s), 4),
            gpu_ms,
            gpu_mb,
            ratio,
        ]);
    }
    table.note("Our memory: graph, features, weights and temporary results of an inference plan. The paper's times are end to end, on its own GPUs.");
    table
}
