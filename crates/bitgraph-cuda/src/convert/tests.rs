//! Conversions on the device against those of the host: the same bytes.

use super::counts::tile_counts_with;
use super::*;
use crate::layout::{DeviceB2sr, Offsets};
use crate::primitives::tests::{device, patterns};
use approx::relative_eq;
use bitgraph_b2sr::{B2sr4, B2sr8, B2sr16, B2sr32, Degrees, Hybrid, Profile, ProfileConfig, TileCounts};
use bitgraph_sparse::{Csr, Format, SectionData};

fn bytes_of(sections: &[bitgraph_sparse::Section], name: &str) -> (Vec<u8>, bool) {
    let s = sections.iter().find(|s| s.name == name).unwrap();
    (s.data.bytes().to_vec(), matches!(s.data, SectionData::U64(_)))
}

fn offsets_bytes(offsets: &Offsets) -> (Vec<u8>, bool) {
    match offsets {
        Offsets::U32(o) => (bytemuck::cast_slice(&o.to_vec().unwrap()).to_vec(), false),
        Offsets::U64(o) => (bytemuck::cast_slice(&o.to_vec().unwrap()).to_vec(), true),
    }
}

fn same_tiles(found: &DeviceB2sr, wanted: &impl Format, what: &str) {
    let sections = wanted.sections();
    let nnz: u32 = found.tile_words.to_vec().unwrap().iter().map(|b| b.count_ones()).sum();
    assert_eq!(found.nnz, nnz as usize, "{what}: entries");
    assert_eq!((found.rows, found.columns), wanted.shape(), "{what}");
    assert_eq!(offsets_bytes(&found.tile_offsets), bytes_of(&sections, "tile_offsets"), "{what}: offsets");
    let columns: Vec<u8> = bytemuck::cast_slice(&found.tile_columns.to_vec().unwrap()).to_vec();
    assert_eq!(columns, bytes_of(&sections, "tile_columns").0, "{what}: columns");
    assert_eq!(found.tile_words.to_vec().unwrap(), bytes_of(&sections, "tile_words").0, "{what}: words");
}

fn check(device: &Device, name: &str, host: &Csr, options: &TileOptions) {
    let lists = DeviceCsr::upload(device, host).unwrap();
    for kind in FormatKind::ALL {
        let what = format!("{name}, {}, {options:?}", kind.name());
        let layout = layout_with(device, lists.clone(), kind, options).unwrap();
        match (&layout, kind) {
            (Layout::B2sr(t), FormatKind::B2sr4) => same_tiles(t, &B2sr4::from_csr(host), &what),
            (Layout::B2sr(t), FormatKind::B2sr8) => same_tiles(t, &B2sr8::from_csr(host), &what),
            (Layout::B2sr(t), FormatKind::B2sr16) => same_tiles(t, &B2sr16::from_csr(host), &what),
            (Layout::B2sr(t), FormatKind::B2sr32) => same_tiles(t, &B2sr32::from_csr(host), &what),
            (Layout::Hybrid(h), FormatKind::Hybrid) => {
                let wanted = Hybrid::from_csr(host);
                same_tiles(&h.tiles, wanted.tiles(), &what);
                assert_eq!(h.list.to_host().unwrap(), *wanted.list(), "{what}: list");
                assert_eq!(h.list.nnz, wanted.list().nnz());
            }
            (Layout::Csr(c), FormatKind::Csr) => assert_eq!(c.to_host().unwrap(), *host),
            _ => panic!("{what}: another format"),
        }
        assert_eq!(super::lists(device, &layout).unwrap().to_host().unwrap(), *host, "{what}: back to lists");
    }
}

#[test]
fn tiles_are_those_of_the_host() {
    let Some(device) = device() else { return };
    for (name, host) in patterns() {
        let small = TileOptions { limit: Some(20), window: Some(128), two_passes: false };
        for options in [TileOptions::default(), small, TileOptions { limit: Some(0), window: Some(192), two_passes: true }] {
            check(&device, name, &host, &options);
        }
    }
}

#[test]
fn counts_are_those_of_the_host() {
    let Some(device) = device() else { return };
    let hybrid = Some(HybridConfig::default());
    for (name, host) in patterns() {
        let lists = DeviceCsr::upload(&device, &host).unwrap();
        for limit in [None, Some(0), Some(30)] {
            let options = TileOptions { limit, ..TileOptions::default() };
            let found = tile_counts_with(&device, &lists, &TileCountConfig { hybrid, ..TileCountConfig::default() }, &options).unwrap();
            assert_eq!(found, TileCounts::exact_with_hybrid(&host, &HybridConfig::default()), "{name}");
            for bands in [1, 5, 1000] {
                let config = TileCountConfig { sampled_bands: Some(bands), seed: 9, hybrid: None };
                let found = tile_counts_with(&device, &lists, &config, &options).unwrap();
                assert_eq!(found, TileCounts::sampled(&host, bands, 9), "{name}, {bands} bands");
            }
        }
    }
}

#[test]
fn sections_are_read_back_by_the_host() {
    let Some(device) = device() else { return };
    let (_, host) = patterns().pop().unwrap();
    let lists = DeviceCsr::upload(&device, &host).unwrap();
    let Layout::B2sr(t) = layout(&device, lists, FormatKind::B2sr8).unwrap() else { panic!() };
    let words: Vec<u64> = t.tile_words.cast::<u64>().to_vec().unwrap();
    let columns = t.tile_columns.to_vec().unwrap();
    let again = B2sr8::new(t.rows, t.columns, t.tile_offsets.to_host().unwrap(), columns.into(), words.into()).unwrap();
    assert_eq!(again.to_csr(), host);
}

#[test]
fn profiles_are_those_of_the_host() {
    let Some(device) = device() else { return };
    for (name, host) in patterns() {
        let lists = DeviceCsr::upload(&device, &host).unwrap();
        for exact in [true, false] {
            let config = DeviceProfileConfig { exact, sample_bands: 3, sample_rows: 20, seed: 5, probed: 40 };
            let found = profile(&device, &lists, &config).unwrap();
            let wanted = Profile::new(&host, &ProfileConfig { exact, hybrid: None, sample_rows: 20, sample_bands: 3, seed: 5 });
            assert_eq!((found.rows, found.columns, found.nnz), (wanted.rows, wanted.columns, wanted.nnz), "{name}");
            assert_eq!((found.tiles, found.sample), (wanted.tiles, wanted.sample), "{name}");
            assert_eq!((found.bandwidth_mean, found.bandwidth_max), (wanted.bandwidth_mean, wanted.bandwidth_max), "{name}");
            assert_eq!(found.distances[0], wanted.loops as u64, "{name}");
            assert_eq!(found.distances.iter().sum::<u64>(), host.nnz() as u64, "{name}");
            assert!(relative_eq!(found.degrees.deviation, wanted.degrees.deviation, epsilon = 1e-6, max_relative = 1e-6), "{name}");
            assert_eq!(Degrees { deviation: 0.0, ..found.degrees }, Degrees { deviation: 0.0, ..wanted.degrees }, "{name}");
            let far = |reach: usize| {
                (0..host.nrows()).flat_map(|i| host.row(i).iter().filter(move |&&j| (j as usize).abs_diff(i) >= reach)).count()
            };
            let share = if host.nnz() == 0 { 0.0 } else { far(16) as f64 / host.nnz() as f64 };
            assert_eq!(found.far_share(16), share, "{name}");
            assert!(!found.spreads_slowly() || matches!(name, "grid" | "band"), "{name}: {:?}", found.levels);
        }
    }
}
