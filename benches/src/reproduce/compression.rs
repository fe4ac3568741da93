//! Section VI-B of the paper: bytes of every tile format against CSR with `f32` values.

use super::published::{COMPRESSION, MATRICES, PUBLISHED_TILE_4, STORAGE};
use bitgraph::b2sr::{HybridConfig, TileCounts};
use bitgraph::sparse::{Csr, FormatKind};
use serde::Serialize;
use std::fmt::Write;

/// The tile formats, by size.
pub const TILES: [FormatKind; 4] = [FormatKind::B2sr4, FormatKind::B2sr8, FormatKind::B2sr16, FormatKind::B2sr32];

/// Bytes of one graph.
#[derive(Clone, Debug, Serialize)]
pub struct Sizes {
    /// The graph.
    pub name: String,
    /// Rows.
    pub rows: usize,
    /// Entries.
    pub entries: u64,
    /// CSR with `f32` values.
    pub float_csr: u64,
    /// Tiles of 4, 8, 16 and 32.
    pub tiles: [u64; 4],
    /// Tiles of 4 with a byte a row, as the paper packs them.
    pub published_4: u64,
    /// The hybrid.
    pub hybrid: u64,
}

impl Sizes {
    /// Counts; nothing is built.
    #[must_use]
    pub fn of(name: &str, csr: &Csr) -> Self {
        let counts = TileCounts::exact_with_hybrid(csr, &HybridConfig::default());
        let tiles = TILES.map(|kind| counts.bytes(kind).unwrap_or(0));
        Self {
            name: name.into(),
            rows: csr.nrows(),
            entries: csr.nnz() as u64,
            float_csr: counts.float_csr_bytes(),
            tiles,
            published_4: tiles[0] + (PUBLISHED_TILE_4 - 2) * counts.tiles[0],
            hybrid: counts.bytes(FormatKind::Hybrid).unwrap_or(0),
        }
    }
    /// The four formats as the paper packs them.
    fn as_published(&self) -> [u64; 4] {
        [self.published_4, self.tiles[1], self.tiles[2], self.tiles[3]]
    }
}

/// For each tile size the graphs that take minimum in it, and those that take less in it than float CSR.
#[must_use]
pub fn counts(all: &[Sizes], sizes: impl Fn(&Sizes) -> [u64; 4]) -> [(u32, u32); 4] {
    let mut found = [(0, 0); 4];
    for graph in all {
        let bytes = sizes(graph);
        let compressed = |i: usize| bytes[i] < graph.float_csr;
        // As in the paper, a graph that nothing compresses has no best format.
        if let Some(best) = (0..4).min_by_key(|&i| bytes[i]).filter(|&i| compressed(i)) {
            found[best].0 += 1;
        }
        (0..4).filter(|&i| compressed(i)).for_each(|i| found[i].1 += 1);
    }
    found
}

/// The table and the statistics.
#[must_use]
pub fn describe(all: &[Sizes]) -> String {
    let mut text = String::from("Bytes of the pattern, % of CSR with f32 values (Section VI-B); B2SR-4* with a byte a row as published\n");
    let _ = writeln!(
        text,
        "{:24} {:>10} {:>11} {:>12} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "graph", "rows", "entries", "float CSR", "B2SR-4", "B2SR-4*", "B2SR-8", "B2SR-16", "B2SR-32", "hybrid"
    );
    for g in all {
        let percent = |bytes: u64| format!("{:.1}", 100.0 * bytes as f64 / g.float_csr.max(1) as f64);
        let [b4, b8, b16, b32] = g.tiles.map(percent);
        let (published, hybrid) = (percent(g.published_4), percent(g.hybrid));
        let _ = writeln!(
            text,
            "{:24} {:>10} {:>11} {:>12} {b4:>8} {published:>8} {b8:>8} {b16:>8} {b32:>8} {hybrid:>8}",
            g.name, g.rows, g.entries, g.float_csr
        );
    }
    let (ours, theirs) = (counts(all, |g| g.tiles), counts(all, Sizes::as_published));
    let _ = writeln!(text, "\n{:9} {:>24} {:>24} {:>30}", "", "packed as ours", "packed as published", "published");
    let _ = writeln!(
        text,
        "{:9} {:>12} {:>11} {:>12} {:>11} {:>15} {:>14}",
        "tile", "minimum", "compresses", "minimum", "compresses", "minimum", "compresses"
    );
    for (i, (tile, minimum, compresses)) in COMPRESSION.into_iter().enumerate() {
        let of = |count: u32| format!("{count} of {}", all.len());
        let share = |count: u32| format!("{count} ({:.0} %)", 100.0 * f64::from(count) / f64::from(MATRICES));
        let _ = writeln!(
            text,
            "B2SR-{tile:<4} {:>12} {:>11} {:>12} {:>11} {:>15} {:>14}",
            of(ours[i].0),
            of(ours[i].1),
            of(theirs[i].0),
            of(theirs[i].1),
            share(minimum),
            share(compresses)
        );
    }
    if let Some(g) = all.iter().find(|g| g.name == STORAGE.0) {
        let kib = |bytes: u64| format!("{:.2}", bytes as f64 / 1024.0);
        let [b4, b8, b16, b32] = g.as_published().map(kib);
        let _ = writeln!(
            text,
            "\n{} (Section III-C): float CSR {:.2} MiB, KiB of the four formats {b4} {b8} {b16} {b32}; published {} and {:?}",
            g.name,
            g.float_csr as f64 / f64::from(1 << 20),
            STORAGE.1,
            STORAGE.2
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_example() {
        let csr = "mycielskian:12".parse::<bitgraph::GraphSource>().unwrap().load(&bitgraph::LoadOptions::default()).unwrap().csr;
        let sizes = Sizes::of(STORAGE.0, &csr);
        for (bytes, published) in sizes.as_published().into_iter().zip(STORAGE.2) {
            assert!((bytes as f64 / 1024.0 - published).abs() < 0.01, "{bytes} bytes, {published} KiB");
        }
        assert!((sizes.float_csr as f64 / f64::from(1 << 20) - STORAGE.1).abs() < 0.01);
        assert!(describe(&[sizes]).contains("675.70 361.46 358.89 429.89; published"));
    }

    #[test]
    fn what_nothing_compresses_has_no_best() {
        let sizes =
            Sizes { name: String::new(), rows: 1, entries: 1, float_csr: 16, tiles: [16, 20, 40, 130], published_4: 18, hybrid: 20 };
        assert_eq!(counts(std::slice::from_ref(&sizes), |g| g.tiles), [(0, 0); 4]);
        let small = Sizes { float_csr: 30, ..sizes };
        assert_eq!(counts(&[small], |g| g.tiles), [(1, 1), (0, 1), (0, 0), (0, 0)]);
    }
}
