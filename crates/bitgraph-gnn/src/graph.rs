//! The graph that layers aggregate over, with what they scale by.
//!
//! Invariant: the adjacency has no loops; layers that count a node among its neighbours add it themselves.

use crate::constants::{Constant, Constants};
use crate::degrees::{Degrees, WholeDegrees, inverse};
use crate::patterns::{HostPatterns, Patterns, with_loops};
use crate::sums::{KeptSums, Together};
use bitgraph_backend::Matrix;
use bitgraph_sparse::{Buffer, Csr, FormatKind, Offsets, parallel};
use bitgraph_tensor::ops::{NeighbourBatch, Operation, Reduce, SparseDense, map, spmm};
use bitgraph_tensor::{Dense, Element, Real, TensorBackend};
use std::sync::Arc;

/// A graph on a backend. Row `i` of its adjacency names the nodes that node `i` hears from. `R` is the type of scales.
///
/// A part that was sampled of a larger graph keeps that graph's degrees, and its entries have weights, so that sums and means over a row
/// estimate those over the row of the larger graph. Layers of attention take no account of either.
pub struct Graph<B: TensorBackend, R: Real> {
    backend: B,
    patterns: Patterns<B>,
    degrees: Degrees<B, R>,
    weights: Option<Weights<B, R>>,
    constants: Constants<B, R>,
    /// Sums of the features, but of a graph that is trained on once.
    sums: Option<KeptSums<B>>,
    /// Row `g` names the nodes of graph `g`, where this is made of several.
    membership: Option<Matrix<B>>,
    statistics: Option<Statistics<B, R>>,
}

/// The mean and the variance of every column, of one row each.
pub type Moments<B, R> = (Dense<B, R>, Dense<B, R>);

/// What batch normalisation goes by at inference, where that is not all nodes at hand.
pub(crate) enum Statistics<B: TensorBackend, R: Real> {
    /// One over the number of the nodes that count at those, 0 at others.
    Nodes(Dense<B, R>),
    /// Those of every normalisation of a model, in their order.
    Known(Vec<Moments<B, R>>),
}

/// What the entries of a sampled graph count for.
struct Weights<B: TensorBackend, R: Real> {
    /// A weight for each entry of the adjacency, of one column.
    entries: Dense<B, R>,
    /// One over the degree of each node, 0 for a degree of 0, of one column.
    inverse_degrees: Dense<B, R>,
}

/// A graph in host memory, as a backend gets it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HostGraph {
    /// The adjacency.
    pub patterns: HostPatterns,
    /// The degrees that layers scale by.
    pub degrees: Vec<usize>,
    /// Weights of the entries; then degrees are those of a larger graph.
    pub weights: Option<Vec<f32>>,
}

impl HostGraph {
    /// From a square pattern without loops, which is all there is. O(entries).
    pub fn whole(bare: Csr) -> Self {
        let degrees = (0..bare.nrows()).map(|i| bare.degree(i)).collect();
        let symmetric = bare.is_symmetric();
        Self { patterns: HostPatterns { bare, looped: None, symmetric, short_lived: None }, degrees, weights: None }
    }
    /// A part of a larger graph, with the degrees that its nodes have there and a weight for each entry. O(entries).
    pub fn sampled(bare: Csr, degrees: Vec<usize>, weights: Vec<f32>) -> Self {
        // The pattern with loops is made here, beside steps over other batches.
        let looped = Some(with_loops(&bare));
        Self { patterns: HostPatterns { bare, looped, symmetric: false, short_lived: None }, degrees, weights: Some(weights) }
    }
    /// The same, to be trained on once, with so many entries of a row at most.
    pub fn short_lived(self, longest: u32) -> Self {
        Self { patterns: HostPatterns { short_lived: Some(longest), ..self.patterns }, ..self }
    }
}

/// A square pattern without its loops.
fn bare<B: TensorBackend>(pattern: &Csr) -> Result<Csr, B::Error> {
    if !pattern.is_square() {
        let (expected, found) = (pattern.nrows() as u64, pattern.ncols() as u64);
        return Err(crate::refused::<B>(crate::Error::Size { what: "columns of the adjacency", expected, found }));
    }
    // Most patterns have none: then nothing is counted and copied entry by entry. A small one is looked through by one thread.
    let bare = parallel::all(pattern.nrows(), 1 << 14, |i| !pattern.row(i).contains(&(i as u32)));
    Ok(if bare { pattern.clone() } else { pattern.filter_with_positions(|i, j| i != j).0 })
}

/// The matrix whose row `g` names the nodes of graph `g`, of so many nodes each.
fn membership<B: TensorBackend>(backend: &B, sizes: &[usize], nodes: usize) -> Result<Matrix<B>, B::Error> {
    let mut offsets = vec![0usize];
    offsets.extend(sizes.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    }));
    let found = offsets[sizes.len()];
    if nodes != found {
        let (expected, found) = (nodes as u64, found as u64);
        return Err(crate::refused::<B>(crate::Error::Size { what: "nodes of the graphs", expected, found }));
    }
    let members = Csr::new(sizes.len(), nodes, Offsets::from_usizes(&offsets), Buffer::from((0..nodes as u32).collect::<Vec<_>>()));
    Matrix::new(backend, &members.map_err(|e| B::Error::from(bitgraph_backend::Error::from(e)))?, None, FormatKind::Csr)
}

impl<B: TensorBackend, R: Real> Graph<B, R> {
    /// From a square pattern, whose loops are left out. O(entries).
    ///
    /// # Errors
    /// A pattern that is not square; out of memory.
    pub fn new(backend: &B, pattern: &Csr) -> Result<Self, B::Error> {
        Self::on(backend, HostGraph::whole(bare::<B>(pattern)?))
    }
    /// A graph of host memory.
    pub(crate) fn on(backend: &B, host: HostGraph) -> Result<Self, B::Error> {
        let HostGraph { patterns, degrees, weights } = host;
        let column = |values: Vec<R>| Dense::column_vector(backend, values);
        let weights = weights.map(|of| {
            let inverse_degrees = column(degrees.iter().map(|&d| inverse(d)).collect())?;
            Ok::<_, B::Error>(Weights { entries: column(of.into_iter().map(|w| R::of(w.into())).collect())?, inverse_degrees })
        });
        Ok(Self {
            backend: backend.clone(),
            sums: patterns.short_lived.is_none().then(KeptSums::default),
            patterns: Patterns::of_host(backend, patterns),
            weights: weights.transpose()?,
            degrees: Degrees::Known(degrees.into()),
            constants: Constants::default(),
            membership: None,
            statistics: None,
        })
    }
    /// A batch that a backend drew of a graph of these degrees: what [`Graph::on`] makes of the same batch in host memory.
    pub(crate) fn drawn(backend: &B, batch: NeighbourBatch<B>, of: &Arc<WholeDegrees<B, R>>) -> Result<Self, B::Error> {
        let NeighbourBatch { nodes, adjacency, with_loops, weights, .. } = batch;
        let entries = match weights.any().get::<R>() {
            Some(weights) => weights,
            None => map(&weights).eval_as()?,
        };
        Ok(Self {
            backend: backend.clone(),
            patterns: Patterns::there(backend, adjacency, with_loops),
            weights: Some(Weights { entries, inverse_degrees: of.inverse(&nodes)? }),
            degrees: Degrees::Drawn { of: Arc::clone(of), nodes },
            constants: Constants::default(),
            sums: None,
            membership: None,
            statistics: None,
        })
    }
    /// The sum of `x` over the neighbours of each node, by the weights that there are; an operation that goes on.
    ///
    /// # Errors
    /// As [`Graph::adjacency`].
    pub fn sum<T: Element<Real = R>>(&self, x: &Dense<B, T>) -> Result<Operation<SparseDense<B, T>>, B::Error> {
        let sum = spmm(self.adjacency()?, x);
        Ok(match &self.weights {
            Some(of) => sum.edge_values(&of.entries),
            None => sum,
        })
    }
    /// The mean of `x` over the neighbours of each node, 0 for nodes without. Over a sample it is the sum by weights over the degree that the
    /// node has in the whole graph.
    ///
    /// # Errors
    /// As [`Graph::adjacency`].
    pub fn mean<T: Element<Real = R>>(&self, x: &Dense<B, T>) -> Result<Operation<SparseDense<B, T>>, B::Error> {
        Ok(match &self.weights {
            Some(of) => self.sum(x)?.scale_rows(&of.inverse_degrees),
            None => self.sum(x)?.reduce(Reduce::Mean),
        })
    }
    /// The gradient of `x` in [`Graph::mean`] from that of its result; an operation that goes on. Rows are scaled before they are summed: once
    /// for a node, not once for an entry.
    ///
    /// # Errors
    /// Out of memory.
    pub fn mean_gradient<T: Element<Real = R>>(&self, dy: &Dense<B, T>) -> Result<Operation<SparseDense<B, T>>, B::Error> {
        match (&self.weights, &self.degrees) {
            (None, Degrees::Known(degrees)) => {
                let made = || Dense::column_vector(&self.backend, degrees.iter().map(|&d| inverse(d)).collect());
                let inverse = self.constants.get(Constant::InverseDegrees, made)?;
                Ok(self.sum(&map(dy).times_rows(&inverse).eval()?)?.transpose())
            }
            _ => self.mean(dy)?.gradient(dy),
        }
    }
    /// [`Graph::sum`] with the node itself among its neighbours, at a weight of 1.
    ///
    /// # Errors
    /// As [`Graph::adjacency`].
    pub fn sum_with_own<T: Element<Real = R>>(&self, x: &Dense<B, T>) -> Result<Operation<SparseDense<B, T>>, B::Error> {
        Ok(match &self.weights {
            Some(_) => self.sum(x)?.own(1.0),
            None => spmm(self.with_loops()?, x),
        })
    }
    /// Graphs side by side, of so many nodes each: a square pattern whose entries stay within them. O(entries + nodes).
    ///
    /// # Errors
    /// As [`Graph::new`]; [`Error::Size`](crate::Error::Size) for other nodes than the sizes ask for.
    pub fn of_graphs(backend: &B, pattern: &Csr, sizes: &[usize]) -> Result<Self, B::Error> {
        Ok(Self { membership: Some(membership(backend, sizes, pattern.nrows())?), ..Self::new(backend, pattern)? })
    }
    /// The same, to be trained on once, with so many neighbours of a node and nodes of a graph at most.
    pub(crate) fn of_graphs_once(backend: &B, pattern: &Csr, sizes: &[usize], (neighbours, nodes): (u32, u32)) -> Result<Self, B::Error> {
        let membership = membership(backend, sizes, pattern.nrows())?.short_lived(nodes);
        let host = HostGraph::whole(bare::<B>(pattern)?).short_lived(neighbours);
        Ok(Self { membership: Some(membership), ..Self::on(backend, host)? })
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
        self.statistics = Some(Statistics::Nodes(Dense::column_vector(&self.backend, shares)?));
        Ok(self)
    }
    /// The same with batch normalisation by statistics that are known at inference, one for each normalisation of a model in their order:
    /// those of the nodes that it was trained on.
    #[must_use]
    pub fn with_statistics(mut self, known: Vec<Moments<B, R>>) -> Self {
        self.statistics = Some(Statistics::Known(known));
        self
    }
    /// What [`Graph::with_statistics_of`] or [`Graph::with_statistics`] set.
    pub(crate) fn statistics(&self) -> Option<&Statistics<B, R>> {
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
    /// The degrees of the nodes, where the host knows them.
    pub(crate) fn host_degrees(&self) -> Option<&Arc<[usize]>> {
        match &self.degrees {
            Degrees::Known(degrees) => Some(degrees),
            Degrees::Drawn { .. } => None,
        }
    }
    /// The most neighbours of a node, or a number that is not below it.
    pub(crate) fn max_degree(&self) -> usize {
        self.degrees.largest()
    }
    /// The pattern without loops, on the backend from its first use on.
    ///
    /// # Errors
    /// Out of memory, at the first use.
    pub fn adjacency(&self) -> Result<&Matrix<B>, B::Error> {
        self.patterns.bare()
    }
    /// The pattern with a loop at every node, on the backend from its first use on: what attention runs over.
    ///
    /// # Errors
    /// As [`Graph::adjacency`].
    pub fn with_loops(&self) -> Result<&Matrix<B>, B::Error> {
        self.patterns.looped()
    }
    /// The patterns that were used, with their names.
    pub(crate) fn used_patterns(&self) -> impl Iterator<Item = (&'static str, &Matrix<B>)> {
        self.patterns.used()
    }
    /// `(degree + 1)^exponent` of every node, of one column; kept from the first call on. O(nodes).
    ///
    /// # Errors
    /// Out of memory.
    pub fn degree_powers(&self, exponent: f64) -> Result<Dense<B, R>, B::Error> {
        self.constants.get(Constant::Degrees { exponent: exponent.to_bits() }, || self.degrees.powers(&self.backend, exponent))
    }
    /// What neighbours' features are together, which `make` gives: the same for the same features, and made once for those.
    pub(crate) fn sums_of<T: Element<Real = R>>(
        &self,
        together: Together,
        features: &Dense<B, T>,
        make: impl FnOnce() -> Result<Dense<B, T>, B::Error>,
    ) -> Result<Dense<B, T>, B::Error> {
        match &self.sums {
            Some(kept) => kept.get(together, features, make),
            None => make(),
        }
    }
    /// A matrix that layers need in every pass, and that does not depend on the nodes: made once, for all batches that are drawn of a graph.
    pub(crate) fn constant(
        &self,
        name: Constant,
        (rows, columns): (usize, usize),
        element: impl Fn(usize, usize) -> R,
    ) -> Result<Dense<B, R>, B::Error> {
        let constants = match &self.degrees {
            Degrees::Known(_) => &self.constants,
            Degrees::Drawn { of, .. } => of.constants(),
        };
        constants.get(name, || {
            let elements = (0..rows).flat_map(|i| (0..columns).map(move |c| (i, c)));
            Dense::from_vec(&self.backend, rows, columns, elements.map(|(i, c)| element(i, c)).collect())
        })
    }
}
