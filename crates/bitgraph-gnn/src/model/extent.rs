//! What a prediction of memory has to know of a model's layers: their sizes, and what stands around each.
//!
//! Invariant: nothing is computed and nothing is read from a device.

use super::Model;
use crate::Float;
use bitgraph_tensor::TensorBackend;

/// The sizes of a layer, and what stands around it.
pub(crate) struct BlockExtent<'a> {
    pub first: bool,
    pub inputs: usize,
    pub outputs: usize,
    pub dropout: bool,
    pub batch_norm: bool,
    pub activation: bool,
    pub sign: bool,
    pub residual: bool,
    /// Bytes that the layer keeps over so many nodes.
    pub kept: Box<dyn Fn(u64) -> u64 + 'a>,
    /// What its passes hold besides, forward and backward.
    pub work: Box<dyn Fn(u64, u64, u64) -> [u64; 2] + 'a>,
    /// Whether it reads the adjacency with loops.
    pub loops: bool,
    /// Whether it reads the transpose even of a symmetric one.
    pub transpose: bool,
    /// Whether it keeps the sums over neighbours of dense features that are no wider than its result.
    pub sums_first: bool,
    /// Whether it drops elements of such features itself.
    pub drops_input: bool,
    /// Whether its result is the next layer's input after dropout.
    pub drops_result: bool,
}

impl<B: TensorBackend, T: Float> Model<B, T> {
    /// What a prediction of memory has to know of every layer.
    pub(crate) fn extents(&self) -> impl Iterator<Item = BlockExtent<'_>> {
        let inputs = std::iter::once(self.inputs).chain(self.blocks.iter().map(|b| b.stage.columns()));
        self.blocks.iter().zip(inputs).enumerate().map(|(l, (block, inputs))| BlockExtent {
            first: l == 0,
            inputs,
            outputs: block.stage.columns(),
            dropout: block.around.dropout > 0.0,
            batch_norm: block.around.batch_norm,
            activation: block.around.activation.is_some(),
            sign: block.around.sign,
            residual: block.around.residual,
            kept: Box::new(|nodes| block.stage.kept_bytes(nodes)),
            work: Box::new(|nodes, entries, inputs| block.stage.work_bytes(nodes, entries, inputs)),
            loops: block.stage.reads_loops(),
            transpose: block.stage.reads_transpose(),
            sums_first: block.stage.sums_first(),
            drops_input: block.stage.drops_input(),
            drops_result: self.drops_result(l),
        })
    }
}
