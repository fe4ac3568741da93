//! Searches from many sources against plain ones, on the host shim (or a GPU, where there is one).

use super::MsBfsLayout;
use crate::DeviceCsr;
use crate::device::Device;
use crate::device::testing::device;
use bitgraph_algorithms::MsBfsConfig;
use bitgraph_sparse::Csr;
use bitgraph_testkit::graphs::undirected;
use bitgraph_testkit::{corpus, reference, shared};

/// Searches from `count` sources give what plain searches give, with rows above `hub_degree` in pieces.
fn check(device: &Device, name: &str, graph: &Csr, symmetric: bool, (count, hub_degree): (u32, u32), levels: bool) {
    let out = DeviceCsr::upload(device, graph).unwrap();
    let incoming = (!symmetric).then(|| DeviceCsr::upload(device, &graph.transpose()).unwrap());
    let layout = MsBfsLayout::new(device, &out, incoming.as_ref(), hub_degree).unwrap().unwrap();
    let sources: Vec<u32> = (0..count).map(|k| k * 7 % graph.nrows() as u32).collect();
    let config = MsBfsConfig { sources: sources.clone(), levels, ..MsBfsConfig::default() };
    let found = layout.run(device, &out, incoming.as_ref(), &config).unwrap();
    assert_eq!(found.levels.is_some(), levels);
    for (k, &source) in sources.iter().enumerate() {
        let levels = reference::levels(graph, source);
        let reach = reference::reach(graph, &levels);
        let got = (found.reached[k], found.depth[k], found.sum_levels[k]);
        assert_eq!(got, (reach.reached, reach.depth, reach.sum_levels), "{name} from {source}");
        if let Some(all) = &found.levels {
            let n = graph.nrows();
            assert_eq!(all[k * n..(k + 1) * n], levels[..], "{name} from {source}");
        }
    }
}

#[test]
fn many_sources_give_what_plain_searches_give() {
    let Some(device) = device() else { return };
    for graph in shared(corpus()).into_iter().filter(|g| g.csr.nrows() > 0) {
        for (count, hub_degree) in [(1, 2), (40, 512), (140, 5)] {
            check(&device, &graph.name, &graph.csr, graph.symmetric, (count, hub_degree), count < 100);
        }
    }
}

#[test]
fn a_launch_leaves_nothing_to_the_next() {
    let Some(device) = device() else { return };
    // Two launches of 512 sources and a part of one. Source `k` of a launch is in another component than that of the one before, and
    // rings have hubs.
    let rings = (0..9u32).flat_map(|c| (0..7).map(move |i| (c * 7 + i, c * 7 + (i + 1) % 7)));
    let spokes = (0..9u32).step_by(2).flat_map(|c| (1..7).map(move |i| (c * 7, c * 7 + i)));
    let graph = undirected(67, rings.chain(spokes));
    check(&device, "rings", &graph, true, (2 * 512 + 40, 5), true);
}

#[test]
fn counts_of_many_vertices_found_at_once() {
    let Some(device) = device() else { return };
    // Every source finds all leaves of a star in one level: more of them for each group of lanes than its counters hold.
    check(&device, "a star", &undirected(17_000, (1..17_000).map(|v| (0, v))), true, (140, 512), false);
}

#[test]
fn no_source_and_bad_sources() {
    let Some(device) = device() else { return };
    let out = DeviceCsr::upload(&device, &corpus()[3].csr).unwrap();
    let layout = MsBfsLayout::new(&device, &out, None, 512).unwrap().unwrap();
    assert!(layout.run(&device, &out, None, &MsBfsConfig::default()).unwrap().reached.is_empty());
    assert!(layout.run(&device, &out, None, &MsBfsConfig { sources: vec![1000], ..MsBfsConfig::default() }).is_err());
}
