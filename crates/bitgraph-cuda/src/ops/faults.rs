//! A transpose that fails is the error of the operation that wanted it: nothing is computed by another way instead, and nothing half-made is
//! kept. (Of algorithms: `fused/tests.rs`.) On the host shim with little memory; faults on a GPU are in `bitgraph-verify`.

use crate::device::testing::{hold, out_of_memory, small_device};
use crate::{Cuda, CudaMatrix, Result};
use bitgraph_backend::ops::{mxm_reduce, mxv, reduce_rows, transpose, vxm};
use bitgraph_backend::{Matrix, Vector};
use bitgraph_semiring::{Plus, PlusTimes};
use bitgraph_sparse::{Coo, Csr, Duplicates, FormatKind, Values};

const MEMORY: u64 = 1 << 22;
const N: u32 = 600;
const RING: PlusTimes<f32> = PlusTimes::new();

/// Arcs that go up, seven from a vertex.
fn upwards() -> Csr {
    let arcs = (0..N).flat_map(|u| (1..8).map(move |k| (u, u + k * k))).filter(|&(_, v)| v < N);
    let (rows, columns) = arcs.unzip();
    Coo::pattern(N as usize, N as usize, rows, columns).into_csr(Duplicates::First).unwrap().0
}

/// An operation on a matrix as it is, and the same on its transpose.
type Pair = (&'static str, fn(&Matrix<Cuda>, &Vector<Cuda, f32>, bool) -> Result<()>);

/// With memory for an operation, but none for a transpose beside it, the transposed operation is an error; with more it is right again.
#[test]
fn no_memory_for_a_transpose_is_an_error_of_the_operation() {
    let pairs: [Pair; 3] = [
        ("mxv", |a, u, transposed| if transposed { mxv(RING, a, u).transpose_a().eval() } else { mxv(RING, a, u).eval() }.map(drop)),
        ("vxm", |a, u, transposed| if transposed { vxm(u, RING, a).eval() } else { vxm(u, RING, a).transpose_a().eval() }.map(drop)),
        ("reduce_rows", |a, _, transposed| {
            let rows = reduce_rows(Plus, a.typed::<f32>());
            if transposed { rows.transpose_a().eval() } else { rows.eval() }.map(drop)
        }),
    ];
    let Some(device) = small_device(MEMORY) else { return };
    let (cuda, csr) = (Cuda::on(device), upwards());
    for format in FormatKind::ALL {
        for (name, run) in pairs {
            let values = Values::from_vec((0..csr.nnz()).map(|i| (i % 5) as f32).collect());
            let matrix = || Matrix::new(&cuda, &csr, Some(&values), format).unwrap();
            let u = Vector::filled(&cuda, N as usize, 1f32).unwrap();
            // What is computed at first use is there, but for the transpose.
            let a = matrix();
            run(&a, &u, false).unwrap();
            let before = a.bytes();
            let mut apart = 0;
            for left in (10..18).map(|bits| 1u64 << bits) {
                let held = hold(cuda.device(), left);
                let (plain, transposed) = (out_of_memory(run(&a, &u, false)), out_of_memory(run(&a, &u, true)));
                assert!(transposed || a.bytes() > before, "{name} of {format}: done without a transpose, {left} bytes left");
                drop(held);
                if !transposed {
                    break;
                }
                assert_eq!(a.bytes(), before, "{name} of {format}: what failed is kept");
                apart += usize::from(!plain);
            }
            assert!(apart > 0, "{name} of {format}: there was always memory for both, or for none");
            run(&a, &u, true).unwrap();
        }
    }
}

/// No memory at all: a transpose as a matrix of its own, and one that a sum of products reads.
#[test]
fn transposes_and_products_of_them_say_that_memory_ran_out() {
    let Some(device) = small_device(MEMORY) else { return };
    let (cuda, csr) = (Cuda::on(device), upwards());
    for format in FormatKind::ALL {
        let a = Matrix::new(&cuda, &csr, None, format).unwrap();
        let held = hold(cuda.device(), 64);
        assert!(out_of_memory(a.transposed()), "{format}");
        assert!(out_of_memory(CudaMatrix::transposed(a.raw()).map(drop)), "{format}");
        assert!(out_of_memory(transpose(a.typed::<f32>()).eval()), "{format}");
        assert!(out_of_memory(mxm_reduce(RING, &a, &a).transpose_a().eval()), "{format}");
        drop(held);
        assert_eq!(a.transposed().unwrap().to_host().unwrap().0, csr.transpose(), "{format}");
    }
}
