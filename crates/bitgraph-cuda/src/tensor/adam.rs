//! A step of Adam over parameters.

use super::params::{Target, View, name, real_of};
use super::recorder::MomentParams;
use super::work::DenseWork;
use crate::device::{DevicePtr, parameters};
use crate::{Cuda, Result};
use bitgraph_tensor::ops::{AdamOp, AdamOut};

const MODULE: &str = "tensor/adam_general";

parameters! {
    struct AdamParams = "tensor/adam_general.cu" "bg::AdamParams" {
        work: DenseWork,
        parameters: View,
        gradients: View,
        first: View,
        second: View,
        decay: View,
        parameters_out: Target,
        first_out: Target,
        second_out: Target,
        rate: f64,
        beta1: f64,
        beta2: f64,
        epsilon: f64,
        gradient_factor: f64,
        correction1: f64,
        correction2: f64,
        decoupled: u32,
        reserved: u32,
        moment: DevicePtr<MomentParams>,
    }
}

/// One step.
pub(super) fn adam(cuda: &Cuda, op: &AdamOp<Cuda>, out: &AdamOut<'_, Cuda>) -> Result<()> {
    let (shape, s) = (op.parameters.shape(), op.settings);
    if shape.0 == 0 || shape.1 == 0 {
        return Ok(());
    }
    let device = cuda.device();
    let params = AdamParams {
        work: DenseWork::new(shape, 1)?,
        parameters: View::reals(&op.parameters),
        gradients: View::reals(&op.gradients),
        first: View::reals(&op.first),
        second: View::reals(&op.second),
        decay: View::optional(op.decay.as_ref()),
        parameters_out: Target::of(&out.parameters, 1),
        first_out: Target::of(&out.first, 1),
        second_out: Target::of(&out.second, 1),
        rate: s.rate,
        beta1: s.beta1,
        beta2: s.beta2,
        epsilon: s.epsilon,
        gradient_factor: s.gradient_factor,
        correction1: op.corrections.0,
        correction2: op.corrections.1,
        decoupled: u32::from(s.decoupled),
        reserved: 0,
        moment: device.moment(),
    };
    let operands = [&params.parameters, &params.gradients, &params.first, &params.second, &params.decay];
    let outputs = [params.parameters_out, params.first_out, params.second_out];
    if params.work.is_flat(operands.into_iter().filter(|x| x.data.address() != 0), &outputs) {
        let kernel = device.kernel(MODULE, "adam_flat")?;
        // SAFETY: all matrices have one shape and are of `f32` without gaps, and no operand shares an element with an output.
        return unsafe { device.launch(&kernel, device.cover(shape.0 * shape.1, super::instance::threads(device)), &params) };
    }
    let kernel = device.kernel(MODULE, &format!("adam_{}", name(real_of(op.parameters.any().dtype()))))?;
    // SAFETY: all matrices have one shape and type, and no operand shares an element with an output.
    unsafe { device.launch(&kernel, params.work.shape(device)?, &params) }
}
