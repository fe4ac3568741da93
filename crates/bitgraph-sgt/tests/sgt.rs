//! Translations, their blocks and their numbers against plain definitions, over every awkward pattern, height and order.

use bitgraph_sgt::{BlockShape, Error, Greedy, MaskOrder, RowOrder, Sgt, SgtConfig, Statistics, greedy};
use bitgraph_sparse::{Control, Coo, Csr, Duplicates, Format, Permutation, SectionData, Sections};
use bitgraph_testkit::{cases, corpus, rectangular};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const ALWAYS: Greedy = Greedy { min_gain: f64::NEG_INFINITY, symmetric: false };

fn control() -> Control {
    Control::default()
}

fn translate(csr: &Csr, height: u32, order: RowOrder) -> Sgt {
    Sgt::from_csr(csr, &SgtConfig { height, order }, &control()).unwrap()
}

fn generated(text: &str) -> Csr {
    let generator: bitgraph_generate::Generator = text.parse().unwrap();
    generator.generate(&control()).unwrap()
}

fn sections<F: Format>(format: &F) -> Sections {
    format.sections().into_iter().map(|s| (s.name.to_string(), s.data)).collect()
}

fn patterns() -> Vec<(String, Csr)> {
    let mut all: Vec<(String, Csr)> = corpus().into_iter().map(|g| (g.name, g.csr)).collect();
    all.extend(rectangular());
    // A row, and a column, longer than the others by far; more than one chunk of windows.
    let wide = Coo::pattern(40, 5000, vec![17; 4000], (0..4000).collect()).into_csr(Duplicates::First).unwrap().0;
    all.push(("one long row".into(), wide.clone()));
    all.push(("one long column".into(), wide.transpose()));
    all
}

fn orders(csr: &Csr) -> [RowOrder; 3] {
    let shuffled = cases::distinct_indices(csr.nrows(), csr.nrows(), 3);
    [RowOrder::Natural, RowOrder::Given(Permutation::from_old_of_new(shuffled).unwrap()), RowOrder::Greedy(ALWAYS)]
}

/// The distinct columns of each window, from the definition.
fn distinct(csr: &Csr, sgt: &Sgt) -> Vec<BTreeSet<u32>> {
    let rows: Vec<usize> = (0..csr.nrows()).map(|place| sgt.row_at(place)).collect();
    rows.chunks(sgt.height()).map(|window| window.iter().flat_map(|&row| csr.row(row).iter().copied()).collect()).collect()
}

fn holds(name: &str, csr: &Csr, sgt: &Sgt) {
    assert_eq!((sgt.nrows(), sgt.ncols(), sgt.nnz()), (csr.nrows(), csr.ncols(), csr.nnz()), "{name}");
    assert_eq!(sgt.windows(), csr.nrows().div_ceil(sgt.height()), "{name}");
    let mut seen: Vec<usize> = (0..csr.nrows()).map(|place| sgt.row_at(place)).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..csr.nrows()), "{name}: every row once");
    let (edge_to_col, edge_to_row, partition) = (sgt.edge_to_col(), sgt.edge_to_row(), sgt.win_partition(8));
    for (w, columns) in distinct(csr, sgt).iter().enumerate() {
        let columns: Vec<u32> = columns.iter().copied().collect();
        assert_eq!(sgt.window_columns(w), columns, "{name} window {w}");
        assert_eq!(partition[w] as usize, columns.len().div_ceil(8));
        for (r, place) in sgt.places(w).enumerate() {
            for k in csr.row_range(sgt.row_at(place)) {
                assert_eq!(columns[edge_to_col[k] as usize], csr.indices()[k], "{name} entry {k}");
                assert_eq!(usize::from(edge_to_row[k]), r, "{name} entry {k}");
            }
        }
    }
    assert_eq!(&sgt.to_csr(), csr, "{name}");
    let stored: u64 = sgt.sections().iter().map(|s| s.data.bytes().len() as u64).sum();
    assert_eq!(sgt.bytes(), stored);
    assert_eq!(Sgt::from_sections(csr.nrows(), csr.ncols(), &sections(sgt)).as_ref(), Ok(sgt), "{name}");
}

#[test]
fn every_pattern_height_and_order() {
    for (name, csr) in patterns() {
        for height in [1, 5, 8, 16, 256] {
            for order in orders(&csr) {
                holds(&format!("{name}, windows of {height}"), &csr, &translate(&csr, height, order));
            }
        }
    }
}

#[test]
fn blocks_hold_every_entry_once_and_nothing_else() {
    let shapes = [
        BlockShape::TF32_16X8,
        BlockShape::HALF_16X16,
        BlockShape::BITS_16X256,
        BlockShape::TF32_8X4,
        BlockShape::VECTORS_8X8,
        BlockShape::HALF_8X16,
        BlockShape::new(1, 32).unwrap(),
        BlockShape::new(32, 3).unwrap(),
    ];
    for (name, csr) in patterns() {
        for shape in shapes {
            for order in orders(&csr) {
                let sgt = translate(&csr, shape.height() as u32, order);
                let partition = sgt.win_partition(shape.width());
                for mask_order in [MaskOrder::Rows, MaskOrder::Columns] {
                    let blocks = sgt.blocks(shape, mask_order, &control()).unwrap();
                    let words = blocks.columns().len() + blocks.masks().len();
                    assert_eq!(blocks.bytes(), blocks.offsets().bytes() + 4 * words as u64);
                    let mut found = Vec::new();
                    for w in 0..sgt.windows() {
                        let range = blocks.offsets().get(w)..blocks.offsets().get(w + 1);
                        assert_eq!(range.len(), partition[w] as usize, "{name}");
                        for k in range {
                            let columns = blocks.block_columns(k);
                            // Only the last block of a window repeats its last column.
                            assert!(
                                columns.windows(2).all(|c| c[0] < c[1] || c[0] == c[1] && c[1] == *sgt.window_columns(w).last().unwrap())
                            );
                            for r in 0..shape.height() {
                                for (c, &column) in columns.iter().enumerate().filter(|(c, _)| blocks.bit(k, r, *c)) {
                                    assert!(c == 0 || columns[c - 1] < column, "{name}: an entry in a repeated column");
                                    found.push((sgt.row_at(sgt.places(w).start + r), column));
                                }
                            }
                        }
                    }
                    found.sort_unstable();
                    let wanted: Vec<(usize, u32)> = (0..csr.nrows()).flat_map(|i| csr.row(i).iter().map(move |&j| (i, j))).collect();
                    assert_eq!(found, wanted, "{name} {shape:?}");
                }
            }
        }
    }
}

#[test]
fn the_bits_lie_where_the_order_says() {
    let csr = Coo::pattern(8, 90, vec![0, 1, 7, 7], vec![10, 20, 20, 80]).into_csr(Duplicates::First).unwrap().0;
    let sgt = translate(&csr, 8, RowOrder::Natural);
    let mask = |order| sgt.blocks(BlockShape::TF32_8X4, order, &control()).unwrap().mask(0).to_vec();
    // Rows of 4 bits: column 0 of row 0, column 1 of row 1, columns 1 and 2 of row 7.
    assert_eq!(mask(MaskOrder::Rows), [1 | 0b0010 << 4 | 0b0110 << 28]);
    // Columns of 8 bits.
    assert_eq!(mask(MaskOrder::Columns), [1 | (1 << 1 | 1 << 7) << 8 | (1 << 7) << 16]);
    assert_eq!(sgt.blocks(BlockShape::TF32_8X4, MaskOrder::Rows, &control()).unwrap().block_columns(0), [10, 20, 80, 80]);
}

#[test]
fn statistics_count_what_is_there() {
    for (name, csr) in patterns() {
        for shape in [BlockShape::TF32_16X8, BlockShape::HALF_16X16, BlockShape::VECTORS_8X8] {
            for order in orders(&csr) {
                let natural = order == RowOrder::Natural;
                let sgt = translate(&csr, shape.height() as u32, order);
                let counts = sgt.statistics(shape).unwrap();
                let windows = distinct(&csr, &sgt);
                let sum = |f: &dyn Fn(&BTreeSet<u32>) -> usize| windows.iter().map(f).sum::<usize>() as u64;
                let wide = |columns: &BTreeSet<u32>| columns.iter().map(|c| c / shape.width() as u32).collect::<BTreeSet<_>>().len();
                assert_eq!(counts.rows, csr.nrows() as u64, "{name}");
                assert_eq!(counts.entries, csr.nnz() as u64);
                assert_eq!(counts.windows, windows.len() as u64);
                assert_eq!(counts.empty_windows, sum(&|w| usize::from(w.is_empty())));
                assert_eq!(counts.distinct_columns, sum(&BTreeSet::len));
                assert_eq!(counts.most_columns, windows.iter().map(BTreeSet::len).max().unwrap_or(0) as u64);
                assert_eq!(counts.blocks, sum(&|w| w.len().div_ceil(shape.width())));
                assert_eq!(counts.most_blocks, u64::from(sgt.win_partition(shape.width()).into_iter().max().unwrap_or(0)));
                assert_eq!(counts.untranslated_blocks, sum(&wide));
                assert!(counts.exact && counts.blocks <= counts.untranslated_blocks);
                assert!((0.0..=1.0).contains(&counts.fill()) && counts.untranslated_fill() <= counts.fill());
                let blocks = sgt.blocks(shape, MaskOrder::Rows, &control()).unwrap();
                assert_eq!((counts.blocks, counts.block_bytes()), (blocks.count() as u64, blocks.bytes()));
                if natural {
                    assert_eq!(Statistics::sampled(&csr, shape, windows.len() + 1, 7), counts, "{name}");
                }
            }
        }
    }
}

#[test]
fn translation_saves_blocks_where_columns_are_scattered() {
    // Dense blocks on the diagonal, as in a batch of small graphs: condensed already.
    let dense = (0..320u32).flat_map(|i| (0..16).map(move |j| (i, i / 16 * 16 + j)));
    let (rows, columns): (Vec<u32>, Vec<u32>) = dense.unzip();
    let batch = Coo::pattern(320, 320, rows, columns).into_csr(Duplicates::First).unwrap().0;
    let counts = translate(&batch, 16, RowOrder::Natural).statistics(BlockShape::TF32_16X8).unwrap();
    assert_eq!((counts.blocks, counts.reduction(), counts.fill()), (40, 0.0, 1.0));
    assert_eq!((counts.entries_per_vector(), counts.columns_per_row(), counts.columns_per_entry()), (16.0, 1.0, 1.0 / 16.0));
    // Far apart: every block holds one column, translation fills eight.
    let apart = (0..320u32).flat_map(|i| (0..16).map(move |j| (i, j * 100 + i / 16)));
    let (rows, columns): (Vec<u32>, Vec<u32>) = apart.unzip();
    let scattered = Coo::pattern(320, 1700, rows, columns).into_csr(Duplicates::First).unwrap().0;
    let counts = translate(&scattered, 16, RowOrder::Natural).statistics(BlockShape::TF32_16X8).unwrap();
    assert_eq!((counts.blocks, counts.untranslated_blocks, counts.reduction()), (40, 320, 0.875));
}

#[test]
fn estimates_are_near() {
    for text in ["urand:20000:8", "grid:150x150", "kron:14"] {
        let csr = generated(text);
        let exact = translate(&csr, 16, RowOrder::Natural).statistics(BlockShape::TF32_16X8).unwrap();
        let guess = Statistics::sampled(&csr, BlockShape::TF32_16X8, 200, 1);
        assert!(!guess.exact && guess == Statistics::sampled(&csr, BlockShape::TF32_16X8, 200, 1));
        for (guess, exact) in [
            (guess.distinct_columns, exact.distinct_columns),
            (guess.blocks, exact.blocks),
            (guess.untranslated_blocks, exact.untranslated_blocks),
        ] {
            assert!((guess as f64 / exact as f64 - 1.0).abs() < 0.1, "{text}: {guess} for {exact}");
        }
    }
}

#[test]
fn greedy_windows_share_columns_where_there_are_some_to_share() {
    let columns = |csr: &Csr, order| translate(csr, 16, order).statistics(BlockShape::TF32_16X8).unwrap().columns_per_row();
    // On a large grid and mesh, whole searches reach 1.64 and 6.24; these are small, and have more border.
    for (text, natural, chosen) in [("grid:300x300", 3.1, 1.8), ("mesh:30x30x30", 9.2, 6.4)] {
        let csr = generated(text);
        let how = Greedy { symmetric: true, ..Greedy::default() };
        assert!(columns(&csr, RowOrder::Natural) > natural, "{text}");
        let order = greedy(&csr, 16, &how, &control()).unwrap().expect("a gain");
        let reached = columns(&csr, RowOrder::Given(order.clone()));
        assert!(reached < chosen, "{text}: {reached}");
        // Found to be symmetric by transposing gives the same.
        assert_eq!(greedy(&csr, 16, &Greedy::default(), &control()).unwrap(), Some(order.clone()));
        let sgt = translate(&csr, 16, RowOrder::Greedy(how));
        assert_eq!(sgt.order().map(|o| o.to_vec()), Some(order.old_of_new().to_vec()));
        holds(text, &csr, &sgt);
    }
    // Rows that are equal in groups, scattered: columns that only a pattern of another shape has.
    let rows = 3000u32;
    let groups = (0..rows).flat_map(|i| (0..5).map(move |j| (i, (i.wrapping_mul(2_654_435_761) % 100) * 37 + j)));
    let (r, c): (Vec<u32>, Vec<u32>) = groups.unzip();
    let csr = Coo::pattern(rows as usize, 4000, r, c).into_csr(Duplicates::First).unwrap().0;
    let order = greedy(&csr, 16, &Greedy::default(), &control()).unwrap().expect("a gain");
    assert!(columns(&csr, RowOrder::Natural) > 3.0 && columns(&csr, RowOrder::Given(order)) < 0.8);
}

#[test]
fn greedy_leaves_what_has_nothing_to_share() {
    for text in ["urand:30000:8", "kron:13"] {
        let csr = generated(text);
        assert_eq!(greedy(&csr, 16, &Greedy::default(), &control()), Ok(None), "{text}");
        assert_eq!(translate(&csr, 16, RowOrder::Greedy(Greedy::default())).order(), None);
        // Nor does a gain that is not a number.
        assert_eq!(greedy(&csr, 16, &Greedy { min_gain: f64::NAN, symmetric: true }, &control()), Ok(None));
    }
    for (name, csr) in patterns() {
        let order = greedy(&csr, 16, &Greedy { min_gain: 0.0, symmetric: true }, &control()).unwrap();
        assert!(order.is_none_or(|order| order.len() == csr.nrows()), "{name}");
    }
    assert_eq!(greedy(&generated("grid:30x30"), 1, &ALWAYS, &control()), Ok(None));
}

#[test]
fn threads_do_not_change_the_result_and_work_can_be_stopped() {
    // Several chunks, which the largest windows do not divide.
    let csr = generated("grid:250x250");
    let in_pool = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            [(16, RowOrder::Natural), (16, RowOrder::Greedy(ALWAYS)), (100, RowOrder::Greedy(ALWAYS))].map(|(height, order)| {
                let sgt = translate(&csr, height, order);
                assert_eq!(sgt.to_csr(), csr);
                let blocks = sgt.blocks(BlockShape::new(height, 16).unwrap(), MaskOrder::Rows, &control()).unwrap();
                (sgt, blocks)
            })
        })
    };
    let one = in_pool(1);
    assert!(one == in_pool(2) && one == in_pool(5));
    let stopped = Control::default().with_cancel(Arc::new(AtomicBool::new(true)));
    for order in [RowOrder::Natural, RowOrder::Greedy(ALWAYS)] {
        assert_eq!(Sgt::from_csr(&csr, &SgtConfig { height: 16, order }, &stopped), Err(Error::Cancelled));
    }
    assert_eq!(one[0].0.blocks(BlockShape::HALF_16X16, MaskOrder::Rows, &stopped), Err(Error::Cancelled));
}

#[test]
fn what_does_not_fit_is_refused() {
    let csr = generated("grid:10x10");
    let new = |height, order| Sgt::from_csr(&csr, &SgtConfig { height, order }, &control());
    assert_eq!(new(0, RowOrder::Natural), Err(Error::Height { height: 0 }));
    assert_eq!(new(257, RowOrder::Greedy(ALWAYS)), Err(Error::Height { height: 257 }));
    let short = Permutation::from_old_of_new(vec![1, 0]).unwrap();
    assert_eq!(new(16, RowOrder::Given(short)), Err(Error::Order { expected: 100, found: 2 }));
    let sgt = new(16, RowOrder::Natural).unwrap();
    let error = Error::BlockHeight { expected: 16, found: 8 };
    assert_eq!(sgt.blocks(BlockShape::VECTORS_8X8, MaskOrder::Rows, &control()), Err(error.clone()));
    assert_eq!(sgt.statistics(BlockShape::VECTORS_8X8), Err(error));
}

#[test]
fn breaches_are_found() {
    use bitgraph_sparse::Error::{Invalid, Length, Section};
    // Windows of two: columns {1, 3} and {0, 2}.
    let csr = Coo::pattern(4, 5, vec![0, 0, 1, 2, 3], vec![1, 3, 3, 2, 0]).into_csr(Duplicates::First).unwrap().0;
    let order = RowOrder::Given(Permutation::from_old_of_new(vec![1, 0, 2, 3]).unwrap());
    let good = sections(&translate(&csr, 2, order));
    let with = |name: &str, data: SectionData| {
        let mut changed = good.clone();
        changed.insert(name.to_string(), data);
        Sgt::from_sections(4, 5, &changed)
    };
    let u32s = |numbers: &[u32]| SectionData::U32(numbers.to_vec().into());
    assert!(Sgt::from_sections(4, 5, &good).is_ok());
    assert!(matches!(with("height", u32s(&[0])), Err(Invalid { array: "height", .. })));
    assert!(matches!(with("height", u32s(&[257])), Err(Invalid { array: "height", .. })));
    assert!(matches!(with("height", u32s(&[2, 2])), Err(Length { array: "height", .. })));
    assert!(matches!(with("height", u32s(&[3])), Err(Invalid { .. } | Length { .. })));
    assert!(matches!(with("height", u32s(&[1])), Err(Length { array: "column_offsets", .. })));
    assert!(matches!(with("offsets", u32s(&[0, 2, 3, 4])), Err(Length { array: "offsets", .. })));
    assert!(matches!(with("offsets", u32s(&[1, 2, 3, 4, 5])), Err(Invalid { array: "offsets", position: 0, .. })));
    assert!(matches!(with("offsets", u32s(&[0, 3, 2, 4, 5])), Err(Invalid { array: "offsets", position: 2, .. })));
    assert!(matches!(with("offsets", u32s(&[0, 2, 3, 4, 6])), Err(Length { array: "edge_to_col", expected: 6, found: 5 })));
    assert!(matches!(with("row_order", u32s(&[0, 1, 2])), Err(Length { array: "row_order", .. })));
    assert!(matches!(with("row_order", u32s(&[0, 1, 1, 2])), Err(Invalid { array: "row_order", position: 2, .. })));
    assert!(matches!(with("row_order", u32s(&[0, 1, 2, 4])), Err(Invalid { array: "row_order", position: 3, .. })));
    assert!(matches!(with("columns", u32s(&[3, 1, 0, 2])), Err(Invalid { array: "columns", position: 1, .. })));
    assert!(matches!(with("columns", u32s(&[1, 3, 0, 5])), Err(Invalid { array: "columns", .. })));
    assert!(matches!(with("columns", u32s(&[1, 3, 0])), Err(Length { array: "columns", .. })));
    assert!(matches!(with("edge_to_col", u32s(&[0, 1, 2, 1, 0])), Err(Invalid { array: "edge_to_col", position: 2, .. })));
    assert!(matches!(with("edge_to_col", u32s(&[1, 1, 0, 1, 0])), Err(Invalid { array: "edge_to_col", position: 1, .. })));
    assert!(matches!(with("edge_to_col", u32s(&[0, 1, 1, 0, 0])), Err(Invalid { array: "columns", position: 3, .. })));
    assert!(matches!(with("edge_to_col", SectionData::U8(vec![0].into())), Err(Section { .. })));
    assert!(matches!(with("row_order", SectionData::U8(vec![0].into())), Err(Section { .. })));
    for name in good.keys().filter(|name| *name != "row_order") {
        let mut missing = good.clone();
        missing.remove(name);
        assert!(matches!(Sgt::from_sections(4, 5, &missing), Err(Section { .. })), "{name}");
    }
    assert!(Sgt::from_sections(5, 5, &good).is_err() && Sgt::from_sections(4, 2, &good).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn random_patterns(
        rows in 1usize..90,
        columns in 1usize..200,
        entries in prop::collection::vec(any::<(u32, u32)>(), 0..600),
        height in 1u32..40,
        which in 0usize..3,
    ) {
        let (r, c): (Vec<u32>, Vec<u32>) = entries.iter().map(|&(i, j)| (i % rows as u32, j % columns as u32)).unzip();
        let csr = Coo::pattern(rows, columns, r, c).into_csr(Duplicates::First).unwrap().0;
        let [natural, given, greedy] = orders(&csr);
        let sgt = translate(&csr, height, [natural, given, greedy][which].clone());
        holds("random", &csr, &sgt);
        // Each distinct column of a window holds as many entries as its vector has bits.
        let shape = BlockShape::new(height, 32).unwrap();
        let blocks = sgt.blocks(shape, MaskOrder::Columns, &control()).unwrap();
        let mut counts: BTreeMap<(usize, u32), u32> = BTreeMap::new();
        for w in 0..sgt.windows() {
            for place in sgt.places(w) {
                csr.row(sgt.row_at(place)).iter().for_each(|&j| *counts.entry((w, j)).or_default() += 1);
            }
        }
        for ((w, j), count) in counts {
            let c = sgt.window_columns(w).binary_search(&j).unwrap();
            let k = blocks.offsets().get(w) + c / 32;
            prop_assert_eq!((0..shape.height()).filter(|&r| blocks.bit(k, r, c % 32)).count() as u32, count);
        }
    }
}
