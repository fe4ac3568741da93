//! Epilogues as the kernels take them: up to as many steps as a launch lists, and the rest as launches of their own.
//!
//! Invariant: an element goes through the steps in their order, in the real type of the operation, and is rounded once.

use super::params::{Target, View};
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::{Cuda, Result};
use bitgraph_semiring::DType;
use bitgraph_tensor::{Activation, AnyMut, Epilogue, Reals, Step};
use bytemuck::Zeroable;

/// The steps of a launch.
pub(super) const MOST: usize = 8;

parameters! {
    pub(super) struct StepParams = "tensor/epilogue.cuh" "bg::TensorStep" {
        other: View,
        second: DevicePtr<u8>,
        third: DevicePtr<u8>,
        fourth: DevicePtr<u8>,
        p: f64,
        q: f64,
        seed: u64,
        kind: u32,
        activation: u32,
        threshold: u32,
        draw: u32,
        highest: u32,
        reserved: u32,
    }
    pub(super) struct EpilogueParams = "tensor/epilogue.cuh" "bg::TensorEpilogue" {
        steps: [StepParams; MOST],
        count: u32,
        reserved: u32,
    }
}

/// The code and the number of an activation.
pub(super) fn activation(f: Option<Activation>) -> (u32, f64) {
    match f {
        Some(Activation::Relu) => (0, 0.0),
        Some(Activation::LeakyRelu { slope }) => (1, slope),
        Some(Activation::Elu { alpha }) => (2, alpha),
        None => (3, 0.0),
    }
}

fn step(device: &Device, step: &Step<Cuda>) -> StepParams {
    let new = |kind| StepParams { kind, ..StepParams::zeroed() };
    let row = |d: Option<&Reals<Cuda>>| View::optional(d).data;
    match step {
        Step::ScaleRows(d) => StepParams { other: View::reals(d), ..new(0) },
        Step::ScaleColumns(d) => StepParams { other: View::reals(d), ..new(1) },
        Step::Scale(factor) => StepParams { p: *factor, ..new(2) },
        Step::Bias(b) => StepParams { other: View::reals(b), ..new(3) },
        Step::Add { other, factor, columns } => StepParams { other: View::any(other), second: row(columns.as_ref()), p: *factor, ..new(4) },
        Step::Multiply(z) => StepParams { other: View::any(z), ..new(5) },
        Step::BatchNorm(norm) => StepParams {
            other: View::reals(&norm.mean),
            second: row(Some(&norm.variance)),
            third: row(norm.gamma.as_ref()),
            fourth: row(norm.beta.as_ref()),
            p: norm.epsilon,
            ..new(6)
        },
        Step::Activation(f) => {
            let (activation, p) = activation(Some(*f));
            StepParams { activation, p, ..new(7) }
        }
        Step::ActivationGradient(f, value) => {
            let (activation, p) = activation(Some(*f));
            StepParams { other: View::any(value), activation, p, ..new(8) }
        }
        Step::Dropout(d) => {
            let moment = device.moment::<u8>();
            StepParams { seed: d.seed, draw: d.draw, threshold: d.threshold(), p: d.factor(), second: moment, ..new(9) }
        }
        Step::Sign(t) => StepParams { other: View::optional(t.as_ref()), ..new(10) },
        Step::Quantise(q) => StepParams { p: q.scale, q: f64::from(q.zero_point), highest: q.highest(), ..new(11) },
    }
}

impl EpilogueParams {
    /// No steps.
    pub fn none() -> Self {
        Self::zeroed()
    }
    /// A factor of every element.
    pub fn scale(factor: f64) -> Self {
        let mut params = Self { count: 1, ..Self::zeroed() };
        params.steps[0] = StepParams { p: factor, kind: 2, ..StepParams::zeroed() };
        params
    }
    /// Up to [`MOST`] steps of a launch on this device.
    pub fn of(device: &Device, steps: &[Step<Cuda>]) -> Self {
        let mut params = Self { count: steps.len() as u32, ..Self::zeroed() };
        params.steps.iter_mut().zip(steps).for_each(|(to, from)| *to = step(device, from));
        params
    }
    /// The same steps after a matrix was added: for as many as are left to list.
    pub fn after_adding(mut self, matrix: View) -> Self {
        self.steps.copy_within(..MOST - 1, 1);
        self.steps[0] = StepParams { other: matrix, p: 1.0, kind: 4, ..StepParams::zeroed() };
        self.count += 1;
        self
    }
}

impl StepParams {
    /// Whether the kernel of neighbours takes the step, by so many: its operand is a matrix of floats that is read by words, a row or a column.
    fn is_of_neighbours(&self, count: u32) -> bool {
        match self.kind {
            0..=3 | 7 | 9 => true,
            4 | 5 | 8 => self.other.reads_floats(count),
            _ => false,
        }
    }
}
impl EpilogueParams {
    /// Whether every step is of those that neighbours go through in registers.
    pub fn is_of_neighbours(&self, count: u32) -> bool {
        self.steps.iter().take(self.count as usize).all(|step| step.is_of_neighbours(count))
    }
}

/// Calls `launch` with the steps and the output of a kernel that forms a result of so many rows and columns in `real`; steps beyond those
/// that a launch takes follow, over an array of that type. `neighbours` columns are stored at once where they can be.
///
/// # Errors
/// The launches', or out of memory.
pub(super) fn finished(
    cuda: &Cuda,
    epilogue: &Epilogue<Cuda>,
    (real, neighbours): (DType, u32),
    y: &AnyMut<'_, Cuda>,
    launch: impl FnOnce(EpilogueParams, Target) -> Result<()>,
) -> Result<()> {
    let mut rest = epilogue.0.chunks(MOST);
    let first = EpilogueParams::of(cuda.device(), rest.next().unwrap_or_default());
    if rest.len() == 0 {
        return launch(first, Target::of(y, neighbours));
    }
    let (rows, columns) = y.window().shape();
    let scratch: Buffer<u8> = cuda.device().alloc_for(rows * columns * real.bytes(), "the result before its epilogue")?;
    let target = Target::scratch(scratch.ptr(), columns, real, neighbours);
    launch(first, target)?;
    let last = rest.len() - 1;
    for (k, steps) in rest.enumerate() {
        // In place but for the last: an element is read and written by one thread.
        let to = if k == last { Target::of(y, 1) } else { target };
        super::map::steps(cuda, &target.view(), real, (rows, columns), EpilogueParams::of(cuda.device(), steps), to)?;
    }
    Ok(())
}
