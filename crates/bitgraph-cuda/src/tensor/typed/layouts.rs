//! The layouts of typed forms that a matrix keeps.
//!
//! Invariant: a layout is made once, at its first use; it is counted in the matrix's bytes and goes with the matrix, or when many others have
//! been used since.

use super::super::forms::spmm::SpmmPlan;
use crate::matrix::{CudaMatrix, Kept};
use crate::{Error, Result};
use bitgraph_bittensor::TileShape;
use bitgraph_semiring::DType;
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// Layouts that a matrix keeps at most: four widths, each of a forward and a backward pass, of a few families. Older ones are given up.
const MOST: usize = 24;
/// Runs after which a layout that memory was too short for is tried again.
const RETRY: u32 = 64;

/// A family of forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tensor) enum Family {
    /// Of the matrix as seen, with values or without, by a plan of the caller's or the form's own.
    Spmm {
        transposed: bool,
        valued: bool,
        plan: Option<SpmmPlan>,
    },
    /// Of `f32` through copies of halves.
    SpmmRounded {
        transposed: bool,
        plan: Option<SpmmPlan>,
    },
    /// The matrix's own values in the order of its transpose.
    Values,
    Sddmm,
    Gat,
    GatBackward,
    Pair,
    PairBackward,
    /// Of signs, whose lines are padded so.
    BitSums {
        transposed: bool,
        own: bool,
        padding: TileShape,
    },
}

/// What a layout is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tensor) struct Key {
    pub family: Family,
    pub dtype: DType,
    pub columns: usize,
    pub heads: usize,
}

/// What is kept.
pub(in crate::tensor) trait Laid: Any + Send + Sync {
    /// Bytes on the device beyond the matrix's.
    fn bytes(&self) -> u64;
}

struct Slot {
    key: Key,
    /// None: there was no memory, or the matrix has none of this kind.
    laid: Option<Arc<dyn Any + Send + Sync>>,
    bytes: u64,
    /// Runs until it is tried again.
    waits: u32,
}

/// The layouts of a matrix, those used last at the end.
#[derive(Default)]
struct Layouts(Mutex<Vec<Slot>>);

impl Kept for Layouts {
    fn bytes(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|slot| slot.bytes).sum()
    }
}

/// The layout of a matrix for `key`, made by `make` at its first use. None where `make` gives none, or memory is short. Other threads that
/// want a layout of the matrix wait while one is made.
///
/// # Errors
/// Those of `make` but [`Error::OutOfMemory`].
pub(in crate::tensor) fn laid<L: Laid>(matrix: &CudaMatrix, key: Key, make: impl FnOnce() -> Result<Option<L>>) -> Result<Option<Arc<L>>> {
    let mut slots = matrix.kept::<Layouts>().0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = slots.iter().rposition(|slot| slot.key == key) {
        let slot = &mut slots[at];
        if slot.laid.is_some() || slot.waits > 1 {
            slot.waits = slot.waits.saturating_sub(1);
            let found = slot.laid.clone();
            // The one before the last stays where it is, so that a forward and a backward pass in turns move nothing.
            if at + 2 < slots.len() {
                slots[at..].rotate_left(1);
            }
            return Ok(found.and_then(|laid| laid.downcast().ok()));
        }
        slots.remove(at);
    }
    if slots.len() >= MOST {
        slots.remove(0);
    }
    let (made, waits) = match make() {
        Ok(Some(made)) => (Some(made), 0),
        // A pattern stays what it is.
        Ok(None) => (None, u32::MAX),
        Err(Error::OutOfMemory { .. }) => (None, RETRY),
        Err(other) => return Err(other),
    };
    let bytes = made.as_ref().map_or(0, Laid::bytes);
    let made = made.map(Arc::new);
    slots.push(Slot { key, laid: made.clone().map(|made| -> Arc<dyn Any + Send + Sync> { made }), bytes, waits });
    Ok(made)
}
