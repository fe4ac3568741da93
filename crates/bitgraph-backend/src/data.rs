//! A graph on the host, as it came: what a [`crate::Graph`] is made of on any backend, shared by its copies.
//!
//! Invariants: the pattern is square; values, if any, are in the order of the pattern's CSR form whatever the format, and in the
//! same numbering as the pattern. Arcs run from row to column.

use crate::{Error, Stats, WeightStats};
use bitgraph_b2sr::Layout;
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::parallel::once;
use bitgraph_sparse::{Csr, Permutation, Values};
use std::sync::OnceLock;

/// Entries looked at when a pattern is said to be symmetric.
const SAMPLED: usize = 1024;

/// What is known of a graph's symmetry beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Symmetry {
    /// Nothing: it is found when first needed, in O(nnz).
    #[default]
    Find,
    /// Pattern and values equal their transposes: the source guarantees it. A sample of the entries is checked.
    Symmetric,
    /// The graph is to be taken as directed.
    Directed,
}

/// A graph on the host.
#[derive(Debug)]
pub struct GraphData {
    layout: Layout,
    values: Option<Values>,
    symmetry: Symmetry,
    order: Option<(Ordering, Permutation)>,
    csr: OnceLock<Csr>,
    stats: OnceLock<Stats>,
    pattern_symmetric: OnceLock<bool>,
    values_symmetric: OnceLock<bool>,
    weights: OnceLock<Result<WeightStats, Error>>,
}

impl GraphData {
    /// A graph that is laid out in a format, and perhaps renumbered: `order` is the renumbering that pattern and values are in, and the
    /// ordering that computed it (none for an unknown one).
    ///
    /// # Errors
    /// [`Error::NotSquare`]; [`Error::Shape`] for a wrong number of values or a permutation of another length;
    /// [`Error::NotSymmetric`] for a pattern said to be symmetric that a sample shows is not.
    pub fn new(layout: Layout, values: Option<Values>, symmetry: Symmetry, order: Option<(Ordering, Permutation)>) -> Result<Self, Error> {
        let ((rows, columns), edges) = (layout.shape(), layout.nnz());
        if rows != columns {
            return Err(Error::NotSquare { algorithm: "a graph", rows: rows as u64, columns: columns as u64 });
        }
        let shape = |operand, expected: usize, found: usize| {
            let (expected, found) = (expected as u64, found as u64);
            if expected == found { Ok(()) } else { Err(Error::Shape { operation: "graph", operand, expected, found }) }
        };
        shape("value array", edges, values.as_ref().map_or(edges, Values::len))?;
        shape("permutation", rows, order.as_ref().map_or(rows, |(_, p)| p.len()))?;
        if let (Symmetry::Symmetric, Layout::Csr(csr)) = (symmetry, &layout) {
            sample_symmetry(csr)?;
        }
        Ok(Self {
            layout,
            values,
            symmetry,
            order,
            csr: OnceLock::new(),
            stats: OnceLock::new(),
            pattern_symmetric: OnceLock::new(),
            values_symmetric: OnceLock::new(),
            weights: OnceLock::new(),
        })
    }
    /// The number of vertices.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.layout.shape().0
    }
    /// The number of stored entries: arcs, an undirected edge counting twice, loops once.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.layout.nnz()
    }
    /// The pattern in the format that it came in.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// The values, in the order of the pattern's CSR form.
    #[must_use]
    pub fn values(&self) -> Option<&Values> {
        self.values.as_ref()
    }
    /// The renumbering that pattern and values came in, and the ordering that computed it.
    #[must_use]
    pub fn order(&self) -> Option<&(Ordering, Permutation)> {
        self.order.as_ref()
    }
    /// The pattern as CSR, in the order that it came in. Shared if that is its format; converted once otherwise, in O(nnz).
    pub fn csr(&self) -> &Csr {
        match &self.layout {
            Layout::Csr(csr) => csr,
            tiles => once(&self.csr, || tiles.to_csr()),
        }
    }
    /// Measurements of the pattern, taken once.
    pub fn stats(&self) -> &Stats {
        once(&self.stats, || Stats::of(self.csr()))
    }
    /// Whether the pattern equals its transpose: an undirected graph, whatever its weights. O(nnz) where it has to be found, once.
    pub fn is_symmetric(&self) -> bool {
        match self.symmetry {
            Symmetry::Symmetric => true,
            Symmetry::Directed => false,
            Symmetry::Find => *once(&self.pattern_symmetric, || self.csr().is_symmetric()),
        }
    }
    /// Whether pattern and values equal their transposes. O(nnz) where it has to be found, once.
    pub fn is_symmetric_with_values(&self) -> bool {
        match self.symmetry {
            Symmetry::Symmetric => true,
            Symmetry::Directed => false,
            Symmetry::Find if self.values.is_none() => self.is_symmetric(),
            Symmetry::Find => *once(&self.values_symmetric, || self.csr().is_symmetric_with(self.values.as_ref())),
        }
    }
    /// What the weights are like; 1 everywhere where there are none. Refuses negative and NaN weights. O(nnz), once.
    ///
    /// # Errors
    /// [`Error::Weight`] naming the first such edge by the input's numbers.
    pub fn weights(&self) -> Result<&WeightStats, Error> {
        let measure = || {
            WeightStats::of(self.csr(), self.values.as_ref()).map_err(|error| match error {
                Error::Weight { row, column, weight, what } => {
                    let number = |v: u64| u64::from(self.number(v as u32));
                    Error::Weight { row: number(row), column: number(column), weight, what }
                }
                error => error,
            })
        };
        once(&self.weights, measure).as_ref().map_err(Error::clone)
    }
    /// The largest weight, if all are whole numbers of 0 or more, floats below 2^63; 1 where there are no values. O(nnz), once.
    pub fn max_whole_weight(&self) -> Option<u64> {
        const BOUND: f64 = 9_223_372_036_854_775_808.0;
        let stats = self.weights().ok().filter(|w| w.whole && w.largest < BOUND)?;
        Some(if self.values.is_none() { 1 } else { stats.largest as u64 })
    }
    /// Refuses a vertex that the graph does not have.
    ///
    /// # Errors
    /// [`Error::VertexOutOfRange`].
    pub fn check_vertex(&self, vertex: u32) -> Result<(), Error> {
        let nodes = self.nodes() as u64;
        if u64::from(vertex) < nodes { Ok(()) } else { Err(Error::VertexOutOfRange { vertex: vertex.into(), nodes }) }
    }
    /// The input's number of a row of the pattern.
    #[must_use]
    pub fn number(&self, row: u32) -> u32 {
        self.order.as_ref().map_or(row, |(_, p)| p.old_of_new()[row as usize])
    }
    /// The input's number of the vertex of maximum out-degree, the smallest among equals; none without vertices. O(n).
    #[must_use]
    pub fn max_degree_vertex(&self) -> Option<u32> {
        let (degrees, order) = (self.degrees(), self.order.as_ref());
        let number = |row: usize| order.map_or(row as u32, |(_, p)| p.old_of_new()[row]);
        let best = degrees.iter().enumerate().map(|(row, &degree)| (degree, std::cmp::Reverse(number(row)))).max();
        best.map(|(_, vertex)| vertex.0)
    }
    /// The out-degree of every row, in the order that the pattern came in.
    #[must_use]
    pub fn degrees(&self) -> Vec<u32> {
        match &self.layout {
            Layout::Csr(csr) => (0..csr.nrows()).map(|v| csr.degree(v) as u32).collect(),
            tiles => tiles.row_offsets().windows(2).map(|w| (w[1] - w[0]) as u32).collect(),
        }
    }
    /// Bytes of pattern and values, and of the CSR form where that was made.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.layout.bytes() + self.values.as_ref().map_or(0, Values::bytes) + self.csr.get().map_or(0, Csr::bytes)
    }
}

/// Refuses a pattern of which a sampled entry has no mirror image. O(samples log degree).
fn sample_symmetry(csr: &Csr) -> Result<(), Error> {
    let n = csr.nrows();
    for row in (0..n).step_by((n / SAMPLED).max(1)) {
        if let Some(&column) = csr.row(row).first()
            && csr.position(column as usize, row as u32).is_none()
        {
            return Err(Error::NotSymmetric { row: row as u64, column: column.into() });
        }
    }
    Ok(())
}
