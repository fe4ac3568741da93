//! The epochs of training a model of two layers in one launch: the lists are made on the host, once for a run, and one kernel whose blocks are all
//! resident does the rest.
//!
//! # Invariants
//! The numbers are those of the operations one by one, up to rounding; sums over blocks are of whole numbers, so that a run repeats itself.
//! What is out of their range is declined, and trained operation by operation.

mod gat;
mod gcn;
mod lists;
mod run;
#[cfg(test)]
mod tests;

use crate::device::{DevicePtr, GridState, HostLink, parameters};
use crate::forced::TensorKernels;
use crate::{Cuda, Result};
use bitgraph_kernels::constant;
use bitgraph_tensor::ops::{Epochs, EpochsLayers, EpochsOp, Whole};

const SEGMENT: usize = constant("tuning/epochs.cuh", "EPOCHS_SEGMENT") as usize;
/// Names of a row of scores from which on the warps of a block share it.
const LONG: usize = constant("tuning/epochs.cuh", "EPOCHS_LONG") as usize;
const RECORDS: usize = constant("tuning/epochs.cuh", "EPOCHS_RECORDS") as usize;
const THREADS: u32 = constant("tuning/epochs.cuh", "EPOCHS_THREADS") as u32;
const WARP_WORDS: u64 = constant("tuning/epochs.cuh", "EPOCHS_WARP_WORDS");
/// Hidden columns that there are kernels for.
const WIDTHS: [usize; 4] = [16, 32, 64, 128];
/// Classes that a warp has at most.
const MOST_CLASSES: usize = 32;
/// Nodes, columns and entries are numbered by 32 bits, labels by 30.
const MOST_ITEMS: usize = 1 << 30;

parameters! {
    struct ListPlaces = "tensor/epochs.cuh" "bg::EpochsLists" {
        tasks: u32,
        places: u32,
        ids: u32,
        entries: u32,
        ends: u32,
    }
    struct Columns = "tensor/epochs.cuh" "bg::EpochsColumns" {
        lists: ListPlaces,
        begin: u32,
        count: u32,
        features: u32,
    }
    struct Step = "tensor/epochs.cuh" "bg::EpochStep" {
        rate: f32,
        correction1: f32,
        correction2: f32,
        draws: [u32; 4],
        reserved: u32,
    }
    struct Record = "tensor/epochs.cuh" "bg::EpochRecord" {
        loss: u64,
        validation_loss: u64,
        train_right: u32,
        validation_right: u32,
        test_right: u32,
        flags: u32,
    }
    struct Outcome = "tensor/epochs.cuh" "bg::EpochsOutcome" {
        epochs: u32,
        best: u32,
        flags: u32,
        reserved: u32,
    }
    struct RunParams = "tensor/epochs.cuh" "bg::EpochsParams" {
        state: DevicePtr<GridState>,
        link: HostLink,
        words: DevicePtr<u32>,
        arena: DevicePtr<f32>,
        arena_words: u64,
        entries: DevicePtr<u32>,
        bits: DevicePtr<u32>,
        entry_count: u64,
        steps: DevicePtr<Step>,
        records: DevicePtr<Record>,
        outcome: DevicePtr<Outcome>,
        weights: DevicePtr<f32>,
        sums: DevicePtr<u64>,
        parameters: DevicePtr<f32>,
        small_places: DevicePtr<u64>,
        small_decays: DevicePtr<f32>,
        first_place: u64,
        seed: u64,
        epochs: u32,
        stale: u32,
        selection: u32,
        decoupled: u32,
        hidden_columns: u32,
        classes: u32,
        class_bits: u32,
        columns: u32,
        input_threshold: u32,
        hidden_threshold: u32,
        input_factor: f32,
        hidden_factor: f32,
        share: f32,
        validation_share: f32,
        beta1: f32,
        beta2: f32,
        epsilon: f32,
        first_decay: f32,
        small: u32,
        most_columns: u32,
        parts: u32,
        staged: u32,
    }
}

/// The columns of the kernel that takes a run, or why none does.
fn width(op: &EpochsOp<'_, Cuda>) -> std::result::Result<usize, String> {
    let Some(width) = WIDTHS.into_iter().find(|&w| op.hidden <= w) else {
        return Err(format!("{} hidden columns are more than {}", op.hidden, WIDTHS[WIDTHS.len() - 1]));
    };
    if op.classes > MOST_CLASSES {
        return Err(format!("{} classes are more than {MOST_CLASSES}", op.classes));
    }
    let (nodes, columns) = op.features.shape();
    if nodes.max(columns).max(op.features.nvals()).max(op.adjacency.nvals()) >= MOST_ITEMS {
        return Err("the graph or its features have 2^30 entries or more".into());
    }
    if nodes == 0 || columns == 0 || op.hidden == 0 || op.classes == 0 || op.rates.is_empty() || op.rates.len() != op.draws.len() {
        return Err("there is nothing to train".into());
    }
    if op.adam.epsilon as f32 <= 0.0 || op.adam.gradient_factor != 1.0 {
        return Err("Adam's epsilon is 0, or gradients have a factor".into());
    }
    Ok(width)
}

/// Why lists are declined that are too long.
fn too_long() -> String {
    format!("its lists have more than {RECORDS} records, which fill the device operation by operation")
}

/// What one launch takes in, or why it takes nothing.
pub(super) fn train(cuda: &Cuda, op: &EpochsOp<'_, Cuda>) -> Result<Whole<Epochs<Cuda>>> {
    let width = match width(op) {
        Ok(width) => width,
        Err(reason) => return Ok(Whole::Declined(reason)),
    };
    if cuda.is_reference() || cuda.tensor_kernels() == TensorKernels::General {
        return Ok(Whole::Declined("fused forms are not wanted".into()));
    }
    match &op.layers {
        EpochsLayers::Gcn { scales, parameters } => gcn::train(cuda, op, width, (*scales, parameters)),
        EpochsLayers::Gat(layers) => gat::train(cuda, op, width, layers),
    }
}
