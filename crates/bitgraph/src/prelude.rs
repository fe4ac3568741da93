//! What most programs need: `use bitgraph::prelude::*`.
//!
#![cfg_attr(
    all(feature = "cpu", feature = "generate"),
    doc = r#"
The operations, over matrices and vectors that know their backend:

```
use bitgraph::prelude::*;

let csr = "kron:8".parse::<GraphSource>()?.load(&LoadOptions::default())?.csr;
let (cpu, n) = (Cpu::new(), csr.nrows());
let a = Matrix::new(&cpu, &csr, None, FormatKind::Csr)?;
let source = csr.max_degree_row().unwrap_or(0);
let mut frontier = Vector::from_indices(&cpu, n, &[source], true)?;
let mut levels = Vector::<_, i32>::empty(&cpu, n)?;

// Breadth-first search; any semiring, any backend, nothing crosses to the host but one number a level.
for level in 0.. {
    assign(level).mask(&frontier).into(&mut levels)?;
    vxm(&frontier, LorLand, &a).unless(&levels).replace().into(&mut frontier)?;
    if frontier.is_empty()? { break }
}

// Where a result goes is said once, the same way for all operations. A new vector, or into an old one:
let seen = Vector::from_indices(&cpu, n, &[source], true)?;
let reached = mxv(LorLand, &a, &seen).unless(&seen).eval()?;
assert_eq!(reached.nvals()?, csr.degree(source as usize));
let mut distances = Vector::from_entries(&cpu, n, [(source, 0f32)])?;
mxv(MinPlus, &a, &distances).accum(Min).into(&mut distances)?;
assert_eq!(distances.nvals()?, 1 + reached.nvals()?);
# assert_eq!(Graph::try_from(csr)?.bfs(source).run()?.levels, Some(levels.to_host()?.to_vec_or(-1)));
# Ok::<(), Box<dyn std::error::Error>>(())
```

A layer of a graph convolution, in one pass over memory:

```
use bitgraph::prelude::*;

let csr = "kron:8".parse::<GraphSource>()?.load(&LoadOptions::default())?.csr;
let (cpu, n) = (Cpu::new(), csr.nrows());
let a = Matrix::new(&cpu, &csr, None, FormatKind::Csr)?;
let x = Dense::filled(&cpu, n, 16, 1.0f32)?;
let w = Dense::filled(&cpu, 16, 4, 0.25f32)?;

// D^-1/2 (A + I) D^-1/2 X W, then a ReLU. Nothing runs before it is written somewhere.
let d = (0..n).map(|v| 1.0 / (1.0 + csr.degree(v) as f32).sqrt()).collect();
let d = Dense::column_vector(&cpu, d)?;
let h = gemm(&x, &w).eval()?;
let y = spmm(&a, &h).own(1.0).scale_rows(&d).scale_columns(&d).relu().eval()?;
assert_eq!(y.shape(), (n, 4));
assert!(y.to_host()?.iter().all(|&v| v > 0.0));
# Ok::<(), Box<dyn std::error::Error>>(())
```
"#
)]

pub use crate::Error;
#[cfg(all(feature = "cpu", any(feature = "io", feature = "generate")))]
pub use crate::Open;
#[cfg(any(feature = "io", feature = "generate"))]
pub use crate::{GraphSource, LoadOptions, LoadedGraph, StoredGraph, WeightSource};
pub use bitgraph_algorithms::*;
pub use bitgraph_backend::ops::{
    apply, assign, assign_at, ewise_add, ewise_mult, extract, kronecker, mxm, mxm_reduce, mxv, reduce, reduce_rows, select, transpose, vxm,
};
pub use bitgraph_backend::{Algorithm, Backend, Control, Graph, GraphData, Matrix, Plan, Request, Reuse, Symmetry, Value, Vector};
#[cfg(feature = "cpu")]
pub use bitgraph_cpu::Cpu;
#[cfg(feature = "cuda")]
pub use bitgraph_cuda::Cuda;
pub use bitgraph_semiring::{
    AnySecond, Land, Lor, LorLand, Max, MaxMin, MaxPlus, Min, MinPlus, MinSecond, Plus, PlusPair, PlusSecond, PlusTimes, Times,
};
pub use bitgraph_sparse::ordering::Ordering;
pub use bitgraph_sparse::{BitVector, Coo, Csr, Duplicates, Format, FormatKind, Permutation, Values};
pub use bitgraph_tensor::ops::{
    agnn, attention, cross_entropy, dot_attention, edge_softmax, gat, gat_v2, gemm, log_softmax, map, sddmm, spmm,
};
pub use bitgraph_tensor::{Activation, Dense, Dropout};
