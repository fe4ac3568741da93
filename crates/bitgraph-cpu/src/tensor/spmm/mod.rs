//! Sparse matrix times dense features: which loop gathers, and in what type.

mod chosen;
mod factors;
mod gather;
mod lanes;
mod store;

pub use chosen::chosen_backward;

use super::number::{Number, Sum};
use super::view::{AnyView, reals};
use crate::{Cpu, Isa};
use bitgraph_backend::{Error, Matrix};
use bitgraph_sparse::Csr;
use bitgraph_tensor::ops::{Accumulation, Edge, Load, Reduce, SpmmOp};
use bitgraph_tensor::{AnyMut, Out};
use factors::Entries;
use gather::{Gather, Gathered, LARGEST, SMALLEST, SUM};
use std::ops::Range;

/// A pattern or its transpose as CSR, and where the entries of the latter are in the former's order.
pub fn seen(matrix: &Matrix<Cpu>, transposed: bool) -> (&Csr, Option<&[usize]>) {
    if transposed {
        let by_columns = matrix.by_columns();
        (&by_columns.csr, Some(&by_columns.positions))
    } else {
        (matrix.csr(), None)
    }
}

/// The entries of a matrix as an operation sees them, with factors of type `S`.
fn entries<S: Sum>(op: &SpmmOp<Cpu>, columns: Option<Vec<S>>) -> Entries<'_, S> {
    let (csr, positions) = seen(&op.matrix, op.transposed);
    let values = match &op.edge {
        Edge::One => None,
        Edge::Own => op.matrix.values().and_then(AnyView::of_values),
        Edge::Values(e) => Some(AnyView::of(e)),
    };
    Entries { csr, positions, values, columns, heads: op.heads.max(1), isa: Isa::current() }
}

/// Product, scale, epilogue, store.
pub fn spmm(op: &SpmmOp<Cpu>, y: AnyMut<'_, Cpu>, chosen: Option<Out<'_, Cpu, i32>>) -> Result<(), Error> {
    if op.accumulation != Accumulation::Wide {
        // Rounding after every addition is what this mode is about: there is no faster way to it on a CPU.
        super::reference::spmm::spmm(op, y, chosen);
        return Ok(());
    }
    let Load::Dense(x) = &op.features;
    macro_rules! float {
        ($view:expr, $r:ident) => {{
            let entries = entries::<$r>(op, op.scale_columns.as_ref().map(reals));
            reduce::<_, $r, $r>(op, &Gather { entries: &entries, features: $view, own: op.own.map(|own| own as $r) }, y, chosen)
        }};
    }
    macro_rules! integer {
        ($view:expr) => {{
            if !op.is_whole() {
                return Ok(float!($view, f32));
            }
            let entries = entries::<i32>(op, None);
            reduce::<_, i32, f32>(op, &Gather { entries: &entries, features: $view, own: op.own.map(|own| own as i32) }, y, chosen)
        }};
    }
    match AnyView::of(x) {
        AnyView::F16(view) => float!(view, f32),
        AnyView::Bf16(view) => float!(view, f32),
        AnyView::F32(view) => float!(view, f32),
        AnyView::F64(view) => float!(view, f64),
        AnyView::I8(view) => integer!(view),
        AnyView::U8(view) => integer!(view),
        AnyView::I16(view) => integer!(view),
        AnyView::I32(view) => integer!(view),
    }
    Ok(())
}

/// Picks the loop, and has its rows stored.
fn reduce<T: Gathered<S>, S: Sum + super::number::Reading<T>, R: Number + super::number::Reading<S>>(
    op: &SpmmOp<Cpu>,
    gather: &Gather<'_, T, S>,
    y: AnyMut<'_, Cpu>,
    chosen: Option<Out<'_, Cpu, i32>>,
) {
    let isa = gather.entries.isa;
    let run = |reduced: store::Reduced<'_, S>| store::rows::<S, R>(op, gather.entries.csr, isa, reduced, y);
    if let Some(out) = chosen {
        let picked = chosen::Chosen::new(op.reduce, gather, out);
        return run(&|rows: Range<usize>, out: &mut [S], stride: usize| picked.rows(rows, out, stride));
    }
    match op.reduce {
        Reduce::Sum | Reduce::Mean => run(&|rows: Range<usize>, out: &mut [S], stride: usize| {
            T::gather::<SUM>(isa, gather, rows, out, stride);
        }),
        Reduce::Max => run(&|rows: Range<usize>, out: &mut [S], stride: usize| {
            T::gather::<LARGEST>(isa, gather, rows.clone(), out, stride);
            chosen::settle(S::smallest(), gather, rows, out, stride);
        }),
        Reduce::Min => run(&|rows: Range<usize>, out: &mut [S], stride: usize| {
            T::gather::<SMALLEST>(isa, gather, rows.clone(), out, stride);
            chosen::settle(S::largest(), gather, rows, out, stride);
        }),
    }
}
