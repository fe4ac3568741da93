//! What the operations promise before and after they compute: operands that do not fit are refused with the numbers, and results have
//! the same bits whatever the number of threads.

use bitgraph_backend::ops::{
    apply, assign_at, ewise_add, extract, kronecker, mxm, mxm_reduce, mxv, reduce, reduce_rows, select, transpose, vxm,
};
use bitgraph_backend::{Error, Matrix, Vector};
use bitgraph_cpu::Cpu;
use bitgraph_generate::{Control, Generator, Stream};
use bitgraph_semiring::{DType, Identity, IfNonZero, Min, Plus, PlusPair, PlusSecond, PlusTimes, Tril};
use bitgraph_sparse::{Csr, FormatKind, Offsets, Stored, Values, Vector as HostVector};
use half::{bf16, f16};

fn pattern() -> Csr {
    "grid:2x2".parse::<Generator>().unwrap().generate(&Control::default()).unwrap()
}

fn matrix<T: Into<Values>>(values: T) -> Matrix<Cpu> {
    Matrix::new(&Cpu::new(), &pattern(), Some(&values.into()), FormatKind::Csr).unwrap()
}

fn vector<T: Stored>(values: &[T]) -> Vector<Cpu, T> {
    Vector::from_vec(&Cpu::new(), values.to_vec()).unwrap()
}

#[test]
fn outputs_of_another_type_are_refused_before_anything_runs() {
    let singles = matrix(vec![1f32; 8]);
    let wrong = |operation, expected, found| Err(Error::Type { operation, expected, found });
    let mut doubles = matrix(vec![2f64; 8]);
    let before = doubles.values().cloned();
    let product = mxm(PlusTimes::<f32>::new(), &singles, &singles).accum(Plus).into(&mut doubles);
    assert_eq!(product, wrong("mxm", DType::F32, DType::F64));
    let applied = apply(Identity, singles.typed::<f32>()).into(&mut doubles);
    assert_eq!(applied, wrong("apply", DType::F32, DType::F64));
    let tested = apply(IfNonZero, singles.typed::<f32>()).into(&mut doubles);
    assert_eq!(tested, wrong("apply", DType::Bool, DType::F64));
    let added = ewise_add(Plus, singles.typed::<f32>(), singles.typed()).into(&mut doubles);
    assert_eq!(added, wrong("ewise_add", DType::F32, DType::F64));
    let operand = mxm(PlusTimes::<f64>::new(), &matrix(vec![1f64; 8]), &singles).into(&mut doubles);
    assert_eq!(operand, wrong("mxm", DType::F64, DType::F32));
    assert_eq!(doubles.values(), before.as_ref());
    // A pattern fits every type.
    let mut output = Matrix::new(&Cpu::new(), &pattern(), None, FormatKind::B2sr8).unwrap();
    mxm(PlusTimes::<f32>::new(), &singles, &singles).accum(Plus).into(&mut output).unwrap();
    assert_eq!(output.values().map(Values::dtype), Some(DType::F32));
}

#[test]
fn indices_are_refused_with_their_place() {
    let (mut two, mut four) = (vector(&[0f32; 2]), vector(&[1f32; 4]));
    let told = |result: Result<(), Error>| result.unwrap_err().to_string();
    let error = told(extract(&four, &[3, 4]).into(&mut two));
    assert_eq!(error, "extract: element 1 of the index list is 4; it must be below 4");
    let error = told(assign_at(&two, &[9, 0]).into(&mut four));
    assert_eq!(error, "assign_at: element 0 of the index list is 9; it must be below 4");
    let mut a = matrix(vec![1f32; 8]);
    let error = told(extract(a.typed::<f32>(), (&[0], &[7])).into(&mut a));
    assert_eq!(error, "extract: element 0 of the column list is 7; it must be below 4");
    let error = told(assign_at(a.typed::<f32>(), (&[0, 1, 2, 1], &[0, 1, 2, 3])).into(&mut a));
    assert_eq!(error, "assign_at: index 1 occurs more than once in the row list");
    let error = Vector::from_entries(&Cpu::new(), 3, [(1, 5u8), (3, 6)]).unwrap_err().to_string();
    assert_eq!(error, "assign_at: element 1 of the index list is 3; it must be below 3");
}

/// Lists that are vectors stay on the device, so that nothing can be refused: what names no position is passed over.
#[test]
fn indices_on_the_device_may_name_no_position() {
    let cpu = Cpu::new();
    let indices = Vector::from_entries(&cpu, 4, [(0, 2u32), (1, 9), (3, 0)]).unwrap();
    let u = vector(&[10, 20, 30]);
    let taken = extract(&u, &indices).eval().unwrap();
    assert_eq!(taken.to_host().unwrap().iter().collect::<Vec<_>>(), [(0, 30), (3, 10)]);
    let mut w = vector(&[1, 2, 3]);
    assign_at(&vector(&[5, 6, 7, 8]), &indices).accum(Plus).into(&mut w).unwrap();
    assert_eq!(w.to_host().unwrap().to_vec_or(0), [9, 2, 8]);
}

#[test]
fn outputs_and_masks_of_another_shape_are_refused_before_anything_runs() {
    let empty = |rows, columns| Matrix::empty(&Cpu::new(), rows, columns, FormatKind::Csr).unwrap();
    let (a, square, mut wide) = (empty(2, 3), empty(2, 2), empty(2, 3));
    let told = |result: Result<(), Error>| result.unwrap_err().to_string();
    let error = told(transpose(a.typed::<f32>()).into(&mut wide));
    assert_eq!(error, "transpose: rows of the output has 2 elements where 3 are needed");
    let error = told(select(Tril { diagonal: 0 }, a.typed::<f32>()).mask(&square).into(&mut wide));
    assert_eq!(error, "select: columns of the mask has 2 elements where 3 are needed");
    let error = told(extract(a.typed::<f32>(), (&[1, 0], &[2])).into(&mut wide));
    assert_eq!(error, "extract: columns of the output has 3 elements where 1 are needed");
    let error = told(kronecker(Plus, a.typed::<f32>(), square.typed()).into(&mut wide));
    assert_eq!(error, "kronecker: rows of the output has 2 elements where 4 are needed");
    let error = told(assign_at(square.typed::<f32>(), (&[0, 1], &[0, 1])).mask(&square).into(&mut wide));
    assert_eq!(error, "assign_at: columns of the mask has 2 elements where 3 are needed");
    let error = told(ewise_add(Plus, &vector(&[1, 2]), &vector(&[1, 2])).unless(&vector(&[1f32])).into(&mut vector(&[0, 0])));
    assert_eq!(error, "ewise_add: mask has 1 elements where 2 are needed");
    transpose(a.typed::<f32>()).transpose_a().into(&mut wide).unwrap();
}

/// More ones than a half can count one by one.
#[test]
fn rows_and_columns_are_extracted_as_often_as_they_are_named() {
    // Rows of two entries each: 0 of columns 1 and 2, 1 of 0 and 3, 2 of 0 and 3, 3 of 1 and 2.
    let a = matrix((1..=8i64).collect::<Vec<_>>());
    let at = |i: u32, j: u32| pattern().position(i as usize, j).map(|k| k as i64 + 1);
    let (rows, columns) = ([3u32, 0, 3, 1, 0], [1u32, 2, 1, 1, 0, 2]);
    let found = extract(a.typed::<i64>(), (&rows, &columns)).eval().unwrap();
    let (csr, values) = (found.to_csr(), found.values().unwrap().as_slice::<i64>().unwrap().to_vec());
    assert_eq!((csr.nrows(), csr.ncols()), (rows.len(), columns.len()));
    for (i, &row) in rows.iter().enumerate() {
        for (j, &column) in (0u32..).zip(&columns) {
            assert_eq!(csr.position(i, j).map(|k| values[k]), at(row, column), "({i}, {j})");
        }
    }
}

/// A pattern keeps its ones where a mask does not reach, and has values from then on.
#[test]
fn values_that_come_to_a_pattern_stay() {
    let cpu = Cpu::new();
    let a = matrix((2..=9i32).collect::<Vec<_>>());
    let first = Csr::new(4, 4, Offsets::from_usizes(&[0, 2, 2, 3, 3]), vec![1, 2, 0].into()).unwrap();
    for format in FormatKind::ALL {
        let mask = Matrix::new(&cpu, &first, None, format).unwrap();
        let mut output = Matrix::new(&cpu, &pattern(), None, format).unwrap();
        apply(Identity, a.typed::<i32>()).mask(&mask).into(&mut output).unwrap();
        assert_eq!(output.to_csr(), pattern());
        assert_eq!(output.values(), Some(&Values::from(vec![2i32, 3, 1, 1, 6, 1, 1, 1])), "{format}");
        // What is a pattern itself leaves one.
        let mut output = Matrix::new(&cpu, &pattern(), None, format).unwrap();
        let square = Matrix::new(&cpu, &pattern(), None, format).unwrap();
        transpose(square.typed::<i32>()).mask(&mask).into(&mut output).unwrap();
        assert_eq!((output.to_csr(), output.values()), (pattern(), None), "{format}");
    }
}

#[test]
fn halves_are_reduced_in_single_precision() {
    fn check<T: Stored>() {
        let cpu = Cpu::new();
        let csr = Csr::new(1, 4096, Offsets::from_usizes(&[0, 4096]), (0..4096).collect::<Vec<u32>>().into()).unwrap();
        let ones = Matrix::new(&cpu, &csr, Some(&Values::from_vec(vec![T::ONE; 4096])), FormatKind::Csr).unwrap();
        let sums = [
            reduce(Plus, &Vector::filled(&cpu, 4096, T::ONE).unwrap()).eval().unwrap().read().unwrap(),
            reduce(Plus, ones.typed::<T>()).eval().unwrap().read().unwrap(),
            reduce_rows(Plus, ones.typed::<T>()).eval().unwrap().get(0).unwrap(),
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
    let path = Matrix::new(&cpu, &path.unwrap(), None, FormatKind::Csr).unwrap();
    let (ring, two) = (PlusPair::<u64>::new(), (n - 2) as u64);
    let sum = || mxm_reduce(ring, &path, &path);
    assert_eq!(sum().eval().unwrap().read(), Ok(two));
    // No step of one is a step of two; the diagonal of the transpose's product is left out by itself.
    assert_eq!(sum().unless(&path).eval().unwrap().read(), Ok(two));
    let diagonal = mxm(ring, &path, &path).transpose_b().eval().unwrap();
    assert_eq!(sum().transpose_b().unless(&diagonal).eval().unwrap().read(), Ok(0));
}

/// Sums of floats that rounding would tell apart.
#[test]
fn results_do_not_depend_on_the_threads() {
    let csr = "kron:9".parse::<Generator>().unwrap().generate(&Control::default()).unwrap();
    let (draws, n) = (Stream::new(5, 1), csr.nrows());
    let float = |k: usize| draws.unit(k as u64) as f32;
    let weights = Values::from_vec((0..csr.nnz()).map(float).collect::<Vec<f32>>());
    let u = vector(&(0..n).map(|i| float(i + csr.nnz())).collect::<Vec<f32>>());
    let places: Vec<u32> = (0..n).map(|i| draws.below(i as u64, n as u64) as u32).collect();
    let results = |format| {
        let cpu = Cpu::new();
        let a = Matrix::new(&cpu, &csr, Some(&weights), format).unwrap();
        let plain = a.pattern();
        let mut w: [Vector<Cpu, f32>; 6] = std::array::from_fn(|_| Vector::filled(&cpu, n, 0.5f32).unwrap());
        mxv(PlusTimes, &a, &u).into(&mut w[0]).unwrap();
        mxv(PlusSecond, &plain, &u).accum(Plus).into(&mut w[1]).unwrap();
        vxm(&u, PlusTimes, &a).into(&mut w[2]).unwrap();
        reduce_rows(Plus, a.typed()).into(&mut w[3]).unwrap();
        assign_at(&u, &places).accum(Plus).into(&mut w[4]).unwrap();
        assign_at(&u, &places).accum(Min).into(&mut w[5]).unwrap();
        let mut product = a.clone();
        mxm(PlusTimes::<f32>::new(), &a, &a).accum(Plus).into(&mut product).unwrap();
        let sums = [
            reduce(Plus, &u).eval().unwrap().read(),
            reduce(Plus, a.typed::<f32>()).eval().unwrap().read(),
            mxm_reduce(PlusTimes::<f32>::new(), &plain, &a).eval().unwrap().read(),
        ];
        (w.map(|w| w.to_host().unwrap()), product.to_host().unwrap(), sums)
    };
    for format in [FormatKind::Csr, FormatKind::B2sr8, FormatKind::Hybrid] {
        let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| results(format));
        let one = on(1);
        assert!(on(2) == one && on(5) == one, "{format}");
    }
}

/// An output may be an operand, or its own mask; what another handle holds of it stays.
#[test]
fn outputs_may_be_operands() {
    let cpu = Cpu::new();
    let mut w = Vector::from_entries(&cpu, 3, [(0, 1i64), (2, 5)]).unwrap();
    let kept = w.clone();
    ewise_add(Plus, &w, &w).mask(&w).replace().into(&mut w).unwrap();
    assert_eq!(w.to_host().unwrap(), HostVector::from_entries(3, [(0, 2), (2, 10)]).unwrap());
    assert_eq!(kept.to_host().unwrap(), HostVector::from_entries(3, [(0, 1), (2, 5)]).unwrap());
    let mut a = matrix(vec![1f32; 8]);
    let b = a.clone();
    mxm(PlusTimes::<f32>::new(), &a, &a).mask(&a).accum(Plus).into(&mut a).unwrap();
    assert!(b.values() == matrix(vec![1f32; 8]).values() && a.nvals() == 8);
}
