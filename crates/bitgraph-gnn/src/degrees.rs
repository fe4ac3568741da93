//! The degrees that layers scale by: of nodes that the host knows, or of nodes that a backend drew from a graph whose degrees it has.
//!
//! Invariant: what is gathered for drawn nodes are the bits that the host would have computed for them.

use crate::constants::{Constant, Constants};
use bitgraph_tensor::ops::NeighbourSampler;
use bitgraph_tensor::{Dense, Element, Real, TensorBackend};
use std::sync::Arc;

/// The degrees of a graph's nodes.
pub(crate) enum Degrees<B: TensorBackend, R: Real> {
    /// On the host.
    Known(Arc<[usize]>),
    /// Those of some nodes of a larger graph, on the backend.
    Drawn {
        /// The larger graph's.
        of: Arc<WholeDegrees<B, R>>,
        /// The nodes, of one column.
        nodes: Dense<B, i32>,
    },
}

/// The degrees of a graph whose nodes a backend draws, and functions of them there.
pub(crate) struct WholeDegrees<B: TensorBackend, R: Real> {
    backend: B,
    sampler: Box<dyn NeighbourSampler<B>>,
    degrees: Arc<[usize]>,
    inverse: Dense<B, R>,
    /// What does not depend on a batch.
    constants: Constants<B, R>,
}

/// `(degree + 1)^exponent`.
pub(crate) fn power<R: Real>(degree: usize, exponent: f64) -> R {
    R::of((degree as f64 + 1.0).powf(exponent))
}
/// One over a degree, 0 for a degree of 0.
pub(crate) fn inverse<R: Real>(degree: usize) -> R {
    R::of(if degree == 0 { 0.0 } else { 1.0 / degree as f64 })
}

impl<B: TensorBackend, R: Real> WholeDegrees<B, R> {
    /// Of a sampler and the degrees of its graph. O(nodes).
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(backend: &B, sampler: Box<dyn NeighbourSampler<B>>, degrees: Arc<[usize]>) -> Result<Self, B::Error> {
        let inverse = Dense::column_vector(backend, degrees.iter().map(|&d| inverse(d)).collect())?;
        Ok(Self { backend: backend.clone(), sampler, degrees, inverse, constants: Constants::default() })
    }
    /// What draws the nodes.
    pub fn sampler(&self) -> &dyn NeighbourSampler<B> {
        &*self.sampler
    }
    /// What layers keep for all batches.
    pub fn constants(&self) -> &Constants<B, R> {
        &self.constants
    }
    /// Rows of a matrix by drawn nodes.
    ///
    /// # Errors
    /// Out of memory.
    pub fn gather<T: Element>(&self, x: &Dense<B, T>, nodes: &Dense<B, i32>) -> Result<Dense<B, T>, B::Error> {
        match self.sampler.gather(&x.any(), nodes)?.get() {
            Some(rows) => Ok(rows),
            None => unreachable!("rows of a matrix are of its type"),
        }
    }
    /// One over the degree of each drawn node, 0 for a degree of 0.
    ///
    /// # Errors
    /// Out of memory.
    pub fn inverse(&self, nodes: &Dense<B, i32>) -> Result<Dense<B, R>, B::Error> {
        self.gather(&self.inverse, nodes)
    }
    /// `(degree + 1)^exponent` of each drawn node; those of all nodes are made once.
    ///
    /// # Errors
    /// Out of memory.
    pub fn powers(&self, exponent: f64, nodes: &Dense<B, i32>) -> Result<Dense<B, R>, B::Error> {
        let all = self.constants.get(Constant::Degrees { exponent: exponent.to_bits() }, || {
            Dense::column_vector(&self.backend, self.degrees.iter().map(|&d| power(d, exponent)).collect())
        })?;
        self.gather(&all, nodes)
    }
}

impl<B: TensorBackend, R: Real> Degrees<B, R> {
    /// The number of nodes.
    pub fn len(&self) -> usize {
        match self {
            Self::Known(degrees) => degrees.len(),
            Self::Drawn { nodes, .. } => nodes.nrows(),
        }
    }
    /// The largest; for nodes that were drawn the largest of the graph that they are of.
    pub fn largest(&self) -> usize {
        let degrees = match self {
            Self::Known(degrees) => degrees,
            Self::Drawn { of, .. } => &of.degrees,
        };
        degrees.iter().copied().max().unwrap_or_default()
    }
    /// `(degree + 1)^exponent` of every node, of one column.
    ///
    /// # Errors
    /// Out of memory.
    pub fn powers(&self, backend: &B, exponent: f64) -> Result<Dense<B, R>, B::Error> {
        match self {
            Self::Known(degrees) => Dense::column_vector(backend, degrees.iter().map(|&d| power(d, exponent)).collect()),
            Self::Drawn { of, nodes } => of.powers(exponent, nodes),
        }
    }
}
