//! How do I define a semiring of my own?
//!
//! Here: the bottleneck of a path is its largest edge; what is the smallest bottleneck to every vertex? Add is min, multiply is max.
//! The formula is compiled into the same kernels as the built-in semirings, on lists and on tiles; a GPU compiles it at first use.

use bitgraph::backend::{Mxv, VectorOps};
use bitgraph::prelude::*;
use bitgraph::semiring::{monoid, semiring};

semiring! {
    /// The smallest of the largest edges.
    struct MinMax: u32, u32 => u32;
    add = Min;
    multiply(a, x) { a.max(x) }
}

monoid! {
    /// The largest value, at most 99, where a reduction may stop.
    struct AtMost99: u32;
    identity { 0 }
    combine(a, b) { a.max(b).min(99) }
    terminal(a) { a == 99 }
}

/// The smallest bottlenecks from vertex 0, and the largest of them, on any backend and in any format.
fn bottlenecks<B: Mxv<MinMax> + VectorOps>(
    backend: &B,
    csr: &Csr,
    weights: &Values,
    format: FormatKind,
) -> Result<(Vec<u32>, u32), B::Error> {
    let a = Matrix::new(backend, csr, Some(weights), format)?;
    let mut bottleneck = Vector::from_entries(backend, csr.nrows(), [(0, 0u32)])?;
    for _ in 1..csr.nrows() {
        mxv(MinMax, &a, &bottleneck).accum(Min).into(&mut bottleneck)?;
    }
    let largest = reduce(AtMost99, &bottleneck).eval()?.read()?;
    Ok((bottleneck.to_host()?.to_vec_or(u32::MAX), largest))
}

/// The same by plain loops.
fn plain(csr: &Csr, weights: &[u32]) -> Vec<u32> {
    let mut bottleneck = vec![u32::MAX; csr.nrows()];
    bottleneck[0] = 0;
    for _ in 1..csr.nrows() {
        for i in 0..csr.nrows() {
            let through = csr.row_range(i).map(|k| weights[k].max(bottleneck[csr.indices()[k] as usize]));
            bottleneck[i] = through.min().map_or(bottleneck[i], |smallest| smallest.min(bottleneck[i]));
        }
    }
    bottleneck
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A square with one diagonal: 0 -1- 1 -7- 2 -3- 3 -2- 0, and 0 -9- 2.
    let mut edges = Coo::pattern(4, 4, vec![0, 1, 2, 3, 0], vec![1, 2, 3, 0, 2]);
    edges.values = Some(Values::from_vec(vec![1u32, 7, 3, 2, 9]));
    edges.mirrored = true;
    let (csr, weights) = edges.into_csr(Duplicates::Error)?;
    let weights = weights.ok_or("the edges have weights")?;

    let expected = (plain(&csr, weights.expect::<u32>()?), 3);
    println!("smallest bottlenecks from vertex 0: {:?}, at most {}", expected.0, expected.1);
    for format in [FormatKind::Csr, FormatKind::B2sr8] {
        assert_eq!(bottlenecks(&Cpu::new(), &csr, &weights, format)?, expected);
        match Cuda::open(0) {
            Ok(gpu) => assert_eq!(bottlenecks(&gpu, &csr, &weights, format)?, expected),
            Err(error) => println!("not run on a GPU: {error}"),
        }
    }
    Ok(())
}
