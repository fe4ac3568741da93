//! Operations of the front by the forms of bits: packing of floats, products of codes on 1-bit tensor cores, sums of signs by vertical counters.
//!
//! # Invariants
//! A form gives the bits that the general kernels give, and leaves the work to them where memory is too short for it. What a form cannot do
//! directly is done after it: an epilogue over its numbers, or, where that ends in a sign and keeps the order of a column's numbers, by
//! thresholds (`fold.rs`).

use super::super::epilogue::{EpilogueParams, MOST, finished};
use super::super::map;
use super::super::params::{Target, most};
use super::super::softmax::scratch;
use super::super::typed::layouts::{Family, Key, Laid, laid};
use super::super::typed::{array, bytes, is_aligned, output, reals};
use super::fold::{fold, is_foldable};
use super::operand::{CodesParams, Stored, through_elements};
use super::pack::{Codes, into};
use super::{Aggregation, DeviceBits, DevicePlanes, ProductSigns, codes_product, general, host_error, sign_product, sign_sums};
use crate::device::Buffer;
use crate::tensor::forms::Feature;
use crate::tensor::pattern::Seen;
use crate::{Cuda, Error, Result};
use bitgraph_bittensor::{BitLayout, Levels, Quantization, Rounding, Step as CodeStep, Steps};
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::{BitGemmOp, BitSpmmOp, Coding, PackOp};
use bitgraph_tensor::{AnyMut, BitOperand, BitOut, CodesOut, Dense, Element, PlaneSteps, SignScales};
use half::{bf16, f16};
use std::sync::Arc;

/// Bits of a line from which on four times their number is no number of the products.
const MOST_LENGTH: usize = 1 << 29;
/// Sums of signs up to which thresholds are compared.
const MOST_SUM: u32 = (1 << 30) - 1;

/// The words of a matrix of bits, which have no gaps.
fn words(x: &Dense<Cuda, i32>) -> Option<Buffer<u32>> {
    bytes(x.raw(), x.window()).map(|bytes| bytes.cast())
}
/// The words of a result.
fn words_out(out: &CodesOut<'_, Cuda>) -> Option<Buffer<u32>> {
    bytes(out.words.array, out.words.window).map(|bytes| bytes.cast()).filter(is_aligned)
}
fn signs_out(out: &CodesOut<'_, Cuda>) -> Result<Option<DeviceBits>> {
    words_out(out).map(|words| DeviceBits::from_words(out.layout, Levels::Signs, words)).transpose()
}
/// Whole numbers that are stored without gaps.
fn numbers_out<T: Element + bytemuck::Pod>(y: &AnyMut<'_, Cuda>) -> Option<Buffer<T>> {
    output::<T>(y).filter(is_aligned)
}

/// Signs without scales.
fn plain_signs(x: &BitOperand<Cuda>) -> Result<Option<DeviceBits>> {
    let BitOperand::Signs(x) = x else { return Ok(None) };
    if !matches!(x.scales(), SignScales::None) {
        return Ok(None);
    }
    words(x.words()).map(|words| DeviceBits::from_words(*x.layout(), Levels::Signs, words)).transpose()
}
/// The codes of an operand, each for itself.
fn plain_codes(x: &BitOperand<Cuda>) -> Result<Option<DevicePlanes>> {
    let (layout, bits, found) = match x {
        BitOperand::Dense(_) => return Ok(None),
        BitOperand::Signs(x) => (x.layout(), 1, words(x.words())),
        BitOperand::Planes(x) => (x.layout(), x.bits(), words(x.words())),
    };
    let Some(found) = found else { return Ok(None) };
    let unit = Quantization::new(bits, Rounding::Nearest, Steps::Tensor(CodeStep::UNIT)).map_err(host_error)?;
    DevicePlanes::from_words(*layout, unit, found).map(Some)
}

/// Packs floats that lie without gaps, by signs or by one step; whether it did.
pub(super) fn pack(cuda: &Cuda, op: &PackOp<Cuda>, out: &CodesOut<'_, Cuda>) -> Result<bool> {
    if !cuda.tensor_kernels().takes(true) {
        return Ok(false);
    }
    match op.x.dtype() {
        DType::F16 => pack_of::<f16>(cuda, op, out),
        DType::Bf16 => pack_of::<bf16>(cuda, op, out),
        DType::F32 => pack_of::<f32>(cuda, op, out),
        _ => Ok(false),
    }
}
fn pack_of<T: Feature + Element>(cuda: &Cuda, op: &PackOp<Cuda>, out: &CodesOut<'_, Cuda>) -> Result<bool> {
    let (Some(x), Some(words)) = (array::<T>(&op.x), words_out(out)) else { return Ok(false) };
    let run = |codes: &Codes<'_>| into(cuda.device(), &x, &out.layout, codes, &words).map(|()| true);
    match &op.coding {
        Coding::Sign(None) => run(&Codes::Signs(None)),
        Coding::Sign(Some(t)) => reals(t).map_or(Ok(false), |t| run(&Codes::Signs(Some(&t)))),
        Coding::Steps { bits, rounding, steps: PlaneSteps::Tensor(step) } => {
            run(&Codes::Step { bits: *bits, rounding: *rounding, step: *step })
        }
        Coding::Steps { .. } => Ok(false),
    }
}

/// How a product runs on tensor cores.
enum Gemm {
    /// Signs of two matrices of signs, by thresholds.
    Signs { a: DeviceBits, b: DeviceBits },
    /// Numbers of two matrices of signs, as they are.
    SignSums { a: DeviceBits, b: DeviceBits, y: Buffer<i32> },
    /// Numbers of two matrices of codes, as they are.
    Codes { a: DevicePlanes, b: DevicePlanes, y: Buffer<i32> },
    /// The same into an array, and a pass over it.
    Products { a: DevicePlanes, b: DevicePlanes },
}

/// Where a result goes, as far as a form depends on it.
enum Goes<'a> {
    Words(Option<&'a BitLayout>),
    /// Counts, in so many planes.
    Counts(Option<(&'a BitLayout, u32)>),
    Elements(&'a AnyMut<'a, Cuda>),
    /// A new matrix: of signs where the epilogue ends in them, else of `f32`.
    New,
}
impl<'a> Goes<'a> {
    fn of(y: &'a BitOut<'a, Cuda>) -> Self {
        match y {
            BitOut::Dense(y) => Self::Elements(y),
            BitOut::Codes(out) if words_out(out).is_some() => Self::Words(Some(&out.layout)),
            BitOut::Codes(_) => Self::Words(None),
            BitOut::Counts(out) => Self::Counts(words_out(out).map(|_| (&out.layout, out.planes))),
        }
    }
}

fn gemm_way(cuda: &Cuda, op: &BitGemmOp<Cuda>, goes: &Goes<'_>) -> Result<Option<Gemm>> {
    let (rows, columns, length) = op.sizes();
    let there = rows > 0 && columns > 0 && (1..MOST_LENGTH).contains(&length);
    if !there || !cuda.tensor_kernels().takes(true) {
        return Ok(None);
    }
    let y = if let (Goes::Elements(y), true) = (goes, op.is_whole()) { numbers_out::<i32>(y) } else { None };
    if let (Some(a), Some(b)) = (plain_signs(&op.a)?, plain_signs(&op.b)?) {
        match (y, goes) {
            (Some(y), _) => return Ok(Some(Gemm::SignSums { a, b, y })),
            (_, Goes::Words(Some(_)) | Goes::New) if is_foldable(&op.epilogue) => return Ok(Some(Gemm::Signs { a, b })),
            _ => return products(op, length),
        }
    }
    let Some(Gemm::Products { a, b }) = products(op, length)? else { return Ok(None) };
    let plain = matches!((&op.a, &op.b), (BitOperand::Planes(_), BitOperand::Planes(_)));
    Ok(Some(match y {
        Some(y) if plain => Gemm::Codes { a, b, y },
        _ => Gemm::Products { a, b },
    }))
}
/// Products of codes as numbers, where none can pass 2^31 - 1.
fn products(op: &BitGemmOp<Cuda>, length: usize) -> Result<Option<Gemm>> {
    let top = |x| CodesParams::of(x).map_or(u64::MAX, |codes| codes.top());
    if top(&op.a).saturating_mul(top(&op.b)).saturating_mul(length as u64) > i32::MAX as u64 {
        return Ok(None);
    }
    let (Some(a), Some(b)) = (plain_codes(&op.a)?, plain_codes(&op.b)?) else { return Ok(None) };
    Ok(Some(Gemm::Products { a, b }))
}

/// What a form made; none where memory was too short for it, which leaves the work to the general kernels.
fn made<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(made) => Ok(Some(made)),
        Err(Error::OutOfMemory { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Any product of bits, by a form where there is one.
pub(super) fn gemm(cuda: &Cuda, op: &BitGemmOp<Cuda>, y: BitOut<'_, Cuda>) -> Result<()> {
    let device = cuda.device();
    let (mut products, mut done) = (None, None);
    match (gemm_way(cuda, op, &Goes::of(&y))?, &y) {
        (Some(Gemm::SignSums { a, b, y }), _) => done = made(sign_sums(device, &a, &b, None, &y))?,
        (Some(Gemm::Codes { a, b, y }), _) => done = made(codes_product(device, &a, &b, None, &y))?,
        (Some(Gemm::Signs { a, b }), BitOut::Codes(out)) => {
            if let Some(to) = signs_out(out)? {
                done = made(sign_gemm(cuda, op, &a, &b, &to))?;
            }
        }
        (Some(Gemm::Products { a, b }), _) => products = made(products_of(cuda, op, &a, &b))?,
        _ => {}
    }
    if done.is_some() { Ok(()) } else { general::gemm(cuda, op, y, products.as_ref()) }
}
fn products_of(cuda: &Cuda, op: &BitGemmOp<Cuda>, a: &DevicePlanes, b: &DevicePlanes) -> Result<Buffer<i32>> {
    let (rows, columns, _) = op.sizes();
    let products = scratch(cuda, rows, columns, DType::I32)?.cast::<i32>();
    codes_product(cuda.device(), a, b, None, &products)?;
    Ok(products)
}
fn sign_gemm(cuda: &Cuda, op: &BitGemmOp<Cuda>, a: &DeviceBits, b: &DeviceBits, to: &DeviceBits) -> Result<()> {
    let (_, columns, length) = op.sizes();
    // The length is below 2^29.
    let folded = fold(cuda, &op.epilogue, length as i32, (columns, to.layout().stride()))?;
    let (thresholds, flips) = (folded.as_ref().map(|f| &f.thresholds), folded.as_ref().map(|f| &f.flips));
    sign_product(cuda.device(), a, b, None, ProductSigns { thresholds, flips }, to)
}

/// A layout for sums of signs that a matrix keeps.
struct Kept(Aggregation);
impl Laid for Kept {
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

/// How sums of signs run.
struct Spmm {
    layout: Arc<Kept>,
    features: DeviceBits,
    how: Sums,
}
enum Sums {
    /// Signs by thresholds.
    Signs,
    Counts,
    /// Whole numbers as they are.
    Halves(Buffer<i16>),
    Whole(Buffer<i32>),
    /// Floats, times the scale of their row.
    Narrow(Buffer<f16>),
    Single(Buffer<f32>),
    /// Floats into an array, and a pass over it.
    Pass,
}

/// How sums go to where they are wanted, if they can without a pass; `whole`: without scales.
fn direct(y: &AnyMut<'_, Cuda>, whole: bool, largest: u32) -> Option<Sums> {
    match y.dtype() {
        DType::I16 if whole && largest <= i16::MAX as u32 => numbers_out(y).map(Sums::Halves),
        DType::I32 if whole && largest <= i32::MAX as u32 => numbers_out(y).map(Sums::Whole),
        DType::F16 => numbers_out(y).map(Sums::Narrow),
        DType::F32 => numbers_out(y).map(Sums::Single),
        _ => None,
    }
}

fn spmm_way(cuda: &Cuda, op: &BitSpmmOp<Cuda>, goes: &Goes<'_>) -> Result<Option<Spmm>> {
    let ((rows, _), columns) = (op.matrix_shape(), op.features.shape().1);
    let scales = op.scale_rows.as_ref().is_none_or(|d| reals(d).is_some());
    if rows == 0 || columns == 0 || !scales || !op.is_counting() || !cuda.tensor_kernels().takes(true) {
        return Ok(None);
    }
    let Some(features) = plain_signs(&op.features)? else { return Ok(None) };
    let (matrix, padding) = (op.matrix.raw(), features.layout().padding());
    let family = Family::BitSums { transposed: op.transposed, own: op.own, padding };
    let found = laid(matrix, Key { family, dtype: DType::I32, columns, heads: 1 }, || {
        let csr = Seen::of(matrix, op.transposed)?.csr;
        Ok(Aggregation::build(cuda.device(), csr, features.layout(), op.own)?.map(Kept))
    })?;
    let Some(layout) = found else { return Ok(None) };
    let sums = &layout.0;
    let how = match goes {
        Goes::Words(Some(to))
            if op.scale_rows.is_none() && is_foldable(&op.epilogue) && sums.largest() <= MOST_SUM && *to == sums.results() =>
        {
            Sums::Signs
        }
        // Counts that do not fit are refused by the general path.
        Goes::Counts(Some((to, planes))) if *to == sums.results() && sums.largest() >> planes == 0 => Sums::Counts,
        Goes::Counts(_) => return Ok(None),
        Goes::New if op.scale_rows.is_none() && is_foldable(&op.epilogue) && sums.largest() <= MOST_SUM => Sums::Signs,
        Goes::Elements(y) if op.epilogue.is_empty() => match direct(y, op.scale_rows.is_none(), sums.largest()) {
            Some(how) => how,
            // Whole numbers are stored as they are, not by way of floats.
            None if op.is_whole() => return Ok(None),
            None => Sums::Pass,
        },
        _ => Sums::Pass,
    };
    Ok(Some(Spmm { layout, features, how }))
}

/// Any sum of bits over entries, by a form where there is one.
pub(super) fn spmm(cuda: &Cuda, op: &BitSpmmOp<Cuda>, y: BitOut<'_, Cuda>) -> Result<()> {
    let Some(Spmm { layout, features, how }) = spmm_way(cuda, op, &Goes::of(&y))? else { return general::spmm(cuda, op, y) };
    let (sums, x, scale) = (&layout.0, &features, op.scale_rows.as_ref().and_then(reals));
    let (mut between, mut done) = (None, None);
    match (how, &y) {
        (Sums::Halves(y), _) => done = made(sums.sums(x, None, &y))?,
        (Sums::Whole(y), _) => done = made(sums.sums(x, None, &y))?,
        (Sums::Narrow(y), _) => done = made(sums.sums(x, scale.as_ref(), &y))?,
        (Sums::Single(y), _) => done = made(sums.sums(x, scale.as_ref(), &y))?,
        (Sums::Signs, BitOut::Codes(out)) => {
            if let Some(to) = signs_out(out)? {
                done = made(signs_over(cuda, op, sums, x, &to))?;
            }
        }
        (Sums::Counts, BitOut::Counts(out)) => {
            if let Some(to) = words_out(out) {
                done = made(sums.counts(x, out.planes, &to))?;
            }
        }
        (Sums::Pass, _) => between = made(floats_over(cuda, op, sums, x, scale.as_ref()))?,
        _ => {}
    }
    match (done, between) {
        (Some(()), _) => Ok(()),
        (None, Some(between)) => finish(cuda, op, &between, y),
        (None, None) => general::spmm(cuda, op, y),
    }
}
fn signs_over(cuda: &Cuda, op: &BitSpmmOp<Cuda>, sums: &Aggregation, x: &DeviceBits, to: &DeviceBits) -> Result<()> {
    let folded = fold(cuda, &op.epilogue, sums.largest() as i32, (x.layout().ncols(), x.layout().stride()))?;
    let thresholds = folded.as_ref().map(|f| sums.thresholds(&f.thresholds, Some(&f.flips))).transpose()?;
    sums.signs(x, thresholds.as_ref(), to)
}
fn floats_over(cuda: &Cuda, op: &BitSpmmOp<Cuda>, sums: &Aggregation, x: &DeviceBits, scale: Option<&Buffer<f32>>) -> Result<Buffer<f32>> {
    let to = scratch(cuda, op.matrix_shape().0, op.features.shape().1, DType::F32)?.cast::<f32>();
    sums.sums(x, scale, &to)?;
    Ok(to)
}
/// Takes scaled sums through the epilogue to where they are wanted.
fn finish(cuda: &Cuda, op: &BitSpmmOp<Cuda>, sums: &Buffer<f32>, y: BitOut<'_, Cuda>) -> Result<()> {
    let (shape, neighbours) = ((op.matrix_shape().0, op.features.shape().1), most(DType::F32));
    let x = Target::scratch(sums.ptr().cast(), shape.1, DType::F32, neighbours).view();
    match y {
        BitOut::Codes(out) if op.epilogue.0.len() <= MOST => {
            general::pack_finished(cuda, &x, EpilogueParams::of(cuda.device(), &op.epilogue.0), Stored::of(&op.epilogue), &out)
        }
        y => through_elements(cuda, &op.epilogue, y, |epilogue, y| {
            finished(cuda, epilogue, (DType::F32, neighbours), &y, |epilogue, y| map::steps(cuda, &x, DType::F32, shape, epilogue, y))
        }),
    }
}

/// Which form runs a product to a new matrix, and the steps that are left for a pass over its numbers.
pub(in crate::tensor) fn explain_gemm(cuda: &Cuda, op: &BitGemmOp<Cuda>) -> Result<Option<(String, usize)>> {
    let planes = |x: &BitOperand<Cuda>| CodesParams::of(x).map_or(0, |codes| codes.planes);
    Ok(gemm_way(cuda, op, &Goes::New)?.map(|way| match way {
        Gemm::Signs { .. } => ("1-bit tensor cores, signs by thresholds".into(), 0),
        _ => (format!("1-bit tensor cores, {} x {} planes", planes(&op.a), planes(&op.b)), op.epilogue.0.len()),
    }))
}
/// Which form runs a sum to a new matrix, and the steps that are left for a pass over its numbers.
pub(in crate::tensor) fn explain_spmm(cuda: &Cuda, op: &BitSpmmOp<Cuda>) -> Result<Option<(String, usize)>> {
    Ok(spmm_way(cuda, op, &Goes::New)?.map(|way| match way.how {
        Sums::Signs => (format!("{}, signs by thresholds", way.layout.0.explain()), 0),
        _ => (way.layout.0.explain(), op.epilogue.0.len()),
    }))
}
