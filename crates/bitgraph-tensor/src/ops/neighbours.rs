//! Batches of sampled neighbours, drawn as one operation, for backends that have it.

use super::Whole;
use crate::{Any, Dense, Tensor};
use bitgraph_backend::Matrix;
use std::ops::Range;

/// What batches of neighbours are drawn from.
///
/// A batch is a function of its seeds, the fan-outs and a key. Its first nodes are the seeds, in their order; hop `h` expands the nodes that
/// hop `h - 1` met first, those of hop 0 being the seeds, by the `h`-th fan-out, and nodes of the last hop have rows without entries.
///
/// * **Draws.** The row of vertex `v`, of `d` entries, at a fan-out of `f`, takes all entries in their order where `d <= f`. Else it takes `f`
///   of them by Floyd's method: for `i` from 0 to below `f`, `t` is element `i` of the row's sequence as a number below `d - f + i + 1`, and
///   entry `t` is taken, or entry `d - f + i` where `t` was taken before. The row's sequence is `Stream::new(key, v)` of `bitgraph_generate`, and
///   its elements `Stream::below`: no draw depends on another row.
/// * **Numbers.** A node that is met in a hop for the first time gets the next number, in the order of the rows that take it and of their draws.
/// * **Rows.** The entries of a row ascend by number; each has the weight degree / taken, rounded from `f64` to `f32`.
///
/// So marks of the smallest position, a scan and a sort of each row give the batch that a loop over rows and draws gives.
pub struct NeighboursOp<'a, B: Tensor> {
    /// The graph without loops, n x n: row `v` names the nodes that `v` hears from.
    pub adjacency: &'a Matrix<B>,
    /// How many entries of a row are taken at most, a number for each hop; 1 or more.
    pub fanouts: &'a [u32],
    /// Seeds of a batch at most; 1 or more.
    pub batch: usize,
    /// The class of each node; those of seeds are 0 to below `classes`.
    pub labels: &'a [i32],
    /// Classes.
    pub classes: usize,
    /// What has a row for each node, those of the batch's nodes to be gathered with it.
    pub sparse: Option<SparseRows<'a, B>>,
}

/// A sparse matrix with a value for each entry, beside its pattern.
pub struct SparseRows<'a, B: Tensor> {
    /// The pattern.
    pub pattern: &'a Matrix<B>,
    /// The values in the order of its CSR form, of one column.
    pub values: &'a Any<B>,
}

/// A batch on a backend.
pub struct NeighbourBatch<B: Tensor> {
    /// The vertices of the graph, by their numbers in the batch: nodes x 1.
    pub nodes: Dense<B, i32>,
    /// The entries between them, nodes x nodes.
    pub adjacency: Matrix<B>,
    /// The same with a loop at every node.
    pub with_loops: Matrix<B>,
    /// A weight for each entry, entries x 1.
    pub weights: Dense<B, f32>,
    /// 1 at the class of each seed, 0 elsewhere: nodes x classes.
    pub targets: Dense<B, f32>,
    /// Row `i` is that of `nodes(i)` of [`NeighboursOp::sparse`], entries in their order: a pattern, and values of its type.
    pub sparse: Option<(Matrix<B>, Any<B>)>,
}

/// Draws batches of neighbours on a backend. Batches are drawn one at a time.
pub trait NeighbourSampler<B: Tensor>: Send + Sync {
    /// Sets what batches take their seeds from: nodes that differ from each other. O(nodes).
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) for a node that the graph does not have; out of memory.
    fn set_order(&self, nodes: &[u32]) -> Result<(), B::Error>;
    /// The batch around some places of the order. O(entries taken + nodes * classes + entries of sparse rows), and logarithms of rows. Waits once:
    /// for how many nodes and entries there are, and entries of sparse rows. Its matrices are [short-lived](Matrix::short_lived). Declined where
    /// memory runs out.
    ///
    /// # Errors
    /// [`Error::Slice`](crate::Error::Slice) for places that are not there, or more than a batch has; the backend's.
    fn draw(&self, seeds: Range<usize>, key: u64) -> Result<Whole<NeighbourBatch<B>>, B::Error>;
    /// Rows of a matrix by number: row `i` is row `nodes(i)` of `x`. O(elements).
    ///
    /// # Errors
    /// Out of memory.
    fn gather(&self, x: &Any<B>, nodes: &Dense<B, i32>) -> Result<Any<B>, B::Error>;
}
