//! Every operation but mxv: those of vectors, and those of matrices in every format.

use bitgraph::backend::{Accum, Backend, Error, MatrixMask, NoAccum, ops};
use bitgraph::prelude::*;
use bitgraph::semiring::{Identity, Lor, Min, Plus, PlusPair, PlusTimes, Tril, ValueAbove};
use bitgraph::sparse::Descriptor;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;

const PLAIN: Descriptor = Descriptor::DEFAULT;

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
    let (u, v) = (Vector::from_vec((0..N).map(|i| i as f32).collect()), Vector::filled(N, 0.5f32));
    let mut w = Vector::filled(N, 0f32);
    let places: Vec<u32> = (0..N as u32).map(|i| i.wrapping_mul(40_503) % N as u32).collect();
    let mut group = c.benchmark_group("operations/vectors");
    group.throughput(Throughput::Elements(N as u64)).sample_size(20);
    group.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_millis(500));
    let g = &mut group;
    time(g, BenchmarkId::from_parameter("ewise_add"), || ops::ewise_add(&cpu, &mut w, None, NoAccum, Plus, &u, &v, PLAIN))?;
    time(g, BenchmarkId::from_parameter("ewise_mult"), || ops::ewise_mult(&cpu, &mut w, None, NoAccum, Min, &u, &v, PLAIN))?;
    time(g, BenchmarkId::from_parameter("apply"), || ops::apply(&cpu, &mut w, None, Accum(Plus), Identity, &u, PLAIN))?;
    time(g, BenchmarkId::from_parameter("select"), || ops::select(&cpu, &mut w, None, NoAccum, ValueAbove(9f32), &u, PLAIN))?;
    time(g, BenchmarkId::from_parameter("reduce"), || ops::reduce(&cpu, Plus, &u).map(drop))?;
    time(g, BenchmarkId::from_parameter("extract"), || ops::extract(&cpu, &mut w, None, NoAccum, &u, &places, PLAIN))?;
    time(g, BenchmarkId::from_parameter("assign"), || ops::assign(&cpu, &mut w, None, Accum(Min), &u, &places, PLAIN))?;
    time(g, BenchmarkId::from_parameter("assign_value"), || ops::assign_value(&cpu, &mut w, None, NoAccum, 1.5, PLAIN))?;
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
        let (a, pattern) = (cpu.matrix(&csr, Some(&weights), kind)?, cpu.matrix(&csr, None, kind)?);
        let empty = |rows, columns| cpu.matrix(&Csr::empty(rows, columns)?, None, kind);
        let mut lower = pattern.clone();
        ops::select_matrix::<_, u64, _, _>(&cpu, &mut lower, None, NoAccum, Tril { diagonal: -1 }, &pattern, PLAIN)?;
        let (mut part, mut columns, mut grown) = (empty(half.len(), half.len())?, empty(n, half.len())?, empty(2 * n, 2 * n)?);
        ops::extract_matrix::<_, f32, _>(&cpu, &mut part, None, NoAccum, &a, &half, &half, PLAIN)?;
        let edge = Coo::pattern(2, 2, vec![0, 1], vec![1, 0]).into_csr(Duplicates::Error)?.0;
        let small = cpu.matrix(&edge, None, kind)?;
        let (mut out, mut sums) = (a.clone(), Vector::filled(n, 0f32));
        let id = |operation: &str| BenchmarkId::new(operation, kind);
        let within = Some(MatrixMask::structure(&lower));
        let transposed = Descriptor { transpose_b: true, ..PLAIN };
        time(g, id("ewise_add"), || ops::ewise_add_matrix::<_, f32, _, _>(&cpu, &mut out, None, NoAccum, Plus, &a, &a, PLAIN))?;
        time(g, id("ewise_mult"), || ops::ewise_mult_matrix::<_, f32, _, _>(&cpu, &mut out, within, NoAccum, Plus, &a, &a, PLAIN))?;
        time(g, id("apply"), || ops::apply_matrix::<_, f32, _, _>(&cpu, &mut out, None, NoAccum, Identity, &a, PLAIN))?;
        time(g, id("select"), || ops::select_matrix::<_, f32, _, _>(&cpu, &mut out, None, NoAccum, ValueAbove(99f32), &a, PLAIN))?;
        time(g, id("reduce"), || ops::reduce_matrix::<_, f32, _>(&cpu, Plus, &a).map(drop))?;
        time(g, id("reduce_rows"), || ops::reduce_rows(&cpu, &mut sums, None, NoAccum, Plus, &a, PLAIN))?;
        time(g, id("extract"), || ops::extract_matrix::<_, f32, _>(&cpu, &mut columns, None, NoAccum, &a, &every, &half, PLAIN))?;
        time(g, id("assign"), || ops::assign_matrix::<_, f32, _>(&cpu, &mut out, None, NoAccum, &part, &half, &half, PLAIN))?;
        time(g, id("transpose"), || ops::transpose::<_, f32, _>(&cpu, &mut out, None, NoAccum, &a, PLAIN))?;
        time(g, id("kronecker"), || ops::kronecker::<_, bool, _, _>(&cpu, &mut grown, None, NoAccum, Lor, &small, &pattern, PLAIN))?;
        time(g, id("mxm masked"), || ops::mxm(&cpu, &mut out, within, NoAccum, PlusTimes::<f32>::new(), &a, &a, PLAIN))?;
        time(g, id("mxm_reduce masked"), || ops::mxm_reduce(&cpu, within, PlusPair::<u64>::new(), &lower, &lower, transposed).map(drop))?;
    }
    group.finish();
    Ok(())
}

criterion_group!(all, benches);
criterion_main!(all);
