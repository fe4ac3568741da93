//! Products of matrix and vector over three semirings, plain and masked.

use bitgraph::prelude::*;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;

type Error = Box<dyn std::error::Error>;

fn benches(c: &mut Criterion) {
    for name in ["kron:12", "grid:128x128"] {
        if let Err(error) = on(c, name) {
            panic!("{name}: {error}");
        }
    }
}

fn on(c: &mut Criterion, name: &str) -> Result<(), Error> {
    let csr = name.parse::<GraphSource>()?.load(&LoadOptions::default())?.csr;
    let n = csr.nrows();
    let cpu = Cpu::new();
    let pattern = Matrix::new(&cpu, &csr, None, FormatKind::Csr)?;
    let weighted = Matrix::new(&cpu, &csr, Some(&bitgraph::hashed_weights(&csr, 255)), FormatKind::Csr)?;
    let floats = Vector::from_vec(&cpu, (0..n).map(|v| 1.0 + (v % 7) as f32).collect())?;
    let bits = Vector::from_vec(&cpu, (0..n).map(|v| v % 3 == 0).collect::<Vec<bool>>())?;
    let lengths = Vector::from_vec(&cpu, (0..n as u32).map(|v| v % 100).collect())?;
    let (mut float_sums, mut any) = (Vector::filled(&cpu, n, 0f32)?, Vector::filled(&cpu, n, false)?);
    let mut minimum = Vector::filled(&cpu, n, 0u32)?;

    let mut group = c.benchmark_group(format!("mxv/{name}"));
    group
        .throughput(Throughput::Elements(csr.nnz() as u64))
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2));
    let plain = |semiring: &str| BenchmarkId::new(semiring, "plain");
    group.bench_function(plain("plus-second f32"), |b| b.iter(|| mxv(PlusSecond, &pattern, &floats).into(&mut float_sums)));
    group.bench_function(plain("lor-land bool"), |b| b.iter(|| mxv(LorLand, &pattern, &bits).into(&mut any)));
    group.bench_function(plain("min-plus u32"), |b| b.iter(|| mxv(MinPlus, &weighted, &lengths).into(&mut minimum)));
    let masked = |semiring: &str| BenchmarkId::new(semiring, "masked");
    group.bench_function(masked("plus-second f32"), |b| {
        b.iter(|| mxv(PlusSecond, &pattern, &floats).mask_values(&bits).into(&mut float_sums));
    });
    group.bench_function(masked("lor-land bool"), |b| b.iter(|| mxv(LorLand, &pattern, &bits).mask_values(&bits).into(&mut any)));
    group.bench_function(masked("min-plus u32"), |b| b.iter(|| mxv(MinPlus, &weighted, &lengths).mask_values(&bits).into(&mut minimum)));
    group.finish();
    Ok(())
}

criterion_group!(all, benches);
criterion_main!(all);
