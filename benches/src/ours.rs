//! bitgraph as users call it: `Graph::build` with everything left to the planner, and the algorithms of the facade.

use crate::contender::{Answer, Contender, Purpose, timed};
use crate::report::Layout;
use crate::task::{CHECK_ITERATIONS, GREATEST_WEIGHT, ITERATIONS, Subject, Task};
use anyhow::Result;
use bitgraph::backend::{Mxv, NoAccum, ops};
use bitgraph::prelude::*;
use bitgraph::semiring::{DType, MinPlus, PlusSecond};
use bitgraph::sparse::{Descriptor, Stored};
use std::time::Instant;

/// Builds the layout for a task that `amortize` runs share.
///
/// # Errors
/// If the graph cannot be laid out.
pub fn contender(subject: &Subject, task: Task, amortize: u32) -> Result<Contender> {
    let (algorithm, dtype) = match task {
        Task::Bfs => (Algorithm::Bfs, DType::F32),
        Task::Sssp if wide(subject) => (Algorithm::Sssp, DType::U64),
        Task::Sssp => (Algorithm::Sssp, DType::U32),
        Task::PageRank => (Algorithm::PageRank, DType::F32),
        Task::Cc => (Algorithm::Cc, DType::F32),
        Task::Tc => (Algorithm::Tc, DType::F32),
        Task::Mxv => (Algorithm::MxvFloat, DType::F32),
    };
    let workload = Workload::once(algorithm).with_dtype(dtype).with_passes(amortize);
    let weights = (task == Task::Sssp).then(|| Values::from_vec(subject.weights.clone()));
    let start = Instant::now();
    let graph = Graph::build(Cpu::new(), subject.csr().clone(), weights, subject.loaded.symmetric, &PlanRequest::auto(workload))?;
    let build_seconds = start.elapsed().as_secs_f64();
    let layout = Layout { format: graph.plan().format().name(), order: graph.plan().ordering().name(), bytes: bytes(&graph, task) };
    let source = subject.source;
    let contender = match task {
        Task::Bfs => {
            let config = BfsConfig { source, ..BfsConfig::default() };
            let answer = |r: Bfs| Answer::Search(r.reached, Some(r.depth));
            Contender::new("ours", build_seconds, move |purpose| timed(purpose, || Ok(bfs(&graph, &config)?), answer))
        }
        Task::Sssp if wide(subject) => paths::<u64>(graph, build_seconds, source, |d| d),
        Task::Sssp => paths::<u32>(graph, build_seconds, source, u64::from),
        Task::PageRank => Contender::new("ours", build_seconds, move |purpose| {
            let max_iterations = if purpose == Purpose::Check { CHECK_ITERATIONS } else { ITERATIONS };
            let config = PageRankConfig { tolerance: 0.0, max_iterations, dangling: Dangling::Drop, ..PageRankConfig::default() };
            timed(purpose, || Ok(pagerank::<_, f32>(&graph, &config)?), |r| Answer::Scores(r.scores))
        }),
        Task::Cc => {
            let answer = |r: Cc| Answer::Count(r.components);
            Contender::new("ours", build_seconds, move |purpose| timed(purpose, || Ok(cc(&graph, &CcConfig::default())?), answer))
        }
        Task::Tc => {
            let answer = |r: Tc| Answer::Count(r.triangles);
            Contender::new("ours", build_seconds, move |purpose| timed(purpose, || Ok(tc(&graph, &TcConfig::default())?), answer))
        }
        Task::Mxv => product(graph, build_seconds, &subject.operand()),
    };
    Ok(contender.with_layout(layout))
}

/// Whether the longest path may not fit 32 bits.
fn wide(subject: &Subject) -> bool {
    subject.csr().nrows() as u64 * u64::from(GREATEST_WEIGHT) >= u64::from(u32::MAX)
}

fn paths<T: Stored>(graph: Graph<Cpu>, build_seconds: f64, source: u32, number: fn(T) -> u64) -> Contender
where
    Cpu: Mxv<MinPlus<T>>,
{
    let config = SsspConfig { source, ..SsspConfig::default() };
    Contender::new("ours", build_seconds, move |purpose| {
        timed(
            purpose,
            || Ok(sssp::<_, T>(&graph, &config)?),
            |r| Answer::Distances(r.reached, r.distances.iter().filter(|&&d| d != T::greatest()).map(|&d| number(d)).sum()),
        )
    })
}

/// The product in the planned order, as an iterative method would repeat it; the result is put back in order for the comparison.
fn product(graph: Graph<Cpu>, build_seconds: f64, operand: &[f32]) -> Contender {
    let u = Vector::from_vec(graph.permutation().map_or_else(|| operand.to_vec(), |p| p.permute(operand)));
    let mut w = Vector::filled(graph.nodes(), 0f32);
    Contender::new("ours", build_seconds, move |purpose| {
        let multiply = || -> Result<()> {
            let semiring = PlusSecond::<f32>::new();
            Ok(ops::mxv(graph.backend(), &mut w, None, NoAccum, semiring, graph.matrix(), &u, Descriptor::DEFAULT)?)
        };
        let mut outcome = timed(purpose, multiply, |()| Answer::Sums(Vec::new()))?;
        if outcome.answer.is_some() {
            outcome.answer = Some(Answer::Sums(graph.restore(w.to_vec_or(0.0))));
        }
        Ok(outcome)
    })
}

/// Bytes that a run moves if it reads its layout once an iteration and touches every vector once. A search that stops looking at rows,
/// or whose layout stays in a cache, gets by with less.
fn bytes(graph: &Graph<Cpu>, task: Task) -> u64 {
    let n = graph.nodes() as u64;
    let (matrix, prepared) = (graph.backend().matrix_bytes(graph.matrix()), graph.backend().prepared_bytes(graph.prepared()));
    match task {
        Task::Bfs => matrix + prepared + 4 * n,
        Task::Sssp => (if prepared > 0 { prepared } else { matrix }) + 4 * n,
        // Scores, shares of the last iteration and of the next.
        Task::PageRank => u64::from(ITERATIONS) * (if graph.plan().chosen.prepared { prepared } else { matrix + prepared } + 12 * n),
        Task::Cc => matrix + 4 * n,
        Task::Tc => matrix,
        Task::Mxv => {
            // A layout for products lies beside the lists that it was made from.
            let lists = graph.matrix().as_csr().map_or(0, Csr::bytes);
            let layout = if matrix > lists { matrix - lists } else { matrix };
            layout + 8 * n
        }
    }
}
