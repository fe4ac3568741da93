//! Every form against the reference of the testkit, on the host shim (or a GPU, where there is one).

use super::{CoreChoice, Form, RankLayout, Score, TileChoice, TileForm, Variant};
use crate::DeviceCsr;
use crate::device::Device;
use crate::device::testing::device;
use crate::spmv::Pattern;
use bitgraph_algorithms::{Dangling, PageRankConfig, ResidualLooks};
use bitgraph_kernels::constant;
use bitgraph_sparse::Csr;
use bitgraph_testkit::graphs::pattern as csr;
use bitgraph_testkit::shared;

fn upload(device: &Device, csr: &Csr) -> Pattern {
    Pattern::of(&DeviceCsr::upload(device, csr).unwrap()).unwrap()
}

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn graphs() -> Vec<(&'static str, Csr, bool)> {
    let mut seed = 7;
    let mut random = |n: u64, arcs: u64| -> Vec<(u32, u32)> {
        (0..arcs).map(|_| ((next(&mut seed) % n) as u32, (next(&mut seed) % n) as u32)).collect()
    };
    let skewed: Vec<(u32, u32)> = random(2000, 6000)
        .into_iter()
        .map(|(u, v)| ((u64::from(u) * u64::from(u) / 2000) as u32, v))
        .chain((0..1500).map(|v| (3, v)))
        .collect();
    let grid = (0..30u32).flat_map(|i| {
        (0..40u32).flat_map(move |j| [(j < 39).then(|| (40 * i + j, 40 * i + j + 1)), (i < 29).then(|| (40 * i + j, 40 * i + 40 + j))])
    });
    shared(vec![
        ("one", csr(1, [], true), true),
        ("loop", csr(1, [(0, 0)], true), true),
        ("isolated", csr(5, [], true), true),
        ("one edge at the end", csr(70, [(68, 69)], true), true),
        ("star", csr(50, (1..50).map(|v| (0, v)), true), true),
        ("star, inwards", csr(50, (1..50).map(|v| (v, 0)), false), false),
        ("path", csr(70, (1..70).map(|v| (v - 1, v)), true), true),
        ("path, one way", csr(70, (1..70).map(|v| (v - 1, v)), false), false),
        ("grid", csr(1200, grid.flatten(), true), true),
        ("random", csr(510, random(500, 4000), true), true),
        ("random, directed", csr(700, random(600, 2000), false), false),
        ("skewed", csr(2100, skewed.clone(), true), true),
        ("skewed, directed", csr(2100, skewed, false), false),
    ])
}

/// Jacobi iteration in f64 by plain loops: the scores after so many iterations, and the residuals of all of them.
fn reference(out: &Csr, config: &PageRankConfig, iterations: u32) -> (Vec<f64>, Vec<f64>) {
    let n = out.nrows();
    let teleport = config.teleport(n).unwrap_or_else(|| vec![1.0 / n as f64; n]);
    let (mut x, mut residuals) = (teleport.clone(), Vec::new());
    for _ in 0..iterations {
        let lost: f64 = (0..n).filter(|&u| out.row(u).is_empty()).map(|u| x[u]).sum();
        let mass = 1.0 - config.damping + if config.dangling == Dangling::Spread { config.damping * lost } else { 0.0 };
        let mut y: Vec<f64> = teleport.iter().map(|t| mass * t).collect();
        for u in 0..n {
            for &v in out.row(u) {
                y[v as usize] += config.damping * x[u] / out.row(u).len() as f64;
            }
        }
        residuals.push(x.iter().zip(&y).map(|(a, b)| (a - b).abs()).sum());
        x = y;
    }
    (x, residuals)
}

/// The iterations of a run whose residuals are looked at by the rule; `None` if more are needed.
fn iterations_by_rule(config: &PageRankConfig, residuals: &[f64]) -> Option<u32> {
    let mut looks = ResidualLooks::new(config);
    for (iteration, &residual) in (0..config.max_iterations).zip(residuals) {
        if looks.due(iteration) {
            if residual < config.tolerance || iteration + 1 == config.max_iterations {
                return Some(iteration + 1);
            }
            looks.saw(iteration, residual);
        }
    }
    None
}

fn configs(n: usize) -> Vec<PageRankConfig> {
    let mut all = Vec::new();
    for dangling in [Dangling::Spread, Dangling::Drop] {
        for personalized in [false, true] {
            for (tolerance, max_iterations) in [(0.0, 1), (0.0, 6), (3e-3, 30), (1e-3, 60), (1e-3, 5), (1.5, 4)] {
                let personalization = personalized.then(|| vec![(0, 3.0), (n as u32 / 2, 1.0), (n as u32 - 1, 2.0)]);
                all.push(PageRankConfig { tolerance, max_iterations, dangling, personalization, ..PageRankConfig::default() });
            }
            // Shares of which nothing is left do not tell the score.
            all.push(PageRankConfig { damping: 0.0, tolerance: 1e-3, max_iterations: 5, dangling, ..PageRankConfig::default() });
        }
    }
    all
}

fn check<T: Score>(name: &str, layout: &RankLayout, device: &Device, out: &Csr, config: &PageRankConfig, bound: f64) {
    let found = layout.run::<T>(device, config).unwrap();
    let (scores, residuals) = reference(out, config, found.iterations);
    let residual = residuals[residuals.len() - 1];
    let error: f64 = scores.iter().zip(&found.scores).map(|(a, b)| (a - b.to_f64()).abs()).sum();
    assert!(error < bound, "{name}: the scores are off by {error} in all, {config:?}");
    assert_eq!(iterations_by_rule(config, &residuals), Some(found.iterations), "{name}: {residuals:?}, {config:?}");
    assert!(residual < config.tolerance || found.iterations == config.max_iterations, "{name}: stops early, {config:?}");
    assert!((found.residual - residual).abs() < bound, "{name}: residual {} for {residual}, {config:?}", found.residual);
    assert_eq!(found.converged, residual < config.tolerance, "{name}, {config:?}");
}

/// The rule of the kernels is that of the other forms.
const _: () = assert!(constant("graph/pagerank_looks.cuh", "MOST_BETWEEN_LOOKS") == ResidualLooks::MOST as u64);

const GENERAL: Form = Form::Variant(Variant::General);

fn all_configs(form: Form) {
    let Some(device) = device() else { return };
    for (name, out, symmetric) in graphs() {
        // Numberings by levels are for symmetric graphs.
        if !symmetric && matches!(form, Form::Shared(TileChoice { stretches: true, .. }, _)) {
            continue;
        }
        let outgoing = upload(&device, &out);
        let incoming = if symmetric { outgoing.clone() } else { upload(&device, &out.transpose()) };
        let layout = RankLayout::build(&device, &outgoing, &incoming, form).unwrap();
        for config in configs(out.nrows()) {
            // The special forms are for f32 and even teleport.
            if form != GENERAL && config.personalization.is_some() {
                continue;
            }
            check::<f32>(name, &layout, &device, &out, &config, 3e-6);
            if form == GENERAL {
                check::<f64>(name, &layout, &device, &out, &config, 1e-12);
            }
        }
    }
}

#[test]
fn the_general_form_agrees_with_plain_loops() {
    all_configs(GENERAL);
}

#[test]
fn windows_agree_with_plain_loops() {
    for (sorted, lane_entries) in [(false, 64), (true, 8)] {
        all_configs(Form::Shared(
            TileChoice { form: TileForm::Window, groups: 3, columns: 1, lane_entries, sorted, samples: 0, stretches: false },
            true,
        ));
    }
}

#[test]
fn data_beyond_shared_memory_are_streamed() {
    let Some(device) = device() else { return };
    // Three quarters of a million bytes of places, for a block of each column.
    let mut seed = 11;
    let wide = (0..190_000u32).map(|arc| (arc / 60, (arc / 60 + (next(&mut seed) % 90) as u32).min(3_199)));
    let out = csr(3_200, wide, true);
    let pattern = upload(&device, &out);
    for (form, columns) in [(TileForm::Window, 1), (TileForm::Grid, 2)] {
        let choice =
            TileChoice { form, groups: 1, columns, lane_entries: 64, sorted: form == TileForm::Grid, samples: 0, stretches: false };
        assert_ne!(
            RankLayout::build(&device, &pattern, &pattern, Form::Shared(choice, true)).unwrap().variant(),
            RankLayout::build(&device, &pattern, &pattern, Form::Shared(choice, false)).unwrap().variant(),
            "all of it fits in shared memory"
        );
        let layout = RankLayout::build(&device, &pattern, &pattern, Form::Shared(choice, false)).unwrap();
        for config in configs(3_200).into_iter().filter(|c| c.personalization.is_none()) {
            check::<f32>("streamed", &layout, &device, &out, &config, 3e-6);
        }
    }
}

#[test]
fn dealt_vertices_agree_with_plain_loops() {
    for (groups, columns, lane_entries) in [(1, 2, 4), (1, 3, 32), (3, 1, 8)] {
        all_configs(Form::Shared(
            TileChoice { form: TileForm::Grid, groups, columns, lane_entries, sorted: true, samples: 64, stretches: false },
            true,
        ));
    }
}

#[test]
fn one_block_and_one_cluster_agree_with_plain_loops() {
    for (form, groups, lane_entries, stretches) in [
        (TileForm::Block, 1, 8, false),
        (TileForm::Block, 1, 64, false),
        (TileForm::Cluster, 8, 8, false),
        (TileForm::Cluster, 4, 16, true),
    ] {
        let form = Form::Shared(TileChoice { form, groups, columns: 1, lane_entries, sorted: true, samples: 0, stretches }, true);
        all_configs(form);
        if let Some(device) = device() {
            let pattern = upload(&device, &csr(300, (1..300).map(|v| (v / 2, v)), true));
            let layout = RankLayout::build(&device, &pattern, &pattern, form).unwrap();
            assert!(matches!(layout.variant(), Variant::Block | Variant::Cluster | Variant::Stretches), "{}", layout.explain());
        }
    }
}

#[test]
fn a_small_mesh_is_cut_into_stretches() {
    let Some(device) = device() else { return };
    // A grid numbered at random, with vertices of no edge in between.
    let at = |i: u32, j: u32| (u64::from(i * 40 + j) * 617 % 1_399) as u32;
    let along = (0..30).flat_map(move |i| (1..40).map(move |j| (at(i, j - 1), at(i, j))));
    let grid = csr(1_400, along.chain((1..30).flat_map(move |i| (0..40).map(move |j| (at(i - 1, j), at(i, j))))), true);
    let pattern = upload(&device, &grid);
    let layout = RankLayout::build(&device, &pattern, &pattern, Form::Variant(Variant::Stretches)).unwrap();
    assert_eq!(layout.variant(), Variant::Stretches);
    for config in configs(1_400).into_iter().filter(|c| c.personalization.is_none()) {
        check::<f32>("small mesh", &layout, &device, &grid, &config, 3e-6);
    }
}

#[test]
fn a_core_agrees_with_plain_loops() {
    for (vertices, columns, sweeps, cold_warps, lane_entries) in [(200, 1, 3, 1, 8), (100, 2, 2, 2, 64), (5000, 3, 1, 1, 16)] {
        all_configs(Form::Core(CoreChoice { vertices, columns, sweeps, cold_warps, lane_entries }));
    }
}

#[test]
fn windows_in_an_order_by_levels_agree_with_plain_loops() {
    all_configs(Form::Variant(Variant::Levels));
}

#[test]
fn meshes_of_wide_levels_are_dealt_or_have_a_core() {
    let tried = |placed, entries| super::select::without_levels(132, placed, entries).collect::<Vec<_>>();
    assert_eq!(tried(101_565, 2_400_000), [Variant::Dealt]);
    assert_eq!(tried(200_000, 4_633_794), [Variant::Dealt, Variant::Core]);
    assert_eq!(tried(1_000_000, 4_000_000), []);
}

#[test]
fn levels_that_are_too_wide_for_windows_are_dealt() {
    let Some(device) = device() else { return };
    if device.properties().sms < 4 {
        println!("skipped: with fewer than four multiprocessors a window holds any level of such a graph");
        return;
    }
    // A search of this graph has two levels that hold nearly all of it.
    let mut seed = 11;
    let edges: Vec<(u32, u32)> = (0..270_000).map(|_| ((next(&mut seed) % 4_000) as u32, (next(&mut seed) % 4_000) as u32)).collect();
    let out = csr(4_000, edges, true);
    let pattern = upload(&device, &out);
    let layout = RankLayout::build(&device, &pattern, &pattern, Form::Variant(Variant::Levels)).unwrap();
    assert_eq!(layout.variant(), Variant::Dealt, "{}", layout.explain());
    for config in configs(4_000) {
        check::<f32>("wide levels", &layout, &device, &out, &config, 3e-6);
    }
}

#[test]
fn runs_repeat_bit_for_bit() {
    let Some(device) = device() else { return };
    for (name, out, symmetric) in graphs() {
        let outgoing = upload(&device, &out);
        let incoming = if symmetric { outgoing.clone() } else { upload(&device, &out.transpose()) };
        let config = PageRankConfig { tolerance: 0.0, max_iterations: 7, ..PageRankConfig::default() };
        for variant in [Variant::Cluster, Variant::Windows, Variant::Dealt] {
            let layout = RankLayout::build(&device, &outgoing, &incoming, Form::Variant(variant)).unwrap();
            assert_eq!(layout.run::<f32>(&device, &config).unwrap(), layout.run::<f32>(&device, &config).unwrap(), "{name}");
        }
    }
}

#[test]
fn nothing_to_do_is_no_error() {
    let Some(device) = device() else { return };
    let empty = upload(&device, &csr(0, [], true));
    let layout = RankLayout::build(&device, &empty, &empty, GENERAL).unwrap();
    assert!(layout.run::<f32>(&device, &PageRankConfig::default()).unwrap().converged);
    let path = upload(&device, &csr(3, [(0, 1), (1, 2)], true));
    let layout = RankLayout::build(&device, &path, &path, GENERAL).unwrap();
    let config = PageRankConfig { max_iterations: 0, ..PageRankConfig::default() };
    let found = layout.run::<f64>(&device, &config).unwrap();
    assert_eq!((found.iterations, found.converged, found.scores.len()), (0, false, 3));
}

#[test]
fn bytes_are_those_that_the_device_holds() {
    let Some(device) = device() else { return };
    let (used, mut special) = (|| device.memory().unwrap().used, 0);
    let core = CoreChoice { vertices: 100, columns: 2, sweeps: 2, cold_warps: 2, lane_entries: 64 };
    let window =
        TileChoice { form: TileForm::Window, groups: 3, columns: 1, lane_entries: 64, sorted: false, samples: 0, stretches: false };
    for (name, out, symmetric) in graphs() {
        let outgoing = upload(&device, &out);
        let incoming = if symmetric { outgoing.clone() } else { upload(&device, &out.transpose()) };
        for form in [GENERAL, Form::Variant(Variant::Stretches), Form::Core(core), Form::Shared(window, true)] {
            let before = used();
            let layout = RankLayout::build(&device, &outgoing, &incoming, form).unwrap();
            special += u32::from(layout.special.is_some());
            assert_eq!(layout.bytes(), used() - before, "{name}, {form:?}");
        }
    }
    assert!(special > 10);
}
