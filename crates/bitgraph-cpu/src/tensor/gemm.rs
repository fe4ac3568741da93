//! Dense products, by the `gemm` crate, in blocks of rows whose epilogue runs while they are in the cache.
//!
//! Blocks are of a fixed size, so that a sum's order does not depend on the number of threads. Half types and integers are converted first:
//! sums are in `f32` and in `f64`, where those of integers of at most 16 bits are exact. A product with few rows and long sums is cut along
//! its sums, whose parts are added in pairs.
#![allow(unsafe_code)]

use super::finish::Finish;
use super::number::Number;
use super::sink::{Sink, Target};
use super::view::AnyView;
use crate::{Cpu, Isa};
use bitgraph_semiring::DType;
use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_tensor::AnyMut;
use bitgraph_tensor::ops::GemmOp;
use std::ops::Range;

/// Rows of a block.
const ROWS: usize = 256;
/// Terms of a sum's part, where sums are cut.
const TERMS: usize = 8192;
/// Elements of a product above which its sums are not cut, for the memory of the parts.
const CUT: usize = 1 << 18;

pub fn gemm(op: &GemmOp<Cpu>, y: AnyMut<'_, Cpu>) {
    match op.a.dtype() {
        DType::F64 => product::<f64>(op, y.into()),
        DType::F16 | DType::Bf16 | DType::F32 => product::<f32>(op, y.into()),
        // Products of 32 bits are exact in no float.
        DType::I32 => super::reference::dense::gemm(op, y),
        _ => product::<f64>(op, y.into()),
    }
}

/// An operand: element (i, c) is at `data[offset + i * row + c * column]`.
#[derive(Clone, Copy)]
pub struct Strided<'a, R> {
    pub data: &'a [R],
    pub offset: usize,
    pub row: usize,
    pub column: usize,
}

impl<R> Strided<'_, R> {
    fn at(&self, i: usize, c: usize) -> *const R {
        // Within the slice for elements of the operand; a product without elements reads none.
        self.data.as_ptr().wrapping_add(self.offset + i * self.row + c * self.column)
    }
}

/// An operand, converted to the type of the sums if need be.
pub fn operand<'a, R: Number>(x: AnyView<'a>, transposed: bool, copy: &'a mut Vec<R>) -> Strided<'a, R> {
    let (data, offset, stride) = match x.as_view::<R>() {
        Some(same) => (same.data, same.window.offset(), same.window.stride()),
        None => {
            let (isa, (rows, columns)) = (Isa::current(), x.window().shape());
            copy.resize(rows * columns, R::ZERO);
            let all = DisjointSlice::new(copy);
            parallel::each(rows.div_ceil(ROWS), &|block| {
                for i in block * ROWS..((block + 1) * ROWS).min(rows) {
                    // SAFETY: rows are disjoint, and each is in one block.
                    x.row_into(isa, i, unsafe { all.range(i * columns..(i + 1) * columns) });
                }
            });
            (&copy[..], 0, columns)
        }
    };
    if transposed { Strided { data, offset, row: 1, column: stride } } else { Strided { data, offset, row: stride, column: 1 } }
}

pub fn product<R: Number>(op: &GemmOp<Cpu>, y: Target<'_>) {
    let (rows, columns, length) = op.sizes();
    let (mut copy_a, mut copy_b) = (Vec::new(), Vec::new());
    let a = operand::<R>(AnyView::of(&op.a), op.transpose_a, &mut copy_a);
    let b = operand::<R>(AnyView::of(&op.b), op.transpose_b, &mut copy_b);
    let finish = Finish::new(Isa::current(), &op.epilogue);
    let whole = !op.a.dtype().is_float();
    let cut = length > 2 * TERMS && rows <= 2 * ROWS && rows * columns <= CUT;
    let parts = if cut { parts(a, b, (rows, columns, length)) } else { Vec::new() };
    blocks::<R>(y, &finish, &|block, sums| {
        if cut {
            sums.copy_from_slice(&parts[block.start * columns..block.end * columns]);
        } else {
            multiply(a, b, block, columns, 0..length, sums);
        }
        if whole {
            // Sums of integers wrap as those of `i32` do.
            sums.iter_mut().for_each(|v| *v = R::of(f64::from(v.to_f64() as i64 as i32)));
        }
    });
}

/// The product with its sums cut into parts.
fn parts<R: Number>(a: Strided<'_, R>, b: Strided<'_, R>, (rows, columns, length): (usize, usize, usize)) -> Vec<R> {
    let part = |k: usize| {
        let mut sums = vec![R::ZERO; rows * columns];
        multiply(a, b, 0..rows, columns, k * TERMS..((k + 1) * TERMS).min(length), &mut sums);
        sums
    };
    let mut parts = parallel::collect(length.div_ceil(TERMS), part);
    while parts.len() > 1 {
        let later = parts.split_off(parts.len().div_ceil(2));
        parts.iter_mut().zip(later).for_each(|(a, b)| a.iter_mut().zip(b).for_each(|(a, b)| *a += b));
    }
    parts.pop().unwrap_or_default()
}

/// Some rows of the product, over some of the terms.
pub fn multiply<R: Number>(a: Strided<'_, R>, b: Strided<'_, R>, rows: Range<usize>, columns: usize, terms: Range<usize>, sums: &mut [R]) {
    assert!(sums.len() >= rows.len() * columns);
    if terms.is_empty() {
        return sums.fill(R::ZERO);
    }
    let stride = |s: usize| s as isize;
    // SAFETY: the sums have a place for each element; the operands have the rows, columns and terms of the product, as the front end checks,
    // and are only read.
    unsafe {
        gemm::gemm(
            rows.len(),
            columns,
            terms.len(),
            sums.as_mut_ptr(),
            1,
            stride(columns),
            false,
            a.at(rows.start, terms.start),
            stride(a.column),
            stride(a.row),
            b.at(terms.start, 0),
            stride(b.column),
            stride(b.row),
            R::ZERO,
            R::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Makes an output in blocks of rows, in parallel: `make(rows, sums)` sets the sums of a block, whatever is there.
pub fn blocks<R: Number>(out: Target<'_>, finish: &Finish<'_, R>, make: &(dyn Fn(Range<usize>, &mut [R]) + Sync)) {
    let sink = Sink::<R>::new(Isa::current(), out);
    let (rows, columns) = sink.window().shape();
    if rows == 0 || columns == 0 {
        return;
    }
    parallel::each(rows.div_ceil(ROWS), &|block| {
        let block = block * ROWS..((block + 1) * ROWS).min(rows);
        let all = |sums: &mut [R]| {
            make(block.clone(), sums);
            finish.block(block.start, columns, sums);
        };
        // SAFETY: rows are disjoint, and each is in one block.
        unsafe { sink.make(block.clone(), &mut Vec::new(), all) };
    });
}
