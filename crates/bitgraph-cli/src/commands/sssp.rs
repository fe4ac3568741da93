//! `sssp`: shortest paths from one source, or from each of many.
//!
//! Invariant: whole-number weights are summed as whole numbers, in 32 bits where no path can overflow them and in 64 otherwise;
//! other weights in the precision asked for. A distance that no type holds is an error, never "unreached". The type of what is written
//! depends on the options and on the type of the weights, not on the distances: whole numbers in text; in `.npy` floats of the precision asked
//! for, but of 64 bits where whole-number weights were read or drawn, or there are more vertices than 32-bit floats count exactly.

use super::search;
use crate::choice::Precision;
use crate::failure::{Failure, Result};
use crate::files;
use crate::options::SsspArgs;
use crate::progress::Reporter;
use crate::report::{self, ManySsspResult, PathResult, SsspResult};
use crate::run::{CommandBackend, Run, WeightRange};
use bitgraph::algorithms::{BfsConfig, BfsOutput, PathBackend, Sssp, SsspConfig, Typed};
use bitgraph::backend::{Error as BackendError, Fused};
use bitgraph::io::{Naming, VectorData};
use bitgraph::semiring::{DType, Scalar};
use bitgraph::sparse::{Stored, parallel, with_values};
use bitgraph::{StoredGraph, WeightSource};
use serde_json::Number;
use std::path::Path;

/// Runs the search with the type that the weights call for.
pub fn run<B: CommandBackend>(backend: B, args: &SsspArgs, reporter: Reporter) -> Result<()> {
    if let Some(delta) = args.search.delta
        && !(delta > 0.0 && delta.is_finite())
    {
        return Err(Failure::usage(format_args!("--delta is {delta}; it must be positive and finite")));
    }
    search::check_output(&args.common, &args.search)?;
    let weights = args.weights.unwrap_or(WeightSource::FileOrUnit);
    let (mut degrees, mut single, mut huge, mut dtype) = (Vec::new(), false, false, DType::F32);
    let precision = args.common.layout.precision;
    let run = Run::start(backend, &args.common, "sssp", weights, reporter, |stored| {
        check_weights(stored)?;
        let range = WeightRange::of(stored.values.as_ref());
        if args.search.sources.is_some() {
            degrees = stored.degrees();
        }
        let exact = stored.values.is_none() && stored.nodes() <= EXACT;
        single = precision == Precision::F32 && (exact || !range.integral);
        huge = !range.integral && longest(range, stored.nodes()).is_infinite();
        dtype = distance_type(range, stored.nodes(), precision);
        Ok(())
    })?;
    let search = Search { args, degrees, single, huge };
    match dtype {
        DType::U32 => typed::<B, u32>(&search, &run),
        DType::U64 => typed::<B, u64>(&search, &run),
        DType::F64 => typed::<B, f64>(&search, &run),
        _ => typed::<B, f32>(&search, &run),
    }
}

/// Whole numbers up to here are exact in 32-bit floats.
const EXACT: usize = 1 << 24;

/// What is asked, and what is known of the graph.
struct Search<'a> {
    args: &'a SsspArgs,
    /// Of the vertices, where sources are to be drawn.
    degrees: Vec<u32>,
    /// Floats in `.npy` are of 32 bits.
    single: bool,
    /// A path may be longer than any float.
    huge: bool,
}

/// Refuses a weight that is negative or not finite, naming the first such edge as the input does.
fn check_weights(stored: &StoredGraph) -> Result<()> {
    let Some(values) = &stored.values else { return Ok(()) };
    let refused = |weight: f64| weight < 0.0 || !weight.is_finite();
    let first = with_values!(values, v => parallel::position(v, |x| refused(x.to_f64())));
    let Some(position) = first else { return Ok(()) };
    let (row, column) = stored.arc(position);
    let what = "shortest paths need finite weights of 0 or more";
    let error = BackendError::Weight { row, column, weight: values.get_f64(position), what };
    Err(Failure::from(error).at(&stored.name))
}

/// No path is longer.
fn longest(weights: WeightRange, nodes: usize) -> f64 {
    weights.largest * nodes.saturating_sub(1) as f64
}

/// The type that distances are computed in.
fn distance_type(weights: WeightRange, nodes: usize, precision: Precision) -> DType {
    let longest = longest(weights, nodes);
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
    /// Writes distances, infinity where unreached.
    fn write<B: CommandBackend>(distances: &[Self], file: &Path, search: &Search<'_>, naming: &Naming<'_>, run: &Run<B>) -> Result<()>;
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
            fn write<B: CommandBackend>(distances: &[Self], file: &Path, search: &Search<'_>, naming: &Naming<'_>, run: &Run<B>) -> Result<()> {
                let wide = |&d: &Self| if d == Self::largest() { u64::MAX } else { d.into() };
                let values: Vec<u64> = distances.iter().map(wide).collect();
                files::write_vector(file, VectorData::Distances { values: &values, single: search.single }, naming, &run.reporter)
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
            fn write<B: CommandBackend>(distances: &[Self], file: &Path, search: &Search<'_>, naming: &Naming<'_>, run: &Run<B>) -> Result<()> {
                let array = file.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
                if !(search.single && array && Self::DTYPE == DType::F64) {
                    return files::write_vector(file, distances, naming, &run.reporter);
                }
                let narrow: Vec<f32> = distances.iter().map(|&d| d as f32).collect();
                match narrow.iter().zip(distances).position(|(n, &d)| n.is_infinite() && d.is_finite()) {
                    None => files::write_vector(file, &narrow[..], naming, &run.reporter),
                    Some(k) => Err(Failure::other(format_args!(
                        "{}: distance {} does not fit f32; take --precision f64",
                        file.display(),
                        distances[k]
                    ))),
                }
            }
        }
    )* };
}
fractional!(f32 f64);

/// A finite float as JSON; an overflow is the largest one.
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
    let bound = target.map(|t| sssp.distances[t as usize]).filter(|&d| d != T::largest());
    let counted = || {
        let nearer = sssp.distances.iter().copied().filter(move |&d| d != T::largest() && bound.is_none_or(|b| d < b));
        nearer.chain(bound)
    };
    let max = counted().reduce(T::max_of).unwrap_or(T::ZERO);
    Totals { reached: counted().count() as u64, max: max.number(), sum: T::sum(counted()) }
}

fn typed<B: CommandBackend + PathBackend<T> + Fused<Typed<SsspConfig, T>>, T: Distance>(search: &Search<'_>, run: &Run<B>) -> Result<()> {
    match &search.args.search.sources {
        None => one::<B, T>(search, run),
        Some(asked) => {
            let written = if search.args.common.output.is_some() { run.graph.nodes() * (size_of::<T>() + size_of::<u64>()) } else { 0 };
            let each = size_of::<SsspConfig>() + 2 * size_of::<Totals>() + written;
            let sources = search::sources(run, asked, each as u64, |v| search.degrees[v as usize] > 0)?;
            many::<B, T>(search, run, &sources)
        }
    }
}

/// Refuses distances that overflowed, which would be taken for unreached: of all vertices, or of one.
fn check_overflow<B: CommandBackend, T: Distance>(
    search: &Search<'_>,
    run: &Run<B>,
    (source, target): (u32, Option<u32>),
    distances: &[T],
) -> Result<(), B::Error> {
    if !search.huge {
        return Ok(());
    }
    let config = BfsConfig { source, output: BfsOutput::Levels, control: run.reporter.running("bfs"), ..BfsConfig::default() };
    let levels = run.graph.run(&config)?.levels.unwrap_or_default();
    let lost = |v: usize| levels[v] >= 0 && distances[v] == T::largest();
    let any = target.map_or_else(|| (0..levels.len()).any(lost), |t| lost(t as usize));
    if any { Err(BackendError::Overflow { what: "a distance", dtype: T::DTYPE }.into()) } else { Ok(()) }
}

fn config<B: CommandBackend>(args: &SsspArgs, run: &Run<B>, source: u32, target: Option<u32>) -> SsspConfig {
    let parents = args.search.parents || target.is_some();
    SsspConfig { source, target, delta: args.search.delta, parents, control: run.reporter.running("sssp") }
}

fn one<B: CommandBackend + PathBackend<T> + Fused<Typed<SsspConfig, T>>, T: Distance>(search: &Search<'_>, run: &Run<B>) -> Result<()> {
    let args = search.args;
    let target = args.search.target.map(|t| run.vertex(t)).transpose()?;
    let Some(source) = run.source(args.search.source)? else {
        if let Some(file) = &args.common.output {
            T::write(&[], file, search, &run.naming(), run)?;
        }
        let seconds = vec![0.0; args.common.layout.runs() as usize];
        let zero = Number::from(0);
        let result = SsspResult { source: None, reached: 0, max_distance: zero.clone(), sum_distance: zero, path: None };
        return report::finish(run, "sssp", &seconds, result, "sssp: the graph has no vertices\n");
    };
    // A search that stops at its target leaves the rest open, which a written column must not.
    let stop = target.filter(|_| args.common.output.is_none());
    let config = config(args, run, source, stop);
    let config = SsspConfig { parents: config.parents || target.is_some(), ..config };
    let (seconds, sssp) = run.repeat(&Typed::<_, T>::new(config))?;
    check_overflow(search, run, (source, stop), &sssp.distances).map_err(Into::into)?;
    let Totals { reached, max, sum } = totals(&sssp, target);
    let path = target.map(|t| {
        let distance = sssp.distances[t as usize];
        let parents = sssp.parents.as_deref().unwrap_or_default();
        let reached = distance != T::largest();
        PathResult {
            target: run.number(t),
            distance: reached.then(|| distance.number()),
            path: if reached { search::path(parents, t).into_iter().map(|v| run.number(v)).collect() } else { Vec::new() },
        }
    });
    if let Some(file) = &args.common.output {
        match &sssp.parents {
            Some(parents) if args.search.parents => search::write_parents(file, run, parents)?,
            _ => T::write(&sssp.distances, file, search, &run.naming(), run)?,
        }
    }
    let mut summary = format!("sssp from vertex {}: {reached} vertices reached, largest distance {max}, sum {sum}\n", run.number(source));
    if let Some(p) = &path {
        search::describe(&mut summary, p);
    }
    let result = SsspResult { source: Some(run.number(source)), reached, max_distance: max, sum_distance: sum, path };
    report::finish(run, "sssp", &seconds, result, &summary)
}

fn many<B: CommandBackend + PathBackend<T> + Fused<Typed<SsspConfig, T>>, T: Distance>(
    search: &Search<'_>,
    run: &Run<B>,
    sources: &[u32],
) -> Result<()> {
    let args = search.args;
    let (mut seconds, mut distances, mut each) = (Vec::new(), Vec::new(), Vec::new());
    // One run is all sources.
    for &source in sources {
        let (taken, sssp) = run.repeat(&Typed::<_, T>::new(config(args, run, source, None)))?;
        seconds.resize(taken.len(), 0.0);
        seconds.iter_mut().zip(taken).for_each(|(all, one)| *all += one);
        check_overflow(search, run, (source, None), &sssp.distances).map_err(Into::into)?;
        each.push(totals(&sssp, None));
        if args.common.output.is_some() {
            distances.extend_from_slice(&sssp.distances);
        }
    }
    let numbers: Vec<u64> = sources.iter().map(|&s| run.number(s)).collect();
    if let Some(file) = &args.common.output {
        let naming = Naming { sources: Some(&numbers), ..run.naming() };
        T::write(&distances, file, search, &naming, run)?;
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
        "sssp from {} sources: {} vertices reached in all, largest distance {}\n",
        result.sources, result.reached, result.max_distance
    );
    report::finish(run, "sssp", &seconds, result, &summary)
}
