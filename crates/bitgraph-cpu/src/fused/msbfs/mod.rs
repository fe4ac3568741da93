//! Fused search from many sources at once: one bit for each source, 512 to a step.
//!
//! A vertex has 512 bits, for the sources that have seen it. A step ORs them over arcs, so that one pass over the graph serves
//! all sources; how many new bits each source got is counted sixteen vertices at a time. More sources than 512 are searched in
//! batches. Results do not depend on the number of threads or the instruction set.

mod batch;
mod count;
mod kernel;
mod row;
mod select;

use crate::Isa;
use crate::fused::tc::work::Pool;
use batch::{Batch, Scratch};
use bitgraph_algorithms::{MsBfs, MsBfsConfig};
use bitgraph_backend::{Error, Result};
use bitgraph_sparse::{Csr, parallel};

/// Sources of a batch.
pub(crate) const LANES: usize = 512;

/// What is known about a graph before any search.
#[derive(Debug)]
pub struct MsBfsLayout {
    nodes: usize,
    entries: usize,
    /// The vertices that an arc enters.
    entered: Vec<u32>,
    scratch: Pool<Scratch>,
}

/// Whether the fused form takes this pattern: a square one with offsets of 32 bits.
#[must_use]
pub fn supports(csr: &Csr) -> bool {
    csr.is_square() && csr.offsets().as_u32().is_some()
}

impl MsBfsLayout {
    /// Prepares for searches of the graph with the arcs `out`, `incoming` being its transpose, or `out` again if it is
    /// symmetric. O(n) time, 4 bytes for every vertex that has an incoming arc.
    #[must_use]
    pub fn build(out: &Csr, incoming: &Csr) -> Self {
        let entered = (0..incoming.nrows()).filter(|&v| incoming.degree(v) > 0).map(|v| v as u32).collect();
        Self { nodes: out.nrows(), entries: out.nnz(), entered, scratch: Pool::default() }
    }
    /// Bytes of the layout, the memory that searches use again not counted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        4 * self.entered.len() as u64
    }
    /// Searches from all sources. `out` and `incoming` are those that the layout was built from. O(levels (n + nnz)) time for
    /// every 512 sources; 160 bytes for a vertex beside the result, 210 if levels are wanted.
    ///
    /// # Errors
    /// [`Error::NotSquare`], [`Error::Unsupported`] (see [`supports`]), [`Error::Shape`] if the layout is of another graph,
    /// [`Error::VertexOutOfRange`] for a source, or [`Error::Cancelled`].
    pub fn run(&self, out: &Csr, incoming: &Csr, config: &MsBfsConfig) -> Result<MsBfs> {
        self.run_isa(out, incoming, config, Isa::current())
    }
    /// `level` must be one that the CPU has.
    fn run_isa(&self, out: &Csr, incoming: &Csr, config: &MsBfsConfig, isa: Isa) -> Result<MsBfs> {
        if !out.is_square() {
            return Err(Error::NotSquare { algorithm: "breadth-first search", rows: out.nrows() as u64, columns: out.ncols() as u64 });
        }
        let (Some(o), Some(i)) = (out.offsets().as_u32(), incoming.offsets().as_u32()) else {
            return Err(Error::Unsupported {
                operation: "fused search from many sources",
                what: "offsets of 64 bits".into(),
                available: "offsets of 32 bits",
            });
        };
        for (operand, expected, found) in [
            ("the layout", self.nodes, out.nrows()),
            ("the layout", self.entries, out.nnz()),
            ("the transpose", out.nrows(), incoming.nrows()),
            ("the transpose", out.ncols(), incoming.ncols()),
            ("the transpose", out.nnz(), incoming.nnz()),
        ] {
            if expected != found {
                return Err(Error::Shape { operation: "ms_bfs", operand, expected: expected as u64, found: found as u64 });
            }
        }
        let n = self.nodes;
        if let Some(&vertex) = config.sources.iter().find(|&&s| s as usize >= n) {
            return Err(Error::VertexOutOfRange { vertex: vertex.into(), nodes: n as u64 });
        }
        let count = config.sources.len();
        let mut result = MsBfs {
            reached: vec![0; count],
            depth: vec![0; count],
            sum_levels: vec![0; count],
            levels: config.levels.then(|| parallel::tabulate(count * n, 1 << 16, |_| -1)),
        };
        let mut scratch = self.scratch.take();
        for (batch, sources) in config.sources.chunks(LANES).enumerate() {
            let first = batch * LANES;
            let lanes = first..first + sources.len();
            let levels = result.levels.as_mut().map(|l| &mut l[lanes.start * n..lanes.end * n]);
            let part =
                Batch { out: (o, out.indices()), incoming: (i, incoming.indices()), entered: &self.entered, isa, control: &config.control }
                    .run(sources, levels, &mut scratch)?;
            for (k, lane) in lanes.enumerate() {
                result.reached[lane] = part.reached[k];
                result.depth[lane] = part.depth[k];
                result.sum_levels[lane] = part.sum_levels[k];
            }
        }
        self.scratch.give(scratch);
        Ok(result)
    }
}

#[cfg(test)]
mod tests;
