//! The schemes of Tables II and III, semirings and operators of a user's own, and shapes that take every path, against plain loops. On
//! the host shim, or a GPU where there is one. (The generated suite of operations is in `bitgraph-verify`.)

use super::schemes::*;
use crate::{Cuda, Error};
use bitgraph_backend::ops::{VectorMask, apply, assign_at, ewise_add, mxm_reduce, mxv, reduce};
use bitgraph_backend::{Error as Base, Matrix, Vector};
use bitgraph_semiring::{
    AnySecond, BinaryOp, DeviceExpr, LorLand, Min, Operator, Parameter, Parameters, Plus, PlusPair, PlusSecond, PlusTimes, Semiring,
    UnaryOp,
};
use bitgraph_sparse::{Coo, Csr, Duplicates, FormatKind, Stored, Values};

fn device() -> Option<Cuda> {
    Cuda::open(0).map_err(|error| crate::device::testing::skipped(&error)).ok()
}

fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn pattern(rows: usize, columns: usize, entries: impl IntoIterator<Item = (usize, usize)>) -> Csr {
    let (r, c) = entries.into_iter().map(|(r, c)| (r as u32, c as u32)).unzip();
    Coo::pattern(rows, columns, r, c).into_csr(Duplicates::First).unwrap().0
}

fn random(rows: usize, columns: usize, entries: usize) -> Csr {
    let mut state = entries as u64;
    pattern(rows, columns, (0..entries).map(|_| (mix(&mut state) as usize % rows, mix(&mut state) as usize % columns)))
}

/// Empty, single, isolated rows, full, one dense row, a path, random ones; sizes off every tile and word.
fn shapes() -> Vec<Csr> {
    let path = |n: usize| pattern(n, n, (1..n).flat_map(|v| [(v - 1, v), (v, v - 1), (v, v)]));
    vec![
        pattern(0, 0, []),
        pattern(1, 1, [(0, 0)]),
        pattern(5, 0, []),
        pattern(70, 33, []),
        pattern(37, 45, (0..37 * 45).map(|i| (i / 45, i % 45))),
        pattern(130, 300, (0..300).map(|c| (77, c))),
        path(163),
        random(200, 333, 900),
        random(133, 133, 3000),
    ]
}

fn bits(n: usize, one_in: u64) -> Vec<bool> {
    let mut state = 5;
    (0..n).map(|_| mix(&mut state).is_multiple_of(one_in)).collect()
}

fn full<T: Stored>(cuda: &Cuda, values: &[T]) -> Vector<Cuda, T> {
    Vector::from_vec(cuda, values.to_vec()).unwrap()
}

fn host<T: Stored>(v: &crate::CudaVector<T>) -> Vec<T> {
    let v = v.to_host().unwrap();
    assert!(v.is_full());
    v.to_vec_or(T::ZERO)
}

const TILES: [FormatKind; 4] = [FormatKind::B2sr4, FormatKind::B2sr8, FormatKind::B2sr16, FormatKind::B2sr32];

#[test]
fn vector_schemes() {
    let Some(cuda) = device() else { return };
    for csr in shapes() {
        let x = bits(csr.ncols(), 3);
        let counts: Vec<u32> = (0..csr.nrows()).map(|i| csr.row(i).iter().filter(|&&c| x[c as usize]).count() as u32).collect();
        // Multiples of 1/8: exact in any order.
        let numbers: Vec<f32> = (0..csr.ncols()).map(|i| (i * 7 % 31) as f32 / 8.0).collect();
        let sums: Vec<f32> = (0..csr.nrows()).map(|i| csr.row(i).iter().map(|&c| numbers[c as usize]).sum()).collect();
        let wide: Vec<f64> = numbers.iter().map(|&v| f64::from(v)).collect();
        let mask = bits(csr.nrows(), 2);
        let (dx, df, dd, dm) = (full(&cuda, &x), full(&cuda, &numbers), full(&cuda, &wide), full(&cuda, &mask));
        for format in TILES {
            let a = Matrix::new(&cuda, &csr, None, format).unwrap();
            let what = format!("{format} of {} x {}", csr.nrows(), csr.ncols());
            assert_eq!(host(&bmv_bin_bin_full(&cuda, &a, &dx).unwrap()), counts, "{what}");
            assert_eq!(host(&bmv_bin_bin_bin(&cuda, &a, &dx).unwrap()), counts.iter().map(|&c| c > 0).collect::<Vec<_>>(), "{what}");
            assert_eq!(host(&bmv_bin_full_full(&cuda, &a, &df).unwrap()), sums, "{what}");
            assert_eq!(host(&bmv_bin_full_full(&cuda, &a, &dd).unwrap()), sums.iter().map(|&s| f64::from(s)).collect::<Vec<_>>(), "{what}");
            for complement in [false, true] {
                let mut m = VectorMask::<Cuda>::value(&dm);
                m.mode.complement = complement;
                let kept = |i: usize| mask[i] != complement;
                let some: Vec<u32> = (0..counts.len()).map(|i| if kept(i) { counts[i] } else { 0 }).collect();
                assert_eq!(host(&bmv_bin_bin_full_masked(&cuda, &a, &dx, m).unwrap()), some, "{what} masked");
                let truths: Vec<bool> = some.iter().map(|&c| c > 0).collect();
                assert_eq!(host(&bmv_bin_bin_bin_masked(&cuda, &a, &dx, m).unwrap()), truths, "{what} masked");
                let some: Vec<f32> = (0..sums.len()).map(|i| if kept(i) { sums[i] } else { 0.0 }).collect();
                assert_eq!(host(&bmv_bin_full_full_masked(&cuda, &a, &df, m).unwrap()), some, "{what} masked");
            }
        }
    }
}

/// What the operations make of patterns and full vectors, through the schemes and past them.
#[test]
fn products_with_full_vectors() {
    let Some(cuda) = device() else { return };
    for csr in shapes() {
        let x = bits(csr.ncols(), 3);
        let numbers: Vec<f32> = (0..csr.ncols()).map(|i| (i * 7 % 31) as f32 / 8.0).collect();
        let mask = bits(csr.nrows(), 2);
        let (dx, df, dm) = (full(&cuda, &x), full(&cuda, &numbers), full(&cuda, &mask));
        for format in FormatKind::ALL {
            let a = Matrix::new(&cuda, &csr, None, format).unwrap();
            let what = format!("{format} of {} x {}", csr.nrows(), csr.ncols());
            for masked in [false, true] {
                let there = |i: usize| csr.degree(i) > 0 && (!masked || !mask[i]);
                let expected =
                    |f: &dyn Fn(&[u32]) -> f32| -> Vec<Option<f32>> { (0..csr.nrows()).map(|i| there(i).then(|| f(csr.row(i)))).collect() };
                let reach = mxv(LorLand, &a, &dx);
                let w = if masked { reach.unless_values(&dm).eval() } else { reach.eval() }.unwrap().to_host().unwrap();
                let any = expected(&|row| f32::from(u8::from(row.iter().any(|&c| x[c as usize]))));
                assert_eq!((0..w.len()).map(|i| w.get(i).map(|v| f32::from(u8::from(v)))).collect::<Vec<_>>(), any, "{what}");
                let sum = mxv(PlusSecond, &a, &df);
                let w = if masked { sum.unless_values(&dm).eval() } else { sum.eval() }.unwrap().to_host().unwrap();
                let sums = expected(&|row| row.iter().map(|&c| numbers[c as usize]).sum());
                assert_eq!((0..w.len()).map(|i| w.get(i)).collect::<Vec<_>>(), sums, "{what}");
                let one = mxv(AnySecond, &a, &df);
                let w = if masked { one.unless_values(&dm).eval() } else { one.eval() }.unwrap().to_host().unwrap();
                let first = expected(&|row| numbers[row[0] as usize]);
                assert_eq!((0..w.len()).map(|i| w.get(i)).collect::<Vec<_>>(), first, "{what}");
            }
        }
    }
}

#[test]
fn matrix_schemes() {
    let Some(cuda) = device() else { return };
    for (rows, inner, columns, entries) in [(1, 1, 1, 1), (70, 41, 99, 700), (65, 130, 33, 60), (100, 100, 100, 2000)] {
        let (a, b, mask) = (random(rows, inner, entries), random(inner, columns, entries + 1), random(rows, columns, entries + 2));
        let t = b.transpose();
        let common = |i: usize, j: usize| a.row(i).iter().filter(|c| t.row(j).binary_search(c).is_ok()).count() as u64;
        let all: u64 = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).map(|(i, j)| common(i, j)).sum();
        let some: u64 = (0..rows).flat_map(|i| mask.row(i).iter().map(move |&j| (i, j as usize))).map(|(i, j)| common(i, j)).sum();
        for format in TILES {
            let [fa, fb, ft, fm] = [&a, &b, &t, &mask].map(|m| Matrix::new(&cuda, m, None, format).unwrap());
            assert_eq!(bmm_bin_bin_sum(&cuda, &fa, &fb).unwrap().read().unwrap(), all, "{format}");
            assert_eq!(bmm_bin_bin_sum_masked(&cuda, &fa, &ft, &fm).unwrap().read().unwrap(), some, "{format}");
            let sum = mxm_reduce(PlusPair::<u64>::new(), &fa, &fb).mask(&fm).eval().unwrap();
            assert_eq!(sum.read().unwrap(), some, "{format}");
        }
    }
    // The complete graph on 20 vertices has 1140 triangles.
    let lower =
        Matrix::new(&cuda, &pattern(20, 20, (0..400).map(|i| (i / 20, i % 20)).filter(|(i, j)| i > j)), None, FormatKind::B2sr8).unwrap();
    assert_eq!(bmm_bin_bin_sum_masked(&cuda, &lower, &lower, &lower).unwrap().read().unwrap(), 1140);
    let lists = Matrix::new(&cuda, &random(9, 9, 20), None, FormatKind::Csr).unwrap();
    assert!(matches!(bmm_bin_bin_sum(&cuda, &lists, &lists), Err(Error::Base(Base::Unsupported { .. }))));
    assert!(matches!(bmm_bin_bin_sum_masked(&cuda, &lower, &lower, &lists), Err(Error::Base(_))));
}

/// The sum of |a - x| in double precision.
#[derive(Clone, Copy, Default, Debug)]
struct PlusDistance;
impl Semiring for PlusDistance {
    type A = f32;
    type X = f32;
    type Acc = f64;
    type Out = f64;
    type Add = Plus;
    const NAME: &'static str = "plus-distance";
    const DEVICE: Option<DeviceExpr> =
        Some(DeviceExpr { multiply: "fabs((double)a - x)", multiply_pattern: "fabs(1.0 - x)", finish: "acc" });
    fn multiply(a: f32, x: f32) -> f64 {
        f64::from((a - x).abs())
    }
    fn finish(acc: f64) -> f64 {
        acc
    }
}

/// The same without a device form, under a built-in semiring's name.
#[derive(Clone, Copy, Default, Debug)]
struct HostOnly;
impl Semiring for HostOnly {
    type A = f32;
    type X = f32;
    type Acc = f32;
    type Out = f32;
    type Add = Plus;
    const NAME: &'static str = "plus_times";
    fn multiply(a: f32, x: f32) -> f32 {
        a * x
    }
    fn finish(acc: f32) -> f32 {
        acc
    }
}

#[test]
fn semirings_of_a_users_own() {
    let Some(cuda) = device() else { return };
    let csr = random(60, 50, 800);
    let values: Vec<f32> = (0..csr.nnz()).map(|k| (k % 13) as f32 / 4.0).collect();
    let x: Vec<f32> = (0..50).map(|i| (i % 7) as f32 / 2.0).collect();
    let dx = full(&cuda, &x);
    for format in FormatKind::ALL {
        let a = Matrix::new(&cuda, &csr, Some(&Values::from_vec(values.clone())), format).unwrap();
        let w = mxv(PlusDistance, &a, &dx).eval().unwrap().to_host().unwrap();
        for i in 0..60 {
            let row = csr.row_range(i).map(|k| PlusDistance::multiply(values[k], x[csr.indices()[k] as usize]));
            assert_eq!(w.get(i), row.reduce(|a, b| a + b), "{format} row {i}");
        }
    }
    let a = Matrix::new(&cuda, &csr, Some(&Values::from_vec(values)), FormatKind::Csr).unwrap();
    let refused = mxv(HostOnly, &a, &dx).eval();
    assert!(matches!(&refused, Err(Error::Base(Base::Unsupported { what, .. })) if what.contains("plus_times")), "{refused:?}");
    mxv(PlusTimes, &a, &dx).accum(Min).into(&mut Vector::empty(&cuda, 60).unwrap()).unwrap();
}

/// `a + p0 b`, and the distance from `p0` beyond `p1`.
#[derive(Clone, Copy)]
struct AddScaled(i32);
impl Operator for AddScaled {
    const NAME: &'static str = "plus";
    const DEVICE: Option<&'static str> = Some("a + p0 * b");
    fn parameters(&self) -> Parameters {
        [Some(Parameter::of(self.0)), None, None, None]
    }
}
impl BinaryOp<i32> for AddScaled {
    fn apply(&self, a: i32, b: i32) -> i32 {
        a + self.0 * b
    }
}
#[derive(Clone, Copy)]
struct Beyond(i64, f64);
impl Operator for Beyond {
    const NAME: &'static str = "beyond";
    const DEVICE: Option<&'static str> = Some("a > p0 ? a - p0 - p1 : 0.5");
    fn parameters(&self) -> Parameters {
        [Some(Parameter::of(self.0)), Some(Parameter::of(self.1)), None, None]
    }
}
impl UnaryOp<i32> for Beyond {
    type Out = f64;
    fn apply(&self, a: i32) -> f64 {
        if i64::from(a) > self.0 { (i64::from(a) - self.0) as f64 - self.1 } else { 0.5 }
    }
}

#[test]
fn operators_of_a_users_own() {
    let Some(cuda) = device() else { return };
    let (u, v): (Vec<i32>, Vec<i32>) = ((0..77).collect(), (0..77).map(|i| 100 - i).collect());
    let (du, dv) = (full(&cuda, &u), full(&cuda, &v));
    for op in [AddScaled(3), AddScaled(-2)] {
        let w = ewise_add(op, &du, &dv).eval().unwrap();
        assert_eq!(host(&w), (0..77).map(|i| op.apply(u[i], v[i])).collect::<Vec<_>>());
        // As an accumulator, and with several values for a position.
        let mut w = full(&cuda, &[5, 6, 7]);
        let some = full(&cuda, &[10, 20, 30, 40]);
        assign_at(&some, &[2, 0, 2, 2]).accum(op).into(&mut w).unwrap();
        let expected = [op.apply(5, 20), 6, op.apply(op.apply(op.apply(7, 10), 30), 40)];
        assert_eq!(host(&w), expected);
    }
    // A built-in accumulator, some of the values absent.
    let mut w = full(&cuda, &[5, 6, 7]);
    let some = Vector::from_entries(&cuda, 4, [(0, 10), (3, 40)]).unwrap();
    assign_at(&some, &[2, 0, 2, 2]).accum(Plus).into(&mut w).unwrap();
    assert_eq!(host(&w), [5, 6, 57]);
    let op = Beyond(50, 0.25);
    let w = apply(op, &du).eval().unwrap();
    assert_eq!(host(&w), u.iter().map(|&a| op.apply(a)).collect::<Vec<_>>());
}

/// Where values are assigned, what was there goes, even if the value is absent.
#[test]
fn absent_values_are_assigned() {
    let Some(cuda) = device() else { return };
    let some = Vector::from_entries(&cuda, 4, [(0, 10), (3, 40)]).unwrap();
    // Of two that come to a position the later counts: to position 2 comes 40, to 0 and 5 nothing.
    for old in [full(&cuda, &[5, 6, 7, 8, 9, 4]), Vector::from_entries(&cuda, 6, [(0, 5), (1, 6), (3, 8)]).unwrap()] {
        let mut w = old.clone();
        assign_at(&some, &[2, 0, 5, 2]).into(&mut w).unwrap();
        let (w, old) = (w.to_host().unwrap(), old.to_host().unwrap());
        let expected = [None, old.get(1), Some(40), old.get(3), old.get(4), None];
        assert_eq!((0..6).map(|i| w.get(i)).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_reduction_of_single_precision_is_formed_in_double() {
    let Some(cuda) = device() else { return };
    let large = 16_777_216.0f32;
    let sum = reduce(Plus, &full(&cuda, &[large, 1.0, 1.0, -large])).eval().unwrap();
    assert_eq!(sum.read().unwrap(), 2.0);
    let smallest = reduce(Min, &full::<f32>(&cuda, &[])).eval().unwrap();
    assert_eq!(smallest.read().unwrap(), f32::INFINITY);
}
