//! A step of gradient descent with momentum over parameters.

use super::params::{Target, View, name, real_of};
use super::recorder::MomentParams;
use super::work::DenseWork;
use crate::device::{DevicePtr, parameters};
use crate::{Cuda, Result};
use bitgraph_tensor::ops::{SgdOp, SgdOut};

const MODULE: &str = "tensor/sgd_general";

parameters! {
    struct SgdParams = "tensor/sgd_general.cu" "bg::SgdParams" {
        work: DenseWork,
        parameters: View,
        gradients: View,
        velocity: View,
        decay: View,
        parameters_out: Target,
        velocity_out: Target,
        rate: f64,
        momentum: f64,
        gradient_factor: f64,
        moment: DevicePtr<MomentParams>,
    }
}

/// One step.
pub(super) fn sgd(cuda: &Cuda, op: &SgdOp<Cuda>, out: &SgdOut<'_, Cuda>) -> Result<()> {
    let (shape, s) = (op.parameters.shape(), op.settings);
    if shape.0 == 0 || shape.1 == 0 {
        return Ok(());
    }
    let device = cuda.device();
    let params = SgdParams {
        work: DenseWork::new(shape, 1)?,
        parameters: View::reals(&op.parameters),
        gradients: View::reals(&op.gradients),
        velocity: View::reals(&op.velocity),
        decay: View::optional(op.decay.as_ref()),
        parameters_out: Target::of(&out.parameters, 1),
        velocity_out: Target::of(&out.velocity, 1),
        rate: s.rate,
        momentum: s.momentum,
        gradient_factor: s.gradient_factor,
        moment: device.moment(),
    };
    let operands = [&params.parameters, &params.gradients, &params.velocity, &params.decay];
    if params.work.is_flat(operands.into_iter().filter(|x| x.data.address() != 0), &[params.parameters_out, params.velocity_out]) {
        let kernel = device.kernel(MODULE, "sgd_flat")?;
        // SAFETY: all matrices have one shape and are of `f32` without gaps, and no operand shares an element with an output.
        return unsafe { device.launch(&kernel, device.cover(shape.0 * shape.1, super::instance::threads(device)), &params) };
    }
    let kernel = device.kernel(MODULE, &format!("sgd_{}", name(real_of(op.parameters.any().dtype()))))?;
    // SAFETY: all matrices have one shape and type, and no operand shares an element with an output.
    unsafe { device.launch(&kernel, params.work.shape(device)?, &params) }
}
