//! How do I define a semiring of my own?
//!
//! Here: the bottleneck of a path is its greatest edge; what is the least bottleneck to every vertex? Add is min, multiply is
//! max. The type is compiled into the same kernels as the built-in semirings; with the same formula in CUDA C++ it runs on a GPU
//! too, where it is compiled at first use.

use bitgraph::backend::{Mxv, VectorOps};
use bitgraph::prelude::*;
use bitgraph::semiring::{DeviceExpr, Semiring};

#[derive(Clone, Copy, Debug, Default)]
struct MinMax;

impl Semiring for MinMax {
    type A = u32;
    type X = u32;
    type Acc = u32;
    type Out = u32;
    type Add = Min;
    const NAME: &'static str = "min_max";
    const DEVICE: Option<DeviceExpr> = Some(DeviceExpr {
        multiply: "bg_max(a, x)",
        multiply_pattern: "bg_max(1, x)",
        add: "bg_min(a, b)",
        identity: "bg_greatest()",
        finish: "acc",
    });
    fn multiply(a: u32, x: u32) -> u32 {
        a.max(x)
    }
    fn finish(acc: u32) -> u32 {
        acc
    }
}

/// The least bottlenecks from vertex 0, on any backend.
fn bottlenecks<B: VectorOps + Mxv<MinMax>>(backend: &B, csr: &Csr, weights: &Values) -> Result<Vec<u32>, B::Error> {
    let a = Matrix::new(backend, csr, Some(weights), FormatKind::B2sr4)?;
    let mut bottleneck = Vector::from_entries(backend, csr.nrows(), [(0, 0u32)])?;
    for _ in 1..csr.nrows() {
        mxv(MinMax, &a, &bottleneck).accum(Min).into(&mut bottleneck)?;
    }
    Ok(bottleneck.to_host()?.to_vec_or(u32::MAX))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A square with one diagonal: 0 -1- 1 -7- 2 -3- 3 -2- 0, and 0 -9- 2.
    let mut edges = Coo::pattern(4, 4, vec![0, 1, 2, 3, 0], vec![1, 2, 3, 0, 2]);
    edges.values = Some(Values::from_vec(vec![1u32, 7, 3, 2, 9]));
    edges.mirrored = true;
    let (csr, weights) = edges.into_csr(Duplicates::Error)?;
    let weights = weights.ok_or("the edges have weights")?;

    let found = bottlenecks(&Cpu::new(), &csr, &weights)?;
    println!("least bottlenecks from vertex 0: {found:?}");
    assert_eq!(found, [0, 1, 3, 2]);
    match Cuda::open(0) {
        Ok(gpu) => assert_eq!(bottlenecks(&gpu, &csr, &weights)?, found),
        Err(error) => println!("not run on a GPU: {error}"),
    }
    Ok(())
}
