//! bitgraph as users call it: one graph with everything left to the planner, and the algorithms of the facade.

use crate::contender::{Answer, Contender, Layout, Purpose, timed};
use crate::signs;
use crate::task::{CHECK_ITERATIONS, FEATURES, ITERATIONS, MAX_WEIGHT, Subject, Task};
use anyhow::Result;
use bitgraph::algorithms::PathBackend;
use bitgraph::b2sr::Layout as Pattern;
use bitgraph::backend::{Definition, Fused, Ready, Renumber};
use bitgraph::prelude::*;
use bitgraph::semiring::PlusSecond;
use bitgraph::sparse::Stored;
use bitgraph::tensor::Dense;
use bitgraph::tensor::ops::spmm;
use bitgraph_measure::Launches;
use std::time::Instant;

/// What runs a task, the first being what is compared with all others: more than one only where ours are to be compared.
///
/// # Errors
/// If the graph cannot be laid out.
pub fn contenders(subject: &Subject, task: Task, amortize: u32) -> Result<Vec<Contender>> {
    match task {
        Task::Signs => signs::contenders(subject),
        Task::Spmm => Ok(vec![features(subject)?]),
        _ => Ok(vec![on_graph(subject, task, amortize)?]),
    }
}

/// Builds the layout for a task that `amortize` runs share.
fn on_graph(subject: &Subject, task: Task, amortize: u32) -> Result<Contender> {
    let weights = (task == Task::Sssp).then(|| Values::from_vec(subject.weights.clone()));
    let start = Instant::now();
    let symmetry = if subject.loaded.symmetric { Symmetry::Symmetric } else { Symmetry::Directed };
    let graph = Graph::new(Cpu::new(), GraphData::new(Pattern::Csr(subject.csr().clone()), weights, symmetry, None)?);
    let made = Making { graph, request: Request::runs(amortize), start, task };
    let source = subject.source;
    match task {
        Task::Bfs => made.algorithm(move |_| BfsConfig { source, ..BfsConfig::default() }, |r| Answer::Search(r.reached, Some(r.depth))),
        Task::Sssp if wide(subject) => made.paths::<u64>(source, |d| d),
        Task::Sssp => made.paths::<u32>(source, u64::from),
        Task::PageRank => {
            let config = |purpose| {
                let max_iterations = if purpose == Purpose::Check { CHECK_ITERATIONS } else { ITERATIONS };
                let settings = PageRankConfig { tolerance: 0.0, max_iterations, dangling: Dangling::Drop, ..PageRankConfig::default() };
                Typed::<_, f32>::new(settings)
            };
            made.algorithm(config, |r| Answer::Scores(r.scores))
        }
        Task::Cc => made.algorithm(|_| CcConfig::default(), |r| Answer::Count(r.components)),
        Task::Tc => made.algorithm(|_| TcConfig::default(), |r| Answer::Count(r.triangles)),
        Task::Mxv => made.product(&subject.operand(1)),
        Task::Spmm | Task::Signs => anyhow::bail!("{} is of tensors", task.name()),
    }
}

/// Whether the longest path may not fit 32 bits.
fn wide(subject: &Subject) -> bool {
    subject.csr().nrows() as u64 * u64::from(MAX_WEIGHT) >= u64::from(u32::MAX)
}

/// A contender in the making.
struct Making {
    graph: Graph<Cpu>,
    request: Request,
    start: Instant,
    task: Task,
}

impl Making {
    fn ready<A: Algorithm>(&self, algorithm: &A) -> Result<(Ready<Cpu, A>, f64, Layout)>
    where
        Cpu: Fused<A>,
    {
        let ready = self.graph.prepare(algorithm, &self.request)?;
        let build_seconds = self.start.elapsed().as_secs_f64();
        let own = ready.layout().map_or(0, |l| ready.arranged().backend().layout_bytes(l));
        let bytes = self.task.bytes(self.graph.nodes() as u64, ready.arranged().bytes(), own);
        let layout = Layout { format: ready.plan().format().name(), order: ready.plan().ordering().name(), bytes };
        Ok((ready, build_seconds, layout))
    }
    fn algorithm<A: Definition<Cpu>>(
        self,
        algorithm: impl Fn(Purpose) -> A + 'static,
        answer: impl Fn(A::Output) -> Answer + 'static,
    ) -> Result<Contender>
    where
        Cpu: Fused<A>,
    {
        let (ready, build_seconds, layout) = self.ready(&algorithm(Purpose::Time(Launches::One)))?;
        let run = move |purpose| {
            let algorithm = algorithm(purpose);
            timed(purpose, || Ok(ready.run(&algorithm)?), &answer)
        };
        Ok(Contender::new("ours", build_seconds, run).with_layout(layout))
    }
    fn paths<T: Stored>(self, source: u32, number: fn(T) -> u64) -> Result<Contender>
    where
        Cpu: PathBackend<T>,
    {
        let settings = move |_| Typed::<_, T>::new(SsspConfig { source, ..SsspConfig::default() });
        self.algorithm(settings, move |r| {
            let finite = r.distances.iter().filter(|&&d| d != T::largest());
            Answer::Distances(r.reached, finite.map(|&d| number(d)).sum())
        })
    }
    /// The product in the planned order, as an iterative method would repeat it; the result is put back in order for the comparison.
    fn product(self, operand: &[f32]) -> Result<Contender> {
        let (ready, build_seconds, layout) = self.ready(&Product { x: operand.to_vec() })?;
        let numbers = ready.arranged().permutation().cloned();
        let cpu = *self.graph.backend();
        let u = Vector::from_vec(&cpu, numbers.as_ref().map_or_else(|| operand.to_vec(), |p| p.permute(operand)))?;
        let mut w = Vector::filled(&cpu, operand.len(), 0f32)?;
        let run = move |purpose| {
            let graph = ready.arranged();
            let multiply = || Ok(mxv(PlusSecond::<f32>::new(), graph.matrix(), &u).into(&mut w)?);
            let mut outcome = timed(purpose, multiply, |()| Answer::Sums(Vec::new()))?;
            if outcome.answer.is_some() {
                let sums = w.to_host()?.to_vec_or(0.0);
                let sums = numbers.as_ref().map_or(sums.clone(), |p| p.restore_values(sums));
                outcome.answer = Some(Answer::Sums(Subject::of_rows(&sums, 1)));
            }
            Ok(outcome)
        };
        Ok(Contender::new("ours", build_seconds, run).with_layout(layout))
    }
}

/// The product with features, in the order that the graph comes in: a matrix of an operation on tensors is not renumbered.
fn features(subject: &Subject) -> Result<Contender> {
    let start = Instant::now();
    let cpu = Cpu::new();
    let matrix = Matrix::new(&cpu, subject.csr(), None, FormatKind::Csr)?;
    let x = Dense::from_slice(&cpu, subject.csr().ncols(), FEATURES, &subject.operand(FEATURES))?;
    let mut y = Dense::<_, f32>::zeros(&cpu, subject.csr().nrows(), FEATURES)?;
    spmm(&matrix, &x).into(&mut y)?;
    let build_seconds = start.elapsed().as_secs_f64();
    let bytes = Task::Spmm.bytes(subject.csr().nrows() as u64, matrix.bytes(), 0);
    let run = move |purpose| {
        let mut outcome = timed(purpose, || Ok(spmm(&matrix, &x).into(&mut y)?), |()| Answer::Sums(Vec::new()))?;
        if outcome.answer.is_some() {
            outcome.answer = Some(Answer::Sums(Subject::of_rows(&y.to_host()?, FEATURES)));
        }
        Ok(outcome)
    };
    Ok(Contender::new("ours", build_seconds, run).with_layout(Layout { format: "csr", order: "none", bytes }))
}
