//! Graphs of every awkward shape, and dense operands: whole numbers or fractions.

use bitgraph::backend::Backend;
use bitgraph::generate::Stream;
use bitgraph::prelude::{Csr, Dense, FormatKind, Matrix, Values};
use bitgraph::tensor::{Element, Tensor};
use bitgraph_testkit::tensor::Grid;
use bitgraph_testkit::{corpus, rectangular};

/// Column counts around those of vectors, blocks and words.
pub const WIDTHS: [usize; 12] = [0, 1, 3, 7, 31, 33, 64, 127, 128, 256, 602, 16];

/// A pattern and its name.
pub type Named = (String, Csr);

/// The patterns: few that are alike, and some with rows beyond every block's length.
pub fn patterns() -> Vec<Named> {
    let some = [
        "empty 0x0",
        "one vertex",
        "one vertex with a loop",
        "no edges",
        "loops everywhere",
        "star",
        "one dense row",
        "one dense column",
        "complete 33",
        "two components and isolated vertices",
        "directed acyclic",
        "grid 7x9",
        "kron 8",
        "directed random",
    ];
    let square = corpus().into_iter().filter(|g| some.contains(&g.name.as_str())).map(|g| (g.name, g.csr));
    let mut all: Vec<Named> = square.chain(rectangular()).collect();
    all.push(("hub of 3000 among 700".into(), hub()));
    all
}

/// A row of 3000 entries, two that are empty, and short rows, over 3001 columns.
fn hub() -> Csr {
    let (mut rows, mut columns): (Vec<u32>, Vec<u32>) = (vec![5; 3000], (1..3001).collect());
    for i in (0..700u32).filter(|i| ![5, 6, 699].contains(i)) {
        for k in 0..i % 9 {
            rows.push(i);
            columns.push((i * 37 + k * 401) % 3001);
        }
    }
    let coo = bitgraph::sparse::Coo::pattern(700, 3001, rows, columns);
    coo.into_csr(bitgraph::sparse::Duplicates::First).expect("entries in range").0
}

/// A pattern on a backend.
pub fn pattern<B: Backend>(backend: &B, csr: &Csr, format: FormatKind) -> Result<Matrix<B>, B::Error> {
    Matrix::new(backend, csr, None, format)
}

/// A weighted matrix.
pub fn weighted<B: Backend, T: Element>(backend: &B, csr: &Csr, weights: &[T], format: FormatKind) -> Result<Matrix<B>, B::Error> {
    Matrix::new(backend, csr, Some(&Values::from_vec(weights.to_vec())), format)
}

/// What operands are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers from -4 to 4, from 0 where there are no negative ones.
    Whole,
    /// Multiples of 2^-20 between -1 and 1, rounded to the type.
    Fraction,
}

/// Elements of a type.
pub fn elements<T: Element>(kind: Kind, len: usize, seed: u64) -> Vec<T> {
    let s = Stream::new(seed, 211);
    let signed = T::from_f64(-1.0).to_f64() < 0.0;
    let number = |k: u64| match kind {
        Kind::Whole => {
            let v = s.below(k, 9) as f64 - 4.0;
            if signed { v } else { v.abs() }
        }
        Kind::Fraction => (s.below(k, 1 << 21) as f64 - f64::from(1 << 20)) / f64::from(1 << 20),
    };
    (0..len as u64).map(|k| T::from_f64(number(k))).collect()
}

/// Powers of two from 1/4 to 2: products with them are exact.
pub fn powers<T: Element>(len: usize, seed: u64) -> Vec<T> {
    let s = Stream::new(seed, 212);
    (0..len as u64).map(|k| T::from_f64(2f64.powi(s.below(k, 4) as i32 - 2))).collect()
}

/// A dense matrix, and the same for the oracle.
pub fn dense<B: Tensor, T: Element>(backend: &B, rows: usize, columns: usize, elements: Vec<T>) -> Result<(Dense<B, T>, Grid), B::Error> {
    let grid = Grid::of(rows, columns, &elements);
    Ok((Dense::from_vec(backend, rows, columns, elements)?, grid))
}

/// The same elements in rows that are further apart than they are long, with other numbers between them.
pub fn spread<B: Tensor, T: Element>(x: &Dense<B, T>) -> Result<Dense<B, T>, B::Error> {
    let (rows, columns) = x.shape();
    let elements = x.to_host()?;
    let mut wide = vec![T::from_f64(77.0); rows * (columns + 5)];
    (0..rows).for_each(|i| wide[i * (columns + 5) + 3..][..columns].copy_from_slice(&elements[i * columns..(i + 1) * columns]));
    Dense::from_vec(x.backend(), rows, columns + 5, wide)?.columns(3..columns + 3)
}
