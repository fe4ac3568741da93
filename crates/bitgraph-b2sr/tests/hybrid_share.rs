//! A band of the hybrid at the very share of entries from which on it keeps its tiles.

use bitgraph_b2sr::{Hybrid, HybridConfig};
use bitgraph_sparse::{Coo, Csr, Duplicates};

/// A band of 8 rows with so many tiles of four entries, and four tiles of one entry for each of them.
fn band(full: u32) -> Csr {
    let fours = (0..full).flat_map(|t| (0..4).map(move |k| (k, 8 * t + k)));
    let ones = (0..4 * full).map(|t| (t % 8, 8 * (full + t)));
    let (rows, columns) = fours.chain(ones).unzip();
    Coo::pattern(8, 8 * 5 * full as usize, rows, columns).into_csr(Duplicates::Error).unwrap().0
}

#[test]
fn a_band_at_the_share_keeps_its_tiles() {
    // Few entries are sorted, more are marked.
    for full in [1, 8, 100, 900] {
        let csr = band(full);
        assert_eq!(csr.nnz(), 8 * full as usize);
        for (min_share, kept) in [(0.25, true), (0.5, true), (0.5 + 1e-6, false), (0.75, false)] {
            let hybrid = Hybrid::from_csr_with(&csr, &HybridConfig { min_entries: 4, min_share });
            let tiles = if kept { full as usize } else { 0 };
            assert_eq!(hybrid.tiles().tile_count(), tiles, "{full} tiles, share {min_share}");
            assert_eq!(hybrid.list().nnz(), csr.nnz() - 4 * tiles, "{full} tiles, share {min_share}");
            assert_eq!(hybrid.to_csr(), csr);
        }
        // A tile of one entry fewer than is asked for is none.
        assert_eq!(Hybrid::from_csr_with(&csr, &HybridConfig { min_entries: 5, min_share: 0.0 }).tiles().tile_count(), 0);
    }
}
