//! The hybrid, the grouped tiles and the tile counts against the formats themselves.

mod common;

use bitgraph_b2sr::{B2sr, Grouped, Hybrid, HybridConfig, Tile, Tile4, Tile8, Tile16, Tile32, TileCounts};
use bitgraph_sparse::{Error, Format, FormatKind, Sections};

#[test]
fn hybrid_round_trips() {
    for (name, csr) in common::corpus() {
        for (min_entries, min_share) in [(1, 0.0), (4, 0.0), (4, 0.125), (4, 0.9), (65, 0.0)] {
            let config = HybridConfig { min_entries, min_share };
            let hybrid = Hybrid::from_csr_with(&csr, &config);
            assert_eq!(hybrid.to_csr(), csr, "{name} {config:?}");
            assert_eq!(Format::nnz(&hybrid), csr.nnz());
            assert_eq!(hybrid.transpose().to_csr(), csr.transpose(), "{name} {config:?}");
            assert_eq!(hybrid.bytes(), Format::bytes(&hybrid));
            assert!(hybrid.tiles().tiles().iter().all(|t| t.count() >= min_entries));
            let sections: Sections = hybrid.sections().into_iter().map(|s| (s.name.to_string(), s.data)).collect();
            assert_eq!(Hybrid::from_sections(csr.nrows(), csr.ncols(), &sections).as_ref(), Ok(&hybrid), "{name}");
            let counts = TileCounts::exact_with_hybrid(&csr, &config);
            assert_eq!(counts.bytes(FormatKind::Hybrid), Some(hybrid.bytes()), "{name} {config:?}");
            if min_entries == 1 {
                assert_eq!(hybrid.list().nnz(), 0);
            }
        }
    }
}

#[test]
fn an_entry_may_not_be_in_both_parts() {
    let csr = common::grid(31, 23);
    let hybrid = Hybrid::from_csr(&csr);
    assert!(hybrid.tiles().tile_count() > 0 && hybrid.list().nnz() > 0);
    assert!(matches!(Hybrid::new(hybrid.tiles().clone(), csr.clone()), Err(Error::Invalid { array: "list_indices", .. })));
    assert!(matches!(Hybrid::new(hybrid.tiles().clone(), common::grid(3, 3)), Err(Error::Shape { .. })));
}

fn grouped<T: Tile>(csr: &bitgraph_sparse::Csr) -> u64 {
    let matrix = B2sr::<T>::from_csr(csr);
    let grouped = Grouped::new(&matrix);
    let mut at = 0;
    let mut order = grouped.order().iter();
    for group in grouped.groups() {
        for _ in 0..group.rows {
            let range = matrix.tile_range(*order.next().expect("a tile row") as usize);
            assert_eq!(range.len(), group.tiles as usize);
            assert_eq!(grouped.tiles()[at..at + range.len()], matrix.tiles()[range.clone()]);
            assert_eq!(grouped.tile_columns()[at..at + range.len()], matrix.tile_columns()[range.clone()]);
            at += range.len();
        }
    }
    assert!(order.next().is_none() && at == matrix.tile_count());
    assert!(grouped.groups().windows(2).all(|w| w[0].tiles < w[1].tiles));
    matrix.bytes()
}

#[test]
fn counts_are_those_of_the_formats() {
    for (name, csr) in common::corpus() {
        let counts = TileCounts::exact(&csr);
        assert_eq!(counts.bytes(FormatKind::B2sr4), Some(grouped::<Tile4>(&csr)), "{name}");
        assert_eq!(counts.bytes(FormatKind::B2sr8), Some(grouped::<Tile8>(&csr)), "{name}");
        assert_eq!(counts.bytes(FormatKind::B2sr16), Some(grouped::<Tile16>(&csr)), "{name}");
        assert_eq!(counts.bytes(FormatKind::B2sr32), Some(grouped::<Tile32>(&csr)), "{name}");
        assert_eq!(counts.bytes(FormatKind::Csr), Some(csr.bytes()), "{name}");
        assert_eq!(counts.float_csr_bytes(), csr.bytes() + 4 * csr.nnz() as u64);
    }
}

#[test]
fn sampling_is_deterministic_and_close() {
    let csr = common::grid(120, 120);
    let (a, b, exact) = (TileCounts::sampled(&csr, 60, 7), TileCounts::sampled(&csr, 60, 7), TileCounts::exact(&csr));
    assert_eq!(a, b);
    assert!(!a.exact && exact.exact);
    for (s, e) in a.tiles.iter().zip(exact.tiles) {
        assert!((*s as f64 - e as f64).abs() < 0.05 * e as f64, "{s} estimated, {e} counted");
    }
    assert_eq!(TileCounts::sampled(&csr, 1_000_000, 7), exact);
}
