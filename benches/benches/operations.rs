//! Every operation but mxv: those of vectors, and those of matrices in every format.

use bitgraph::backend::Error;
use bitgraph::prelude::*;
use bitgraph::semiring::{Identity, Tril, ValueAbove};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;

fn benches(c: &mut Criterion) {
    let outcome = vectors(c).and_then(|()| ["kron:10", "mesh:10x10x10"].iter().try_for_each(|name| matrices(c, name)));
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// One operation: an error is found before anything is timed.
fn time(group: &mut BenchmarkGroup<'_, WallTime>, id: BenchmarkId, mut run: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    run()?;
    group.bench_function(id, |b| b.iter(&mut run));
    Ok(())
}

fn vectors(c: &mut Criterion) -> Result<(), Error> {
    const N: usize = 1 << 16;
    let cpu = Cpu::new();
    let (u, v) = (Vector::from_vec(&cpu, (0..N).map(|i| i as f32).collect())?, Vector::filled(&cpu, N, 0.5f32)?);
    let mut w = Vector::filled(&cpu, N, 0f32)?;
    let places: Vec<u32> = (0..N as u32).map(|i| i.wrapping_mul(40_503) % N as u32).collect();
    let mut group = c.benchmark_group("operations/vectors");
    group.throughput(Throughput::Elements(N as u64)).sample_size(20);
    group.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_millis(500));
    let g = &mut group;
    let id = BenchmarkId::from_parameter;
    time(g, id("ewise_add"), || ewise_add(Plus, &u, &v).into(&mut w))?;
    time(g, id("ewise_mult"), || ewise_mult(Min, &u, &v).into(&mut w))?;
    time(g, id("apply"), || apply(Identity, &u).accum(Plus).into(&mut w))?;
    time(g, id("select"), || select(ValueAbove(9f32), &u).into(&mut w))?;
    time(g, id("reduce"), || reduce(Plus, &u).eval().map(drop))?;
    time(g, id("extract"), || extract(&u, &places).into(&mut w))?;
    time(g, id("assign_at"), || assign_at(&u, &places).accum(Min).into(&mut w))?;
    time(g, id("assign"), || assign(1.5).into(&mut w))?;
    group.finish();
    Ok(())
}

fn matrices(c: &mut Criterion, name: &str) -> Result<(), Error> {
    let other = |what: String| Error::Unsupported { operation: "bench", what, available: "graphs that can be generated" };
    let source = name.parse::<GraphSource>().map_err(|e| other(e.to_string()))?;
    let csr = source.load(&LoadOptions::default()).map_err(|e| other(e.to_string()))?.csr;
    let (cpu, n) = (Cpu::new(), csr.nrows());
    let weights = bitgraph::hashed_weights(&csr, 255).cast::<f32>();
    let every: Vec<u32> = (0..n as u32).collect();
    let half: Vec<u32> = (0..n as u32).step_by(2).collect();
    let mut group = c.benchmark_group(format!("operations/{name}"));
    group.throughput(Throughput::Elements(csr.nnz() as u64)).sample_size(10);
    group.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_millis(500));
    let g = &mut group;
    for kind in FormatKind::ALL {
        let a = Matrix::new(&cpu, &csr, Some(&weights), kind)?;
        let pattern = a.pattern();
        let lower = select(Tril { diagonal: -1 }, pattern.typed::<u64>()).eval()?;
        let part = extract(a.typed::<f32>(), (&half, &half)).eval()?;
        let (mut columns, mut grown) = (Matrix::empty(&cpu, n, half.len(), kind)?, Matrix::empty(&cpu, 2 * n, 2 * n, kind)?);
        let edge = Coo::pattern(2, 2, vec![0, 1], vec![1, 0]).into_csr(Duplicates::Error)?.0;
        let small = Matrix::new(&cpu, &edge, None, kind)?;
        let (mut out, mut sums) = (a.clone(), Vector::filled(&cpu, n, 0f32)?);
        let id = |operation: &str| BenchmarkId::new(operation, kind);
        let typed = || a.typed::<f32>();
        time(g, id("ewise_add"), || ewise_add(Plus, typed(), typed()).into(&mut out))?;
        time(g, id("ewise_mult"), || ewise_mult(Plus, typed(), typed()).mask(&lower).into(&mut out))?;
        time(g, id("apply"), || apply(Identity, typed()).into(&mut out))?;
        time(g, id("select"), || select(ValueAbove(99f32), typed()).into(&mut out))?;
        time(g, id("reduce"), || reduce(Plus, typed()).eval().map(drop))?;
        time(g, id("reduce_rows"), || reduce_rows(Plus, typed()).into(&mut sums))?;
        time(g, id("extract"), || extract(typed(), (&every, &half)).into(&mut columns))?;
        time(g, id("assign_at"), || assign_at(part.typed::<f32>(), (&half, &half)).into(&mut out))?;
        time(g, id("transpose"), || transpose(typed()).into(&mut out))?;
        time(g, id("kronecker"), || kronecker(Lor, small.typed::<bool>(), pattern.typed()).into(&mut grown))?;
        time(g, id("mxm masked"), || mxm(PlusTimes::<f32>::new(), &a, &a).mask(&lower).into(&mut out))?;
        let count = || mxm_reduce(PlusPair::<u64>::new(), &lower, &lower).transpose_b().mask(&lower).eval();
        time(g, id("mxm_reduce masked"), || count().map(drop))?;
    }
    group.finish();
    Ok(())
}

criterion_group!(all, benches);
criterion_main!(all);
