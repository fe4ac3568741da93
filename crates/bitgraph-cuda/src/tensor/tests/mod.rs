//! The operations of graph neural networks against plain loops in double precision: on the host shim, or a GPU where there is one.

mod arrays;
mod attention;
mod bits;
mod dense;
mod gemm;
mod gemm_deep;
mod gemm_long;
mod neighbours;
mod neighbours_sparse;
mod plain;
mod replays;
mod sddmm;
mod spmm;
mod typed;

use crate::Cuda;
use bitgraph_generate::{Control, Generator, Stream};
use bitgraph_sparse::{Coo, Csr, Duplicates};
use bitgraph_tensor::{Dense, Element};

/// Column counts around those of lanes and packs.
pub const WIDTHS: [usize; 7] = [1, 3, 7, 31, 33, 64, 130];

/// The device, opened once: modules that are loaded, or compiled, stay.
pub fn device() -> Option<Cuda> {
    static DEVICE: std::sync::OnceLock<Option<Cuda>> = std::sync::OnceLock::new();
    DEVICE.get_or_init(|| Cuda::open(0).map_err(|error| crate::device::testing::skipped(&error)).ok()).clone()
}

pub fn pattern(rows: u32, columns: u32, entries: impl IntoIterator<Item = (u32, u32)>) -> Csr {
    let (r, c) = entries.into_iter().unzip();
    Coo::pattern(rows as usize, columns as usize, r, c).into_csr(Duplicates::First).unwrap().0
}

fn random(rows: u32, columns: u32, entries: u64) -> Csr {
    let s = Stream::new(entries, 3);
    pattern(rows, columns, (0..entries).map(|k| (s.below(2 * k, rows.into()) as u32, s.below(2 * k + 1, columns.into()) as u32)))
}

/// Nothing, single vertices, empty rows, loops, hubs that come in pieces, uneven degrees, sides that differ.
pub fn patterns() -> Vec<(&'static str, Csr)> {
    let kron: Generator = "kron:6".parse().unwrap();
    vec![
        ("0 x 0", pattern(0, 0, [])),
        ("5 x 0", pattern(5, 0, [])),
        ("one loop", pattern(1, 1, [(0, 0)])),
        ("no entries", pattern(37, 37, [])),
        ("loops and a path", pattern(40, 40, (0..40).flat_map(|i| [(i, i), (i, (i + 1) % 40)]))),
        ("a hub", pattern(90, 90, (0..90).flat_map(|j| [(5, j), (j, 7)]).filter(|&(i, _)| i % 4 != 0))),
        // Long enough for pieces on a GPU too.
        ("a long row", pattern(3, 2600, (0..2600).map(|j| (1, j)).chain([(0, 7), (2, 5), (2, 2599)]))),
        ("33 x 71", random(33, 71, 200)),
        ("70 x 20, filled", random(70, 20, 2500)),
        ("kron 6", kron.generate(&Control::default()).unwrap()),
    ]
}

/// Numbers from -2 to 2, of four bits behind the point: exact in every float type. Whole numbers of a type of integers.
pub fn elements<T: Element>(len: usize, seed: u64) -> Vec<T> {
    let s = Stream::new(seed, 11);
    let signed = T::from_f64(-1.0).to_f64() < 0.0;
    let value = |k: u64| {
        let v = s.below(k, 65) as f64 / 16.0 - 2.0;
        if T::DTYPE.is_float() {
            v
        } else if signed {
            v.round()
        } else {
            v.round().abs()
        }
    };
    (0..len as u64).map(|k| T::from_f64(value(k))).collect()
}

pub fn dense<T: Element>(cuda: &Cuda, rows: usize, columns: usize, seed: u64) -> Dense<Cuda, T> {
    Dense::from_vec(cuda, rows, columns, elements(rows * columns, seed)).unwrap()
}

/// The same elements in rows that are further apart than they are long, aligned for nothing.
pub fn spread<T: Element>(x: &Dense<Cuda, T>) -> Dense<Cuda, T> {
    let (rows, columns) = x.shape();
    let elements = x.to_host().unwrap();
    let mut wide = vec![T::from_f64(77.0); rows * (columns + 3)];
    (0..rows).for_each(|i| wide[i * (columns + 3) + 1..][..columns].copy_from_slice(&elements[i * columns..(i + 1) * columns]));
    Dense::from_vec(x.backend(), rows, columns + 3, wide).unwrap().columns(1..columns + 1).unwrap()
}
