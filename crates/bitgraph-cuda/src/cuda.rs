//! The handle of the CUDA backend: one GPU.

use crate::Result;
use crate::device::Device;

/// The CUDA backend on one GPU. Cheap to clone; a clone is the same device and stream.
#[derive(Clone, Debug)]
pub struct Cuda {
    device: Device,
    reference: bool,
}

impl Cuda {
    /// Opens a GPU by its number.
    ///
    /// # Errors
    /// No driver, one too old, no such device, a device too old.
    pub fn open(ordinal: u32) -> Result<Self> {
        Ok(Self { device: Device::open(ordinal)?, reference: false })
    }
    /// The same device without fused forms: the definitions of the algorithms over the operations.
    #[must_use]
    pub fn without_fused_forms(&self) -> Self {
        Self { device: self.device.clone(), reference: true }
    }
    #[cfg(test)]
    pub(crate) fn on(device: Device) -> Self {
        Self { device, reference: false }
    }
    /// Whether definitions run in place of fused forms.
    pub(crate) fn is_reference(&self) -> bool {
        self.reference
    }
    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }
    /// The same device with a stream of its own: what is built on it and what is built on this one can be used from two threads at once. A
    /// vector or matrix goes with what was made by the same handle or a clone of it: operations refuse to mix those of two forks, whose
    /// streams do not wait for each other ([`OtherBackend`](bitgraph_backend::Error::OtherBackend)).
    ///
    /// # Errors
    /// The driver's.
    pub fn fork(&self) -> Result<Self> {
        Ok(Self { device: self.device.fork()?, reference: self.reference })
    }
}
