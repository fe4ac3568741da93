//! Inference of a graph convolution of two layers over signs as one launch: `kernels/tensor/bits_gcn.cuh`.
//!
//! # Invariants
//! Sums of signs, and the signs that follow from them, are those of the operations one by one, since their thresholds are found by the same
//! epilogue; floats agree up to rounding. Everything is as often as it is run: sums of floats have a fixed order. What there is no room for
//! is declined with the reason.

mod plan;
#[cfg(test)]
mod tests;

use super::super::params::dense;
use super::fold::{Folded, fold};
use crate::device::{Buffer, Device, DevicePtr, Kernel, Shape, parameters};
use crate::tensor::TensorKernels;
use crate::{Cuda, Result};
use bitgraph_bittensor::BitMatrix;
use bitgraph_kernels::constant;
use bitgraph_sparse::Csr;
use bitgraph_tensor::ops::{BitGcn, BitGcnHidden, BitGcnOp, Whole};
use bitgraph_tensor::{BatchNorm, DenseMut, Epilogue, Reals, Step};
use plan::{NONE, Plan};

const MODULE: &str = "tensor/bits_gcn";
/// Columns of the hidden layer, and classes, that there is room for.
const HIDDEN: usize = constant("tensor/bits_gcn.cuh", "GCN_HIDDEN") as usize;
const CLASSES: usize = constant("tensor/bits_gcn.cuh", "GCN_CLASSES") as usize;
/// Words in shared memory of a row that is cut, and of each segment.
const CUT: usize = 2 + HIDDEN;
const SEGMENT_SIGNS: usize = CLASSES;
const SEGMENT_FLOATS: usize = CLASSES + HIDDEN + 1;
/// Threads of a block.
const THREADS: u32 = 1024;
/// Tasks of all warps up to which one launch is worth it: beyond, one launch for an operation fills the device too.
const MOST_TASKS: usize = 1 << 16;
/// Words of a line of the features that a product takes at a time.
const STEP: usize = 16;
/// Ones of a row that a byte counts.
const MOST_LISTED: usize = 255;
/// No column.
const NO_COLUMN: u16 = u16::MAX;
/// Differences of signs are stored in 15 bits beside the tag.
const MOST_DIFFERENCES: usize = (1 << 15) - 1;

parameters! {
    struct Params = "tensor/bits_gcn.cuh" "bg::BitsGcnParams" {
        arrived: DevicePtr<u32>,
        rounds: DevicePtr<u32>,
        features: DevicePtr<u32>,
        lists: DevicePtr<u16>,
        first: DevicePtr<u32>,
        first_rows: DevicePtr<[u32; 2]>,
        limits: DevicePtr<i32>,
        names: DevicePtr<u32>,
        rows: DevicePtr<u32>,
        segments: DevicePtr<u32>,
        cuts: DevicePtr<u32>,
        scales: DevicePtr<f32>,
        feature_scales: DevicePtr<f32>,
        scale_sums: DevicePtr<f32>,
        first_scales: DevicePtr<f32>,
        first_bias: DevicePtr<f32>,
        hidden: DevicePtr<u32>,
        products: DevicePtr<u32>,
        logits: DevicePtr<f32>,
        logits_stride: u64,
        nodes: u32,
        inputs: u32,
        stride: u32,
        list_stride: u32,
        tiles: u32,
        tasks: u32,
        hidden_columns: u32,
        classes: u32,
        product_words: u32,
        cut_words: u32,
        second: [[u32; 2]; 8],
        second_scales: [f32; 8],
        second_bias: [f32; 8],
        hidden_share: f32,
        reserved: u32,
    }
}

/// A model on the device.
struct Inference {
    device: Device,
    kernel: Kernel<Params>,
    shape: Shape,
    /// All but where the logits go.
    params: Params,
    /// What the parameters name.
    held: Held,
    form: String,
}

/// Arrays of one model.
#[derive(Default)]
struct Held {
    words: Vec<Buffer<u32>>,
    floats: Vec<Buffer<f32>>,
    pairs: Vec<Buffer<[u32; 2]>>,
    halves: Vec<Buffer<u16>>,
    limits: Buffer<i32>,
}

impl Held {
    fn words(&mut self, device: &Device, from: &[u32]) -> Result<DevicePtr<u32>> {
        self.words.push(device.upload(from)?);
        Ok(self.words[self.words.len() - 1].ptr())
    }
    fn zeros(&mut self, device: &Device, len: usize) -> Result<DevicePtr<u32>> {
        self.words.push(device.zeroed(len.max(4))?);
        Ok(self.words[self.words.len() - 1].ptr())
    }
    fn floats(&mut self, device: &Device, from: &[f32]) -> Result<DevicePtr<f32>> {
        self.floats.push(device.upload(from)?);
        Ok(self.floats[self.floats.len() - 1].ptr())
    }
    fn pairs(&mut self, device: &Device, from: &[[u32; 2]]) -> Result<DevicePtr<[u32; 2]>> {
        self.pairs.push(device.upload(from)?);
        Ok(self.pairs[self.pairs.len() - 1].ptr())
    }
    fn halves(&mut self, device: &Device, from: &[u16]) -> Result<DevicePtr<u16>> {
        self.halves.push(device.upload(from)?);
        Ok(self.halves[self.halves.len() - 1].ptr())
    }
    fn bytes(&self) -> u64 {
        let words: u64 = self.words.iter().map(Buffer::bytes).sum();
        let floats: u64 = self.floats.iter().map(Buffer::bytes).sum();
        let pairs: u64 = self.pairs.iter().map(Buffer::bytes).sum();
        let halves: u64 = self.halves.iter().map(Buffer::bytes).sum();
        words + floats + pairs + halves + self.limits.bytes()
    }
}

/// The features as the kernel reads them.
enum Input {
    /// Bits, in lines of a multiple of 16 words; rows are a multiple of 16.
    Bits(Vec<u32>),
    /// The columns that are one, so many places a row.
    Lists(Vec<u16>, usize),
}

/// The signs of the features, as they are read.
struct Features {
    input: Input,
    /// The columns, as bits, of which most are one: they are turned here, and in the weight, which keeps all products.
    turned: Vec<u32>,
}

impl Features {
    /// Lists where those are shorter than bits: adding rows of the weight up then costs less than a product. `forced` is for tests.
    fn new(signs: &BitMatrix, forced: Option<bool>) -> Self {
        let (rows, columns) = (signs.nrows(), signs.ncols());
        let (tall, words) = (rows.next_multiple_of(16), columns.div_ceil(32).next_multiple_of(STEP));
        let line = |row: usize| &signs.line(row)[..columns.div_ceil(32)];
        let mut counts = vec![0u32; columns];
        (0..rows).for_each(|row| each_one(line(row), |c| counts[c] += 1));
        let mut turned = vec![0u32; words];
        (0..columns).filter(|&c| 2 * counts[c] as usize > rows).for_each(|c| turned[c / 32] |= 1 << (c % 32));
        let mut bits = vec![0u32; tall * words];
        for row in 0..rows {
            let to = &mut bits[row * words..][..line(row).len()];
            to.iter_mut().zip(line(row)).zip(&turned).for_each(|((to, word), turned)| *to = word ^ turned);
        }
        let ones = |row: &[u32]| row.iter().map(|w| w.count_ones()).sum::<u32>() as usize;
        let most = bits.chunks(words).map(ones).max().unwrap_or(0);
        let places = most.next_multiple_of(8).max(8);
        let fits = most <= MOST_LISTED && columns < usize::from(NO_COLUMN);
        if forced.unwrap_or(!fits || 2 * places >= 4 * words) {
            return Self { input: Input::Bits(bits), turned };
        }
        let mut lists = vec![NO_COLUMN; rows * places];
        for (row, list) in lists.chunks_mut(places).enumerate() {
            let mut places = list.iter_mut();
            each_one(&bits[row * words..][..words], |c| {
                // As many places as ones, at least.
                if let Some(place) = places.next() {
                    *place = c as u16;
                }
            });
        }
        Self { input: Input::Lists(lists, places), turned }
    }
}

/// Calls `f` with every bit of a line that is one.
fn each_one(line: &[u32], mut f: impl FnMut(usize)) {
    for (k, &word) in line.iter().enumerate() {
        let mut left = word;
        while left != 0 {
            f(32 * k + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

/// The bits of the columns of a weight, 64 lines of as many words as `rows_turned` has: turned where a row or a column is.
fn columns_of(weight: &BitMatrix, rows_turned: &[u32], column_turned: impl Fn(usize) -> bool) -> Vec<u32> {
    let words = rows_turned.len();
    let mut lines = vec![0; HIDDEN * words];
    for c in 0..weight.ncols() {
        for r in 0..weight.nrows() {
            let row_turned = rows_turned[r / 32] >> (r % 32) & 1 != 0;
            lines[c * words + r / 32] |= u32::from(weight.bit(r, c) ^ row_turned ^ column_turned(c)) << (r % 32);
        }
    }
    lines
}
/// The same bits by rows: a line of 64 each, and one more where that makes pairs.
fn rows_of(columns: &[u32], words: usize, rows: usize) -> Vec<[u32; 2]> {
    let mut lines = vec![[0; 2]; rows.next_multiple_of(2)];
    for c in 0..HIDDEN {
        for (r, line) in lines.iter_mut().enumerate().take(rows) {
            line[c / 32] |= (columns[c * words + r / 32] >> (r % 32) & 1) << (c % 32);
        }
    }
    lines
}

/// The thresholds of the first product, and which columns are turned.
fn thresholds(cuda: &Cuda, op: &BitGcnOp<'_, Cuda>) -> Result<Option<(Vec<i32>, Vec<bool>)>> {
    let BitGcnHidden::Signs { mean, variance, epsilon } = op.hidden else { return Ok(None) };
    let (inputs, hidden) = op.first.shape();
    let norm = BatchNorm { mean: Reals::F32(mean.clone()), variance: Reals::F32(variance.clone()), gamma: None, beta: None, epsilon };
    let epilogue = Epilogue(vec![Step::ScaleColumns(Reals::F32(op.first_scales.clone())), Step::BatchNorm(norm), Step::Sign(None)]);
    let Some(Folded { thresholds, flips }) = fold(cuda, &epilogue, inputs as i32, (hidden, hidden.div_ceil(32)))? else { return Ok(None) };
    let flips = flips.to_vec()?;
    Ok(Some((thresholds.to_vec()?, (0..hidden).map(|c| flips[c / 32] >> (c % 32) & 1 != 0).collect())))
}

/// A line of 64 or 8 floats, the rest zeros.
fn filled<const N: usize>(from: &[f32]) -> [f32; N] {
    std::array::from_fn(|k| from.get(k).copied().unwrap_or(0.0))
}

/// Why the operands are not one launch's, as far as their sizes say.
fn refusal(op: &BitGcnOp<'_, Cuda>) -> Option<String> {
    let ((nodes, inputs), hidden, classes) = (op.features.shape(), op.first.shape().1, op.second.shape().1);
    let floats = matches!(op.hidden, BitGcnHidden::Floats { .. });
    Some(if nodes == 0 || inputs == 0 || hidden == 0 || classes == 0 {
        "there is nothing to infer".into()
    } else if hidden > HIDDEN {
        format!("{hidden} hidden columns are more than {HIDDEN}")
    } else if classes > CLASSES {
        format!("{classes} classes are more than {CLASSES}")
    } else if floats && inputs > MOST_DIFFERENCES {
        format!("{inputs} columns of features are more than {MOST_DIFFERENCES}")
    } else if !floats && op.feature_scales.is_some() {
        "features that are aggregated as signs have factors".into()
    } else if inputs >= 1 << 28 || nodes >= NONE as usize {
        "nodes or columns are too many to number".into()
    } else {
        return None;
    })
}

/// The sum of a node's and its neighbours' scales.
fn heard(adjacency: &Csr, scales: &[f32], row: usize) -> f32 {
    let sum: f64 = adjacency.row(row).iter().map(|&j| f64::from(scales[j as usize])).sum();
    (sum + f64::from(scales[row])) as f32
}

/// A model that is one launch, or why it is not.
pub(super) fn prepare(cuda: &Cuda, op: &BitGcnOp<'_, Cuda>) -> Result<Whole<Box<dyn BitGcn<Cuda>>>> {
    if let Some(reason) = refusal(op) {
        return Ok(Whole::Declined(reason));
    }
    if cuda.is_reference() || cuda.tensor_kernels() == TensorKernels::General {
        return Ok(Whole::Declined("fused forms are not wanted".into()));
    }
    prepare_as(cuda, op, op.features.shape().0 >= usize::from(u16::MAX), None)
}

/// The same, with numbers of rows in 32 bits where `wide`, and the features as bits where told so.
fn prepare_as(cuda: &Cuda, op: &BitGcnOp<'_, Cuda>, wide: bool, bits: Option<bool>) -> Result<Whole<Box<dyn BitGcn<Cuda>>>> {
    let device = cuda.device();
    let ((nodes, inputs), hidden, classes) = (op.features.shape(), op.first.shape().1, op.second.shape().1);
    let blocks = device.properties().sms;
    let (adjacency, _) = op.adjacency.to_host()?;
    let bias = match op.hidden {
        BitGcnHidden::Signs { .. } => None,
        BitGcnHidden::Floats { bias } => Some(bias.to_host()?),
    };
    let floats = bias.is_some();
    let segment = if floats { SEGMENT_FLOATS } else { SEGMENT_SIGNS };
    let Some(plan) = Plan::new(&adjacency, blocks as usize, (CUT, segment), MOST_TASKS) else {
        return Ok(Whole::Declined(format!("its lists are more than {MOST_TASKS} tasks, which fill the device operation by operation")));
    };
    let Features { input, turned: rows_turned } = Features::new(&op.features.to_host()?, bits);
    let words = rows_turned.len();
    let found = thresholds(cuda, op)?;
    let turned = |c: usize| found.as_ref().is_some_and(|(_, turned)| turned[c]);
    let first = columns_of(&op.first.to_host()?, &rows_turned, turned);
    let limit = |c: usize| {
        let ones: u32 = first[c * words..][..words].iter().map(|w| w.count_ones()).sum();
        match &found {
            // A column that is turned has its sums the other way round.
            Some((thresholds, turned)) if c < hidden => {
                let threshold = if turned[c] { 1 - thresholds[c] } else { thresholds[c] };
                threshold - inputs as i32 + 2 * ones as i32
            }
            _ => ones as i32,
        }
    };
    let limits: Vec<i32> = (0..HIDDEN).map(limit).collect();
    let (listed, table) = match &input {
        Input::Bits(_) => (false, 0),
        Input::Lists(..) => (true, 2 * inputs.next_multiple_of(2)),
    };
    let name = |flag: bool, yes: &'static str, no: &'static str| if flag { yes } else { no };
    let (sums, features, width) = (name(floats, "floats", "signs"), name(listed, "lists", "bits"), name(wide, "32", "16"));
    let kernel = device.kernel::<Params>(MODULE, &format!("bits_gcn_{sums}_{features}_{width}"))?;
    let block = THREADS.min(device.properties().max_threads_per_block);
    let factors = if floats { 2 * HIDDEN } else { 0 };
    let shared = 4 * (plan.cut_words as usize + factors + table) as u64;
    if shared > u64::from(device.properties().shared_per_block) {
        return Ok(Whole::Declined(format!("{shared} bytes of sums of long rows and of the first weight do not fit shared memory")));
    }
    // Both are below 2^16: shared memory has fewer words.
    let cuts: Vec<u32> = plan.cuts.iter().map(|[place, segments]| place | segments << 16).collect();
    let shape = device.persistent_shape(&kernel, block, shared as u32, blocks)?;
    if shape.grid != blocks {
        return Ok(Whole::Declined(format!("{blocks} blocks are not resident at once")));
    }
    let mut held = Held::default();
    let narrow = |names: &[u32]| names.chunks(2).map(|n| (n[0] & 0xffff) | n.get(1).map_or(0, |n| n << 16)).collect::<Vec<u32>>();
    let rows: Vec<u32> = match wide {
        true => plan.rows.concat(),
        false => plan.rows.iter().map(|[row, degree]| (row & 0xffff) | degree << 16).collect(),
    };
    let names = if wide { plan.names } else { narrow(&plan.names) };
    let scales = op.scales.to_host()?;
    let (mut feature_scales, mut scale_sums) = (DevicePtr::NULL, DevicePtr::NULL);
    let (mut first_scales, mut first_bias) = (DevicePtr::NULL, DevicePtr::NULL);
    if let Some(bias) = &bias {
        let factors = op.feature_scales.map(|d| d.to_host()).transpose()?;
        let both: Vec<f32> = (0..nodes).map(|i| scales[i] * factors.as_ref().map_or(1.0, |f| f[i])).collect();
        let sums: Vec<f32> = (0..nodes).map(|i| heard(&adjacency, &scales, i)).collect();
        feature_scales = held.floats(device, &both)?;
        scale_sums = held.floats(device, &sums)?;
        first_scales = held.floats(device, &filled::<HIDDEN>(&op.first_scales.to_host()?))?;
        first_bias = held.floats(device, &filled::<HIDDEN>(bias))?;
    }
    let product_words = if floats { 4 } else { classes.div_ceil(4) };
    let tall = nodes.next_multiple_of(16);
    let second_columns = columns_of(&op.second.to_host()?, &[0; HIDDEN / 32], |_| false);
    held.limits = device.upload(&limits)?;
    let (mut features_at, mut lists_at, mut first_at, mut first_rows) =
        (DevicePtr::NULL, DevicePtr::NULL, DevicePtr::NULL, DevicePtr::NULL);
    let list_stride = match &input {
        Input::Bits(bits) => {
            features_at = held.words(device, bits)?;
            first_at = held.words(device, &first)?;
            0
        }
        Input::Lists(lists, places) => {
            lists_at = held.halves(device, lists)?;
            first_rows = held.pairs(device, &rows_of(&first, words, inputs))?;
            *places
        }
    };
    let params = Params {
        arrived: held.zeros(device, 4)?,
        rounds: held.zeros(device, blocks as usize)?,
        features: features_at,
        lists: lists_at,
        first: first_at,
        first_rows,
        limits: held.limits.ptr(),
        names: held.words(device, &names)?,
        rows: held.words(device, &rows)?,
        segments: held.words(device, &plan.segments)?,
        cuts: held.words(device, &cuts)?,
        scales: held.floats(device, &scales)?,
        feature_scales,
        scale_sums,
        first_scales,
        first_bias,
        hidden: held.zeros(device, tall * if floats { 32 } else { 4 })?,
        products: held.zeros(device, nodes * product_words)?,
        logits: DevicePtr::NULL,
        logits_stride: 0,
        nodes: nodes as u32,
        inputs: inputs as u32,
        stride: words as u32,
        list_stride: list_stride as u32,
        tiles: (tall / 16) as u32,
        tasks: plan.segments.len() as u32,
        hidden_columns: hidden as u32,
        classes: classes as u32,
        product_words: product_words as u32,
        cut_words: plan.cut_words,
        second: std::array::from_fn(|c| [second_columns[2 * c], second_columns[2 * c + 1]]),
        second_scales: filled(&op.second_scales.to_host()?),
        second_bias: filled(&op.bias.to_host()?),
        hidden_share: 1.0 / hidden as f32,
        reserved: 0,
    };
    let form = format!("one launch of {blocks} blocks: first sums of {sums}, features as {features}, rows by {width} bits");
    Ok(Whole::Done(Box::new(Inference { device: device.clone(), kernel, shape, params, held, form })))
}

impl BitGcn<Cuda> for Inference {
    fn run(&self, logits: DenseMut<'_, Cuda, f32>) -> Result<()> {
        let out = logits.open()?;
        let params = Params { logits: dense(out.array.ptr(), out.window), logits_stride: out.window.stride() as u64, ..self.params };
        // SAFETY: the lists name rows and columns that the arrays were made for, and `held` keeps those; the logits are one for each node and
        // class; the launch is cooperative, and all blocks fit. Launches of one model follow each other on its stream.
        unsafe { self.device.launch(&self.kernel, self.shape, &params) }
    }
    fn bytes(&self) -> u64 {
        self.held.bytes()
    }
    fn form(&self) -> String {
        self.form.clone()
    }
}
