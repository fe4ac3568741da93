//! Every form against counting by plain loops, on the host shim (or a GPU, where there is one).

use super::{Options, TcLayout, Variant};
use crate::DeviceCsr;
use crate::device::testing::device;
use bitgraph_algorithms::TcConfig;
use bitgraph_sparse::Csr;
use bitgraph_testkit::graphs::undirected as csr;
use bitgraph_testkit::reference::triangles as expected;
use bitgraph_testkit::shared;

fn random(seed: u64, n: u64, edges: u64, skew: u32) -> Vec<(u32, u32)> {
    let mut state = seed;
    let mut next = |skew: u32| {
        let mut v = n;
        for _ in 0..=skew {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            v = v * ((state >> 33) % 1024) / 1024;
        }
        v as u32
    };
    (0..edges).map(|_| (next(skew), next(0))).collect()
}

fn graphs() -> Vec<(&'static str, Csr)> {
    let clique = |n: u32| (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
    let mesh = |side: u32| {
        (0..side * side).flat_map(move |v| {
            let (r, c) = (v / side, v % side);
            let right = (c + 1 < side).then_some((v, v + 1));
            let down = (r + 1 < side).then_some((v, v + side));
            let across = (c + 1 < side && r + 1 < side).then_some((v, v + side + 1));
            [right, down, across].into_iter().flatten()
        })
    };
    shared(vec![
        ("empty", csr(0, [])),
        ("one", csr(1, [])),
        ("loop", csr(1, [(0, 0)])),
        ("isolated", csr(70, [])),
        ("triangle with loops", csr(4, [(0, 1), (1, 2), (0, 2), (1, 1), (3, 3)])),
        ("path", csr(300, (1..300).map(|v| (v - 1, v)))),
        ("star", csr(900, (0..899).map(|v| (899, v)))),
        ("wheel", csr(900, (0..899).map(|v| (899, v)).chain((0..899).map(|v| (v, (v + 1) % 899))))),
        ("clique", csr(100, clique(100))),
        ("large clique", csr(300, clique(290))),
        ("cliques", csr(330, (0..30).flat_map(|k| clique(9).map(move |(i, j)| (11 * k + i, 11 * k + j))))),
        ("mesh", csr(900, mesh(30))),
        ("sparse", csr(900, random(3, 900, 700, 0))),
        ("random", csr(800, random(4, 800, 8000, 0))),
        ("skewed", csr(1500, random(5, 1500, 12000, 4))),
    ])
}

#[test]
fn all_forms_count_the_same() {
    let Some(device) = device() else { return };
    for (name, graph) in graphs() {
        let want = expected(&graph);
        let out = DeviceCsr::upload(&device, &graph).unwrap();
        for (variant, hubs, low) in [
            (Variant::General, None, None),
            (Variant::Thread, None, None),
            (Variant::Warp, None, None),
            (Variant::Hubs, None, None),
            (Variant::Hubs, Some(128), None),
            (Variant::Hubs, Some(1024), Some(128)),
            (Variant::Hubs, Some(300), Some(256)),
        ] {
            let layout = TcLayout::build(&device, &out, variant, Options { hubs, low, whole: low.map(|_| 20) }).unwrap().unwrap();
            assert!(layout.variant() == variant || variant == Variant::Thread, "{name}");
            for _ in 0..2 {
                assert_eq!(layout.run(&device, &TcConfig::default()).unwrap().triangles, want, "{name}, {variant:?}");
            }
        }
    }
}

#[test]
fn lists_as_wide_as_a_window() {
    let Some(device) = device() else { return };
    // In every list that holds two vertices, the second is the last of the window of 8192 numbers that begins with the first, the next
    // beyond it, or the one before: whichever end of an edge it is that lists the other.
    for span in [8190, 8191, 8192] {
        let below = (0..90).flat_map(|k| [(k, k + span), (k, k + span + 1), (k + span, k + span + 1)]);
        let above = (200..290).flat_map(|k| [(k, k + 1), (k, k + span + 1), (k + 1, k + span + 1)]);
        let graph = csr(8600, below.chain(above));
        let out = DeviceCsr::upload(&device, &graph).unwrap();
        for variant in [Variant::Warp, Variant::Thread, Variant::General, Variant::Hubs] {
            let layout = TcLayout::build(&device, &out, variant, Options::default()).unwrap().unwrap();
            assert_eq!(layout.run(&device, &TcConfig::default()).unwrap().triangles, expected(&graph), "{span}, {variant:?}");
        }
    }
}

#[test]
fn long_lists_that_leave_a_window() {
    let Some(device) = device() else { return };
    // The list of vertex 0 ends at the last number of its window. All of it know each other, and vertices beyond the window: their lists are
    // longer than what the readers take at first. The other way round the numbers fall.
    let inside: Vec<u32> = (1..20).chain([8192]).collect();
    let beyond = 8300..8312;
    let mut edges: Vec<(u32, u32)> = inside.iter().map(|&a| (0, a)).collect();
    for (k, &a) in inside.iter().enumerate() {
        edges.extend(inside[k + 1..].iter().map(|&b| (a, b)).chain(beyond.clone().map(|b| (a, b))));
    }
    edges.extend(beyond.clone().flat_map(|a| (a + 1..8312).map(move |b| (a, b))));
    // Leaves make those beyond the window the ones of largest degree, which the others' lists hold.
    edges.extend(beyond.clone().zip(0..).flat_map(|(b, k)| (0..3).map(move |leaf| (b, 8400 + 3 * k + leaf))));
    let reversed = edges.iter().map(|&(a, b)| (8599 - a, 8599 - b)).collect();
    for edges in [edges, reversed] {
        let graph = csr(8600, edges);
        let out = DeviceCsr::upload(&device, &graph).unwrap();
        for variant in [Variant::Warp, Variant::Thread, Variant::General, Variant::Hubs] {
            let layout = TcLayout::build(&device, &out, variant, Options::default()).unwrap().unwrap();
            assert_eq!(layout.run(&device, &TcConfig::default()).unwrap().triangles, expected(&graph), "{variant:?}");
        }
    }
}
