//! The profile and the pattern categories, on generated graphs and, where there are any, on real ones.

mod common;

use bitgraph_b2sr::{Category, Degrees, HybridConfig, Profile, ProfileConfig, RowSample, TileCounts};
use bitgraph_sparse::{Csr, FormatKind};
use std::path::Path;

fn profile(csr: &Csr) -> Profile {
    Profile::new(csr, &ProfileConfig::default())
}

fn mycielskian(k: usize) -> Csr {
    // From an edge: every step adds a copy of each vertex, joined to its neighbours, and one vertex joined to the copies.
    let (mut n, mut edges) = (2, vec![(0, 1)]);
    for _ in 2..k {
        let copies: Vec<_> = edges.iter().flat_map(|&(u, v)| [(u, v + n), (u + n, v)]).collect();
        edges.extend(copies);
        edges.extend((0..n).map(|v| (v + n, 2 * n)));
        n = 2 * n + 1;
    }
    common::pattern(n, n, edges.into_iter().flat_map(|(u, v)| [(u, v), (v, u)]))
}

fn de_bruijn(k: usize) -> Csr {
    let n = 1 << k;
    let arcs = (0..n).flat_map(|v| [(v, 2 * v % n), (v, (2 * v + 1) % n)]).filter(|(u, v)| u != v);
    common::pattern(n, n, arcs.flat_map(|(u, v)| [(u, v), (v, u)]))
}

#[test]
fn degrees_and_sizes() {
    let star = common::pattern(200, 200, (1..200).flat_map(|v| [(0, v), (v, 0)]).chain([(7, 7)]));
    let p = profile(&star);
    assert_eq!((p.degrees.min, p.degrees.max, p.degrees.empty, p.loops), (1, 199, 0, 1));
    assert_eq!(p.degrees.percentiles, [1; 6]);
    assert!((p.degrees.top_share - 201.0 / 399.0).abs() < 1e-12);
    assert_eq!(p.bandwidth_max, 199);
    let size = p.size_of(FormatKind::Csr).expect("a size");
    assert_eq!((size.bytes, size.to_pattern_csr), (star.bytes(), 1.0));
    assert_eq!(p.tiles, TileCounts::exact_with_hybrid(&star, &HybridConfig::default()));
    for (name, csr) in common::corpus() {
        let p = profile(&csr);
        assert_eq!(p.categories.is_empty(), csr.nnz() == 0, "{name}");
        assert_eq!(p, profile(&csr), "{name}");
        let sampled = Profile::new(&csr, &ProfileConfig { exact: false, ..ProfileConfig::default() });
        assert_eq!(sampled.degrees, p.degrees);
    }
    assert_eq!(Degrees::new(&common::pattern(0, 3, [])), Degrees::default());
}

#[test]
fn the_sampling_profile_of_a_full_matrix() {
    let full = common::pattern(64, 64, (0..64 * 64).map(|i| (i / 64, i % 64)));
    let sample = RowSample::new(&full, 10, 3);
    assert_eq!(sample.entries_per_bit_row, [4.0, 8.0, 16.0, 32.0]);
    assert!(sample.bytes_ratio.iter().all(|&r| r < 0.05));
    assert_eq!(sample, RowSample::new(&full, 10, 3));
    let empty = RowSample::new(&common::pattern(5, 5, []), 10, 3);
    assert_eq!(empty.entries_per_bit_row, [0.0; 4]);
}

#[test]
fn mycielskian_12_is_smallest_in_16() {
    // The paper's example: 16 is the smallest of the four tile sizes for this graph, 32 larger again.
    let counts = TileCounts::exact(&mycielskian(12));
    let bytes = |kind| counts.bytes(kind).expect("a tile format");
    assert!(bytes(FormatKind::B2sr16) < bytes(FormatKind::B2sr32));
    assert!(bytes(FormatKind::B2sr8) < bytes(FormatKind::B2sr4));
    assert!(counts.float_csr_bytes() > 3_000_000 && bytes(FormatKind::B2sr8) < 400_000);
}

#[test]
fn categories_of_generated_graphs() {
    let has = |csr: &Csr, category: Category| {
        let p = profile(csr);
        println!("{category}: {:?} by {:?}", p.categories, p.pattern);
        assert!(p.categories.contains(&category), "{category} not in {:?} by {:?}", p.categories, p.pattern);
    };
    has(&common::grid(60, 40), Category::Diagonal);
    has(&common::random(3000, 3000, 20_000, 1), Category::Dot);
    has(&mycielskian(9), Category::Block);
    has(&mycielskian(10), Category::Block);
    has(&de_bruijn(12), Category::Stripe);
    has(&common::pattern(500, 500, (1..500).flat_map(|v| [(v - 1, v), (v, v - 1)])), Category::Road);
    assert!(!profile(&common::random(3000, 3000, 20_000, 1)).categories.contains(&Category::Diagonal));
}

/// Reads the coordinate form; enough for the graphs that the paper labels.
fn read(path: &Path) -> Option<Csr> {
    let text = std::fs::read_to_string(path).ok()?;
    let mut lines = text.lines().filter(|l| !l.starts_with('%'));
    let n: usize = lines.next()?.split_whitespace().next()?.parse().ok()?;
    let mut entries = Vec::new();
    for line in lines {
        let mut words = line.split_whitespace().map_while(|w| w.parse::<usize>().ok());
        if let (Some(r), Some(c)) = (words.next(), words.next()) {
            entries.extend([(r - 1, c - 1), (c - 1, r - 1)]);
        }
    }
    Some(common::pattern(n, n, entries))
}

#[test]
fn categories_of_the_labelled_graphs() {
    let Some(dir) = std::env::var_os("BITGRAPH_DATA") else {
        println!("skipped: BITGRAPH_DATA is not set");
        return;
    };
    let labels = [
        ("delaunay_n14", Category::Stripe),
        ("ash292", Category::Diagonal),
        ("jagmesh6", Category::Diagonal),
        ("minnesota", Category::Diagonal),
        ("uk", Category::Diagonal),
        ("whitaker3_dual", Category::Diagonal),
    ];
    let mut wrong = Vec::new();
    for (name, category) in labels {
        let Some(csr) = read(&Path::new(&dir).join(name).with_extension("mtx")) else {
            println!("skipped: {name} is not in BITGRAPH_DATA");
            continue;
        };
        let p = profile(&csr);
        println!("{name}: {:?} by {:?}", p.categories, p.pattern);
        if !p.categories.contains(&category) {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "not where the paper puts them: {wrong:?}");
}
