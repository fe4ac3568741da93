//! Verification of a backend: the generated suite of operations against dense mimics, fused algorithms against their
//! definitions and independent validators, faults of a device, and real graphs against known answers.
//!
//! [`run`] does it all and returns a [`Report`]; the binary prints it. Nothing here needs a test harness, so that the same
//! binary can run on a machine without cargo.

mod algorithms;
mod data;
mod faults;
pub mod operations;
mod progress;
mod report;
pub mod tensors;

pub use report::{Outcome, Report};

use bitgraph::cuda::tensor::TensorKernels;
use bitgraph::prelude::{Cpu, Cuda};
use std::path::PathBuf;

/// Which backend to verify.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The processor.
    #[default]
    Cpu,
    /// A GPU, by number, or the host shim in its place.
    Cuda(u32),
}

/// The variable that turns a missing GPU from a skip into a failure.
pub const REQUIRE_GPU: &str = "BITGRAPH_REQUIRE_GPU";

/// What can be verified by itself; `faults` are those of devices.
pub const RINGS: [&str; 7] =
    [operations::VECTORS, operations::PRODUCTS, operations::MATRICES, tensors::RING, algorithms::RING, faults::RING, data::RING];

/// What to verify.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The backend.
    pub target: Target,
    /// Every combination instead of every pair of choices.
    pub full: bool,
    /// Every format in one order and every order in one format, where otherwise each meets each; for the slow host shim.
    pub quick: bool,
    /// A folder of graphs with an `expected.json`.
    pub data: Option<PathBuf>,
    /// Only these [`RINGS`]; all if empty.
    pub rings: Vec<String>,
    /// Only graphs whose name contains this.
    pub graph: Option<String>,
    /// Says on standard error how far it is: on a terminal in a line that is drawn over, elsewhere in one every ten seconds.
    pub progress: bool,
}

impl Options {
    fn wants(&self, ring: &str) -> bool {
        self.rings.is_empty() || self.rings.iter().any(|r| r == ring)
    }
}

/// Verifies a backend: the CPU's reference and fast form, or a GPU's definitions and fused forms. A missing GPU is a skip, or a
/// failure with [`REQUIRE_GPU`] set.
///
/// # Errors
/// Only for data that cannot be read; mismatches are in the report.
pub fn run(options: &Options) -> anyhow::Result<Report> {
    let mut report = if options.progress { Report::with_progress() } else { Report::default() };
    let done = match options.target {
        Target::Cpu => cpu(&mut report, options),
        Target::Cuda(number) => match Cuda::open(number) {
            Ok(device) => cuda(&mut report, &device, options),
            Err(error) => {
                if std::env::var_os(REQUIRE_GPU).is_some_and(|v| v == "1") {
                    report.check("cuda", "device", || "opening".into(), Outcome::Failed(error.to_string()));
                } else {
                    report.skip("cuda", "everything", &error.to_string());
                }
                Ok(())
            }
        },
    };
    report.end();
    done.map(|()| report)
}

fn cpu(report: &mut Report, options: &Options) -> anyhow::Result<()> {
    operations::run(report, &Cpu::reference(), "reference", options);
    operations::run(report, &Cpu::new(), "fast", options);
    if options.wants("tensors") {
        tensors::run(report, &Cpu::reference(), "reference", options.full);
        tensors::run(report, &Cpu::new(), "fast", options.full);
        tensors::run_bits(report, &Cpu::reference(), "reference");
        tensors::run_bits(report, &Cpu::new(), "fast");
    }
    if options.wants("algorithms") {
        algorithms::run(report, &Cpu::new(), "fast", &[1, 3], options);
        algorithms::run(report, &Cpu::reference(), "reference", &[1], options);
    }
    if options.wants("data") {
        data::run(report, &Cpu::new(), options)?;
    }
    Ok(())
}

fn cuda(report: &mut Report, device: &Cuda, options: &Options) -> anyhow::Result<()> {
    let definitions = device.without_fused_forms();
    operations::run(report, device, "device", options);
    if options.wants("tensors") {
        tensors::run(report, device, "device", options.full);
        tensors::run_bits(report, device, "device");
        tensors::run_forced(report, &device.with_tensor_kernels(TensorKernels::Typed), "typed forms");
        // Forms have the usual combinations, so that few of them would come to these.
        tensors::run_bits(report, &device.with_tensor_kernels(TensorKernels::General), "general kernels");
    }
    if options.wants("algorithms") {
        algorithms::run(report, device, "fused", &[1], options);
        algorithms::run(report, &definitions, "definitions", &[1], options);
    }
    if options.wants("faults") {
        faults::run(report, device);
    }
    if options.wants("data") {
        data::run(report, device, options)?;
    }
    Ok(())
}
