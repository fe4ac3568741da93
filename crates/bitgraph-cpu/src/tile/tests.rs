//! Every kernel, tile size and instruction set against plain loops over the entries, on awkward shapes.

use super::schemes::*;
use super::*;
use crate::Isa;
use approx::assert_abs_diff_eq;
use bitgraph_b2sr::{B2sr, Grouped, Hybrid, HybridConfig, Tile4, Tile8, Tile16, Tile32};
use bitgraph_semiring::{AnySecond, LorLand, MinPlus, PlusTimes, Scalar, Semiring};
use bitgraph_sparse::{Csr, Offsets};
use bitgraph_testkit::Tolerance;
use std::collections::BTreeSet;

fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn pattern(rows: usize, columns: usize, entries: impl IntoIterator<Item = (usize, usize)>) -> Csr {
    let set: BTreeSet<(usize, usize)> = entries.into_iter().collect();
    let mut offsets = vec![0usize; rows + 1];
    set.iter().for_each(|&(r, _)| offsets[r + 1] += 1);
    (0..rows).for_each(|i| offsets[i + 1] += offsets[i]);
    Csr::new(rows, columns, Offsets::from_usizes(&offsets), set.iter().map(|&(_, c)| c as u32).collect::<Vec<_>>().into()).unwrap()
}

fn random(rows: usize, columns: usize, entries: usize) -> Csr {
    let mut state = entries as u64;
    pattern(rows, columns, (0..entries).map(|_| (mix(&mut state) as usize % rows, mix(&mut state) as usize % columns)))
}

fn corpus() -> Vec<Csr> {
    let path = |n: usize| pattern(n, n, (1..n).flat_map(|v| [(v - 1, v), (v, v - 1), (v, v)]));
    vec![
        pattern(0, 0, []),
        pattern(1, 1, []),
        pattern(1, 1, [(0, 0)]),
        pattern(5, 0, []),
        pattern(70, 33, []),
        pattern(37, 45, (0..37 * 45).map(|i| (i / 45, i % 45))),
        pattern(130, 300, (0..300).map(|c| (77, c))),
        path(1003),
        random(200, 333, 900),
        random(333, 333, 9000),
        random(3000, 2999, 20_000),
        // More tiles and entries than a block of rows may have.
        random(600, 3000, 30_000),
    ]
}

/// Operands of every density that a kernel tells from others.
fn operands(n: usize) -> Vec<BitVector> {
    let all_but = |one_in| some_bits(n, one_in).iter().map(|b| !b).collect();
    vec![
        BitVector::zeros(n),
        some_bits(n, 40),
        some_bits(n, 6),
        some_bits(n, 3),
        some_bits(n, 2),
        all_but(5),
        all_but(10),
        all_but(50),
        BitVector::ones(n),
    ]
}

fn some_bits(n: usize, one_in: u64) -> BitVector {
    let mut state = 5;
    (0..n).map(|_| mix(&mut state).is_multiple_of(one_in)).collect()
}

fn at_every_level(f: impl Fn() + Sync) {
    let _one_at_a_time = crate::tile::tests::LEVELS.lock();
    for isa in Isa::ALL {
        Isa::limit(isa);
        for threads in [1, 3] {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&f);
        }
    }
    Isa::limit(Isa::Avx512);
}

static LEVELS: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn masks(n: usize) -> [(BitVector, bool); 3] {
    [(some_bits(n, 3), false), (some_bits(n, 2), true), (some_bits(n, 40), false)]
}

fn bits<T: BitTile>(csr: &Csr) {
    let a = B2sr::<T>::from_csr(csr);
    for x in operands(csr.ncols()) {
        let counts: Vec<u32> = (0..csr.nrows()).map(|i| csr.row(i).iter().filter(|&&c| x.get(c as usize)).count() as u32).collect();
        assert_eq!(bmv_bin_bin_full(&a, &x), counts, "{} of {} x {}", T::SIZE, csr.nrows(), csr.ncols());
        assert_eq!(bmv_bin_bin_bin(&a, &x), counts.iter().map(|&c| c > 0).collect());
        for (m, complement) in &masks(csr.nrows()) {
            let mask = RowMask { bits: m, complement: *complement };
            let kept: Vec<u32> = counts.iter().enumerate().map(|(i, &c)| if m.get(i) != *complement { c } else { 0 }).collect();
            assert_eq!(bmv_bin_bin_full_masked(&a, &x, mask), kept);
            assert_eq!(bmv_bin_bin_bin_masked(&a, &x, mask), kept.iter().map(|&c| c > 0).collect());
        }
    }
}

#[test]
fn bit_kernels() {
    at_every_level(|| {
        for csr in corpus() {
            bits::<Tile4>(&csr);
            bits::<Tile8>(&csr);
            bits::<Tile16>(&csr);
            bits::<Tile32>(&csr);
            let hybrids = [HybridConfig::default(), HybridConfig { min_entries: 2, min_share: 0.0 }];
            let hybrids = hybrids.map(|config| Hybrid::from_csr_with(&csr, &config));
            for x in operands(csr.ncols()) {
                let meets = |i: usize| csr.row(i).iter().any(|&c| x.get(c as usize));
                let mut y = BitVector::ones(csr.nrows());
                let mut check = |mask: Option<RowMask<'_>>| {
                    let chosen = |i: usize| mask.is_none_or(|m| m.bits.get(i) != m.complement);
                    let wanted: BitVector = (0..csr.nrows()).map(|i| chosen(i) && meets(i)).collect();
                    mxv_boolean_lists(&csr, &x, mask, &mut y);
                    assert_eq!(y, wanted);
                    for hybrid in &hybrids {
                        mxv_boolean_hybrid(hybrid, &x, mask, &mut y);
                        assert_eq!(y, wanted);
                    }
                };
                check(None);
                for (bits, complement) in &masks(csr.nrows()) {
                    check(Some(RowMask { bits, complement: *complement }));
                }
            }
        }
    });
}

macro_rules! float_test {
    ($name:ident, $f:ty) => {
        #[test]
        fn $name() {
            /// The bounds are those of the whole rows: one of which nothing is kept has a sum of 0 exactly.
            fn close(csr: &Csr, x: &[$f], y: &[$f], wanted: &[f64]) {
                assert_eq!(y.len(), wanted.len());
                for (i, (&y, &w)) in y.iter().zip(wanted).enumerate() {
                    let magnitude = csr.row(i).iter().map(|&c| f64::from(x[c as usize].abs())).sum();
                    let bound = Tolerance::for_sum(<$f as Scalar>::DTYPE, csr.degree(i), magnitude);
                    assert_abs_diff_eq!(f64::from(y), w, epsilon = bound.epsilon(w));
                }
            }
            fn one<T: TileSum<$f>>(csr: &Csr, x: &[$f], wanted: &[f64]) {
                let a = B2sr::<T>::from_csr(csr);
                close(csr, x, &bmv_bin_full_full(&a, x), wanted);
                for (m, complement) in &masks(csr.nrows()) {
                    let kept: Vec<f64> = wanted.iter().enumerate().map(|(i, &w)| if m.get(i) != *complement { w } else { 0.0 }).collect();
                    close(csr, x, &bmv_bin_full_full_masked(&a, x, RowMask { bits: m, complement: *complement }), &kept);
                }
                let mut y = vec![<$f>::NAN; csr.nrows()];
                mxv_sum_grouped(&Grouped::new(&a), x, &mut y);
                close(csr, x, &y, wanted);
            }
            at_every_level(|| {
                for csr in corpus() {
                    let mut state = 3;
                    let mut x: Vec<$f> = (0..csr.ncols()).map(|_| (mix(&mut state) % 1000) as $f / 1000.0 - 0.3).collect();
                    // A column without entries may hold anything.
                    let mut used = vec![false; csr.ncols()];
                    csr.indices().iter().for_each(|&c| used[c as usize] = true);
                    x.iter_mut().zip(&used).filter(|(_, u)| !**u).for_each(|(x, _)| *x = <$f>::INFINITY);
                    let wanted: Vec<f64> = (0..csr.nrows()).map(|i| csr.row(i).iter().map(|&c| f64::from(x[c as usize])).sum()).collect();
                    one::<Tile4>(&csr, &x, &wanted);
                    one::<Tile8>(&csr, &x, &wanted);
                    one::<Tile16>(&csr, &x, &wanted);
                    one::<Tile32>(&csr, &x, &wanted);
                    let mut y = vec![<$f>::NAN; csr.nrows()];
                    mxv_sum_hybrid(&Hybrid::from_csr(&csr), &x, None, &mut y);
                    close(&csr, &x, &y, &wanted);
                }
            });
        }
    };
}
float_test!(sums_in_f32, f32);
float_test!(sums_in_f64, f64);

fn general<S: Semiring<Acc: Eq>, M: RowEntries>(csr: &Csr, a: &M, values: Option<&[S::A]>, x: &[S::X], present: Option<&BitVector>) {
    let starts: Vec<usize> = (0..=csr.nrows()).map(|i| csr.offsets().get(i)).collect();
    let [(bits, complement), ..] = masks(csr.nrows());
    for mask in [None, Some(RowMask { bits: &bits, complement })] {
        let (mut y, mut touched) = (vec![S::zero(); csr.nrows()], BitVector::ones(csr.nrows()));
        mxv_tiles::<S, M>(a, values.map(|v| (v, &starts[..])), |c| x[c], present, mask, &mut y, &mut touched);
        for i in 0..csr.nrows() {
            let products = csr.row_range(i).filter(|&k| present.is_none_or(|p| p.get(csr.indices()[k] as usize))).map(|k| {
                let x = x[csr.indices()[k] as usize];
                values.map_or_else(|| S::multiply_pattern(x), |v| S::multiply(v[k], x))
            });
            let wanted = if mask.is_none_or(|m| m.bits.get(i)) { products.reduce(S::add) } else { None };
            assert_eq!(touched.get(i).then(|| y[i]), wanted, "{} row {i}", S::NAME);
        }
    }
}

#[test]
fn any_semiring_on_any_format() {
    fn all<M: RowEntries>(csr: &Csr, a: &M) {
        let mut state = 11;
        let values: Vec<i64> = (0..csr.nnz()).map(|_| mix(&mut state) as i64 % 100 - 20).collect();
        let x: Vec<i64> = (0..csr.ncols()).map(|_| mix(&mut state) as i64 % 1000).collect();
        let truths: Vec<bool> = x.iter().map(|x| x % 3 == 0).collect();
        let present = some_bits(csr.ncols(), 4);
        for present in [None, Some(&present)] {
            for values in [None, Some(&values[..])] {
                general::<MinPlus<i64>, M>(csr, a, values, &x, present);
                general::<PlusTimes<i64>, M>(csr, a, values, &x, present);
                general::<AnySecond<i64>, M>(csr, a, values, &x, present);
            }
            general::<LorLand<bool>, M>(csr, a, None, &truths, present);
        }
    }
    at_every_level(|| {
        for csr in corpus() {
            all(&csr, &csr);
            all(&csr, &B2sr::<Tile4>::from_csr(&csr));
            all(&csr, &B2sr::<Tile8>::from_csr(&csr));
            all(&csr, &B2sr::<Tile32>::from_csr(&csr));
            all(&csr, &Hybrid::from_csr_with(&csr, &HybridConfig { min_entries: 2, min_share: 0.0 }));
        }
    });
}

fn products<T: BitTile>(a: &Csr, b: &Csr, mask: &Csr) {
    let t = b.transpose();
    let common = |i: usize, j: usize| a.row(i).iter().filter(|c| t.row(j).binary_search(c).is_ok()).count() as u64;
    let all: u64 = (0..a.nrows()).flat_map(|i| (0..t.nrows()).map(move |j| (i, j))).map(|(i, j)| common(i, j)).sum();
    let some: u64 = (0..a.nrows()).flat_map(|i| mask.row(i).iter().map(move |&j| (i, j as usize))).map(|(i, j)| common(i, j)).sum();
    let [fa, fb, ft, fm] = [a, b, &t, mask].map(B2sr::<T>::from_csr);
    assert_eq!(bmm_bin_bin_sum(&fa, &fb), Some(all));
    assert_eq!(bmm_bin_bin_sum_masked(&fa, &ft, &fm), Some(some));
}

#[test]
fn sums_of_products() {
    at_every_level(|| {
        for (rows, inner, columns, entries) in [(1, 1, 1, 1), (70, 41, 99, 700), (65, 130, 33, 60), (100, 100, 100, 4000)] {
            let (a, b, mask) = (random(rows, inner, entries), random(inner, columns, entries + 1), random(rows, columns, entries + 2));
            products::<Tile4>(&a, &b, &mask);
            products::<Tile8>(&a, &b, &mask);
            products::<Tile16>(&a, &b, &mask);
            products::<Tile32>(&a, &b, &mask);
        }
    });
    let wide = B2sr::<Tile8>::from_csr(&random(3, 9, 4));
    assert_eq!(bmm_bin_bin_sum(&wide, &wide), None);
    // The complete graph on 20 vertices has 1140 triangles.
    let lower = B2sr::<Tile8>::from_csr(&pattern(20, 20, (0..400).map(|i| (i / 20, i % 20)).filter(|(i, j)| i > j)));
    assert_eq!(bmm_bin_bin_sum_masked(&lower, &lower, &lower), Some(1140));
}
