//! Graph convolutions.

mod plan;

use super::run::{Operands, Run, SharedLists, Sizes, floats, padded, small_matrix};
use super::{Columns, ListPlaces, RunParams, too_long};
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::{Cuda, Result};
use bitgraph_tensor::Dense;
use bitgraph_tensor::ops::{Epochs, EpochsOp, Placed, Whole};
use plan::{Extent, Lists, Plan};

const MODULE: &str = "tensor/gcn_epochs";

parameters! {
    struct Block = "tensor/gcn_epochs.cuh" "bg::GcnBlock" {
        offset: u64,
        words: u32,
        rows_begin: u32,
        rows: u32,
        forward: ListPlaces,
        columns: Columns,
        pair_count: u32,
        pairs: u32,
        names: u32,
        pair_ends: u32,
        nodes: u32,
        scales: u32,
    }
    struct DeviceLists = "tensor/gcn_epochs.cuh" "bg::GcnLists" {
        begin: DevicePtr<u64>,
        names: DevicePtr<u32>,
        scales: DevicePtr<f32>,
        rows: u64,
    }
    struct Params = "tensor/gcn_epochs.cuh" "bg::GcnEpochsParams" {
        run: RunParams,
        blocks: DevicePtr<Block>,
        hidden: DevicePtr<f32>,
        gradients: DevicePtr<f32>,
        input: DeviceLists,
        input_values: DevicePtr<f32>,
        middle: DeviceLists,
        output: DeviceLists,
        labels: DevicePtr<u32>,
        input_sums: DevicePtr<f32>,
        middle_sums: DevicePtr<f32>,
        most_rows: u32,
        most_pairs: u32,
        long_rows: u32,
        reserved: u32,
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
    lists: SharedLists,
    input: Scored,
    input_values: Buffer<f32>,
    middle: Scored,
    output: Scored,
    labels: Buffer<u32>,
}
impl Shared {
    /// None for lists that are too long.
    fn new(device: &Device, op: &EpochsOp<'_, Cuda>, scales: &Dense<Cuda, f32>, blocks: u32) -> Result<Option<Self>> {
        let (operands, scales) = (Operands::new(op)?, scales.to_host()?);
        let Some(plan) = Plan::new(&operands.problem(op), &scales, blocks as usize) else { return Ok(None) };
        Ok(Some(Self {
            blocks: device.upload(&plan.blocks)?,
            lists: SharedLists { words: device.upload(&plan.words)?, entries: device.upload(&plan.entries)? },
            input: Scored::new(device, &plan.input)?,
            input_values: device.upload(&plan.input_values)?,
            middle: Scored::new(device, &plan.middle)?,
            output: Scored::new(device, &plan.output)?,
            labels: device.upload(&plan.labels)?,
            extent: plan.extent,
        }))
    }
}

/// What one launch takes in, or why it takes nothing.
pub(super) fn train(
    cuda: &Cuda,
    op: &EpochsOp<'_, Cuda>,
    width: usize,
    (scales, placed): (&Dense<Cuda, f32>, &[Placed; 4]),
) -> Result<Whole<Epochs<Cuda>>> {
    let device = cuda.device();
    let kernel = device.kernel::<Params>(MODULE, &format!("gcn_epochs_{width}"))?;
    let blocks = device.properties().sms;
    let Some(shared) = op.shared.get_or_make([scales, op.values], || Shared::new(device, op, scales, blocks))? else {
        return Ok(Whole::Declined(too_long()));
    };
    let plan = &shared.extent;
    let (hidden, classes) = (op.hidden, op.classes);
    let classes_wide = classes.next_power_of_two().max(4);
    let [first, bias, second, last_bias] = placed;
    let weight = small_matrix(second, (width, classes_wide), |h, c| (h < hidden && c < classes).then_some(h * classes + c));
    let below = |limit: usize| move |_, c: usize| (c < limit).then_some(c);
    let rows = |count: u32, columns: usize| padded(u64::from(count) * columns as u64);
    let sizes = Sizes {
        width,
        classes: classes_wide,
        small: weight
            .chain(small_matrix(bias, (1, width), below(hidden)))
            .chain(small_matrix(last_bias, (1, classes_wide), below(classes)))
            .collect(),
        parts: u64::from(plan.most_segments) * width as u64,
        most_columns: plan.most_columns,
        state: 2 * rows(plan.most_rows, width) + rows(plan.most_rows, classes_wide) + rows(plan.most_pairs, classes_wide),
        lists: plan.most_words,
    };
    let Some(run) = Run::new(cuda, op, &shared.lists, sizes, blocks)? else {
        return Ok(Whole::Declined("the parameters of the last layer do not fit shared memory".into()));
    };
    let (block, bytes) = run.shape();
    let shape = device.persistent_shape(&kernel, block, bytes, blocks)?;
    if shape.grid != blocks {
        return Ok(Whole::Declined(format!("{blocks} blocks are not resident at once")));
    }
    let (hidden, gradients) = (floats(device, plan.rows * classes_wide)?, floats(device, plan.rows * width)?);
    let input_sums = floats(device, shared.input.scales.len() * width)?;
    let middle_sums = floats(device, shared.middle.scales.len() * classes_wide)?;
    // SAFETY: the lists name rows and columns that the arrays were made for; the parameters are in the flat buffer where the caller says, and
    // were just made; the launch is cooperative, and all blocks fit.
    unsafe {
        device.persistent(&kernel, shape, op.control, |state, link| Params {
            run: run.params(op, &shared.lists, first, (state, link)),
            blocks: shared.blocks.ptr(),
            hidden: hidden.ptr(),
            gradients: gradients.ptr(),
            input: shared.input.params(),
            input_values: shared.input_values.ptr(),
            middle: shared.middle.params(),
            output: shared.output.params(),
            labels: shared.labels.ptr(),
            input_sums: input_sums.ptr(),
            middle_sums: middle_sums.ptr(),
            most_rows: plan.most_rows,
            most_pairs: plan.most_pairs,
            long_rows: plan.long_rows,
            reserved: 0,
        })
    }?;
    run.finish(op)
}
