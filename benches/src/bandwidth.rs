//! The memory bandwidth of this machine, measured in the process whose times are held against it.

use rayon::prelude::*;
use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;

/// Elements of each array, 128 MiB: more than the last cache of most machines.
const ELEMENTS: usize = 1 << 24;
/// Elements that a thread takes at a time.
const CHUNK: usize = 1 << 16;
/// Passes, the fastest of which counts.
const PASSES: usize = 5;

/// Bytes a second between memory and the current pool's threads, in GB (10^9 bytes).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bandwidth {
    /// Threads.
    pub threads: usize,
    /// Reading one array.
    pub read_gb_s: f64,
    /// `a = b + 3 c` over arrays, 24 bytes an element; that a written line is read first is not counted.
    pub triad_gb_s: f64,
}

impl Bandwidth {
    /// Measures for about a quarter of a second, with 384 MiB of arrays.
    #[must_use]
    pub fn measure() -> Self {
        let fill = |value: u64| (0..ELEMENTS).into_par_iter().with_min_len(CHUNK).map(|i| value + i as u64).collect::<Vec<u64>>();
        let (mut a, b, c) = (fill(0), fill(1), fill(2));
        let read = fastest(|| {
            black_box(
                b.par_chunks(CHUNK).map(|part| part.iter().fold(0u64, |sum, x| sum.wrapping_add(*x))).reduce(|| 0, u64::wrapping_add),
            );
        });
        let triad = fastest(|| {
            a.par_chunks_mut(CHUNK).zip(b.par_chunks(CHUNK)).zip(c.par_chunks(CHUNK)).for_each(|((a, b), c)| {
                for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                    *a = b.wrapping_add(c << 1).wrapping_add(*c);
                }
            });
        });
        black_box(&a);
        let gb = (8 * ELEMENTS) as f64 / 1e9;
        Self { threads: rayon::current_num_threads(), read_gb_s: gb / read, triad_gb_s: 3.0 * gb / triad }
    }
    /// The larger of the two.
    #[must_use]
    pub fn best(&self) -> f64 {
        self.read_gb_s.max(self.triad_gb_s)
    }
}

fn fastest(mut pass: impl FnMut()) -> f64 {
    let one = |_| {
        let start = Instant::now();
        pass();
        start.elapsed().as_secs_f64()
    };
    (0..PASSES).map(one).fold(f64::INFINITY, f64::min)
}
