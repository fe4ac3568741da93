//! An epilogue that ends in a sign as a threshold of whole numbers for each column: what products and sums of signs compare with, so that the
//! numbers themselves are never stored.
//!
//! Invariant: a number's sign is the one that the epilogue gives it. The threshold is found by asking the epilogue, so that its roundings count.

use super::super::epilogue::{EpilogueParams, MOST};
use crate::device::{Buffer, DevicePtr, parameters};
use crate::{Cuda, Result, primitives};
use bitgraph_tensor::{Activation, Epilogue, Reals, Step};

const MODULE: &str = "tensor/bits_general";

parameters! {
    struct FoldParams = "tensor/bits_general.cuh" "bg::BitsFold" {
        thresholds: DevicePtr<i32>,
        flips: DevicePtr<u32>,
        lowest: i32,
        highest: i32,
        columns: u32,
        words: u32,
        epilogue: EpilogueParams,
    }
}

/// Thresholds of columns, and words of columns whose sign is turned.
pub(super) struct Folded {
    pub thresholds: Buffer<i32>,
    pub flips: Buffer<u32>,
}

/// Whether an epilogue ends in a sign, and before it has steps alone that treat a column's numbers alike and keep or turn their order. A
/// launch takes as many.
pub(super) fn is_foldable(epilogue: &Epilogue<Cuda>) -> bool {
    let Some((Step::Sign(threshold), steps)) = epilogue.0.split_last() else { return false };
    let single = |d: &Reals<Cuda>| matches!(d, Reals::F32(_));
    let monotone = |step: &Step<Cuda>| match step {
        Step::ScaleColumns(d) | Step::Bias(d) => single(d),
        Step::Scale(_) | Step::Activation(Activation::Relu) => true,
        // What the exponential of another activation rounds to may fall where it should rise.
        Step::Activation(Activation::LeakyRelu { slope }) => *slope >= 0.0,
        Step::BatchNorm(norm) => {
            [Some(&norm.mean), Some(&norm.variance), norm.gamma.as_ref(), norm.beta.as_ref()].into_iter().flatten().all(single)
        }
        _ => false,
    };
    epilogue.0.len() <= MOST && threshold.as_ref().is_none_or(single) && steps.iter().all(monotone)
}

/// The thresholds of an epilogue that [`is_foldable`], of numbers from `-largest` to `largest`; `words` of a line of flips. None where the
/// epilogue is the sign alone. One launch.
///
/// # Errors
/// Out of memory; too many columns.
pub(super) fn fold(cuda: &Cuda, epilogue: &Epilogue<Cuda>, largest: i32, (columns, words): (usize, usize)) -> Result<Option<Folded>> {
    if matches!(epilogue.0[..], [Step::Sign(None)]) {
        return Ok(None);
    }
    let device = cuda.device();
    let (thresholds, flips) = (device.alloc::<i32>(columns)?, device.zeroed::<u32>(words)?);
    let counted = |n: usize| u32::try_from(n).map_err(|_| primitives::too_large(n as u64));
    let params = FoldParams {
        thresholds: thresholds.ptr(),
        flips: flips.ptr(),
        lowest: -largest,
        highest: largest,
        columns: counted(columns)?,
        words: counted(columns.div_ceil(32).min(words))?,
        epilogue: EpilogueParams::of(cuda.device(), &epilogue.0),
    };
    // SAFETY: a threshold for each column, a word for 32 of them; the epilogue's operands were checked for the columns.
    unsafe { primitives::elementwise(device, MODULE, "bits_fold", 32 * u64::from(params.words), &params) }?;
    Ok(Some(Folded { thresholds, flips }))
}
