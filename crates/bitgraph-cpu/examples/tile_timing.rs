//! mxv on tiles against the best plain CSR loop, on one thread: `tile_timing FILE.mtx|grid|urand ...`.
//!
//! Reads the coordinate form of Matrix Market only (`symmetric` is mirrored); values are ignored.

use bitgraph_b2sr::{B2sr4, B2sr8, Grouped, Hybrid};
use bitgraph_cpu::tile::{bmm_sum_masked, mxv_boolean, mxv_boolean_hybrid, mxv_sum, mxv_sum_grouped, mxv_sum_hybrid};
use bitgraph_sparse::{BitVector, Csr, Offsets};
use std::hint::black_box;
use std::time::Instant;

fn from_pairs(n: usize, m: usize, mut pairs: Vec<(u32, u32)>) -> Csr {
    pairs.sort_unstable();
    pairs.dedup();
    let mut offsets = vec![0usize; n + 1];
    pairs.iter().for_each(|&(r, _)| offsets[r as usize + 1] += 1);
    (0..n).for_each(|i| offsets[i + 1] += offsets[i]);
    Csr::new(n, m, Offsets::from_usizes(&offsets), pairs.iter().map(|p| p.1).collect::<Vec<_>>().into()).expect("a valid pattern")
}

fn load(name: &str) -> Option<Csr> {
    let both = |(u, v): (u32, u32)| [(u, v), (v, u)];
    if name == "grid" {
        let (n, side) = (1_000_000u32, 1000);
        let across = (0..n).filter(|v| v % side + 1 < side).map(|v| (v, v + 1));
        return Some(from_pairs(n as usize, n as usize, across.chain((0..n - side).map(|v| (v, v + side))).flat_map(both).collect()));
    }
    if name == "urand" {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 46) as u32
        };
        return Some(from_pairs(1 << 18, 1 << 18, (0..1 << 22).map(|_| (next(), next())).flat_map(both).collect()));
    }
    let text = std::fs::read_to_string(name).ok()?;
    let mirror = text.lines().next()?.contains("symmetric");
    let mut lines = text.lines().filter(|l| !l.starts_with('%'));
    let mut size = lines.next()?.split_whitespace().map(|w| w.parse::<usize>().unwrap_or(0));
    let (n, m) = (size.next()?, size.next()?);
    let mut pairs = Vec::new();
    for line in lines {
        let mut words = line.split_whitespace().map_while(|w| w.parse::<u32>().ok());
        if let (Some(r), Some(c)) = (words.next(), words.next()) {
            pairs.push((r - 1, c - 1));
            if mirror {
                pairs.push((c - 1, r - 1));
            }
        }
    }
    Some(from_pairs(n, m, pairs))
}

/// The median of repeated runs, in microseconds.
fn time<R>(mut f: impl FnMut() -> R) -> f64 {
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || (times.len() < 500 && start.elapsed().as_millis() < 300) {
        let start = Instant::now();
        black_box(f());
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn csr_sum(a: &Csr, x: &[f32], y: &mut [f32]) {
    for (i, y) in y.iter_mut().enumerate() {
        let mut sums = [0.0f32; 4];
        let mut fours = a.row(i).chunks_exact(4);
        for four in &mut fours {
            for (sum, &u) in sums.iter_mut().zip(four) {
                *sum += x[u as usize];
            }
        }
        let rest: f32 = fours.remainder().iter().map(|&u| x[u as usize]).sum();
        *y = (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest;
    }
}

fn csr_boolean(a: &Csr, x: &BitVector, y: &mut BitVector) {
    let x = x.words64();
    for (k, word) in y.words64_mut().iter_mut().enumerate() {
        *word = 0;
        for r in 0..64.min(a.nrows() - 64 * k) {
            let hit = a.row(64 * k + r).iter().any(|&u| x[u as usize >> 6] >> (u & 63) & 1 != 0);
            *word |= u64::from(hit) << r;
        }
    }
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    for name in std::env::args().skip(1) {
        let Some(a) = load(&name) else {
            println!("{name}: not readable");
            continue;
        };
        pool.install(|| measure(&name, &a));
    }
}

fn measure(name: &str, a: &Csr) {
    let (b4, b8, hybrid) = (B2sr4::from_csr(a), B2sr8::from_csr(a), Hybrid::from_csr(a));
    let (g4, g8) = (Grouped::new(&b4), Grouped::new(&b8));
    let x: Vec<f32> = (0..a.ncols()).map(|i| (i * 7919 % 1000) as f32 / 1000.0).collect();
    let mut y = vec![0f32; a.nrows()];
    let csr = time(|| csr_sum(a, &x, &mut y));
    println!("{name}: {} rows, {} entries, {:.2} in an 8x8 tile", a.nrows(), a.nnz(), a.nnz() as f64 / b8.tile_count().max(1) as f64);
    print!("  f32 sum: csr {csr:.0} us; ratios");
    print!(" b2sr-4 {:.2}", time(|| mxv_sum(&b4, &x, None, &mut y)) / csr);
    print!(" grouped {:.2}", time(|| mxv_sum_grouped(&g4, &x, &mut y)) / csr);
    print!(" b2sr-8 {:.2}", time(|| mxv_sum(&b8, &x, None, &mut y)) / csr);
    print!(" grouped {:.2}", time(|| mxv_sum_grouped(&g8, &x, &mut y)) / csr);
    println!(" hybrid {:.2}", time(|| mxv_sum_hybrid(&hybrid, &x, None, &mut y)) / csr);
    for one_in in [100, 2] {
        let x: BitVector = (0..a.ncols()).map(|v| (v.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % one_in == 0).collect();
        let mut y = BitVector::zeros(a.nrows());
        let csr = time(|| csr_boolean(a, &x, &mut y));
        print!("  boolean, x 1/{one_in}: csr {csr:.0} us; ratios");
        print!(" b2sr-4 {:.2}", time(|| mxv_boolean(&b4, &x, None, &mut y)) / csr);
        print!(" b2sr-8 {:.2}", time(|| mxv_boolean(&b8, &x, None, &mut y)) / csr);
        println!(" hybrid {:.2}", time(|| mxv_boolean_hybrid(&hybrid, &x, None, &mut y)) / csr);
    }
    if a.is_square() && a.nnz() < 2_000_000 {
        let lower = B2sr8::from_csr(&a.filter_with_positions(|r, c| c < r).0);
        println!("  triangles b2sr-8: {:.0} us", time(|| bmm_sum_masked(&lower, &lower, &lower)));
    }
}
