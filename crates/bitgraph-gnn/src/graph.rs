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
    /// Row `g` names the nodes of graph `g`, where this is made of several.
    membership: Option<Matrix<B>>,
    /// One over the number of the nodes whose statistics count at inference at those, 0 at others.
    statistics: Option<Dense<B, R>>,
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
            membership: None,
            statistics: None,
        })
    }
    /// Graphs side by side, of so many nodes each: a square pattern whose entries stay within them. O(entries + nodes).
    ///
    /// # Errors
    /// As [`Graph::new`]; [`Error::Size`](crate::Error::Size) for other nodes than the sizes ask for.
    pub fn of_graphs(backend: &B, pattern: &Csr, sizes: &[usize]) -> Result<Self, B::Error> {
        let mut offsets = vec![0usize];
        offsets.extend(sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        }));
        let (nodes, found) = (pattern.nrows(), offsets[sizes.len()]);
        if nodes != found {
            let (expected, found) = (nodes as u64, found as u64);
            return Err(crate::refused::<B>(crate::Error::Size { what: "nodes of the graphs", expected, found }));
        }
        let members = Csr::new(sizes.len(), nodes, Offsets::from_usizes(&offsets), Buffer::from((0..nodes as u32).collect::<Vec<_>>()));
        let members = members.map_err(|e| B::Error::from(bitgraph_backend::Error::from(e)))?;
        Ok(Self { membership: Some(Matrix::new(backend, &members, None, FormatKind::Csr)?), ..Self::new(backend, pattern)? })
    }
    /// The same with batch normalisation by the statistics of these nodes alone at inference: those that were trained on, where there are others.
    ///
    /// # Errors
    /// [`Error::Node`](crate::Error::Node) for a node that there is not, [`Error::Combination`](crate::Error::Combination) for none; out of memory.
    pub fn with_statistics_of(mut self, nodes: &[u32]) -> Result<Self, B::Error> {
        let what = "nodes of the statistics";
        if nodes.is_empty() {
            return Err(crate::refused::<B>(crate::Error::Combination { what, why: "there are none" }));
        }
        let (mut shares, all) = (vec![R::of(0.0); self.nodes()], self.nodes() as u64);
        for &v in nodes {
            let none = || crate::refused::<B>(crate::Error::Node { what, node: u64::from(v), nodes: all });
            *shares.get_mut(v as usize).ok_or_else(none)? = R::of(1.0 / nodes.len() as f64);
        }
        self.statistics = Some(Dense::column_vector(&self.backend, shares)?);
        Ok(self)
    }
    /// What [`Graph::with_statistics_of`] set.
    pub(crate) fn statistics(&self) -> Option<&Dense<B, R>> {
        self.statistics.as_ref()
    }
    /// Which nodes belong to which graph: graphs x nodes.
    ///
    /// # Errors
    /// [`Error::Combination`](crate::Error::Combination) where this is one graph.
    pub fn membership(&self) -> Result<&Matrix<B>, B::Error> {
        let why = "the graph is not made of several";
        self.membership.as_ref().ok_or_else(|| crate::refused::<B>(crate::Error::Combination { what: "a read-out", why }))
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
