//! Entries converted per second, on one thread: `conversion_timing [SCALE]`.

#[path = "../tests/common/mod.rs"]
mod common;

use bitgraph_b2sr::{B2sr, Tile, Tile4, Tile8, Tile16, Tile32};
use bitgraph_sparse::{Csr, Offsets};
use std::hint::black_box;
use std::time::Instant;

/// Sorts packed (row, column) keys by a counting sort on rows, then each row: fast enough for millions of entries.
fn from_keys(n: usize, mut keys: Vec<u64>) -> Csr {
    keys.sort_unstable();
    keys.dedup();
    let mut offsets = vec![0usize; n + 1];
    keys.iter().for_each(|k| offsets[(k >> 32) as usize + 1] += 1);
    (0..n).for_each(|i| offsets[i + 1] += offsets[i]);
    let indices: Vec<u32> = keys.iter().map(|&k| k as u32).collect();
    Csr::new(n, n, Offsets::from_usizes(&offsets), indices.into()).expect("a valid pattern")
}

fn both(u: usize, v: usize) -> [u64; 2] {
    [(u as u64) << 32 | v as u64, (v as u64) << 32 | u as u64]
}

fn uniform(scale: u32) -> Csr {
    let (n, mut random) = (1usize << scale, common::Random(1));
    from_keys(n, (0..n * 16).flat_map(|_| both(random.below(n), random.below(n))).collect())
}

fn kronecker(scale: u32) -> Csr {
    let (n, mut random) = (1usize << scale, common::Random(1));
    let mut labels: Vec<usize> = (0..n).collect();
    (1..n).rev().for_each(|i| labels.swap(i, random.below(i + 1)));
    let edge = |random: &mut common::Random| {
        let (mut u, mut v) = (0, 0);
        for _ in 0..scale {
            let p = random.below(100);
            (u, v) = (u << 1 | usize::from(p >= 76), v << 1 | usize::from((57..76).contains(&p) || p >= 95));
        }
        both(labels[u], labels[v])
    };
    from_keys(n, (0..n * 16).flat_map(|_| edge(&mut random)).collect())
}

fn grid(side: usize) -> Csr {
    let n = side * side;
    let across = (0..n).filter(|v| v % side + 1 < side).flat_map(|v| both(v, v + 1));
    from_keys(n, across.chain((0..n - side).flat_map(|v| both(v, v + side))).collect())
}

fn time<R>(f: impl Fn() -> R) -> f64 {
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            black_box(f());
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[2]
}

fn tiles<T: Tile>(csr: &Csr) {
    let seconds = time(|| B2sr::<T>::from_csr(csr));
    let format = B2sr::<T>::from_csr(csr);
    let (back, transpose) = (time(|| format.to_csr()), time(|| format.transpose()));
    let rate = |s: f64| csr.nnz() as f64 / s / 1e6;
    println!(
        "  b2sr-{:<2} {:6.2} entries a tile: from csr {:6.0}, to csr {:6.0}, transpose {:6.0} M entries/s",
        T::SIZE,
        csr.nnz() as f64 / format.tile_count() as f64,
        rate(seconds),
        rate(back),
        rate(transpose)
    );
}

fn main() {
    let scale = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(18);
    let threads = std::env::var("THREADS").ok().and_then(|t| t.parse().ok()).unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    for (name, csr) in [("kron", kronecker(scale)), ("urand", uniform(scale)), ("grid", grid(1000))] {
        println!("{name}: {} rows, {} entries, {threads} thread(s)", csr.nrows(), csr.nnz());
        pool.install(|| {
            tiles::<Tile4>(&csr);
            tiles::<Tile8>(&csr);
            tiles::<Tile16>(&csr);
            tiles::<Tile32>(&csr);
        });
    }
}
