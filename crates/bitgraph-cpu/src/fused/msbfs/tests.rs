//! Every level and number of threads against single plain searches.

use super::*;
use bitgraph_sparse::Offsets;
use bitgraph_testkit::graphs::{directed, undirected};
use bitgraph_testkit::reference::levels as plain;

/// Pseudo-random pairs; small numbers are far more frequent if skewed.
fn pairs(seed: u64, n: u64, count: usize, skew: bool) -> Vec<(u32, u32)> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut unit = move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 33) % (1 << 20)
    };
    let mut end = move || ((if skew { (unit() * unit()) >> 20 } else { unit() }) % n) as u32;
    (0..count).map(|_| (end(), end())).collect()
}

#[test]
fn as_many_single_searches() {
    let pools = [1, 2].map(|k| rayon::ThreadPoolBuilder::new().num_threads(k).build().expect("a pool"));
    let path: Vec<_> = (1..90u32).map(|v| (v - 1, v)).collect();
    for (name, g) in [
        ("one vertex", directed(1, vec![])),
        ("one loop", directed(1, vec![(0, 0)])),
        ("no arcs", directed(70, vec![])),
        ("a directed path", directed(90, path.clone())),
        ("a path", undirected(90, path)),
        ("directed", directed(800, pairs(1, 700, 2500, false))),
        ("directed, skewed", directed(3000, pairs(2, 2900, 20_000, true))),
        ("undirected, in parts", undirected(1500, pairs(3, 1500, 1200, false))),
        ("undirected", undirected(3000, pairs(4, 3000, 15_000, false))),
    ] {
        let n = g.nrows();
        let t = g.transpose();
        let layout = MsBfsLayout::build(&g, &t);
        let expected: Vec<Vec<i32>> = (0..n.min(100)).map(|k| plain(&g, (k * 37 % n) as u32)).collect();
        for count in [0, 1, 63, 64, 65, 512, 700] {
            let sources: Vec<u32> = (0..count).map(|k| (k % n.min(100) * 37 % n) as u32).collect();
            for isa in Isa::ALL.into_iter().filter(|&isa| isa <= Isa::detect()) {
                for (threads, pool) in pools.iter().enumerate() {
                    let what = format!("{name}, {count} sources, {}, {} threads", isa.name(), threads + 1);
                    let config = MsBfsConfig { sources: sources.clone(), levels: true, ..Default::default() };
                    let found = pool.install(|| layout.run_isa(&g, &t, &config, isa)).expect("a search");
                    let levels = found.levels.expect("levels");
                    assert_eq!(levels.len(), count * n, "{what}");
                    for k in 0..count {
                        let single = &expected[k % n.min(100)];
                        assert!(levels[k * n..(k + 1) * n] == single[..], "{what}: source {k}");
                        let reached = single.iter().filter(|&&l| l >= 0);
                        assert_eq!(found.reached[k], reached.clone().count() as u64, "{what}: source {k}");
                        assert_eq!(found.depth[k], single.iter().copied().max().unwrap_or(0) as u32, "{what}: source {k}");
                        assert_eq!(found.sum_levels[k], reached.map(|&l| l as u64).sum::<u64>(), "{what}: source {k}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_batch_leaves_nothing_to_the_next() {
    // Vertices 0..600 have no incoming arcs; the sources of the two batches are different ones of them.
    let mut arcs = pairs(5, 2000, 30_000, false);
    arcs.iter_mut().for_each(|a| a.1 = 600 + a.1 % 1400);
    let g = directed(2000, arcs);
    let t = g.transpose();
    let layout = MsBfsLayout::build(&g, &t);
    for sources in [(0..600).collect::<Vec<u32>>(), (0..600).rev().collect()] {
        let found = layout.run(&g, &t, &MsBfsConfig { sources: sources.clone(), levels: true, ..Default::default() }).expect("a search");
        for (&s, levels) in sources.iter().zip(found.levels.expect("levels").chunks(2000)) {
            assert!(levels == plain(&g, s), "source {s}");
        }
    }
}

#[test]
fn refuses_what_it_cannot_search() {
    let g = directed(3, vec![(0, 1)]);
    let t = g.transpose();
    let layout = MsBfsLayout::build(&g, &t);
    let config = |sources: &[u32]| MsBfsConfig { sources: sources.to_vec(), ..Default::default() };
    assert!(matches!(layout.run(&g, &t, &config(&[0, 3])), Err(Error::VertexOutOfRange { vertex: 3, nodes: 3 })));
    let other = directed(4, vec![(0, 1)]);
    assert!(matches!(layout.run(&other, &other, &config(&[0])), Err(Error::Shape { .. })));
    let wide = Csr::new(3, 3, Offsets::U64(vec![0; 4].into()), Vec::new().into()).expect("a valid pattern");
    assert!(!supports(&wide));
    assert!(matches!(layout.run(&wide, &wide, &config(&[0])), Err(Error::Unsupported { .. })));
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let cancelled = MsBfsConfig { control: bitgraph_backend::Control::default().with_cancel(flag), ..config(&[0]) };
    assert_eq!(layout.run(&g, &t, &cancelled), Err(Error::Cancelled));
}
