//! Every form against a plain search, on awkward graphs, in every type. Runs on the host shim or a GPU; skipped where there is
//! neither.

use super::*;
use crate::device::testing::device;
use bitgraph_algorithms::UNREACHED;
use bitgraph_testkit::shared;
use bytemuck::Pod;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A graph on the host: offsets, heads, whole weights.
#[derive(Clone)]
struct Graph {
    name: &'static str,
    offsets: Vec<u32>,
    indices: Vec<u32>,
    weights: Vec<u32>,
    symmetric: bool,
}

fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn graph(name: &'static str, n: u32, mut arcs: Vec<(u32, u32)>, symmetric: bool, smallest: u32, most: u32) -> Graph {
    if symmetric {
        let back: Vec<_> = arcs.iter().map(|&(u, v)| (v, u)).collect();
        arcs.extend(back);
    }
    arcs.sort_unstable();
    arcs.dedup();
    let mut offsets = vec![0; n as usize + 1];
    for &(u, _) in &arcs {
        offsets[u as usize + 1] += 1;
    }
    for v in 0..n as usize {
        offsets[v + 1] += offsets[v];
    }
    let weight =
        |&(u, v): &(u32, u32)| smallest + (mix(u64::from(u.min(v)) << 32 | u64::from(u.max(v))) % u64::from(most - smallest + 1)) as u32;
    let weights = arcs.iter().map(weight).collect();
    Graph { name, offsets, indices: arcs.into_iter().map(|a| a.1).collect(), weights, symmetric }
}

impl Graph {
    fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }
    fn transposed(&self) -> Graph {
        let mut arcs: Vec<(u32, u32, u32)> = Vec::new();
        for v in 0..self.nodes() {
            for k in self.offsets[v]..self.offsets[v + 1] {
                arcs.push((self.indices[k as usize], v as u32, self.weights[k as usize]));
            }
        }
        arcs.sort_unstable();
        let mut offsets = vec![0; self.offsets.len()];
        arcs.iter().for_each(|a| offsets[a.0 as usize + 1] += 1);
        (0..self.nodes()).for_each(|v| offsets[v + 1] += offsets[v]);
        Graph { offsets, indices: arcs.iter().map(|a| a.1).collect(), weights: arcs.iter().map(|a| a.2).collect(), ..self.clone() }
    }
    fn arcs<W: Pod>(&self, device: &Device, weight: Option<(DType, &dyn Fn(u32) -> W)>) -> Arcs {
        let values = weight.map(|(dtype, of)| {
            let values: Vec<W> = self.weights.iter().map(|&w| of(w)).collect();
            (dtype, device.upload(bytemuck::cast_slice::<W, u8>(&values)).unwrap())
        });
        Arcs { offsets: device.upload(&self.offsets).unwrap(), indices: device.upload(&self.indices).unwrap(), values }
    }
    fn build<W: Pod>(&self, device: &Device, weight: Option<(DType, &dyn Fn(u32) -> W)>, variant: Variant) -> Result<SsspLayout> {
        self.build_with(device, weight, variant, SsspOptions::default())
    }
    fn build_with<W: Pod>(
        &self,
        device: &Device,
        weight: Option<(DType, &dyn Fn(u32) -> W)>,
        variant: Variant,
        options: SsspOptions,
    ) -> Result<SsspLayout> {
        let incoming = (!self.symmetric).then(|| self.transposed().arcs(device, weight));
        SsspLayout::build(device, self.arcs(device, weight), incoming, variant, options)
    }
    fn distances(&self, source: u32, weight: impl Fn(u32) -> u64) -> Vec<u64> {
        let mut distances = vec![u64::MAX; self.nodes()];
        let mut queue = BinaryHeap::from([Reverse((0, source))]);
        distances[source as usize] = 0;
        while let Some(Reverse((d, v))) = queue.pop() {
            for k in self.offsets[v as usize]..self.offsets[v as usize + 1] {
                let (u, next) = (self.indices[k as usize], d + weight(self.weights[k as usize]));
                if next < distances[u as usize] {
                    distances[u as usize] = next;
                    queue.push(Reverse((next, u)));
                }
            }
        }
        distances
    }
}

fn graphs(smallest: u32, most: u32) -> Vec<Graph> {
    let random = |n: u32, m: u32, skew: u32, seed: u64| -> Vec<(u32, u32)> {
        let end = |x: u64, power: u32| {
            let r = (mix(x) % 1_000_000) as f64 / 1e6;
            (f64::from(n) * r.powi(power as i32)) as u32
        };
        (0..u64::from(m)).map(|i| (end(seed + 2 * i, skew), end(seed + 2 * i + 1, 1))).collect()
    };
    let mut grid = Vec::new();
    let (width, height) = (19, 17);
    for y in 0..height {
        for x in 0..width {
            let v = y * width + x;
            if x + 1 < width {
                grid.push((v, v + 1));
            }
            if y + 1 < height {
                grid.push((v, v + width));
            }
        }
    }
    let n = width * height;
    let shuffled = grid.iter().map(|&(u, v)| (u * 7 % n, v * 7 % n)).collect();
    let graph = |name, n, arcs, symmetric| graph(name, n, arcs, symmetric, smallest, most);
    shared(vec![
        graph("one vertex", 1, vec![], true),
        graph("a loop", 1, vec![(0, 0)], true),
        graph("isolated", 7, vec![(2, 3)], true),
        graph("star", 300, (1..300).map(|v| (0, v)).collect(), true),
        graph("path", 90, (1..90).map(|v| (v - 1, v)).collect(), true),
        graph("two rings", 130, (0..60).flat_map(|v| [(v, (v + 1) % 60), (v + 65, (v + 7) % 60 + 65)]).collect(), true),
        graph("grid", n, grid, true),
        graph("shuffled grid", n, shuffled, true),
        graph("random", 400, random(400, 3000, 1, 1), true),
        graph("skewed", 700, random(700, 3000, 3, 2), true),
        graph("directed", 500, random(500, 1800, 1, 3), false),
        graph("directed and skewed", 500, random(500, 2500, 4, 4), false),
    ])
}

/// Rows on both sides of the lengths from which on the sweeps cut them, and of one more piece; pieces of equal length and not.
fn hubs(smallest: u32, most: u32) -> Graph {
    let degrees = [128u32, 129, 1024, 1025, 2042, 2050];
    let (mut arcs, mut next) = (Vec::new(), degrees.len() as u32);
    for (hub, degree) in (0u32..).zip(degrees) {
        arcs.extend((next..next + degree).map(|leaf| (hub, leaf)));
        if hub > 0 {
            // From leaf to leaf, which changes no hub.
            arcs.push((next - 1, next));
        }
        next += degree;
    }
    graph("hubs", next, arcs, true, smallest, most)
}

fn config(source: u32) -> SsspConfig {
    SsspConfig { source, ..SsspConfig::default() }
}

/// Distances and parents of a result against the reference.
fn check<T: Distance>(graph: &Graph, result: &Sssp<T>, expected: &[u64], scale: f64, weight: impl Fn(u32) -> u64) {
    let name = graph.name;
    for (v, (&found, &want)) in result.distances.iter().zip(expected).enumerate() {
        let want = if want == u64::MAX { T::largest() } else { T::from_f64(want as f64 * scale) };
        assert!(found == want, "{name}: vertex {v} from {}: {found:?}, not {want:?}", result.source);
    }
    assert_eq!(result.reached, expected.iter().filter(|&&d| d != u64::MAX).count() as u64);
    let Some(parents) = &result.parents else { return };
    let back = if graph.symmetric { graph.clone() } else { graph.transposed() };
    for v in 0..graph.nodes() {
        if v as u32 == result.source || expected[v] == u64::MAX {
            assert_eq!(parents[v], if expected[v] == 0 { v as u32 } else { UNREACHED }, "{name}: vertex {v}");
            continue;
        }
        let row = back.offsets[v] as usize..back.offsets[v + 1] as usize;
        let fits = |k: &usize| {
            let from = expected[back.indices[*k] as usize];
            from != u64::MAX && from + weight(back.weights[*k]) == expected[v]
        };
        let nearer = row.clone().find(|k| fits(k) && expected[back.indices[*k] as usize] < expected[v]);
        match nearer {
            Some(k) => assert_eq!(parents[v], back.indices[k], "{name}: vertex {v}"),
            None => assert!(row.clone().any(|k| fits(&k) && back.indices[k] == parents[v]), "{name}: vertex {v}"),
        }
    }
    // A tree: every walk up ends at the source.
    for v in (0..graph.nodes()).filter(|&v| expected[v] != u64::MAX) {
        let (mut at, mut steps) = (v as u32, 0);
        while at != result.source {
            at = parents[at as usize];
            steps += 1;
            assert!(steps <= graph.nodes(), "{name}: a cycle of parents");
        }
    }
}

#[test]
fn the_general_form_in_every_type() {
    let Some(device) = device() else { return };
    let plain = Variant::General;
    for graph in graphs(1, 63).into_iter().chain(graphs(0, 3)) {
        let with_parents = SsspConfig { parents: true, ..config(graph.nodes() as u32 / 3) };
        let source = with_parents.source;
        let expected = graph.distances(source, u64::from);
        let layout = graph.build(&device, Some((DType::U32, &|w| w)), plain).unwrap();
        check(&graph, &layout.run::<u32>(&device, &with_parents).unwrap(), &expected, 1.0, u64::from);
        check(&graph, &layout.run::<f64>(&device, &with_parents).unwrap(), &expected, 1.0, u64::from);
        let layout = graph.build(&device, Some((DType::I8, &|w| w as i8)), plain).unwrap();
        check(&graph, &layout.run::<i64>(&device, &config(source)).unwrap(), &expected, 1.0, u64::from);
        let layout = graph.build(&device, Some((DType::F32, &|w| w as f32)), plain).unwrap();
        check(&graph, &layout.run::<f32>(&device, &with_parents).unwrap(), &expected, 1.0, u64::from);
        // Halves are exact in any float type, but not whole.
        let layout = graph.build(&device, Some((DType::F32, &|w| w as f32 * 0.5)), plain).unwrap();
        check(&graph, &layout.run::<f32>(&device, &with_parents).unwrap(), &expected, 0.5, u64::from);
        let layout = graph.build(&device, Some((DType::F64, &|w| f64::from(w) * 0.5)), plain).unwrap();
        check(&graph, &layout.run::<f64>(&device, &with_parents).unwrap(), &expected, 0.5, u64::from);
        let big = |w: u32| u64::from(w) << 40;
        let layout = graph.build(&device, Some((DType::U64, &big)), plain).unwrap();
        check(&graph, &layout.run::<u64>(&device, &with_parents).unwrap(), &graph.distances(source, big), 1.0, big);
        let layout = graph.build::<u32>(&device, None, plain).unwrap();
        assert_eq!(layout.variant(), Variant::General);
        check(&graph, &layout.run::<i32>(&device, &with_parents).unwrap(), &graph.distances(source, |_| 1), 1.0, |_| 1);
    }
}

#[test]
fn without_weights_levels_are_distances() {
    let Some(device) = device() else { return };
    for graph in graphs(1, 1) {
        for variant in [Variant::StepsGeneral, Variant::StepsFirst] {
            let layout = graph.build::<u32>(&device, None, variant).unwrap();
            assert_eq!(layout.variant() == variant, layout.out.nnz() > 0, "{}", graph.name);
            let last = graph.nodes() as u32 - 1;
            for (source, target) in [(0, None), (last / 2, None), (last, Some(last / 3))] {
                let wanted = SsspConfig { target, parents: true, ..config(source) };
                let mut expected = graph.distances(source, |_| 1);
                let end = target.map_or(u64::MAX, |t| expected[t as usize]);
                expected.iter_mut().filter(|d| **d > end).for_each(|d| *d = u64::MAX);
                check(&graph, &layout.run::<u32>(&device, &wanted).unwrap(), &expected, 1.0, |_| 1);
                check(&graph, &layout.run::<f64>(&device, &wanted).unwrap(), &expected, 1.0, |_| 1);
            }
            assert!(layout.run::<u32>(&device, &config(last + 1)).is_err());
            assert!(layout.run::<u32>(&device, &SsspConfig { delta: Some(-1.0), ..config(0) }).is_err());
        }
    }
}

#[test]
fn sweeps_find_the_same() {
    let Some(device) = device() else { return };
    for graph in graphs(1, 63).into_iter().chain(graphs(0, 200)).chain([hubs(1, 63)]) {
        for (i, variant) in [Variant::Sweeps, Variant::SweepsSlow].into_iter().enumerate() {
            let sweep = variant.sweep().map(|s| SweepOptions { by_degree: i % 2 == 1, ..s });
            let options = SsspOptions { sweep, ..SsspOptions::default() };
            let layout = graph.build_with(&device, Some((DType::U32, &|w| w)), variant, options).unwrap();
            assert!(layout.out.nnz() == 0 || layout.variant() == variant);
            for source in [0, graph.nodes() as u32 / 2] {
                let wanted = SsspConfig { parents: source == 0, ..config(source) };
                check(&graph, &layout.run::<u32>(&device, &wanted).unwrap(), &graph.distances(source, u64::from), 1.0, u64::from);
            }
        }
    }
}

#[test]
fn tiles_find_the_same() {
    let Some(device) = device() else { return };
    let threads = device.properties().max_threads_per_block.min(256);
    for (i, graph) in graphs(1, 63).into_iter().chain(graphs(0, 200)).enumerate() {
        for (parts, variant) in [(1, Variant::OneTile), (3, Variant::Tiles)] {
            let (breadth, period, lanes) = [(1.0, 1, 4), (0.3, 2, 2), (16.0, 3, 4)][i % 3];
            let tile = Some(TileOptions { parts, threads, breadth, period, lanes });
            let options = SsspOptions { tile, ..SsspOptions::default() };
            let layout = graph.build_with(&device, Some((DType::U32, &|w| w)), variant, options).unwrap();
            assert!(layout.out.nnz() == 0 || layout.variant() == variant, "{}", graph.name);
            for source in [0, graph.nodes() as u32 / 2, graph.nodes() as u32 - 1] {
                let wanted = SsspConfig { parents: source == 0, ..config(source) };
                check(&graph, &layout.run::<u32>(&device, &wanted).unwrap(), &graph.distances(source, u64::from), 1.0, u64::from);
            }
        }
    }
}

#[test]
fn long_grids_fit_in_tiles_whatever_their_numbering() {
    let Some(device) = device() else { return };
    let (width, height) = (400, 30);
    let right = (0..width * height).filter(|v| v % width + 1 < width).map(|v| (v, v + 1));
    let down = (0..width * (height - 1)).map(|v| (v, v + width));
    let n = width * height;
    let shuffled = |v: u32| (u64::from(v) * 7919 % u64::from(n)) as u32;
    let grid: Vec<_> = right.chain(down).collect();
    let renumbered = grid.iter().map(|&(u, v)| (shuffled(u), shuffled(v))).collect();
    for graph in [graph("long grid", n, grid, true, 1, 63), graph("shuffled long grid", n, renumbered, true, 1, 63)] {
        let layout = graph.build(&device, Some((DType::U32, &|w| w)), Variant::Tiles).unwrap();
        assert_eq!(layout.variant(), Variant::Tiles);
        for source in [0, n / 2] {
            check(&graph, &layout.run::<u32>(&device, &config(source)).unwrap(), &graph.distances(source, u64::from), 1.0, u64::from);
        }
    }
}

#[test]
fn a_target_stops_early_and_cuts_off() {
    let Some(device) = device() else { return };
    for graph in graphs(1, 63) {
        let expected = graph.distances(0, u64::from);
        for (target, variant) in [(0, Variant::OneTile), (graph.nodes() as u32 - 1, Variant::General)] {
            let layout = graph.build(&device, Some((DType::U16, &|w| w as u16)), variant).unwrap();
            let wanted = SsspConfig { target: Some(target), parents: true, delta: Some(10.0), ..config(0) };
            let result = layout.run::<u32>(&device, &wanted).unwrap();
            let end = expected[target as usize];
            let cut: Vec<u64> = expected.iter().map(|&d| if d > end { u64::MAX } else { d }).collect();
            check(&graph, &result, &cut, 1.0, u64::from);
        }
    }
}

#[test]
fn sums_past_a_type_are_widened_or_refused() {
    let Some(device) = device() else { return };
    let path = graph("path", 5, (1..5).map(|v| (v - 1, v)).collect(), true, 1, 1);
    let options = Variant::OneTile;
    // Outgrows u32: summed in u64, an error only in what is asked for.
    let layout = path.build(&device, Some((DType::U32, &|_| 2_000_000_000u32)), options).unwrap();
    for _ in 0..2 {
        assert_eq!(layout.run::<u64>(&device, &config(0)).unwrap().distances[4], 8_000_000_000);
        assert_eq!(layout.run::<u32>(&device, &config(0)).unwrap_err(), Base::Overflow { what: "a distance", dtype: DType::U32 }.into());
    }
    assert_eq!(layout.run::<i64>(&device, &config(0)).unwrap().distances[3], 6_000_000_000);
    assert_eq!(layout.run::<f32>(&device, &config(0)).unwrap().distances[4], 8e9);
    // Narrower than what is summed; a target cuts off what does not fit.
    let layout = path.build(&device, Some((DType::U32, &|_| 1_000_000_000u32)), options).unwrap();
    assert_eq!(layout.run::<i32>(&device, &config(0)).unwrap_err(), Base::Overflow { what: "a distance", dtype: DType::I32 }.into());
    assert_eq!(layout.run::<u64>(&device, &config(0)).unwrap().distances[4], 4_000_000_000);
    let near = SsspConfig { target: Some(2), ..config(0) };
    let found = layout.run::<i32>(&device, &near).unwrap();
    assert_eq!((found.distances, found.reached), (vec![0, 1_000_000_000, 2_000_000_000, i32::MAX, i32::MAX], 3));
    let layout = path.build(&device, Some((DType::U64, &|_| 1u64 << 62)), options).unwrap();
    assert_eq!(layout.run::<u64>(&device, &config(0)).unwrap_err(), Base::Overflow { what: "a distance", dtype: DType::U64 }.into());
    // Whole floats whose sums an f32 rounds.
    let layout = path.build(&device, Some((DType::F32, &|_| 16_777_215f32)), options).unwrap();
    assert_eq!(layout.run::<f32>(&device, &config(0)).unwrap().distances[3], 16_777_215f32 + 16_777_215f32 + 16_777_215f32);
    let bad = |w: f32| path.build(&device, Some((DType::F32, &|_| w)), options).unwrap_err();
    assert!(bad(-1.0).to_string().contains("at least 0") && bad(f32::NAN).to_string().contains("not a number"));
    let never = path.build(&device, Some((DType::F32, &|_| f32::INFINITY)), options).unwrap();
    assert_eq!(never.run::<f32>(&device, &config(0)).unwrap().reached, 1);
    let real = path.build(&device, Some((DType::F32, &|_| 0.5f32)), options).unwrap();
    assert!(matches!(real.run::<u32>(&device, &config(0)).unwrap_err(), crate::Error::Base(Base::Type { .. })));
    assert!(real.run::<f32>(&device, &config(5)).is_err());
}
