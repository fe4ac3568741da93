//! What is measured of a graph before anything is predicted: one set of numbers for every algorithm and backend, taken once.
//!
//! Invariant: numbers only. What they mean for a choice (which share of far entries is too many) is a named constant of whoever
//! chooses.

use bitgraph_b2sr::TileCounts;
use bitgraph_sparse::parallel::once;
use bitgraph_sparse::{Csr, FormatKind, OffsetInt, with_offsets};
use std::collections::HashSet;
use std::sync::OnceLock;

/// Rows looked at for locality.
const SAMPLED_ROWS: usize = 2048;
/// Entries of such a row: a long one says no more than its first entries.
const SAMPLED_ENTRIES: usize = 64;
/// Bands of rows sampled for tile counts.
const SAMPLED_BANDS: usize = 1024;
/// Vertices that the diameter probe looks for.
const PROBED: usize = 4096;
/// Neighbours further apart than this share of the vertices count as far.
const FAR: f64 = 0.02;
/// Rows longer than this are hubs, from which the diameter probe is not made.
const PROBED_DEGREE: u32 = 64;
/// Levels of a search in a graph with hubs: those of social networks and web graphs.
const HUB_LEVELS: f64 = 8.0;
/// Entries sampled for the rows that intersections in the order of numbers read, and how many of those a vector holds.
const SAMPLED_PAIRS: usize = 2048;
const VECTOR: usize = 16;
/// Slices of [`SLICE`] rows sampled for diagonals, and the entries of one that are looked at.
const SAMPLED_SLICES: usize = 256;
const SLICE: usize = 32;
const SLICE_ENTRIES: usize = 4096;

/// Measurements of a square pattern. O(n) time, and O(samples) for locality, tiles and the diameter probe.
#[derive(Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Vertices.
    pub nodes: usize,
    /// Stored entries.
    pub entries: usize,
    /// The mean out-degree; 0 without vertices.
    pub mean_degree: f64,
    /// The largest out-degree.
    pub max_degree: u32,
    /// The mean of the squares of the out-degrees over the square of their mean: 1 for equal degrees, large with hubs.
    pub skew: f64,
    /// The share of sampled entries whose ends are further apart than a fiftieth of the vertices.
    pub far: f64,
    /// The share of sampled rows with entries that have none below their own number, where a pass that joins every vertex to its first neighbour
    /// begins a tree: next to none where vertices are numbered by age or as a search finds them, a fifth in a shuffled grid.
    pub roots: f64,
    /// Whether a search from a sampled vertex needs clearly more levels than in a random graph of the same mean degree: a plane, a
    /// volume, a road network. False for graphs with hubs and for small components.
    pub spreads_slowly: bool,
    /// Rows without entries.
    pub empty_rows: usize,
    /// Levels of a search, at least 1: estimated from those that the diameter probe needed for the vertices it met, as in a plane. 8
    /// for graphs with hubs, from which no probe is made.
    pub levels: f64,
    csr: Csr,
    tiles: OnceLock<TileCounts>,
    bandwidth: OnceLock<u32>,
    h_index: OnceLock<u32>,
    diagonals: OnceLock<Diagonals>,
    below: OnceLock<Below>,
}

/// What a sample of entries says about a count of triangles in the order of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Below {
    /// Vectors of 16 entries, an entry of the graph, that are read: for each row, of its smaller neighbours but the first, those before their own
    /// number. Hubs alone do not make this large: where vertices are numbered by age, or the sides of a bipartite graph one after the other, it is
    /// below .5 whatever the degrees.
    pub vectors: f64,
    /// The same where each smaller neighbour's row is compared with every one before it.
    pub pairs: f64,
}

/// What a sample of slices of 32 rows says about the diagonals that entries lie on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Diagonals {
    /// Diagonals of a slice in the mean: distinct differences of column and row.
    pub per_slice: f64,
    /// Diagonals of a slice at most.
    pub most: usize,
    /// Entries of a slice on one diagonal, in the mean; 0 without entries.
    pub entries: f64,
}

impl Stats {
    /// Measures a pattern; a clone of it, which shares its arrays, is kept for [`Stats::tiles`].
    #[must_use]
    pub fn of(csr: &Csr) -> Self {
        let (nodes, entries) = (csr.nrows(), csr.nnz());
        let (max_degree, squares, empty_rows) = with_offsets!(csr.offsets(), o => {
            o.windows(2).fold((0usize, 0f64, 0usize), |(most, squares, empty), w| {
                let degree = w[1].index() - w[0].index();
                (most.max(degree), squares + (degree as f64).powi(2), empty + usize::from(degree == 0))
            })
        });
        let max_degree = u32::try_from(max_degree).unwrap_or(u32::MAX);
        let (far, roots) = numbering(csr);
        let probes = if max_degree <= PROBED_DEGREE { probes(csr) } else { Vec::new() };
        Self {
            nodes,
            entries,
            mean_degree: if nodes == 0 { 0.0 } else { entries as f64 / nodes as f64 },
            max_degree,
            skew: if entries == 0 { 1.0 } else { squares * nodes as f64 / (entries as f64).powi(2) },
            far,
            roots,
            spreads_slowly: nodes > 2 * PROBED && spreads_slowly(csr, &probes),
            empty_rows,
            levels: if max_degree <= PROBED_DEGREE { levels(nodes, &probes) } else { HUB_LEVELS },
            csr: csr.clone(),
            tiles: OnceLock::new(),
            bandwidth: OnceLock::new(),
            h_index: OnceLock::new(),
            diagonals: OnceLock::new(),
            below: OnceLock::new(),
        }
    }
    /// The largest difference between the row and the column of an entry. O(n), when first asked for: rows ascend.
    pub fn bandwidth(&self) -> u32 {
        *once(&self.bandwidth, || {
            let ends = (0..self.nodes).filter_map(|i| {
                let row = self.csr.row(i);
                Some(row.first()?.abs_diff(i as u32).max(row.last()?.abs_diff(i as u32)))
            });
            ends.max().unwrap_or(0)
        })
    }
    /// The largest `h` of which `h` rows have at least `h` entries: no row of an undirected graph has more neighbours that come after it in
    /// an order of ascending degrees. O(n), when first asked for.
    pub fn h_index(&self) -> u32 {
        *once(&self.h_index, || {
            // No more rows than this have so many entries.
            let most = (self.entries as f64).sqrt() as usize + 1;
            let mut rows = vec![0usize; most + 1];
            (0..self.nodes).for_each(|i| rows[self.csr.degree(i).min(most)] += 1);
            let mut above = 0;
            let index = (0..=most).rev().find(|&h| {
                above += rows[h];
                above >= h
            });
            index.unwrap_or(0) as u32
        })
    }
    /// The diagonals of a sample of slices; counted when first asked for.
    pub fn diagonals(&self) -> Diagonals {
        *once(&self.diagonals, || diagonals(&self.csr))
    }
    /// What a count of triangles in the order of numbers reads, from a sample of entries; taken when first asked for.
    pub fn below(&self) -> Below {
        *once(&self.below, || below(&self.csr))
    }
    /// Tile counts of every format, from a sample of bands of rows; counted when first asked for.
    pub fn tiles(&self) -> &TileCounts {
        once(&self.tiles, || TileCounts::sampled(&self.csr, SAMPLED_BANDS, 1))
    }
    /// Entries a tile of a format, by that sample; 0 for CSR and the hybrid, whose tiles are not counted.
    #[must_use]
    pub fn fill(&self, format: FormatKind) -> f64 {
        self.tiles().fill(format)
    }
}

/// The share of entries (i, j) with |i - j| above [`FAR`] of the rows, and that of rows with entries but none below their own number, over evenly
/// spaced rows.
fn numbering(csr: &Csr) -> (f64, f64) {
    let rows = csr.nrows();
    let step = (rows / SAMPLED_ROWS).max(1);
    let bound = (rows as f64 * FAR) as u32;
    let (mut far, mut all, mut roots, mut begun) = (0u64, 0u64, 0u64, 0u64);
    for i in (0..rows).step_by(step) {
        let row = csr.row(i);
        for &j in row.iter().take(SAMPLED_ENTRIES) {
            far += u64::from(j.abs_diff(i as u32) > bound);
            all += 1;
        }
        if let Some(&first) = row.first() {
            roots += u64::from(first as usize >= i);
            begun += 1;
        }
    }
    let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
    (share(far, all), share(roots, begun))
}

/// The diameter probe: vertices met and levels taken by searches from two vertices until they have met [`PROBED`] vertices, or half of a
/// smaller graph's.
fn probes(csr: &Csr) -> Vec<(usize, u32)> {
    let n = csr.nrows();
    let wanted = PROBED.min(n.div_ceil(2));
    let probe = |source: usize| {
        let mut seen = HashSet::from([source as u32]);
        let (mut front, mut levels) = (vec![source as u32], 0u32);
        while !front.is_empty() && seen.len() < wanted {
            let mut next = Vec::new();
            for &v in &front {
                next.extend(csr.row(v as usize).iter().copied().filter(|&u| seen.insert(u)));
            }
            front = next;
            levels += 1;
        }
        (seen.len(), levels)
    };
    if n == 0 { Vec::new() } else { [n / 3, 2 * n / 3].map(probe).to_vec() }
}

/// Whether a search meets [`PROBED`] vertices only in clearly more levels than in a random graph, where every level is a factor of the mean
/// degree.
fn spreads_slowly(csr: &Csr, probes: &[(usize, u32)]) -> bool {
    let degree = csr.nnz() as f64 / csr.nrows().max(1) as f64;
    let random = (PROBED as f64).ln() / (degree - 1.0).max(1.5).ln();
    let levels = probes.iter().filter(|p| p.0 >= PROBED).map(|p| p.1).max();
    levels.is_some_and(|l| f64::from(l) > 1.6 * random + 2.0)
}

/// Levels of a search, from the probe that met most vertices: as many vertices more a level with each level, as in a plane.
fn levels(nodes: usize, probes: &[(usize, u32)]) -> f64 {
    let Some(&(met, levels)) = probes.iter().max() else { return 1.0 };
    (f64::from(levels) * (nodes as f64 / met.max(1) as f64).sqrt()).max(1.0)
}

fn below(csr: &Csr) -> Below {
    let entries = csr.nnz();
    let step = (entries / SAMPLED_PAIRS).max(1);
    let (mut vectors, mut pairs, mut sampled, mut row) = (0usize, 0usize, 0usize, 0usize);
    with_offsets!(csr.offsets(), o => for entry in (step / 2..entries).step_by(step) {
        row += o[row + 1..].partition_point(|end| end.index() <= entry);
        let (smaller, before) = (csr.indices()[entry] as usize, entry - o[row].index());
        if smaller < row && before > 0 {
            let (other, last) = (csr.row(smaller), csr.indices()[entry - 1]);
            let upto = |end: usize| other.partition_point(|&j| (j as usize) < end).div_ceil(VECTOR);
            vectors += upto(smaller);
            pairs += before * upto(last as usize + 1).max(1);
        }
        sampled += 1;
    });
    let mean = |sum: usize| sum as f64 / sampled.max(1) as f64;
    Below { vectors: mean(vectors), pairs: mean(pairs) }
}

fn diagonals(csr: &Csr) -> Diagonals {
    let (rows, slices) = (csr.nrows(), csr.nrows().div_ceil(SLICE));
    let (mut looked_at, mut all, mut most, mut entries) = (0usize, 0usize, 0usize, 0usize);
    let mut found = Vec::new();
    for first in (0..slices).step_by((slices / SAMPLED_SLICES).max(1)).map(|s| s * SLICE) {
        let slice = first..(first + SLICE).min(rows);
        let count: usize = slice.clone().map(|i| csr.degree(i)).sum();
        found.clear();
        if count <= SLICE_ENTRIES {
            found.extend(slice.flat_map(|i| csr.row(i).iter().map(move |&j| i64::from(j) - i as i64)));
            found.sort_unstable();
            found.dedup();
        }
        // A slice with long rows has about as many diagonals as entries.
        let distinct = if count <= SLICE_ENTRIES { found.len() } else { count };
        (looked_at, all, most, entries) = (looked_at + 1, all + distinct, most.max(distinct), entries + count);
    }
    let mean = |sum: usize, of: usize| if of == 0 { 0.0 } else { sum as f64 / of as f64 };
    Diagonals { per_slice: mean(all, looked_at), most, entries: mean(entries, all) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_sparse::{Coo, Duplicates};

    fn graph(n: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Csr {
        let (rows, columns) = edges.into_iter().unzip();
        Coo { mirrored: true, ..Coo::pattern(n, n, rows, columns) }.into_csr(Duplicates::First).unwrap().0
    }
    fn grid(rows: u32, columns: u32) -> Csr {
        let at = move |r: u32, c: u32| r * columns + c;
        let across = (0..rows).flat_map(move |r| (1..columns).map(move |c| (at(r, c - 1), at(r, c))));
        let down = (1..rows).flat_map(move |r| (0..columns).map(move |c| (at(r - 1, c), at(r, c))));
        graph((rows * columns) as usize, across.chain(down))
    }

    #[test]
    fn numbers_of_a_grid() {
        let stats = Stats::of(&grid(64, 96));
        assert_eq!((stats.bandwidth(), stats.empty_rows, stats.max_degree, stats.h_index()), (96, 0, 4, 4));
        // One side of a row's 32 vertices, the other one, and both neighbours within the row.
        let diagonals = stats.diagonals();
        assert_eq!(diagonals.most, 4);
        assert!(diagonals.per_slice > 3.9 && diagonals.entries > 30.0, "{diagonals:?}");
        // From a vertex in the middle some 80 levels, from a corner 158.
        assert!((40.0..200.0).contains(&stats.levels), "{}", stats.levels);
    }

    #[test]
    fn numbers_of_numberings() {
        // By age: every vertex but the first has an older neighbour, and two of them at most.
        let aged = Stats::of(&graph(5000, (2..5000).flat_map(|v| [(v, v / 2), (v, v / 3)])));
        assert!(aged.roots <= 0.002, "{}", aged.roots);
        let (read, by_age) = (aged.below(), (4998.0 / 19_988.0 * 0.9)..0.3);
        assert!(by_age.contains(&read.vectors) && by_age.contains(&read.pairs), "{read:?}");
        // The sides of a bipartite graph one after the other: what a row is compared with is above all of it.
        let sides = Stats::of(&graph(600, (0..300).flat_map(|u| (300..600).map(move |v| (u, v)))));
        assert_eq!((sides.roots, sides.below().vectors), (0.5, 0.0));
        assert!(sides.below().pairs > 50.0);
        // A clique: on average a third of the 127 have a smaller neighbour than another smaller one, three vectors of each.
        let clique = Stats::of(&graph(128, (0..128).flat_map(|u| (0..u).map(move |v| (u, v))))).below();
        assert!((1.0..2.5).contains(&clique.vectors) && clique.pairs > 30.0 * clique.vectors, "{clique:?}");
    }

    #[test]
    fn numbers_of_extremes() {
        let empty = Stats::of(&graph(0, []));
        assert_eq!((empty.bandwidth(), empty.levels, empty.diagonals()), (0, 1.0, Diagonals::default()));
        let alone = Stats::of(&graph(9, [(2, 2)]));
        assert_eq!((alone.bandwidth(), alone.empty_rows, alone.levels >= 1.0), (0, 8, true));
        let star = Stats::of(&graph(300, (1..300).map(|v| (0, v))));
        assert_eq!((star.bandwidth(), star.levels, star.h_index(), empty.h_index()), (299, HUB_LEVELS, 1, 0));
        let path = Stats::of(&graph(1000, (1..1000).map(|v| (v - 1, v))));
        assert!((200.0..1000.0).contains(&path.levels), "{}", path.levels);
        // One search dies out in a pair of vertices, the other one tells.
        let pair = Stats::of(&graph(900, (1..600).map(|v| (v - 1, v)).chain([(600, 601)])));
        assert!(pair.levels > 100.0, "{}", pair.levels);
    }
}
