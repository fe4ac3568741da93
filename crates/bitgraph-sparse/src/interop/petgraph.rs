//! `petgraph`: its graphs by way of their visit traits, and a pattern as a graph that petgraph's algorithms walk without a copy.
//!
//! Vertex `i` of a pattern is node `i`; entry `k` of the pattern is edge `k`. Directed: an arc from row to column.

use crate::{Coo, Csr, Duplicates, Error, Result, Values};
use bitgraph_semiring::Scalar;
use petgraph::graph::{Graph, NodeIndex};
use petgraph::visit::{
    Data, EdgeRef, GraphBase, GraphProp, IntoEdgeReferences, IntoNeighbors, IntoNodeIdentifiers, NodeCompactIndexable, NodeCount,
    NodeIndexable, VisitMap, Visitable,
};
use petgraph::{Directed, EdgeType};

/// The entries of a graph, and what `weight` makes of its edges.
fn entries<G, T>(graph: G, weight: impl Fn(&G::EdgeWeight) -> T) -> Result<(Coo, Vec<T>)>
where
    G: IntoEdgeReferences + NodeIndexable + GraphProp,
{
    let n = graph.node_bound();
    Csr::ids(n as u64, n as u64)?;
    let (mut rows, mut columns, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for edge in graph.edge_references() {
        // Indices are below the bound, which fits.
        rows.push(graph.to_index(edge.source()) as u32);
        columns.push(graph.to_index(edge.target()) as u32);
        weights.push(weight(edge.weight()));
    }
    Ok((Coo { mirrored: !graph.is_directed(), ..Coo::pattern(n, n, rows, columns) }, weights))
}

impl Csr {
    /// The pattern of a graph: any type of `petgraph` with edges and node indices. Edges of an undirected graph stand for both arcs,
    /// parallel edges are one entry, and the gaps in a `StableGraph`'s numbering are isolated vertices. O(edges log degree).
    ///
    /// ```
    /// let g = petgraph::graph::UnGraph::<(), ()>::from_edges([(0u32, 1), (1, 2)]);
    /// let a = bitgraph_sparse::Csr::from_petgraph(&g).unwrap();
    /// assert_eq!(a.row(1), &[0, 2]);
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`] for more nodes than 32-bit ids can name.
    pub fn from_petgraph<G>(graph: G) -> Result<Self>
    where
        G: IntoEdgeReferences + NodeIndexable + GraphProp,
    {
        let (coo, _) = entries(graph, |_| ())?;
        Ok(coo.into_csr(Duplicates::First)?.0)
    }

    /// The pattern of a graph and its weights, with parallel edges combined as `duplicates` says.
    ///
    /// # Errors
    /// [`Error::TooLarge`]; [`Error::Duplicate`] with [`Duplicates::Error`].
    pub fn from_petgraph_weighted<G, T: Scalar>(
        graph: G,
        weight: impl Fn(&G::EdgeWeight) -> T,
        duplicates: Duplicates,
    ) -> Result<(Self, Values)>
    where
        G: IntoEdgeReferences + NodeIndexable + GraphProp,
    {
        let (mut coo, weights) = entries(graph, weight)?;
        coo.values = Some(Values::from_vec(weights));
        let (csr, values) = coo.into_csr(duplicates)?;
        Ok((csr, values.unwrap_or_else(|| Values::from_vec(Vec::<T>::new()))))
    }

    /// A graph of `petgraph`: directed with every entry an edge, or undirected with the entries on and above the diagonal. Copies.
    ///
    /// # Errors
    /// [`Error::Shape`] for a matrix that is not square, [`Error::Length`] for another number of weights than entries.
    pub fn to_petgraph<E: Clone, Ty: EdgeType>(&self, weights: &[E]) -> Result<Graph<(), E, Ty, u32>> {
        let n = self.nrows();
        if !self.is_square() {
            let columns = self.ncols() as u64;
            return Err(Error::Shape { expected_rows: n as u64, expected_columns: n as u64, found_rows: n as u64, found_columns: columns });
        }
        if weights.len() != self.nnz() {
            return Err(Error::Length { array: "weights", expected: self.nnz() as u64, found: weights.len() as u64 });
        }
        // petgraph keeps the largest index for itself.
        if n as u64 >= u64::from(u32::MAX) || self.nnz() as u64 >= u64::from(u32::MAX) {
            return Err(Error::TooLarge { rows: n as u64, columns: n as u64 });
        }
        let mut graph = Graph::with_capacity(n, self.nnz());
        for _ in 0..n {
            graph.add_node(());
        }
        for i in 0..n {
            for k in self.row_range(i) {
                let j = self.indices()[k] as usize;
                if Ty::is_directed() || i <= j {
                    graph.add_edge(NodeIndex::new(i), NodeIndex::new(j), weights[k].clone());
                }
            }
        }
        Ok(graph)
    }
}

impl GraphBase for Csr {
    type NodeId = u32;
    type EdgeId = usize;
}

impl Data for Csr {
    type NodeWeight = ();
    type EdgeWeight = ();
}

impl GraphProp for Csr {
    type EdgeType = Directed;
}

impl NodeCount for Csr {
    fn node_count(&self) -> usize {
        self.nrows()
    }
}

impl NodeIndexable for Csr {
    fn node_bound(&self) -> usize {
        self.nrows()
    }
    fn to_index(&self, node: u32) -> usize {
        node as usize
    }
    fn from_index(&self, index: usize) -> u32 {
        index as u32
    }
}

impl NodeCompactIndexable for Csr {}

impl<'a> IntoNeighbors for &'a Csr {
    type Neighbors = std::iter::Copied<std::slice::Iter<'a, u32>>;
    fn neighbors(self, node: u32) -> Self::Neighbors {
        self.row(node as usize).iter().copied()
    }
}

impl IntoNodeIdentifiers for &Csr {
    type NodeIdentifiers = std::ops::Range<u32>;
    fn node_identifiers(self) -> Self::NodeIdentifiers {
        0..self.nrows() as u32
    }
}

/// The vertices that a walk has met.
#[derive(Clone, Debug, Default)]
pub struct Visited(crate::BitVector);

impl VisitMap<u32> for Visited {
    fn visit(&mut self, node: u32) -> bool {
        let new = !self.0.get(node as usize);
        self.0.set(node as usize, true);
        new
    }
    fn is_visited(&self, node: &u32) -> bool {
        self.0.get(*node as usize)
    }
    fn unvisit(&mut self, node: u32) -> bool {
        let was = self.0.get(node as usize);
        self.0.set(node as usize, false);
        was
    }
}

impl Visitable for Csr {
    type Map = Visited;
    fn visit_map(&self) -> Visited {
        Visited(crate::BitVector::zeros(self.nrows()))
    }
    fn reset_map(&self, map: &mut Visited) {
        map.0 = crate::BitVector::zeros(self.nrows());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use petgraph::graph::{DiGraph, UnGraph};
    use petgraph::visit::Bfs;

    #[test]
    fn there_and_back() {
        let mut g = UnGraph::<(), f32>::from_edges([(0u32, 1, 1.0f32), (1, 2, 2.0), (1, 2, 5.0), (3, 3, 4.0)]);
        g.add_node(());
        let (a, v) = Csr::from_petgraph_weighted(&g, |&w| w, Duplicates::Sum).unwrap();
        assert_eq!((a.nrows(), a.indices()), (5, &[1u32, 0, 2, 1, 3][..]));
        assert_eq!(v.expect::<f32>().unwrap(), &[1.0, 1.0, 7.0, 7.0, 4.0]);
        assert_eq!(Csr::from_petgraph(&g).unwrap(), a);
        let undirected: UnGraph<(), f32> = a.to_petgraph(v.expect::<f32>().unwrap()).unwrap();
        assert_eq!((undirected.node_count(), undirected.edge_count()), (5, 3));
        assert_eq!(Csr::from_petgraph(&undirected).unwrap(), a);
        let directed: DiGraph<(), f32> = a.to_petgraph(v.expect::<f32>().unwrap()).unwrap();
        assert_eq!(directed.edge_count(), 5);
        assert_eq!(Csr::from_petgraph(&directed).unwrap(), a);
        assert!(a.to_petgraph::<_, Directed>(&[1]).is_err());
        assert_eq!(Csr::from_petgraph(&DiGraph::<(), ()>::new()).unwrap().nrows(), 0);
    }

    #[test]
    fn algorithms_walk_a_pattern() {
        let a = Csr::from_petgraph(&DiGraph::<(), ()>::from_edges([(0u32, 1), (1, 2), (3, 0)])).unwrap();
        let (mut bfs, mut order) = (Bfs::new(&a, 0), Vec::new());
        while let Some(v) = bfs.next(&a) {
            order.push(v);
        }
        assert_eq!(order, [0, 1, 2]);
        assert_eq!(petgraph::algo::toposort(&a.to_petgraph::<_, Directed>(&[(); 3]).unwrap(), None).unwrap().len(), 4);
    }
}
