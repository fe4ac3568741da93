//! Every form against union-find by plain loops, on the host shim (or a GPU, where there is one).

use super::{CcLayout, Options, Variant};
use crate::device::testing::device;
use crate::{Cuda, DeviceCsr};
use bitgraph_algorithms::{Cc, CcConfig};
use bitgraph_backend::{Control, Graph, GraphData, Request, Symmetry};
use bitgraph_sparse::Csr;
use bitgraph_testkit::graphs::{Random, pattern as csr};
use bitgraph_testkit::shared;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn grid(rows: u32, columns: u32, stride: u32) -> Csr {
    let n = rows * columns;
    // A stride without common factors with the size scatters the numbering.
    let at = move |r: u32, c: u32| (u64::from(r * columns + c) * u64::from(stride) % u64::from(n)) as u32;
    let across = (0..rows).flat_map(move |r| (1..columns).map(move |c| (at(r, c - 1), at(r, c))));
    let down = (1..rows).flat_map(move |r| (0..columns).map(move |c| (at(r - 1, c), at(r, c))));
    csr(n as usize, across.chain(down), true)
}

fn expected(graph: &Csr) -> Cc {
    let mut above: Vec<u32> = (0..graph.nrows() as u32).collect();
    fn root(above: &[u32], mut v: u32) -> u32 {
        while above[v as usize] != v {
            v = above[v as usize];
        }
        v
    }
    for v in 0..graph.nrows() {
        for &w in graph.row(v) {
            let (a, b) = (root(&above, v as u32), root(&above, w));
            above[a.max(b) as usize] = a.min(b);
        }
    }
    Cc::from_labels((0..graph.nrows() as u32).map(|v| root(&above, v)).collect())
}

fn graphs() -> Vec<(&'static str, Csr, bool)> {
    shared(vec![
        ("empty", csr(0, [], true), true),
        ("one", csr(1, [], true), true),
        ("loop", csr(1, [(0, 0)], true), true),
        ("isolated", csr(77, [], true), true),
        ("star", csr(900, (0..899).map(|v| (899, v)), true), true),
        ("long row", csr(9300, (0..9000).map(|v| (9000, v)).chain((9001..9299).map(|v| (v, v + 1))), true), true),
        ("path", csr(700, (1..700).map(|v| (v - 1, v)), true), true),
        ("two paths", csr(700, (2..700).map(|v| (v - 2, v)), true), true),
        ("grid", grid(23, 41, 1), true),
        ("scattered grid", grid(23, 41, 301), true),
        ("sparse", csr(900, Random(3).pairs(500, 900, 0), true), true),
        ("random", csr(800, Random(4).pairs(4000, 800, 0), true), true),
        ("path, one way", csr(300, (1..300).map(|v| (v - 1, v)), false), false),
        ("star, inwards", csr(9000, (1..9000).map(|v| (v, 0)), false), false),
        ("star, outwards", csr(9000, (0..8999).map(|v| (8999, v)), false), false),
        ("sparse, directed", csr(900, Random(5).pairs(700, 900, 0), false), false),
        ("random, directed", csr(800, Random(6).pairs(3000, 800, 0), false), false),
    ])
}

#[test]
fn all_forms_find_the_components() {
    let Some(device) = device() else { return };
    for (name, graph, symmetric) in graphs() {
        let want = expected(&graph);
        let out = DeviceCsr::upload(&device, &graph).unwrap();
        let incoming = (!symmetric).then(|| DeviceCsr::upload(&device, &graph.transpose()).unwrap());
        for &variant in Variant::ALL {
            for middle in [None, Some(true)] {
                let options = Options { middle, ..Options::default() };
                let layout = CcLayout::build(&device, &out, incoming.as_ref(), variant, options).unwrap().unwrap();
                let fits = symmetric && graph.nrows() > 0;
                assert_eq!(layout.variant(), if fits { variant } else { Variant::General }, "{name}");
                for _ in 0..2 {
                    let got = layout.run(&device, &out, incoming.as_ref(), &CcConfig::default()).unwrap();
                    assert_eq!(got, want, "{name}, {variant:?}");
                }
            }
        }
    }
}

#[test]
fn hubs_are_chosen_where_they_reach_nearly_all() {
    if device().is_none() {
        return;
    }
    // Two stars whose leaves are paired at one place, a third one apart, pairs, and vertices without neighbours.
    let star = |hub: u32, leaves: std::ops::Range<u32>| leaves.map(move |v| (hub, v));
    let arcs = star(29_000, 0..26_000).chain(star(29_500, 26_000..26_400)).chain([(25_999, 26_000)]);
    let arcs = arcs.chain(star(28_999, 26_500..26_900)).chain((27_000..27_400).map(|v| (v, 28_400 - v)));
    let graph = csr(30_000, arcs, true);
    let chosen = |csr: &Csr| {
        let graph = Graph::new(Cuda::open(0).unwrap(), GraphData::new(csr.clone().into(), None, Symmetry::Find, None).unwrap());
        let ready = graph.prepare(&CcConfig::default(), &Request::runs(1000)).unwrap();
        assert_eq!(ready.layout().unwrap().variant().name(), ready.plan().variant());
        assert_eq!(ready.run(&CcConfig::default()).unwrap(), expected(csr));
        ready.plan().variant()
    };
    assert_eq!(chosen(&graph), "ascent");
    // Few ways lead to the top of a graph whose vertices are all alike but one.
    let alike = Random(9).pairs(60_000, 30_000, 0).into_iter().chain(star(29_999, 0..200));
    assert_eq!(chosen(&csr(30_000, alike, true)), "shared-near");
}

#[test]
fn stops_when_asked() {
    let Some(device) = device() else { return };
    let out = DeviceCsr::upload(&device, &grid(5, 5, 1)).unwrap();
    let config = CcConfig { control: Control::default().with_cancel(Arc::new(AtomicBool::new(true))) };
    for variant in [Variant::General, Variant::Shared, Variant::Block, Variant::Ascent] {
        let layout = CcLayout::build(&device, &out, None, variant, Options::default()).unwrap().unwrap();
        assert!(layout.run(&device, &out, None, &config).is_err());
    }
}
