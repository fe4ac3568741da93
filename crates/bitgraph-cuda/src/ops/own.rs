//! Operators and element types of a user's own: what their formulas give on the device is what they give on the CPU.

use super::source;
use crate::{Cuda, Error};
use bitgraph_backend::ops::{apply, ewise_add, ewise_mult, mxv, reduce, reduce_rows, select};
use bitgraph_backend::{Error as Base, Matrix, StorableSemiring, Vector};
use bitgraph_semiring::{
    BinaryOp, DeviceExpr, DeviceMonoid, LorLand, MinPlus, Monoid, Plus, PlusTimes, Second, SelectOp, Semiring, UnaryOp, binary_op,
    select_op, semiring, unary_op,
};
use bitgraph_sparse::{Coo, Csr, Duplicates, FormatKind, Stored, Values, Vector as HostVector};
use bitgraph_testkit::own::{Capped, CappedTimes, Count, Distance, Paths};

fn device() -> Option<Cuda> {
    match Cuda::open(0) {
        Ok(cuda) => Some(cuda),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// 70 rows, among them an empty one and one that is long under the shim, over 90 columns.
fn matrix() -> Csr {
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for i in 0..70u32 {
        for j in (0..90u32).filter(|j| i != 5 && (i == 7 || (i * 31 + j * 17) % 11 == 0)) {
            rows.push(i);
            columns.push(j);
        }
    }
    Coo::pattern(70, 90, rows, columns).into_csr(Duplicates::First).unwrap().0
}

fn entries<T: Stored>(v: &HostVector<T>) -> Vec<Option<T>> {
    (0..v.len()).map(|i| v.get(i)).collect()
}

/// The product row by row.
fn plain<S: StorableSemiring>(
    csr: &Csr,
    values: Option<&[S::A]>,
    x: &HostVector<S::X>,
    selected: impl Fn(usize) -> bool,
) -> Vec<Option<S::Out>> {
    let product = |k: usize| {
        let x = x.get(csr.indices()[k] as usize)?;
        Some(values.map_or_else(|| S::multiply_pattern(x), |v| S::multiply(v[k], x)))
    };
    let row = |i: usize| csr.row_range(i).filter_map(product).reduce(S::add).map(S::finish);
    (0..csr.nrows()).map(|i| selected(i).then(|| row(i)).flatten()).collect()
}

/// A semiring on every format, with values and without, with all of x and half of it, masked and not.
fn everywhere<S: StorableSemiring<Out: Eq>>(semiring: S, a: impl Fn(usize) -> S::A, x: impl Fn(usize) -> S::X) {
    let (Some(cuda), csr) = (device(), matrix()) else { return };
    let values: Vec<S::A> = (0..csr.nnz()).map(a).collect();
    let stored = Values::from_vec(values.clone());
    let full = HostVector::from_vec((0..csr.ncols()).map(&x).collect());
    let half = HostVector::from_entries(csr.ncols(), (0..csr.ncols() as u32).filter(|j| j % 2 == 0).map(|j| (j, x(j as usize)))).unwrap();
    let bits: Vec<bool> = (0..csr.nrows()).map(|i| i % 3 != 0).collect();
    let mask = Vector::from_vec(&cuda, bits.clone()).unwrap();
    for format in FormatKind::ALL {
        for valued in [false, true] {
            let a = Matrix::new(&cuda, &csr, valued.then_some(&stored), format).unwrap();
            for (x, masked) in [(&full, false), (&half, false), (&full, true)] {
                let dx = Vector::from_host(&cuda, x.clone()).unwrap();
                let product = mxv(semiring, &a, &dx);
                let w = if masked { product.mask_values(&mask).eval() } else { product.eval() }.unwrap();
                let expected = plain::<S>(&csr, valued.then_some(&values[..]), x, |i| !masked || bits[i]);
                assert_eq!(entries(&w.to_host().unwrap()), expected, "{} on {format}, values: {valued}, masked: {masked}", S::NAME);
            }
        }
    }
}

#[test]
fn semirings_by_formula() {
    everywhere(Distance, |k| (k % 23) as i8 - 11, |j| (j % 17) as i8 - 8);
    everywhere(CappedTimes, |k| (k % 9) as i16 - 4, |j| (j % 13) as i16 - 3);
    everywhere(Paths, |k| (k % 29) as u32, |j| if j % 5 == 0 { u32::MAX } else { j as u32 });
}

#[test]
fn a_built_in_formula_is_run_by_the_built_in_kernels() {
    semiring! {
        struct Clone32: f32, f32 => f32;
        add = Plus;
        multiply(a, x) { a * x }
    }
    assert_eq!(source::ring_tail::<Paths>(), source::ring_tail::<MinPlus<u32>>());
    assert_eq!(source::ring_tail::<Clone32>(), source::ring_tail::<PlusTimes<f32>>());
    assert_eq!(source::ring_tail::<Distance>(), "Distance_i8_i32_u16");
    let text = source::ring::<CappedTimes>("Semiring", &CappedTimes::DEVICE.unwrap(), &<Capped as Monoid<i32>>::DEVICE.unwrap());
    assert!(text.contains("TERMINAL = true") && text.contains("terminal(V a) { return num(a) == lit(40); }"), "{text}");
}

#[test]
fn monoids_by_formula() {
    let Some(cuda) = device() else { return };
    let csr = matrix();
    for high in [30, 70] {
        let values: Vec<i32> = (0..csr.nnz() as i32).map(|k| k * 7 % high - 9).collect();
        let largest = values.iter().copied().max().unwrap().min(40);
        let u = Vector::from_vec(&cuda, values.clone()).unwrap();
        assert_eq!(reduce(Capped, &u).eval().unwrap().read().unwrap(), largest);
        let a = Matrix::new(&cuda, &csr, Some(&Values::from_vec(values.clone())), FormatKind::B2sr8).unwrap();
        assert_eq!(reduce(Capped, a.typed::<i32>()).eval().unwrap().read().unwrap(), largest);
        let mut w = Vector::<_, i32>::empty(&cuda, csr.nrows()).unwrap();
        reduce_rows(Capped, a.typed()).accum(Capped).into(&mut w).unwrap();
        let rows: Vec<_> = (0..csr.nrows()).map(|i| values[csr.row_range(i)].iter().copied().reduce(Capped::combine)).collect();
        assert_eq!(entries(&w.to_host().unwrap()), rows);
    }
    let none = Vector::<_, i32>::empty(&cuda, 9).unwrap();
    assert_eq!(reduce(Capped, &none).eval().unwrap().read().unwrap(), i32::MIN);
}

binary_op! {
    /// Every operation of two operands.
    struct Mixed: for<T> T;
    apply(a, b) { if a < b { (a * b).max(a - b) + 3 } else if a == 0 || b > 100 { (a + b).abs().saturating_add(b) } else { (-a).min(b) - 1 } }
}
unary_op! {
    /// Two fields of other types, and another result.
    struct Beyond { limit: i16, less: i32 }: i32 => u8;
    apply(a) { if !(a <= limit) { (a - limit) / less } else { 300 } }
}
select_op! {
    /// Near a diagonal, and not too small.
    struct Near { width: i64, smallest: i32 }: i32;
    keep(row, column, a) { (row - column).abs() <= width && a >= smallest }
}

/// The same bits for every type, extreme values among the operands.
#[test]
fn operators_by_formula() {
    let Some(cuda) = device() else { return };
    fn mixed<T: Stored>(cuda: &Cuda) {
        let numbers = [0.0, 1.0, -1.0, 2.0, 7.0, -100.0, 101.0, 127.0, 1e4];
        let edges = [T::smallest(), T::largest(), T::largest().minus(T::ONE)];
        let all: Vec<T> = numbers.into_iter().map(T::from_f64).chain(edges).collect();
        let pairs = || all.iter().flat_map(|&a| all.iter().map(move |&b| (a, b)));
        let (u, v): (Vec<T>, Vec<T>) = pairs().unzip();
        let (u, v) = (Vector::from_vec(cuda, u).unwrap(), Vector::from_vec(cuda, v).unwrap());
        let w = ewise_add(Mixed, &u, &v).eval().unwrap().to_host().unwrap();
        for (i, (a, b)) in pairs().enumerate() {
            let (expected, found) = (Mixed.apply(a, b), w.get(i).unwrap());
            let nan = |x: T| x.to_f64().is_nan();
            assert!(expected == found || (nan(expected) && nan(found)), "{} of {a:?}, {b:?}: {found:?} for {expected:?}", T::DTYPE);
        }
    }
    mixed::<bool>(&cuda);
    mixed::<i8>(&cuda);
    mixed::<i16>(&cuda);
    mixed::<i32>(&cuda);
    mixed::<i64>(&cuda);
    mixed::<u8>(&cuda);
    mixed::<u16>(&cuda);
    mixed::<u32>(&cuda);
    mixed::<u64>(&cuda);
    mixed::<half::f16>(&cuda);
    mixed::<half::bf16>(&cuda);
    mixed::<f32>(&cuda);
    mixed::<f64>(&cuda);

    let u: Vec<i32> = (-40..200).map(|i| i * 9).collect();
    let du = Vector::from_vec(&cuda, u.clone()).unwrap();
    for op in [Beyond { limit: 50, less: 3 }, Beyond { limit: -7, less: 0 }] {
        let w = apply(op, &du).eval().unwrap();
        assert_eq!(w.to_host().unwrap().to_vec_or(0), u.iter().map(|&a| op.apply(a)).collect::<Vec<_>>());
    }
    let csr = matrix();
    let values: Vec<i32> = (0..csr.nnz() as i32).map(|k| k % 7).collect();
    let a = Matrix::new(&cuda, &csr, Some(&Values::from_vec(values.clone())), FormatKind::Csr).unwrap();
    let near = Near { width: 30, smallest: 2 };
    let c = select(near, a.typed::<i32>()).eval().unwrap();
    let kept = |i: usize| csr.row_range(i).filter(|&k| near.keep(i as u32, csr.indices()[k], values[k])).count();
    assert_eq!(c.nvals(), (0..70).map(kept).sum::<usize>());
}

/// Its sums by hand, in terms of `u8`.
#[derive(Clone, Copy, Debug, Default)]
struct CountPlus;
impl Monoid<Count> for CountPlus {
    const NAME: &'static str = "count_plus";
    const HAS_TERMINAL: bool = true;
    const DEVICE: Option<DeviceMonoid> =
        Some(DeviceMonoid { combine: "bg_plus_saturating(a, b)", identity: "0", terminal: Some("a == 255") });
    fn identity() -> Count {
        Count(0)
    }
    fn combine(a: Count, b: Count) -> Count {
        a + b
    }
    fn is_terminal(value: Count) -> bool {
        value.0 == 255
    }
}
#[derive(Clone, Copy, Debug, Default)]
struct CountFirst;
impl Semiring for CountFirst {
    type A = Count;
    type X = Count;
    type Acc = Count;
    type Out = Count;
    type Add = CountPlus;
    const NAME: &'static str = "count_first";
    const DEVICE: Option<DeviceExpr> = Some(DeviceExpr { multiply: "a", multiply_pattern: "1", finish: "acc" });
    fn multiply(a: Count, _: Count) -> Count {
        a
    }
    fn finish(acc: Count) -> Count {
        acc
    }
}

#[test]
fn element_types_of_a_users_own() {
    everywhere(CountFirst, |k| Count((k % 40) as u8), |_| Count(1));
    let Some(cuda) = device() else { return };
    let (u, v) = (HostVector::from_vec(vec![Count(200), Count(3)]), HostVector::from_vec(vec![Count(100), Count(4)]));
    let (du, dv) = (Vector::from_host(&cuda, u.clone()).unwrap(), Vector::from_host(&cuda, v.clone()).unwrap());
    assert_eq!(entries(&du.to_host().unwrap()), entries(&u));
    let mut w = ewise_mult(Second, &du, &dv).eval().unwrap();
    assert_eq!(entries(&w.to_host().unwrap()), entries(&v));
    assert_eq!(reduce(CountPlus, &du).eval().unwrap().read().unwrap(), Count(203));
    // A built-in monoid is the arithmetic of a built-in type on a device.
    let refused = reduce(Plus, &du).eval();
    assert!(matches!(&refused, Err(Error::Base(Base::Unsupported { .. }))), "{refused:?}");
    let refused = ewise_add(Plus, &du, &dv).eval();
    assert!(
        matches!(&refused, Err(Error::Base(Base::Unsupported { what, .. })) if what.contains("Count") && what.contains("u8")),
        "{refused:?}"
    );
    let refused = ewise_add(Second, &du, &dv).accum(Plus).into(&mut w);
    assert!(matches!(&refused, Err(Error::Base(Base::Unsupported { .. }))), "{refused:?}");
    let csr = matrix();
    let a = Matrix::new(&cuda, &csr, None, FormatKind::B2sr4).unwrap();
    let x = Vector::filled(&cuda, 90, Count(9)).unwrap();
    let refused = mxv(PlusTimes, &a, &x).eval();
    assert!(matches!(&refused, Err(Error::Base(Base::Unsupported { what, .. })) if what.contains("plus_times")), "{refused:?}");
    let refused = mxv(LorLand, &a, &x).eval();
    assert!(matches!(&refused, Err(Error::Base(Base::Unsupported { .. }))), "{refused:?}");
}
