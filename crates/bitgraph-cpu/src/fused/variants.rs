//! Graphs that are made for a variant each: a run enters it, and is right.
//!
//! Invariant: every name that [`crate::trace`] knows of a fused form is asked for here; a variant that no graph reaches is no variant.

use super::{bfs, cc, msbfs, sssp, tc};
use crate::Isa;
use crate::trace::Traced;
use bitgraph_algorithms::{BfsConfig, BfsOutput, Cc, CcConfig, MsBfsConfig, SsspConfig, Tc, TcConfig, UNREACHED};
use bitgraph_backend::Stats;
use bitgraph_sparse::{Csr, Values};
use bitgraph_testkit::graphs::{Random, undirected};
use bitgraph_testkit::reference::levels;
use std::collections::BTreeSet;

/// How long a variant is waited for that needs a second thread in time.
const TIME_LIMIT: std::time::Duration = std::time::Duration::from_secs(40);

fn entered(what: &str, names: &BTreeSet<&'static str>, expected: &[&str]) {
    for name in expected {
        assert!(names.contains(name), "{what} does not enter {name:?}, but {names:?}");
    }
}

/// Layers of equal width, every vertex with so many edges to the next layer: levels are as wide as layers.
fn layers(count: usize, width: usize, edges: usize) -> Csr {
    let mut random = Random(1);
    let mut list = Vec::new();
    for layer in 0..count - 1 {
        for v in 0..width {
            list.extend((0..edges).map(|_| ((layer * width + v) as u32, ((layer + 1) * width) as u32 + random.below(width))));
        }
    }
    undirected(count * width, list)
}

/// A graph, and as many leaves as said at each of some of its vertices.
fn with_leaves(g: &Csr, hubs: &[u32], leaves: u32) -> Csr {
    let n = g.nrows() as u32;
    let old = (0..n).flat_map(|v| g.row(v as usize).iter().map(move |&u| (v, u)));
    let new = (0u32..).zip(hubs).flat_map(|(k, &hub)| (0..leaves).map(move |i| (hub, n + k * leaves + i)));
    undirected(g.nrows() + hubs.len() * leaves as usize, old.chain(new))
}

/// Searches on so many threads, for levels and for parents.
fn search(what: &str, g: &Csr, source: u32, threads: usize, expected: &[&str]) {
    let levels = levels(g, source);
    let max_degree = expected.iter().any(|name| name.ends_with("by max-degree neighbours"));
    let layout = bfs::BfsLayout::build_with(
        g,
        g,
        bfs::BfsOptions { max_degree, growing: false, at_will: expected.contains(&"bfs: by several at will") },
    );
    let pool = Traced::new(threads);
    let reached = levels.iter().filter(|&&l| l >= 0).count() as u64;
    let edges: u64 = (0..g.nrows()).filter(|&v| levels[v] >= 0).map(|v| g.degree(v) as u64).sum();
    // Twice at least, so that a run finds the memory that the one before left, and until threads have come in time for what depends on that.
    let (start, mut names) = (std::time::Instant::now(), BTreeSet::new());
    for run in 0.. {
        let config = BfsConfig { source, ..BfsConfig::default() };
        let (found, now) = pool.run(|| layout.run(g, g, &config).expect("a search"));
        assert_eq!((found.reached, found.edges_traversed), (reached, edges), "{what}");
        assert!(found.levels.as_deref() == Some(&levels[..]), "{what}: levels");
        names.extend(now);
        if run > 0 && expected.iter().all(|name| names.contains(name)) || start.elapsed() > TIME_LIMIT {
            break;
        }
    }
    entered(what, &names, expected);
    let config = BfsConfig { source, output: BfsOutput::Parents, deterministic: false, ..BfsConfig::default() };
    let (found, _) = pool.run(|| layout.run(g, g, &config).expect("a search"));
    for (v, &parent) in found.parents.expect("parents").iter().enumerate() {
        match levels[v] {
            -1 => assert_eq!(parent, UNREACHED, "{what}: vertex {v}"),
            0 => assert_eq!(parent, source, "{what}"),
            level => assert!(
                levels[parent as usize] == level - 1 && g.row(parent as usize).binary_search(&(v as u32)).is_ok(),
                "{what}: vertex {v}"
            ),
        }
    }
}

#[test]
fn breadth_first_search() {
    let mut random = Random(2);
    for threads in [2, 3] {
        // A level has more arcs than the leader pushes alone, and fewer than a sixteenth of the vertices; most are found several times.
        search("layers", &layers(200, 1000, 4), 17, threads, &["bfs: shared top-down"]);
        // It has more, and fewer than a twelfth of the rest.
        search("dense layers", &layers(30, 2400, 9), 17, threads, &["bfs: one level spread"]);
        search("narrow layers", &layers(300, 70, 5), 17, threads, &["bfs: by several at will"]);
    }
    // Neighbours are near each other, and there are workers enough.
    search("dense layers", &layers(30, 2400, 9), 17, 4, &["bfs: a dense level shared top-down"]);
    // Rows of two parts and a shorter one, whose leaves nothing else leads to.
    let hubs = with_leaves(&layers(400, 1000, 4), &[60_003, 75_001], 2 * 4096 + 77);
    search("hubs among layers", &hubs, 17, 3, &["bfs: shared top-down", "bfs: a part of a long row"]);
    search("layers", &layers(36, 5000, 4), 17, 1, &["bfs: over marks of joined rows"]);
    let chords = (0..20_000).flat_map(|v| [(v, (v + 1) % 20_000), (v, (v + 5) % 20_000)]);
    search("a ring with chords", &undirected(20_000, chords), 17, 1, &["bfs: over marks"]);
    let edges = random.pairs(600_000, 60_000, 0);
    let alike = undirected(60_000, edges);
    search("alike degrees", &alike, 5, 1, &["bfs: over bits", "bfs: spread", "bfs: bottom-up"]);
    search("alike degrees", &alike, 5, 2, &["bfs: spread", "bfs: bottom-up"]);
    let edges = random.pairs(140_000, 70_000, 0);
    search("far neighbours", &undirected(70_000, edges), 5, 1, &["bfs: over marks of joined rows, scattered"]);
    // A grid numbered at random, whose rows are alike.
    let at = |k: u32| (u64::from(k) * 7919 % 75_000) as u32;
    let beside = (0..75_000).filter(|k| k % 250 < 249).map(|k| (at(k), at(k + 1)));
    let grid = undirected(75_000, beside.chain((0..74_750).map(|k| (at(k), at(k + 250)))));
    search("a shuffled grid", &grid, 5, 1, &["bfs: over marks, scattered"]);
    // Hubs: an end is the smallest of many numbers.
    let mut end = || (0..24).map(|_| random.below(30_000)).min().unwrap_or(0);
    let edges: Vec<_> = (0..400_000).map(|_| (end(), end())).collect();
    search("hubs", &undirected(30_000, edges), 5, 2, &["bfs: bottom-up by max-degree neighbours"]);
}

/// Counts by the form, the expected one where none is given, and with every instruction set; all alike, and as `oracle` does.
fn count(what: &str, g: &Csr, form: Option<tc::TcForm>, oracle: tc::TcForm, expected: &[&str], vectors: &[&str]) {
    let layout = tc::TcLayout::default();
    let config = TcConfig::default();
    let form = form.unwrap_or_else(|| tc::TcForm::choose(&Stats::of(g)));
    let wanted = layout.run_isa(g, &config, oracle, Isa::Portable).expect("a count");
    assert!(wanted.triangles > 0, "{what} has no triangles");
    for threads in [1, 2] {
        let pool = Traced::new(threads);
        for isa in Isa::ALL.into_iter().filter(|&isa| isa <= Isa::detect()) {
            let (found, names) = pool.run(|| layout.run_isa(g, &config, form, isa));
            assert_eq!(found, Ok(Tc { triangles: wanted.triangles }), "{what}, {}", isa.name());
            entered(what, &names, expected);
            if isa == Isa::Avx512 {
                entered(what, &names, vectors);
            }
        }
    }
}

#[test]
fn triangles() {
    use tc::TcForm::{Ascending, Low, Ranked};
    let mut random = Random(3);
    // Two triangles in every square.
    let squares = (0..100u32).flat_map(|r| {
        (0..99).filter(move |_| r < 99).flat_map(move |c| {
            let v = 100 * r + c;
            [(v, v + 1), (v, v + 100), (v, v + 101)]
        })
    });
    count("squares", &undirected(10_000, squares), None, Ascending, &["tc: low"], &[]);
    let edges = random.pairs(200_000, 20_000, 0);
    count("alike degrees", &undirected(20_000, edges), None, Ranked, &["tc: ascending"], &[]);
    let edges: Vec<_> = random.pairs(60_000, 20_000, 0).into_iter().chain((1..15_000).filter(|&v| v != 9000).map(|v| (9000, v))).collect();
    count("a hub", &undirected(20_000, edges), None, Ascending, &["tc: ranked"], &[]);
    // A clique of 65, the last of which has no other neighbour, while the others know 64 vertices whose numbers are those of the clique less
    // 1024: all of their rows pass the filter of the last.
    let clique = (1024..1089u32).flat_map(|a| (1024..a).map(move |b| (a, b)));
    let aliases = (1024..1088u32).flat_map(|a| (0..64).map(move |b| (a, b)));
    let long = (0..90u32).flat_map(|a| (0..a).map(move |b| (1200 + a, 1200 + b)));
    let edges: Vec<_> = clique.chain(aliases).chain(long).collect();
    count("a clique", &undirected(1400, edges), Some(Ascending), Low, &[], &["tc: ascending, a full buffer", "tc: ascending, a long row"]);
}

#[test]
fn triangles_of_vertices_that_are_no_hubs() {
    // 60 vertices that are neighbours of all and a ring whose members have degree 470 are the hubs, but for the last of the ring. A clique of
    // smaller degree has rows whose common neighbours are more than a buffer holds, and one vertex a row too long for a filter.
    let (ring, known, clique) = (8300u32, 60, 120);
    let last = ring + known + clique;
    let mut edges: Vec<(u32, u32)> = (0..ring).flat_map(|v| (1..=205).map(move |d| (v, (v + d) % ring))).collect();
    edges.extend((0..known).flat_map(|k| (0..ring).chain(ring + known..last).map(move |v| (ring + k, v))));
    edges.extend((0..clique).flat_map(|a| (0..a).map(move |b| (ring + known + a, ring + known + b))));
    edges.extend((0..392).map(|k| (last, ring - 1 - k)));
    // The others of the ring have one neighbour more as well, and smaller numbers.
    edges.extend((0..ring - 392).map(|v| (v, last + 1 + v)));
    let g = undirected(17_000, edges);
    let vectors = ["tc: ranked, a full buffer", "tc: ranked, filtered", "tc: ranked, unfiltered"];
    count("a clique beside hubs", &g, Some(tc::TcForm::Ranked), tc::TcForm::Ascending, &["tc: ranked"], &vectors);
}

/// The components by a plain search.
fn plain_components(g: &Csr) -> Cc {
    let mut labels = vec![u32::MAX; g.nrows()];
    for s in 0..g.nrows() {
        let mut stack = vec![s as u32];
        while let Some(v) = stack.pop() {
            if labels[v as usize] == u32::MAX {
                labels[v as usize] = s as u32;
                stack.extend(g.row(v as usize).iter().filter(|&&u| labels[u as usize] == u32::MAX));
            }
        }
    }
    Cc::from_labels(labels)
}

fn label(what: &str, g: &Csr, threads: usize, expected: &[&str]) {
    let wanted = plain_components(g);
    let layout = cc::CcLayout::new();
    let pool = Traced::new(threads);
    for _ in 0..5 {
        let (found, names) = pool.run(|| layout.run(g, None, &CcConfig::default()).expect("a run"));
        assert!(found == wanted, "{what}: {} components, expected {}", found.components, wanted.components);
        entered(what, &names, expected);
    }
}

#[test]
fn components() {
    let mut random = Random(4);
    // A giant, and beside it another component, so large that all threads join its trees at once.
    let mut edges = random.pairs(220_000, 20_000, 0);
    edges.extend(random.pairs(30_000, 20_000, 20_000));
    let two = undirected(40_000, edges);
    for threads in [2, 3] {
        label("two components", &two, threads, &["cc: top-down by all", "cc: bottom-up by all", "cc: rest by all"]);
    }
    // A path whose end is the smallest vertex is hooked onto the giant.
    let mut edges = random.pairs(300_000, 20_000, 1000);
    edges.extend((1..=1000).map(|v| (v - 1, v)));
    label("a tail", &undirected(21_000, edges), 1, &["cc: bottom-up by one", "cc: rest by one", "cc: a tail of the giant"]);
    let grid =
        |n: u32| (0..n * n).flat_map(move |v| [(v, if v % n + 1 < n { v + 1 } else { v }), (v, if v + n < n * n { v + n } else { v })]);
    label("a grid", &undirected(160_000, grid(400)), 3, &["cc: hooked by all", "cc: one tree"]);
    label("a grid", &undirected(40_000, grid(200)), 1, &["cc: hooked by one", "cc: one tree"]);
    // Two slopes that meet in the middle: two trees.
    let row = |r: u32| if r < 200 { 2 * r } else { 2 * (399 - r) + 1 };
    let slopes = grid(400).map(|(a, b)| (row(a / 400) * 400 + a % 400, row(b / 400) * 400 + b % 400));
    label("two slopes", &undirected(160_000, slopes), 2, &["cc: hooked by all", "cc: linked one by one"]);
    let edges = random.pairs(250_000, 100_000, 0);
    let sparse = undirected(100_000, edges);
    label("a sparse graph", &sparse, 4, &["cc: hooked by all", "cc: linked by pairs", "cc: outside the giant"]);
    // Most vertices lie far behind their smallest neighbours: too few threads to share them.
    label("a sparse graph", &sparse, 2, &["cc: hooked by one", "cc: linked one by one", "cc: outside the giant"]);
}

#[test]
fn many_sources() {
    let mut random = Random(5);
    let path: Vec<_> = (1..3000u32).map(|v| (v + 29_999, v + 30_000)).collect();
    let mut edges = random.pairs(200_000, 30_000, 0);
    edges.extend([(0, 30_000)]);
    edges.extend(path);
    let g = undirected(33_000, edges);
    let sources: Vec<u32> = (0..20).map(|k| k * 701).chain([32_999]).collect();
    let layout = msbfs::MsBfsLayout::build(&g, &g);
    for threads in [1, 2] {
        let config = MsBfsConfig { sources: sources.clone(), levels: true, ..MsBfsConfig::default() };
        let (found, names) = Traced::new(threads).run(|| layout.run(&g, &g, &config).expect("a search"));
        entered("a graph with a tail", &names, &["msbfs: push", "msbfs: pull", "msbfs: pull, late", "msbfs: back to push"]);
        let all = found.levels.expect("levels");
        for (k, &source) in sources.iter().enumerate() {
            assert!(all[k * g.nrows()..(k + 1) * g.nrows()] == levels(&g, source)[..], "from {source}, {threads} threads");
        }
    }
}

/// Weights 1 to `most` that are the same in both directions.
fn weights(g: &Csr, most: u32) -> Vec<u32> {
    let weight = |u: u32, v: u32| 1 + (u.min(v).wrapping_mul(0x9e37_79b1) ^ u.max(v).wrapping_mul(0x85eb_ca6b)) % most;
    (0..g.nrows() as u32).flat_map(|u| g.row(u as usize).iter().map(move |&v| weight(u, v))).collect()
}

fn plain_distances(g: &Csr, weights: &[u32], source: u32) -> Vec<u32> {
    let mut distances = vec![u32::MAX; g.nrows()];
    let mut heap = std::collections::BinaryHeap::from([(std::cmp::Reverse(0), source)]);
    distances[source as usize] = 0;
    while let Some((std::cmp::Reverse(d), v)) = heap.pop() {
        if d > distances[v as usize] {
            continue;
        }
        for k in g.row_range(v as usize) {
            let (u, sum) = (g.indices()[k], d + weights[k]);
            if sum < distances[u as usize] {
                distances[u as usize] = sum;
                heap.push((std::cmp::Reverse(sum), u));
            }
        }
    }
    distances
}

/// Runs until a run has entered what depends on when a thread comes: on a busy machine it may be long in coming.
fn shortest(what: &str, g: &Csr, most: u32, threads: usize, variant: sssp::SsspVariant, expected: &[&str]) {
    let list = weights(g, most);
    let wanted = plain_distances(g, &list, 3);
    let layout = sssp::SsspLayout::build(g, None, Some(&Values::from_vec(list))).expect("a layout");
    assert_eq!(layout.variant(), variant, "{what}");
    let pool = Traced::new(threads);
    let mut names = BTreeSet::new();
    let start = std::time::Instant::now();
    while start.elapsed() < TIME_LIMIT {
        let config = SsspConfig { source: 3, ..SsspConfig::default() };
        let (found, now) = pool.run(|| layout.run::<u32>(&config).expect("a run"));
        assert!(found.distances == wanted, "{what}");
        names.extend(now);
        if expected.iter().all(|name| names.contains(name)) {
            return;
        }
    }
    entered(what, &names, expected);
}

#[test]
fn shortest_paths() {
    use sssp::SsspVariant::{Buckets, Packed, PackedAtWill, PackedRows, SortedBuckets};
    let mut random = Random(6);
    let edges = random.pairs(40_000, 4000, 0);
    let dense = undirected(4000, edges.iter().copied());
    // Vertices with one neighbour are open at the end.
    let pendants = undirected(6000, edges.into_iter().chain((0..2000).map(|v| (v, 4000 + v))));
    let last = ["sssp: packed, the last horizon"];
    shortest("pendants", &pendants, 255, 1, Packed, &last);
    shortest("pendants", &pendants, 255, 3, Packed, &[&last[..], &["sssp: a shared window"]].concat());
    let ways = ["sssp: packed, pulling"];
    shortest("alike degrees", &dense, 255, 1, Packed, &[&ways[..], &["sssp: packed by one"]].concat());
    shortest("alike degrees", &dense, 255, 3, Packed, &[&ways[..], &["sssp: packed by several"]].concat());
    shortest("alike degrees", &dense, 255, 2, Packed, &[&ways[..], &["sssp: packed by two"]].concat());
    let sparse = undirected(4000, random.pairs(12_000, 4000, 0));
    shortest("few arcs", &sparse, 255, 3, PackedAtWill, &["sssp: by several at will"]);
    let n = 90u32;
    let grid = (0..n * n).flat_map(|v| [(v, if v % n + 1 < n { v + 1 } else { v }), (v, if v + n < n * n { v + n } else { v })]);
    let grid = undirected((n * n) as usize, grid.filter(|(a, b)| a != b));
    shortest("a grid", &grid, 200, 1, PackedRows, &["sssp: rows of 4"]);
    shortest("a grid", &grid, 200, 3, PackedRows, &["sssp: rows of 4", "sssp: by several at will"]);
    let eight =
        (0..n * n).flat_map(|v| [(v, (v + 1) % (n * n)), (v, (v + n) % (n * n)), (v, (v + 7 * n) % (n * n)), (v, (v + 3) % (n * n))]);
    shortest("a torus", &undirected((n * n) as usize, eight), 200, 3, PackedRows, &["sssp: rows of 8", "sssp: by several at will"]);
    shortest("heavy weights", &dense, 1000, 2, Buckets, &["sssp: by several at will"]);
    let hubs = (0..20).flat_map(|hub| (20..4000).map(move |v| (hub, v)));
    let hubs = undirected(4000, random.pairs(12_000, 4000, 0).into_iter().chain(hubs));
    shortest("heavy weights and hubs", &hubs, 1000, 1, SortedBuckets, &["sssp: rows sorted by weight"]);
    shortest("heavy weights and hubs", &hubs, 1000, 3, SortedBuckets, &["sssp: rows sorted by weight", "sssp: a shared window"]);
}
