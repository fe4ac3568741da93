//! Every format: its conversion from lists, and the float and the boolean product on it.

use bitgraph::b2sr::Layout;
use bitgraph::prelude::*;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;

type Error = Box<dyn std::error::Error>;

fn benches(c: &mut Criterion) {
    for name in ["kron:12", "mesh:20x20x20"] {
        if let Err(error) = on(c, name) {
            panic!("{name}: {error}");
        }
    }
}

fn on(c: &mut Criterion, name: &str) -> Result<(), Error> {
    let csr = name.parse::<GraphSource>()?.load(&LoadOptions::default())?.csr;
    let n = csr.nrows();
    let cpu = Cpu::new();
    let floats = Vector::from_vec(&cpu, (0..n).map(|v| 1.0 + (v % 7) as f32).collect())?;
    let bits = Vector::from_vec(&cpu, (0..n).map(|v| v % 3 == 0).collect::<Vec<bool>>())?;
    let (mut sums, mut any) = (Vector::filled(&cpu, n, 0f32)?, Vector::filled(&cpu, n, false)?);

    let mut group = c.benchmark_group(format!("formats/{name}"));
    group.throughput(Throughput::Elements(csr.nnz() as u64)).sample_size(20);
    group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    for kind in FormatKind::ALL {
        // Lists are where every format starts from.
        if kind != FormatKind::Csr {
            group.bench_function(BenchmarkId::new("from lists", kind), |b| b.iter(|| Layout::from_csr(&csr, kind)));
        }
        let matrix = Matrix::new(&cpu, &csr, None, kind)?;
        group.bench_function(BenchmarkId::new("mxv f32", kind), |b| {
            b.iter(|| mxv(PlusSecond, &matrix, &floats).into(&mut sums));
        });
        group.bench_function(BenchmarkId::new("mxv bool", kind), |b| {
            b.iter(|| mxv(LorLand, &matrix, &bits).into(&mut any));
        });
    }
    group.finish();
    Ok(())
}

criterion_group!(all, benches);
criterion_main!(all);
