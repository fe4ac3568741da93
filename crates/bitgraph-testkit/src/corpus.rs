//! A corpus of small graphs: every awkward shape once, with answers where a formula gives them.

use bitgraph_generate::{Control, Generator};
use bitgraph_sparse::{Coo, Csr, Duplicates};

/// Answers that are known without computing them. Searches start at vertex 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Weakly connected components.
    pub components: Option<u64>,
    /// Triangles of the undirected graph without loops.
    pub triangles: Option<u64>,
    /// Vertices reached from vertex 0, and the largest level.
    pub reach: Option<(u64, u32)>,
}

/// A graph of the corpus.
#[derive(Clone, Debug)]
pub struct NamedGraph {
    /// The name, for messages.
    pub name: String,
    /// The pattern.
    pub csr: Csr,
    /// Whether the pattern is symmetric.
    pub symmetric: bool,
    /// What is known about it.
    pub known: Known,
}

fn known(components: u64, triangles: u64, reached: u64, depth: u32) -> Known {
    Known { components: Some(components), triangles: Some(triangles), reach: Some((reached, depth)) }
}

/// A pattern from arcs, repeats dropped.
fn arcs(rows: u32, columns: u32, arcs: impl IntoIterator<Item = (u32, u32)>) -> Csr {
    let (r, c) = arcs.into_iter().unzip();
    Coo::pattern(rows as usize, columns as usize, r, c).into_csr(Duplicates::First).expect("arcs in range").0
}

/// A symmetric pattern from edges.
fn edges(n: u32, edges: impl IntoIterator<Item = (u32, u32)>) -> Csr {
    arcs(n, n, edges.into_iter().flat_map(|(u, v)| [(u, v), (v, u)]))
}

fn generated(text: &str) -> Csr {
    let generator: Generator = text.parse().expect("a generator");
    generator.generate(&Control::default()).expect("a small graph")
}

/// The square graphs, the smallest first.
#[must_use]
pub fn corpus() -> Vec<NamedGraph> {
    let mut all: Vec<NamedGraph> = Vec::new();
    let mut add = |name: &str, csr: Csr, known: Known| {
        let symmetric = csr.is_symmetric();
        all.push(NamedGraph { name: name.into(), csr, symmetric, known });
    };
    add("empty 0x0", arcs(0, 0, []), Known { components: Some(0), triangles: Some(0), reach: None });
    add("one vertex", arcs(1, 1, []), known(1, 0, 1, 0));
    add("one vertex with a loop", arcs(1, 1, [(0, 0)]), known(1, 0, 1, 0));
    add("no edges", arcs(40, 40, []), known(40, 0, 1, 0));
    add("one edge at the end", edges(70, [(68, 69)]), known(69, 0, 1, 0));
    add("loops everywhere", arcs(37, 37, (0..37).map(|i| (i, i))), known(37, 0, 1, 0));
    add("star", edges(100, (1..100).map(|i| (0, i))), known(1, 0, 100, 1));
    add("one dense row", arcs(90, 90, (0..90).map(|j| (5, j))), known(1, 0, 1, 0));
    add("one dense column", arcs(90, 90, (0..90).map(|i| (i, 7))), known(1, 0, 2, 1));
    for n in [31u32, 32, 33, 63, 64, 65] {
        add(&format!("path {n}"), edges(n, (1..n).map(|i| (i - 1, i))), known(1, 0, n.into(), n - 1));
        add(&format!("cycle {n}"), edges(n, (0..n).map(|i| (i, (i + 1) % n))), known(1, 0, n.into(), n / 2));
        let m = u64::from(n);
        let complete = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
        add(&format!("complete {n}"), edges(n, complete), known(1, m * (m - 1) * (m - 2) / 6, m, 1));
    }
    // Triangles of the two halves apart, and five vertices without an edge.
    let halves = (0..12u32).flat_map(|i| (0..i).map(move |j| (i, j))).chain((13..30).map(|i| (i - 1, i)));
    add("two components and isolated vertices", edges(35, halves), known(7, 220, 12, 1));
    let looped = (0..20u32).flat_map(|i| [(i, i), (i, (i + 1) % 20), (i, (i + 2) % 20)]);
    add("circulant with loops", edges(20, looped), known(1, 20, 20, 5));
    let below = (0..45u32).flat_map(|i| [(i, i + 1), (i, i + 3)]).filter(|&(_, j)| j < 45);
    add("directed acyclic", arcs(45, 45, below), Known { components: Some(1), triangles: Some(0), reach: Some((45, 16)) });
    let tail = (0..10u32).map(|i| (i, (i + 1) % 10)).chain((10..30).map(|i| (i - 1, i)));
    add("directed cycle with a tail", arcs(30, 30, tail), known(1, 0, 30, 29));
    let inward = (1..40u32).map(|i| (i, i - 1));
    add("directed path towards the source", arcs(40, 40, inward), known(1, 0, 1, 0));
    let bipartite = (0..17u32).flat_map(|i| (17..40).map(move |j| (i, j)));
    add("complete bipartite", edges(40, bipartite), known(1, 0, 40, 2));
    let tree = (1..127u32).map(|i| (i, (i - 1) / 2));
    add("binary tree", edges(127, tree), known(1, 0, 127, 6));
    add("grid 7x9", generated("grid:7x9"), known(1, 0, 63, 14));
    add("grid 7x9 renumbered", generated("grid:7x9@1"), Known { components: Some(1), triangles: Some(0), reach: None });
    add("mesh 4x5x6", generated("mesh:4x5x6"), Known { components: Some(1), ..Known::default() });
    add("mycielskian 5", generated("mycielskian:5"), known(1, 0, 23, 2));
    add("de Bruijn 6", generated("debruijn:6"), Known { components: Some(1), ..Known::default() });
    add("kron 8", generated("kron:8"), Known::default());
    add("skew", generated("skew:150:700"), Known::default());
    add("planted", generated("planted:200:8:10"), Known::default());
    let directed = crate::cases::matrix::<bool>(97, 97, 0.03, 5).to_csr().0;
    add("directed random", directed, Known::default());
    all
}

/// Rectangular patterns, for products.
#[must_use]
pub fn rectangular() -> Vec<(String, Csr)> {
    let mut all = vec![
        ("0 x 5".into(), arcs(0, 5, [])),
        ("5 x 0".into(), arcs(5, 0, [])),
        ("1 x 70 full".into(), arcs(1, 70, (0..70).map(|j| (0, j)))),
        ("70 x 1 full".into(), arcs(70, 1, (0..70).map(|i| (i, 0)))),
        ("33 x 65 empty".into(), arcs(33, 65, [])),
    ];
    for (rows, columns, density) in [(7, 9, 0.4), (31, 64, 0.1), (64, 31, 0.1), (65, 33, 0.02), (100, 17, 0.5), (17, 100, 0.9)] {
        let csr = crate::cases::matrix::<bool>(rows, columns, density, (rows * columns) as u64).to_csr().0;
        all.push((format!("{rows} x {columns} random"), csr));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;

    #[test]
    fn references_agree_with_what_is_known() {
        for g in corpus() {
            let a = &g.csr;
            let labels = reference::components(a);
            if let Some(c) = g.known.components {
                let roots = labels.iter().enumerate().filter(|&(i, &l)| i as u32 == l).count();
                assert_eq!(roots as u64, c, "{}: components", g.name);
            }
            if let Some(t) = g.known.triangles {
                assert_eq!(reference::triangles(a), t, "{}: triangles", g.name);
            }
            if let Some((reached, depth)) = g.known.reach {
                let r = reference::reach(a, &reference::levels(a, 0));
                assert_eq!((r.reached, r.depth), (reached, depth), "{}: reach", g.name);
            }
        }
    }

    #[test]
    fn the_corpus_is_as_awkward_as_promised() {
        let all = corpus();
        assert!(all.iter().any(|g| g.csr.nrows() == 0) && all.iter().any(|g| g.csr.count_loops() > 1));
        assert!(all.iter().any(|g| !g.symmetric) && all.iter().all(|g| g.csr.is_square() && g.csr.nrows() <= 256));
        let mut names: Vec<_> = all.iter().map(|g| &g.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
        assert!(rectangular().iter().any(|(_, a)| a.nrows() > a.ncols()));
    }
}
