//! What a run in one launch has whatever the layers: the memory of a block, what is on the device, and what came of it.

use super::lists::Problem;
use super::{Outcome, Record, RunParams, Step, THREADS, WARP_WORDS};
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink};
use crate::{Cuda, Result};
use bitgraph_sparse::Csr;
use bitgraph_tensor::ops::{EpochScores, Epochs, EpochsOp, Kept, Placed, Whole};
use bitgraph_tensor::{Dense, Dropout};
use bytemuck::Zeroable;

/// Flags of a record.
const ODD: u32 = 1;
const CANCELLED: u32 = 2;
/// What losses are counted in.
const UNIT: f64 = 1_099_511_627_776.0;

/// The lists of all blocks on the device, which runs share.
pub(super) struct SharedLists {
    pub words: Buffer<u32>,
    /// The entry of the features that a bit is of.
    pub entries: Buffer<u32>,
}

/// The graph and its features on the host.
pub(super) struct Operands {
    adjacency: Csr,
    features: Csr,
    values: Vec<f32>,
}
impl Operands {
    pub fn new(op: &EpochsOp<'_, Cuda>) -> Result<Self> {
        let ((adjacency, _), (features, _)) = (op.adjacency.to_host()?, op.features.to_host()?);
        Ok(Self { adjacency, features, values: op.values.to_host()? })
    }
    pub fn problem<'a>(&'a self, op: &'a EpochsOp<'_, Cuda>) -> Problem<'a> {
        Problem { adjacency: &self.adjacency, features: &self.features, values: &self.values, labels: op.labels, parts: op.parts }
    }
}

/// How large things are.
pub(super) struct Sizes {
    /// Columns of the kernel.
    pub width: usize,
    /// Classes, to a power of two.
    pub classes: usize,
    /// Where each small parameter is among all, and its weight decay; none for padding.
    pub small: Vec<Option<(usize, f64)>>,
    /// Numbers that the segments of a block come to at most.
    pub parts: u64,
    /// Columns of the features that a block owns at most.
    pub most_columns: u32,
    /// Words of a block's state that the layers need besides.
    pub state: u64,
    /// Words of a block's lists at most.
    pub lists: u32,
}

/// Small parameters as a matrix of the kernel has them: `at` gives the element of a row and a column, none for padding.
pub(super) fn small_matrix<'a>(
    placed: &'a Placed,
    (rows, columns): (usize, usize),
    at: impl Fn(usize, usize) -> Option<usize> + 'a,
) -> impl Iterator<Item = Option<(usize, f64)>> + 'a {
    (0..rows * columns).map(move |i| at(i / columns, i % columns).map(|element| (placed.place.start + element, placed.decay)))
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

/// Words that an array takes, as the kernel carves it up.
pub(super) fn padded(words: u64) -> u64 {
    words.next_multiple_of(4)
}

impl Room {
    /// None if not even what must be shared fits. What is larger than shared memory stays in device memory: the lists first.
    fn new(sizes: &Sizes, warps: u64, available: u64) -> Option<Self> {
        let small = padded(sizes.small.len() as u64);
        let fixed = 4 + padded(warps * WARP_WORDS) + 4 * small + padded(2 * (sizes.classes as u64 + 2)) + 4;
        let state = sizes.state + padded(sizes.parts) + 3 * padded(u64::from(sizes.most_columns) * sizes.width as u64);
        let lists = u64::from(sizes.lists);
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

/// A run's own memory.
pub(super) struct Run {
    sizes: Sizes,
    room: Room,
    block: u32,
    arena: Option<Buffer<f32>>,
    bits: Buffer<u32>,
    steps: Buffer<Step>,
    records: Buffer<Record>,
    outcome: Buffer<Outcome>,
    weights: Buffer<f32>,
    sums: Buffer<u64>,
    small_places: Buffer<u64>,
    small_decays: Buffer<f32>,
    parameters: Dense<Cuda, f32>,
}

/// Memory for numbers.
pub(super) fn floats(device: &Device, len: usize) -> Result<Buffer<f32>> {
    device.alloc_for::<f32>(len.max(4), "training in one launch")
}

impl Run {
    /// None if the small parameters do not fit shared memory.
    pub fn new(cuda: &Cuda, op: &EpochsOp<'_, Cuda>, lists: &SharedLists, sizes: Sizes, blocks: u32) -> Result<Option<Self>> {
        let device = cuda.device();
        let block = THREADS.min(device.properties().max_threads_per_block);
        let available = u64::from(device.properties().shared_per_block);
        let Some(room) = Room::new(&sizes, u64::from(block / 32), available) else { return Ok(None) };
        let steps: Vec<Step> = (1i32..)
            .zip(op.rates.iter().zip(op.draws))
            .map(|(step, (&rate, &draws))| Step {
                rate: rate as f32,
                correction1: (1.0 / (1.0 - op.adam.beta1.powi(step))) as f32,
                correction2: (1.0 / (1.0 - op.adam.beta2.powi(step))) as f32,
                draws,
                reserved: 0,
            })
            .collect();
        let places: Vec<u64> = sizes.small.iter().map(|small| small.map_or(u64::MAX, |(place, _)| place as u64)).collect();
        let decays: Vec<f32> = sizes.small.iter().map(|small| small.map_or(0.0, |(_, decay)| decay as f32)).collect();
        let columns = op.features.shape().1;
        let arena = match room.arena_words as usize {
            0 => None,
            words => Some(floats(device, words * blocks as usize)?),
        };
        Ok(Some(Self {
            arena,
            bits: device.zeroed(2 * lists.entries.len().div_ceil(32).max(1))?,
            steps: device.upload(&steps)?,
            records: device.zeroed(op.rates.len() + 2)?,
            outcome: device.zeroed(1)?,
            weights: floats(device, 2 * columns * sizes.width)?,
            sums: device.zeroed(3 * sizes.small.len())?,
            small_places: device.upload(&places)?,
            small_decays: device.upload(&decays)?,
            parameters: Dense::from_vec(cuda, op.parameters.nrows(), op.parameters.ncols(), op.parameters.to_host()?)?,
            sizes,
            room,
            block,
        }))
    }
    /// Threads of a block, and bytes of its shared memory.
    pub fn shape(&self) -> (u32, u32) {
        (self.block, self.room.shared)
    }
    pub fn params(
        &self,
        op: &EpochsOp<'_, Cuda>,
        lists: &SharedLists,
        first: &Placed,
        (state, link): (DevicePtr<GridState>, HostLink),
    ) -> RunParams {
        let dropout = op.dropout.map(|probability| Dropout::new(probability, op.seed, 0));
        let sizes = &self.sizes;
        RunParams {
            state,
            link,
            words: lists.words.ptr(),
            arena: self.arena.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
            arena_words: self.room.arena_words,
            entries: lists.entries.ptr(),
            bits: self.bits.ptr(),
            entry_count: lists.entries.len() as u64,
            steps: self.steps.ptr(),
            records: self.records.ptr(),
            outcome: self.outcome.ptr(),
            weights: self.weights.ptr(),
            sums: self.sums.ptr(),
            parameters: self.parameters.raw().ptr(),
            small_places: self.small_places.ptr(),
            small_decays: self.small_decays.ptr(),
            first_place: first.place.start as u64,
            seed: op.seed,
            epochs: op.rates.len() as u32,
            stale: op.stale.unwrap_or(u32::MAX),
            selection: match op.kept {
                Kept::LowestLoss => 0,
                Kept::BestAccuracy => 1,
                Kept::Last => 2,
            },
            decoupled: op.adam.decoupled.into(),
            hidden_columns: op.hidden as u32,
            classes: op.classes as u32,
            class_bits: sizes.classes.trailing_zeros(),
            columns: op.features.shape().1 as u32,
            input_threshold: dropout[0].threshold(),
            hidden_threshold: dropout[1].threshold(),
            input_factor: dropout[0].factor() as f32,
            hidden_factor: dropout[1].factor() as f32,
            share: 1.0 / op.parts[0].len() as f32,
            validation_share: 1.0 / op.parts[1].len() as f32,
            beta1: op.adam.beta1 as f32,
            beta2: op.adam.beta2 as f32,
            epsilon: op.adam.epsilon as f32,
            first_decay: first.decay as f32,
            small: sizes.small.len() as u32,
            most_columns: sizes.most_columns,
            parts: sizes.parts as u32,
            staged: self.room.staged.into(),
        }
    }
    /// What came of it.
    pub fn finish(self, op: &EpochsOp<'_, Cuda>) -> Result<Whole<Epochs<Cuda>>> {
        let end = self.outcome.to_vec()?.first().copied().unwrap_or_else(Outcome::zeroed);
        if end.flags & ODD != 0 || end.best == 0 {
            return Ok(Whole::Declined(format!("a number of epoch {} is none, or out of the range of its sums", end.epochs)));
        }
        let share = |right: u32, part: usize| f64::from(right) / op.parts[part].len() as f64;
        let records = self.records.to_vec()?;
        let epochs = records.iter().skip(1).take(end.epochs as usize).map(|r| EpochScores {
            loss: r.loss.cast_signed() as f64 / UNIT,
            validation_loss: r.validation_loss.cast_signed() as f64 / UNIT,
            accuracies: [share(r.train_right, 0), share(r.validation_right, 1), share(r.test_right, 2)],
        });
        let (best, cancelled) = (end.best as usize, end.flags & CANCELLED != 0);
        Ok(Whole::Done(Epochs { parameters: self.parameters, epochs: epochs.collect(), best, cancelled }))
    }
}
