//! Matrices of few bits on the front: the trait that its operations call.
//!
//! A form runs where it has the combination (`typed.rs`), the general kernels otherwise. Both
//! give the same bits: sums of codes are whole numbers, and what follows them is computed alike.

use super::{batches, gcn, general, typed};
use crate::{Cuda, Result};
use bitgraph_bittensor::Packing;
use bitgraph_tensor::ops::{Batched, BitBatchesOp, BitGcn, BitGcnOp, BitGemmOp, BitSpmmOp, PackOp, Whole};
use bitgraph_tensor::{Any, AnyMut, BitOperand, BitOut, Bits, CodesOut};

impl Bits for Cuda {
    fn pack(&self, op: &PackOp<Self>, codes: CodesOut<'_, Self>) -> Result<()> {
        if typed::pack(self, op, &codes)? {
            return Ok(());
        }
        general::pack(self, op, &codes)
    }
    fn unpack(&self, x: &BitOperand<Self>, y: AnyMut<'_, Self>) -> Result<()> {
        general::unpack(self, x, &y)
    }
    fn mean_magnitudes(&self, x: &Any<Self>, along: Packing, means: AnyMut<'_, Self>) -> Result<()> {
        general::mean_magnitudes(self, x, along, &means)
    }
    fn bit_gemm(&self, op: &BitGemmOp<Self>, y: BitOut<'_, Self>) -> Result<()> {
        typed::gemm(self, op, y)
    }
    fn bit_spmm(&self, op: &BitSpmmOp<Self>, y: BitOut<'_, Self>) -> Result<()> {
        typed::spmm(self, op, y)
    }
    fn bit_batches(&self, op: &BitBatchesOp<'_, Self>) -> Result<Whole<Box<dyn Batched<Self>>>> {
        batches::prepare(self, op)
    }
    fn bit_gcn(&self, op: &BitGcnOp<'_, Self>) -> Result<Whole<Box<dyn BitGcn<Self>>>> {
        gcn::prepare(self, op)
    }
}
