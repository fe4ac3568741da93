//! Products by counting ones against plain sums, and maps of zero tiles against plain looks.

use crate::common::{Random, control, floats};
use bitgraph_bittensor::{
    Binarize, BitMatrix, BitPlanes, Error, Fit, Levels, Packing, Per, Quantization, Scaling, Scheme, TileShape, View, dot, product,
};
use proptest::prelude::*;

fn bits(rows: usize, columns: usize, levels: Levels, packing: Packing, seed: u64) -> BitMatrix {
    let data = floats(rows * columns, seed);
    let padding = if seed.is_multiple_of(2) { TileShape::TILE_8X128 } else { TileShape::WORD };
    let how = Binarize { packing, padding, ..Binarize::default() };
    let signs = BitMatrix::binarize(&View::new(&data, rows, columns).unwrap(), &how, &control()).unwrap();
    BitMatrix::from_words(*signs.layout(), levels, signs.words().clone(), signs.scales().clone()).unwrap()
}

#[test]
fn bits_by_bits_in_every_pair_of_levels() {
    for (k, (m, inner, n)) in
        [(1, 1, 1), (3, 0, 4), (0, 5, 2), (2, 5, 0), (7, 31, 9), (5, 32, 3), (9, 33, 8), (4, 1000, 5)].into_iter().enumerate()
    {
        for left in [Levels::Signs, Levels::ZeroOne] {
            for right in [Levels::Signs, Levels::ZeroOne] {
                let a = bits(m, inner, left, Packing::Rows, k as u64);
                let b = bits(inner, n, right, Packing::Columns, k as u64 * 3 + 1);
                let sum = |i, j| (0..inner).map(|k| (a.value(i, k) * b.value(k, j)) as i64).sum::<i64>();
                let wanted: Vec<i64> = (0..m * n).map(|k| sum(k / n, k % n)).collect();
                assert_eq!(product::bits(&a, &b, &control()).unwrap(), wanted, "{m} {inner} {n} {left:?} {right:?}");
            }
        }
    }
}

#[test]
fn codes_by_codes_and_their_values() {
    let mut random = Random(11);
    for (m, inner, n, s, t) in
        [(1, 1, 1, 1, 1), (6, 40, 5, 3, 2), (3, 129, 4, 8, 8), (2, 70, 2, 16, 16), (4, 0, 3, 2, 2), (5, 64, 7, 1, 16)]
    {
        let codes = |random: &mut Random, count: usize, bits: u32| (0..count).map(|_| random.below(1 << bits) as u16).collect::<Vec<_>>();
        let (x, w) = (codes(&mut random, m * inner, s), codes(&mut random, inner * n, t));
        let new = |data: &[u16], rows, columns, bits, packing| {
            BitPlanes::from_integers(&View::new(data, rows, columns).unwrap(), bits, 0, packing, TileShape::WORD, &control()).unwrap()
        };
        let (a, b) = (new(&x, m, inner, s, Packing::Rows), new(&w, inner, n, t, Packing::Columns));
        let sum = |i: usize, j: usize| (0..inner).map(|k| u64::from(x[i * inner + k]) * u64::from(w[k * n + j])).sum::<u64>();
        let wanted: Vec<u64> = (0..m * n).map(|k| sum(k / n, k % n)).collect();
        assert_eq!(product::codes(&a, &b, &control()).unwrap(), wanted);
        assert_eq!(product::values(&a, &b, &control()).unwrap(), wanted.iter().map(|&p| p as f64).collect::<Vec<_>>());
    }
    // The largest codes, many of them.
    let top = vec![u16::MAX; 100_000];
    let a = BitPlanes::from_integers(&View::new(&top, 1, top.len()).unwrap(), 16, 0, Packing::Rows, TileShape::WORD, &control()).unwrap();
    assert_eq!(product::codes(&a, &a.transposed(), &control()).unwrap(), [100_000 * 65_535 * 65_535]);
}

#[test]
fn products_of_values_take_zero_points_out() {
    let (m, inner, n) = (7, 50, 6);
    let (x, w) = (floats(m * inner, 1), floats(inner * n, 2));
    let (x, w) = (View::new(&x, m, inner).unwrap(), View::new(&w, inner, n).unwrap());
    let planes = |view: &View<'_, f32>, scheme, per, bits, packing| {
        let q = Quantization::fit(view, &Fit { scheme, per, ..Fit::bits(bits) }, &control()).unwrap();
        BitPlanes::quantize(view, &q, packing, TileShape::TILE_8X128, &control()).unwrap()
    };
    for scheme in [Scheme::ZeroPoint, Scheme::MidTread, Scheme::MidRise, Scheme::Floor] {
        for (left, right) in [(Per::Tensor, Per::Tensor), (Per::Row, Per::Column), (Per::Tensor, Per::Column)] {
            let (a, b) = (planes(&x, scheme, left, 5, Packing::Rows), planes(&w, scheme, right, 3, Packing::Columns));
            let got = product::values(&a, &b, &control()).unwrap();
            for i in 0..m {
                for j in 0..n {
                    let wanted: f64 = (0..inner).map(|k| f64::from(a.value(i, k)) * f64::from(b.value(k, j))).sum();
                    assert!((got[i * n + j] - wanted).abs() < 1e-4, "{} {wanted}", got[i * n + j]);
                }
            }
        }
        let (a, b) = (planes(&x, scheme, Per::Column, 5, Packing::Rows), planes(&w, scheme, Per::Row, 3, Packing::Columns));
        let (fine_a, fine_b) = (planes(&x, scheme, Per::Row, 5, Packing::Rows), planes(&w, scheme, Per::Column, 3, Packing::Columns));
        assert_eq!(product::values(&a, &fine_b, &control()), Err(Error::InnerScales { operand: "first", along: Packing::Columns }));
        assert_eq!(product::values(&fine_a, &b, &control()), Err(Error::InnerScales { operand: "second", along: Packing::Rows }));
    }
    // Scaled signs as codes of one bit.
    let sign = |view: &View<'_, f32>, packing, scaling| {
        BitMatrix::binarize(view, &Binarize { packing, scaling, ..Binarize::default() }, &control()).unwrap()
    };
    let (a, b) = (sign(&x, Packing::Rows, Scaling::RowMeans), sign(&w, Packing::Columns, Scaling::ColumnMeans));
    let got = product::values(&(&a).into(), &(&b).into(), &control()).unwrap();
    let whole = product::bits(&a, &b, &control()).unwrap();
    for k in 0..m * n {
        let wanted = f64::from(a.scales().get(k / n, 0)) * f64::from(b.scales().get(0, k % n)) * whole[k] as f64;
        assert!((got[k] - wanted).abs() < 1e-6);
    }
}

#[test]
fn operands_that_do_not_fit() {
    let a = bits(3, 40, Levels::Signs, Packing::Rows, 1);
    let b = bits(40, 2, Levels::Signs, Packing::Columns, 1);
    let product = |a: &BitMatrix, b: &BitMatrix| product::bits(a, b, &control());
    assert!(product(&a, &b).is_ok());
    assert_eq!(product(&b.transposed(), &a.transposed()).unwrap().len(), 6);
    let rows = b.repacked(Packing::Rows, TileShape::WORD, &control()).unwrap();
    assert_eq!(product(&a, &rows), Err(Error::Packed { operand: "second", expected: Packing::Columns, found: Packing::Rows }));
    assert_eq!(product(&b, &b), Err(Error::Packed { operand: "first", expected: Packing::Rows, found: Packing::Columns }));
    let short = bits(39, 2, Levels::Signs, Packing::Columns, 1);
    assert!(matches!(product(&a, &short), Err(Error::Shape { left_columns: 40, right_rows: 39, .. })));
}

#[test]
fn zero_tiles() {
    let mut random = Random(3);
    for (rows, columns) in crate::common::SHAPES {
        // Few ones, so that many tiles are zero.
        let data: Vec<u8> = (0..rows * columns).map(|_| if random.below(400) == 0 { 1 + random.below(3) as u8 } else { 0 }).collect();
        let view = View::new(&data, rows, columns).unwrap();
        for (packing, padding) in crate::common::layouts() {
            let planes = BitPlanes::from_integers(&view, 2, 0, packing, padding, &control()).unwrap();
            let layout = planes.layout();
            for shape in [TileShape::TILE_8X128, TileShape::TILE_16X256, TileShape::WORD, TileShape::new(3, 64).unwrap()] {
                let map = planes.tiles(shape, &control()).unwrap();
                assert_eq!(map.tile_rows(), layout.lines().div_ceil(shape.lines()));
                assert_eq!(map.total(), map.tile_rows() * layout.length().div_ceil(shape.bits()));
                let mut wanted = vec![false; map.total()];
                for (k, &code) in data.iter().enumerate() {
                    let (line, bit) = if packing == Packing::Rows { (k / columns, k % columns) } else { (k % columns, k / columns) };
                    let tile = line / shape.lines() * map.tile_columns() + bit / shape.bits();
                    wanted[tile] |= code != 0;
                }
                assert_eq!(&map.occupied().iter().collect::<Vec<_>>(), &wanted);
                assert_eq!(map.nonzero(), wanted.iter().filter(|&&tile| tile).count());
                let list = map.structure().unwrap();
                assert_eq!((list.nrows(), list.ncols(), list.nnz()), (map.tile_rows(), map.tile_columns(), map.nonzero()));
                for i in 0..map.tile_rows() {
                    let listed: Vec<u32> = (0..map.tile_columns()).filter(|&j| !map.is_zero(i, j)).map(|j| j as u32).collect();
                    assert_eq!(list.row(i), listed);
                }
            }
        }
    }
}

#[test]
fn batches_leave_most_tiles_zero() {
    // Four parts of 128 vertices, full each, nothing between them: a quarter of the tiles.
    let data: Vec<f32> = (0..512 * 512).map(|k| if k / 512 / 128 == k % 512 / 128 { 1.0 } else { -1.0 }).collect();
    let matrix = BitMatrix::binarize(&View::new(&data, 512, 512).unwrap(), &Binarize::default(), &control()).unwrap();
    let map = matrix.tiles(TileShape::TILE_8X128, &control()).unwrap();
    assert_eq!((map.nonzero(), map.total(), map.ratio()), (64, 256, 0.25));
}

proptest! {
    #[test]
    fn all_forms_of_a_dot_product_agree(pairs in prop::collection::vec(any::<(bool, bool)>(), 0..400)) {
        let pack = |f: fn(&(bool, bool)) -> bool| -> Vec<u32> {
            pairs.chunks(32).map(|c| c.iter().enumerate().map(|(i, p)| u32::from(f(p)) << i).sum()).collect()
        };
        let (a, b) = (pack(|p| p.0), pack(|p| p.1));
        let sum = |f: fn(bool, bool) -> i64| pairs.iter().map(|&(a, b)| f(a, b)).sum::<i64>();
        let sign = |x: bool| if x { 1 } else { -1 };
        let (ones_a, ones_b) = (dot::ones(&a), dot::ones(&b));
        prop_assert_eq!(ones_a as i64, sum(|a, _| a.into()));
        prop_assert_eq!(dot::and(&a, &b) as i64, sum(|a, b| (a & b).into()));
        prop_assert_eq!(dot::and_not(&a, &b) as i64, sum(|a, b| (a & !b).into()));
        prop_assert_eq!(dot::xor(&a, &b) as i64, sum(|a, b| (a ^ b).into()));
        let signs: i64 = pairs.iter().map(|&(a, b)| sign(a) * sign(b)).sum();
        prop_assert_eq!(dot::signs_by_xnor(&a, &b, pairs.len()), signs);
        prop_assert_eq!(dot::signs_by_and(&a, &b, ones_a, ones_b, pairs.len()), signs);
        let trinary: i64 = pairs.iter().map(|&(a, b)| i64::from(a) * sign(b)).sum();
        prop_assert_eq!(dot::trinary_by_branch(&a, &b), trinary);
        prop_assert_eq!(dot::trinary_by_difference(&a, &b), trinary);
        prop_assert_eq!(dot::trinary_by_count(&a, &b, ones_a), trinary);
    }

    #[test]
    fn codes_come_back(bits in 1u32..=16, rows in 0usize..70, columns in 0usize..70, seed in any::<u64>(), by_rows in any::<bool>(), lines in 1u32..20, words in 1u32..9) {
        let mut random = Random(seed);
        let data: Vec<u16> = (0..rows * columns).map(|_| random.below(1 << bits) as u16).collect();
        let packing = if by_rows { Packing::Rows } else { Packing::Columns };
        let padding = TileShape::new(lines, words * 32).unwrap();
        let planes = BitPlanes::from_integers(&View::new(&data, rows, columns).unwrap(), bits, 0, packing, padding, &control()).unwrap();
        prop_assert_eq!(planes.codes(&control()).unwrap(), data);
        let there = planes.repacked(packing.other(), TileShape::WORD, &control()).unwrap();
        prop_assert_eq!(there.repacked(packing, padding, &control()).unwrap(), planes);
    }
}
