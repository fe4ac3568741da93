//! Every form against plain searches, on the host shim (or a GPU, where there is one).

use super::{BfsLayout, BfsOptions, BlockOptions, GridOptions, SlicesOptions, Variant};
use crate::DeviceCsr;
use crate::device::Device;
use crate::device::testing::device;
use bitgraph_algorithms::{BfsConfig, BfsOutput, UNREACHED};
use bitgraph_backend::Control;
use bitgraph_sparse::Csr;
use bitgraph_testkit::graphs::{Random, pattern as csr};
use bitgraph_testkit::{reference, share, shared};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn graphs() -> Vec<(&'static str, Csr)> {
    let mut random = Random(7);
    let mut pairs = |n: usize, arcs: usize| random.pairs(arcs, n, 0);
    let skewed: Vec<(u32, u32)> = pairs(1500, 4000).into_iter().map(|(u, v)| (u * u / 1500, v)).chain((0..900).map(|v| (3, v))).collect();
    let grid = |rows: u32, columns: u32| {
        let pairs = (0..rows).flat_map(move |i| {
            (0..columns).flat_map(move |j| {
                let v = columns * i + j;
                [(j + 1 < columns).then(|| (v, v + 1)), (i + 1 < rows).then(|| (v, v + columns))]
            })
        });
        pairs.flatten().collect::<Vec<_>>()
    };
    shared(vec![
        ("one", csr(1, [], true)),
        ("loop", csr(1, [(0, 0)], true)),
        ("isolated", csr(37, [], true)),
        ("star", csr(600, (1..600).map(|v| (0, v)), true)),
        ("star, inwards", csr(50, (1..50).map(|v| (v, 0)), false)),
        ("path", csr(130, (1..130).map(|v| (v - 1, v)), true)),
        ("path, one way", csr(70, (1..70).map(|v| (v - 1, v)), false)),
        ("grid", csr(600, grid(20, 30), true)),
        ("two grids", csr(500, grid(10, 20).into_iter().chain(grid(9, 20).into_iter().map(|(u, v)| (u + 300, v + 300))), true)),
        ("sparse", csr(900, pairs(900, 700), true)),
        ("sparse, directed", csr(900, pairs(900, 1500), false)),
        ("random", csr(510, pairs(500, 4000), true)),
        ("skewed", csr(1600, skewed.clone(), true)),
        ("skewed, directed", csr(1600, skewed, false)),
    ])
}

fn check(device: &Device, name: &str, host: &Csr, layout: &BfsLayout, out: &DeviceCsr, incoming: Option<&DeviceCsr>, source: u32) {
    let levels = reference::levels(host, source);
    let reach = reference::reach(host, &levels);
    for (output, deterministic) in
        [(BfsOutput::Levels, false), (BfsOutput::Parents, false), (BfsOutput::Both, false), (BfsOutput::Both, true)]
    {
        let config = BfsConfig { source, output, deterministic, ..BfsConfig::default() };
        let found = layout.run(device, out, incoming, &config).unwrap();
        assert_eq!(
            (found.reached, found.depth, found.edges_traversed),
            (reach.reached, reach.depth, reach.edges_traversed),
            "{name} from {source}"
        );
        assert_eq!(found.levels.is_some(), output.levels());
        if let Some(found) = &found.levels {
            assert_eq!(found, &levels, "{name} from {source}");
        }
        if let Some(parents) = &found.parents {
            reference::validate_parents(host, source, parents).unwrap_or_else(|e| panic!("{name} from {source}: {e}"));
            if deterministic {
                for (v, &parent) in parents.iter().enumerate() {
                    let smallest = (0..host.nrows() as u32)
                        .find(|&u| levels[u as usize] + 1 == levels[v] && levels[v] > 0 && host.row(u as usize).contains(&(v as u32)));
                    let wanted = if v as u32 == source { source } else { smallest.unwrap_or(UNREACHED) };
                    assert_eq!(parent, wanted, "{name} from {source}: vertex {v}");
                }
            }
        }
    }
}

#[test]
fn the_general_form_gives_the_levels_of_a_plain_search() {
    let Some(device) = device() else { return };
    let small = GridOptions {
        chunk: 3,
        alone_enter: 0,
        alone_leave: 0,
        alone_level: 0,
        flood: 0,
        alpha: 100,
        batch: 3,
        shared_bits_bytes: 0,
        block: 64,
        first: false,
        ..GridOptions::default()
    };
    for (name, host) in graphs() {
        let out = DeviceCsr::upload(&device, &host).unwrap();
        let incoming = (!host.is_symmetric()).then(|| DeviceCsr::upload(&device, &host.transpose()).unwrap());
        for (variant, grid) in [
            (Variant::First, GridOptions { alone_level: 1, flood: 1000, ..GridOptions::default() }),
            (Variant::General, GridOptions { alone_enter: 0, shared_bits_bytes: 4096, ..GridOptions::default() }),
            (Variant::First, small.clone()),
        ] {
            let options = BfsOptions { grid, ..BfsOptions::default() };
            let layout = BfsLayout::build(&device, &out, incoming.as_ref(), variant, options).unwrap().unwrap();
            assert_eq!(layout.variant(), variant);
            for source in [0, host.nrows() as u32 / 2, host.nrows() as u32 - 1] {
                check(&device, name, &host, &layout, &out, incoming.as_ref(), source);
            }
        }
    }
}

#[test]
fn diagonal_slices_give_the_levels_of_a_plain_search() {
    let Some(device) = device() else { return };
    let mut taken = 0;
    for (name, host) in graphs() {
        let out = DeviceCsr::upload(&device, &host).unwrap();
        let incoming = (!host.is_symmetric()).then(|| DeviceCsr::upload(&device, &host.transpose()).unwrap());
        let shapes =
            [(0, 0, 0, 0, 0), (3, 0, 0, 8, 1), (2, 2, 0, 24, 0), (1, 0, 0, 4, 3), (3, 1, 0, 4, 3), (1, 0, 2, 4, 0), (3, 0, 2, 8, 1)];
        for (blocks, hops, words, registers, stride) in shapes {
            let slices = SlicesOptions { blocks, hops, words, registers, stride, most_entries: 1e9 };
            let options = BfsOptions { slices, ..BfsOptions::default() };
            let layout = BfsLayout::build(&device, &out, incoming.as_ref(), Variant::Slices, options).unwrap().unwrap();
            taken += usize::from(layout.variant() == Variant::Slices);
            for source in [0, host.nrows() as u32 / 2] {
                check(&device, name, &host, &layout, &out, incoming.as_ref(), source);
            }
        }
    }
    assert!(taken > 20 || share().is_some(), "{taken}");
}

#[test]
fn a_renumbered_grid_is_searched_in_a_local_order() {
    let Some(device) = device() else { return };
    let generator: bitgraph_generate::Generator = "grid:8x300@3".parse().unwrap();
    let host = generator.generate(&bitgraph_generate::Control::default()).unwrap();
    let out = DeviceCsr::upload(&device, &host).unwrap();
    let slices = SlicesOptions { blocks: 3, ..SlicesOptions::default() };
    let options = BfsOptions { slices, ..BfsOptions::default() };
    let layout = BfsLayout::build(&device, &out, None, Variant::Slices, options).unwrap().unwrap();
    assert_eq!(layout.variant(), Variant::Slices);
    for source in [0, 1_234] {
        check(&device, "renumbered grid", &host, &layout, &out, None, source);
    }
}

#[test]
fn one_block_and_one_cluster_give_the_levels_of_a_plain_search() {
    let Some(device) = device() else { return };
    let mut taken = 0;
    for (name, host) in graphs() {
        let out = DeviceCsr::upload(&device, &host).unwrap();
        let incoming = (!host.is_symmetric()).then(|| DeviceCsr::upload(&device, &host.transpose()).unwrap());
        // Few threads have many arcs each.
        for (blocks, threads) in [(1, 0), (8, 0), (0, 0), (8, 64), (8, 32), (1, 96)] {
            let options = BfsOptions { block: BlockOptions { blocks, threads }, ..BfsOptions::default() };
            let layout = BfsLayout::build(&device, &out, incoming.as_ref(), Variant::Block, options).unwrap().unwrap();
            taken += usize::from(layout.variant() == Variant::Block);
            for source in [0, host.nrows() as u32 / 2] {
                check(&device, name, &host, &layout, &out, incoming.as_ref(), source);
            }
        }
    }
    assert!(taken > 20 || share().is_some(), "{taken}");
}

#[test]
fn a_queue_gives_the_levels_of_a_plain_search() {
    let Some(device) = device() else { return };
    let mut taken = 0;
    // Rows of up to eight arcs, frontiers wider than a warp looks at in one go.
    let ring = |v: u32| (1..=4).map(move |d| (v, (v * 3 + d * d) % 700));
    let ladder = |v: u32| [(v, (v + 1) % 900), (v, (v + 450) % 900)];
    let more = [
        ("eight arcs", csr(700, (0..700).flat_map(ring), false)),
        ("four arcs", csr(900, (0..900).flat_map(ladder), true)),
        ("a binary tree", csr(1023, (1..1023).map(|v| ((v - 1) / 2, v)), true)),
    ];
    for (name, host) in graphs().into_iter().chain(more) {
        let out = DeviceCsr::upload(&device, &host).unwrap();
        let incoming = (!host.is_symmetric()).then(|| DeviceCsr::upload(&device, &host.transpose()).unwrap());
        let layout = BfsLayout::build(&device, &out, incoming.as_ref(), Variant::Queue, BfsOptions::default()).unwrap().unwrap();
        let short = (0..host.nrows()).all(|v| host.degree(v) <= 8);
        assert_eq!(layout.variant(), if short { Variant::Queue } else { Variant::First }, "{name}");
        taken += usize::from(short);
        for source in [0, host.nrows() as u32 / 2, host.nrows() as u32 - 1] {
            check(&device, name, &host, &layout, &out, incoming.as_ref(), source);
        }
    }
    assert!(taken >= 3, "{taken}");
}

#[test]
fn bad_sources_and_cancelled_searches_are_errors() {
    let Some(device) = device() else { return };
    let out = DeviceCsr::upload(&device, &csr(40, (1..40).map(|v| (v - 1, v)), true)).unwrap();
    let layout = BfsLayout::build(&device, &out, None, Variant::First, BfsOptions::default()).unwrap().unwrap();
    assert!(layout.run(&device, &out, None, &BfsConfig { source: 40, ..BfsConfig::default() }).is_err());
    let control = Control::default().with_cancel(Arc::new(AtomicBool::new(true)));
    assert!(layout.run(&device, &out, None, &BfsConfig { control, ..BfsConfig::default() }).is_err());
    assert!(layout.run(&device, &out, None, &BfsConfig::default()).is_ok());
    let empty = DeviceCsr::upload(&device, &csr(0, [], true)).unwrap();
    let layout = BfsLayout::build(&device, &empty, None, Variant::First, BfsOptions::default()).unwrap().unwrap();
    assert!(layout.run(&device, &empty, None, &BfsConfig::default()).is_err());
}
