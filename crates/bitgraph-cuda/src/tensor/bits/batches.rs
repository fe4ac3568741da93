//! Layers over batches of small graphs as one launch: a part of up to 128 vertices is a block's, through all layers.
//!
//! Invariant: the classes are those of the operations one by one. What a launch has no room for is declined with the reason: wider layers, codes
//! of more bits, levels whose distance is no power of two, graphs that reach each other.

use super::super::params::dense;
use crate::device::{Buffer, Device, DevicePtr, Kernel, Mode, Shape, parameters};
use crate::tensor::TensorKernels;
use crate::{Cuda, Result};
use bitgraph_kernels::constant;
use bitgraph_sparse::Csr;
use bitgraph_tensor::ops::{BatchLayer, Batched, BitBatchesOp, Whole};
use bitgraph_tensor::{DenseMut, Planes, Quantise};
use bytemuck::Zeroable;

const MODULE: &str = "tensor/bits_batches";
/// Vertices of a part, and columns of its features, that there is room for.
const SIDE: usize = 128;
/// Columns between layers.
const HIDDEN: usize = 16;
/// Classes, whose number shares a word with a product.
const CLASSES: usize = 256;
/// Words of a vertex's codes.
const ROW: usize = 36;
/// Threads of a block.
const THREADS: u32 = 256;
/// Layers.
const LAYERS: usize = constant("tensor/bits_batches.cuh", "BATCH_LAYERS") as usize;
/// Planes that there are kernels for.
const PLANES: [u32; 4] = [1, 2, 4, 8];
/// Products are added to a float of this magnitude.
const MOST_SUM: u64 = 1 << 23;

parameters! {
    struct Levels = "tensor/bits_batches.cuh" "bg::BatchLevels" {
        scale: f32,
        shift: f32,
        zero: i32,
        highest: u32,
    }
    struct LayerLevels = "tensor/bits_batches.cuh" "bg::BatchLayer" {
        sums: Levels,
        products: Levels,
    }
    struct Params = "tensor/bits_batches.cuh" "bg::BitsBatchesParams" {
        adjacency: DevicePtr<u32>,
        features: DevicePtr<u32>,
        first: DevicePtr<u32>,
        middle: DevicePtr<u32>,
        last: DevicePtr<u32>,
        classes: DevicePtr<i32>,
        stride: u64,
        parts: u32,
        vertices: u32,
        columns: u32,
        chunks: u32,
        between: u32,
        class_count: u32,
        layers: [LayerLevels; LAYERS],
    }
}

/// Why a launch does not take a batch.
type Reason = String;

impl Levels {
    /// Levels of whole numbers from 0 to `largest`, where the kernel's rounding is exact.
    fn new(q: Quantise, largest: u64) -> std::result::Result<Self, Reason> {
        let shift = (0..24i32).find(|&s| q.scale == f64::from(1u32 << s));
        let Some(shift) = shift else { return Err(format!("levels are {} apart, which is no power of two below 2^24", q.scale)) };
        if largest >= MOST_SUM || largest >> shift >= MOST_SUM / 2 {
            return Err(format!("sums of up to {largest}, in steps of {}, are too large for one launch", q.scale));
        }
        if q.bits > 8 {
            return Err(format!("levels of {} bits are more than a byte", q.bits));
        }
        let scale = (-f64::from(shift)).exp2() as f32;
        // 1.5 * 2^23, as a number and as bits.
        let (magic, bits) = (12_582_912.0f32, 0x4b40_0000i32);
        Ok(Self { scale, shift: magic - 8_388_608.0 * scale, zero: q.zero_point.saturating_sub(bits), highest: q.highest() })
    }
}

/// The largest number that a code of so many bits stands for.
fn top(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// The weights as bytes, `outputs` lines of `inputs`: 4 to a word.
fn bytes_of(layer: &BatchLayer<Cuda>, (outputs, inputs): (usize, usize)) -> Result<Vec<u32>> {
    let host = layer.weights.to_host()?;
    let (rows, columns) = layer.weights.shape();
    let mut bytes = vec![0u32; outputs * inputs / 4];
    for c in 0..columns {
        for r in 0..rows {
            let (word, bit) = host.layout().position(r, c);
            let code = (0..host.bits()).fold(0, |code, plane| code | (host.plane_words(plane)[word] >> bit & 1) << plane);
            bytes[(c * inputs + r) / 4] |= code << (8 * (r % 4));
        }
    }
    Ok(bytes)
}

/// The pattern of every part as 128 x 128 bits, and the most entries of a row; none where parts reach each other.
fn patterns(csr: &Csr, vertices: usize) -> Option<(Vec<u32>, usize)> {
    let mut words = vec![0u32; csr.nrows() / vertices * SIDE * (SIDE / 32)];
    let mut most = 0;
    for row in 0..csr.nrows() {
        let (part, own) = (row / vertices, row % vertices);
        let line = (part * SIDE + own) * (SIDE / 32);
        most = most.max(csr.degree(row));
        for &column in csr.row(row) {
            let column = column as usize;
            if column / vertices != part {
                return None;
            }
            let place = column % vertices;
            words[line + place / 32] |= 1 << (place % 32);
        }
    }
    Some((words, most))
}

/// The planes of every part, along its vertices: 128 lines of 128 bits each.
fn transposed(features: &Planes<Cuda>, vertices: usize, planes: usize) -> Result<Vec<u32>> {
    let host = features.to_host()?;
    let (layout, line) = (host.layout(), SIDE / 32);
    let mut words = vec![0u32; layout.nrows() / vertices * planes * SIDE * line];
    for plane in 0..host.bits() {
        let from = host.plane_words(plane);
        for row in 0..layout.nrows() {
            let (part, own) = (row / vertices, row % vertices);
            let base = (part * planes + plane as usize) * SIDE * line + own / 32;
            for (k, &word) in layout.line(from, row).iter().enumerate() {
                let mut left = word;
                while left != 0 {
                    words[base + (32 * k + left.trailing_zeros() as usize) * line] |= 1 << (own % 32);
                    left &= left - 1;
                }
            }
        }
    }
    Ok(words)
}

struct Batches {
    device: Device,
    kernel: Kernel<Params>,
    shape: Shape,
    adjacency: Buffer<u32>,
    features: Buffer<u32>,
    weights: [Buffer<u32>; 3],
    levels: [LayerLevels; LAYERS],
    parts: usize,
    vertices: usize,
    columns: usize,
    between: usize,
    classes: usize,
}

/// The levels of every layer, or why one has none here.
fn levels(op: &BitBatchesOp<'_, Cuda>, most: usize) -> std::result::Result<Vec<LayerLevels>, Reason> {
    let mut codes = top(op.features.bits());
    let mut all = Vec::new();
    for layer in op.layers {
        if layer.sums.zero_point != 0 {
            return Err(format!("levels of sums begin at {}", layer.sums.zero_point));
        }
        let sums = Levels::new(layer.sums, most as u64 * codes)?;
        let (weight, inputs) = (top(layer.weights.bits()), layer.weights.shape().0 as u64);
        let largest = u64::from(layer.sums.highest()) * weight * inputs;
        let products = match layer.products {
            Some(q) => Levels::new(q, largest)?,
            None => Levels::zeroed(),
        };
        codes = layer.products.map_or(0, |q| u64::from(q.highest()));
        all.push(LayerLevels { sums, products });
    }
    Ok(all)
}

/// Why the operands are not one launch's, as far as their sizes say.
fn refusal(op: &BitBatchesOp<'_, Cuda>) -> Option<Reason> {
    let (first, others) = op.layers.split_first()?;
    let last = others.last().unwrap_or(first);
    let hidden = op.layers.iter().map(|l| l.weights.shape().1).rev().skip(1).max().unwrap_or(0);
    let levels = op.layers.iter().flat_map(|l| [Some(l.sums), l.products]).flatten().map(|q| q.bits);
    let bits = levels.chain(op.layers.iter().map(|l| l.weights.bits())).chain([op.features.bits()]).max().unwrap_or(0);
    let (columns, classes) = (op.features.shape().1, last.weights.shape().1);
    Some(if others.is_empty() {
        "there is one layer".into()
    } else if op.layers.len() > LAYERS {
        format!("{} layers are more than {LAYERS}", op.layers.len())
    } else if op.vertices > SIDE {
        format!("graphs of {} vertices are larger than {SIDE}", op.vertices)
    } else if columns > SIDE || columns == 0 {
        format!("{columns} columns of features are none, or more than {SIDE}")
    } else if hidden > HIDDEN {
        format!("{hidden} columns between layers are more than {HIDDEN}")
    } else if classes > CLASSES || classes == 0 {
        format!("{classes} classes are none, or more than {CLASSES}")
    } else if bits > 8 {
        format!("codes of {bits} bits are more than a byte")
    } else {
        return None;
    })
}

/// A batch that is one launch, or why it is not.
pub(super) fn prepare(cuda: &Cuda, op: &BitBatchesOp<'_, Cuda>) -> Result<Whole<Box<dyn Batched<Cuda>>>> {
    if let Some(reason) = refusal(op) {
        return Ok(Whole::Declined(reason));
    }
    if cuda.is_reference() || cuda.tensor_kernels() == TensorKernels::General {
        return Ok(Whole::Declined("fused forms are not wanted".into()));
    }
    let (csr, _) = op.matrix.to_host()?;
    let Some((pattern, most)) = patterns(&csr, op.vertices) else {
        return Ok(Whole::Declined(format!("graphs of {} vertices reach each other", op.vertices)));
    };
    let levels = match levels(op, most) {
        Ok(levels) => levels,
        Err(reason) => return Ok(Whole::Declined(reason)),
    };
    // Levels have no more planes than are kept between layers.
    let kept = op.layers.iter().filter_map(|l| l.products).map(|q| q.bits).chain([op.features.bits()]).max().unwrap_or(1);
    let Some(planes) = PLANES.into_iter().find(|&p| p >= kept) else { return Ok(Whole::Declined("codes have too many bits".into())) };
    let device = cuda.device();
    let parts = csr.nrows() / op.vertices;
    let features = transposed(op.features, op.vertices, planes as usize)?;
    let kernel = device.kernel::<Params>(MODULE, &format!("bits_batches_{planes}"))?;
    let shared = 4 * (2 * SIDE * 4 + 2 * planes as usize * 4 * (SIDE + HIDDEN) + SIDE * ROW) as u32;
    let block = THREADS.min(device.properties().max_threads_per_block);
    let grid = (device.resident(&kernel, block, shared)? * device.properties().sms).min(parts as u32);
    if grid == 0 && parts > 0 {
        return Ok(Whole::Declined("a block's graphs do not fit shared memory".into()));
    }
    let (last, others) = op.layers.split_last().map_or((&op.layers[0], &op.layers[..0]), |split| split);
    let classes = last.weights.shape().1;
    let mut middle = Vec::new();
    for layer in &others[1..] {
        middle.extend(bytes_of(layer, (HIDDEN, HIDDEN))?);
    }
    let weights = [bytes_of(&others[0], (HIDDEN, SIDE))?, middle, bytes_of(last, (classes.next_multiple_of(16), HIDDEN))?];
    let [a, b, c] = &weights;
    let batches = Batches {
        device: device.clone(),
        kernel,
        shape: Shape { grid, block, shared, mode: Mode::Plain },
        adjacency: device.upload(&pattern)?,
        features: device.upload(&features)?,
        weights: [device.upload(a)?, device.upload(b)?, device.upload(c)?],
        levels: std::array::from_fn(|k| levels.get(k).copied().unwrap_or_else(LayerLevels::zeroed)),
        parts,
        vertices: op.vertices,
        columns: op.features.shape().1,
        between: others.len() - 1,
        classes,
    };
    Ok(Whole::Done(Box::new(batches)))
}

impl Batched<Cuda> for Batches {
    fn run(&self, classes: DenseMut<'_, Cuda, i32>) -> Result<()> {
        let out = classes.open()?;
        let params = Params {
            adjacency: self.adjacency.ptr(),
            features: self.features.ptr(),
            first: self.weights[0].ptr(),
            middle: self.weights[1].ptr(),
            last: self.weights[2].ptr(),
            classes: dense(out.array.ptr(), out.window),
            stride: out.window.stride() as u64,
            parts: self.parts as u32,
            vertices: self.vertices as u32,
            columns: self.columns.next_multiple_of(8) as u32,
            chunks: self.columns.div_ceil(32) as u32,
            between: self.between as u32,
            class_count: self.classes as u32,
            layers: self.levels,
        };
        // SAFETY: every part has its pattern and its planes, every layer its weights and levels; the classes are one for each vertex.
        unsafe { self.device.launch(&self.kernel, self.shape, &params) }
    }
    fn bytes(&self) -> u64 {
        self.adjacency.bytes() + self.features.bytes() + self.weights.iter().map(Buffer::bytes).sum::<u64>()
    }
}
