//! A device kept at work for a while, for clocks.

use crate::Result;
use crate::device::{Device, Kernel, Mode, Shape, parameters};

parameters! {
    struct PauseParams = "ops/pause.cu" "bg::PauseParams" {
        nanoseconds: u64,
    }
}

/// Keeps a device at work without touching memory.
#[derive(Clone, Debug)]
pub struct Pause {
    device: Device,
    kernel: Kernel<PauseParams>,
}

impl Pause {
    /// Loads the kernel.
    ///
    /// # Errors
    /// As [`Device::kernel`].
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self { device: device.clone(), kernel: device.kernel("ops/pause", "pause")? })
    }
    /// What is launched after this starts at least so many nanoseconds later. Returns at once.
    ///
    /// # Errors
    /// The driver's.
    pub fn run(&self, nanoseconds: u64) -> Result<()> {
        let shape = Shape { grid: 1, block: 32, shared: 0, mode: Mode::Plain };
        // SAFETY: the kernel touches no memory.
        unsafe { self.device.launch(&self.kernel, shape, &PauseParams { nanoseconds }) }
    }
}
