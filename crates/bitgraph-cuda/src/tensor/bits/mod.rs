//! Tensors of bits on the device: signs and codes of few bits, packed as `bitgraph-bittensor` packs them, their dense products on 1-bit
//! tensor cores, and sums of signs over the neighbours of a vertex.
//!
//! The forms need nothing of the front of tensors: arrays on the device, a matrix as lists, and the host's types for uploads. `select` says
//! which form runs, and why. `front` connects them: `typed` takes a form where it has the combination that is asked for, and keeps its layout
//! with the matrix; `general` has a kernel for every combination.
//!
//! # Invariants
//! Bits beyond a matrix are zero, in every result as in every operand. Whole numbers are exact, so that no result depends on an order.

#![allow(unsafe_code)]

mod aggregate;
mod batches;
mod fold;
mod front;
mod gather;
mod gcn;
mod general;
mod matrix;
mod operand;
mod pack;
mod product;
mod select;
mod strips;
#[cfg(test)]
mod tests;
mod typed;
mod window;

pub(super) use typed::{explain_gemm, explain_spmm};

pub use aggregate::{Aggregation, Sum, Thresholds};
pub use matrix::{DeviceBits, DevicePlanes, DeviceScales, DeviceTiles};
pub use pack::{binarize, quantize};
pub use product::{ProductSigns, codes_product, map_tiles, sign_product, sign_sums};
pub use select::{AggregateForm, AggregatePlan};

use crate::{Error, Result};
use bitgraph_backend::Error as Base;

/// An error of the host's types.
fn host_error(error: bitgraph_bittensor::Error) -> Error {
    Error::Bits(error)
}

/// Refuses an operand of another size.
fn expect(operation: &'static str, operand: &'static str, expected: u64, found: u64) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Base::Shape { operation, operand, expected, found }.into()) }
}
