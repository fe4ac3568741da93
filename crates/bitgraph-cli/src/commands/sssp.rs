//! `sssp`: shortest paths from one source, or from each of many.
//!
//! Invariant: whole-number weights are summed as whole numbers, in 32 bits where no path can overflow them and in 64 otherwise;
//! other weights in the precision asked for.

use super::{bfs, search};
use crate::choice::Precision;
use crate::failure::{Failure, Result};
use crate::options::SsspArgs;
use crate::output;
use crate::progress::Reporter;
use crate::report::{self, ManySsspResult, PathResult, SsspResult};
use crate::run::{CommandBackend, Run, WeightRange};
use bitgraph::algorithms;
use bitgraph::backend::{Algorithm, Error as BackendError, Sssp, SsspConfig};
use bitgraph::io::Naming;
use bitgraph::semiring::{DType, MinPlus, Scalar};
use bitgraph::sparse::{Stored, Values, parallel, with_values};
use bitgraph::{StoredGraph, WeightSource, backend::Mxv};
use serde_json::Number;

/// Runs the search with the type that the weights call for.
pub fn run<B: CommandBackend>(backend: B, args: &SsspArgs, reporter: Reporter) -> Result<()> {
    if let Some(delta) = args.search.delta
        && !(delta > 0.0 && delta.is_finite())
    {
        return Err(Failure::usage(format_args!("--delta is {delta}; it must be positive and finite")));
    }
    let weights = args.weights.unwrap_or(WeightSource::FileOrUnit);
    let mut degrees = Vec::new();
    let run = Run::start(backend, &args.common, Algorithm::Sssp, weights, reporter, |stored, range, workload| {
        check_weights(stored)?;
        if args.search.sources.is_some() {
            degrees = stored.degrees();
        }
        Ok(workload.with_dtype(distance_type(range, stored.nodes(), args.common.layout.precision)))
    })?;
    match run.graph.plan().workload.dtype {
        DType::U32 => typed::<B, u32>(args, &run, &degrees),
        DType::U64 => typed::<B, u64>(args, &run, &degrees),
        DType::F64 => typed::<B, f64>(args, &run, &degrees),
        _ => typed::<B, f32>(args, &run, &degrees),
    }
}

/// Refuses a weight that is negative or no number, naming the first such edge as the input does.
fn check_weights(stored: &StoredGraph) -> Result<()> {
    let Some(values) = &stored.values else { return Ok(()) };
    let refused = |weight: f64| weight < 0.0 || weight.is_nan();
    let first = with_values!(values, v => parallel::position(v, |x| refused(x.to_f64())));
    let Some(position) = first else { return Ok(()) };
    let (row, column) = stored.arc(position);
    let what = "shortest paths need weights of 0 or more";
    let error = BackendError::Weight { row, column, weight: values.get_f64(position), what };
    Err(Failure::from(error).at(&stored.name))
}

/// The type that distances are computed in.
fn distance_type(weights: WeightRange, nodes: usize, precision: Precision) -> DType {
    let longest = weights.greatest * nodes.saturating_sub(1) as f64;
    match weights.integral {
        true if longest < f64::from(u32::MAX) => DType::U32,
        true => DType::U64,
        // Single precision would take what it cannot hold for unreached.
        false if longest > f64::from(f32::MAX) => DType::F64,
        false => precision.dtype(),
    }
}

/// A type of distances.
trait Distance: Stored {
    /// A finite distance as it is reported.
    fn number(self) -> Number;
    /// The sum of finite distances.
    fn sum(distances: impl Iterator<Item = Self>) -> Number;
}

macro_rules! whole {
    ($($t:ty)*) => { $(
        impl Distance for $t {
            fn number(self) -> Number {
                Number::from(self)
            }
            fn sum(distances: impl Iterator<Item = Self>) -> Number {
                let sum: u128 = distances.map(u128::from).sum();
                // Past 64 bits JSON readers have floats only.
                u64::try_from(sum).map_or_else(|_| float(sum as f64), Number::from)
            }
        }
    )* };
}
whole!(u32 u64);

macro_rules! fractional {
    ($($t:ty)*) => { $(
        impl Distance for $t {
            fn number(self) -> Number {
                float(self.into())
            }
            fn sum(distances: impl Iterator<Item = Self>) -> Number {
                float(distances.map(f64::from).sum())
            }
        }
    )* };
}
fractional!(f32 f64);

/// A finite float as JSON; an overflow is the greatest one.
fn float(value: f64) -> Number {
    Number::from_f64(value.clamp(f64::MIN, f64::MAX)).unwrap_or_else(|| Number::from(0))
}

/// What is reported of one search.
struct Totals {
    reached: u64,
    max: Number,
    sum: Number,
}

/// Sums up a search. With a target, only what is nearer than the target, and the target itself, is final and counts.
fn totals<T: Distance>(sssp: &Sssp<T>, target: Option<u32>) -> Totals {
    let bound = target.map(|t| sssp.distances[t as usize]).filter(|&d| d != T::greatest());
    let counted = || {
        let nearer = sssp.distances.iter().copied().filter(move |&d| d != T::greatest() && bound.is_none_or(|b| d < b));
        nearer.chain(bound)
    };
    let max = counted().reduce(T::greatest_of).unwrap_or(T::ZERO);
    Totals { reached: counted().count() as u64, max: max.number(), sum: T::sum(counted()) }
}

fn typed<B: CommandBackend + Mxv<MinPlus<T>>, T: Distance>(args: &SsspArgs, run: &Run<B>, degrees: &[u32]) -> Result<()> {
    match &args.search.sources {
        None => one::<B, T>(args, run),
        Some(asked) => {
            let written = if args.common.output.is_some() { run.graph.nodes() * (size_of::<T>() + size_of::<f64>()) } else { 0 };
            let each = size_of::<SsspConfig>() + 2 * size_of::<Totals>() + written;
            let sources = search::sources(run, asked, each as u64, |v| degrees[v as usize] > 0)?;
            many::<B, T>(args, run, &sources)
        }
    }
}

fn config<B: CommandBackend>(args: &SsspArgs, run: &Run<B>, source: u32, target: Option<u32>) -> SsspConfig {
    let parents = args.search.parents || target.is_some();
    SsspConfig { source, target, delta: args.search.delta, parents, control: run.reporter.running("sssp") }
}

fn one<B: CommandBackend + Mxv<MinPlus<T>>, T: Distance>(args: &SsspArgs, run: &Run<B>) -> Result<()> {
    let target = args.search.target.map(|t| run.vertex(t)).transpose()?;
    let Some(source) = run.source(args.search.source)? else {
        if let Some(file) = &args.common.output {
            output::write_vector(file, &column::<T>(args, Vec::new()), &run.naming(), &run.reporter)?;
        }
        let (seconds, ()) = run.repeat(|| Ok(()))?;
        let zero = Number::from(0);
        let result = SsspResult { source: None, reached: 0, max_distance: zero.clone(), sum_distance: zero, path: None };
        return report::finish(run, "sssp", &seconds, result, "sssp: the graph has no vertices\n");
    };
    // A search that stops at its target leaves the rest open, which a written column must not.
    let stop = target.filter(|_| args.common.output.is_none());
    let config = config(args, run, source, stop);
    let config = SsspConfig { parents: config.parents || target.is_some(), ..config };
    let (seconds, mut sssp) = run.repeat(|| algorithms::sssp::<_, T>(&run.graph, &config))?;
    let Totals { reached, max, sum } = totals(&sssp, target);
    let path = target.map(|t| {
        let distance = sssp.distances[t as usize];
        let parents = sssp.parents.as_deref().unwrap_or_default();
        let reached = distance != T::greatest();
        PathResult {
            target: run.number(t),
            distance: reached.then(|| distance.number()),
            path: if reached { search::path(parents, t).into_iter().map(|v| run.number(v)).collect() } else { Vec::new() },
        }
    });
    if let Some(file) = &args.common.output {
        let values = match &sssp.parents {
            Some(parents) if args.search.parents => search::parents_column(run, parents),
            _ => column(args, std::mem::take(&mut sssp.distances)),
        };
        output::write_vector(file, &values, &run.naming(), &run.reporter)?;
    }
    let mut summary = format!("sssp from vertex {}: {reached} vertices reached, greatest distance {max}, sum {sum}\n", run.number(source));
    if let Some(p) = &path {
        bfs::describe(&mut summary, p);
    }
    let result = SsspResult { source: Some(run.number(source)), reached, max_distance: max, sum_distance: sum, path };
    report::finish(run, "sssp", &seconds, result, &summary)
}

fn many<B: CommandBackend + Mxv<MinPlus<T>>, T: Distance>(args: &SsspArgs, run: &Run<B>, sources: &[u32]) -> Result<()> {
    let configs: Vec<SsspConfig> = sources.iter().map(|&s| config(args, run, s, None)).collect();
    let mut distances = Vec::new();
    let (seconds, each) = run.repeat(|| {
        distances.clear();
        configs
            .iter()
            .map(|config| {
                let sssp = algorithms::sssp::<_, T>(&run.graph, config)?;
                let sums = totals(&sssp, None);
                if args.common.output.is_some() {
                    distances.extend_from_slice(&sssp.distances);
                }
                Ok(sums)
            })
            .collect::<Result<Vec<_>, _>>()
    })?;
    let numbers: Vec<u64> = sources.iter().map(|&s| run.number(s)).collect();
    if let Some(file) = &args.common.output {
        let naming = Naming { sources: Some(&numbers), ..run.naming() };
        output::write_vector(file, &column(args, distances), &naming, &run.reporter)?;
    }
    let max = each.iter().map(|t| &t.max).max_by(|a, b| a.as_f64().unwrap_or(0.0).total_cmp(&b.as_f64().unwrap_or(0.0)));
    let sum = match each.iter().map(|t| t.sum.as_u64().map(u128::from)).sum::<Option<u128>>() {
        Some(whole) => u64::try_from(whole).map_or_else(|_| float(whole as f64), Number::from),
        None => float(each.iter().filter_map(|t| t.sum.as_f64()).sum()),
    };
    let result = ManySsspResult {
        sources: sources.len(),
        reached: each.iter().map(|t| t.reached).sum(),
        max_distance: max.cloned().unwrap_or_else(|| Number::from(0)),
        sum_distance: sum,
        source: numbers,
        reached_by_source: each.iter().map(|t| t.reached).collect(),
        max_distance_by_source: each.iter().map(|t| t.max.clone()).collect(),
        sum_distance_by_source: each.into_iter().map(|t| t.sum).collect(),
    };
    let summary = format!(
        "sssp from {} sources: {} vertices reached in all, greatest distance {}\n",
        result.sources, result.reached, result.max_distance
    );
    report::finish(run, "sssp", &seconds, result, &summary)
}

/// Distances as `--output` writes them: floats of the precision asked for, infinity where unreached. Whole numbers that 32-bit
/// floats cannot hold exactly are written in 64 bits whatever the precision.
fn column<T: Distance>(args: &SsspArgs, distances: Vec<T>) -> Values {
    const EXACT: f64 = 16_777_216.0;
    let finite = |d: T| if d == T::greatest() { f64::INFINITY } else { d.to_f64() };
    let whole = !T::DTYPE.is_float();
    let fits = !whole || distances.iter().all(|&d| d == T::greatest() || d.to_f64() <= EXACT);
    if args.common.layout.precision == Precision::F32 && T::DTYPE != DType::F64 && fits {
        Values::from_vec(distances.into_iter().map(|d| finite(d) as f32).collect::<Vec<_>>())
    } else {
        Values::from_vec(distances.into_iter().map(finite).collect::<Vec<_>>())
    }
}
