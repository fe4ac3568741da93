//! Every output, level and number of threads against a plain search.

use super::*;
use bitgraph_algorithms::UNREACHED;
use bitgraph_sparse::Offsets;
use bitgraph_testkit::graphs::{directed, shifted, undirected};
use bitgraph_testkit::reference::levels as plain;

fn graphs() -> Vec<(&'static str, Csr)> {
    let pairs = |seed, n: u32, count: usize, skew: bool| {
        let mut pick = shifted(seed, 1 << 20);
        let mut end = move || {
            let cube = |x: u64, y: u64| (x * y) >> 20;
            if skew { (cube(u64::from(pick()), u64::from(pick())) as u32) % n } else { pick() % n }
        };
        (0..count).map(|_| (end(), end())).collect::<Vec<_>>()
    };
    let grid: Vec<_> = (0..300u32)
        .flat_map(|r| (0..250u32).map(move |c| (r, c)))
        .flat_map(|(r, c)| [(r * 250 + c, r * 250 + (c + 1).min(249)), (r * 250 + c, (r + 1).min(299) * 250 + c)])
        .collect();
    let shuffle: Vec<_> = grid.iter().map(|&(a, b)| (a * 7919 % 75_000, b * 7919 % 75_000)).collect();
    let path: Vec<_> = (1..500).map(|v| (v - 1, v)).collect();
    vec![
        ("one vertex", directed(1, [])),
        ("one loop", directed(1, [(0, 0)])),
        ("no arcs", directed(200, [])),
        ("a directed path", directed(500, path)),
        ("directed, sparse", directed(3000, pairs(1, 3000, 5000, false))),
        ("directed, dense", directed(2000, pairs(2, 2000, 60_000, false))),
        ("directed, skewed", directed(20_001, pairs(3, 20_001, 400_000, true))),
        ("undirected, in parts", undirected(3000, pairs(4, 3000, 2500, false))),
        ("undirected, wide", undirected(50_000, pairs(5, 50_000, 500_000, false))),
        ("undirected, skewed", undirected(50_000, pairs(6, 50_000, 500_000, true))),
        (
            "rows of many lengths, and a long one",
            undirected(3000, pairs(7, 3000, 6000, false).into_iter().chain((0..100).map(|v| (9, 29 * v)))),
        ),
        ("the same far apart", undirected(70_000, pairs(8, 70_000, 150_000, false).into_iter().chain((0..100).map(|v| (9, 600 * v))))),
        ("a grid with loops", undirected(75_000, grid)),
        ("a shuffled grid", undirected(75_000, shuffle)),
    ]
}

/// Checks a parent array against the levels: not compared, since several are right.
fn check_parents(g: &Csr, levels: &[i32], parents: &[u32], source: u32, what: &str) {
    for v in 0..g.nrows() {
        let parent = parents[v];
        match levels[v] {
            -1 => assert_eq!(parent, UNREACHED, "{what}: vertex {v}"),
            0 => assert_eq!(parent, source, "{what}"),
            level => {
                assert_eq!(levels[parent as usize], level - 1, "{what}: vertex {v}");
                assert!(g.row(parent as usize).binary_search(&(v as u32)).is_ok(), "{what}: vertex {v}");
            }
        }
    }
}

#[test]
fn every_output_of_every_graph() {
    // With threads for which there is no core, turns of rounds are late, and taken by others.
    let pools = [1, 3, 8].map(|k| rayon::ThreadPoolBuilder::new().num_threads(k).build().expect("a pool"));
    for (name, g) in graphs() {
        let n = g.nrows() as u32;
        let t = g.transpose();
        let ways = [(true, false, false), (false, true, false), (false, false, true)];
        for options in ways.map(|(max_degree, growing, at_will)| BfsOptions { max_degree, growing, at_will }) {
            let layout = BfsLayout::build_with(&g, &t, options);
            for source in [0, n / 2, n - 1, g.max_degree_row().unwrap_or(0)] {
                let levels = plain(&g, source);
                let reached = levels.iter().filter(|&&l| l >= 0).count() as u64;
                let depth = levels.iter().copied().max().unwrap_or(0) as u32;
                let edges = (0..n as usize).filter(|&v| levels[v] >= 0).map(|v| g.degree(v) as u64).sum::<u64>();
                let smallest: Vec<u32> = (0..n as usize)
                    .map(|v| match levels[v] {
                        -1 => UNREACHED,
                        0 => source,
                        l => *t.row(v).iter().find(|&&u| levels[u as usize] == l - 1).expect("a parent"),
                    })
                    .collect();
                for isa in Isa::ALL.into_iter().filter(|&isa| isa <= Isa::detect()) {
                    for pool in &pools {
                        for (output, deterministic) in
                            [(BfsOutput::Levels, false), (BfsOutput::Parents, false), (BfsOutput::Parents, true), (BfsOutput::Both, true)]
                        {
                            let what = format!(
                                "{name} from {source}, {output:?}, {}, {} threads, {options:?}",
                                isa.name(),
                                pool.current_num_threads()
                            );
                            let config = BfsConfig { source, output, deterministic, ..Default::default() };
                            let found = pool.install(|| layout.run_isa(&g, &t, &config, isa)).expect("a search");
                            assert_eq!((found.reached, found.depth, found.edges_traversed), (reached, depth, edges), "{what}");
                            assert_eq!(found.levels.is_some(), output.levels(), "{what}");
                            assert_eq!(found.parents.is_some(), output.parents(), "{what}");
                            if let Some(l) = &found.levels {
                                assert!(*l == levels, "{what}");
                            }
                            if let Some(p) = &found.parents {
                                check_parents(&g, &levels, p, source, &what);
                                assert!(!deterministic || *p == smallest, "{what}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn refuses_what_it_cannot_search() {
    let g = directed(3, [(0, 1)]);
    let layout = BfsLayout::build(&g, &g.transpose());
    let run = |out: &Csr, incoming: &Csr, source| layout.run(out, incoming, &BfsConfig { source, ..Default::default() });
    assert!(matches!(run(&g, &g.transpose(), 3), Err(Error::VertexOutOfRange { vertex: 3, nodes: 3 })));
    let other = directed(4, [(0, 1)]);
    assert!(matches!(run(&other, &other.transpose(), 0), Err(Error::Shape { .. })));
    let wide = Csr::new(3, 3, Offsets::U64(vec![0; 4].into()), Vec::new().into()).expect("a valid pattern");
    assert!(!supports(&wide));
    assert!(matches!(BfsLayout::build(&wide, &wide).run(&wide, &wide, &BfsConfig::default()), Err(Error::Unsupported { .. })));
    let none = directed(0, []);
    assert!(matches!(BfsLayout::build(&none, &none).run(&none, &none, &BfsConfig::default()), Err(Error::VertexOutOfRange { .. })));
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let config = BfsConfig { control: bitgraph_backend::Control::default().with_cancel(flag), ..Default::default() };
    assert_eq!(layout.run(&g, &g.transpose(), &config), Err(Error::Cancelled));
}
