//! What results are held against: matrices of `f64`, and plain loops.

use crate::Cuda;
use bitgraph_semiring::{DType, Scalar};
use bitgraph_sparse::Csr;
use bitgraph_tensor::{Dense, Element};

/// A matrix in double precision.
#[derive(Clone, Debug)]
pub struct Plain {
    pub rows: usize,
    pub columns: usize,
    pub data: Vec<f64>,
}

impl Plain {
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: vec![0.0; rows * columns] }
    }
    pub fn of<T: Element>(x: &Dense<Cuda, T>) -> Self {
        let data = x.to_host().unwrap().into_iter().map(Scalar::to_f64).collect();
        Self { rows: x.nrows(), columns: x.ncols(), data }
    }
    pub fn at(&self, i: usize, c: usize) -> f64 {
        self.data[i * self.columns + c]
    }
    pub fn set(&mut self, i: usize, c: usize, x: f64) {
        self.data[i * self.columns + c] = x;
    }
    pub fn add(&mut self, i: usize, c: usize, x: f64) {
        self.data[i * self.columns + c] += x;
    }
    /// Every element by a formula of it, its row and its column.
    pub fn map(&self, f: impl Fn(f64, usize, usize) -> f64) -> Self {
        let mut y = self.clone();
        for i in 0..self.rows {
            for c in 0..self.columns {
                y.set(i, c, f(self.at(i, c), i, c));
            }
        }
        y
    }
    pub fn abs(&self) -> Self {
        self.map(|x, _, _| x.abs())
    }
}

/// An entry of a matrix as seen: row, column, and its position in the order of the matrix.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub i: usize,
    pub j: usize,
    pub k: usize,
}

/// All entries by rows of the matrix as seen, columns ascending.
pub fn entries(csr: &Csr, transposed: bool) -> Vec<Entry> {
    let columns = (0..csr.nrows()).flat_map(|i| csr.row(i).iter().map(move |&j| (i, j as usize)));
    let mut all: Vec<Entry> =
        columns.enumerate().map(|(k, (i, j))| if transposed { Entry { i: j, j: i, k } } else { Entry { i, j, k } }).collect();
    all.sort_by_key(|e| (e.i, e.j));
    all
}

/// Rows and columns as seen.
pub fn shape(csr: &Csr, transposed: bool) -> (usize, usize) {
    if transposed { (csr.ncols(), csr.nrows()) } else { (csr.nrows(), csr.ncols()) }
}

/// The unit roundoff of a type, 0 of an integer one.
pub fn roundoff(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-11),
        DType::Bf16 => 2f64.powi(-8),
        DType::F32 => 2f64.powi(-24),
        DType::F64 => 2f64.powi(-53),
        _ => 0.0,
    }
}

/// What a number is stored as.
pub fn stored<U: Element>(x: f64) -> f64 {
    U::from_f64(if U::DTYPE.is_float() { x } else { x.round_ties_even() }).to_f64()
}

/// Asserts that a result is that of the loops, up to one rounding to its type and `steps` roundings of type `accumulator` of terms whose
/// absolute values sum to the element of `magnitude`. An integer may be the other neighbour of a number that lies between two.
pub fn near<U: Element>(what: &str, found: &Dense<Cuda, U>, wanted: &Plain, magnitude: &Plain, steps: f64, accumulator: DType) {
    assert_eq!(found.shape(), (wanted.rows, wanted.columns), "{what}");
    // The smallest f16 above zero is 2^-24: what is below it is rounded by half of that.
    let tiny = if U::DTYPE == DType::F16 { 2f64.powi(-24) } else { 1e-40 };
    for (k, x) in found.to_host().unwrap().into_iter().enumerate() {
        let (found, exact, magnitude) = (x.to_f64(), wanted.data[k], magnitude.data[k]);
        let wanted = stored::<U>(exact);
        if found == wanted || (found.is_nan() && wanted.is_nan()) {
            continue;
        }
        let bound = 2.0 * steps * roundoff(accumulator) * magnitude + 1.01 * roundoff(U::DTYPE) * exact.abs() + tiny;
        let bound = if U::DTYPE.is_float() { bound } else { bound + 0.5 };
        assert!((found - exact).abs() <= bound, "{what}: element {k}: {found} where {exact} is wanted, up to {bound}");
    }
}
