//! Shortest paths from one source: a layout built once for a pattern and its weights, and a run per source.
//!
//! Five forms, chosen by `select.rs`:
//!
//! * steps: no weights, so that every arc has length 1; a breadth-first search;
//! * packed: whole weights 1..=255 (a pattern's weight 1 included), at most 2^24 vertices and fewer than 2^32 entries;
//!   exact buckets over rows sorted by weight (`packed`);
//! * sorted: any other weights of which none is far above the mean, where vertices have many arcs; the same over rows of ids and weights (`sorted`);
//! * whole: other integers, distances in `u32` where they cannot overflow, else in `u64`;
//! * real: floats, distances in `f32` (weights of at most 32 bits) or `f64`, each the smallest left-to-right sum over all paths.
//!
//! One thread searches packed rows with buckets and cursors of its own (`packed::horizon`, `packed::fixed`), and two do where rows are long or levels
//! of a mesh wide, each for its part of the vertices (`packed::pair`). More search in rounds (`rounds`) where vertices have many arcs, most of which
//! are then never looked at, and otherwise without waiting for each other (`buckets::free`); so do two or more where rows are neither packed nor sorted, and
//! one searches in rounds of its own, as any number do over sorted rows.
//! What they share with other searches by distance is in `buckets`.
//!
//! Float weights that are whole numbers 1..=255, small enough that every sum is exact, take the packed form as well.
//! Invariant: distances do not depend on the form, the instruction set or the number of threads.

mod general;
mod packed;
mod parents;
mod rounds;
mod select;
mod sorted;
mod state;
#[cfg(test)]
mod tests;

pub use super::buckets::distance::Distance;

use super::buckets::distance::{self, Native, native_weights};
use crate::fused::bfs::{self, BfsLayout};
use crate::fused::tc::work::Pool;
use bitgraph_algorithms::{BfsConfig, Sssp, SsspConfig};
use bitgraph_backend::{Error, Result, WeightStats};
use bitgraph_semiring::DType;
use bitgraph_sparse::ahead;
use bitgraph_sparse::{Buffer, Csr, Permutation, Values};
use general::General;
use sorted::Sorted;

/// Which variant searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SsspVariant {
    /// Every arc has length 1: a breadth-first search.
    Steps,
    /// The same with the neighbours of maximum degree first.
    StepsMaxDegree,
    /// The same by threads that do not wait for each other between levels.
    StepsAtWill,
    /// Delta-stepping over CSR, for any weights.
    Buckets,
    /// The same over rows sorted by weight, whose heavier arcs are left until they are due.
    SortedBuckets,
    /// Exact buckets over rows sorted by weight, for whole weights 1..=255.
    Packed,
    /// The same, where several threads do not wait for each other.
    PackedAtWill,
    /// The same where no row is longer than a vector: rows of a fixed length, unsorted.
    PackedRows,
}

/// A graph with weights, ready for shortest paths from any source.
///
/// # Memory
/// Steps hold what a [`BfsLayout`] holds. The packed form holds 4 bytes per entry and 37 per vertex of its own (16 or 32 per
/// vertex and nothing per entry where no degree is above 4 or 8), as much again for the transpose of a directed graph, and 8 per
/// vertex where degrees are skewed. It keeps the scratch of a run for the next one: 16 to 20 bytes per vertex and the buckets, with
/// two threads 20 each and their messages, with more 20 together. Sorted rows hold 8 or 12 bytes per entry, as much again for the transpose of a directed
/// graph. The other forms share the caller's arrays where the weights have the type that
/// distances are summed in, and hold a converted weight per entry otherwise.
#[derive(Debug)]
pub struct SsspLayout {
    out: Csr,
    incoming: Option<(Csr, Option<Values>)>,
    form: Form,
    summary: WeightStats,
    /// The numbers that decide among equal parents, if the vertices have others than their own.
    numbers: Option<Permutation>,
}

#[derive(Debug)]
enum Form {
    Steps(BfsLayout),
    Packed(Box<packed::Packed>),
    U32(General<u32>),
    U64(General<u64>),
    F32(General<f32>),
    F64(General<f64>),
}

impl SsspLayout {
    /// Checks the weights and builds the variant that suits them. `incoming` is the transpose of a directed graph with its
    /// weights in its own order; `None` says that pattern and weights are symmetric. Without weights every arc has length 1.
    /// An arc of infinite weight is never taken. O(nnz), parallel.
    ///
    /// # Errors
    /// [`Error::NotSquare`]; [`Error::Shape`] for arrays that do not fit together; [`Error::Weight`] naming the first edge
    /// whose weight is negative or NaN.
    pub fn build(out: &Csr, incoming: Option<(&Csr, Option<&Values>)>, weights: Option<&Values>) -> Result<Self> {
        let fixed = || (0..out.nrows()).all(|v| out.degree(v) <= packed::HEAD);
        let stats = WeightStats::of(out, weights);
        let variant = match weights {
            None => SsspVariant::StepsMaxDegree,
            Some(_) if !stats.as_ref().is_ok_and(|w| packed::Packed::suits(out, w)) => {
                let sorts = out.nnz() as f64 >= select::SORTED_DEGREE * out.nrows() as f64 && packed::skewed(out);
                if sorts { SsspVariant::SortedBuckets } else { SsspVariant::Buckets }
            }
            Some(_) if fixed() => SsspVariant::PackedRows,
            Some(_) if out.nnz() < select::FREE_DEGREE as usize * out.nrows() => SsspVariant::PackedAtWill,
            Some(_) => SsspVariant::Packed,
        };
        Self::build_as(out, incoming, weights, false, variant)
    }

    /// [`SsspLayout::build`] with the variant chosen by the caller; buckets stand in for one that does not suit the weights. With
    /// `wide_sums`, weights of `f16`, `bf16` and `f32` are summed in `f64`.
    ///
    /// # Errors
    /// As [`SsspLayout::build`].
    pub fn build_as(
        out: &Csr,
        incoming: Option<(&Csr, Option<&Values>)>,
        weights: Option<&Values>,
        wide_sums: bool,
        variant: SsspVariant,
    ) -> Result<Self> {
        if !out.is_square() {
            return Err(Error::NotSquare { algorithm: "sssp", rows: out.nrows() as u64, columns: out.ncols() as u64 });
        }
        if let Some((t, w)) = incoming {
            let same = |operand, expected: usize, found: usize| match expected == found {
                true => Ok(()),
                false => Err(Error::Shape { operation: "sssp", operand, expected: expected as u64, found: found as u64 }),
            };
            same("the rows of the transpose", out.nrows(), t.nrows())?;
            same("the columns of the transpose", out.nrows(), t.ncols())?;
            same("the transpose", out.nnz(), t.nnz())?;
            same("the weights of the transpose", weights.map_or(0, Values::len), w.map_or(0, Values::len))?;
        }
        let summary = WeightStats::of(out, weights)?;
        let packs = matches!(variant, SsspVariant::Packed | SsspVariant::PackedAtWill | SsspVariant::PackedRows);
        let form = if let Some(way) = variant.way().filter(|_| weights.is_none() && bfs::supports(out)) {
            let options = bfs::select::options(out, way);
            Form::Steps(BfsLayout::build_with(out, incoming.map_or(out, |(t, _)| t), options))
        } else if packs && packed::Packed::suits(out, &summary) {
            let (fixed, free) = (variant == SsspVariant::PackedRows, variant == SsspVariant::PackedAtWill);
            Form::Packed(Box::new(packed::Packed::build(out, weights, incoming, &summary, fixed, free)))
        } else {
            let sorts = variant == SsspVariant::SortedBuckets && weights.is_some() && sorted::suits(out, &summary);
            let incoming = incoming.filter(|_| sorts);
            match distance::native_type(summary.dtype, wide_sums, summary.bound) {
                DType::U32 => Form::U32(General::build(out, weights, &summary).sorted(sorts, incoming, &summary)),
                DType::F32 => Form::F32(General::build(out, weights, &summary).sorted(sorts, incoming, &summary)),
                DType::F64 => Form::F64(General::build(out, weights, &summary).sorted(sorts, incoming, &summary)),
                _ => Form::U64(General::build(out, weights, &summary).sorted(sorts, incoming, &summary)),
            }
        };
        Ok(Self { out: out.clone(), incoming: incoming.map(|(t, w)| (t.clone(), w.cloned())), form, summary, numbers: None })
    }

    /// Has ties between parents decided by the numbers that the vertices had before a renumbering, so that it does not show in them.
    #[must_use]
    pub fn with_numbers(mut self, renumbering: Option<&Permutation>) -> Self {
        self.numbers = renumbering.cloned();
        self
    }

    /// The type that distances are summed in: [`SsspLayout::run`] converts to any other.
    #[must_use]
    pub fn native(&self) -> DType {
        match &self.form {
            Form::Steps(_) | Form::Packed(_) | Form::U32(_) => DType::U32,
            Form::U64(_) => DType::U64,
            Form::F32(_) => DType::F32,
            Form::F64(_) => DType::F64,
        }
    }

    /// The variant.
    #[must_use]
    pub fn variant(&self) -> SsspVariant {
        match &self.form {
            Form::Steps(b) if b.searches_at_will() => SsspVariant::StepsAtWill,
            Form::Steps(b) if b.knows_max_degree() => SsspVariant::StepsMaxDegree,
            Form::Steps(_) => SsspVariant::Steps,
            Form::Packed(p) if p.is_fixed() => SsspVariant::PackedRows,
            Form::Packed(p) if p.is_free() => SsspVariant::PackedAtWill,
            Form::Packed(_) => SsspVariant::Packed,
            Form::U32(General { sorted: Some(_), .. })
            | Form::U64(General { sorted: Some(_), .. })
            | Form::F32(General { sorted: Some(_), .. })
            | Form::F64(General { sorted: Some(_), .. }) => SsspVariant::SortedBuckets,
            _ => SsspVariant::Buckets,
        }
    }

    /// The number of vertices.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.out.nrows()
    }

    /// Bytes that the layout holds besides the caller's arrays, scratch not counted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.form {
            Form::Steps(b) => b.bytes(),
            Form::Packed(p) => p.bytes(),
            Form::U32(g) => g.bytes(&self.summary),
            Form::U64(g) => g.bytes(&self.summary),
            Form::F32(g) => g.bytes(&self.summary),
            Form::F64(g) => g.bytes(&self.summary),
        }
    }

    /// Distances from the config's source, and parents if asked for. With a target, vertices that are farther count as
    /// not reached. `delta` is the width of a bucket; the packed form takes it as the width of its horizon where it has one, since its buckets are
    /// exact there; steps have no buckets.
    ///
    /// # Errors
    /// [`Error::VertexOutOfRange`] for the source or the target; [`Error::Parameter`] for a width that is not positive and finite;
    /// [`Error::Overflow`] if a distance does not fit `T` or 64 bits; [`Error::Type`] for float distances asked for as
    /// integers; [`Error::Cancelled`].
    pub fn run<T: Distance>(&self, config: &SsspConfig) -> Result<Sssp<T>> {
        let nodes = self.nodes() as u64;
        for vertex in [Some(config.source), config.target].into_iter().flatten().map(u64::from) {
            if vertex >= nodes {
                return Err(Error::VertexOutOfRange { vertex, nodes });
            }
        }
        if let Some(delta) = config.delta
            && !(delta > 0.0 && delta.is_finite())
        {
            return Err(Error::Parameter { parameter: "delta", found: delta, allowed: "above 0 and finite" });
        }
        if self.native().is_float() && !T::DTYPE.is_float() {
            return Err(Error::Type { operation: "sssp", expected: T::DTYPE, found: self.native() });
        }
        let numbers = self.numbers.as_ref().map(Permutation::old_of_new);
        match &self.form {
            Form::Steps(b) => {
                let incoming = self.incoming.as_ref().map_or(&self.out, |(t, _)| t);
                let search = BfsConfig { source: config.source, control: config.control.clone(), ..BfsConfig::default() };
                let (distances, reached) = b.levels(&self.out, incoming, &search)?;
                let plain = |pattern| Plain { pattern, weights: None };
                finish(config, distances, Some(reached), |d| {
                    parents::parents(d, config.source, &plain(incoming), &plain(&self.out), numbers)
                })
            }
            Form::Packed(p) => {
                let distances = p.search(config)?;
                let parents = |d: &[u32]| parents::parents(d, config.source, &p.incoming(), &p.outgoing(), numbers);
                finish(config, distances, None, parents)
            }
            Form::U32(g) => self.general(g, config),
            Form::U64(g) => self.general(g, config),
            Form::F32(g) => self.general(g, config),
            Form::F64(g) => self.general(g, config),
        }
    }

    fn general<D: Native, T: Distance>(&self, graph: &General<D>, config: &SsspConfig) -> Result<Sssp<T>> {
        let delta = config.delta.unwrap_or(graph.delta);
        let distances = general::search(graph, config, delta)?;
        if !D::DTYPE.is_float() && self.summary.bound >= u128::from(u64::MAX) {
            // A target that was found is nearer than whatever overflowed.
            if config.target.is_none_or(|t| distances[t as usize] == D::largest()) {
                graph.check_overflow(&distances)?;
            }
        }
        let parents = |d: &[D]| {
            let shared;
            let (pattern, weights): (&Csr, Option<&[D]>) = match &self.incoming {
                None => (&graph.out, graph.weights.as_deref()),
                Some((t, values)) => {
                    shared = values.as_ref().map(native_weights::<D>);
                    (t, shared.as_deref())
                }
            };
            let outgoing = Plain { pattern: &graph.out, weights: graph.weights.as_deref() };
            parents::parents(d, config.source, &Plain { pattern, weights }, &outgoing, self.numbers.as_ref().map(Permutation::old_of_new))
        };
        finish(config, distances, None, parents)
    }
}

/// A pattern with a weight per entry.
struct Plain<'a, D> {
    pattern: &'a Csr,
    weights: Option<&'a [D]>,
}

impl<D: Native> parents::Arcs<D> for Plain<'_, D> {
    fn each(&self, v: u32, mut f: impl FnMut(u32, D)) {
        let range = self.pattern.row_range(v as usize);
        let row = &self.pattern.indices()[range.clone()];
        match self.weights {
            Some(w) => row.iter().zip(&w[range]).for_each(|(&u, &w)| f(u, w)),
            None => row.iter().for_each(|&u| f(u, D::ONE)),
        }
    }
}

impl<D: Native> General<D> {
    /// Shares or converts the weights, and chooses the width of a bucket.
    fn build(out: &Csr, weights: Option<&Values>, summary: &WeightStats) -> Self {
        let weights: Option<Buffer<D>> = weights.map(native_weights);
        // About the weight that a vertex's lighter arcs have: wider buckets repeat work, narrower ones are mostly empty.
        let degree = (out.nnz() as f64 / out.nrows().max(1) as f64).max(1.0);
        let delta = (summary.mean / degree).max(if D::DTYPE.is_float() { f64::MIN_POSITIVE } else { 1.0 });
        // All weights zero or tiny: any width will do.
        let delta = if delta.is_normal() && delta > 1e-300 { delta } else { 1.0 };
        let hubs = packed::skewed(out);
        let (scratch, members) = (Pool::default(), Pool::default());
        Self { out: out.clone(), weights, near: ahead::near(out), hubs, delta, sorted: None, scratch, members }
    }
    /// With sorted rows, if `sorts`.
    fn sorted(mut self, sorts: bool, incoming: Option<(&Csr, Option<&Values>)>, summary: &WeightStats) -> Self {
        let sorted = |w: &[D]| {
            let incoming = incoming.and_then(|(t, w)| Some((t, native_weights::<D>(w?))));
            Sorted::build(&self.out, w, incoming.as_ref().map(|(t, w)| (*t, &**w)), summary, self.near)
        };
        self.sorted = self.weights.as_deref().filter(|_| sorts).map(sorted);
        self
    }
    fn bytes(&self, summary: &WeightStats) -> u64 {
        let sorted = self.sorted.as_ref().map_or(0, Sorted::bytes);
        sorted + self.weights.as_ref().map_or(0, |w| if summary.dtype == D::DTYPE { 0 } else { (w.len() * size_of::<D>()) as u64 })
    }
    /// Refuses distances that stuck at the largest value although there is a path: a reached vertex with an arc to one that
    /// counts as unreached.
    fn check_overflow(&self, distances: &[D]) -> Result<()> {
        let stuck = (0..distances.len())
            .any(|v| distances[v] != D::largest() && self.out.row(v).iter().any(|&u| distances[u as usize] == D::largest()));
        if stuck { Err(Error::Overflow { what: "a distance", dtype: D::DTYPE }) } else { Ok(()) }
    }
}

/// Cuts off what lies beyond the target, adds parents, counts where that is not `known`, converts.
fn finish<D: Native, T: Distance>(
    config: &SsspConfig,
    mut distances: Vec<D>,
    known: Option<u64>,
    parents: impl FnOnce(&[D]) -> Vec<u32>,
) -> Result<Sssp<T>> {
    if let Some(target) = config.target {
        let end = distances[target as usize];
        distances.iter_mut().filter(|d| **d > end).for_each(|d| *d = D::largest());
    }
    let reached = match known {
        Some(reached) if config.target.is_none() => reached,
        // Sums of 32 bits, as many at a time as a vector holds.
        _ => distances.chunks(1 << 16).map(|part| u64::from(part.iter().map(|&d| u32::from(d != D::largest())).sum::<u32>())).sum(),
    };
    let parents = config.parents.then(|| parents(&distances));
    Ok(Sssp { source: config.source, distances: distance::convert(distances)?, parents, reached })
}
