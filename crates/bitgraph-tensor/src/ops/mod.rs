//! The operations, as values: a function says what is computed, steps say what is done to the elements before they are stored, and where the
//! result goes is said once, the same way for all of them.
//!
//! `spmm(&a, &x).scale_rows(&d).scale_columns(&d).bias(&b).relu().eval()` is a layer of a graph convolution in one pass over memory.
//!
//! The functions here are the front end: they check shapes and types once and then call the backend. The traits of [`crate::backend`] are
//! what a backend implements, a method for each family of operations, which gets a descriptor of plain data: small enums and handles.
//!
//! # Determinism
//! Every operation gives the same bits on every run with the same operands on the same backend, whatever the number of threads. Sums of
//! floats are formed in an order that the backend and the matrix decide; two backends may differ by rounding, and agree on which elements
//! dropout drops.

mod adam;
mod attention;
mod bit_batches;
mod bit_gcn;
mod bit_gemm;
mod bit_result;
mod bit_spmm;
pub mod bitgnn;
mod epochs;
mod gemm;
mod loss;
mod map;
mod neighbours;
mod norm;
mod operation;
mod pack;
mod recorder;
mod sddmm;
mod sgd;
mod spmm;

pub use adam::{AdamOp, AdamOut, AdamSettings, AdamState, adam};
pub use attention::{
    Attention, AttentionGradient, AttentionGradients, AttentionOp, NORM_FLOOR, Score, agnn, attention, dot_attention, gat, gat_v2,
};
pub use bit_batches::{BatchLayer, Batched, BitBatches, BitBatchesOp, bit_batches};
pub use bit_gcn::{BitGcn, BitGcnHidden, BitGcnOp};
pub use bit_gemm::{BitGemm, BitGemmOp, bit_gemm};
pub use bit_result::BitComputation;
pub use bit_spmm::{BitSpmm, BitSpmmOp, Reconcile, bit_spmm};
pub use epochs::{EpochScores, Epochs, EpochsLayers, EpochsOp, GatLayers, Kept, Placed, SharedByRuns, Whole};
pub use gemm::{DenseDense, GemmOp, gemm};
pub use loss::{
    CrossEntropyOp, argmax_rows, cross_entropy, cross_entropy_with_gradient, cross_entropy_with_sums, log_softmax, log_softmax_backward,
};
pub use map::{MapOp, Mapped, concat, map};
pub use neighbours::{NeighbourBatch, NeighbourSampler, NeighboursOp, SparseRows};
pub use norm::{
    BatchNormGradients, BatchNormOp, BatchNormalised, batch_norm, batch_norm_backward, dot_columns, moments, sum_columns, sum_columns_into,
};
pub use operation::{Computation, Fusing, Operation};
pub use pack::{Coding, PackOp};
pub use recorder::{Moment, Recorder};
pub use sddmm::{EdgeReduceOp, Pairing, Sampled, SddmmOp, edge_reduce, edge_softmax, edge_softmax_backward, sddmm};
pub use sgd::{SgdOp, SgdOut, SgdSettings, sgd};
pub use spmm::{Accumulation, Edge, FeaturePrecision, Load, Reduce, SparseDense, SpmmOp, spmm};
