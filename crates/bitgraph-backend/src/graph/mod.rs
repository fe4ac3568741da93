//! One graph on one backend, for every algorithm: layouts are built when they are first needed, kept, counted, and bounded.
//!
//! Invariant: callers only ever see the input's own vertex numbers; [`Ready::run`] is the one place where settings and results are
//! translated.

mod builder;
mod cache;

pub use builder::{DefaultBackend, GraphBuilder, Unnamed};

use crate::arranged::Ordered;
use crate::plan::{Forecast, Learnt, weigh};
use crate::{Algorithm, Arranged, Backend, Candidate, Definition, Fused, GraphData, Plan, Request, Reuse};
use bitgraph_sparse::FormatKind;
use bitgraph_sparse::ordering::Ordering;
use cache::{Cache, Choice};
use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Where the time of building went, in seconds, since the graph was made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BuildTimes {
    /// Measuring the graph and predicting.
    pub plan: f64,
    /// Computing and applying orders, or undoing one.
    pub order: f64,
    /// Laying out matrices and transposes.
    pub layout: f64,
    /// Building what fused forms want.
    pub prepare: f64,
}

impl BuildTimes {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.plan + self.order + self.layout + self.prepare
    }
}

/// What an algorithm has learnt on a graph: which layouts there are, and what the runs so far have cost.
struct Uses {
    forecast: Forecast,
    learnt: Learnt,
}

/// An algorithm's type, the part of its settings that decides the layout, and what the caller forces.
type Key = (TypeId, u64, Request);

struct State<B: Backend> {
    arranged: HashMap<(Ordering, FormatKind, bool), Arc<Arranged<B>>>,
    uses: HashMap<Key, Uses>,
    layouts: Cache<B>,
    times: BuildTimes,
}

/// A graph on a backend. [`Graph::run`] runs any algorithm on it.
pub struct Graph<B: Backend> {
    backend: B,
    data: Arc<GraphData>,
    state: Mutex<State<B>>,
    building: Mutex<()>,
}

/// An algorithm's layout, built: what [`Graph::prepare`] gives.
pub struct Ready<B: Backend + Fused<A>, A: Algorithm> {
    data: Arc<GraphData>,
    arranged: Arc<Arranged<B>>,
    layout: Option<Arc<B::Layout>>,
    plan: Plan,
}

impl<B: Backend> Graph<B> {
    /// Puts a graph on a backend. Nothing is laid out before the first run.
    #[must_use]
    pub fn new(backend: B, data: impl Into<Arc<GraphData>>) -> Self {
        let state = State { arranged: HashMap::new(), uses: HashMap::new(), layouts: Cache::default(), times: BuildTimes::default() };
        Self { backend, data: data.into(), state: Mutex::new(state), building: Mutex::new(()) }
    }
    /// The same graph on another backend. What is known of it is shared; layouts are the other backend's own.
    #[must_use]
    pub fn to<C: Backend>(&self, backend: C) -> Graph<C> {
        Graph::new(backend, Arc::clone(&self.data))
    }
    /// Bounds the bytes of the layouts that are kept for single algorithms, the orders and formats that they need included: the least recently
    /// used ones go first. Of a layout that is larger than the budget alone the simplest variant takes the place, and the plan says so.
    /// The graph as it came is not counted. Default: no bound.
    #[must_use]
    pub fn with_budget(self, bytes: u64) -> Self {
        self.state().layouts.bound(bytes);
        self
    }
    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &B {
        &self.backend
    }
    /// The graph on the host.
    #[must_use]
    pub fn data(&self) -> &Arc<GraphData> {
        &self.data
    }
    /// The number of vertices.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.data.nodes()
    }
    /// The number of stored entries: arcs, an undirected edge counting twice, loops once.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.data.edges()
    }
    /// Whether the pattern equals its transpose.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        self.data.is_symmetric()
    }
    /// Bytes that the graph's layouts take on the backend, those of single algorithms included. Arrays that layouts share count once each.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let state = self.state();
        state.arranged.values().map(|a| a.bytes()).sum::<u64>() + state.layouts.bytes()
    }
    /// Where the time of building went so far.
    #[must_use]
    pub fn times(&self) -> BuildTimes {
        self.state().times
    }
    /// The graph as it came, laid out on the backend: for operations of the caller's own, which see the numbers of
    /// [`Arranged::permutation`].
    ///
    /// # Errors
    /// Out of memory.
    pub fn arranged(&self) -> Result<Arc<Arranged<B>>, B::Error> {
        let (ordering, format) = (self.ordering(), self.data.layout().kind());
        self.arranged_as(ordering, format, self.data.values().is_some())
    }
    /// Runs an algorithm with the planner's choice of layout, learnt from the runs so far.
    ///
    /// # Errors
    /// What the algorithm refuses, cancellation, out of memory, or the backend's.
    pub fn run<A: Definition<B>>(&self, algorithm: &A) -> Result<A::Output, B::Error>
    where
        B: Fused<A>,
    {
        self.prepare(algorithm, &Request::default())?.run(algorithm)
    }
    /// Plans the next run, which is counted, and builds what it wants, unless that is there.
    ///
    /// # Errors
    /// As [`Graph::run`]; [`crate::Error::NoVariant`] for a forced variant that there is not.
    pub fn prepare<A: Algorithm>(&self, algorithm: &A, request: &Request) -> Result<Ready<B, A>, B::Error>
    where
        B: Fused<A>,
    {
        algorithm.check(&self.data)?;
        let mut plan = self.next_plan(algorithm, request, true)?;
        match self.build(algorithm, &plan)? {
            Ok(ready) => Ok(ready),
            Err(bytes) => {
                // The simplest variant in the order that the graph came in takes no layout of its own worth mentioning.
                let plain = |c: &&Candidate| c.build_seconds == 0.0;
                let simplest = plan.candidates.iter().find(plain).cloned().unwrap_or_else(|| Candidate::definition(&self.data));
                let (refused, budget) = (plan.chosen.variant, self.state().layouts.budget());
                plan.note = Some(format!("the layout of variant {refused} takes {bytes} bytes, more than the budget of {budget}"));
                plan.chosen = simplest;
                let built = self.build(algorithm, &plan)?;
                built.or_else(|_| self.defined(plan, algorithm))
            }
        }
    }
    /// What [`Graph::prepare`] would choose; nothing is built, and no run is counted.
    ///
    /// # Errors
    /// As [`Graph::prepare`].
    pub fn plan<A: Algorithm>(&self, algorithm: &A, request: &Request) -> Result<Plan, B::Error>
    where
        B: Fused<A>,
    {
        algorithm.check(&self.data)?;
        self.next_plan(algorithm, request, false)
    }

    /// The ordering that the graph came in.
    fn ordering(&self) -> Ordering {
        self.data.order().map_or(Ordering::None, |o| o.0)
    }
    /// The state, for as long as nothing is computed: what is computed in parallel may run another caller's work meanwhile, on the thread that
    /// waits for it, and that may want the state.
    fn state(&self) -> MutexGuard<'_, State<B>> {
        // What a panic left behind is whole: entries are inserted after they are built.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The turn to build, so that callers at once do not build the same. Threads of a pool do without: what one waits for might be below it on
    /// its own stack.
    fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        rayon::current_thread_index().is_none().then(|| self.building.lock().unwrap_or_else(PoisonError::into_inner))
    }
    fn next_plan<A: Algorithm>(&self, algorithm: &A, request: &Request, count: bool) -> Result<Plan, B::Error>
    where
        B: Fused<A>,
    {
        let start = Instant::now();
        let key = (TypeId::of::<A>(), algorithm.key(), *request);
        let (backend, data) = (&self.backend, &self.data);
        let stored = || backend.stored(data.layout(), algorithm);
        loop {
            let planned = next_plan(&mut self.state().uses, A::NAME, key, count);
            let wanted = match planned {
                Ok(plan) => {
                    self.state().times.plan += start.elapsed().as_secs_f64();
                    return Ok(plan);
                }
                Err(runs) => runs,
            };
            let forecast = weigh(data, A::NAME, request, wanted, &stored, &|| backend.variants(data, algorithm, wanted))?;
            Uses::renew(&mut self.state().uses, key, forecast);
        }
    }
    /// The planned layout, built if need be; or the bytes of one that the budget does not allow.
    fn build<A: Algorithm>(&self, algorithm: &A, plan: &Plan) -> Result<Result<Ready<B, A>, u64>, B::Error>
    where
        B: Fused<A>,
    {
        let choice = Choice { ordering: plan.ordering(), format: plan.format(), variant: plan.variant() };
        let key = (TypeId::of::<A>(), algorithm.key(), choice);
        let ready = |arranged, layout| Ready { data: Arc::clone(&self.data), arranged, layout, plan: plan.clone() };
        let kept = || self.state().layouts.get::<Option<Arc<B::Layout>>>(&key);
        if let Some((arranged, layout)) = kept() {
            return Ok(Ok(ready(arranged, layout)));
        }
        let _turn = self.turn();
        if let Some((arranged, layout)) = kept() {
            return Ok(Ok(ready(arranged, layout)));
        }
        let weighted = A::WEIGHTED && self.data.values().is_some();
        let arranged = self.arranged_as(plan.ordering(), plan.format(), weighted)?;
        let start = Instant::now();
        if A::INCOMING {
            arranged.transpose()?;
        }
        let transposed = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let layout = if plan.variant() == Candidate::DEFINITION { None } else { self.backend.layout(&arranged, algorithm, plan)? };
        let prepared = start.elapsed().as_secs_f64();
        let bytes = layout.as_ref().map_or(0, |l| self.backend.layout_bytes(l));
        let layout = layout.map(Arc::new);
        let came = plan.ordering() == self.ordering() && plan.format() == self.data.layout().kind();
        let held = if came { bytes } else { bytes.saturating_add(arranged.bytes()) };
        let mut state = self.state();
        state.times.layout += transposed;
        state.times.prepare += prepared;
        if let Err(bytes) = state.layouts.insert(key, Arc::clone(&arranged), layout.clone(), bytes, held) {
            return Ok(Err(bytes));
        }
        // An order or format that only layouts which have gone used goes with them; what the graph came in stays.
        state.arranged.retain(|_, a| Arc::strong_count(a) > 1);
        Ok(Ok(ready(arranged, layout)))
    }
    /// The definition, on the graph as it came.
    fn defined<A: Algorithm>(&self, mut plan: Plan, _algorithm: &A) -> Result<Ready<B, A>, B::Error>
    where
        B: Fused<A>,
    {
        plan.chosen = Candidate::definition(&self.data);
        let arranged = self.arranged_as(plan.ordering(), plan.format(), A::WEIGHTED && self.data.values().is_some())?;
        Ok(Ready { data: Arc::clone(&self.data), arranged, layout: None, plan })
    }
    fn arranged_as(&self, ordering: Ordering, format: FormatKind, weighted: bool) -> Result<Arc<Arranged<B>>, B::Error> {
        let kept = |weighted| self.state().arranged.get(&(ordering, format, weighted)).cloned();
        if let Some(found) = kept(weighted) {
            return Ok(found);
        }
        let data = &self.data;
        let symmetric = if weighted { data.is_symmetric_with_values() } else { data.is_symmetric() };
        let start = Instant::now();
        let mut ordered_after = 0.0;
        let built = match kept(true) {
            Some(weighted) => weighted.pattern(symmetric),
            None => {
                let ordered = Ordered::new(data, ordering, weighted)?;
                ordered_after = start.elapsed().as_secs_f64();
                Arranged::new(&self.backend, ordered, ordering, format, symmetric)?
            }
        };
        let mut state = self.state();
        state.times.order += ordered_after;
        state.times.layout += start.elapsed().as_secs_f64();
        // Another caller's, if one was faster.
        Ok(Arc::clone(state.arranged.entry((ordering, format, weighted)).or_insert_with(|| Arc::new(built))))
    }
}

impl Uses {
    /// Weighs the layouts anew and keeps what was learnt.
    fn renew(all: &mut HashMap<Key, Self>, key: Key, forecast: Forecast) {
        let carry = |old: Self| old.learnt.carried(&old.forecast.candidates, &forecast.candidates);
        let learnt = all.remove(&key).map(carry).unwrap_or_default();
        all.insert(key, Self { forecast, learnt });
    }
}

/// The plan of an algorithm's next run, which counts towards what is learnt if `count` says so; for how many runs the layouts are to be weighed
/// first, where they are not.
fn next_plan(all: &mut HashMap<Key, Uses>, algorithm: &'static str, key: Key, count: bool) -> Result<Plan, u32> {
    let said = match key.2.reuse {
        Reuse::Runs(runs) => Some(runs.max(1)),
        Reuse::Learn => None,
    };
    let known = all.get_mut(&key);
    let runs = said.unwrap_or_else(|| known.as_ref().map_or(1, |u| u.learnt.runs.saturating_add(1)));
    let Some(uses) = known.filter(|u| u.forecast.holds_for >= runs) else { return Err(runs) };
    let chosen = match said {
        Some(runs) => uses.forecast.cheapest(runs),
        None if count => uses.learnt.next(&uses.forecast.candidates),
        None => uses.learnt.clone().next(&uses.forecast.candidates),
    };
    Ok(uses.forecast.plan(algorithm, chosen, runs, said.is_none()))
}

impl<B: Backend> fmt::Debug for Graph<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("backend", &self.backend).field("nodes", &self.nodes()).field("edges", &self.edges()).finish()
    }
}

impl<B: Backend + Fused<A>, A: Algorithm> Ready<B, A> {
    /// The plan that was followed.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
    /// The graph in the plan's order and format.
    #[must_use]
    pub fn arranged(&self) -> &Arranged<B> {
        &self.arranged
    }
    /// The fused form's layout; none where the definition runs.
    #[must_use]
    pub fn layout(&self) -> Option<&B::Layout> {
        self.layout.as_deref()
    }
    /// Runs. The settings may differ from those that were prepared for in what [`Algorithm::key`] does not tell.
    ///
    /// # Errors
    /// As [`Graph::run`].
    pub fn run(&self, algorithm: &A) -> Result<A::Output, B::Error>
    where
        A: Definition<B>,
    {
        algorithm.check(&self.data)?;
        let go = |algorithm: &A| match &self.layout {
            Some(layout) => {
                let backend = self.arranged.backend();
                backend.with_threads(self.plan.chosen.threads, || backend.run(&self.arranged, layout, algorithm))
            }
            None => algorithm.define(&self.arranged),
        };
        match self.arranged.permutation() {
            None => go(algorithm),
            Some(p) => go(&algorithm.renumbered(p)).map(|output| algorithm.restored(output, &self.data, p)),
        }
    }
}
