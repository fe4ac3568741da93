//! The graph that layers aggregate over, with what they scale by.
//!
//! Invariant: the adjacency has no loops; layers that count a node among its neighbours add it themselves.

use bitgraph_backend::Matrix;
use bitgraph_sparse::{Buffer, Csr, FormatKind, Offsets};
use bitgraph_tensor::{Dense, Real, TensorBackend};
use std::sync::Mutex;

/// A graph on a backend. Row `i` of its adjacency names the nodes that node `i` hears from. `R` is the type of scales.
pub struct Graph<B: TensorBackend, R: Real> {
    backend: B,
    adjacency: Matrix<B>,
    with_loops: Matrix<B>,
    degrees: Vec<usize>,
    powers: Mutex<Vec<(f64, Dense<B, R>)>>,
}

impl<B: TensorBackend, R: Real> Graph<B, R> {
    /// From a square pattern, whose loops are left out. O(entries).
    ///
    /// # Errors
    /// A pattern that is not square; out of memory.
    pub fn new(backend: &B, pattern: &Csr) -> Result<Self, B::Error> {
        if !pattern.is_square() {
            let (expected, found) = (pattern.nrows() as u64, pattern.ncols() as u64);
            return Err(crate::refused::<B>(crate::Error::Size { what: "columns of the adjacency", expected, found }));
        }
        let (bare, _) = pattern.filter_with_positions(|i, j| i != j);
        let degrees: Vec<usize> = (0..bare.nrows()).map(|i| bare.degree(i)).collect();
        let looped = with_loops(&bare).map_err(|e| B::Error::from(bitgraph_backend::Error::from(e)))?;
        Ok(Self {
            backend: backend.clone(),
            adjacency: Matrix::new(backend, &bare, None, FormatKind::Csr)?,
            with_loops: Matrix::new(backend, &looped, None, FormatKind::Csr)?,
            degrees,
            powers: Mutex::new(Vec::new()),
        })
    }
    /// The backend.
    pub fn backend(&self) -> &B {
        &self.backend
    }
    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.degrees.len()
    }
    /// The pattern without loops.
    pub fn adjacency(&self) -> &Matrix<B> {
        &self.adjacency
    }
    /// The pattern with a loop at every node: what attention runs over.
    pub fn with_loops(&self) -> &Matrix<B> {
        &self.with_loops
    }
    /// `(degree + 1)^exponent` of every node, of one column; kept from the first call on. O(nodes).
    ///
    /// # Errors
    /// Out of memory.
    pub fn degree_powers(&self, exponent: f64) -> Result<Dense<B, R>, B::Error> {
        // What a thread that panicked left is whole: entries are pushed complete.
        let mut powers = self.powers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, made)) = powers.iter().find(|(e, _)| *e == exponent) {
            return Ok(made.clone());
        }
        let values = self.degrees.iter().map(|&d| R::of((d as f64 + 1.0).powf(exponent))).collect();
        let made = Dense::column_vector(&self.backend, values)?;
        powers.push((exponent, made.clone()));
        Ok(made)
    }
}

/// A pattern without loops with one in every row.
fn with_loops(bare: &Csr) -> Result<Csr, bitgraph_sparse::Error> {
    let (mut offsets, mut indices) = (vec![0usize], Vec::with_capacity(bare.nnz() + bare.nrows()));
    for i in 0..bare.nrows() {
        let (row, own) = (bare.row(i), i as u32);
        let at = row.partition_point(|&j| j < own);
        indices.extend_from_slice(&row[..at]);
        indices.push(own);
        indices.extend_from_slice(&row[at..]);
        offsets.push(indices.len());
    }
    Csr::new(bare.nrows(), bare.ncols(), Offsets::from_usizes(&offsets), Buffer::from(indices))
}
