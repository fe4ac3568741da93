//! Searches from many sources against plain ones, on the host shim (or a GPU, where there is one).

use super::MsBfsLayout;
use crate::DeviceCsr;
use crate::device::testing::device;
use bitgraph_algorithms::MsBfsConfig;
use bitgraph_testkit::{corpus, reference, shared};

#[test]
fn many_sources_give_what_plain_searches_give() {
    let Some(device) = device() else { return };
    for graph in shared(corpus()).into_iter().filter(|g| g.csr.nrows() > 0) {
        let out = DeviceCsr::upload(&device, &graph.csr).unwrap();
        let incoming = (!graph.symmetric).then(|| DeviceCsr::upload(&device, &graph.csr.transpose()).unwrap());
        for (count, hub_degree) in [(1u32, 2), (40, 512), (140, 5)] {
            let layout = MsBfsLayout::new(&device, &out, incoming.as_ref(), hub_degree).unwrap().unwrap();
            let sources: Vec<u32> = (0..count).map(|k| k * 7 % graph.csr.nrows() as u32).collect();
            let config = MsBfsConfig { sources: sources.clone(), levels: count < 100, ..MsBfsConfig::default() };
            let found = layout.run(&device, &out, incoming.as_ref(), &config).unwrap();
            for (k, &source) in sources.iter().enumerate() {
                let levels = reference::levels(&graph.csr, source);
                let reach = reference::reach(&graph.csr, &levels);
                let got = (found.reached[k], found.depth[k], found.sum_levels[k]);
                assert_eq!(got, (reach.reached, reach.depth, reach.sum_levels), "{} from {source}", graph.name);
                if let Some(all) = &found.levels {
                    let n = graph.csr.nrows();
                    assert_eq!(all[k * n..(k + 1) * n], levels[..], "{} from {source}", graph.name);
                }
            }
        }
    }
}

#[test]
fn no_source_and_bad_sources() {
    let Some(device) = device() else { return };
    let out = DeviceCsr::upload(&device, &corpus()[3].csr).unwrap();
    let layout = MsBfsLayout::new(&device, &out, None, 512).unwrap().unwrap();
    assert!(layout.run(&device, &out, None, &MsBfsConfig::default()).unwrap().reached.is_empty());
    assert!(layout.run(&device, &out, None, &MsBfsConfig { sources: vec![1000], ..MsBfsConfig::default() }).is_err());
}
