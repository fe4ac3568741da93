//! Bits to elements, row by row.

use super::codes::Codes;
use crate::tensor::dense::rows_of;
use crate::tensor::number::Sum;
use crate::tensor::view::AnyView;
use crate::{Cpu, Isa};
use bitgraph_backend::Error;
use bitgraph_tensor::{AnyMut, BitOperand, Dense, Element};

/// The values of an operand.
pub fn unpack(x: &BitOperand<Cpu>, y: AnyMut<'_, Cpu>) {
    let isa = Isa::current();
    match (Codes::of(x), x) {
        (Some(codes), _) => rows_of::<f32>(isa, y, &|i, row, _| codes.row_values(i, row)),
        (None, BitOperand::Dense(x)) => copy::<f32>(isa, AnyView::of(x), y),
        (None, _) => unreachable!("signs and planes are codes"),
    }
}

fn copy<R: Sum>(isa: Isa, x: AnyView<'_>, y: AnyMut<'_, Cpu>) {
    rows_of::<R>(isa, y, &|i, row, _| x.row_into(isa, i, row));
}

/// The values as a dense matrix.
pub fn dense(x: &BitOperand<Cpu>) -> Result<Dense<Cpu, f32>, Error> {
    let (rows, columns) = x.shape();
    let mut y = Dense::<Cpu, f32>::zeros(&Cpu::new(), rows, columns)?;
    unpack(x, f32::erase_mut(y.as_mut().open()?));
    Ok(y)
}
