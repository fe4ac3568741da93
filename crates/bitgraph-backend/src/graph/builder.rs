//! Making a graph in a program: from edges, or from matrices of this and other crates.
//!
//! Invariant: what is built is checked; symmetry is made by `undirected` or found, never taken on trust.

use super::Graph;
use crate::{Backend, Error, GraphData, Symmetry};
use bitgraph_b2sr::Layout;
use bitgraph_semiring::Scalar;
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Coo, Csr, Duplicates, Values, mirrored};

/// The backend that graphs are made on where none is named: the CPU backend implements this, once, for [`Unnamed`].
pub trait DefaultBackend<B: Backend> {
    /// That backend.
    fn backend() -> B;
}

/// Stands for a backend that is not named.
#[derive(Clone, Copy, Debug)]
pub struct Unnamed;

/// A graph in the making: see [`Graph::from_edges`].
#[derive(Clone, Debug)]
#[must_use = "nothing is built before `build`"]
pub struct GraphBuilder<B> {
    backend: B,
    rows: Vec<u32>,
    columns: Vec<u32>,
    nodes: Option<usize>,
    weights: Option<Values>,
    undirected: bool,
    duplicates: Duplicates,
    ordering: Option<Ordering>,
}

impl<B: Backend> Graph<B>
where
    Unnamed: DefaultBackend<B>,
{
    /// A graph of arcs (tail, head), on the CPU unless [`GraphBuilder::on`] says otherwise. Directed unless
    /// [`GraphBuilder::undirected`] says otherwise; of arcs given more than once the first counts.
    pub fn from_edges(edges: impl IntoIterator<Item = (u32, u32)>) -> GraphBuilder<B> {
        let (rows, columns) = edges.into_iter().unzip();
        GraphBuilder {
            backend: Unnamed::backend(),
            rows,
            columns,
            nodes: None,
            weights: None,
            undirected: false,
            duplicates: Duplicates::First,
            ordering: None,
        }
    }
}

impl<B: Backend> GraphBuilder<B> {
    /// The number of vertices. Default: the largest number + 1.
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = Some(nodes);
        self
    }
    /// One weight for each edge, in their order.
    pub fn weights<T: Scalar>(mut self, weights: impl IntoIterator<Item = T>) -> Self {
        self.weights = Some(Values::from_vec(weights.into_iter().collect::<Vec<T>>()));
        self
    }
    /// Every edge goes both ways.
    pub fn undirected(mut self) -> Self {
        self.undirected = true;
        self
    }
    /// What becomes of arcs given more than once; with `undirected`, of opposite arcs too.
    pub fn duplicates(mut self, duplicates: Duplicates) -> Self {
        self.duplicates = duplicates;
        self
    }
    /// Stores the graph in an order once and for all, instead of leaving that to each algorithm's plan. Numbers seen by callers stay the
    /// input's.
    pub fn order(mut self, ordering: Ordering) -> Self {
        self.ordering = Some(ordering);
        self
    }
    /// The backend.
    pub fn on<C: Backend>(self, backend: C) -> GraphBuilder<C> {
        let Self { rows, columns, nodes, weights, undirected, duplicates, ordering, .. } = self;
        GraphBuilder { backend, rows, columns, nodes, weights, undirected, duplicates, ordering }
    }
    /// Builds the graph. O(edges log degree).
    ///
    /// # Errors
    /// A vertex out of range of `nodes`, another number of weights than edges, duplicates that are refused or overflow.
    pub fn build(self) -> Result<Graph<B>, B::Error> {
        let Self { backend, rows, columns, nodes, weights, undirected, duplicates, ordering } = self;
        let shape = |operand, expected: usize, found: usize| Error::Shape {
            operation: "graph",
            operand,
            expected: expected as u64,
            found: found as u64,
        };
        if let Some(found) = weights.as_ref().map(Values::len).filter(|&n| n != rows.len()) {
            return Err(shape("list of weights", rows.len(), found).into());
        }
        let largest = rows.iter().chain(&columns).max();
        let needed = largest.map_or(0, |&v| v as usize + 1);
        let nodes = nodes.unwrap_or(needed);
        if let Some(&vertex) = largest.filter(|_| needed > nodes) {
            return Err(Error::VertexOutOfRange { vertex: vertex.into(), nodes: nodes as u64 }.into());
        }
        let coo = Coo { values: weights, ..Coo::pattern(nodes, nodes, rows, columns) };
        let (mut csr, mut values) = coo.into_csr(duplicates).map_err(Error::from)?;
        let mut symmetry = Symmetry::Find;
        if undirected {
            (csr, values) = mirrored(&csr, values, None, duplicates).map_err(Error::from)?;
            symmetry = Symmetry::Symmetric;
        }
        let order = match ordering.filter(|&o| o != Ordering::None) {
            Some(ordering) => {
                let both = if undirected { csr.clone() } else { csr.symmetrized().map_err(Error::from)? };
                ordering.compute(&both).map(|p| (ordering, p))
            }
            None => None,
        };
        if let Some((_, p)) = &order {
            (csr, values) = p.apply_with(&csr, values.as_ref()).map_err(Error::from)?;
        }
        Ok(Graph::new(backend, GraphData::new(Layout::Csr(csr), values, symmetry, order)?))
    }
}

impl<B: Backend> TryFrom<Csr> for Graph<B>
where
    Unnamed: DefaultBackend<B>,
{
    type Error = B::Error;
    /// A graph of a square pattern, on the CPU; whether it is undirected is found when that matters.
    fn try_from(csr: Csr) -> Result<Self, B::Error> {
        Ok(Self::new(Unnamed::backend(), GraphData::new(Layout::Csr(csr), None, Symmetry::Find, None)?))
    }
}

impl<B: Backend> TryFrom<(Csr, Values)> for Graph<B>
where
    Unnamed: DefaultBackend<B>,
{
    type Error = B::Error;
    /// A weighted graph, on the CPU: values in the order of the pattern's entries.
    fn try_from((csr, values): (Csr, Values)) -> Result<Self, B::Error> {
        Ok(Self::new(Unnamed::backend(), GraphData::new(Layout::Csr(csr), Some(values), Symmetry::Find, None)?))
    }
}
