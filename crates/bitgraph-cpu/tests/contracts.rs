//! What the operations promise before and after they compute: operands that do not fit are refused with the numbers, and results have
//! the same bits whatever the number of threads.

use bitgraph_backend::ops::{
    apply_matrix, assign, assign_matrix, ewise_add_matrix, extract, extract_matrix, kronecker, mxm, mxm_reduce, mxv, reduce, reduce_matrix,
    reduce_rows, select_matrix, transpose, vxm,
};
use bitgraph_backend::{Accum, Backend, Error, MatrixMask, NoAccum};
use bitgraph_cpu::{Cpu, CpuMatrix};
use bitgraph_generate::{GenerateControl, Generator, Stream};
use bitgraph_semiring::{DType, Identity, IfNonZero, Min, Plus, PlusPair, PlusSecond, PlusTimes, Tril};
use bitgraph_sparse::{Csr, Descriptor, FormatKind, Offsets, Stored, Values, Vector};
use half::{bf16, f16};

const PLAIN: Descriptor = Descriptor::DEFAULT;

fn pattern() -> Csr {
    "grid:2x2".parse::<Generator>().unwrap().generate(&GenerateControl::default()).unwrap()
}

fn matrix<T: Into<Values>>(values: T) -> CpuMatrix {
    Cpu::new().matrix(&pattern(), Some(&values.into()), FormatKind::Csr).unwrap()
}

#[test]
fn outputs_of_another_type_are_refused_before_anything_runs() {
    let cpu = Cpu::new();
    let singles = matrix(vec![1f32; 8]);
    let wrong = |operation, expected, found| Err(Error::Type { operation, expected, found });
    let mut doubles = matrix(vec![2f64; 8]);
    let before = doubles.values().cloned();
    let product = mxm(&cpu, &mut doubles, None, Accum(Plus), PlusTimes::<f32>::new(), &singles, &singles, PLAIN);
    assert_eq!(product, wrong("mxm", DType::F32, DType::F64));
    let applied = apply_matrix::<_, f32, _, _>(&cpu, &mut doubles, None, NoAccum, Identity, &singles, PLAIN);
    assert_eq!(applied, wrong("apply_matrix", DType::F32, DType::F64));
    let tested = apply_matrix::<_, f32, _, _>(&cpu, &mut doubles, None, NoAccum, IfNonZero, &singles, PLAIN);
    assert_eq!(tested, wrong("apply_matrix", DType::Bool, DType::F64));
    let added = ewise_add_matrix::<_, f32, _, _>(&cpu, &mut doubles, None, NoAccum, Plus, &singles, &singles, PLAIN);
    assert_eq!(added, wrong("ewise_add_matrix", DType::F32, DType::F64));
    let operand = mxm(&cpu, &mut doubles, None, NoAccum, PlusTimes::<f64>::new(), &matrix(vec![1f64; 8]), &singles, PLAIN);
    assert_eq!(operand, wrong("mxm", DType::F64, DType::F32));
    assert_eq!(doubles.values(), before.as_ref());
    // A pattern fits every type.
    let mut output = cpu.matrix(&pattern(), None, FormatKind::B2sr8).unwrap();
    mxm(&cpu, &mut output, None, Accum(Plus), PlusTimes::<f32>::new(), &singles, &singles, PLAIN).unwrap();
    assert_eq!(output.values().map(Values::dtype), Some(DType::F32));
}

#[test]
fn indices_are_refused_with_their_place() {
    let cpu = Cpu::new();
    let (mut two, four) = (Vector::filled(2, 0f32), Vector::filled(4, 1f32));
    let told = |result: Result<(), Error>| result.unwrap_err().to_string();
    let error = told(extract(&cpu, &mut two, None, NoAccum, &four, &[3, 4], PLAIN));
    assert_eq!(error, "extract: element 1 of the index list is 4; it must be below 4");
    let mut four = four;
    let error = told(assign(&cpu, &mut four, None, NoAccum, &two, &[9, 0], PLAIN));
    assert_eq!(error, "assign: element 0 of the index list is 9; it must be below 4");
    let mut a = matrix(vec![1f32; 8]);
    let part = a.clone();
    let error = told(extract_matrix::<_, f32, _>(&cpu, &mut a, None, NoAccum, &part, &[0], &[7], PLAIN));
    assert_eq!(error, "extract_matrix: element 0 of the column list is 7; it must be below 4");
    let error = told(assign_matrix::<_, f32, _>(&cpu, &mut a, None, NoAccum, &part, &[0, 1, 2, 1], &[0, 1, 2, 3], PLAIN));
    assert_eq!(error, "assign_matrix: index 1 occurs more than once in the row list");
}

#[test]
fn outputs_and_masks_of_another_shape_are_refused_before_anything_runs() {
    let cpu = Cpu::new();
    let empty = |rows, columns| cpu.matrix(&Csr::empty(rows, columns).unwrap(), None, FormatKind::Csr).unwrap();
    let (a, square, mut wide) = (empty(2, 3), empty(2, 2), empty(2, 3));
    let told = |result: Result<(), Error>| result.unwrap_err().to_string();
    let error = told(transpose::<_, f32, _>(&cpu, &mut wide, None, NoAccum, &a, PLAIN));
    assert_eq!(error, "transpose: rows of the output has 2 elements where 3 are needed");
    let mask = Some(MatrixMask::structure(&square));
    let error = told(select_matrix::<_, f32, _, _>(&cpu, &mut wide, mask, NoAccum, Tril { diagonal: 0 }, &a, PLAIN));
    assert_eq!(error, "select_matrix: columns of the mask has 2 elements where 3 are needed");
    let error = told(extract_matrix::<_, f32, _>(&cpu, &mut wide, None, NoAccum, &a, &[1, 0], &[2], PLAIN));
    assert_eq!(error, "extract_matrix: columns of the output has 3 elements where 1 are needed");
    let error = told(kronecker::<_, f32, _, _>(&cpu, &mut wide, None, NoAccum, Plus, &a, &square, PLAIN));
    assert_eq!(error, "kronecker: rows of the output has 2 elements where 4 are needed");
    let error = told(assign_matrix::<_, f32, _>(&cpu, &mut wide, mask, NoAccum, &square, &[0, 1], &[0, 1], PLAIN));
    assert_eq!(error, "assign_matrix: columns of the mask has 2 elements where 3 are needed");
    transpose::<_, f32, _>(&cpu, &mut wide, None, NoAccum, &a, Descriptor::TRANSPOSE_A).unwrap();
}

/// More ones than a half can count one by one.
#[test]
fn halves_are_reduced_in_single_precision() {
    fn check<T: Stored>() {
        let cpu = Cpu::new();
        let csr = Csr::new(1, 4096, Offsets::from_usizes(&[0, 4096]), (0..4096).collect::<Vec<u32>>().into()).unwrap();
        let ones = cpu.matrix(&csr, Some(&Values::from_vec(vec![T::ONE; 4096])), FormatKind::Csr).unwrap();
        let mut row = Vector::<T>::empty(1);
        reduce_rows(&cpu, &mut row, None, NoAccum, Plus, &ones, PLAIN).unwrap();
        let sums = [
            reduce(&cpu, Plus, &Vector::filled(4096, T::ONE)).unwrap(),
            reduce_matrix::<_, T, _>(&cpu, Plus, &ones).unwrap(),
            row.get(0).unwrap(),
        ];
        assert_eq!(sums.map(T::to_f64), [4096.0; 3], "{}", T::DTYPE);
    }
    check::<f16>();
    check::<bf16>();
    check::<f32>();
}

/// The sum of a product has time for its multiplications alone: the places of this one are 10^12.
#[test]
fn sums_of_products_take_time_by_their_multiplications() {
    let (cpu, n) = (Cpu::new(), 1_000_000);
    let path =
        Csr::new(n, n, Offsets::from_usizes(&(0..=n).map(|i| i.min(n - 1)).collect::<Vec<_>>()), (1..n as u32).collect::<Vec<_>>().into());
    let path = cpu.matrix(&path.unwrap(), None, FormatKind::Csr).unwrap();
    let (ring, two) = (PlusPair::<u64>::new(), (n - 2) as u64);
    assert_eq!(mxm_reduce(&cpu, None, ring, &path, &path, PLAIN), Ok(two));
    // No step of one is a step of two; the diagonal of the transpose's product is left out by itself.
    let not = |m| Some(MatrixMask::structure(m).complement());
    assert_eq!(mxm_reduce(&cpu, not(&path), ring, &path, &path, PLAIN), Ok(two));
    let mut diagonal = path.clone();
    mxm(&cpu, &mut diagonal, None, NoAccum, ring, &path, &path, Descriptor { transpose_b: true, ..PLAIN }).unwrap();
    assert_eq!(mxm_reduce(&cpu, not(&diagonal), ring, &path, &path, Descriptor { transpose_b: true, ..PLAIN }), Ok(0));
}

/// Sums of floats that rounding would tell apart.
#[test]
fn results_do_not_depend_on_the_threads() {
    let csr = "kron:9".parse::<Generator>().unwrap().generate(&GenerateControl::default()).unwrap();
    let (draws, n) = (Stream::new(5, 1), csr.nrows());
    let float = |k: usize| draws.unit(k as u64) as f32;
    let weights = Values::from_vec((0..csr.nnz()).map(float).collect::<Vec<f32>>());
    let u = Vector::from_vec((0..n).map(|i| float(i + csr.nnz())).collect::<Vec<f32>>());
    let places: Vec<u32> = (0..n).map(|i| draws.below(i as u64, n as u64) as u32).collect();
    let results = |format| {
        let cpu = Cpu::new();
        let a = cpu.matrix(&csr, Some(&weights), format).unwrap();
        let plain = cpu.matrix(&csr, None, format).unwrap();
        let mut w: [Vector<f32>; 6] = std::array::from_fn(|_| Vector::filled(n, 0.5f32));
        mxv(&cpu, &mut w[0], None, NoAccum, PlusTimes::<f32>::new(), &a, &u, PLAIN).unwrap();
        mxv(&cpu, &mut w[1], None, Accum(Plus), PlusSecond::<f32>::new(), &plain, &u, PLAIN).unwrap();
        vxm(&cpu, &mut w[2], None, NoAccum, PlusTimes::<f32>::new(), &u, &a, PLAIN).unwrap();
        reduce_rows(&cpu, &mut w[3], None, NoAccum, Plus, &a, PLAIN).unwrap();
        assign(&cpu, &mut w[4], None, Accum(Plus), &u, &places, PLAIN).unwrap();
        assign(&cpu, &mut w[5], None, Accum(Min), &u, &places, PLAIN).unwrap();
        let mut product = a.clone();
        mxm(&cpu, &mut product, None, Accum(Plus), PlusTimes::<f32>::new(), &a, &a, PLAIN).unwrap();
        let sums = [
            reduce(&cpu, Plus, &u).unwrap(),
            reduce_matrix::<_, f32, _>(&cpu, Plus, &a).unwrap(),
            mxm_reduce(&cpu, None, PlusTimes::<f32>::new(), &plain, &a, PLAIN).unwrap(),
        ];
        (w, cpu.matrix_to_host(&product).unwrap(), sums)
    };
    for format in [FormatKind::Csr, FormatKind::B2sr8, FormatKind::Hybrid] {
        let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| results(format));
        let one = on(1);
        assert!(on(2) == one && on(5) == one, "{format}");
    }
}
