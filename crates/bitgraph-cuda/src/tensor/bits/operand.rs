//! Operands and results of few bits as the general kernels see them: words, what codes stand for, and where results go.
//!
//! Invariant: field by field the C++ structs of the same names, padding written out.

use super::super::epilogue::{EpilogueParams, MOST, finished};
use super::super::params::{Target, View, dense};
use super::general;
use crate::device::{DevicePtr, parameters};
use crate::{Cuda, Result};
use bitgraph_backend::Error as Base;
use bitgraph_bittensor::{BitLayout, Packing};
use bitgraph_semiring::DType;
use bitgraph_tensor::{AnyMut, BitOperand, BitOut, CodesOut, Dense, Epilogue, PlaneSteps, SignScales, Step, Tensor, Window};
use bytemuck::Zeroable;

parameters! {
    pub(super) struct StepsParams = "tensor/bits_general.cuh" "bg::BitsSteps" {
        scales: DevicePtr<f32>,
        zeros: DevicePtr<f32>,
        scale_stride: u64,
        zero_stride: u64,
        scale: f32,
        zero: f32,
        of: u32,
        signs: u32,
    }
    pub(super) struct CodesParams = "tensor/bits_general.cuh" "bg::BitsCodes" {
        pub words: DevicePtr<u32>,
        pub steps: StepsParams,
        pub plane: u64,
        pub stride: u32,
        pub planes: u32,
        columns: u32,
        reserved: u32,
    }
    pub(super) struct TargetParams = "tensor/bits_general.cuh" "bg::BitsTarget" {
        elements: Target,
        words: DevicePtr<u32>,
        plane: u64,
        stride: u32,
        planes: u32,
        stored: u32,
        reserved: u32,
    }
}

impl StepsParams {
    /// One step, of no matter what.
    pub fn one(scale: f32, zero: f32) -> Self {
        Self { scale, zero, ..Self::zeroed() }
    }
    /// Steps of rows (`of` 1) or columns (2), which are next to each other in a column or in a row.
    fn each(of: u32, scale: &Dense<Cuda, f32>, zero: &Dense<Cuda, f32>) -> Self {
        let next = |x: &View| if of == 1 { x.stride } else { 1 };
        let (scale, zero) = (View::of(scale), View::of(zero));
        let (scales, zeros) = (scale.data.cast(), zero.data.cast());
        Self { scales, zeros, scale_stride: next(&scale), zero_stride: next(&zero), of, ..Self::zeroed() }
    }
    pub fn of(steps: &PlaneSteps<Cuda>) -> Self {
        match steps {
            PlaneSteps::Tensor(step) => Self::one(step.scale, step.zero),
            PlaneSteps::Rows { scale, zero } => Self::each(1, scale, zero),
            PlaneSteps::Columns { scale, zero } => Self::each(2, scale, zero),
        }
    }
    fn of_signs(scales: &SignScales<Cuda>) -> Self {
        let steps = match scales {
            SignScales::None => Self::one(1.0, 0.5),
            SignScales::Rows(d) => Self::each(1, d, d),
            SignScales::Columns(d) => Self::each(2, d, d),
        };
        Self { signs: 1, ..steps }
    }
    /// Whether every zero point is known to be 0.
    fn is_centred(&self) -> bool {
        self.of == 0 && self.zero == 0.0
    }
}

impl CodesParams {
    /// The codes of an operand; none of a dense one.
    pub fn of(x: &BitOperand<Cuda>) -> Option<Self> {
        let (words, layout, planes, steps) = match x {
            BitOperand::Dense(_) => return None,
            BitOperand::Signs(x) => (x.words(), x.layout(), 1, StepsParams::of_signs(x.scales())),
            BitOperand::Planes(x) => (x.words(), x.layout(), x.bits(), StepsParams::of(x.steps())),
        };
        Some(Self {
            words: dense(words.raw().ptr(), words.window()).cast(),
            steps,
            plane: layout.words() as u64,
            stride: layout.stride() as u32,
            planes,
            columns: u32::from(layout.packing() == Packing::Columns),
            reserved: 0,
        })
    }
    /// Whether the sums of the other operand's codes do not matter: a zero point of 0 meets them.
    pub fn is_centred(&self) -> bool {
        self.steps.is_centred()
    }
    /// The largest code.
    pub fn top(&self) -> u64 {
        (1 << self.planes) - 1
    }
}

/// The words of a result.
pub(super) fn words_of(out: &CodesOut<'_, Cuda>) -> DevicePtr<u32> {
    dense(out.words.array.ptr(), out.words.window).cast()
}
/// Words of a line that hold elements.
pub(super) fn used(layout: &BitLayout) -> u32 {
    layout.length().div_ceil(32) as u32
}

/// How an epilogue's results become bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// 1 for a sign of 1.
    Signs,
    /// The level.
    Levels,
}
impl Stored {
    pub fn of(epilogue: &Epilogue<Cuda>) -> Self {
        if matches!(epilogue.0.last(), Some(Step::Sign(_))) { Self::Signs } else { Self::Levels }
    }
}

impl TargetParams {
    pub fn elements(to: Target) -> Self {
        Self { elements: to, ..Self::zeroed() }
    }
    pub fn words(out: &CodesOut<'_, Cuda>, stored: Stored) -> Self {
        Self {
            elements: Target::none(),
            words: words_of(out),
            plane: out.layout.words() as u64,
            stride: out.layout.stride() as u32,
            planes: out.planes,
            stored: if stored == Stored::Signs { 1 } else { 2 },
            reserved: 0,
        }
    }
}

/// Calls `launch` with the steps and the output of a kernel that forms a result in `f32`. Steps beyond those that a launch takes follow, and
/// bits are then stored from an array.
///
/// # Errors
/// The launches', or out of memory.
pub(super) fn finished_bits(
    cuda: &Cuda,
    epilogue: &Epilogue<Cuda>,
    y: BitOut<'_, Cuda>,
    launch: impl FnOnce(EpilogueParams, TargetParams) -> Result<()>,
) -> Result<()> {
    match y {
        BitOut::Codes(out) | BitOut::Counts(out) if epilogue.0.len() <= MOST => {
            launch(EpilogueParams::of(cuda.device(), &epilogue.0), TargetParams::words(&out, Stored::of(epilogue)))
        }
        y => through_elements(cuda, epilogue, y, |epilogue, y| {
            finished(cuda, epilogue, (DType::F32, 1), &y, |epilogue, to| launch(epilogue, TargetParams::elements(to)))
        }),
    }
}

/// A matrix that something writes all of.
///
/// # Errors
/// Out of memory, or more elements than can be counted.
pub(super) fn unwritten(cuda: &Cuda, rows: usize, columns: usize) -> Result<Dense<Cuda, f32>> {
    let window = Window::whole(rows, columns).map_err(Base::from)?;
    Ok(Dense::from_raw(cuda, cuda.array_unwritten(window.len())?, window))
}

/// Calls `run` with steps and an output of elements: the output itself, or an array where bits are wanted. Those are stored afterwards, after
/// the last steps, as many as a launch takes.
///
/// # Errors
/// Those of `run`, or out of memory.
pub(super) fn through_elements(
    cuda: &Cuda,
    epilogue: &Epilogue<Cuda>,
    y: BitOut<'_, Cuda>,
    run: impl FnOnce(&Epilogue<Cuda>, AnyMut<'_, Cuda>) -> Result<()>,
) -> Result<()> {
    let out = match y {
        BitOut::Dense(y) => return run(epilogue, y),
        BitOut::Codes(out) | BitOut::Counts(out) => out,
    };
    let (before, last) = epilogue.0.split_at(epilogue.0.len().saturating_sub(MOST));
    let mut elements = unwritten(cuda, out.layout.nrows(), out.layout.ncols())?;
    run(&Epilogue(before.to_vec()), AnyMut::F32(elements.as_mut().open()?))?;
    general::pack_finished(cuda, &View::of(&elements), EpilogueParams::of(cuda.device(), last), Stored::of(epilogue), &out)
}
