//! `pagerank`: scores, and the ten highest.

use crate::choice::{DanglingChoice, Precision};
use crate::failure::{Failure, Result};
use crate::files;
use crate::ids;
use crate::options::PagerankArgs;
use crate::progress::Reporter;
use crate::report::{self, PagerankResult};
use crate::run::{CommandBackend, Run};
use bitgraph::WeightSource;
use bitgraph::algorithms::{Dangling, PageRank, PageRankConfig, Typed};
use bitgraph::io::VectorData;
use bitgraph::semiring::Scalar;
use bitgraph::sparse::parallel;
use std::fmt::Write;
use std::ops::Range;

/// Vertices listed in the result.
const TOP: usize = 10;

/// Runs it in the precision asked for.
pub fn run<B: CommandBackend>(backend: B, args: &PagerankArgs, reporter: Reporter) -> Result<()> {
    let mut config = PageRankConfig {
        damping: args.damping,
        tolerance: args.tolerance,
        max_iterations: args.max_iterations,
        dangling: match args.dangling {
            DanglingChoice::Spread => Dangling::Spread,
            DanglingChoice::Drop => Dangling::Drop,
        },
        ..PageRankConfig::default()
    };
    // What does not depend on the graph is refused before it is read.
    config.validate(0)?;
    if let (Some(out), Some(file)) = (&args.common.output, &args.personalize) {
        files::check_target(out, &[file.as_os_str()])?;
    }
    let run = Run::start(backend, &args.common, "pagerank", WeightSource::Unit, reporter, |_| Ok(()))?;
    if let Some(file) = &args.personalize {
        let weights = ids::weights(file, &mut |number| run.vertex(number))?;
        config.personalization = Some(weights);
        config.validate(run.graph.nodes()).map_err(|e| Failure::other(format_args!("{}: {e}", file.display())))?;
    }
    config.control = run.reporter.running("pagerank");
    match args.common.layout.precision {
        Precision::F32 => {
            let (seconds, ranks) = run.repeat(&Typed::<_, f32>::new(config))?;
            finish(args, &run, &seconds, ranks)
        }
        Precision::F64 => {
            let (seconds, ranks) = run.repeat(&Typed::<_, f64>::new(config))?;
            finish(args, &run, &seconds, ranks)
        }
    }
}

/// A type of scores.
trait Score: Scalar {
    /// Scores as they are written.
    fn data(scores: &[Self]) -> VectorData<'_>;
}
impl Score for f32 {
    fn data(scores: &[Self]) -> VectorData<'_> {
        scores.into()
    }
}
impl Score for f64 {
    fn data(scores: &[Self]) -> VectorData<'_> {
        scores.into()
    }
}

fn finish<B: CommandBackend, T: Score>(args: &PagerankArgs, run: &Run<B>, seconds: &[f64], ranks: PageRank<T>) -> Result<()> {
    // An empty sum of floats would be -0.
    let sum = ranks.scores.iter().fold(0.0, |sum, s| sum + s.to_f64());
    let top: Vec<(u64, f64)> = highest(&ranks.scores).into_iter().map(|(v, score)| (run.number(v), score)).collect();
    let PageRank { scores, iterations, residual, converged } = ranks;
    if let Some(file) = &args.common.output {
        files::write_vector(file, T::data(&scores), &run.naming(), &run.reporter)?;
    }
    let mut summary = format!(
        "pagerank: {iterations} iterations, {} (residual {residual:.2e}), scores sum to {sum:.6}\n",
        if converged { "converged" } else { "not converged" }
    );
    for (vertex, score) in &top {
        let _ = writeln!(summary, "  {score:.6e}  vertex {vertex}");
    }
    report::finish(run, "pagerank", seconds, PagerankResult { iterations, residual, converged, sum, top }, &summary)
}

/// The vertices of highest score; the smaller number first among equals. O(n), parallel.
fn highest<T: Scalar>(scores: &[T]) -> Vec<(u32, f64)> {
    const BLOCK: usize = 1 << 16;
    let order = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    let block = |vertices: Range<usize>| {
        let mut best: Vec<(u32, f64)> = Vec::with_capacity(TOP + 1);
        for i in vertices {
            let item = (i as u32, scores[i].to_f64());
            if best.len() < TOP || order(&item, &best[TOP - 1]).is_lt() {
                best.insert(best.partition_point(|x| order(x, &item).is_lt()), item);
                best.truncate(TOP);
            }
        }
        best
    };
    let mut all = parallel::collect(scores.len().div_ceil(BLOCK), |b| block(b * BLOCK..((b + 1) * BLOCK).min(scores.len()))).concat();
    all.sort_by(order);
    all.truncate(TOP);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_smaller_vertex() {
        let scores: Vec<f32> = (0..200_000).map(|i| if i % 50_000 == 7 { 2.0 } else { 1.0 }).collect();
        let top: Vec<u32> = highest(&scores).into_iter().map(|(v, _)| v).collect();
        assert_eq!(top, [7, 50_007, 100_007, 150_007, 0, 1, 2, 3, 4, 5]);
        assert!(highest::<f64>(&[]).is_empty());
        assert_eq!(highest(&[0.5f64, 0.5]), [(0, 0.5), (1, 0.5)]);
    }
}
