//! Times products of bits on one thread, beside the same in `f32`: `cargo run --release -p bitgraph-cpu --example bits_timing -- urand:18 512`.
//!
//! Prints the minimum and the median of milliseconds of the thread's own CPU time, so that others on the machine cost it less, and how many times
//! faster than `f32` each form is. Without a clock of the thread it takes that of the wall.

use bitgraph_backend::Matrix;
use bitgraph_cpu::{Cpu, Isa};
use bitgraph_generate::{Control, Generator, Stream};
use bitgraph_sparse::FormatKind;
use bitgraph_tensor::bittensor::{Packing, Quantization};
use bitgraph_tensor::ops::{bit_gemm, bit_spmm, gemm, spmm};
use bitgraph_tensor::{Dense, Signs};
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error>;

/// A moment in the time of this thread, or since `start`.
fn now(start: Instant) -> Duration {
    let busy = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = busy.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// Prints the times of `run`; the median in milliseconds.
fn time<R>(what: &str, beside: Option<f64>, mut run: impl FnMut() -> Result<R, Failure>) -> Result<f64, Failure> {
    let start = Instant::now();
    let mut all = Vec::new();
    while all.len() < 6 || (all.len() < 31 && start.elapsed().as_secs() < 4) {
        let before = now(start);
        drop(run()?);
        all.push((now(start) - before).as_secs_f64() * 1e3);
    }
    all.remove(0);
    all.sort_by(f64::total_cmp);
    let median = all[all.len() / 2];
    let ratio = beside.map_or(String::new(), |beside| format!("  {:6.1} times", beside / median));
    println!("{what:48} minimum {:9.3} median {median:9.3} ms{ratio}", all[0]);
    Ok(median)
}

fn fractions(cpu: &Cpu, rows: usize, columns: usize, seed: u64) -> Result<Dense<Cpu, f32>, Failure> {
    let stream = Stream::new(seed, 5);
    let elements: Vec<f32> = (0..(rows * columns) as u64).map(|k| stream.below(k, 2001) as f32 - 1000.0).collect();
    let mut x = Dense::zeros(cpu, rows, columns)?;
    bitgraph_tensor::ops::map(&Dense::from_vec(cpu, rows, columns, elements)?).into(&mut x)?;
    Ok(x)
}

fn main() -> Result<(), Failure> {
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let arguments: Vec<String> = std::env::args().collect();
    let [_, graph, width] = &arguments[..] else { return Err("a generator and a number of columns are needed".into()) };
    let csr = graph.parse::<Generator>()?.generate(&Control::default())?;
    let (cpu, n, width) = (Cpu::new(), csr.nrows(), width.parse::<usize>()?);
    println!("{graph}: {n} vertices, {} entries, {}", csr.nnz(), Isa::current().name());
    let a = Matrix::new(&cpu, &csr, None, FormatKind::Csr)?;
    let x = fractions(&cpu, n, width, 1)?;
    let signs: Signs<Cpu> = x.sign(Packing::Rows)?;
    let mut y = Dense::<Cpu, f32>::zeros(&cpu, n, width)?;
    let single = Some(time("spmm f32", None, || Ok(spmm(&a, &x).into(&mut y)?))?);
    let mut halves = Dense::<Cpu, i16>::zeros(&cpu, n, width)?;
    time("bit_spmm, i16", single, || Ok(bit_spmm(&a, &signs).into(&mut halves)?))?;
    let bits = usize::BITS - (0..n).map(|i| csr.degree(i)).max().unwrap_or(0).leading_zeros();
    let mut counts = bit_spmm(&a, &signs).eval_counts(bits)?;
    time(&format!("bit_spmm, counts as {bits} planes"), single, || Ok(bit_spmm(&a, &signs).into_counts(&mut counts)?))?;
    drop(counts);
    let mut out = bit_spmm(&a, &signs).eval_signs()?;
    time("bit_spmm, signs", single, || Ok(bit_spmm(&a, &signs).into_signs(&mut out)?))?;
    time("bit_spmm, f32", single, || Ok(bit_spmm(&a, &signs).into(&mut y)?))?;
    let scale = Dense::filled(&cpu, n, 1, 0.5f32)?;
    time("bit_spmm, row scale, relu, f32", single, || Ok(bit_spmm(&a, &signs).scale_rows(&scale).relu().into(&mut y)?))?;
    time("pack signs", None, || Ok(x.sign(Packing::Rows)?))?;
    time("pack signs along columns", None, || Ok(x.sign(Packing::Columns)?))?;
    let codes = x.quantize(&Quantization::unit(4)?, Packing::Rows)?;
    time("pack 4 planes", None, || Ok(x.quantize(&Quantization::unit(4)?, Packing::Rows)?))?;
    time("bit_spmm of 4 planes, i32", single, || Ok(bit_spmm(&a, &codes).eval_as::<i32>()?))?;
    drop((y, halves));
    let rows = n.min(1 << 15);
    let (top, w) = (x.rows(0..rows)?, fractions(&cpu, width, 256, 2)?);
    let mut y = Dense::<Cpu, f32>::zeros(&cpu, rows, 256)?;
    let single = Some(time(&format!("gemm f32, {rows} x {width} x 256"), None, || Ok(gemm(&top, &w).into(&mut y)?))?);
    let (top, w) = (top.sign(Packing::Rows)?, w.sign(Packing::Columns)?);
    time("bit_gemm, signs x signs, i32", single, || Ok(bit_gemm(&top, &w).eval_as::<i32>()?))?;
    time("bit_gemm, signs x signs, signs", single, || Ok(bit_gemm(&top, &w).eval_signs()?))?;
    let codes = codes.to_dense()?.rows(0..rows)?.quantize(&Quantization::unit(4)?, Packing::Rows)?;
    time("bit_gemm, 4 planes x signs, f32", single, || Ok(bit_gemm(&codes, &w).into(&mut y)?))?;
    Ok(())
}
