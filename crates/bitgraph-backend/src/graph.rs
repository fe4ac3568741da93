//! A graph laid out on a backend, in the planned order and format.
//!
//! Invariant: callers only ever see the input's own vertex numbers; [`Graph::to_planned`] and the `restore` methods are the one
//! place where the planned numbering is translated. Arcs run from row to column.

use crate::plan::Given;
use crate::{Backend, CostModel, Error, Matrix, Plan, PlanRequest, Planner, UNREACHED};
use bitgraph_b2sr::Layout;
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Csr, FormatKind, Permutation, Values};
use std::sync::OnceLock;
use std::time::Instant;

/// Where the time of building went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BuildTimes {
    /// Planning, with lists made of a layout that can only be weighed against others as lists.
    pub plan: f64,
    /// Computing and applying the order, or undoing one.
    pub order: f64,
    /// Laying out the matrix, and its transpose if the workload reads it.
    pub layout: f64,
    /// Building what the algorithm's fused form wants.
    pub prepare: f64,
}

impl BuildTimes {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.plan + self.order + self.layout + self.prepare
    }
}

/// The renumbering of an ordering; those that look at neighbourhoods see arcs in both directions.
fn permutation(ordering: Ordering, csr: &Csr, symmetric: bool) -> Result<Option<Permutation>, Error> {
    if symmetric || matches!(ordering, Ordering::None | Ordering::Degree) {
        return Ok(ordering.compute(csr));
    }
    Ok(ordering.compute(&csr.symmetrized()?))
}

/// A graph on a backend.
pub struct Graph<B: Backend> {
    backend: B,
    nodes: usize,
    edges: usize,
    symmetric: bool,
    plan: Plan,
    permutation: Option<Permutation>,
    matrix: Matrix<B>,
    transpose: OnceLock<Matrix<B>>,
    prepared: B::Prepared,
    times: BuildTimes,
}

impl<B: Backend> Graph<B> {
    /// Plans and lays out a graph. `values` are the edge weights, or none; an algorithm that takes no weights drops them. `symmetric`
    /// says that pattern and values equal their transpose; it is not checked here ([`Csr::is_symmetric`] does).
    ///
    /// # Errors
    /// [`Error::NotSquare`], weights that the workload cannot take, or out of memory.
    pub fn build(backend: B, csr: Csr, values: Option<Values>, symmetric: bool, request: &PlanRequest) -> Result<Self, B::Error>
    where
        B: CostModel,
    {
        Self::build_stored(backend, Layout::Csr(csr), values, symmetric, None, request)
    }
    /// The same for a graph that is laid out already: in a format, and perhaps with rows and columns renumbered by an ordering, of which
    /// none stands for an unknown one. Either costs nothing to build, and is used as it is where the request forces it, or leaves the
    /// choice and no other layout promises to be faster, its own building included. A known order stays unless the request forces another
    /// one; whatever is not used as it is is converted back.
    ///
    /// # Errors
    /// As [`Graph::build`]; [`Error::Shape`] for a permutation of another number of vertices.
    pub fn build_stored(
        backend: B,
        layout: Layout,
        values: Option<Values>,
        symmetric: bool,
        order: Option<(Ordering, Permutation)>,
        request: &PlanRequest,
    ) -> Result<Self, B::Error>
    where
        B: CostModel,
    {
        let algorithm = request.workload.algorithm;
        let ((rows, columns), edges) = (layout.shape(), layout.nnz());
        if rows != columns {
            return Err(Error::NotSquare { algorithm: algorithm.name(), rows: rows as u64, columns: columns as u64 }.into());
        }
        let shape = |operand, expected: usize, found: usize| {
            let (expected, found) = (expected as u64, found as u64);
            if expected == found { Ok(()) } else { Err(Error::Shape { operation: "graph", operand, expected, found }) }
        };
        shape("value array", edges, values.as_ref().map_or(edges, Values::len))?;
        shape("permutation", rows, order.as_ref().map_or(rows, |(_, p)| p.len()))?;
        let values = values.filter(|_| algorithm.wants_weights());
        if let Some(v) = &values {
            crate::weights::check(&layout, v).map_err(|error| match (error, &order) {
                (Error::Weight { row, column, weight, what }, Some((_, p))) => {
                    let input = |v: u64| u64::from(p.old_of_new()[v as usize]);
                    Error::Weight { row: input(row), column: input(column), weight, what }
                }
                (error, _) => error,
            })?;
        }
        let mut times = BuildTimes::default();
        let mut clock = Instant::now();
        let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed().as_secs_f64();
        let kept = |stored: Ordering| stored != Ordering::None && request.ordering.is_none_or(|asked| asked == stored);
        let (layout, values, order) = match order {
            Some((stored, p)) if !kept(stored) => {
                let (csr, values) = p.inverse().apply_with(&layout.to_csr(), values.as_ref()).map_err(Error::from)?;
                (Layout::Csr(csr), values, None)
            }
            order => (layout, values, order),
        };
        times.order = lap();
        let given = Given { layout: &layout, ordering: order.as_ref().map(|o| o.0) };
        let (plan, lists) = Planner::plan_given(&backend, given, symmetric, values.is_some(), request);
        times.plan = lap();
        let reorder = order.is_none() && plan.ordering() != Ordering::None;
        let layout = match lists {
            Some(csr) if reorder || plan.format() != layout.kind() => Layout::Csr(csr),
            _ => layout,
        };
        let (permutation, layout, values) = match order {
            Some((_, stored)) => (Some(stored), layout, values),
            None if reorder => {
                let csr = layout.to_csr();
                drop(layout);
                match permutation(plan.ordering(), &csr, symmetric)? {
                    Some(p) => {
                        let renumbered = p.apply_with(&csr, values.as_ref()).map_err(Error::from)?;
                        drop(values);
                        (Some(p), Layout::Csr(renumbered.0), renumbered.1)
                    }
                    None => (None, Layout::Csr(csr), values),
                }
            }
            None => (None, layout, values),
        };
        times.order += lap();
        // Fused forms run on lists and convert what they read; on tiles the semiring's own type is needed.
        let values = values.map(|v| if plan.format() == FormatKind::Csr { v } else { crate::weights::converted(v, plan.workload.dtype) });
        let matrix = Matrix::from_layout(&backend, &layout, values.as_ref(), plan.format())?;
        drop((layout, values));
        let mut graph = Self {
            backend,
            nodes: rows,
            edges,
            symmetric,
            permutation,
            matrix,
            transpose: OnceLock::new(),
            prepared: B::Prepared::default(),
            plan,
            times,
        };
        if algorithm.wants_incoming() {
            graph.transpose()?;
        }
        graph.times.layout = lap();
        graph.prepared = graph.backend.prepare(&graph, &graph.plan)?;
        graph.times.prepare = lap();
        Ok(graph)
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
    /// Whether pattern and values equal their transpose.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }
    /// The plan it was built by.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
    /// Where the time of building went.
    #[must_use]
    pub fn times(&self) -> BuildTimes {
        self.times
    }
    /// The adjacency matrix in the planned order: row u lists the v with u -> v.
    #[must_use]
    pub fn matrix(&self) -> &Matrix<B> {
        &self.matrix
    }
    /// The transposed matrix in the planned order: row v lists the u with u -> v. The matrix itself if symmetric; built at
    /// first use otherwise.
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
    /// What the backend built for the algorithm.
    #[must_use]
    pub fn prepared(&self) -> &B::Prepared {
        &self.prepared
    }
    /// The renumbering, if the plan reorders.
    #[must_use]
    pub fn permutation(&self) -> Option<&Permutation> {
        self.permutation.as_ref()
    }
    /// Bytes of the matrix, of its transpose if that is built and another one, and of what was prepared.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.matrix.bytes() + self.transpose.get().map_or(0, Matrix::bytes) + self.backend.prepared_bytes(&self.prepared)
    }
    /// The planned number of an input vertex.
    ///
    /// # Errors
    /// [`Error::VertexOutOfRange`].
    pub fn to_planned(&self, vertex: u32) -> Result<u32, Error> {
        if vertex as usize >= self.nodes {
            return Err(Error::VertexOutOfRange { vertex: vertex.into(), nodes: self.nodes as u64 });
        }
        Ok(self.permutation.as_ref().map_or(vertex, |p| p.new_of_old()[vertex as usize]))
    }
    /// One value per vertex, from the planned numbering to the input's.
    #[must_use]
    pub fn restore<T: Copy + Send + Sync>(&self, values: Vec<T>) -> Vec<T> {
        match &self.permutation {
            Some(p) => p.restore(&values),
            None => values,
        }
    }
    /// One vertex per vertex (parents), positions and vertices both from the planned numbering to the input's;
    /// [`UNREACHED`] stays.
    #[must_use]
    pub fn restore_vertices(&self, vertices: Vec<u32>) -> Vec<u32> {
        match &self.permutation {
            Some(p) => {
                let mut restored = p.restore(&vertices);
                for v in &mut restored {
                    if *v != UNREACHED {
                        *v = p.old_of_new()[*v as usize];
                    }
                }
                restored
            }
            None => vertices,
        }
    }
    /// Component labels from the planned numbering to the input's: the smallest input vertex of each component.
    #[must_use]
    pub fn restore_labels(&self, labels: Vec<u32>) -> Vec<u32> {
        let Some(p) = &self.permutation else { return labels };
        let mut smallest = vec![u32::MAX; labels.len()];
        let mut restored = vec![0; labels.len()];
        for (old, &new) in p.new_of_old().iter().enumerate() {
            let slot = &mut smallest[labels[new as usize] as usize];
            // Input vertices come in ascending order, so the first one met is the smallest.
            if *slot == u32::MAX {
                *slot = old as u32;
            }
            restored[old] = *slot;
        }
        restored
    }
}
