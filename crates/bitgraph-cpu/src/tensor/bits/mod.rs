//! Matrices of few bits: packing, products of codes, and aggregation by bit-sliced counters.
//!
//! Invariant: whole numbers are exact, so that results do not depend on the instruction set, on blocks or on threads; bits beyond a matrix
//! stay zero.

mod aggregate;
mod codes;
mod count;
mod counters;
mod gcn;
mod mixed;
mod pack;
mod product;
mod unpack;
mod words;

pub use codes::Codes;
pub use pack::planes_of;

use super::CpuArray;
use super::dense::{rows_of, sums, write_row};
use super::reference;
use super::spmm::seen;
use super::view::AnyView;
use crate::{Cpu, Isa};
use bitgraph_backend::Error;
use bitgraph_tensor::bittensor::Packing;
use bitgraph_tensor::ops::{BitGcn, BitGcnOp, BitGemmOp, BitSpmmOp, PackOp, Reconcile, Whole};
use bitgraph_tensor::{Any, AnyMut, BitOperand, BitOut, Bits, CodesOut, Dense, Tensor};

impl Bits for Cpu {
    fn reconciles(&self) -> &'static [Reconcile] {
        &[Reconcile::Branch, Reconcile::Count]
    }
    fn words(&self, words: &[u32]) -> Result<CpuArray<i32>, Error> {
        // Rows of words that begin with a cache line are in fewer of them.
        let mut array = self.array_filled(words.len(), 0)?;
        array.as_mut_slice().copy_from_slice(bytemuck::cast_slice(words));
        Ok(array)
    }
    fn pack(&self, op: &PackOp<Self>, codes: CodesOut<'_, Self>) -> Result<(), Error> {
        if self.is_reference() {
            reference::bits::pack(op, codes)
        } else {
            pack::pack(op, codes)
        }
        Ok(())
    }
    fn unpack(&self, x: &BitOperand<Self>, y: AnyMut<'_, Self>) -> Result<(), Error> {
        if self.is_reference() {
            reference::bits::unpack(x, y)
        } else {
            unpack::unpack(x, y)
        }
        Ok(())
    }
    fn mean_magnitudes(&self, x: &Any<Self>, along: Packing, means: AnyMut<'_, Self>) -> Result<(), Error> {
        if self.is_reference() {
            reference::bits::mean_magnitudes(x, along, means)
        } else {
            mean_magnitudes(x, along, means)
        }
        Ok(())
    }
    fn bit_gemm(&self, op: &BitGemmOp<Self>, y: BitOut<'_, Self>) -> Result<(), Error> {
        if self.is_reference() {
            reference::bits::gemm(op, y);
            return Ok(());
        }
        match (Codes::of(&op.a), Codes::of(&op.b)) {
            (Some(a), Some(b)) => product::codes(op, &a, &b, y),
            _ => mixed::product(op, y)?,
        }
        Ok(())
    }
    fn bit_spmm(&self, op: &BitSpmmOp<Self>, y: BitOut<'_, Self>) -> Result<(), Error> {
        if self.is_reference() { reference::bits::spmm(op, y) } else { aggregate::spmm(op, y) }
    }
    fn half_messages(&self, op: &BitSpmmOp<Self>) -> Result<Dense<Self, f32>, Error> {
        let csr = seen(&op.matrix, op.transposed).0;
        let halves = (0..csr.nrows()).map(|i| 0.5 * (csr.degree(i) + usize::from(op.own)) as f32).collect();
        Dense::from_vec(self, csr.nrows(), 1, halves)
    }
    fn bit_gcn(&self, op: &BitGcnOp<'_, Self>) -> Result<Whole<Box<dyn BitGcn<Self>>>, Error> {
        if self.is_reference() {
            return Ok(Whole::Declined("the plain loops infer operation by operation".into()));
        }
        gcn::prepare(op)
    }
}

fn mean_magnitudes(x: &Any<Cpu>, along: Packing, means: AnyMut<'_, Cpu>) {
    let (isa, view, (rows, columns)) = (Isa::current(), AnyView::of(x), x.shape());
    match along {
        Packing::Rows => rows_of::<f64>(isa, means, &|i, mean, scratch| {
            let sum = view.row_as::<f64>(isa, i, scratch).iter().fold(0.0, |sum, x| sum + x.abs());
            mean[0] = if columns == 0 { 0.0 } else { sum / columns as f64 };
        }),
        Packing::Columns => {
            let mut all = sums::<f64>((rows, columns), columns, &|rows, sums, [scratch, _]| {
                let rows = view.rows_as::<f64>(isa, rows, scratch);
                rows.iter().for_each(|row| sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.abs()));
            });
            all.iter_mut().for_each(|sum| *sum = if rows == 0 { 0.0 } else { *sum / rows as f64 });
            write_row(isa, &all, means);
        }
    }
}
