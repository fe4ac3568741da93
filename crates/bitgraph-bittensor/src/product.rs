//! Products of bit matrices and of planes in exact whole numbers: what kernels are held against.
//!
//! Invariant: the first operand is packed along rows, the second along columns, so that both are read along the dimension that is summed
//! over; whole numbers never overflow (codes of 16 bits times 2^32 elements stay below 2^64).

use crate::memory::zeros;
use crate::{BitLayout, BitMatrix, BitPlanes, Error, Levels, Packing, Result, Steps, dot};
use bitgraph_sparse::Control;
use rayon::prelude::*;

/// The shape of a product, and memory for it.
fn begin<T: Clone + Default>(a: &BitLayout, b: &BitLayout) -> Result<Vec<T>> {
    for (operand, expected, layout) in [("first", Packing::Rows, a), ("second", Packing::Columns, b)] {
        if layout.packing() != expected {
            return Err(Error::Packed { operand, expected, found: layout.packing() });
        }
    }
    if a.ncols() != b.nrows() {
        return Err(Error::Shape {
            operation: "a product",
            left_rows: a.nrows() as u64,
            left_columns: a.ncols() as u64,
            right_rows: b.nrows() as u64,
            right_columns: b.ncols() as u64,
        });
    }
    let too_large = Error::TooLarge { rows: a.nrows() as u64, columns: b.ncols() as u64, planes: 1 };
    zeros(a.nrows().checked_mul(b.ncols()).ok_or(too_large)?, "a product")
}

/// Fills the product by `f(row, column)`, row by row in parallel.
fn fill<T: Send>(mut out: Vec<T>, columns: usize, control: &Control, f: impl Fn(usize, usize) -> T + Sync) -> Result<Vec<T>> {
    if columns > 0 {
        out.par_chunks_mut(columns).enumerate().try_for_each(|(i, row)| {
            control.check()?;
            row.iter_mut().enumerate().for_each(|(j, x)| *x = f(i, j));
            Ok::<(), Error>(())
        })?;
    }
    Ok(out)
}

/// The product of two bit matrices, without their scales, row by row: +-1 by +-1 by AND and a correction of rank 1, 0/1 by 0/1 by AND, and
/// 0/1 by +-1 by BitGNN's third method. O(rows * columns * words), parallel.
///
/// # Errors
/// [`Error::Packed`], [`Error::Shape`], [`Error::TooLarge`], [`Error::OutOfMemory`] or [`Error::Cancelled`].
pub fn bits(a: &BitMatrix, b: &BitMatrix, control: &Control) -> Result<Vec<i64>> {
    let out = begin(a.layout(), b.layout())?;
    let length = a.ncols();
    let ones_a: Vec<u64> = (0..a.nrows()).map(|i| dot::ones(a.line(i))).collect();
    let ones_b: Vec<u64> = (0..b.ncols()).map(|j| dot::ones(b.line(j))).collect();
    fill(out, b.ncols(), control, |i, j| {
        let (x, w) = (a.line(i), b.line(j));
        match (a.levels(), b.levels()) {
            (Levels::Signs, Levels::Signs) => dot::signs_by_and(x, w, ones_a[i], ones_b[j], length),
            (Levels::ZeroOne, Levels::ZeroOne) => dot::and(x, w) as i64,
            (Levels::ZeroOne, Levels::Signs) => dot::trinary_by_count(x, w, ones_a[i]),
            (Levels::Signs, Levels::ZeroOne) => dot::trinary_by_count(w, x, ones_b[j]),
        }
    })
}

/// The product of two matrices of codes, row by row (QGTC, Algorithm 1). O(rows * columns * words * planes of both), parallel.
///
/// # Errors
/// [`Error::Packed`], [`Error::Shape`], [`Error::TooLarge`], [`Error::OutOfMemory`] or [`Error::Cancelled`].
pub fn codes(a: &BitPlanes, b: &BitPlanes, control: &Control) -> Result<Vec<u64>> {
    let out = begin(a.layout(), b.layout())?;
    fill(out, b.ncols(), control, |i, j| {
        dot::codes(a.bits(), |p| a.layout().line(a.plane_words(p), i), b.bits(), |q| b.layout().line(b.plane_words(q), j))
    })
}

/// The product of the values of two matrices of codes, row by row: the product of the codes, and a correction of rank 2 for the zero
/// points, `scale_a scale_b (sum q_a q_b - zero_b sum q_a - zero_a sum q_b + length zero_a zero_b)`, in `f64`. A [`BitMatrix`] with
/// its scales is a matrix of codes of one bit.
///
/// # Errors
/// [`Error::InnerScales`] if the first operand has a step for each column, or the second for each row; else as [`codes`].
pub fn values(a: &BitPlanes, b: &BitPlanes, control: &Control) -> Result<Vec<f64>> {
    if matches!(a.quantization().steps(), Steps::Columns(_)) {
        return Err(Error::InnerScales { operand: "first", along: Packing::Columns });
    }
    if matches!(b.quantization().steps(), Steps::Rows(_)) {
        return Err(Error::InnerScales { operand: "second", along: Packing::Rows });
    }
    let products = codes(a, b, control)?;
    let sums = |of: &BitPlanes| -> Vec<f64> {
        let sum = |line| (0..of.bits()).map(|p| dot::ones(of.layout().line(of.plane_words(p), line)) << p).sum::<u64>() as f64;
        (0..of.layout().lines()).map(sum).collect()
    };
    let (sums_a, sums_b, length) = (sums(a), sums(b), a.ncols() as f64);
    let columns = b.ncols();
    fill(vec![0.0; products.len()], columns, control, |i, j| {
        let (x, w) = (a.quantization().steps().get(i, 0), b.quantization().steps().get(0, j));
        let (zero_x, zero_w) = (f64::from(x.zero), f64::from(w.zero));
        let whole = products[i * columns + j] as f64 - zero_w * sums_a[i] - zero_x * sums_b[j] + length * zero_x * zero_w;
        f64::from(x.scale) * f64::from(w.scale) * whole
    })
}
