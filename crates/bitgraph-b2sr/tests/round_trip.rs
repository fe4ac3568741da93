//! Conversions, transposes and checked construction of the tile formats against plain references.

mod common;

use bitgraph_b2sr::{B2sr, Tile, Tile4, Tile8, Tile16, Tile32};
use bitgraph_sparse::{Csr, Error, Format, SectionData, Sections};

fn sections<F: Format>(format: &F) -> Sections {
    format.sections().into_iter().map(|s| (s.name.to_string(), s.data)).collect()
}

fn one<T: Tile>(name: &str, csr: &Csr) {
    let tiles = B2sr::<T>::from_csr(csr);
    assert_eq!((tiles.nrows(), tiles.ncols(), tiles.nnz()), (csr.nrows(), csr.ncols(), csr.nnz()), "{name}");
    assert_eq!(&tiles.to_csr(), csr, "{name} {}", T::SIZE);
    for i in 0..csr.nrows() {
        assert_eq!(tiles.row(i).collect::<Vec<_>>(), csr.row(i), "{name} {} row {i}", T::SIZE);
    }
    let offsets: Vec<usize> = (0..=csr.nrows()).map(|i| csr.offsets().get(i)).collect();
    assert_eq!(tiles.row_offsets(), offsets, "{name}");
    let stored: u64 = tiles.sections().iter().map(|s| s.data.bytes().len() as u64).sum();
    assert_eq!(tiles.bytes(), stored);
    assert_eq!(B2sr::<T>::bytes_of(csr.nrows(), tiles.tile_count() as u64), stored);
    assert_eq!(B2sr::<T>::from_sections(csr.nrows(), csr.ncols(), &sections(&tiles)).as_ref(), Ok(&tiles), "{name}");
    assert_eq!(tiles.transpose(), B2sr::<T>::from_csr(&csr.transpose()), "{name} {}", T::SIZE);
}

#[test]
fn every_shape_in_every_tile_size() {
    for (name, csr) in common::corpus() {
        one::<Tile4>(name, &csr);
        one::<Tile8>(name, &csr);
        one::<Tile16>(name, &csr);
        one::<Tile32>(name, &csr);
    }
}

#[test]
fn threads_do_not_change_the_result() {
    let csr = common::random(20_000, 20_000, 100_000, 9);
    let in_pool = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let (small, large) = (B2sr::<Tile8>::from_csr(&csr), B2sr::<Tile32>::from_csr(&csr));
            assert_eq!(small.to_csr(), csr);
            (small.transpose(), small, large)
        })
    };
    let one = in_pool(1);
    assert!(one == in_pool(2) && one == in_pool(5));
}

#[test]
fn breaches_are_found() {
    let csr = common::pattern(10, 10, [(0, 0), (3, 9), (9, 2)]);
    let good = sections(&B2sr::<Tile8>::from_csr(&csr));
    let with = |name: &str, data: SectionData| {
        let mut changed = good.clone();
        changed.insert(name.to_string(), data);
        B2sr::<Tile8>::from_sections(10, 10, &changed)
    };
    assert!(B2sr::<Tile8>::from_sections(10, 10, &good).is_ok());
    let words = |w: [u64; 3]| SectionData::U64(w.to_vec().into());
    assert!(matches!(with("tile_words", words([1, 0, 1])), Err(Error::Invalid { array: "tile_words", position: 1, .. })));
    // Column 10 in tile column 1, and row 10 in tile row 1, lie past the edge.
    assert!(matches!(with("tile_words", words([1, 4, 1])), Err(Error::Invalid { position: 1, .. })));
    assert!(matches!(with("tile_words", words([1, 1, 1 << 16])), Err(Error::Invalid { position: 2, .. })));
    assert!(matches!(with("tile_words", SectionData::U64(vec![1].into())), Err(Error::Length { .. })));
    assert!(matches!(with("tile_words", SectionData::U32(vec![1].into())), Err(Error::Section { .. })));
    assert!(matches!(with("tile_columns", SectionData::U32(vec![0, 2, 0].into())), Err(Error::Invalid { .. })));
    assert!(matches!(with("tile_columns", SectionData::U32(vec![1, 0, 0].into())), Err(Error::Invalid { .. })));
    assert!(matches!(with("tile_offsets", SectionData::U32(vec![0, 2].into())), Err(Error::Length { .. })));
    let mut missing = good.clone();
    missing.remove("tile_offsets");
    assert!(matches!(B2sr::<Tile8>::from_sections(10, 10, &missing), Err(Error::Section { .. })));
    assert!(B2sr::<Tile8>::from_sections(17, 10, &good).is_err());
}
