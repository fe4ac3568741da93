//! Small patterns with awkward shapes, and a deterministic random source.

#![allow(dead_code)]

use bitgraph_sparse::{Csr, Offsets};
use std::collections::BTreeSet;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

/// A pattern of the given entries; duplicates merge.
pub fn pattern(rows: usize, columns: usize, entries: impl IntoIterator<Item = (usize, usize)>) -> Csr {
    let set: BTreeSet<(usize, usize)> = entries.into_iter().collect();
    let mut offsets = vec![0usize; rows + 1];
    set.iter().for_each(|&(r, _)| offsets[r + 1] += 1);
    for i in 0..rows {
        offsets[i + 1] += offsets[i];
    }
    let indices: Vec<u32> = set.iter().map(|&(_, c)| c as u32).collect();
    Csr::new(rows, columns, Offsets::from_usizes(&offsets), indices.into()).expect("a valid pattern")
}

/// A random pattern.
pub fn random(rows: usize, columns: usize, entries: usize, seed: u64) -> Csr {
    let mut random = Random(seed);
    let list: Vec<_> = (0..entries).map(|_| (random.below(rows), random.below(columns))).collect();
    pattern(rows, columns, list)
}

/// A grid with four neighbours.
pub fn grid(height: usize, width: usize) -> Csr {
    let n = height * width;
    let across = (0..n).filter(|v| v % width + 1 < width).map(|v| (v, v + 1));
    let down = (0..n).filter(|v| v + width < n).map(|v| (v, v + width));
    pattern(n, n, across.chain(down).flat_map(|(u, v)| [(u, v), (v, u)]))
}

/// Patterns of every awkward kind.
pub fn corpus() -> Vec<(&'static str, Csr)> {
    let full = |r: usize, c: usize| pattern(r, c, (0..r * c).map(|i| (i / c, i % c)));
    vec![
        ("empty", pattern(0, 0, [])),
        ("no rows", pattern(0, 9, [])),
        ("no columns", pattern(9, 0, [])),
        ("one vertex", pattern(1, 1, [])),
        ("one loop", pattern(1, 1, [(0, 0)])),
        ("no entries", pattern(70, 33, [])),
        ("identity", pattern(67, 67, (0..67).map(|i| (i, i)))),
        ("full", full(37, 45)),
        ("full 32", full(32, 64)),
        ("dense row", pattern(129, 300, (0..300).map(|c| (77, c)))),
        ("dense column", pattern(300, 129, (0..300).map(|r| (r, 128)))),
        ("corners", pattern(1000, 1001, [(0, 0), (0, 1000), (999, 0), (999, 1000)])),
        ("wide", random(17, 200_000, 300, 1)),
        ("tall", random(5000, 19, 900, 2)),
        ("sparse", random(700, 700, 500, 3)),
        ("medium", random(333, 333, 6000, 4)),
        ("grid", grid(31, 23)),
        ("star", pattern(101, 101, (1..101).flat_map(|v| [(0, v), (v, 0)]))),
    ]
}
