//! Sparse matrix times dense features: which loop gathers, and in what type.

mod chosen;
pub mod factors;
pub mod gather;
pub mod lanes;
pub mod store;

pub use chosen::chosen_backward;

use super::finish::Finish;
use super::number::{Number, Reading, Sum};
use super::sink::Target;
use super::view::{AnyView, reals};
use crate::{Cpu, Isa};
use bitgraph_backend::Matrix;
use bitgraph_semiring::DType;
use bitgraph_sparse::Csr;
use bitgraph_tensor::ops::{Accumulation, Edge, Load, Reduce, SpmmOp};
use bitgraph_tensor::{AnyMut, Out};
use factors::Entries;
use gather::{Gather, Gathers, Rule};
use std::ops::Range;
use store::After;

/// A pattern or its transpose as CSR, and where the entries of the latter are in the former's order.
pub fn seen(matrix: &Matrix<Cpu>, transposed: bool) -> (&Csr, Option<&[usize]>) {
    if transposed {
        let by_columns = matrix.by_columns();
        (&by_columns.csr, Some(&by_columns.positions))
    } else {
        (matrix.csr(), None)
    }
}

/// The values of a matrix's entries; none for ones.
pub fn edge_values<'a>(edge: &'a Edge<Cpu>, matrix: &'a Matrix<Cpu>) -> Option<AnyView<'a>> {
    match edge {
        Edge::One => None,
        Edge::Own => matrix.values().and_then(AnyView::of_values),
        Edge::Values(e) => Some(AnyView::of(e)),
    }
}

/// The entries of a matrix as an operation sees them, with factors of type `S`.
fn entries<S: Sum>(op: &SpmmOp<Cpu>, columns: Option<Vec<S>>) -> Entries<'_, S> {
    let (csr, positions) = seen(&op.matrix, op.transposed);
    let values = edge_values(&op.edge, &op.matrix);
    Entries { csr, positions, values, columns, computed: None, heads: op.heads.max(1), isa: Isa::current() }
}

/// Product, scale, epilogue, store.
pub fn spmm(op: &SpmmOp<Cpu>, y: AnyMut<'_, Cpu>, chosen: Option<Out<'_, Cpu, i32>>) {
    if op.accumulation != Accumulation::Wide {
        // Rounding after every addition is what this mode is about: there is no faster way to it on a CPU.
        return super::reference::spmm::spmm(op, y, chosen);
    }
    into(op, y.into(), chosen);
}

/// As [`spmm`], with wide sums, stored as elements or bits.
pub fn into(op: &SpmmOp<Cpu>, y: Target<'_>, chosen: Option<Out<'_, Cpu, i32>>) {
    let Load::Dense(x) = &op.features;
    match x.dtype() {
        _ if op.is_whole() => reduce::<i32, f32>(op, None, y, chosen),
        DType::F64 => reduce::<f64, f64>(op, op.scale_columns.as_ref().map(reals), y, chosen),
        _ => reduce::<f32, f32>(op, op.scale_columns.as_ref().map(reals), y, chosen),
    }
}

/// One over the number of entries of every row as seen, `extra` more than the pattern says; 0 without any.
pub fn inverse_counts(matrix: &Matrix<Cpu>, transposed: bool, extra: u32, out: AnyMut<'_, Cpu>) {
    let (csr, _) = seen(matrix, transposed);
    super::dense::rows_of::<f64>(Isa::current(), out, &|i, row, _| {
        let count = csr.degree(i) as f64 + f64::from(extra);
        row[0] = if count > 0.0 { 1.0 / count } else { 0.0 };
    });
}

/// Reduces in `S`, and has rows scaled, finished in `R`, and stored.
fn reduce<S: Gathers, R: Number + Reading<S>>(
    op: &SpmmOp<Cpu>,
    scale_columns: Option<Vec<S>>,
    y: Target<'_>,
    chosen: Option<Out<'_, Cpu, i32>>,
) {
    let (entries, isa) = (entries(op, scale_columns), Isa::current());
    let Load::Dense(x) = &op.features;
    let rule = match op.reduce {
        Reduce::Sum | Reduce::Mean => Rule::Sum,
        Reduce::Max => Rule::Largest,
        Reduce::Min => Rule::Smallest,
    };
    let gather = Gather { entries: &entries, features: AnyView::of(x), own: op.own.map(S::from_f64), rule };
    let after = After {
        scale: op.scale_rows.as_ref().map(reals),
        mean: op.reduce == Reduce::Mean,
        own: op.own.is_some(),
        finish: Finish::<R>::new(isa, &op.epilogue),
    };
    let run = |reduced: store::Reduced<'_, S>| store::rows::<S, R>(gather.entries.csr, isa, reduced, &after, y);
    if let Some(out) = chosen {
        let picked = chosen::Chosen::new(&gather, out);
        return run(&|rows: Range<usize>, out: &mut [S], stride: usize| picked.rows(rows, out, stride));
    }
    if rule == Rule::Sum {
        run(&|rows: Range<usize>, out: &mut [S], stride: usize| S::gather(&gather, rows, out, stride));
    } else {
        run(&|rows: Range<usize>, out: &mut [S], stride: usize| {
            S::gather(&gather, rows.clone(), out, stride);
            chosen::settle(&gather, rows, out, stride);
        });
    }
}
