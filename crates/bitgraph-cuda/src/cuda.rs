//! The handle of the CUDA backend: one GPU.

use crate::Result;
use crate::device::Device;
use crate::forced::TensorKernels;

/// The CUDA backend on one GPU. Cheap to clone; a clone is the same device and stream.
#[derive(Clone, Debug)]
pub struct Cuda {
    device: Device,
    reference: bool,
    kernels: TensorKernels,
}

impl Cuda {
    /// Opens a GPU by its number.
    ///
    /// # Errors
    /// No driver, one too old, no such device, a device too old.
    pub fn open(ordinal: u32) -> Result<Self> {
        Ok(Self::over(Device::open(ordinal)?))
    }
    /// The same device without fused forms: the definitions of the algorithms over the operations.
    #[must_use]
    pub fn without_fused_forms(&self) -> Self {
        Self { reference: true, ..self.clone() }
    }
    #[cfg(test)]
    pub(crate) fn on(device: Device) -> Self {
        Self::over(device)
    }
    fn over(device: Device) -> Self {
        Self { device, reference: false, kernels: TensorKernels::default() }
    }
    /// The same device with a say in which kernels operations over dense matrices take: for tests and benches.
    #[doc(hidden)]
    #[must_use]
    pub fn with_tensor_kernels(&self, kernels: TensorKernels) -> Self {
        Self { kernels, ..self.clone() }
    }
    /// Which kernels operations over dense matrices take.
    pub(crate) fn tensor_kernels(&self) -> TensorKernels {
        self.kernels
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
        Ok(Self { device: self.device.fork()?, ..self.clone() })
    }
}
