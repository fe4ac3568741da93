//! How do I define a semiring of my own?
//!
//! Here: the bottleneck of a path is its greatest edge; what is the least bottleneck to every vertex? Add is min, multiply is
//! max. The type is compiled into the same kernels as the built-in semirings.

use bitgraph::backend::{Accum, ops};
use bitgraph::prelude::*;
use bitgraph::semiring::{Min, Semiring};
use bitgraph::sparse::Descriptor;

#[derive(Clone, Copy, Debug, Default)]
struct MinMax;

impl Semiring for MinMax {
    type A = u32;
    type X = u32;
    type Acc = u32;
    type Out = u32;
    type Add = Min;
    const NAME: &'static str = "min_max";
    fn multiply(a: u32, x: u32) -> u32 {
        a.max(x)
    }
    fn finish(acc: u32) -> u32 {
        acc
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A square with one diagonal: 0 -1- 1 -7- 2 -3- 3 -2- 0, and 0 -9- 2.
    let mut edges = Coo::pattern(4, 4, vec![0, 1, 2, 3, 0], vec![1, 2, 3, 0, 2]);
    edges.values = Some(Values::from_vec(vec![1u32, 7, 3, 2, 9]));
    edges.mirrored = true;
    let (csr, values) = edges.into_csr(Duplicates::Error)?;

    let cpu = Cpu::new();
    let a = cpu.matrix(&csr, values.as_ref(), FormatKind::B2sr4)?;
    let mut bottleneck = cpu.vector(Vector::from_entries(4, [(0, 0u32)])?)?;
    for _ in 1..4 {
        let known = bottleneck.clone();
        ops::mxv(&cpu, &mut bottleneck, None, Accum(Min), MinMax, &a, &known, Descriptor::DEFAULT)?;
    }
    let found = cpu.vector_to_host(&bottleneck)?.to_vec_or(u32::MAX);
    println!("least bottlenecks from vertex 0: {found:?}");
    assert_eq!(found, [0, 1, 3, 2]);
    Ok(())
}
