//! Semirings, monoids and element types of a user's own, in every format: against plain loops, and stopping where a sum is terminal.

use bitgraph_backend::ops::{assign_at, ewise_add, mxv, reduce};
use bitgraph_backend::{Matrix, StorableSemiring, Vector};
use bitgraph_cpu::Cpu;
use bitgraph_semiring::{Max, Monoid, Plus, PlusTimes, Scalar, Semiring, semiring};
use bitgraph_sparse::{Coo, Csr, Duplicates, FormatKind, Stored, Values};
use bitgraph_testkit::own::{Capped, CappedTimes, Count, Distance, Paths};
use std::sync::atomic::{AtomicUsize, Ordering};

fn random(rows: u32, columns: u32, one_in: u32) -> Csr {
    let places = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
    let (r, c) = places.filter(|(i, j)| i % 9 != 4 && (i * 31 + j * 17 + i * j) % one_in == 0).unzip();
    Coo::pattern(rows as usize, columns as usize, r, c).into_csr(Duplicates::First).unwrap().0
}

/// Sparse and dense, off every tile and word; one large enough for several tasks.
fn shapes() -> Vec<Csr> {
    vec![random(0, 0, 2), random(5, 70, 3), random(133, 99, 1), random(200, 333, 29), random(3000, 130, 40)]
}

fn entries<T: Stored>(v: &Vector<Cpu, T>) -> Vec<Option<T>> {
    let host = v.to_host().unwrap();
    (0..host.len()).map(|i| host.get(i)).collect()
}

fn plain<S: Semiring>(csr: &Csr, values: Option<&[S::A]>, x: &[Option<S::X>], wanted: impl Fn(usize) -> bool) -> Vec<Option<S::Out>> {
    let product = |k: usize| {
        let x = x[csr.indices()[k] as usize]?;
        Some(values.map_or_else(|| S::multiply_pattern(x), |v| S::multiply(v[k], x)))
    };
    let row = |i: usize| csr.row_range(i).filter_map(product).reduce(S::add).map(S::finish);
    (0..csr.nrows()).map(|i| wanted(i).then(|| row(i)).flatten()).collect()
}

fn everywhere<S: StorableSemiring>(semiring: S, a: impl Fn(usize) -> S::A, x: impl Fn(usize) -> S::X) {
    for csr in shapes() {
        let values: Vec<S::A> = (0..csr.nnz()).map(&a).collect();
        let stored = Values::from_vec(values.clone());
        let full: Vec<Option<S::X>> = (0..csr.ncols()).map(|j| Some(x(j))).collect();
        let half: Vec<Option<S::X>> = full.iter().enumerate().map(|(j, &x)| x.filter(|_| j % 3 != 0)).collect();
        let bits: Vec<bool> = (0..csr.nrows()).map(|i| i % 3 != 0).collect();
        let cpu = Cpu::new();
        let mask = Vector::from_vec(&cpu, bits.clone()).unwrap();
        for format in FormatKind::ALL {
            for (valued, x, masked) in
                [(true, &full, false), (false, &full, false), (true, &half, false), (false, &half, true), (true, &full, true)]
            {
                let a = Matrix::new(&cpu, &csr, valued.then_some(&stored), format).unwrap();
                let u = if x.iter().all(Option::is_some) {
                    Vector::from_vec(&cpu, x.iter().flatten().copied().collect()).unwrap()
                } else {
                    Vector::from_entries(&cpu, x.len(), x.iter().enumerate().filter_map(|(j, x)| Some((j as u32, (*x)?)))).unwrap()
                };
                let product = mxv(semiring, &a, &u);
                let w = if masked { product.mask_values(&mask).eval() } else { product.eval() }.unwrap();
                let expected = plain::<S>(&csr, valued.then_some(&values[..]), x, |i| !masked || bits[i]);
                assert_eq!(
                    entries(&w),
                    expected,
                    "{} on {format} of {:?}, values: {valued}, masked: {masked}",
                    S::NAME,
                    (csr.nrows(), csr.ncols())
                );
            }
        }
    }
}

semiring! {
    /// The formula of (plus, times), which has kernels of its own for patterns; the values below are exact in any order.
    struct Products: f32, f32 => f32;
    add = Plus;
    multiply(a, x) { a * x }
}
semiring! {
    /// The formula of (or, and).
    struct Reaches: bool, bool => bool;
    add = bitgraph_semiring::Lor;
    multiply(a, x) { a != 0 && x != 0 }
}
#[test]
fn semirings_by_formula() {
    everywhere(Distance, |k| (k % 23) as i8 - 11, |j| (j % 17) as i8 - 8);
    everywhere(CappedTimes, |k| (k % 9) as i16 - 4, |j| (j % 13) as i16 - 3);
    everywhere(Products, |k| (k % 9) as f32 / 8.0, |j| (j % 13) as f32 / 4.0);
    everywhere(Reaches, |k| k % 5 != 0, |j| j % 7 == 0);
    everywhere(Paths, |k| (k % 29) as u32, |j| if j % 5 == 0 { u32::MAX } else { j as u32 });
}

#[test]
fn monoids_by_formula() {
    let values: Vec<i32> = (0..9000).map(|k| k * 7 % 101 - 9).collect();
    let cpu = Cpu::new();
    let reduced = |u: &Vector<Cpu, i32>| reduce(Capped, u).eval().unwrap().read().unwrap();
    assert_eq!(reduced(&Vector::from_vec(&cpu, values).unwrap()), 40);
    assert_eq!(reduced(&Vector::from_vec(&cpu, vec![-7, -3]).unwrap()), -3);
    assert_eq!(reduced(&Vector::empty(&cpu, 9).unwrap()), i32::MIN);
    let mut w = Vector::from_vec(&cpu, vec![3, 50]).unwrap();
    assign_at(&Vector::from_vec(&cpu, vec![7, 1]).unwrap(), &[0, 1]).accum(Capped).into(&mut w).unwrap();
    assert_eq!(entries(&w), [Some(7), Some(40)]);
}

/// How many products were formed.
static PRODUCTS: AtomicUsize = AtomicUsize::new(0);

/// The largest value, counting; 9 is the largest of all.
#[derive(Clone, Copy, Debug, Default)]
struct Counting;
#[derive(Clone, Copy, Debug, Default)]
struct UpTo9;
impl Monoid<u8> for UpTo9 {
    const NAME: &'static str = "up_to_9";
    const HAS_TERMINAL: bool = true;
    fn identity() -> u8 {
        0
    }
    fn combine(a: u8, b: u8) -> u8 {
        a.max(b)
    }
    fn is_terminal(value: u8) -> bool {
        value == 9
    }
}
impl Semiring for Counting {
    type A = u8;
    type X = u8;
    type Acc = u8;
    type Out = u8;
    type Add = UpTo9;
    const NAME: &'static str = "counting";
    fn multiply(a: u8, x: u8) -> u8 {
        PRODUCTS.fetch_add(1, Ordering::Relaxed);
        (a * x).min(9)
    }
    fn finish(acc: u8) -> u8 {
        acc
    }
}

#[test]
fn a_row_stops_at_a_terminal_value() {
    let csr = random(64, 100, 1);
    let values = Values::from_vec(vec![1u8; csr.nnz()]);
    // Every row has its ninth entry as the first 9.
    let cpu = Cpu::new();
    let x = Vector::from_vec(&cpu, (1..=100).map(|j| if j < 9 { 1 } else { 9 }).collect::<Vec<u8>>()).unwrap();
    let rows = (0..64).filter(|&i| csr.degree(i) > 0).count();
    for format in FormatKind::ALL {
        for values in [None, Some(&values)] {
            PRODUCTS.store(0, Ordering::Relaxed);
            let a = Matrix::new(&cpu, &csr, values, format).unwrap();
            let w = mxv(Counting, &a, &x).eval().unwrap().to_host().unwrap();
            assert_eq!(w.iter().filter(|&(_, v)| v == 9).count(), rows);
            assert_eq!(PRODUCTS.load(Ordering::Relaxed), 9 * rows, "{format}");
        }
    }
}

#[test]
fn element_types_of_a_users_own() {
    everywhere(PlusTimes::<Count>::new(), |k| Count((k % 9) as u8), |j| Count((j % 40) as u8));
    let vector = |values: [u8; 2]| Vector::from_vec(&Cpu::new(), values.map(Count).to_vec()).unwrap();
    let u = vector([200, 3]);
    let w = ewise_add(Plus, &u, &vector([100, 4])).eval().unwrap();
    assert_eq!(entries(&w), [Some(Count(255)), Some(Count(7))]);
    assert_eq!(reduce(Max, &u).eval().unwrap().read().unwrap(), Count(200));
    // Its values are bytes, and bytes are its values.
    let values = Values::from_vec(vec![Count(1), Count(2)]);
    assert_eq!((values.as_slice::<u8>(), values.as_slice::<Count>()), (Some(&[1, 2][..]), Some(&[Count(1), Count(2)][..])));
    assert!(values.as_slice::<i8>().is_none());
    assert_eq!((1e9f64.cast::<Count>(), (-3i32).cast::<Count>(), Count(7).cast::<f32>()), (Count(255), Count(0), 7.0));
}
