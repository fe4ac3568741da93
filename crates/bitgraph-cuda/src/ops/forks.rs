//! Forks of a device do not mix: every operation refuses every operand, and a mask, that another fork made, before anything runs.

use crate::Cuda;
use crate::device::testing::skipped;
use bitgraph_backend::ops::{
    Computation, Evaluates, Indices, Operation, VectorSelector, Writes, apply, assign, assign_at, ewise_add, ewise_mult, extract,
    kronecker, mxm, mxm_reduce, mxv, reduce, reduce_rows, select, transpose, vxm,
};
use bitgraph_backend::{Backend, Error, Matrix, Typed, Value, Vector};
use bitgraph_semiring::{AdditiveInverse, Plus, PlusTimes, Times, ValueNonZero};
use bitgraph_sparse::{Coo, Duplicates, FormatKind, Values};

const N: usize = 4;

/// Two forks of a device, and which operand is of the second.
struct Forks {
    own: Cuda,
    other: Cuda,
    foreign: Option<&'static str>,
}

impl Forks {
    fn of(&self, operand: &str) -> &Cuda {
        if self.foreign == Some(operand) { &self.other } else { &self.own }
    }
    fn vector(&self, operand: &str) -> Vector<Cuda, f32> {
        Vector::filled(self.of(operand), N, 2.0).unwrap()
    }
    fn indices(&self) -> Indices<'static, Cuda> {
        Indices::Device(Vector::iota(self.of("index list"), N).unwrap())
    }
    fn matrix(&self, operand: &str) -> Matrix<Cuda> {
        let csr = Coo::pattern(N, N, vec![0, 1, 3], vec![2, 1, 0]).into_csr(Duplicates::First).unwrap().0;
        Matrix::new(self.of(operand), &csr, Some(&Values::from_vec(vec![1f32, 2.0, 3.0])), FormatKind::Csr).unwrap()
    }
    fn typed(&self, operand: &str) -> Typed<Cuda, f32> {
        self.matrix(operand).typed()
    }
    fn value(&self) -> Value<Cuda, f32> {
        reduce(Plus, &self.vector("value")).eval().unwrap()
    }
    /// The result of a masked write to an output of the first fork, which stays as it was if that is refused.
    fn vector_write<F>(&self, operation: Operation<F>) -> Result<(), crate::Error>
    where
        F: Computation<Backend = Cuda, Mask = VectorSelector<Cuda>> + Writes<Output = Vector<Cuda, f32>, Element = f32>,
    {
        let mut output = Vector::filled(&self.own, N, 9f32).unwrap();
        let before = output.to_host().unwrap();
        let result = operation.mask(&self.vector("mask")).into(&mut output);
        assert!(result.is_ok() || output.to_host().unwrap() == before);
        result
    }
    fn matrix_write<F>(&self, operation: Operation<F>) -> Result<(), crate::Error>
    where
        F: Computation<Backend = Cuda, Mask = Matrix<Cuda>> + Writes<Output = Matrix<Cuda>, Element = f32>,
    {
        let mut output = Matrix::empty(&self.own, N, N, FormatKind::Csr).unwrap();
        let result = operation.mask(&self.matrix("mask")).into(&mut output);
        assert!(result.is_ok() || output.nvals() == 0);
        result
    }
}

/// What an operation does with the forks, and the operands that it has.
type Case = (&'static str, &'static [&'static str], fn(&Forks) -> Result<(), crate::Error>);

const RING: PlusTimes<f32> = PlusTimes::new();
const CASES: &[Case] = &[
    ("mxv", &["matrix", "input vector", "mask"], |f| f.vector_write(mxv(RING, &f.matrix("matrix"), &f.vector("input vector")))),
    ("vxm", &["matrix", "input vector", "mask"], |f| f.vector_write(vxm(&f.vector("input vector"), RING, &f.matrix("matrix")))),
    ("ewise_add", &["first vector", "second vector", "mask"], |f| {
        f.vector_write(ewise_add(Plus, &f.vector("first vector"), &f.vector("second vector")))
    }),
    ("ewise_mult", &["first vector", "second vector", "mask"], |f| {
        f.vector_write(ewise_mult(Plus, &f.vector("first vector"), &f.vector("second vector")))
    }),
    ("apply", &["input vector", "mask"], |f| f.vector_write(apply(AdditiveInverse, &f.vector("input vector")))),
    ("select", &["input vector", "mask"], |f| f.vector_write(select(ValueNonZero, &f.vector("input vector")))),
    ("reduce_rows", &["matrix", "mask"], |f| f.vector_write(reduce_rows(Plus, f.typed("matrix")))),
    ("extract", &["input vector", "index list", "mask"], |f| f.vector_write(extract(&f.vector("input vector"), f.indices()))),
    ("assign_at", &["input vector", "index list", "mask"], |f| f.vector_write(assign_at(&f.vector("input vector"), f.indices()))),
    ("assign", &["value", "mask"], |f| f.vector_write(assign(&f.value()))),
    ("mxm", &["first matrix", "second matrix", "mask"], |f| {
        f.matrix_write(mxm(RING, &f.matrix("first matrix"), &f.matrix("second matrix")))
    }),
    ("mxm_reduce", &["second matrix", "mask"], |f| {
        mxm_reduce(RING, &f.matrix("first matrix"), &f.matrix("second matrix")).mask(&f.matrix("mask")).eval().map(drop)
    }),
    ("ewise_add", &["first matrix", "second matrix", "mask"], |f| {
        f.matrix_write(ewise_add(Plus, f.typed("first matrix"), f.typed("second matrix")))
    }),
    ("apply", &["matrix", "mask"], |f| f.matrix_write(apply(AdditiveInverse, f.typed("matrix")))),
    ("select", &["matrix", "mask"], |f| f.matrix_write(select(ValueNonZero, f.typed("matrix")))),
    ("extract", &["matrix", "mask"], |f| f.matrix_write(extract(f.typed("matrix"), (&[0, 1, 2, 3], &[3, 2, 1, 0])))),
    ("assign_at", &["matrix", "mask"], |f| f.matrix_write(assign_at(f.typed("matrix"), (&[0, 1, 2, 3], &[3, 2, 1, 0])))),
    ("transpose", &["matrix", "mask"], |f| f.matrix_write(transpose(f.typed("matrix")))),
    ("kronecker", &["first matrix", "second matrix"], |f| {
        let mut output = Matrix::empty(&f.own, N * N, N * N, FormatKind::Csr).unwrap();
        kronecker(Times, f.typed("first matrix"), f.typed("second matrix")).into(&mut output)
    }),
];

fn forks() -> Option<Forks> {
    let own = Cuda::open(0).map_err(|error| skipped(&error)).ok()?;
    let other = own.fork().unwrap();
    Some(Forks { own, other, foreign: None })
}

#[test]
fn operands_of_another_fork_are_refused_by_name() {
    let Some(mut forks) = forks() else { return };
    let (expected, found) = (forks.own.label(), forks.other.label());
    assert_ne!(expected, found);
    for (operation, operands, run) in CASES {
        forks.foreign = None;
        run(&forks).unwrap();
        for operand in *operands {
            forks.foreign = Some(operand);
            let error = run(&forks).expect_err(operand);
            assert!(error.to_string().contains(&expected) && error.to_string().contains(&found), "{error}");
            assert_eq!(error, Error::OtherBackend { operation, operand, expected: expected.clone(), found: found.clone() }.into());
        }
    }
}

/// A new result is made where the first operand is.
#[test]
fn a_new_result_mixes_no_forks_either() {
    fn refused<F: Evaluates + Computation<Backend = Cuda>>(operation: Operation<F>) -> bool {
        matches!(operation.eval().err(), Some(crate::Error::Base(Error::OtherBackend { .. })))
    }
    let Some(mut forks) = forks() else { return };
    forks.foreign = Some("other");
    assert!(refused(mxv(RING, &forks.matrix("own"), &forks.vector("other"))));
    assert!(refused(ewise_add(Plus, &forks.vector("own"), &forks.vector("other"))));
    assert!(refused(mxm(RING, &forks.matrix("other"), &forks.matrix("own"))));
}

#[test]
fn handles_of_one_stream_mix() {
    let Some(forks) = forks() else { return };
    let (plain, a) = (forks.own.without_fused_forms(), forks.matrix("matrix"));
    let u = Vector::filled(&plain, N, 1f32).unwrap();
    assert_eq!(mxv(RING, &a, &u).eval().unwrap().to_host().unwrap().get(3), Some(3.0));
    assert!(!forks.own.shares_with(&Cuda::open(0).unwrap()));
}
