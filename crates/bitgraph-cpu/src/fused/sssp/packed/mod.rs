//! Shortest paths over whole weights 1..=255 with rows packed into words: the fast form.
//!
//! Invariant: ids fit 24 bits and weights 8, and no distance reaches `u32::MAX - 255`: both follow from at most 2^24 vertices.

mod buckets;
mod fixed;
mod horizon;
mod link;
mod meeting;
mod ops;
#[cfg(target_arch = "x86_64")]
mod ops_avx2;
mod pair;
mod rows;
mod shared;

use super::parents;
use super::rounds::{self, Own};
#[cfg(target_arch = "x86_64")]
use crate::Isa;
use crate::fused::buckets::arcs::{self, Arcs};
use crate::fused::buckets::free;
use crate::fused::tc::work::Pool;
use crate::{team, threads, trace};
use bitgraph_algorithms::SsspConfig;
use bitgraph_backend::{Control, Result, Stats, WeightStats};
use bitgraph_semiring::DType;
use bitgraph_sparse::ahead;
use bitgraph_sparse::{Csr, Permutation, Values, ordering, parallel, with_offsets};
use horizon::{Scratch, Task};
use link::{Alone, Link};
use meeting::Meeting;
use ops::Portable;
use pair::{Board, Paired};
pub(super) use rows::HEAD;
use rows::{ID, Rows};
use shared::{Fixed, Sorted};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Vertices and entries from which on a search is worth more than one thread.
const SHARED_NODES: usize = 1 << 14;
const SHARED_ENTRIES: usize = 1 << 18;
/// The same for threads that do not wait for each other: of 16 cores a triangulation of 16 thousand vertices takes .4 of one's time, a mesh too,
/// and the 3300 vertices of another graph 1.1.
const FREE_NODES: usize = 1 << 13;
const FREE_ENTRIES: usize = 1 << 16;
/// log2 of how much wider their buckets are over rows of a fixed length than those of one thread, which works off one after the other.
const WIDER: u32 = 3;
/// Threads from which on the buckets of those who do not wait for each other are a whole horizon wide, and not half of one, where a search takes many levels:
/// with eight and sixteen, triangulations, geometric graphs and census tracts took .80 to .98 of the time so, and roads and stencils .97 to 1.05 times; with
/// four, .86 to 1.14 times. Graphs a short way across took 1.03 to 1.2 times with sixteen.
const WHOLE_CREW: usize = 8;
/// Threads from which on a crew searches. Two, who lowered each other's distances, took 1.1 to 1.5 times as long as one thread on Kronecker,
/// uniform and social graphs, grids and stencils; two that own the vertices in turns .7 to .8 times on those that are no grids.
pub(super) const CREW: usize = if cfg!(test) { 3 } else { 4 };
/// Vertices and entries from which on two searchers are worth waking a thread.
const PAIR_NODES: usize = 1 << 15;
const PAIR_ENTRIES: usize = 1 << 19;
/// log2 of the vertices of a block that one of two searchers owns.
const BLOCK: u32 = 6;
/// The same in the order of degrees, for the two to share the hubs: a cache line of distances.
const ORDERED_BLOCK: u32 = 4;
/// Searches by one after one whose second searcher was late or did not come: threads do not run at a time, and will not soon.
const AFTER_LATE: usize = if cfg!(test) { 0 } else { 15 };
/// How long the first searcher waits for the second.
const MEETING_WAIT: Duration = Duration::from_micros(200);
/// Vertices from which on those of large degree are put beside each other: fewer distances are near in any order.
const ORDER_NODES: usize = if cfg!(test) { 1 << 4 } else { 1 << 16 };
/// And how much larger than the square of the mean degree the mean of the squares is then.
const ORDER_SKEW: f64 = 4.0;
/// The rows of one direction.
#[derive(Debug)]
pub(super) enum Packing {
    Sorted(Rows),
    /// The heads of the rows at stride `width`, 4 or 8, which are the rows.
    Fixed {
        width: usize,
        rows: Vec<u32>,
    },
}

/// A graph with packed rows.
#[derive(Debug)]
pub(super) struct Packed {
    out: Packing,
    incoming: Option<Packing>,
    nodes: usize,
    /// By falling degree, where degrees are skewed: most arcs lead to few vertices, whose distances then share cache lines. Everything
    /// here is in this order but what comes in and goes out.
    order: Option<Permutation>,
    /// The width of a bucket of the search over fixed rows, of a horizon of the other; a power of two.
    step: u32,
    /// Whether what lies beside a vertex is fetched.
    near: bool,
    /// Whether several threads search sorted rows without rounds.
    free: bool,
    /// Whether a search takes many levels.
    slow: bool,
    /// Of runs that are over, for the next ones; never more than ran at once.
    scratch: Pool<Scratch>,
    /// The same of runs on several threads.
    own: Pool<Vec<Own<u32>>>,
    members: Pool<Vec<free::Own<u32>>>,
    /// Distances in this order, where that is not the result's.
    spare: Pool<Vec<u32>>,
    /// Searches that are left to one searcher.
    alone: AtomicUsize,
}

/// One direction of a packed graph, in the numbers of its users.
pub(super) struct Direction<'a> {
    packing: &'a Packing,
    order: Option<&'a Permutation>,
}

impl Packed {
    /// Whether a graph with such weights can be packed.
    pub fn suits(out: &Csr, weights: &WeightStats) -> bool {
        // Sums of whole floats are exact as long as they fit the mantissa.
        let exact: u128 = match weights.dtype {
            DType::F16 | DType::Bf16 | DType::F32 => 1 << 24,
            _ => 1 << 53,
        };
        let sums = !weights.dtype.is_float() || weights.bound <= exact;
        let range = out.nnz() == 0 || (weights.smallest >= 1.0 && weights.largest <= 255.0);
        weights.whole && range && sums && out.nrows() <= ID as usize + 1 && out.nnz() < u32::MAX as usize - 64
    }
    /// Packs and sorts the rows; with `short`, rows of a fixed length where no row is longer than [`HEAD`];
    /// with `free`, several threads search without rounds, as they do over rows of a fixed length. O(nnz), parallel.
    pub fn build(
        out: &Csr,
        weights: Option<&Values>,
        incoming: Option<(&Csr, Option<&Values>)>,
        summary: &WeightStats,
        short: bool,
        free: bool,
    ) -> Self {
        let nodes = out.nrows();
        let widest = |m: &Csr| with_offsets!(m.offsets(), o => o.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0));
        let fixed = match widest(out) {
            0..=4 if short => Some(4),
            5..=HEAD if short => Some(HEAD),
            _ => None,
        };
        let order = (fixed.is_none() && nodes >= ORDER_NODES && skewed(out)).then(|| ordering::degree(out));
        // The search over fixed rows never pulls; parents look at incoming arcs, however many a vertex has.
        let incoming = incoming.map(|(t, w)| Packing::Sorted(Rows::build(t, w, order.as_ref())));
        let out_rows = match fixed {
            Some(width) => Packing::Fixed { width, rows: rows::fixed(out, weights, width) },
            None => Packing::Sorted(Rows::build(out, weights, order.as_ref())),
        };
        let step = match out_rows {
            // Few arcs stay inside a bucket.
            Packing::Fixed { .. } => (summary.largest / 16.0).clamp(1.0, 128.0) as u32,
            // About four entries of a mean row per horizon.
            Packing::Sorted(_) => (4.0 * (summary.largest + 1.0) * nodes as f64 / out.nnz().max(1) as f64).clamp(8.0, 255.0) as u32,
        };
        let near = order.is_none() && ahead::near(out);
        let slow = free && fixed.is_none() && Stats::of(out).spreads_slowly;
        let (scratch, own, spare) = (Pool::default(), Pool::default(), Pool::default());
        let members = Pool::default();
        Self {
            out: out_rows,
            incoming,
            nodes,
            order,
            step: 1 << step.ilog2(),
            near,
            free,
            slow,
            scratch,
            own,
            members,
            spare,
            alone: AtomicUsize::new(0),
        }
    }
    pub fn is_free(&self) -> bool {
        self.free
    }
    pub fn is_fixed(&self) -> bool {
        matches!(self.out, Packing::Fixed { .. })
    }
    pub fn bytes(&self) -> u64 {
        let one = |p: &Packing| match p {
            Packing::Sorted(rows) => rows.bytes(),
            Packing::Fixed { rows, .. } => 4 * rows.len() as u64,
        };
        let order = self.order.as_ref().map_or(0, |o| 8 * o.len() as u64);
        one(&self.out) + self.incoming.as_ref().map_or(0, one) + order
    }
    /// The arcs from each vertex.
    pub fn outgoing(&self) -> Direction<'_> {
        Direction { packing: &self.out, order: self.order.as_ref() }
    }
    /// The arcs to each vertex.
    pub fn incoming(&self) -> Direction<'_> {
        Direction { packing: self.incoming.as_ref().unwrap_or(&self.out), order: self.order.as_ref() }
    }
    /// Distances from the config's source.
    ///
    /// # Errors
    /// [`bitgraph_backend::Error::Cancelled`].
    pub fn search(&self, config: &SsspConfig) -> Result<Vec<u32>> {
        let step = config.delta.map_or(self.step, |d| d.clamp(1.0, 128.0) as u32);
        let inside = |v: u32| self.order.as_ref().map_or(v, |o| o.new_of_old()[v as usize]);
        let (source, target, control) = (inside(config.source), config.target.map(inside), &config.control);
        // The result itself, if there is no order to restore.
        let mut dist = if self.order.is_some() { self.spare.take() } else { Vec::new() };
        dist.clear();
        dist.resize(self.nodes, u32::MAX);
        let members = threads::allowed();
        let crew = members >= CREW;
        match &self.out {
            Packing::Fixed { width, rows } => {
                trace::enter(if *width == 4 { "sssp: rows of 4" } else { "sssp: rows of 8" });
                let shift = step.ilog2();
                if crew && (self.nodes >= SHARED_NODES || cfg!(test)) {
                    // Wider ones, unless someone asks for a width: members do not wait for each other at the end of a bucket, but look around.
                    let shift = if config.delta.is_some() { shift } else { shift + WIDER };
                    let graph = Fixed { rows, width: *width, shift, nodes: self.nodes, near: self.near };
                    self.at_will(&graph, source, target, control, &mut dist)?;
                } else {
                    let mut scratch = self.scratch.take();
                    let search = if *width == 4 { fixed::search::<4> } else { fixed::search::<HEAD> };
                    let result = search(rows, (shift, self.near), source, target, control, &mut dist, &mut scratch.buckets);
                    self.scratch.give(scratch);
                    result?;
                }
            }
            Packing::Sorted(out) => {
                let incoming = match &self.incoming {
                    Some(Packing::Sorted(rows)) => rows,
                    _ => out,
                };
                let (nodes, entries) = if self.free { (FREE_NODES, FREE_ENTRIES) } else { (SHARED_NODES, SHARED_ENTRIES) };
                let large = self.nodes >= nodes && out.entries.len() >= entries;
                let pair = members > 1 && (self.nodes >= PAIR_NODES && out.entries.len() >= PAIR_ENTRIES || cfg!(test));
                let task = Task { out, incoming, source, target, step, near: self.near, control };
                let crew = crew && (large || cfg!(test));
                if crew && self.free {
                    // Half a horizon.
                    let whole = config.delta.is_some() || self.slow && members >= WHOLE_CREW;
                    let shift = if whole { step.ilog2() } else { step.ilog2().saturating_sub(1) };
                    self.at_will(&Sorted { out, incoming, step, shift, near: self.near }, source, target, control, &mut dist)?;
                } else if crew {
                    self.together(&Sorted { out, incoming, step, shift: 0, near: self.near }, source, target, control, &mut dist)?;
                } else if crew || !pair || !self.paired(task, &mut dist)? {
                    trace::enter("sssp: packed by one");
                    self.with_scratch(|scratch, _| horizon(task, &mut dist, scratch, &mut Alone))?;
                }
            }
        }
        let Some(order) = &self.order else { return Ok(dist) };
        let distances = parallel::map(order.new_of_old(), |&v| dist[v as usize]);
        self.spare.give(dist);
        Ok(distances)
    }
    /// Calls `f` with what a searcher needs, and with what one of two sends.
    fn with_scratch<R>(&self, f: impl FnOnce(&mut Scratch, &mut [Vec<u64>; 2]) -> R) -> R {
        let mut scratch = self.scratch.take();
        scratch.reserve(self.nodes);
        let mut messages = std::mem::take(&mut scratch.messages);
        let result = f(&mut scratch, &mut messages);
        scratch.messages = messages;
        self.scratch.give(scratch);
        result
    }
    /// Two searchers that own alternate blocks of vertices; false, and nothing found, if the second does not come, or is late at a meeting.
    fn paired(&self, task: Task<'_>, dist: &mut [u32]) -> Result<bool> {
        let left = self.alone.load(Ordering::Relaxed);
        if left > 0 {
            self.alone.store(left - 1, Ordering::Relaxed);
            return Ok(false);
        }
        let block = if self.order.is_some() { ORDERED_BLOCK } else { BLOCK };
        let (board, meeting, since) = (Board::new(block), Meeting::new(), Instant::now());
        let (first, led, followed) = (Mutex::new(Some(&mut *dist)), Mutex::new(None), Mutex::new(None));
        let side = |me: usize, dist: &mut [u32]| {
            self.with_scratch(|scratch, messages| {
                // The first waits when all else is prepared.
                (me == 1 || meeting.wait(|| since.elapsed() > MEETING_WAIT))
                    .then(|| horizon(task, dist, scratch, &mut Paired::new(&board, me, messages, (me == 0).then_some(since))))
            })
        };
        team::with(2, |team| {
            // As many chunks as workers: one is left for the leader, whom the other waits for.
            team.run(2, |worker, _| {
                if worker == 0 {
                    if let Some(dist) = first.lock().unwrap_or_else(PoisonError::into_inner).take() {
                        let result = side(0, dist);
                        *led.lock().unwrap_or_else(PoisonError::into_inner) = result;
                    }
                } else if meeting.join() {
                    let mut dist = self.spare.take();
                    dist.clear();
                    dist.resize(self.nodes, u32::MAX);
                    // The first is told the same.
                    let _ = side(1, &mut dist);
                    *followed.lock().unwrap_or_else(PoisonError::into_inner) = Some(dist);
                }
            });
        });
        let led = led.into_inner().unwrap_or_else(PoisonError::into_inner);
        let odd = followed.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_default();
        if let Some(Ok(())) = led {
            trace::enter("sssp: packed by two");
            for start in (1 << block..self.nodes).step_by(2 << block) {
                let end = self.nodes.min(start + (1 << block));
                dist[start..end].copy_from_slice(&odd[start..end]);
            }
        } else {
            self.alone.store(AFTER_LATE, Ordering::Relaxed);
            dist.fill(u32::MAX);
        }
        self.spare.give(odd);
        match led {
            Some(Err(error)) if task.control.is_cancelled() => Err(error),
            led => Ok(matches!(led, Some(Ok(())))),
        }
    }
    /// A search on several threads, in rounds.
    fn together(&self, graph: &Sorted<'_>, source: u32, target: Option<u32>, control: &Control, dist: &mut [u32]) -> Result<()> {
        trace::enter("sssp: packed by several");
        let task = arcs::Task { graph, source, target, control };
        let mut own = self.own.take();
        let result = team::with(usize::MAX, |team| rounds::search(&task, team, dist, &mut own));
        self.own.give(own);
        result
    }
    /// The same without rounds.
    fn at_will(&self, graph: &impl Arcs<D = u32>, source: u32, target: Option<u32>, control: &Control, dist: &mut [u32]) -> Result<()> {
        let task = arcs::Task { graph, source, target, control };
        let mut members = self.members.take();
        let result = team::with(usize::MAX, |team| free::search(&task, team, dist, &mut members));
        self.members.give(members);
        result
    }
}

/// A searcher with the instructions in force.
#[allow(unsafe_code)]
fn horizon<L: Link>(task: Task<'_>, dist: &mut [u32], scratch: &mut Scratch, link: &mut L) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    {
        use {ops::Avx512, ops_avx2::Avx2};
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt,lzcnt")]
        unsafe fn avx512<L: Link>(task: Task<'_>, dist: &mut [u32], scratch: &mut Scratch, link: &mut L) -> Result<()> {
            // SAFETY: the caller's, and the features are these.
            unsafe { horizon::search::<Avx512, L>(task, dist, scratch, link) }
        }
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        unsafe fn avx2<L: Link>(task: Task<'_>, dist: &mut [u32], scratch: &mut Scratch, link: &mut L) -> Result<()> {
            // SAFETY: the caller's, and the features are these.
            unsafe { horizon::search::<Avx2, L>(task, dist, scratch, link) }
        }
        match Isa::current() {
            // SAFETY: the instruction set says what the CPU has; distances and scratch are made for this graph.
            Isa::Avx512 => return unsafe { avx512(task, dist, scratch, link) },
            // SAFETY: as above.
            Isa::Avx2 => return unsafe { avx2(task, dist, scratch, link) },
            Isa::Portable => {}
        }
    }
    // SAFETY: distances and scratch are made for this graph.
    unsafe { horizon::search::<Portable, L>(task, dist, scratch, link) }
}

/// Whether degrees differ enough for most arcs to lead to few vertices.
pub(super) fn skewed(out: &Csr) -> bool {
    let n = out.nrows();
    let mean = out.nnz() as f64 / n.max(1) as f64;
    let squares: f64 = (0..n).map(|v| (out.degree(v) as f64).powi(2)).sum();
    squares > ORDER_SKEW * mean * mean * n as f64
}

impl parents::Arcs<u32> for Direction<'_> {
    fn each(&self, v: u32, mut f: impl FnMut(u32, u32)) {
        let inside = self.order.map_or(v, |o| o.new_of_old()[v as usize]);
        let row = match self.packing {
            Packing::Sorted(rows) => rows.row(inside),
            // Padding is an arc to the vertex itself, which is no parent.
            Packing::Fixed { width, rows } => &rows[inside as usize * width..(inside as usize + 1) * width],
        };
        for &entry in row {
            let id = entry & ID;
            f(self.order.map_or(id, |o| o.old_of_new()[id as usize]), entry >> 24);
        }
    }
}
