//! A graph laid out on a backend in one order and format: what layouts are built from and definitions run on.
//!
//! Invariant: everything here is in the arranged numbering; [`crate::Graph`] translates to and from the input's.

use crate::{Backend, Error, GraphData, Matrix};
use bitgraph_b2sr::Layout;
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Csr, FormatKind, Permutation, Values, parallel};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// A graph in one order and format on a backend.
pub struct Arranged<B: Backend> {
    backend: B,
    nodes: usize,
    edges: usize,
    symmetric: bool,
    ordering: Ordering,
    permutation: Option<Arc<Permutation>>,
    matrix: Matrix<B>,
    transpose: OnceLock<Matrix<B>>,
}

/// The renumbering of an ordering; those that look at neighbourhoods see arcs in both directions.
fn permutation(ordering: Ordering, csr: &Csr, symmetric: bool) -> Result<Option<Permutation>, Error> {
    if symmetric || matches!(ordering, Ordering::None | Ordering::Degree) {
        return Ok(ordering.compute(csr));
    }
    Ok(ordering.compute(&csr.symmetrized()?))
}

/// Pattern, values and renumbering of a graph in an order: as it came where that is the order.
pub(crate) struct Ordered {
    layout: Layout,
    values: Option<Values>,
    permutation: Option<Permutation>,
}

impl Ordered {
    /// Brings a graph into an order. O(1) if it is in that order; otherwise as the ordering says.
    ///
    /// # Errors
    /// More entries than can be numbered.
    pub(crate) fn new(graph: &GraphData, ordering: Ordering, weighted: bool) -> Result<Self, Error> {
        let values = graph.values().filter(|_| weighted);
        if let Some((stored, p)) = graph.order() {
            // A renumbering of unknown making is undone.
            if ordering == *stored && ordering != Ordering::None {
                return Ok(Self { layout: graph.layout().clone(), values: values.cloned(), permutation: Some(p.clone()) });
            }
            let (csr, values) = p.inverse().apply_with(graph.csr(), values)?;
            return Self::reordered(csr, values, ordering, graph.is_symmetric());
        }
        if ordering == Ordering::None {
            return Ok(Self { layout: graph.layout().clone(), values: values.cloned(), permutation: None });
        }
        Self::reordered(graph.csr().clone(), values.cloned(), ordering, graph.is_symmetric())
    }
    fn reordered(csr: Csr, values: Option<Values>, ordering: Ordering, symmetric: bool) -> Result<Self, Error> {
        match permutation(ordering, &csr, symmetric)? {
            Some(p) => {
                let (csr, values) = p.apply_with(&csr, values.as_ref())?;
                Ok(Self { layout: Layout::Csr(csr), values, permutation: Some(p) })
            }
            None => Ok(Self { layout: Layout::Csr(csr), values, permutation: None }),
        }
    }
}

impl<B: Backend> Arranged<B> {
    /// Lays out a graph that is in its order; `symmetric`: of pattern and the values that are here.
    pub(crate) fn new(backend: &B, ordered: Ordered, ordering: Ordering, format: FormatKind, symmetric: bool) -> Result<Self, B::Error> {
        let Ordered { layout, values, permutation } = ordered;
        let matrix = Matrix::from_layout(backend, &layout, values.as_ref(), format)?;
        let (nodes, edges) = (layout.shape().0, layout.nnz());
        let permutation = permutation.map(Arc::new);
        Ok(Self { backend: backend.clone(), nodes, edges, symmetric, ordering, permutation, matrix, transpose: OnceLock::new() })
    }
    /// The same without its values, whose pattern may be symmetric where the values are not. The arrays are shared.
    pub(crate) fn pattern(&self, symmetric: bool) -> Self {
        let transpose = OnceLock::new();
        if let Some(t) = self.transpose.get() {
            let _ = transpose.set(t.pattern());
        }
        Self {
            backend: self.backend.clone(),
            nodes: self.nodes,
            edges: self.edges,
            symmetric,
            ordering: self.ordering,
            permutation: self.permutation.clone(),
            matrix: self.matrix.pattern(),
            transpose,
        }
    }
    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &B {
        &self.backend
    }
    /// The number of vertices.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }
    /// The number of stored entries: arcs, an undirected edge counting twice, loops once.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.edges
    }
    /// Whether the matrix equals its transpose, values included if it has any.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }
    /// Refuses a vertex that the graph does not have.
    ///
    /// # Errors
    /// [`Error::VertexOutOfRange`].
    pub fn check_vertex(&self, vertex: u32) -> Result<(), Error> {
        let nodes = self.nodes as u64;
        if u64::from(vertex) < nodes { Ok(()) } else { Err(Error::VertexOutOfRange { vertex: vertex.into(), nodes }) }
    }
    /// The ordering that renumbered it.
    #[must_use]
    pub fn ordering(&self) -> Ordering {
        self.ordering
    }
    /// The renumbering, if there is one.
    #[must_use]
    pub fn permutation(&self) -> Option<&Permutation> {
        self.permutation.as_deref()
    }
    /// The adjacency matrix: row u lists the v with u -> v.
    #[must_use]
    pub fn matrix(&self) -> &Matrix<B> {
        &self.matrix
    }
    /// The transposed matrix: row v lists the u with u -> v. The matrix itself if symmetric; built at first use otherwise.
    ///
    /// # Errors
    /// Out of memory.
    pub fn transpose(&self) -> Result<&Matrix<B>, B::Error> {
        if self.symmetric {
            return Ok(&self.matrix);
        }
        if let Some(t) = self.transpose.get() {
            return Ok(t);
        }
        let built = self.matrix.transposed()?;
        Ok(self.transpose.get_or_init(|| built))
    }
    /// Bytes on the backend: the matrix, and its transpose if that is built and another one.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.matrix.bytes() + self.transpose.get().map_or(0, Matrix::bytes)
    }
}

/// Translation of vectors between the numbering of an order and the input's.
pub trait Renumber {
    /// One value per vertex, in the input's numbers.
    fn restore_values<T: Copy + Send + Sync>(&self, values: Vec<T>) -> Vec<T>;
    /// One vertex per vertex (parents), positions and vertices both; `u32::MAX` stays.
    fn restore_vertices(&self, vertices: Vec<u32>) -> Vec<u32>;
    /// Component labels: the smallest input vertex of each component.
    fn restore_labels(&self, labels: Vec<u32>) -> Vec<u32>;
}

impl Renumber for Permutation {
    fn restore_values<T: Copy + Send + Sync>(&self, values: Vec<T>) -> Vec<T> {
        self.restore(&values)
    }
    fn restore_vertices(&self, vertices: Vec<u32>) -> Vec<u32> {
        let old = |new: u32| if new == u32::MAX { new } else { self.old_of_new()[new as usize] };
        parallel::map(self.new_of_old(), |&new| old(vertices[new as usize]))
    }
    fn restore_labels(&self, labels: Vec<u32>) -> Vec<u32> {
        let by_old = self.restore(&labels);
        let smallest = parallel::map(&labels, |_| AtomicU32::new(u32::MAX));
        parallel::blocks(by_old.len(), 1 << 14, |block| {
            for (old, &label) in block.clone().zip(&by_old[block]) {
                // Looked at first: the components of most vertices have a smaller one already.
                let slot = &smallest[label as usize];
                if slot.load(Relaxed) > old as u32 {
                    slot.fetch_min(old as u32, Relaxed);
                }
            }
        });
        parallel::map(&by_old, |&label| smallest[label as usize].load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_parents_come_back_in_the_inputs_numbers() {
        let n = 100_003u32;
        let numbers =
            Permutation::from_new_of_old((0..n).map(|old| (u64::from(old) * 7919 % u64::from(n)) as u32).collect()).expect("a renumbering");
        // Components of new numbers that are alike modulo 7, and those below 50 alone.
        let labels: Vec<u32> = (0..n).map(|new| if new < 50 { new } else { 50 + (new - 50) % 7 }).collect();
        let mut first = vec![u32::MAX; n as usize];
        let expected: Vec<u32> = (0..n)
            .map(|old| {
                let slot = &mut first[labels[numbers.new_of_old()[old as usize] as usize] as usize];
                *slot = old.min(*slot);
                *slot
            })
            .collect();
        let parents: Vec<u32> = (0..n).map(|new| if new.is_multiple_of(5) { u32::MAX } else { new / 2 }).collect();
        for threads in [1, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| {
                assert_eq!(numbers.restore_labels(labels.clone()), expected);
                let restored = numbers.restore_vertices(parents.clone());
                for (old, &parent) in restored.iter().enumerate() {
                    let new = numbers.new_of_old()[old];
                    let wanted = if new.is_multiple_of(5) { u32::MAX } else { numbers.old_of_new()[(new / 2) as usize] };
                    assert_eq!(parent, wanted);
                }
            });
        }
    }
}
