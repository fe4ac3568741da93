//! Graph attention.

mod plan;

use super::run::{Operands, Run, SharedLists, Sizes, floats, padded, small_matrix};
use super::{Columns, ListPlaces, RunParams, too_long};
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::{Cuda, Result};
use bitgraph_kernels::constant;
use bitgraph_tensor::Dropout;
use bitgraph_tensor::ops::{Epochs, EpochsOp, GatLayers, Whole};
use plan::{Extent, Plan};

const MODULE: &str = "tensor/gat_epochs";
const NEIGHBOURS: usize = constant("tuning/epochs.cuh", "EPOCHS_NEIGHBOURS") as usize;
/// Heads of the hidden layer that a warp has words for, with a segment of neighbours.
const MOST_HEADS: usize = super::WARP_WORDS as usize / NEIGHBOURS;
/// Columns of the last layer that a warp has words for.
const MOST_LAST: usize = super::WARP_WORDS as usize / 4;
/// Heads of the last layer: a bit each.
const MOST_LAST_HEADS: usize = 32;

parameters! {
    struct Block = "tensor/gat_epochs.cuh" "bg::GatBlock" {
        offset: u64,
        words: u32,
        rows_begin: u32,
        rows: u32,
        scored_rows_begin: u32,
        scored_rows: u32,
        hidden_begin: u32,
        hidden: u32,
        scored_hidden_begin: u32,
        scored_hidden: u32,
        attention_begin: u32,
        columns: Columns,
        forward: ListPlaces,
        forward_trained: u32,
        attention: ListPlaces,
        attention_trained: u32,
        attention_owners: u32,
        hearers: ListPlaces,
        hearer_owners: u32,
        hidden_of: u32,
        own_rows: u32,
        nodes: u32,
        pair_count: u32,
        pairs: u32,
        pair_ends: u32,
        names: u32,
        outputs: u32,
        scored: u32,
    }
    struct Layout = "tensor/gat_epochs.cuh" "bg::GatLayout" {
        block: u32,
        head_of: u32,
        own: u32,
        right: u32,
        d_left: u32,
        d_right: u32,
        hidden: u32,
        slopes: u32,
        attended: u32,
        plus: u32,
        lse: u32,
        share: u32,
        last: u32,
        d_last: u32,
        d_last_left: u32,
        d_last_right: u32,
        d_pairs: u32,
        words: u32,
    }
    struct Params = "tensor/gat_epochs.cuh" "bg::GatEpochsParams" {
        run: RunParams,
        blocks: DevicePtr<Block>,
        positions: DevicePtr<u32>,
        kept: DevicePtr<u32>,
        position_count: u64,
        hidden_positions: u64,
        rows: DevicePtr<f32>,
        left: DevicePtr<f32>,
        right: DevicePtr<f32>,
        products: DevicePtr<f32>,
        last_left: DevicePtr<f32>,
        last_right: DevicePtr<f32>,
        scalars: DevicePtr<f32>,
        hidden_gradients: DevicePtr<f32>,
        gradients: DevicePtr<f32>,
        heads: u32,
        head_bits: u32,
        head_columns: u32,
        last_heads: u32,
        last_columns: u32,
        slope: f32,
        alpha: f32,
        attention_thresholds: [u32; 2],
        attention_factors: [f32; 2],
        unused: u32,
        layout: Layout,
    }
}

/// What runs over the same graph, features and parts share.
struct Shared {
    /// The plan, whose lists are on the device.
    extent: Extent,
    blocks: Buffer<Block>,
    lists: SharedLists,
    positions: Buffer<u32>,
}
impl Shared {
    /// None for lists that are too long.
    fn new(device: &Device, op: &EpochsOp<'_, Cuda>, blocks: u32) -> Result<Option<Self>> {
        let operands = Operands::new(op)?;
        let Some(plan) = Plan::new(&operands.problem(op), blocks as usize) else { return Ok(None) };
        Ok(Some(Self {
            blocks: device.upload(&plan.blocks)?,
            lists: SharedLists { words: device.upload(&plan.words)?, entries: device.upload(&plan.entries)? },
            positions: device.upload(&plan.positions)?,
            extent: plan.extent,
        }))
    }
}

/// The shapes that a kernel takes: columns of it, heads of the hidden layer to a power of two, columns of the last layer.
struct Shapes {
    width: usize,
    classes: usize,
    heads: usize,
    last_columns: usize,
}
impl Shapes {
    fn new(op: &EpochsOp<'_, Cuda>, width: usize, layers: &GatLayers) -> std::result::Result<Self, String> {
        let [heads, last_heads] = layers.heads;
        let classes = op.classes.next_power_of_two().max(4);
        if heads == 0 || last_heads == 0 || !op.hidden.is_multiple_of(heads) {
            return Err("heads are of different widths".into());
        }
        if heads > MOST_HEADS {
            return Err(format!("{heads} heads are more than {MOST_HEADS}"));
        }
        if last_heads > MOST_LAST_HEADS || last_heads * classes > MOST_LAST {
            return Err(format!("{last_heads} last heads of {} classes are more than {MOST_LAST} columns", op.classes));
        }
        Ok(Self { width, classes, heads: heads.next_power_of_two(), last_columns: last_heads * classes })
    }
    /// The small parameters, as the kernel has them.
    fn small(&self, op: &EpochsOp<'_, Cuda>, layers: &GatLayers) -> Vec<Option<(usize, f64)>> {
        let Self { width, classes: wide, last_columns, .. } = *self;
        let (hidden, classes, last_heads) = (op.hidden, op.classes, layers.heads[1]);
        let last = move |d: usize| (d % wide < classes).then_some(d / wide * classes + d % wide);
        let weight = move |c: usize, d: usize| if c < hidden { last(d).map(|d| c * last_heads * classes + d) } else { None };
        let below = |limit: usize| move |_: usize, c: usize| (c < limit).then_some(c);
        let [[_, left, right, bias], [second, last_left, last_right, last_bias]] = &layers.parameters;
        let mut all: Vec<_> = small_matrix(second, (width, last_columns), weight).collect();
        for vector in [bias, left, right] {
            all.extend(small_matrix(vector, (1, width), below(hidden)));
        }
        for vector in [last_left, last_right] {
            all.extend(small_matrix(vector, (1, last_columns), move |_, d| last(d)));
        }
        all.extend(small_matrix(last_bias, (1, wide), below(classes)));
        all
    }
    /// Where the arrays of a block are.
    fn layout(&self, layers: &GatLayers, plan: &Extent) -> Layout {
        let Self { width, heads, last_columns, .. } = *self;
        let (last_heads, mut words) = (layers.heads[1], 0);
        let mut take = |count: u32, columns: usize| {
            let place = words;
            words += padded(u64::from(count) * columns as u64) as u32;
            place
        };
        let layout = Layout {
            block: take(1, size_of::<Block>() / 4),
            head_of: take(1, width),
            own: take(plan.most_rows, width),
            right: take(plan.most_rows, heads),
            d_left: take(plan.most_rows, heads),
            d_right: take(plan.most_rows, heads),
            hidden: take(plan.most_all_hidden, width),
            slopes: take(plan.most_hidden, width),
            attended: take(plan.most_hidden, width),
            plus: take(plan.most_hidden, width),
            lse: take(plan.most_hidden, heads),
            share: take(plan.most_hidden, heads),
            last: take(plan.most_hidden, last_columns),
            d_last: take(plan.most_hidden, last_columns),
            d_last_left: take(plan.most_hidden, last_heads),
            d_last_right: take(plan.most_hidden, last_heads),
            d_pairs: take(plan.most_pairs, last_columns + 2 * last_heads),
            words: 0,
        };
        Layout { words, ..layout }
    }
    fn sizes(&self, op: &EpochsOp<'_, Cuda>, layers: &GatLayers, plan: &Extent, layout: &Layout) -> Sizes {
        let Self { width, classes, heads, .. } = *self;
        let of_features = u64::from(plan.most_segments) * width as u64;
        let of_neighbours = u64::from(plan.most_neighbour_segments) * (2 * width + (3 * heads).next_multiple_of(4)) as u64;
        Sizes {
            width,
            classes,
            small: self.small(op, layers),
            parts: of_features.max(of_neighbours),
            most_columns: plan.most_columns,
            state: layout.words.into(),
            lists: plan.most_words,
        }
    }
}

/// What one launch takes in, or why it takes nothing.
pub(super) fn train(cuda: &Cuda, op: &EpochsOp<'_, Cuda>, width: usize, layers: &GatLayers) -> Result<Whole<Epochs<Cuda>>> {
    let shapes = match Shapes::new(op, width, layers) {
        Ok(shapes) => shapes,
        Err(reason) => return Ok(Whole::Declined(reason)),
    };
    let device = cuda.device();
    let kernel = device.kernel::<Params>(MODULE, &format!("gat_epochs_{width}"))?;
    let blocks = device.properties().sms;
    let Some(shared) = op.shared.get_or_make([op.values, op.values], || Shared::new(device, op, blocks))? else {
        return Ok(Whole::Declined(too_long()));
    };
    let plan = &shared.extent;
    let layout = shapes.layout(layers, plan);
    let Some(run) = Run::new(cuda, op, &shared.lists, shapes.sizes(op, layers, plan, &layout), blocks)? else {
        return Ok(Whole::Declined("the parameters of the last layer do not fit shared memory".into()));
    };
    let (block, bytes) = run.shape();
    let shape = device.persistent_shape(&kernel, block, bytes, blocks)?;
    if shape.grid != blocks {
        return Ok(Whole::Declined(format!("{blocks} blocks are not resident at once")));
    }
    let table = |rows: usize, columns: usize| floats(device, rows * columns);
    let Shapes { heads, last_columns, .. } = shapes;
    let last_heads = layers.heads[1];
    let ([trained_rows, rows], [trained_hidden, hidden]) = (plan.rows, plan.hidden);
    let (products, left, right) = (table(rows, width)?, table(rows, heads)?, table(rows, heads)?);
    let (last_products, last_left, last_right) = (table(hidden, last_columns)?, table(hidden, last_heads)?, table(hidden, last_heads)?);
    let (scalars, hidden_gradients) = (table(trained_hidden, 4 * heads)?, table(trained_hidden, width)?);
    let gradients = table(trained_rows, width)?;
    let kept = device.zeroed::<u32>(2 * shared.positions.len().max(1))?;
    let dropout = layers.dropout.map(|probability| Dropout::new(probability, op.seed, 0));
    // SAFETY: the lists name rows and columns that the arrays were made for; the parameters are in the flat buffer where the caller says, and
    // were just made; the launch is cooperative, and all blocks fit.
    unsafe {
        device.persistent(&kernel, shape, op.control, |state, link| Params {
            run: run.params(op, &shared.lists, &layers.parameters[0][0], (state, link)),
            blocks: shared.blocks.ptr(),
            positions: shared.positions.ptr(),
            kept: kept.ptr(),
            position_count: shared.positions.len() as u64,
            hidden_positions: plan.hidden_positions as u64,
            rows: products.ptr(),
            left: left.ptr(),
            right: right.ptr(),
            products: last_products.ptr(),
            last_left: last_left.ptr(),
            last_right: last_right.ptr(),
            scalars: scalars.ptr(),
            hidden_gradients: hidden_gradients.ptr(),
            gradients: gradients.ptr(),
            heads: layers.heads[0] as u32,
            head_bits: heads.trailing_zeros(),
            head_columns: (op.hidden / layers.heads[0]) as u32,
            last_heads: last_heads as u32,
            last_columns: last_columns as u32,
            slope: layers.slope as f32,
            alpha: layers.alpha as f32,
            attention_thresholds: dropout.map(|d| d.threshold()),
            attention_factors: dropout.map(|d| d.factor() as f32),
            unused: 0,
            layout,
        })
    }?;
    run.finish(op)
}
