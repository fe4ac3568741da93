//! What training and inference take of a device's memory, predicted tensor by tensor before anything is allocated.
//!
//! Sizes follow from the model, the graph, the features and the batches alone. What layers keep and make is followed through the forward and the
//! backward pass, and the most that is there at once counts.

use crate::batch::Sampler;
use crate::data::Dataset;
use crate::model::BlockExtent;
use crate::streamed::block_rows;
use crate::{Architecture, Error, Float, Model, Precision, Shape, quant};
use bitgraph_tensor::{Bits, TensorBackend};
use half::{bf16, f16};
use std::fmt;

/// The sizes of a graph with features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Nodes.
    pub nodes: u64,
    /// Entries of the adjacency.
    pub entries: u64,
    /// Columns of the features.
    pub inputs: u64,
    /// Entries of sparse features; none of dense ones.
    pub sparse: Option<u64>,
    /// Classes.
    pub classes: u64,
    /// Nodes and entries of a batch; none where the whole graph is trained on.
    pub batch: Option<(u64, u64)>,
    /// Whether features stay in host memory.
    pub streamed: bool,
    /// Whether batches are of neighbours, which a backend may draw itself.
    pub neighbours: bool,
    /// Whether the adjacency is symmetric: sums over it then need no transpose.
    pub symmetric: bool,
}

impl Extent {
    /// The same trained on batches.
    #[must_use]
    pub fn with_batches(self, sampler: Option<&Sampler>, streamed: bool) -> Self {
        let neighbours = matches!(sampler, Some(Sampler::Neighbours { .. }));
        Self { batch: sampler.map(|s| s.extent(self.nodes, self.entries)), streamed, neighbours, ..self }
    }
    /// The extent of a batch, as if it were all there is.
    fn of_batch(self) -> Option<Self> {
        let (nodes, entries) = self.batch?;
        // Rows of features are of the mean length, for want of better knowledge.
        let sparse = self.sparse.map(|all| (all as f64 * nodes as f64 / self.nodes.max(1) as f64) as u64);
        // Weights of its entries are not symmetric.
        Some(Self { nodes, entries, sparse, batch: None, streamed: false, symmetric: false, ..self })
    }
    /// That of a data set. O(entries): whether the adjacency is symmetric is looked up.
    #[must_use]
    pub fn of(set: &Dataset) -> Self {
        Self {
            nodes: set.nodes() as u64,
            entries: set.graph().nnz() as u64,
            inputs: set.features().shape().1 as u64,
            sparse: set.features().pattern().map(|p| p.nnz() as u64),
            classes: set.labels().classes() as u64,
            batch: None,
            streamed: false,
            neighbours: false,
            symmetric: set.graph().is_symmetric(),
        }
    }
    /// The same with features as models of a precision read them: signs are dense.
    #[must_use]
    pub fn read_in(self, precision: Precision) -> Self {
        let signs = matches!(precision, Precision::Bin | Precision::BiFull | Precision::Chain(_));
        Self { sparse: self.sparse.filter(|_| !signs), ..self }
    }
}

/// What a model is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Training: with gradients, the optimiser's memory, and what layers keep for their backward passes.
    Training,
    /// Inference alone.
    Inference,
}

/// Tensors by name with their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    tensors: Vec<(String, u64)>,
}

impl Footprint {
    pub(crate) fn add(&mut self, name: impl Into<String>, bytes: u64) {
        if bytes > 0 {
            self.tensors.push((name.into(), bytes));
        }
    }
    /// The tensors, in the order in which they are made.
    #[must_use]
    pub fn tensors(&self) -> &[(String, u64)] {
        &self.tensors
    }
    /// Bytes when all of them are there.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.tensors.iter().map(|(_, bytes)| bytes).sum()
    }
}

impl fmt::Display for Footprint {
    /// A line for each tensor, and one for the sum.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = [("in all".to_string(), self.peak())];
        self.tensors.iter().chain(&last).try_for_each(|(name, bytes)| writeln!(f, "{bytes:>14}  {name}"))
    }
}

/// Bytes of a pattern as lists.
fn lists(rows: u64, entries: u64) -> u64 {
    4 * (rows + 1) + 4 * entries
}
/// Bytes of its transpose, with the place of each entry.
fn transposed(columns: u64, entries: u64) -> u64 {
    lists(columns, entries) + 8 * entries
}

/// The footprint of a model over a graph. Of training on batches it is that of inference over the whole graph, by which epochs are scored, and
/// that of training over one batch. O(layers).
#[must_use]
pub fn footprint<B: TensorBackend, T: Float>(model: &Model<B, T>, extent: &Extent, purpose: Purpose) -> Footprint {
    if let Some(batch) = extent.of_batch().filter(|_| purpose == Purpose::Training) {
        let mut all = footprint(model, &Extent { batch: None, ..*extent }, Purpose::Inference);
        all.tensors.retain(|(name, _)| name != "parameters");
        let (real, nodes) = (size_of::<T::Real>() as u64, batch.nodes);
        let of_batch = footprint(model, &batch, Purpose::Training);
        all.tensors.extend(of_batch.tensors.into_iter().map(|(name, bytes)| (format!("a batch: {name}"), bytes)));
        if B::DRAWS_NEIGHBOURS && extent.neighbours && !extent.streamed {
            // Marks, labels and the order; inverse degrees and a power of them.
            all.add("a sampler: numbers for every node", (3 * 4 + 2 * real) * extent.nodes);
            // Where rows start, of the adjacency and of sparse features.
            let starts = if extent.sparse.is_some() { 2 } else { 1 };
            all.add("a sampler: nodes, rows and entries of a batch", (1 + starts) * 4 * nodes + 4 * batch.entries);
        }
        all.add("a batch: weights of entries and of losses", real * (batch.entries + 2 * nodes + nodes * extent.classes));
        return all;
    }
    let Extent { nodes, entries, inputs, sparse, .. } = *extent;
    let (own, real) = (size_of::<T>() as u64, size_of::<T::Real>() as u64);
    let training = purpose == Purpose::Training;
    let mut all = Footprint::default();
    all.add("adjacency", lists(nodes, entries));
    let read = |loops| model.extents().any(|block| block.loops == loops);
    all.add("adjacency with loops", if read(true) { lists(nodes, entries + nodes) } else { 0 });
    let features = sparse.map_or(nodes * inputs * own, |e| lists(nodes, e) + e * own);
    if extent.streamed {
        // A block is uploaded as f32 and then rounded.
        let rows = nodes.min(block_rows(inputs as usize) as u64);
        let block = |stored: u64| stored.div_ceil(nodes.max(1)) * rows;
        let bytes = sparse.map_or(rows * inputs * (4 + own), |e| lists(rows, block(e)) + block(e) * (4 + own));
        all.add("a block of features", bytes);
    } else {
        all.add("features", features);
    }
    all.add("labels and splits", 3 * 4 * nodes + 3 * real * nodes);
    if training {
        all.add("transpose of the features", sparse.map_or(0, |e| transposed(inputs, e)));
    }
    let flat = model.layout().flat_len() as u64;
    let rounded = if own == real { 0 } else { flat * own };
    all.add("parameters", flat * real + rounded);
    if training {
        all.add("gradients", flat * real);
        all.add("memory of the optimiser", 6 * flat * real);
        all.add("parameters of the best state", flat * real + rounded);
        all.add("parameters after epochs without a round trip", crate::train::replay_bytes(model, nodes));
    }
    // Where the first layer drops nothing, they are made once, and no part of what a step keeps.
    let summed = |block: &BlockExtent<'_>| training && block.first && block.sums_first && sparse.is_none() && block.inputs <= block.outputs;
    all.add("sums of the features over neighbours", if model.extents().any(|b| summed(&b) && !b.dropout) { features } else { 0 });
    if training {
        let read = |loops| model.extents().any(|block| block.loops == loops && (block.transpose || !extent.symmetric));
        let bytes = |loops, entries| if read(loops) { transposed(nodes, entries) } else { 0 };
        all.add("transposes of the adjacency", bytes(false, entries) + bytes(true, entries + nodes));
    }
    let blocks: Vec<BlockExtent<'_>> = model.extents().collect();
    // Operands of a product, and of the gradient of its weight, in the type that they are multiplied in.
    let wide = |block: &BlockExtent<'_>| match B::WIDENS_HALVES && own < real {
        true => {
            let inputs = if block.first && sparse.is_some() { 0 } else { nodes * block.inputs as u64 * real };
            [inputs, if inputs > 0 { inputs + nodes * block.outputs as u64 * real } else { 0 }]
        }
        false => [0; 2],
    };
    let mut tape = Vec::with_capacity(blocks.len());
    // Beside what is kept: the most that a pass over a block holds, forward and backward.
    let mut peak = 0;
    let mut kept_so_far = 0;
    for (l, block) in blocks.iter().enumerate() {
        let result = nodes * block.outputs as u64 * own;
        let values = if block.first { sparse.map_or(features, |e| e * own) } else { nodes * block.inputs as u64 * own };
        let shared = l > 0 && blocks[l - 1].drops_result;
        let dropped = if block.dropout && training && !shared && !(summed(block) && block.drops_input) { values } else { 0 };
        let norms = if block.batch_norm { 2 } else { 0 };
        // A result that is kept: for the gradient of its activation, for the signs' sake, or as the next layer's input.
        let stays = block.activation || blocks.get(l + 1).is_some_and(|next| !next.dropout);
        let results = norms + u64::from(block.sign) + u64::from(block.activation && (block.residual || block.sign)) + u64::from(stays);
        let sums = if summed(block) && block.dropout { features } else { 0 };
        let kept = if training { dropped + sums + (block.kept)(nodes) + results * result } else { 0 };
        let forward = (block.work)(nodes, entries, block.inputs as u64)[0] + wide(block)[0];
        let input = if block.first || training && !blocks[l - 1].activation && block.dropout { 0 } else { values };
        let before = if training { 0 } else { input };
        let own_kept = if training { 0 } else { (block.kept)(nodes) };
        peak = peak.max(kept_so_far + kept + before + own_kept + forward + if stays && training { 0 } else { result });
        kept_so_far += kept;
        tape.push(kept);
    }
    // The gradient of the logits is made of them, and they go.
    let logits = 2 * nodes * extent.classes * own;
    if training {
        peak = peak.max(kept_so_far + logits);
        for (block, kept) in blocks.iter().zip(tape).rev() {
            let result = nodes * block.outputs as u64 * own;
            // The first layer gives no gradient of its input.
            let backward = |inputs: u64| (block.work)(nodes, entries, inputs)[1];
            let backward = backward(if block.first { 0 } else { block.inputs as u64 }).max(backward(0) + wide(block)[1]);
            if block.activation || block.batch_norm || block.sign {
                peak = peak.max(kept_so_far + 2 * result);
            }
            // The value of the activation is of no use to the layer.
            let value = if block.activation { result } else { 0 };
            peak = peak.max(kept_so_far - value + result + backward);
            kept_so_far -= kept;
        }
    }
    all.add(if training { "kept values, results and gradients of layers" } else { "results of layers" }, peak);
    all.add("logits, and what scores are formed of", if training { 0 } else { logits });
    all
}

/// The peak of an architecture in a precision; none where it has no such model.
fn peak<B: TensorBackend + Bits>(of: Architecture, shape: &Shape, extent: &Extent, precision: Precision, purpose: Purpose) -> Option<u64> {
    fn at<B: TensorBackend, T: Float>(of: Architecture, shape: &Shape, extent: &Extent, purpose: Purpose) -> Option<u64> {
        let model = of.model::<B, T>(shape, extent.inputs as usize, extent.classes as usize).ok()?;
        Some(footprint(&model, extent, purpose).peak())
    }
    match precision {
        Precision::F32 => at::<B, f32>(of, shape, extent, purpose),
        Precision::F16 => at::<B, f16>(of, shape, extent, purpose),
        Precision::Bf16 => at::<B, bf16>(of, shape, extent, purpose),
        _ => {
            let model = quant::model::<B>(precision, shape, (extent.inputs as usize, extent.classes as usize)).ok()?;
            Some(footprint(&model, &extent.read_in(precision), purpose).peak())
        }
    }
}

/// Refuses what is predicted to take more than a limit, and says what would fit: features streamed, half precision, fewer columns, or both.
///
/// # Errors
/// [`Error::Memory`].
pub fn check<B: TensorBackend + Bits>(
    architecture: Architecture,
    shape: &Shape,
    extent: &Extent,
    (precision, purpose): (Precision, Purpose),
    limit: u64,
) -> Result<(), Error> {
    let Some(needed) = peak::<B>(architecture, shape, extent, precision, purpose).filter(|needed| *needed > limit) else { return Ok(()) };
    let fits = |shape: &Shape, precision| peak::<B>(architecture, shape, extent, precision, purpose).filter(|bytes| *bytes <= limit);
    let widths = || std::iter::successors(Some(shape.hidden), |h| Some(h / 2)).take_while(|h| *h > 0);
    let half = if precision == Precision::F32 { Precision::Bf16 } else { precision };
    let narrower =
        |precision| widths().skip(1).map(|hidden| Shape { hidden, ..*shape }).find_map(|s| Some((s.hidden, fits(&s, precision)?)));
    let streamed = Extent { streamed: true, ..*extent };
    let streamed = peak::<B>(architecture, shape, &streamed, precision, purpose).filter(|bytes| extent.batch.is_some() && *bytes <= limit);
    let instead = if let Some(bytes) = streamed {
        format!("with features streamed from host memory it takes {bytes}")
    } else if purpose == Purpose::Inference {
        "a model that was trained with fewer hidden columns may fit".to_string()
    } else if let Some(bytes) = fits(shape, half) {
        format!("in {half} it takes {bytes}")
    } else if let Some((hidden, bytes)) = narrower(precision) {
        format!("with {hidden} hidden columns it takes {bytes}")
    } else if let Some((hidden, bytes)) = narrower(half) {
        format!("in {half} with {hidden} hidden columns it takes {bytes}")
    } else {
        "no number of hidden columns fits".to_string()
    };
    Err(Error::Memory { needed, limit, instead })
}
