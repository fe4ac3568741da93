//! Graphs from lists of arcs, and pseudo-random numbers to make such lists of.

use bitgraph_sparse::{Coo, Csr, Duplicates};

/// The pattern of these arcs, and of their mirror images if it is to be symmetric; repeats dropped.
///
/// # Panics
/// If an end is not below `n`.
#[must_use]
pub fn pattern(n: usize, arcs: impl IntoIterator<Item = (u32, u32)>, symmetric: bool) -> Csr {
    let (rows, columns) = arcs.into_iter().unzip();
    Coo { mirrored: symmetric, ..Coo::pattern(n, n, rows, columns) }.into_csr(Duplicates::First).expect("arcs in range").0
}

/// As [`pattern`], of the arcs alone.
#[must_use]
pub fn directed(n: usize, arcs: impl IntoIterator<Item = (u32, u32)>) -> Csr {
    pattern(n, arcs, false)
}

/// As [`pattern`], with the mirror images.
#[must_use]
pub fn undirected(n: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Csr {
    pattern(n, edges, true)
}

/// So many rings and stars in turns, of 5 to 9 nodes, which only their edges tell apart, as TU has sets of graphs: the ends of the files'
/// names before `.txt`, and what is in them.
#[must_use]
pub fn rings_and_stars(graphs: usize) -> [(&'static str, String); 3] {
    let (mut edges, mut indicator, mut labels, mut from) = (String::new(), String::new(), String::new(), 1);
    for g in 0..graphs {
        let size = 5 + g / 2 % 5;
        for i in 0..size {
            let (a, b) = if g % 2 == 0 { (i, (i + 1) % size) } else { (0, i.max(1)) };
            edges += &format!("{}, {}\n", from + a, from + b);
            indicator += &format!("{}\n", g + 1);
        }
        labels += &format!("{}\n", g % 2);
        from += size;
    }
    [("A", edges), ("graph_indicator", indicator), ("graph_labels", labels)]
}

/// Pseudo-random numbers by a linear congruence.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next one, below `n`.
    pub fn below(&mut self, n: usize) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize % n) as u32
    }
    /// Pairs of numbers, each one of the `n` from `first`.
    pub fn pairs(&mut self, count: usize, n: usize, first: u32) -> Vec<(u32, u32)> {
        (0..count).map(|_| (first + self.below(n), first + self.below(n))).collect()
    }
}

/// Pseudo-random numbers below `n` by shifts.
pub fn shifted(seed: u64, n: u32) -> impl FnMut() -> u32 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 20) as u32 % n
    }
}
