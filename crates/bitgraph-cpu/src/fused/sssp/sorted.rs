//! Rows sorted by weight, of any weights, for a crew: arcs are relaxed up to a horizon, and what is left for later is pushed when it is due, or pulled.
//!
//! What `packed::shared` does for weights of a byte, in the same rounds. A bucket is a part of the largest weight, so that a row reaches over as many
//! buckets as one of packed arcs.
//!
//! # Invariants
//! As of `rounds`. Where a bucket begins is rounded so that what is relaxed is at least what the rounds ask for: to relax more changes no distance.
#![allow(unsafe_code)]

use crate::fused::buckets::arcs::{Arcs, Out};
use crate::fused::buckets::distance::Native;
#[cfg(target_arch = "x86_64")]
use crate::fused::buckets::lanes;
use crate::{Isa, threads};
use bitgraph_backend::WeightStats;
use bitgraph_sparse::ahead::{beside, fetch};
use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_sparse::{Csr, with_offsets};
use std::cmp::Ordering;
use std::ops::Range;

/// Buckets that the largest weight reaches over, at most: a search by rounds takes what waits for longer as not to be reached.
const REACH: f64 = 254.0;
/// How often the mean weight fits the largest, at most, for buckets of equal width to hold work alike.
const UNEVEN: f64 = 16.0;
/// Vertices at most: a search's buckets are counted in 32 bits.
const MOST_NODES: usize = 1 << 24;
/// How many entries ahead memory is asked for.
const AHEAD: usize = 8;
/// Weights that are small beside what floats can tell apart make no buckets.
const SMALLEST: f64 = 1e-30;

/// One direction of a graph, each row by rising weight; rows lie as those of the pattern do.
#[derive(Debug)]
pub(super) struct Rows<D> {
    pattern: Csr,
    ids: Vec<u32>,
    weights: Vec<D>,
}

impl<D: Native> Rows<D> {
    /// Sorts the rows, in parallel. O(nnz log degree), peak memory the result.
    pub fn build(pattern: &Csr, values: &[D]) -> Self {
        let (mut ids, mut weights) = (vec![0u32; pattern.nnz()], vec![D::ZERO; pattern.nnz()]);
        {
            let (ids, weights) = (DisjointSlice::new(&mut ids), DisjointSlice::new(&mut weights));
            let parts = with_offsets!(pattern.offsets(), o => parallel::balanced_rows(o, 8 * threads::allowed()));
            parallel::each(parts.len(), &|part| {
                let mut row = Vec::new();
                for v in parts[part].clone() {
                    let range = pattern.row_range(v);
                    row.clear();
                    row.extend(pattern.indices()[range.clone()].iter().zip(&values[range.clone()]).map(|(&u, &w)| (w, u)));
                    row.sort_unstable_by(|a: &(D, u32), b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then(a.1.cmp(&b.1)));
                    // SAFETY: rows are disjoint, and so are parts.
                    let (ids, weights) = unsafe { (ids.range(range.clone()), weights.range(range)) };
                    for ((id, weight), &(w, u)) in ids.iter_mut().zip(weights).zip(&row) {
                        (*id, *weight) = (u, w);
                    }
                }
            });
        }
        Self { pattern: pattern.clone(), ids, weights }
    }
    /// Bytes of what is held besides the pattern.
    pub fn bytes(&self) -> u64 {
        (self.ids.len() * 4 + self.weights.len() * size_of::<D>()) as u64
    }
    fn row(&self, v: usize) -> Range<usize> {
        self.pattern.row_range(v)
    }
    /// The bit length of a degree.
    fn class(&self, v: usize) -> u32 {
        u32::BITS - (self.row(v).len() as u32).leading_zeros()
    }
}

/// Both directions, and how wide a bucket is.
#[derive(Debug)]
pub(super) struct Sorted<D> {
    out: Rows<D>,
    incoming: Option<Rows<D>>,
    inverse: f64,
    step: u64,
    near: bool,
}

/// Whether buckets of a part of the largest weight suit the weights.
pub(super) fn suits(out: &Csr, weights: &WeightStats) -> bool {
    out.nrows() <= MOST_NODES && weights.largest >= SMALLEST && weights.largest <= UNEVEN * weights.mean && weights.largest < 1e30
}

impl<D: Native> Sorted<D> {
    /// Sorts the rows of weights that [`suits`] took.
    pub fn build(out: &Csr, weights: &[D], incoming: Option<(&Csr, &[D])>, summary: &WeightStats, near: bool) -> Self {
        let width = summary.largest / REACH;
        // About four entries of a mean row.
        let step = 8.0 * summary.mean / width * out.nrows() as f64 / out.nnz().max(1) as f64;
        Self {
            out: Rows::build(out, weights),
            incoming: incoming.map(|(t, w)| Rows::build(t, w)),
            inverse: 1.0 / width,
            step: 1 << (step.clamp(8.0, 255.0) as u64).ilog2(),
            near,
        }
    }
    pub fn bytes(&self) -> u64 {
        self.out.bytes() + self.incoming.as_ref().map_or(0, Rows::bytes)
    }
}

/// The same with the instructions in force.
pub(super) struct Search<'a, D> {
    graph: &'a Sorted<D>,
    isa: Isa,
    step: u64,
}

impl<'a, D: Native> Search<'a, D> {
    /// With horizons `delta` apart, or as suits the graph.
    pub fn new(graph: &'a Sorted<D>, isa: Isa, delta: Option<f64>) -> Self {
        let step = delta.map_or(graph.step, |delta| (delta * graph.inverse).clamp(1.0, 128.0) as u64);
        Self { graph, isa, step }
    }
}

impl<D: Native> Arcs for Search<'_, D> {
    type D = D;
    const LAZY: bool = true;
    fn nodes(&self) -> usize {
        self.graph.out.pattern.nrows()
    }
    fn arcs(&self) -> u64 {
        self.graph.out.pattern.nnz() as u64
    }
    fn step(&self) -> u64 {
        self.step
    }
    #[inline(always)]
    fn key(&self, distance: D) -> u64 {
        distance.bucket(self.graph.inverse)
    }
    fn expand(&self, entries: &[(D, u32)], horizon: u64, out: &mut Out<'_, D>) {
        let valid = out.valid(entries);
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU has the instructions; queued are vertices, which have rows, and their neighbours distances, at most `MOST_NODES`.
            Isa::Avx512 => unsafe { self.expand_wide(&valid, horizon, out) },
            _ => self.expand_with(&valid, horizon, out, |from, base, limit, out| self.push(from, base, limit, out)),
        }
        out.lower_all(|d| self.key(d));
        out.found.give_back(valid);
    }
    fn due(&self, horizon: u64, out: &mut Out<'_, D>) {
        let limit = self.limit(horizon);
        for i in 0..out.settled.keys.len() {
            if u64::from(out.settled.keys[i]) >= horizon {
                continue;
            }
            let (v, base, from) = out.settled.rows[i];
            let mut key = u32::MAX;
            let mut from = from as usize;
            // Nearer since: whoever found that pushes the row.
            if out.known(v) == base {
                let row = self.graph.out.row(v as usize);
                let rest = row.start + from..row.end;
                from += self.push(rest.clone(), base, limit, out);
                key = self.next_key(row.start + from..row.end, base);
            }
            out.settled.rows[i].2 = from as u32;
            out.settled.keys[i] = key;
        }
    }
    fn whole(&self, arcs: u64, out: &mut Out<'_, D>) -> u64 {
        let mut sum = 0;
        for i in 0..out.settled.rows.len() {
            let (v, base, from) = out.settled.rows[i];
            let row = self.graph.out.row(v as usize);
            sum += row.len() as u64;
            if sum > arcs {
                return out.settled.rows[i..].iter().map(|&(_, base, _)| self.key(base)).min().unwrap_or(u64::MAX);
            }
            if out.settled.keys[i] != u32::MAX && out.known(v) == base {
                self.push(row.start + from as usize..row.end, base, D::largest(), out);
            }
        }
        u64::MAX
    }
    fn open(&self, range: Range<usize>, now: u64, list: &mut Vec<u32>, listed: bool, out: &Out<'_, D>) -> u64 {
        let rows = self.incoming();
        if listed {
            list.retain(|&v| self.key(out.known(v)) >= now);
        } else {
            list.clear();
            list.extend(range.filter(|&v| self.key(out.known(v as u32)) >= now && !rows.row(v).is_empty()).map(|v| v as u32));
        }
        list.iter().step_by(16).map(|&v| 16u64 << rows.class(v as usize)).sum()
    }
    fn pull(&self, list: &[u32], now: u64, horizon: u64, nearest: u64, out: &mut Out<'_, D>) {
        // No settled vertex whose row was not pushed wholly is nearer.
        let (limit, settled, nearest) = (self.limit(horizon), self.limit(now), D::begin(nearest, self.graph.inverse));
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU has the instructions; listed are vertices, which have rows, and their neighbours distances, at most `MOST_NODES`.
            Isa::Avx512 => unsafe { self.pull_by_vectors(list, limit, (settled, nearest), out) },
            _ => self.pull_with(list, limit, out, |ids, weights, mut best, out| {
                for (&u, &w) in ids.iter().zip(weights) {
                    if nearest.extend(w) >= best {
                        break;
                    }
                    let from = out.known(u);
                    let sum = if from < settled { from.extend(w) } else { D::largest() };
                    best = if sum < best { sum } else { best };
                }
                best
            }),
        }
    }
}

impl<D: Native> Search<'_, D> {
    fn incoming(&self) -> &Rows<D> {
        self.graph.incoming.as_ref().unwrap_or(&self.graph.out)
    }
    /// A distance that those of the buckets before this one are below.
    fn limit(&self, bucket: u64) -> D {
        if bucket == u64::MAX { D::largest() } else { D::end(bucket, self.graph.inverse) }
    }
    /// The bucket that the first of the arcs leads to from a vertex at distance `base`; the largest if there is none.
    fn next_key(&self, arcs: Range<usize>, base: D) -> u32 {
        let next = if arcs.is_empty() { None } else { Some(self.key(base.extend(self.graph.out.weights[arcs.start]))) };
        next.map_or(u32::MAX, |key| u32::try_from(key).unwrap_or(u32::MAX))
    }
    /// Relaxes the leading arcs of these whose ends are below `limit`; returns how many there are.
    #[inline(always)]
    fn push(&self, arcs: Range<usize>, base: D, limit: D, out: &mut Out<'_, D>) -> usize {
        let rows = &self.graph.out;
        for (k, (&u, &w)) in rows.ids[arcs.clone()].iter().zip(&rows.weights[arcs.clone()]).enumerate() {
            let sum = base.extend(w);
            if sum >= limit {
                return k;
            }
            out.relax(u, sum, || self.key(sum));
        }
        arcs.len()
    }
    /// Pushes the entries up to the horizon, by `push`, and keeps what they have left.
    #[inline(always)]
    fn expand_with(
        &self,
        entries: &[(D, u32)],
        horizon: u64,
        out: &mut Out<'_, D>,
        push: impl Fn(Range<usize>, D, D, &mut Out<'_, D>) -> usize,
    ) {
        let rows = &self.graph.out;
        let limit = self.limit(horizon);
        // An undirected vertex of degree 1 has no arc but the one that it was reached over, if it is not the source.
        let leaf = usize::from(self.graph.incoming.is_none());
        for (i, &(base, v)) in entries.iter().enumerate() {
            if let Some(&(_, ahead)) = entries.get(i + AHEAD) {
                let start = rows.row(ahead as usize).start;
                fetch(rows.ids.as_ptr().wrapping_add(start));
                fetch(rows.weights.as_ptr().wrapping_add(start));
            }
            let row = rows.row(v as usize);
            if row.len() <= leaf && base != D::ZERO {
                continue;
            }
            if self.graph.near {
                beside(rows.ids.as_ptr(), row.clone());
                beside(rows.weights.as_ptr(), row.clone());
                beside(out.dist.as_ptr(), v as usize..v as usize);
            }
            let from = push(row.clone(), base, limit, out);
            if out.keeps {
                out.settled.size += 1 << rows.class(v as usize);
                out.settled.rows.push((v, base, from as u32));
                out.settled.keys.push(self.next_key(row.start + from..row.end, base));
            }
        }
    }
    /// # Safety
    /// The CPU has the instructions; queued are vertices of a valid pattern of at most [`MOST_NODES`], and `out` has a distance for each.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn expand_wide(&self, entries: &[(D, u32)], horizon: u64, out: &mut Out<'_, D>) {
        let rows = &self.graph.out;
        self.expand_with(entries, horizon, out, |row, base, limit, out| {
            let (ids, weights) = (&rows.ids[row.clone()], &rows.weights[row]);
            // SAFETY: the contract.
            unsafe { lanes::list_wide::<true, _>(ids, Some(weights), (base, limit), out, |d| self.key(d)) }
        });
    }
    /// Lowers the listed distances to what `nearest` finds in rows, from a best distance at first, if that is below `limit`.
    #[inline(always)]
    fn pull_with(&self, list: &[u32], limit: D, out: &mut Out<'_, D>, nearest: impl Fn(&[u32], &[D], D, &Out<'_, D>) -> D) {
        let rows = self.incoming();
        for (i, &v) in list.iter().enumerate() {
            if let Some(&ahead) = list.get(i + AHEAD) {
                let start = rows.row(ahead as usize).start;
                fetch(rows.ids.as_ptr().wrapping_add(start));
                fetch(rows.weights.as_ptr().wrapping_add(start));
            }
            let known = out.known(v);
            let row = rows.row(v as usize);
            let bound = if known < limit { known } else { limit };
            let best = nearest(&rows.ids[row.clone()], &rows.weights[row], bound, out);
            if best < bound {
                out.relax(v, best, || self.key(best));
            }
        }
    }
    /// # Safety
    /// As [`Search::expand_wide`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn pull_by_vectors(&self, list: &[u32], limit: D, settled: (D, D), out: &mut Out<'_, D>) {
        self.pull_with(list, limit, out, |ids, weights, best, out| {
            // SAFETY: the contract.
            unsafe { lanes::pull_wide(ids, weights, out.dist.as_ptr().cast(), settled, best) }
        });
    }
}
