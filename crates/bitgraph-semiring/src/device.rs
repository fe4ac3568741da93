//! The device form of an operator: the same formula in CUDA C++, compiled at run time by a GPU backend.

/// CUDA C++ expressions of a semiring or operator. The names `a`, `b` (or `x`) and `acc` stand for the operands.
///
/// A backend that runs on the CPU ignores it; a GPU backend refuses an operator whose expression is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceExpr {
    /// The product, in terms of `a` (matrix value) and `x` (vector value). Example: `"a * x"`.
    pub multiply: &'static str,
    /// The product for a pattern matrix, in terms of `x` alone. Example: `"x"`.
    pub multiply_pattern: &'static str,
    /// The additive monoid, in terms of `a` and `b`. Example: `"a + b"`.
    pub add: &'static str,
    /// The identity of the additive monoid. Example: `"0"`.
    pub identity: &'static str,
    /// The conversion from accumulator to output, in terms of `acc`. Example: `"acc"`.
    pub finish: &'static str,
}
