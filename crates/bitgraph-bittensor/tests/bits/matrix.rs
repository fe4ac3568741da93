//! Sign matrices against plain loops, in every shape and layout.

use crate::common::{control, floats, layouts};
use bitgraph_bittensor::{Binarize, BitLayout, BitMatrix, Error, Levels, Packing, Scales, Scaling, Threshold, TileShape, View};
use bitgraph_sparse::{Control, Csr, Offsets};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Every bit, the words and the bytes of a matrix against what is wanted.
fn holds(matrix: &BitMatrix, wanted: impl Fn(usize, usize) -> bool) {
    let layout = *matrix.layout();
    let (lines, length) = (layout.lines(), layout.length());
    assert_eq!(layout.padded_lines() % layout.padding().lines(), 0);
    assert_eq!(layout.stride() * 32 % layout.padding().bits(), 0);
    assert!(layout.padded_lines() < lines + layout.padding().lines() && layout.stride() * 32 < length + layout.padding().bits());
    assert_eq!(matrix.bytes(), 4 * matrix.words().len() as u64 + matrix.scales().bytes());
    let mut ones = 0;
    for line in 0..layout.padded_lines() {
        for bit in 0..layout.stride() * 32 {
            let set = matrix.words()[line * layout.stride() + bit / 32] >> (bit % 32) & 1 != 0;
            let (row, column) = if layout.packing() == Packing::Rows { (line, bit) } else { (bit, line) };
            let inside = line < lines && bit < length;
            assert_eq!(set, inside && wanted(row, column), "({row}, {column}) of {layout:?}");
            ones += u64::from(set);
        }
    }
    assert_eq!(matrix.count_ones(), ones);
}

#[test]
fn signs_in_every_shape_and_layout() {
    for (rows, columns) in crate::common::SHAPES {
        let data = floats(rows * columns, 1);
        let view = View::new(&data, rows, columns).unwrap();
        let by_rows = BitMatrix::binarize(&view, &Binarize::default(), &control()).unwrap();
        for (packing, padding) in layouts() {
            let how = Binarize { packing, padding, ..Binarize::default() };
            let matrix = BitMatrix::binarize(&view, &how, &control()).unwrap();
            holds(&matrix, |i, j| data[i * columns + j] >= 0.0);
            assert_eq!((matrix.nrows(), matrix.ncols(), matrix.levels()), (rows, columns, Levels::Signs));
            let signs: Vec<f32> = data.iter().map(|&x| if x >= 0.0 { 1.0 } else { -1.0 }).collect();
            assert_eq!(matrix.to_dense(&control()).unwrap(), signs);
            assert_eq!(by_rows.repacked(packing, padding, &control()).unwrap(), matrix);
            assert_eq!(matrix.repacked(Packing::Rows, TileShape::WORD, &control()).unwrap(), by_rows);
            let again = BitMatrix::from_words(*matrix.layout(), Levels::Signs, matrix.words().clone(), Scales::None);
            assert_eq!(again, Ok(matrix));
        }
    }
}

#[test]
fn transposes_share_the_words() {
    let (rows, columns) = (37, 81);
    let data = floats(rows * columns, 2);
    let view = View::new(&data, rows, columns).unwrap();
    let how = Binarize { scaling: Scaling::RowMeans, ..Binarize::default() };
    let matrix = BitMatrix::binarize(&view, &how, &control()).unwrap();
    let transposed = matrix.transposed();
    assert!(std::ptr::eq(&matrix.words()[0], &transposed.words()[0]));
    assert_eq!((transposed.nrows(), transposed.ncols(), transposed.layout().packing()), (columns, rows, Packing::Columns));
    for i in 0..rows {
        for j in 0..columns {
            assert_eq!(matrix.value(i, j), transposed.value(j, i));
        }
    }
    assert_eq!(transposed.transposed(), matrix);
}

#[test]
fn thresholds_decide_where_elements_equal_them() {
    let (rows, columns) = (40, 70);
    let data: Vec<f32> = (0..rows * columns).map(|k| (k * 7 % 5) as f32).collect();
    let thresholds: Vec<f32> = (0..columns).map(|j| (j % 6) as f32 - 0.5 * (j % 2) as f32).collect();
    let view = View::new(&data, rows, columns).unwrap();
    for (packing, padding) in layouts() {
        let how = |threshold| Binarize { packing, padding, threshold, scaling: Scaling::None };
        let from = BitMatrix::binarize(&view, &how(Threshold::From(&thresholds)), &control()).unwrap();
        holds(&from, |i, j| data[i * columns + j] >= thresholds[j]);
        let above = BitMatrix::binarize(&view, &how(Threshold::Above(&thresholds)), &control()).unwrap();
        holds(&above, |i, j| data[i * columns + j] > thresholds[j]);
        assert_ne!(from, above);
    }
    let with = |thresholds: &[f32]| {
        BitMatrix::binarize(&view, &Binarize { threshold: Threshold::From(thresholds), ..Binarize::default() }, &control())
    };
    assert!(matches!(with(&thresholds[1..]), Err(Error::Length { array: "thresholds", expected: 70, found: 69 })));
    let mut bad = thresholds.clone();
    bad[9] = f32::NAN;
    assert!(matches!(with(&bad), Err(Error::Invalid { array: "thresholds", position: 9, .. })));
}

#[test]
fn scales_are_mean_magnitudes() {
    for (rows, columns) in crate::common::SHAPES {
        let data = floats(rows * columns, 3);
        let view = View::new(&data, rows, columns).unwrap();
        let get = |scaling| BitMatrix::binarize(&view, &Binarize { scaling, ..Binarize::default() }, &control()).unwrap();
        let mean = |elements: Vec<f32>| {
            let sum: f64 = elements.iter().map(|x| f64::from(x.abs())).sum();
            if elements.is_empty() { 0.0 } else { (sum / elements.len() as f64) as f32 }
        };
        let (by_row, by_column) = (get(Scaling::RowMeans), get(Scaling::ColumnMeans));
        let (Scales::Rows(r), Scales::Columns(c)) = (by_row.scales(), by_column.scales()) else { panic!("other scales") };
        assert_eq!((r.len(), c.len()), (rows, columns));
        for i in 0..rows {
            let wanted = mean(view.row(i).to_vec());
            assert!((r[i] - wanted).abs() <= 1e-6 * wanted, "{} {wanted}", r[i]);
        }
        for j in 0..columns {
            let wanted = mean((0..rows).map(|i| view.row(i)[j]).collect());
            assert!((c[j] - wanted).abs() <= 1e-6 * wanted, "{} {wanted}", c[j]);
        }
        for (matrix, count) in [(by_row, rows), (by_column, columns)] {
            let dense = matrix.to_dense(&control()).unwrap();
            for k in 0..rows * columns {
                let (i, j) = (k / columns, k % columns);
                assert_eq!(dense[k], matrix.value(i, j));
                assert_eq!(dense[k], matrix.scales().get(i, j) * if data[k] >= 0.0 { 1.0 } else { -1.0 });
            }
            assert_eq!(matrix.bytes(), matrix.layout().bytes() + 4 * count as u64);
            assert_eq!(matrix.float_bytes(), 4 * data.len() as u64);
        }
    }
}

#[test]
fn what_is_not_finite() {
    let mut data = vec![1.0f32; 50 * 700];
    data[33 * 700 + 600] = f32::NEG_INFINITY;
    let get = |data: &[f32], packing, scaling| {
        BitMatrix::binarize(&View::new(data, 50, 700).unwrap(), &Binarize { packing, scaling, ..Binarize::default() }, &control())
    };
    for packing in [Packing::Rows, Packing::Columns] {
        let signs = get(&data, packing, Scaling::None).unwrap();
        holds(&signs, |i, j| (i, j) != (33, 600));
        for scaling in [Scaling::RowMeans, Scaling::ColumnMeans] {
            assert_eq!(get(&data, packing, scaling), Err(Error::Infinite { row: 33, column: 600 }));
        }
        let mut data = data.clone();
        data[20 * 700 + 699] = f32::NAN;
        for scaling in [Scaling::None, Scaling::RowMeans, Scaling::ColumnMeans] {
            assert_eq!(get(&data, packing, scaling), Err(Error::NotANumber { row: 20, column: 699 }));
        }
    }
}

#[test]
fn other_types_and_strides() {
    let wide: Vec<half::f16> = floats(20 * 50, 5).into_iter().map(half::f16::from_f32).collect();
    let view = View::strided(&wide[3..], 20, 45, 50).unwrap();
    let matrix = BitMatrix::binarize(&view, &Binarize::default(), &control()).unwrap();
    holds(&matrix, |i, j| wide[3 + i * 50 + j].to_f32() >= 0.0);
    let bytes: Vec<i8> = (0..100).map(|k| (k * 37 % 19 - 9) as i8).collect();
    let matrix = BitMatrix::binarize(&View::new(&bytes, 10, 10).unwrap(), &Binarize::default(), &control()).unwrap();
    holds(&matrix, |i, j| bytes[i * 10 + j] >= 0);
}

#[test]
fn patterns_become_zeros_and_ones() {
    for (rows, columns) in crate::common::SHAPES {
        let mut random = crate::common::Random(6);
        let entries: Vec<Vec<u32>> =
            (0..rows).map(|i| (0..columns as u32).filter(|_| random.below(2 + i as u64 % 7) == 0).collect()).collect();
        let mut offsets = vec![0];
        entries.iter().for_each(|row| offsets.push(offsets[offsets.len() - 1] + row.len()));
        let csr = Csr::new(rows, columns, Offsets::from_usizes(&offsets), entries.concat().into()).unwrap();
        for (packing, padding) in layouts() {
            let matrix = BitMatrix::from_csr(&csr, packing, padding, &control()).unwrap();
            holds(&matrix, |i, j| entries[i].binary_search(&(j as u32)).is_ok());
            assert_eq!((matrix.count_ones(), matrix.levels()), (csr.nnz() as u64, Levels::ZeroOne));
        }
    }
}

#[test]
fn breaches_are_found() {
    let layout = BitLayout::new(3, 40, Packing::Rows, TileShape::TILE_8X128).unwrap();
    let new = |words: Vec<u32>, scales| BitMatrix::from_words(layout, Levels::Signs, words.into(), scales);
    assert!(new(vec![0; 32], Scales::None).is_ok());
    assert!(matches!(new(vec![0; 31], Scales::None), Err(Error::Length { array: "words", expected: 32, found: 31 })));
    for (word, bits) in [(1, 0x100), (2, 1), (12, 1), (31, 1)] {
        let mut words = vec![0; 32];
        words[word] = bits;
        assert!(matches!(new(words, Scales::None), Err(Error::Invalid { array: "words", position, .. }) if position == word as u64));
    }
    let rows = |s: &[f32]| new(vec![0; 32], Scales::Rows(s.to_vec().into()));
    assert!(rows(&[0.0, 1.0, 2.0]).is_ok());
    assert!(matches!(rows(&[1.0, 2.0]), Err(Error::Length { array: "scales", .. })));
    for bad in [-1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(rows(&[1.0, bad, 2.0]), Err(Error::Invalid { array: "scales", position: 1, .. })));
    }
    assert!(matches!(
        new(vec![0; 32], Scales::None).unwrap().with_scales(Scales::Columns(vec![1.0; 3].into())),
        Err(Error::Length { array: "scales", expected: 40, found: 3 })
    ));
}

#[test]
fn threads_do_not_change_the_result_and_work_can_be_stopped() {
    let (rows, columns) = (3001, 77);
    let data = floats(rows * columns, 7);
    let view = View::new(&data, rows, columns).unwrap();
    let in_pool = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            [Packing::Rows, Packing::Columns].map(|packing| {
                let how = Binarize { packing, scaling: Scaling::ColumnMeans, ..Binarize::default() };
                BitMatrix::binarize(&view, &how, &control()).unwrap()
            })
        })
    };
    let one = in_pool(1);
    assert!(one == in_pool(2) && one == in_pool(5));
    let stopped = Control::default().with_cancel(Arc::new(AtomicBool::new(true)));
    for packing in [Packing::Rows, Packing::Columns] {
        let how = Binarize { packing, ..Binarize::default() };
        assert_eq!(BitMatrix::binarize(&view, &how, &stopped), Err(Error::Cancelled));
        assert_eq!(one[0].repacked(packing, TileShape::TILE_8X128, &stopped), Err(Error::Cancelled));
    }
    assert_eq!(one[0].to_dense(&stopped), Err(Error::Cancelled));
}
