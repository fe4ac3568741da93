//! Components against a plain search, by every method, level and number of threads.

use super::*;
use bitgraph_sparse::{Coo, Duplicates};
use bitgraph_testkit::graphs::{Random, directed};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn reference(csr: &Csr) -> Cc {
    let union = csr.symmetrized().unwrap();
    let mut labels = vec![u32::MAX; csr.nrows()];
    for s in 0..csr.nrows() {
        let mut stack = vec![s as u32];
        while let Some(v) = stack.pop() {
            if labels[v as usize] == u32::MAX {
                labels[v as usize] = s as u32;
                stack.extend(union.row(v as usize));
            }
        }
    }
    Cc::from_labels(labels)
}

fn check(name: &str, arcs: &Csr) {
    let expected = reference(arcs);
    let (symmetric, transpose) = (arcs.symmetrized().unwrap(), arcs.transpose());
    let layout = CcLayout::new();
    for threads in 1..=3 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for method in [CcVariant::Hook, CcVariant::Search] {
            for isa in Isa::ALL {
                let run = |csr: &Csr, incoming: Option<&Csr>| {
                    pool.install(|| layout.run_with(csr, incoming, &CcConfig::default(), method, isa)).unwrap()
                };
                assert_eq!(run(&symmetric, None), expected, "{name}, {threads} threads, {method:?}, {}", isa.name());
                assert_eq!(run(arcs, Some(&transpose)), expected, "{name}, directed, {threads} threads, {method:?}, {}", isa.name());
            }
        }
        assert_eq!(pool.install(|| run(&symmetric, None, &CcConfig::default())).unwrap(), expected);
    }
}

#[test]
fn random_graphs() {
    let mut random = Random(1);
    for (n, arcs) in
        [(1, 0), (1, 1), (2, 1), (70, 0), (200, 100), (1000, 700), (5000, 2000), (5000, 40_000), (3001, 6000), (20_001, 200_000)]
    {
        let list: Vec<_> = (0..arcs).map(|_| (random.below(n), random.below(n))).collect();
        check(&format!("{n} vertices, {arcs} arcs"), &directed(n, list.clone()));
        // Several components of like size, isolated vertices and loops.
        let parts = 3;
        let list: Vec<_> = list
            .iter()
            .map(|&(a, b)| (a, b / parts * parts + a % parts))
            .filter(|&(a, b)| (b as usize) < n && a % 7 != 3 && b % 7 != 3)
            .collect();
        check(&format!("{n} vertices, {arcs} arcs, parted"), &directed(n, list));
    }
}

#[test]
fn long_and_dense_shapes() {
    let n = 4000u32;
    let path: Vec<_> = (1..n).map(|v| (v, v - 1)).collect();
    check("path", &directed(n as usize, path));
    let shuffled: Vec<_> = (1..n).map(|v| (v * 1597 % n, (v - 1) * 1597 % n)).collect();
    check("shuffled path", &directed(n as usize, shuffled));
    let loops: Vec<_> = (0..n).map(|v| (v, v)).collect();
    check("loops", &directed(n as usize, loops));
    let star: Vec<_> = (0..n).map(|v| (v, n - 1)).collect();
    check("star", &directed(n as usize, star));
    // Strips of a grid in a shuffled numbering: many components of like size, none of them a giant.
    let (side, name) = (97, |v: u32| v * 1597 % (97 * 97));
    let mut strips: Vec<_> = (0..side * side).filter(|v| v % side != 0).map(|v| (name(v), name(v - 1))).collect();
    strips.extend((side..side * side).filter(|v| v / side % 5 != 0).map(|v| (name(v), name(v - side))));
    check("strips", &directed((side * side) as usize, strips));
    // A dense core with a path hanging off it, whose end is the smallest vertex.
    let mut random = Random(5);
    let mut tail: Vec<_> = (1..1000).map(|v| (v - 1, v)).collect();
    tail.extend((0..60_000).map(|_| (999 + random.below(3001), 999 + random.below(3001))));
    check("core with a tail", &directed(n as usize, tail));
}

#[test]
fn refuses_and_stops() {
    let csr = directed(3, [(0, 1), (1, 0)]);
    let tall = Coo::pattern(2, 3, vec![0], vec![1]).into_csr(Duplicates::First).unwrap().0;
    assert!(matches!(run(&tall, None, &CcConfig::default()), Err(Error::NotSquare { .. })));
    assert!(matches!(run(&csr, Some(&directed(2, [])), &CcConfig::default()), Err(Error::Shape { .. })));
    let flag = Arc::new(AtomicBool::new(true));
    let config = CcConfig { control: bitgraph_backend::Control::default().with_cancel(flag) };
    assert_eq!(run(&csr, None, &config), Err(Error::Cancelled));
    let empty = Csr::empty(0, 0).unwrap();
    assert_eq!(run(&empty, None, &CcConfig::default()).unwrap(), Cc { labels: vec![], components: 0, largest: 0 });
}
