//! Primitives against plain loops, on the host shim (or a GPU, where there is one).

use super::*;
pub(crate) use crate::device::testing::device;
use crate::device::{Buffer, Device};
use crate::layout::{DeviceCsr, DeviceValues};
use bitgraph_sparse::{Coo, Csr, Duplicates, Offsets, Values};
use bitgraph_testkit::shared;

pub(crate) struct Random(pub(crate) u64);
impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ self.0 >> 29
    }
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        ((self.next() >> 33) % u64::from(n)) as u32
    }
}

fn csr(rows: usize, columns: usize, arcs: Vec<(u32, u32)>) -> Csr {
    let (r, c) = arcs.into_iter().unzip();
    Coo::pattern(rows, columns, r, c).into_csr(Duplicates::First).unwrap().0
}

fn with_wide_offsets(csr: &Csr) -> Csr {
    let offsets: Vec<u64> = (0..=csr.nrows()).map(|i| csr.offsets().get(i) as u64).collect();
    Csr::new(csr.nrows(), csr.ncols(), Offsets::U64(offsets.into()), csr.indices().to_vec().into()).unwrap()
}

/// Patterns of awkward shapes.
pub(crate) fn patterns() -> Vec<(&'static str, Csr)> {
    let mut random = Random(3);
    let mut draw =
        |rows: u32, columns: u32, n: usize| -> Vec<(u32, u32)> { (0..n).map(|_| (random.below(rows), random.below(columns))).collect() };
    let skewed: Vec<_> =
        draw(700, 700, 5000).into_iter().map(|(u, v)| (u * u / 700 * u / 700, v)).chain((0..690).map(|v| (333, v))).collect();
    let band = |n: u32, reach: u32| (0..n).flat_map(move |i| (i.saturating_sub(reach)..(i + reach + 1).min(n)).map(move |j| (i, j)));
    let grid = |rows: u32, columns: u32| {
        let arcs = (0..rows * columns).flat_map(move |v| {
            [
                (v % columns > 0).then(|| (v, v - 1)),
                (v >= columns).then(|| (v, v - columns)),
                (v % columns + 1 < columns).then(|| (v, v + 1)),
            ]
            .into_iter()
            .chain([(v + columns < rows * columns).then(|| (v, v + columns))])
        });
        arcs.flatten().collect::<Vec<_>>()
    };
    shared(vec![
        ("nothing", csr(0, 0, vec![])),
        ("no columns", csr(5, 0, vec![])),
        ("one, empty", csr(1, 1, vec![])),
        ("one, loop", csr(1, 1, vec![(0, 0)])),
        ("empty", csr(77, 33, vec![])),
        ("one column", csr(100, 1, (0..100).step_by(3).map(|i| (i, 0)).collect())),
        ("one row", csr(1, 3000, (0..3000).step_by(2).map(|j| (0, j)).collect())),
        ("diagonal", csr(70, 70, (0..70).map(|i| (i, i)).collect())),
        ("full", csr(65, 67, (0..65 * 67).map(|k| (k / 67, k % 67)).collect())),
        ("star", csr(600, 600, (1..600).flat_map(|v| [(0, v), (v, 0)]).collect())),
        ("band", csr(500, 500, band(500, 5).collect())),
        ("grid", csr(20 * 31, 20 * 31, grid(20, 31))),
        ("wide", csr(50, 5000, draw(50, 5000, 4000))),
        ("tall", csr(5000, 40, draw(5000, 40, 6000))),
        ("sparse", csr(3001, 3001, draw(3001, 3001, 2000))),
        ("random", csr(513, 513, draw(513, 513, 9000))),
        ("skewed", csr(701, 701, skewed.clone())),
        ("offsets of 64 bits", with_wide_offsets(&csr(701, 701, skewed))),
    ])
}

#[test]
fn scans() {
    let Some(device) = device() else { return };
    let mut random = Random(1);
    for n in shared(vec![0, 1, 31, 127, 2047, 2048, 2049, 10_000, 70_001]) {
        let values: Vec<u32> = (0..n).map(|_| random.below(1000)).collect();
        let input = device.upload(&values).unwrap();
        let sums: Vec<u64> = std::iter::once(0)
            .chain(values.iter().scan(0u64, |sum, &v| {
                *sum += u64::from(v);
                Some(*sum)
            }))
            .collect();
        assert_eq!(exclusive_scan_wide(&device, &input).unwrap().to_vec().unwrap(), sums, "{n}");
        let (narrow, total) = exclusive_scan_total(&device, &input).unwrap();
        assert_eq!(u64::from(total), sums[n]);
        assert!(narrow.to_vec().unwrap().iter().zip(&sums).all(|(&a, &b)| u64::from(a) == b), "{n}");
        let found = reduce(&device, &input).unwrap();
        let wanted = (sums[n], values.iter().copied().max().unwrap_or(0), values.iter().copied().min().unwrap_or(u32::MAX));
        assert_eq!((found.sum, found.max, found.min), wanted);
        let flags: Vec<u32> = values.iter().map(|v| v % 3 % 2).collect();
        let wanted: Vec<u32> = (0..n as u32).filter(|&i| flags[i as usize] == 1).collect();
        assert_eq!(compact(&device, &device.upload(&flags).unwrap()).unwrap().to_vec().unwrap(), wanted);
        for bins in [1, 7, 1000, 9000] {
            let mut wanted = vec![0u32; bins];
            values.iter().for_each(|&v| wanted[(v as usize).min(bins - 1)] += 1);
            assert_eq!(histogram(&device, &input, bins).unwrap().to_vec().unwrap(), wanted);
        }
    }
    assert_eq!(fill_u32(&device, 70, 9).unwrap().to_vec().unwrap(), vec![9; 70]);
    assert_eq!(fill_u64(&device, 70, 1 << 40).unwrap().to_vec().unwrap(), vec![1 << 40; 70]);
}

fn sorted<K, V>(device: &Device, n: usize, bits: std::ops::Range<u32>, key: impl Fn(u64) -> K, value: impl Fn(usize) -> V)
where
    K: SortKey + Ord + std::fmt::Debug,
    V: SortValue + PartialEq + std::fmt::Debug,
    u64: From<K>,
{
    let mut random = Random(n as u64);
    let keys: Vec<K> = (0..n).map(|_| key(random.next())).collect();
    let values: Vec<V> = (0..n).map(value).collect();
    let mut order: Vec<usize> = (0..n).collect();
    let part = |k: K| (u64::from(k) >> bits.start) & (u64::MAX >> (64 - (bits.end - bits.start)));
    order.sort_by_key(|&i| part(keys[i]));
    let (k, v) = sort_pairs(device, &device.upload(&keys).unwrap(), &device.upload(&values).unwrap(), bits.clone()).unwrap();
    assert_eq!(k.to_vec().unwrap(), order.iter().map(|&i| keys[i]).collect::<Vec<_>>(), "{n} {bits:?}");
    assert_eq!(v.to_vec().unwrap(), order.iter().map(|&i| values[i]).collect::<Vec<_>>(), "{n} {bits:?}");
    // Portions that do not end where pieces do.
    let (k, v) = super::sort::sort(device, &device.upload(&keys).unwrap(), &device.upload(&values).unwrap(), bits.clone(), 3001).unwrap();
    assert_eq!(k.to_vec().unwrap(), order.iter().map(|&i| keys[i]).collect::<Vec<_>>(), "{n} {bits:?}");
    assert_eq!(v.to_vec().unwrap(), order.iter().map(|&i| values[i]).collect::<Vec<_>>(), "{n} {bits:?}");
    let k = sort_keys(device, &device.upload(&keys).unwrap(), bits).unwrap();
    assert_eq!(k.to_vec().unwrap(), order.iter().map(|&i| keys[i]).collect::<Vec<_>>());
}

#[test]
fn sorts_are_stable() {
    let Some(device) = device() else { return };
    for n in shared(vec![1, 2, 33, 1536, 2048, 2049, 7000]) {
        sorted::<u32, u32>(&device, n, 0..32, |r| (r >> 20) as u32, |i| i as u32);
        sorted::<u32, u64>(&device, n, 3..14, |r| (r >> 20) as u32, |i| (i as u64) << 33);
        sorted::<u32, u32>(&device, n, 0..8, |r| (r >> 40) as u32 % 3, |i| i as u32);
        sorted::<u64, u32>(&device, n, 0..64, |r| r, |i| i as u32);
        sorted::<u64, u64>(&device, n, 20..45, |r| r >> 3, |i| i as u64);
    }
    let none = device.upload::<u32>(&[]).unwrap();
    assert!(sort_keys(&device, &none, 0..32).unwrap().is_empty());
    let same = device.upload(&[3u32, 1, 2]).unwrap();
    assert_eq!(sort_keys(&device, &same, 0..0).unwrap().to_vec().unwrap(), [3, 1, 2]);
}

fn values_of(device: &Device, csr: &Csr) -> [(Values, DeviceValues); 3] {
    let n = csr.nnz();
    [
        Values::from_vec((0..n).map(|k| k as f32 * 0.5).collect::<Vec<f32>>()),
        Values::from_vec((0..n).map(|k| k as f64 * 0.25).collect::<Vec<f64>>()),
        Values::from_vec((0..n).map(|k| k as u8).collect::<Vec<u8>>()),
    ]
    .map(|v| {
        let on_device = DeviceValues::upload(device, &v).unwrap();
        (v, on_device)
    })
}

#[test]
fn transposes() {
    let Some(device) = device() else { return };
    for (name, host) in patterns() {
        let csr = DeviceCsr::upload(&device, &host).unwrap();
        let (wanted, positions) = host.transpose_with_positions();
        assert_eq!(transpose(&device, &csr, None).unwrap().0.to_host().unwrap(), wanted, "{name}");
        for (values, on_device) in values_of(&device, &host) {
            let (t, v) = transpose(&device, &csr, Some(&on_device)).unwrap();
            assert_eq!(t.to_host().unwrap(), wanted, "{name}");
            assert_eq!(v.unwrap().to_host().unwrap(), values.gather(&positions), "{name}");
        }
        let rows: Vec<u32> = (0..host.nrows()).flat_map(|i| std::iter::repeat_n(i as u32, host.degree(i))).collect();
        assert_eq!(rows_of_entries(&device, &csr).unwrap().to_vec().unwrap(), rows, "{name}");
        let wanted: Vec<u32> = (0..host.nrows()).map(|i| host.degree(i) as u32).collect();
        assert_eq!(degrees(&device, &csr).unwrap().to_vec().unwrap(), wanted, "{name}");
    }
}

#[test]
fn relabels_by_degree() {
    let Some(device) = device() else { return };
    // Of a power of two of columns, all of which one row has.
    let whole_row = csr(64, 64, (0..64).flat_map(|j| [(9, j), (j, j)]).collect());
    let square = patterns().into_iter().filter(|(_, c)| c.nrows() == c.ncols());
    for (name, host) in square.chain([("a whole row", whole_row)]) {
        let n = host.nrows();
        let csr = DeviceCsr::upload(&device, &host).unwrap();
        let order = degree_order(&device, &csr).unwrap();
        let mut wanted: Vec<u32> = (0..n as u32).collect();
        wanted.sort_by_key(|&i| std::cmp::Reverse(host.degree(i as usize)));
        assert_eq!(order.old_of_new.to_vec().unwrap(), wanted, "{name}");
        let new_of_old = order.new_of_old.to_vec().unwrap();
        assert!(wanted.iter().enumerate().all(|(new, &old)| new_of_old[old as usize] == new as u32), "{name}");

        // Entries by new row and column, with where they were.
        let mut entries: Vec<(u32, u32, usize)> = (0..n)
            .flat_map(|i| host.row_range(i).map(move |k| (i, k)))
            .map(|(i, k)| (new_of_old[i], new_of_old[host.indices()[k] as usize], k))
            .collect();
        entries.sort_unstable();
        let expected = csr_of(n, &entries);
        let (plain, _) = relabel(&device, &csr, None, &order, false).unwrap();
        assert_eq!(plain.to_host().unwrap(), expected, "{name}");
        let positions: Vec<usize> = entries.iter().map(|e| e.2).collect();
        for (values, on_device) in values_of(&device, &host) {
            let (carried, v) = relabel(&device, &csr, Some(&on_device), &order, false).unwrap();
            assert_eq!(carried.to_host().unwrap(), expected, "{name}");
            assert_eq!(v.unwrap().to_host().unwrap(), values.gather(&positions), "{name}");
        }

        let both = symmetrized(&device, &csr).unwrap().to_host().unwrap();
        let mut pairs: Vec<(u32, u32, usize)> =
            (0..n).flat_map(|i| host.row(i).iter().flat_map(move |&j| [(i as u32, j, 0), (j, i as u32, 0)])).collect();
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(both, csr_of(n, &pairs), "{name}");
        let csr = DeviceCsr::upload(&device, &both).unwrap();
        let order = degree_order(&device, &csr).unwrap();
        let (a, _) = relabel(&device, &csr, None, &order, false).unwrap();
        let (b, _) = relabel(&device, &csr, None, &order, true).unwrap();
        assert_eq!(a.to_host().unwrap(), b.to_host().unwrap(), "{name}");
        for side in [Side::Lower, Side::Upper] {
            let (half, positions) = orient_with_positions(&device, &csr, side).unwrap();
            let (half, positions) = (half.to_host().unwrap(), positions.to_vec().unwrap());
            let keep = |i: u32, j: u32| if side == Side::Lower { j < i } else { j > i };
            let kept: Vec<(u32, u32, usize)> = (0..n)
                .flat_map(|i| both.row_range(i).map(move |k| (i as u32, k)))
                .map(|(i, k)| (i, both.indices()[k], k))
                .filter(|&(i, j, _)| keep(i, j))
                .collect();
            assert_eq!(half, csr_of(n, &kept), "{name}");
            assert!(kept.iter().zip(&positions).all(|(e, &p)| e.2 == p as usize) && kept.len() == positions.len());
        }
    }
}

fn csr_of(n: usize, entries: &[(u32, u32, usize)]) -> Csr {
    let (rows, columns) = entries.iter().map(|e| (e.0, e.1)).unzip();
    Coo::pattern(n, n, rows, columns).into_csr(Duplicates::First).unwrap().0
}

#[test]
fn wrong_lengths_are_errors() {
    let Some(device) = device() else { return };
    let (a, b): (Buffer<u32>, Buffer<u32>) = (device.upload(&[1, 2]).unwrap(), device.upload(&[1]).unwrap());
    assert!(sort_pairs(&device, &a, &b, 0..32).is_err());
}

/// The order as plain loops: sweeps over the first component, then the others by smallest number, then the rest.
fn plain_level_order(csr: &Csr, start: Option<u32>, sweeps: usize, components: usize) -> Vec<u32> {
    let n = csr.nrows();
    let mut placed = vec![false; n];
    let mut order: Vec<u32> = Vec::new();
    let walk = |root: u32, placed: &mut Vec<bool>| {
        let (mut queue, mut level, mut last) = (vec![root], 0..1, 0..1);
        placed[root as usize] = true;
        while !level.is_empty() {
            let start = queue.len();
            // The last of the level that each vertex is next to.
            let mut latest = vec![0; n];
            level.clone().for_each(|at| csr.row(queue[at] as usize).iter().for_each(|&v| latest[v as usize] = at));
            for at in level.clone() {
                let first = queue.len();
                for &v in csr.row(queue[at] as usize) {
                    if !std::mem::replace(&mut placed[v as usize], true) {
                        queue.push(v);
                    }
                }
                queue[first..].sort_by_key(|&v| (latest[v as usize], v));
            }
            last = level;
            level = start..queue.len();
        }
        let far = queue[last].iter().copied().min_by_key(|&v| (csr.degree(v as usize), v)).unwrap();
        (queue, far)
    };
    for component in 0..components {
        let first = start.filter(|_| component == 0).map(|v| v as usize);
        let Some(mut root) = first.or_else(|| (0..n).find(|&v| !placed[v] && csr.degree(v) > 0)) else { break };
        for _ in 1..if component == 0 { sweeps } else { 1 } {
            root = walk(root as u32, &mut placed.clone()).1 as usize;
        }
        order.extend(walk(root as u32, &mut placed).0);
    }
    order.extend((0..n as u32).filter(|&v| !placed[v as usize]));
    order
}

#[test]
fn level_orders_are_those_of_plain_loops() {
    let Some(device) = device() else { return };
    for (name, host) in patterns().into_iter().filter(|(_, c)| c.nrows() == c.ncols()) {
        let csr = symmetrized(&device, &DeviceCsr::upload(&device, &host).unwrap()).unwrap();
        let host = csr.to_host().unwrap();
        let middle = Some(host.nrows() as u32 / 2).filter(|_| host.nnz() > 0);
        for (start, sweeps, components, narrow) in
            [(None, 2, 64, None), (None, 1, 1, Some(0)), (middle, 1, 64, None), (middle, 3, 4, Some(7))]
        {
            let config = LevelOrderConfig { start, sweeps, components, narrow, longest_row: 1000 };
            let found = level_order(&device, &csr, &config).unwrap().unwrap();
            let wanted = plain_level_order(&host, start, sweeps as usize, components as usize);
            assert_eq!(found.order.old_of_new.to_vec().unwrap(), wanted, "{name}, {config:?}");
            let (again, _) = relabel(&device, &csr, None, &found.order, true).unwrap();
            assert_eq!(again.nnz, csr.nnz);
        }
        let outside = LevelOrderConfig { start: Some(host.nrows() as u32), ..LevelOrderConfig::default() };
        assert!(level_order(&device, &csr, &outside).unwrap().is_none(), "{name}");
        let short = LevelOrderConfig { longest_row: 0, ..LevelOrderConfig::default() };
        assert_eq!(level_order(&device, &csr, &short).unwrap().is_none(), host.nnz() > 0, "{name}");
    }
}

#[test]
fn shuffled_grids_become_local_again() {
    let Some(device) = device() else { return };
    let (rows, columns) = (24u32, 37u32);
    let n = rows * columns;
    // A permutation by a multiplier without common factors.
    let name = |i: u32, j: u32| (i * columns + j) * 601 % n;
    let arcs = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).flat_map(|(i, j)| {
        let right = (j + 1 < columns).then(|| (name(i, j), name(i, j + 1)));
        let down = (i + 1 < rows).then(|| (name(i, j), name(i + 1, j)));
        [right, down].into_iter().flatten().flat_map(|(u, v)| [(u, v), (v, u)])
    });
    let csr = DeviceCsr::upload(&device, &csr(n as usize, n as usize, arcs.collect())).unwrap();
    let found = level_order(&device, &csr, &LevelOrderConfig::default()).unwrap().unwrap();
    assert_eq!((found.levels, found.components), (rows + columns - 1, 1));
    let local = relabel(&device, &csr, None, &found.order, true).unwrap().0.to_host().unwrap();
    let reach = (0..n as usize).flat_map(|i| local.row(i).iter().map(move |&j| (j as usize).abs_diff(i))).max();
    assert!(reach <= Some(rows as usize + 1), "{reach:?}");
    // Diagonals stay straight: a level's arcs to the next go to the same place and one beside it.
    let growing = rows as usize * (rows as usize - 1) / 2;
    let distances = (0..growing).flat_map(|i| local.row(i).iter().map(move |&j| j as usize).filter(move |&j| j > i).map(move |j| j - i));
    let level = |i: usize| (0..).find(|l| (l + 1) * (l + 2) / 2 > i).unwrap_or(0);
    let wanted = (0..growing).flat_map(|i| [level(i) + 1, level(i) + 2]);
    assert!(distances.eq(wanted));
}

#[test]
fn a_pause_lasts() {
    let Some(device) = device() else { return };
    let pause = Pause::new(&device).unwrap();
    for nanoseconds in [0, 3_000_000] {
        let from = std::time::Instant::now();
        pause.run(nanoseconds).unwrap();
        device.synchronize().unwrap();
        // The device's clock goes in steps of a microsecond.
        assert!(from.elapsed().as_nanos() + 2000 >= u128::from(nanoseconds));
    }
}
