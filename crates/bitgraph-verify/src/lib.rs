//! Verification of a backend: the generated suite of operations against dense mimics, fused algorithms against their
//! definitions and independent validators, and real graphs against known answers.
//!
//! [`run`] does it all and returns a [`Report`]; the binary prints it. Nothing here needs a test harness, so that the same
//! binary can run on a machine without cargo.

mod algorithms;
mod data;
pub mod operations;
mod pairwise;
mod report;

pub use report::{Outcome, Report};

use bitgraph::prelude::Cpu;
use std::path::PathBuf;

/// What to verify.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Every combination instead of every pair of choices.
    pub full: bool,
    /// A folder of graphs with an `expected.json`.
    pub data: Option<PathBuf>,
    /// Only these rings: `operations`, `algorithms`, `data`; all if empty.
    pub rings: Vec<String>,
    /// Only graphs whose name contains this.
    pub graph: Option<String>,
}

impl Options {
    fn wants(&self, ring: &str) -> bool {
        self.rings.is_empty() || self.rings.iter().any(|r| r == ring)
    }
}

/// Verifies the CPU backend, its reference and its fast form.
///
/// # Errors
/// Only for data that cannot be read; mismatches are in the report.
pub fn run(options: &Options) -> anyhow::Result<Report> {
    let mut report = Report::default();
    if options.wants("operations") {
        operations::run(&mut report, &Cpu::reference(), "reference", options.full);
        operations::run(&mut report, &Cpu::new(), "fast", options.full);
    }
    if options.wants("algorithms") {
        algorithms::run(&mut report, options);
    }
    if options.wants("data") {
        data::run(&mut report, options)?;
    }
    Ok(report)
}
