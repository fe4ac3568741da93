//! What can go wrong on a GPU, with the numbers that say what to do.

use bitgraph_backend::Error as Base;

/// The result of the CUDA backend.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The errors of the CUDA backend.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// From the contracts: shapes, types, parameters, cancellation.
    #[error(transparent)]
    Base(Base),
    /// From tensors of bits: shapes, packing, widths.
    #[error(transparent)]
    Bits(bitgraph_bittensor::Error),
    /// From translations into windows: heights, orders, shapes of blocks.
    #[error(transparent)]
    Translation(bitgraph_sgt::Error),
    /// A matrix of bits that mean something else than the operation takes them for.
    #[error("{operation}: the bits of the {operand} are {found:?} where {expected:?} are needed")]
    Levels {
        /// The operation.
        operation: &'static str,
        /// Which operand.
        operand: &'static str,
        /// What is needed.
        expected: bitgraph_bittensor::Levels,
        /// What was found.
        found: bitgraph_bittensor::Levels,
    },
    /// The driver library cannot be loaded.
    #[error("no CUDA driver: the library libcuda is not installed; an NVIDIA GPU needs its driver, version 580 or newer")]
    NoDriver,
    /// The driver is older than the interface that is used.
    #[error("the CUDA driver supports CUDA {}.{}, and bitgraph needs {}.{} (driver 580) or newer", found / 1000, found % 1000 / 10, needed / 1000, needed % 1000 / 10)]
    OldDriver {
        /// What the driver says, as 1000 x major + 10 x minor.
        found: i32,
        /// The lowest that works.
        needed: i32,
    },
    /// There is no GPU, or the driver cannot reach it.
    #[error("no NVIDIA GPU: {reason}")]
    NoDevice {
        /// What the driver says.
        reason: String,
    },
    /// A device number beyond what there is.
    #[error("there is no CUDA device {wanted}: {count} found, numbered from 0")]
    NoSuchDevice {
        /// The number asked for.
        wanted: u32,
        /// How many there are.
        count: u32,
    },
    /// The device is older than what the kernels are written for.
    #[error("{name} has compute capability {}.{}, and the kernels need 8.0 or newer", found.0, found.1)]
    OldDevice {
        /// The device.
        name: String,
        /// Its compute capability.
        found: (u32, u32),
    },
    /// Device memory that could not be had.
    #[error("out of device memory: {wanted} bytes wanted for {what}, {free} of {total} free")]
    OutOfMemory {
        /// Bytes wanted.
        wanted: u64,
        /// Bytes free.
        free: u64,
        /// Bytes of the device.
        total: u64,
        /// What for.
        what: &'static str,
    },
    /// The run-time compiler is needed and missing.
    #[error(
        "{needed_for} has to be compiled at run time, and the library libnvrtc is not installed; a build with `cargo xtask kernels` needs it less often"
    )]
    NoCompiler {
        /// The kernel or module.
        needed_for: String,
    },
    /// Run-time compilation failed.
    #[error("{what} does not compile:\n{log}")]
    Compile {
        /// What was compiled.
        what: String,
        /// The compiler's words.
        log: String,
    },
    /// A kernel that the loaded code does not hold.
    #[error("kernel {kernel} is missing from the code of {module} for compute capability {}.{}", compute.0, compute.1)]
    NoKernel {
        /// The kernel.
        kernel: String,
        /// Where it should be.
        module: String,
        /// The device's compute capability.
        compute: (u32, u32),
    },
    /// A kernel loaded to be launched with another struct than it takes.
    #[error("{kernel} takes {expected}, and was loaded to be launched with {found}")]
    OtherParameters {
        /// The kernel.
        kernel: String,
        /// What it takes.
        expected: String,
        /// What it would get.
        found: &'static str,
    },
    /// Launches that could not be written down for later.
    #[error("the launches were not written down: the work that makes them failed")]
    NotWritten,
    /// Work that was to be written down, and does something that cannot be.
    #[error("{what} cannot be written down for later")]
    Unwritable {
        /// What it does.
        what: &'static str,
    },
    /// Arrays or moments of another device.
    #[error("what is on CUDA device {found} cannot be used in work of device {expected}; move it there first")]
    OtherDevice {
        /// Where the work is.
        expected: u32,
        /// Where the other thing is.
        found: u32,
    },
    /// Blocks that wait for each other, more than the device can hold at once.
    #[error("{kernel} needs {wanted} blocks running at once, the device holds {resident}")]
    NotResident {
        /// The kernel.
        kernel: String,
        /// Blocks wanted.
        wanted: u32,
        /// Blocks that fit.
        resident: u32,
    },
    /// Blocks waited for each other past the bound.
    #[error("{kernel} gave up: a block waited for the others past the bound after {steps} steps")]
    Stuck {
        /// The kernel.
        kernel: String,
        /// Levels or iterations done.
        steps: u32,
    },
    /// Anything else that the driver reports.
    #[error("{call} failed: {name} ({description})")]
    Driver {
        /// What was being done.
        call: &'static str,
        /// The driver's name for it.
        name: String,
        /// In words.
        description: String,
    },
}

impl<E: Into<Base>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Base(error.into())
    }
}
