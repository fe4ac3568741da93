//! Products of matrix and vector over three semirings, plain and masked.

use bitgraph::backend::{NoAccum, ops};
use bitgraph::cpu::CpuMatrix;
use bitgraph::prelude::*;
use bitgraph::semiring::{LorLand, MinPlus, PlusSecond};
use bitgraph::sparse::Descriptor;
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
    let pattern: CpuMatrix = cpu.matrix(&csr, None, FormatKind::Csr)?;
    let weighted = cpu.matrix(&csr, Some(&bitgraph::hashed_weights(&csr, 255)), FormatKind::Csr)?;
    let floats = Vector::from_vec((0..n).map(|v| 1.0 + (v % 7) as f32).collect());
    let bits = Vector::from_vec((0..n).map(|v| v % 3 == 0).collect::<Vec<bool>>());
    let lengths = Vector::from_vec((0..n as u32).map(|v| v % 100).collect());
    let (mut float_sums, mut any, mut least) = (Vector::filled(n, 0f32), Vector::filled(n, false), Vector::filled(n, 0u32));
    let full = Descriptor::DEFAULT;
    let mask = ops::VectorMask::<Cpu>::value(&bits);

    let mut group = c.benchmark_group(format!("mxv/{name}"));
    group
        .throughput(Throughput::Elements(csr.nnz() as u64))
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2));
    for masked in [false, true] {
        let mask = masked.then_some(mask);
        let id = |semiring: &str| BenchmarkId::new(semiring, if masked { "masked" } else { "plain" });
        group.bench_function(id("plus-second f32"), |b| {
            b.iter(|| ops::mxv(&cpu, &mut float_sums, mask, NoAccum, PlusSecond::<f32>::new(), &pattern, &floats, full));
        });
        group.bench_function(id("lor-land bool"), |b| {
            b.iter(|| ops::mxv(&cpu, &mut any, mask, NoAccum, LorLand::<bool>::new(), &pattern, &bits, full));
        });
        group.bench_function(id("min-plus u32"), |b| {
            b.iter(|| ops::mxv(&cpu, &mut least, mask, NoAccum, MinPlus::<u32>::new(), &weighted, &lengths, full));
        });
    }
    group.finish();
    Ok(())
}

criterion_group!(all, benches);
criterion_main!(all);
