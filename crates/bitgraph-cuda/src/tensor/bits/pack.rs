//! Numbers to signs and to planes of codes on the device: what `kernels/tensor/bits_pack.cuh` does, with the bits that the host gives.
//!
//! An element that is not a number has no sign and no code. The host refuses it; here it counts as -1 and as code 0, because to refuse it would
//! mean to wait.

use super::{DeviceBits, DevicePlanes, DeviceScales, expect, host_error};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::tensor::forms::Feature;
use crate::{Result, primitives};
use bitgraph_bittensor::{
    Binarize, BitLayout, Error as Bits, Levels, Packing, Quantization, Rounding, Scaling, Step, Steps, Threshold, TileShape,
};

parameters! {
    struct PackParams = "tensor/bits_pack.cuh" "bg::BitsPackParams" {
        input: DevicePtr<u8>,
        output: DevicePtr<u32>,
        thresholds: DevicePtr<f32>,
        steps: DevicePtr<[f32; 4]>,
        scales: DevicePtr<f32>,
        plane: u64,
        rows: u32,
        columns: u32,
        lines: u32,
        stride: u32,
        planes: u32,
        above: u32,
        step_kind: u32,
        floor: u32,
        top: u32,
        unused: u32,
    }
}

const NAME: &str = "packing";
const MODULE: &str = "tensor/bits_pack";

/// The signs of a matrix of `rows` x `columns`, row after row without gaps, as [`bitgraph_bittensor::BitMatrix::binarize`] finds them, with the same scales up to the
/// rounding of their sums in `f64`. One launch, and one for scales. O(elements); returns before it is done.
///
/// # Errors
/// Another number of elements; thresholds that do not fit or are not numbers; a matrix that is too large; out of memory.
pub fn binarize<T: Feature>(device: &Device, x: &Buffer<T>, rows: usize, columns: usize, how: &Binarize<'_>) -> Result<DeviceBits> {
    let layout = BitLayout::new(rows, columns, how.packing, how.padding).map_err(host_error)?;
    check_len(x, rows, columns)?;
    let mut parameters = parameters_of(x, &layout);
    let mut thresholds = Buffer::default();
    if let Threshold::From(of) | Threshold::Above(of) = how.threshold {
        if of.len() != columns {
            return Err(host_error(Bits::Length { array: "thresholds", expected: columns as u64, found: of.len() as u64 }));
        }
        if let Some(k) = of.iter().position(|t| t.is_nan()) {
            return Err(host_error(Bits::Invalid { array: "thresholds", position: k as u64, what: "not a number" }));
        }
        thresholds = device.upload(of)?;
        parameters.above = u32::from(matches!(how.threshold, Threshold::Above(_)));
    }
    parameters.thresholds = thresholds.ptr();
    let words = run::<T>(device, &layout, parameters)?;
    let means = |kernel: &str, count: usize, threads: u64, shared: u32| -> Result<Buffer<f32>> {
        let scales = device.alloc::<f32>(count)?;
        parameters.scales = scales.ptr();
        // SAFETY: as many scales as the kernel finds; the elements were counted.
        unsafe { primitives::ranged(device, MODULE, &format!("{kernel}_{}", T::NAME), threads, shared, &parameters) }?;
        Ok(scales)
    };
    let mut means = means;
    let scales = match how.scaling {
        Scaling::None => DeviceScales::None,
        Scaling::RowMeans => DeviceScales::Rows(means("bits_row_means", rows, 32 * rows as u64, 0)?),
        Scaling::ColumnMeans => {
            let block = primitives::threads(device, primitives::THREADS);
            let threads = columns.div_ceil(32) as u64 * u64::from(block);
            DeviceScales::Columns(means("bits_column_means", columns, threads, 8 * block)?)
        }
    };
    DeviceBits::from_words(layout, Levels::Signs, words)?.with_scales(scales)
}

/// The codes of a matrix of `rows` x `columns`, row after row without gaps, as [`bitgraph_bittensor::BitPlanes::quantize`] finds them. One launch.
/// O(elements); returns before it is done.
///
/// # Errors
/// Another number of elements; steps that do not fit the shape; a matrix that is too large; out of memory.
pub fn quantize<T: Feature>(
    device: &Device,
    x: &Buffer<T>,
    rows: usize,
    columns: usize,
    quantization: &Quantization,
    packing: Packing,
    padding: TileShape,
) -> Result<DevicePlanes> {
    let layout = BitLayout::new(rows, columns, packing, padding).map_err(host_error)?;
    check_len(x, rows, columns)?;
    let (steps, kind, expected): (&[_], u32, usize) = match quantization.steps() {
        Steps::Tensor(step) => (std::slice::from_ref(step), 0, 1),
        Steps::Rows(steps) => (steps, 1, rows),
        Steps::Columns(steps) => (steps, 2, columns),
    };
    if steps.len() != expected {
        return Err(host_error(Bits::Length { array: "steps", expected: expected as u64, found: steps.len() as u64 }));
    }
    let steps = upload_steps(device, steps)?;
    let parameters = PackParams {
        steps: steps.ptr(),
        planes: quantization.bits(),
        step_kind: kind,
        floor: u32::from(quantization.rounding() == Rounding::Floor),
        top: quantization.top(),
        ..parameters_of(x, &layout)
    };
    let words = run::<T>(device, &layout, parameters)?;
    DevicePlanes::from_words(layout, quantization.clone(), words)
}

fn check_len<T: Feature>(x: &Buffer<T>, rows: usize, columns: usize) -> Result<()> {
    // Both are below 2^32, or there is no layout.
    expect(NAME, "the matrix", rows as u64 * columns as u64, x.len() as u64)
}

fn parameters_of<T: Feature>(x: &Buffer<T>, layout: &BitLayout) -> PackParams {
    PackParams {
        input: x.ptr().cast(),
        output: DevicePtr::NULL,
        thresholds: DevicePtr::NULL,
        steps: DevicePtr::NULL,
        scales: DevicePtr::NULL,
        plane: layout.words() as u64,
        rows: layout.nrows() as u32,
        columns: layout.ncols() as u32,
        lines: layout.padded_lines() as u32,
        stride: layout.stride() as u32,
        planes: 1,
        above: 0,
        step_kind: 0,
        floor: 0,
        top: 1,
        unused: 0,
    }
}

/// What codes are, for words that are there.
pub(super) enum Codes<'a> {
    /// Signs from 0, or from a threshold of each column, up.
    Signs(Option<&'a Buffer<f32>>),
    /// Codes of so many bits by one step.
    Step { bits: u32, rounding: Rounding, step: Step },
}

/// The codes of a matrix, row after row without gaps, into words that lie as `layout` says, all of which are written. One launch.
///
/// # Errors
/// Another number of elements, thresholds or words than the layout has; the driver's.
pub(super) fn into<T: Feature>(device: &Device, x: &Buffer<T>, layout: &BitLayout, codes: &Codes<'_>, words: &Buffer<u32>) -> Result<()> {
    check_len(x, layout.nrows(), layout.ncols())?;
    let mut parameters = parameters_of(x, layout);
    let mut steps = Buffer::default();
    match codes {
        Codes::Signs(thresholds) => {
            if let Some(thresholds) = thresholds {
                expect(NAME, "the thresholds", layout.ncols() as u64, thresholds.len() as u64)?;
            }
            parameters.thresholds = thresholds.map_or(DevicePtr::NULL, Buffer::ptr);
        }
        Codes::Step { bits, rounding, step } => {
            steps = upload_steps(device, std::slice::from_ref(step))?;
            parameters.steps = steps.ptr();
            parameters.planes = *bits;
            parameters.floor = u32::from(*rounding == Rounding::Floor);
            parameters.top = (1 << bits) - 1;
        }
    }
    expect(NAME, "the words", (layout.words() as u64).saturating_mul(parameters.planes.into()), words.len() as u64)?;
    let done = write::<T>(device, layout, parameters, words);
    drop(steps);
    done
}

/// Steps as the kernels take them: scale, zero point, and the inverse of the scale that a quotient is found by, or 0 where it is divided.
///
/// Within these ends a remainder loses no bit that a code could depend on, and a quotient that is not corrected is far beyond every code.
fn upload_steps(device: &Device, steps: &[Step]) -> Result<Buffer<[f32; 4]>> {
    const FAR: f32 = (1u64 << 60) as f32;
    const FAR_ZERO: f32 = (1u32 << 30) as f32;
    let of = |step: &Step| {
        let near = step.scale >= 1.0 / FAR && step.scale <= FAR && step.zero.abs() <= FAR_ZERO;
        [step.scale, step.zero, if near { 1.0 / step.scale } else { 0.0 }, 0.0]
    };
    device.upload(&steps.iter().map(of).collect::<Vec<_>>())
}

/// Packs into new words.
fn run<T: Feature>(device: &Device, layout: &BitLayout, parameters: PackParams) -> Result<Buffer<u32>> {
    // A layout's words fit an address space sixteen times.
    let words = device.alloc_for::<u32>(layout.words() * parameters.planes as usize, "planes of bits")?;
    write::<T>(device, layout, parameters, &words)?;
    Ok(words)
}

/// Packs into words, all of which are written.
fn write<T: Feature>(device: &Device, layout: &BitLayout, mut parameters: PackParams, words: &Buffer<u32>) -> Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    parameters.output = words.ptr();
    let block = primitives::threads(device, primitives::THREADS);
    let warps = u64::from(block / 32);
    let most = u64::from(device.properties().sms) * 32;
    // Elements of 16 bytes, and what a kernel has room for.
    let vector = 16 / size_of::<T>() as u32;
    let planes = match parameters.planes {
        _ if parameters.steps.address() == 0 => "signs",
        ..=8 => "8",
        _ => "16",
    };
    let (kernel, wanted, shared) = match layout.packing() {
        Packing::Rows if parameters.columns.is_multiple_of(vector) && parameters.input.address().is_multiple_of(16) => {
            (format!("bits_pack_vectors_{planes}_{}", T::NAME), (layout.words() as u64).div_ceil(32 * warps), 0)
        }
        Packing::Rows => (format!("bits_pack_rows_{}", T::NAME), (layout.words() as u64).div_ceil(8 * warps), 0),
        Packing::Columns => {
            let blocks = (layout.padded_lines() as u64).div_ceil(32) * (layout.stride() as u64).div_ceil(warps);
            (format!("bits_pack_columns_{planes}_{}", T::NAME), blocks, 4 * (block + 32) * parameters.planes)
        }
    };
    let shape = Shape { grid: wanted.clamp(1, most) as u32, block, shared, mode: Mode::Plain };
    let kernel = device.kernel(MODULE, &kernel)?;
    // SAFETY: the words were made for the layout, and the caller counted the elements.
    unsafe { device.launch(&kernel, shape, &parameters) }
}
