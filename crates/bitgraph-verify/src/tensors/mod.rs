//! The operations on dense matrices: load x edge x reduce x epilogue x type x shape, each against plain loops in double precision with the bound
//! of its sums; gradients against differences; special values, windows and hubs.
//!
//! Operands are small whole numbers, whose sums are exact in every type, or random fractions, whose sums are held to their bounds.

mod attention;
mod attention_gradients;
mod bits;
mod dense;
mod edges;
mod gradients;
mod operands;
mod special;
mod spmm;

use crate::{Outcome, Report};
use bitgraph::tensor::{Bits, TensorBackend};
use bitgraph_testkit::Mismatches;

/// The name of this ring.
pub(crate) const RING: &str = "tensors";

/// Runs the suite on one form of a backend.
pub fn run<B: TensorBackend>(report: &mut Report, backend: &B, form: &str, full: bool) {
    spmm::run(report, backend, form, full);
    edges::run(report, backend, form, full);
    attention::run(report, backend, form, full);
    dense::run(report, backend, form, full);
    special::run(report, backend, form);
    gradients::run(report, backend, form);
    attention_gradients::run(report, backend, form);
}

/// Runs what a form is chosen for on matrices alone that are too large for this suite.
pub fn run_forced<B: TensorBackend>(report: &mut Report, backend: &B, form: &str) {
    spmm::at_tf32(report, backend, form);
}

/// Runs the families of few bits.
pub fn run_bits<B: Bits>(report: &mut Report, backend: &B, form: &str) {
    bits::run(report, backend, form);
}

/// What a comparison found.
fn outcome(compared: Result<(), Mismatches>) -> Outcome {
    match compared {
        Ok(()) => Outcome::Passed,
        Err(m) => Outcome::Failed(m.to_string()),
    }
}

/// Counts a check whose operations may fail.
fn check<E: std::error::Error>(report: &mut Report, what: &str, case: impl FnOnce() -> String, run: impl FnOnce() -> Result<Outcome, E>) {
    let outcome = run().unwrap_or_else(|e| Outcome::Failed(e.to_string()));
    report.check(RING, what, case, outcome);
}
