//! Work that is written down as launches, and done again and again as one graph of launches.
//!
//! Invariant: the numbers of a moment reach the device in the order of the stream, before the replay that reads them.

use crate::device::{Buffer, Recorder as Launches, parameters};
use crate::{Cuda, Error, Result};
use bitgraph_tensor::ops::{Moment, Recorder};
use bytemuck::Zeroable;

parameters! {
    pub(super) struct MomentParams = "tensor/moment.cuh" "bg::Moment" {
        rate: f64,
        gradient_factor: f64,
        correction1: f64,
        correction2: f64,
        loss_scale: f64,
        draws: u32,
        reserved: u32,
    }
}

/// A recorder of the device's stream.
struct OnDevice {
    launches: Launches,
    moment: Buffer<MomentParams>,
}

/// A recorder of the backend's stream.
pub(super) fn open(cuda: &Cuda) -> Result<Box<dyn Recorder<Error>>> {
    let device = cuda.device();
    let moment = device.upload(&[MomentParams::zeroed()])?;
    Ok(Box::new(OnDevice { launches: Launches::new(device)?, moment }))
}

impl Recorder<Error> for OnDevice {
    fn run(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.launches.run(work)
    }
    fn write(&mut self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<usize>> {
        match self.launches.write(self.moment.ptr().address(), work) {
            Err(Error::Unwritable { .. }) => Ok(None),
            found => found,
        }
    }
    fn replay(&self, number: usize, moment: &Moment) -> Result<()> {
        let params = MomentParams {
            rate: moment.rate,
            gradient_factor: moment.gradient_factor,
            correction1: moment.corrections.0,
            correction2: moment.corrections.1,
            loss_scale: moment.loss_scale,
            draws: moment.draws,
            reserved: 0,
        };
        self.moment.copy_from_slice(0, &[params])?;
        self.launches.replay(number)
    }
}
