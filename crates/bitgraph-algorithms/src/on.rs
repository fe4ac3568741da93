//! An algorithm on a graph, with its settings and the wishes to the planner, ready to run: `graph.bfs(0).parents().run()`.

use crate::Typed;
use bitgraph_backend::{Algorithm, Backend, Definition, Fused, Graph, Plan, Ready, Request, Reuse};
use bitgraph_sparse::FormatKind;
use bitgraph_sparse::ordering::Ordering;

/// An algorithm on a graph: settings by name, then `run`.
#[derive(Clone)]
#[must_use = "nothing runs before `run`"]
pub struct On<'g, B: Backend, A> {
    graph: &'g Graph<B>,
    /// The settings.
    pub(crate) algorithm: A,
    request: Request,
}

impl<'g, B: Backend, A> On<'g, B, A> {
    /// An algorithm with these settings on a graph; everything else is left to the planner.
    pub fn new(graph: &'g Graph<B>, algorithm: A) -> Self {
        Self { graph, algorithm, request: Request::default() }
    }
    /// How often it will run: the planner builds what pays for that. Otherwise it learns from the runs so far.
    pub fn expect_runs(mut self, runs: u32) -> Self {
        self.request.reuse = Reuse::Runs(runs);
        self
    }
    /// Forces the storage format.
    pub fn format(mut self, format: FormatKind) -> Self {
        self.request.format = Some(format);
        self
    }
    /// Forces the order of the vertices.
    pub fn order(mut self, ordering: Ordering) -> Self {
        self.request.ordering = Some(ordering);
        self
    }
    /// Forces a variant, by the name that a plan gives it.
    pub fn variant(mut self, variant: &'static str) -> Self {
        self.request.variant = Some(variant);
        self
    }
    /// What the next run would do, and why; nothing is built.
    ///
    /// # Errors
    /// What the algorithm refuses.
    pub fn plan(&self) -> Result<Plan, B::Error>
    where
        A: Algorithm,
        B: Fused<A>,
    {
        self.graph.plan(&self.algorithm, &self.request)
    }
    /// Builds what the next run wants, so that it is not a part of the run.
    ///
    /// # Errors
    /// As the run.
    pub fn prepare(&self) -> Result<Ready<B, A>, B::Error>
    where
        A: Algorithm,
        B: Fused<A>,
    {
        self.graph.prepare(&self.algorithm, &self.request)
    }
    /// The same with results of type `T`, for algorithms that compute in several types: to plan or prepare one.
    pub fn in_type<T>(&self) -> On<'g, B, Typed<A, T>>
    where
        A: Clone,
    {
        On { graph: self.graph, algorithm: Typed::new(self.algorithm.clone()), request: self.request }
    }
    pub(crate) fn run_algorithm(&self) -> Result<A::Output, B::Error>
    where
        A: Definition<B>,
        B: Fused<A>,
    {
        self.prepare()?.run(&self.algorithm)
    }
}
