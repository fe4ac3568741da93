//! Round trips, stitched words, scales and products by Algorithm 1 against plain definitions, over every awkward pattern.

use bitgraph_b2sr::B2sr4;
use bitgraph_frdc::{Frdc, Normalization, Word};
use bitgraph_sparse::{Csr, Error, Format, SectionData, Sections};
use bitgraph_testkit::{cases, corpus, rectangular};
use proptest::prelude::*;

fn patterns() -> Vec<(String, Csr)> {
    let mut all: Vec<(String, Csr)> = corpus().into_iter().map(|g| (g.name, g.csr)).collect();
    all.extend(rectangular());
    all
}

fn sections<F: Format>(format: &F) -> Sections {
    format.sections().into_iter().map(|s| (s.name.to_string(), s.data)).collect()
}

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    cases::indices(count, 1000, seed).into_iter().map(|i| i as f32 / 8.0 - 60.0).collect()
}

fn stitching<W: Word>(name: &str, csr: &Csr, frdc: &Frdc) {
    let (mut found, mut groups, mut bits) = (Vec::new(), 0, 0);
    for t in 0..frdc.tile_rows() {
        let words = frdc.stitched::<W>(t);
        let count = words.len();
        assert_eq!(count, frdc.tiles().tile_range(t).len().div_ceil(W::TILES), "{name}");
        for (g, word) in words.enumerate() {
            assert!(word.tile_columns.len() == W::TILES || g + 1 == count, "{name}: a word that is not full before the last");
            let mut columns = vec![0; W::BITS];
            word.gather(&mut columns);
            assert!(columns.iter().all(|&c| (c as usize) < csr.ncols()), "{name}");
            for (r, row) in word.rows.iter().enumerate() {
                bits += row.count() as usize;
                // Through the gathered columns, as a kernel reads them.
                found.extend((0..W::BITS).filter(|&b| row.bit(b)).map(|b| (4 * t + r, columns[b])));
            }
            let listed: Vec<(usize, u32)> = word.entries().map(|(r, c)| (4 * t + r, c)).collect();
            assert!(listed.iter().all(|&(i, j)| csr.position(i, j).is_some()), "{name}");
            assert_eq!(listed.len(), word.rows.iter().map(|row| row.count() as usize).sum::<usize>(), "{name}");
        }
        groups += count as u64;
    }
    found.sort_unstable();
    let wanted: Vec<(usize, u32)> = (0..csr.nrows()).flat_map(|i| csr.row(i).iter().map(move |&j| (i, j))).collect();
    assert_eq!(found, wanted, "{name}");
    assert_eq!((frdc.groups::<W>(), bits), (groups, csr.nnz()), "{name}");
    let fill = if groups == 0 { 0.0 } else { csr.nnz() as f64 / (groups * 4) as f64 / W::BITS as f64 };
    assert!((frdc.word_fill::<W>() - fill).abs() < 1e-12);
}

#[test]
fn every_pattern() {
    for (name, csr) in patterns() {
        let frdc = Frdc::from_csr(&csr);
        assert_eq!((frdc.shape(), frdc.nnz(), frdc.tile_rows()), ((csr.nrows(), csr.ncols()), csr.nnz(), csr.nrows().div_ceil(4)));
        assert_eq!(frdc.to_csr(), csr, "{name}");
        assert_eq!(frdc, Frdc::from(B2sr4::from_csr(&csr)));
        stitching::<u32>(&name, &csr, &frdc);
        stitching::<u64>(&name, &csr, &frdc);
        assert_eq!(frdc.csr_bytes(), csr.bytes());
        assert_eq!(frdc.float_csr_bytes(), csr.bytes() + 4 * csr.nnz() as u64);

        let (rows, columns) = (numbers(csr.nrows(), 1), numbers(csr.ncols(), 2));
        for (r, c) in [(None, None), (Some(&rows[..]), None), (None, Some(&columns[..])), (Some(&rows[..]), Some(&columns[..]))] {
            let frdc = frdc.clone().with_scales(r, c).unwrap();
            let stored: u64 = frdc.sections().iter().map(|s| s.data.bytes().len() as u64).sum();
            assert_eq!(frdc.bytes(), stored, "{name}");
            let scales = r.map_or(0, <[f32]>::len) + c.map_or(0, <[f32]>::len);
            assert_eq!(frdc.bytes(), 6 * frdc.tiles().tile_count() as u64 + 4 * (frdc.tile_rows() + 1 + scales) as u64);
            assert_eq!(Frdc::from_sections(csr.nrows(), csr.ncols(), &sections(&frdc)).as_ref(), Ok(&frdc), "{name}");
            assert_eq!((frdc.row_scales(), frdc.column_scales()), (r, c));
            let transpose = frdc.transpose();
            assert_eq!(transpose.to_csr(), csr.transpose(), "{name}");
            assert_eq!((transpose.row_scales(), transpose.column_scales()), (c, r));
            assert_eq!(transpose.transpose(), frdc);
            for (i, j) in (0..csr.nrows()).flat_map(|i| csr.row(i).iter().map(move |&j| (i, j as usize))) {
                let wanted = r.map_or(1.0, |r| r[i]) * c.map_or(1.0, |c| c[j]);
                assert_eq!((frdc.scale(i, j), transpose.scale(j, i)), (wanted, wanted));
            }
        }
    }
}

#[test]
fn normalisations_are_what_they_say() {
    for (name, csr) in patterns() {
        let by_rows = Frdc::from_csr(&csr).normalized(Normalization::Row);
        let both = Frdc::from_csr(&csr).normalized(Normalization::Symmetric);
        let transpose = csr.transpose();
        for i in 0..csr.nrows() {
            let sum: f64 = csr.row(i).iter().map(|&j| f64::from(by_rows.scale(i, j as usize))).sum();
            let wanted = if csr.degree(i) == 0 { 0.0 } else { 1.0 };
            assert!((sum - wanted).abs() < 1e-5, "{name}: row {i} sums to {sum}");
            assert!(csr.degree(i) > 0 || by_rows.row_scales().unwrap()[i] == 0.0);
            for &j in csr.row(i) {
                let wanted = 1.0 / (csr.degree(i) as f64 * transpose.degree(j as usize) as f64).sqrt();
                assert!((f64::from(both.scale(i, j as usize)) - wanted).abs() < 1e-6 * wanted, "{name}");
            }
        }
        assert_eq!(by_rows.column_scales(), None);
        assert!(both.row_scales().unwrap().iter().chain(both.column_scales().unwrap()).all(|s| s.is_finite()));
    }
}

/// BitGNN's Algorithm 1 on words of either width, one feature at a time: columns are gathered, the signs of the feature at them are packed
/// to a word, and the three ways of section 3.2.2 must agree.
fn products<W: Word + Into<u64>>(frdc: &Frdc, signs: &[bool]) -> Vec<i64> {
    let mut sums = vec![0i64; frdc.nrows().next_multiple_of(4)];
    for t in 0..frdc.tile_rows() {
        for word in frdc.stitched::<W>(t) {
            let mut columns = vec![0; W::BITS];
            word.gather(&mut columns);
            let b: u64 = columns.iter().enumerate().map(|(bit, &c)| u64::from(signs[c as usize]) << bit).sum();
            for (r, &a) in word.rows.iter().enumerate() {
                let a: u64 = a.into();
                let difference = i64::from((a & b).count_ones()) - i64::from((a & !b).count_ones());
                assert_eq!(difference, 2 * i64::from((a & b).count_ones()) - i64::from(a.count_ones()));
                sums[4 * t + r] += difference;
            }
        }
    }
    assert!(sums[frdc.nrows()..].iter().all(|&s| s == 0));
    sums.truncate(frdc.nrows());
    sums
}

#[test]
fn sums_of_signs_over_neighbours() {
    for (name, csr) in patterns() {
        let frdc = Frdc::from_csr(&csr);
        let signs: Vec<bool> = cases::indices(csr.ncols(), 2, 9).into_iter().map(|i| i == 1).collect();
        let sum = |i: usize| csr.row(i).iter().map(|&j| if signs[j as usize] { 1 } else { -1 }).sum::<i64>();
        let wanted: Vec<i64> = (0..csr.nrows()).map(sum).collect();
        assert_eq!(products::<u32>(&frdc, &signs), wanted, "{name}");
        assert_eq!(products::<u64>(&frdc, &signs), wanted, "{name}");
    }
}

#[test]
fn the_tiles_are_shared() {
    let csr = corpus().into_iter().find(|g| g.name == "kron 8").unwrap().csr;
    let tiles = B2sr4::from_csr(&csr);
    let frdc = Frdc::from(tiles.clone()).normalized(Normalization::Symmetric);
    assert!(std::ptr::eq(&tiles.words()[0], &frdc.tiles().words()[0]));
}

#[test]
fn breaches_are_found() {
    let csr = corpus().into_iter().find(|g| g.name == "star").unwrap().csr;
    let frdc = Frdc::from_csr(&csr);
    let n = csr.nrows();
    let length = |expected: usize, found: usize, array| Error::Length { array, expected: expected as u64, found: found as u64 };
    assert_eq!(frdc.clone().with_scales(Some(&[1.0]), None), Err(length(n, 1, "row_scales")));
    assert_eq!(frdc.clone().with_scales(None, Some(&vec![1.0; n + 1])), Err(length(n, n + 1, "column_scales")));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut scales = vec![-1.0; n];
        assert!(frdc.clone().with_scales(Some(&scales), Some(&scales)).is_ok());
        scales[7] = bad;
        let got = frdc.clone().with_scales(Some(&scales), None);
        assert!(matches!(got, Err(Error::Invalid { array: "row_scales", position: 7, .. })));
        let got = frdc.clone().with_scales(None, Some(&scales));
        assert!(matches!(got, Err(Error::Invalid { array: "column_scales", position: 7, .. })));
    }
    let good = sections(&frdc.normalized(Normalization::Symmetric));
    let with = |name: &str, data: SectionData| {
        let mut changed = good.clone();
        changed.insert(name.to_string(), data);
        Frdc::from_sections(n, n, &changed)
    };
    assert!(Frdc::from_sections(n, n, &good).is_ok());
    assert!(matches!(with("row_scales", SectionData::U64(vec![0].into())), Err(Error::Section { .. })));
    assert!(matches!(with("column_scales", SectionData::U32(vec![0].into())), Err(Error::Length { array: "column_scales", .. })));
    let nan = vec![f32::NAN.to_bits(); n];
    assert!(matches!(with("column_scales", SectionData::U32(nan.into())), Err(Error::Invalid { position: 0, .. })));
    assert!(matches!(with("tile_words", SectionData::U16(vec![0].into())), Err(Error::Length { array: "tile_words", .. })));
    let mut missing = good.clone();
    missing.remove("tile_columns");
    assert!(matches!(Frdc::from_sections(n, n, &missing), Err(Error::Section { .. })));
}

proptest! {
    #[test]
    fn random_patterns(rows in 1usize..60, columns in 1usize..400, density in 0.0f64..0.6, seed in any::<u64>()) {
        let csr = cases::matrix::<bool>(rows, columns, density, seed).to_csr().0;
        let frdc = Frdc::from_csr(&csr);
        prop_assert_eq!(&frdc.to_csr(), &csr);
        stitching::<u32>("random", &csr, &frdc);
        stitching::<u64>("random", &csr, &frdc);
        prop_assert_eq!(frdc.transpose(), Frdc::from_csr(&csr.transpose()));
    }
}
