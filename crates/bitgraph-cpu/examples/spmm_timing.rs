//! Times sparse times dense on one thread: `cargo run --release -p bitgraph-cpu --example spmm_timing -- kron:18 64 [FOLDER]`.
//!
//! Prints the minimum and the median of milliseconds. With a folder it leaves the offsets and columns of the pattern there as arrays of 32 bits, for a peer.

use bitgraph_backend::Matrix;
use bitgraph_cpu::Cpu;
use bitgraph_generate::{Control, Generator};
use bitgraph_sparse::{FormatKind, OffsetInt, with_offsets};
use bitgraph_tensor::ops::{Reduce, dot_attention, gat, gemm, map, sddmm, spmm};
use bitgraph_tensor::{Dense, Element};
use half::{bf16, f16};
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

fn time(what: &str, mut run: impl FnMut() -> Result<(), Failure>) -> Result<(), Failure> {
    let start = Instant::now();
    let mut all = Vec::new();
    while all.len() < 5 || (all.len() < 31 && start.elapsed().as_secs() < 3) {
        let before = Instant::now();
        run()?;
        all.push(before.elapsed().as_secs_f64() * 1e3);
    }
    all.remove(0);
    all.sort_by(f64::total_cmp);
    println!("{what:44} minimum {:9.3} median {:9.3} ms", all[0], all[all.len() / 2]);
    Ok(())
}

/// Features made by the backend, in memory that it lays out.
fn features<T: Element>(cpu: &Cpu, rows: usize, columns: usize) -> Result<Dense<Cpu, T>, Failure> {
    let mut x = Dense::<Cpu, T>::zeros(cpu, rows, columns)?;
    map(&Dense::<Cpu, T>::filled(cpu, rows, columns, T::ONE)?).into(&mut x)?;
    Ok(x)
}

fn kinds<T: Element>(cpu: &Cpu, a: &Matrix<Cpu>, width: usize) -> Result<(), Failure> {
    let n = a.shape().0;
    let x = features::<T>(cpu, n, width)?;
    let mut y = Dense::<Cpu, T::Output>::zeros(cpu, n, width)?;
    time(&format!("spmm {} {width}", T::DTYPE), || Ok(spmm(a, &x).into(&mut y)?))
}

fn main() -> Result<(), Failure> {
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let arguments: Vec<String> = std::env::args().collect();
    let [_, graph, width, rest @ ..] = &arguments[..] else { return Err("a generator and a number of columns are needed".into()) };
    let csr = graph.parse::<Generator>()?.generate(&Control::default())?;
    if let Some(folder) = rest.first() {
        let offsets: Vec<u8> = with_offsets!(csr.offsets(), o => o.iter().flat_map(|o| (o.index() as u32).to_le_bytes()).collect());
        let columns: Vec<u8> = csr.indices().iter().flat_map(|c| c.to_le_bytes()).collect();
        std::fs::write(format!("{folder}/offsets.u32"), offsets)?;
        std::fs::write(format!("{folder}/columns.u32"), columns)?;
    }
    let (cpu, n, width) = (Cpu::new(), csr.nrows(), width.parse::<usize>()?);
    println!("{graph}: {n} vertices, {} entries, {}", csr.nnz(), bitgraph_cpu::Isa::current().name());
    let a = Matrix::new(&cpu, &csr, None, FormatKind::Csr)?;
    kinds::<f32>(&cpu, &a, width)?;
    kinds::<f16>(&cpu, &a, width)?;
    kinds::<bf16>(&cpu, &a, width)?;
    kinds::<f64>(&cpu, &a, width)?;
    kinds::<i8>(&cpu, &a, width)?;
    let x = features::<f32>(&cpu, n, width)?;
    let mut y = Dense::<Cpu, f32>::zeros(&cpu, n, width)?;
    let d = Dense::filled(&cpu, n, 1, 0.5f32)?;
    let bias = Dense::filled(&cpu, 1, width, 0.5f32)?;
    time("spmm f32, maximum", || Ok(spmm(&a, &x).reduce(Reduce::Max).into(&mut y)?))?;
    time("spmm f32, scales, bias, relu", || Ok(spmm(&a, &x).scale_rows(&d).scale_columns(&d).bias(&bias).relu().into(&mut y)?))?;
    let e = Dense::filled(&cpu, csr.nnz(), 1, 0.5f32)?;
    time("spmm f32, edge values", || Ok(spmm(&a, &x).edge_values(&e).into(&mut y)?))?;
    time("sddmm f32", || sddmm(&a, &x, &x).eval().map(drop).map_err(Failure::from))?;
    let scores = Dense::filled(&cpu, n, 4, 0.5f32)?;
    time("gat f32, 4 heads", || Ok(gat(&a, &scores, &scores, &x, 0.2).into(&mut y)?))?;
    time("dot attention f32, 4 heads", || Ok(dot_attention(&a, &x, &x, &x, 4).into(&mut y)?))?;
    let (_, lse) = gat(&a, &scores, &scores, &x, 0.2).eval_for_training()?;
    time("gat f32, 4 heads, backward", || gat(&a, &scores, &scores, &x, 0.2).gradient_of(&lse, &y).map(drop).map_err(Failure::from))?;
    let w = Dense::filled(&cpu, width, width, 0.5f32)?;
    time("gemm f32", || Ok(gemm(&x, &w).into(&mut y)?))?;
    time("gemm f32, transposed", || gemm(&x, &y).transpose_a().eval().map(drop).map_err(Failure::from))
}
