//! Dense products of floats with bits: the bits become floats, the weights once, the rows of a first operand block by block.

use super::aggregate::target;
use super::codes::Codes;
use super::unpack::dense;
use crate::tensor::finish::Finish;
use crate::tensor::gemm::{Strided, blocks, multiply, operand, product as floats};
use crate::tensor::view::AnyView;
use crate::{Cpu, Isa};
use bitgraph_backend::Error;
use bitgraph_tensor::ops::{BitGemmOp, GemmOp};
use bitgraph_tensor::{Any, BitOperand, BitOut};

/// The product of two operands, one of them dense.
pub fn product(op: &BitGemmOp<Cpu>, y: BitOut<'_, Cpu>) -> Result<(), Error> {
    let y = target(y, &op.epilogue);
    let (_, columns, length) = op.sizes();
    match (&op.a, Codes::of(&op.a), &op.b) {
        (BitOperand::Dense(a), _, b) => {
            let b = Any::F32(dense(b)?);
            // Both of one type, which the product is formed in.
            let a = Any::F32(dense(&BitOperand::Dense(a.clone()))?);
            floats::<f32>(&GemmOp { a, transpose_a: false, b, transpose_b: false, epilogue: op.epilogue.clone() }, y);
        }
        (_, Some(codes), BitOperand::Dense(b)) => {
            let mut copy = Vec::new();
            let b = operand::<f32>(AnyView::of(b), false, &mut copy);
            let finish = Finish::new(Isa::current(), &op.epilogue);
            blocks::<f32>(y, &finish, &|block, sums| {
                let mut values = vec![0f32; block.len() * length];
                if length > 0 {
                    values.chunks_exact_mut(length).zip(block.clone()).for_each(|(values, i)| codes.row_values(i, values));
                }
                let a = Strided { data: &values, offset: 0, row: length, column: 1 };
                multiply(a, b, 0..block.len(), columns, 0..length, sums);
            });
        }
        _ => unreachable!("an operand is dense, and the other one of bits"),
    }
    Ok(())
}
