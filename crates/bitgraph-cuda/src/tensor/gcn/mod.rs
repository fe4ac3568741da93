//! The epochs of training a graph convolution of two layers in one launch: the lists are made on the host, once for a run, and one kernel
//! whose blocks are all resident does the rest.
//!
//! # Invariants
//! The numbers are those of the operations one by one, up to rounding; sums over blocks are of whole numbers, so that a run repeats itself.
//! What is out of their range is declined, and trained operation by operation.

mod plan;
#[cfg(test)]
mod tests;

use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, parameters};
use crate::forced::TensorKernels;
use crate::{Cuda, Result};
use bitgraph_kernels::constant;
use bitgraph_tensor::ops::{GcnEpoch, GcnEpochs, GcnEpochsOp, Kept, Whole};
use bitgraph_tensor::{Dense, Dropout};
use bytemuck::Zeroable;
use plan::{Extent, Lists, Plan, Problem};

const MODULE: &str = "tensor/gcn_epochs";
const SEGMENT: usize = constant("tuning/gcn.cuh", "GCN_SEGMENT") as usize;
const RECORDS: usize = constant("tuning/gcn.cuh", "GCN_RECORDS") as usize;
const THREADS: u32 = constant("tuning/gcn.cuh", "GCN_THREADS") as u32;
/// Hidden columns that there are kernels for.
const WIDTHS: [usize; 4] = [16, 32, 64, 128];
/// Classes that a warp has at most.
const MOST_CLASSES: usize = 32;
/// Nodes, columns and entries are numbered by 32 bits, labels by 30.
const MOST_ITEMS: usize = 1 << 30;
/// Flags of a record.
const ODD: u32 = 1;
const CANCELLED: u32 = 2;
/// What losses are counted in.
const UNIT: f64 = 1_099_511_627_776.0;

parameters! {
    struct Block = "tensor/gcn_epochs.cuh" "bg::GcnBlock" {
        offset: u64,
        words: u32,
        rows_begin: u32,
        rows: u32,
        columns_begin: u32,
        columns: u32,
        forward_tasks: u32,
        backward_tasks: u32,
        forward_places: u32,
        backward_places: u32,
        forward_ids: u32,
        backward_ids: u32,
        forward_entries: u32,
        backward_entries: u32,
        forward_ends: u32,
        backward_ends: u32,
        pair_count: u32,
        pairs: u32,
        names: u32,
        pair_ends: u32,
        nodes: u32,
        scales: u32,
        features: u32,
    }
    struct Step = "tensor/gcn_epochs.cuh" "bg::GcnStep" {
        rate: f32,
        correction1: f32,
        correction2: f32,
        input_draw: u32,
        hidden_draw: u32,
        reserved: [u32; 3],
    }
    struct Record = "tensor/gcn_epochs.cuh" "bg::GcnRecord" {
        loss: u64,
        validation_loss: u64,
        train_right: u32,
        validation_right: u32,
        test_right: u32,
        flags: u32,
    }
    struct Outcome = "tensor/gcn_epochs.cuh" "bg::GcnOutcome" {
        epochs: u32,
        best: u32,
        flags: u32,
        reserved: u32,
    }
    struct DeviceLists = "tensor/gcn_epochs.cuh" "bg::GcnLists" {
        begin: DevicePtr<u64>,
        names: DevicePtr<u32>,
        scales: DevicePtr<f32>,
        rows: u64,
    }
    struct Params = "tensor/gcn_epochs.cuh" "bg::GcnEpochsParams" {
        state: DevicePtr<GridState>,
        link: HostLink,
        blocks: DevicePtr<Block>,
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
        hidden: DevicePtr<f32>,
        gradients: DevicePtr<f32>,
        sums: DevicePtr<u64>,
        parameters: DevicePtr<f32>,
        places: [u64; 4],
        input: DeviceLists,
        input_values: DevicePtr<f32>,
        middle: DeviceLists,
        output: DeviceLists,
        labels: DevicePtr<u32>,
        input_sums: DevicePtr<f32>,
        middle_sums: DevicePtr<f32>,
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
        decay: [f32; 4],
        most_segments: u32,
        most_rows: u32,
        most_pairs: u32,
        most_columns: u32,
        staged: u32,
    }
}

/// Lists of scores on the device.
struct Scored {
    begin: Buffer<u64>,
    names: Buffer<u32>,
    scales: Buffer<f32>,
}
impl Scored {
    fn new(device: &Device, lists: &Lists) -> Result<Self> {
        Ok(Self { begin: device.upload(&lists.begin)?, names: device.upload(&lists.names)?, scales: device.upload(&lists.scales)? })
    }
    fn params(&self) -> DeviceLists {
        DeviceLists { begin: self.begin.ptr(), names: self.names.ptr(), scales: self.scales.ptr(), rows: self.scales.len() as u64 }
    }
}

/// What runs over the same graph, features and parts share.
struct Shared {
    /// The plan, whose lists are on the device.
    extent: Extent,
    blocks: Buffer<Block>,
    words: Buffer<u32>,
    entries: Buffer<u32>,
    input: Scored,
    input_values: Buffer<f32>,
    middle: Scored,
    output: Scored,
    labels: Buffer<u32>,
}
impl Shared {
    /// None for lists that are too long.
    fn new(device: &Device, op: &GcnEpochsOp<'_, Cuda>, blocks: u32) -> Result<Option<Self>> {
        let ((adjacency, _), (features, _)) = (op.adjacency.to_host()?, op.features.to_host()?);
        let (scales, values) = (op.scales.to_host()?, op.values.to_host()?);
        let problem = Problem {
            adjacency: &adjacency,
            scales: &scales,
            features: &features,
            values: &values,
            labels: op.labels,
            train: op.parts[0],
            parts: op.parts,
        };
        let Some(plan) = Plan::new(&problem, blocks as usize) else { return Ok(None) };
        Ok(Some(Self {
            blocks: device.upload(&plan.blocks)?,
            words: device.upload(&plan.words)?,
            entries: device.upload(&plan.entries)?,
            input: Scored::new(device, &plan.input)?,
            input_values: device.upload(&plan.input_values)?,
            middle: Scored::new(device, &plan.middle)?,
            output: Scored::new(device, &plan.output)?,
            labels: device.upload(&plan.labels)?,
            extent: plan.extent,
        }))
    }
}

/// Where the memory of a block is.
struct Room {
    /// Bytes of shared memory.
    shared: u32,
    /// Words of each block's state in device memory, if it is there.
    arena_words: u64,
    /// Whether lists are copied to shared memory.
    staged: bool,
}

fn padded(words: u64) -> u64 {
    words.next_multiple_of(4)
}

impl Room {
    /// As the kernel carves it up, none if not even what must be shared fits. What is larger than shared memory stays in device memory: the
    /// lists first.
    fn new(plan: &Extent, (width, classes): (u64, u64), warps: u64, available: u64) -> Option<Self> {
        let small = padded(width * classes + width + classes);
        let fixed = 4 + padded(warps * 256) * 2 + 4 * small + padded(2 * (classes + 2)) * 2 + 4;
        let rows = |count: u32, columns: u64| padded(u64::from(count) * columns);
        let state = rows(plan.most_segments, width)
            + 2 * rows(plan.most_rows, width)
            + rows(plan.most_rows, classes)
            + rows(plan.most_pairs, classes)
            + 3 * rows(plan.most_columns, width);
        let lists = u64::from(plan.most_words);
        let fits = |words: u64| words * 4 <= available;
        let bytes = |words: u64| (words * 4) as u32;
        Some(match (fits(fixed + state + lists), fits(fixed + state), fits(fixed)) {
            (true, ..) => Self { shared: bytes(fixed + state + lists), arena_words: 0, staged: true },
            (_, true, _) => Self { shared: bytes(fixed + state), arena_words: 0, staged: false },
            (_, _, true) => Self { shared: bytes(fixed), arena_words: state, staged: false },
            _ => return None,
        })
    }
}

/// The columns of the kernel that takes a run, or why none does.
fn width(op: &GcnEpochsOp<'_, Cuda>) -> std::result::Result<usize, String> {
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

/// What one launch takes in, or why it takes nothing.
pub(super) fn train(cuda: &Cuda, op: &GcnEpochsOp<'_, Cuda>) -> Result<Whole<GcnEpochs<Cuda>>> {
    let width = match width(op) {
        Ok(width) => width,
        Err(reason) => return Ok(Whole::Declined(reason)),
    };
    if cuda.is_reference() || cuda.tensor_kernels() == TensorKernels::General {
        return Ok(Whole::Declined("fused forms are not wanted".into()));
    }
    let device = cuda.device();
    let kernel = device.kernel::<Params>(MODULE, &format!("gcn_epochs_{width}"))?;
    let blocks = device.properties().sms;
    let Some(shared) = op.shared.get_or_make([op.scales, op.values], || Shared::new(device, op, blocks))? else {
        return Ok(Whole::Declined(format!("its lists have more than {RECORDS} records, which fill the device operation by operation")));
    };
    let plan = &shared.extent;
    let classes = op.classes.next_power_of_two().max(4);
    let block = THREADS.min(device.properties().max_threads_per_block);
    let available = u64::from(device.properties().shared_per_block);
    let Some(room) = Room::new(plan, (width as u64, classes as u64), u64::from(block / 32), available) else {
        return Ok(Whole::Declined("the parameters of the last layer do not fit shared memory".into()));
    };
    let shape = device.persistent_shape(&kernel, block, room.shared, blocks)?;
    if shape.grid != blocks {
        return Ok(Whole::Declined(format!("{blocks} blocks are not resident at once")));
    }

    let (epochs, small) = (op.rates.len(), width * classes + width + classes);
    let steps: Vec<Step> = (1i32..)
        .zip(op.rates.iter().zip(op.draws))
        .map(|(step, (&rate, draws))| Step {
            rate: rate as f32,
            correction1: (1.0 / (1.0 - op.adam.beta1.powi(step))) as f32,
            correction2: (1.0 / (1.0 - op.adam.beta2.powi(step))) as f32,
            input_draw: draws[0],
            hidden_draw: draws[1],
            reserved: [0; 3],
        })
        .collect();
    let dropout = op.dropout.map(|probability| Dropout::new(probability, op.seed, 0));
    let flat = op.parameters.to_host()?;
    let parameters = Dense::from_vec(cuda, op.parameters.nrows(), op.parameters.ncols(), flat)?;
    let floats = |len: usize| device.alloc_for::<f32>(len.max(4), "training in one launch");
    let bits = device.zeroed::<u32>(2 * shared.entries.len().div_ceil(32).max(1))?;
    let arena = if room.arena_words > 0 { Some(floats(room.arena_words as usize * blocks as usize)?) } else { None };
    let (steps, records, outcome) = (device.upload(&steps)?, device.zeroed::<Record>(epochs + 2)?, device.zeroed::<Outcome>(1)?);
    let columns = op.features.shape().1;
    let (weights, gradients) = (floats(2 * columns * width)?, floats(plan.rows * width)?);
    let (hidden, sums) = (floats(plan.rows * classes)?, device.zeroed::<u64>(3 * small)?);
    let (input_sums, middle_sums) = (floats(shared.input.scales.len() * width)?, floats(shared.middle.scales.len() * classes)?);
    // SAFETY: the lists name rows and columns that the arrays were made for; the parameters are in the flat buffer where the caller says, and
    // were just made; the launch is cooperative, and all blocks fit.
    unsafe {
        device.persistent(&kernel, shape, op.control, |state, link| Params {
            state,
            link,
            blocks: shared.blocks.ptr(),
            words: shared.words.ptr(),
            arena: arena.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
            arena_words: room.arena_words,
            entries: shared.entries.ptr(),
            bits: bits.ptr(),
            entry_count: shared.entries.len() as u64,
            steps: steps.ptr(),
            records: records.ptr(),
            outcome: outcome.ptr(),
            weights: weights.ptr(),
            hidden: hidden.ptr(),
            gradients: gradients.ptr(),
            sums: sums.ptr(),
            parameters: parameters.raw().ptr(),
            places: [0, 1, 2, 3].map(|p| op.places[p].start as u64),
            input: shared.input.params(),
            input_values: shared.input_values.ptr(),
            middle: shared.middle.params(),
            output: shared.output.params(),
            labels: shared.labels.ptr(),
            input_sums: input_sums.ptr(),
            middle_sums: middle_sums.ptr(),
            seed: op.seed,
            epochs: epochs as u32,
            stale: op.stale.unwrap_or(u32::MAX),
            selection: match op.kept {
                Kept::LowestLoss => 0,
                Kept::BestAccuracy => 1,
                Kept::Last => 2,
            },
            decoupled: op.adam.decoupled.into(),
            hidden_columns: op.hidden as u32,
            classes: op.classes as u32,
            class_bits: classes.trailing_zeros(),
            columns: columns as u32,
            input_threshold: dropout[0].threshold(),
            hidden_threshold: dropout[1].threshold(),
            input_factor: dropout[0].factor() as f32,
            hidden_factor: dropout[1].factor() as f32,
            share: 1.0 / op.parts[0].len() as f32,
            validation_share: 1.0 / op.parts[1].len() as f32,
            beta1: op.adam.beta1 as f32,
            beta2: op.adam.beta2 as f32,
            epsilon: op.adam.epsilon as f32,
            decay: op.decay.map(|decay| decay as f32),
            most_segments: plan.most_segments,
            most_rows: plan.most_rows,
            most_pairs: plan.most_pairs,
            most_columns: plan.most_columns,
            staged: room.staged.into(),
        })
    }?;
    let end = outcome.to_vec()?.first().copied().unwrap_or_else(Outcome::zeroed);
    if end.flags & ODD != 0 || end.best == 0 {
        return Ok(Whole::Declined(format!("a number of epoch {} is none, or out of the range of its sums", end.epochs)));
    }
    let share = |right: u32, part: usize| f64::from(right) / op.parts[part].len() as f64;
    let records = records.to_vec()?;
    let epochs = records.iter().skip(1).take(end.epochs as usize).map(|r| GcnEpoch {
        loss: r.loss.cast_signed() as f64 / UNIT,
        validation_loss: r.validation_loss.cast_signed() as f64 / UNIT,
        accuracies: [share(r.train_right, 0), share(r.validation_right, 1), share(r.test_right, 2)],
    });
    Ok(Whole::Done(GcnEpochs { parameters, epochs: epochs.collect(), best: end.best as usize, cancelled: end.flags & CANCELLED != 0 }))
}
