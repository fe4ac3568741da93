//! Models of few bits: signs with factors (Bi-GCN, BitGNN) and learned levels, trained with the rounding in the loop.
//!
//! Rounding has no derivative: a gradient passes through it as if it were not there, where the value is within the range of its levels
//! (the straight-through estimator). Codes are whole or half numbers that floats hold exactly, so that products and sums of codes have no
//! rounding of their own, and a forward pass in floats gives the very numbers that counters of bits give.

mod binary;
mod features;
mod gin;
mod graphs;
mod lsq;
mod models;
mod sign;

pub(crate) use crate::step::EPSILON;
pub use binary::{BinaryGcn, BinaryHidden, SignInput};
pub use features::{column_signs, few_levels, scaled_signs};
pub use gin::{BinaryMap, BitsMap, Over};
pub use graphs::{graph_model, graph_recipe};
pub use lsq::{BitsGcn, InputStep};
pub use models::{LowBits, gains_by_a_teacher, model, teach, teachers_share};
pub(crate) use sign::BinaryWeight;
