//! Shortest paths over whole weights 1..=255 with rows packed into words: the fast form.
//!
//! Invariant: ids fit 24 bits and weights 8, and no distance reaches `u32::MAX - 255`: both follow from at most 2^24 vertices.

mod buckets;
mod fixed;
mod horizon;
mod link;
mod meeting;
mod ops;
mod pair;
mod rows;

use super::parents::Arcs;
#[cfg(target_arch = "x86_64")]
use crate::Isa;
use crate::{threads, trace};
use bitgraph_algorithms::SsspConfig;
use bitgraph_backend::{Result, WeightStats};
use bitgraph_semiring::DType;
use bitgraph_sparse::{Csr, Permutation, Values, ordering, parallel, with_offsets};
use horizon::{Scratch, Task};
use link::{Alone, Link};
use meeting::Meeting;
use ops::Portable;
use pair::{Board, Paired};
pub(super) use rows::HEAD;
use rows::{ID, Rows};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Vertices and entries from which on two searchers are worth waking a thread.
const PAIR_NODES: usize = 1 << 15;
const PAIR_ENTRIES: usize = 1 << 19;
/// The same for short rows, over which buckets hold less.
const FIXED_PAIR_NODES: usize = 1 << 17;
/// log2 of the vertices of a block that one of two searchers owns, for rows of any length: neighbours are anywhere.
const BLOCK: u32 = 6;
/// The same in the order of degrees, for the two to share the hubs: a cache line of distances.
const ORDERED_BLOCK: u32 = 4;
/// Vertices from which on those of large degree are put beside each other: fewer distances are near in any order.
const ORDER_NODES: usize = if cfg!(test) { 1 << 4 } else { 1 << 16 };
/// And how much larger than the square of the mean degree the mean of the squares is then.
const ORDER_SKEW: f64 = 4.0;
/// log2 of the number of blocks for short rows, whose neighbours are mostly near in the numbering: as few messages as can be with both
/// at work on the same front.
const BLOCKS: u32 = 5;
/// log2 of how much wider buckets are with two searchers over short rows.
const PAIR_WIDER: u32 = 2;
/// How long the first searcher waits for the second.
const MEETING_WAIT: Duration = Duration::from_micros(200);

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
    /// Of runs that are over, for the next ones; never more than ran at once.
    scratch: Mutex<Vec<Scratch>>,
    /// Their distances that were not the result.
    spare: Mutex<Vec<Vec<u32>>>,
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
    /// Packs and sorts the rows; with `short`, rows of a fixed length where no row is longer than [`HEAD`]. O(nnz), parallel.
    pub fn build(
        out: &Csr,
        weights: Option<&Values>,
        incoming: Option<(&Csr, Option<&Values>)>,
        summary: &WeightStats,
        short: bool,
    ) -> Self {
        let nodes = out.nrows();
        let widest = |m: &Csr| with_offsets!(m.offsets(), o => o.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0));
        let fixed = match widest(out) {
            0..=4 if short => Some(4),
            5..=HEAD if short => Some(HEAD),
            _ => None,
        };
        let order = (fixed.is_none() && skewed(out)).then(|| ordering::degree(out));
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
        let (scratch, spare) = (Mutex::default(), Mutex::default());
        Self { out: out_rows, incoming, nodes, order, step: 1 << step.ilog2(), scratch, spare }
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
        match &self.out {
            Packing::Fixed { width, rows } => match width {
                4 => self.over_fixed::<4>(rows, config, step.ilog2()),
                _ => self.over_fixed::<HEAD>(rows, config, step.ilog2()),
            },
            Packing::Sorted(out) => {
                let incoming = match &self.incoming {
                    Some(Packing::Sorted(rows)) => rows,
                    _ => out,
                };
                let inside = |v: u32| self.order.as_ref().map_or(v, |o| o.new_of_old()[v as usize]);
                let (source, target) = (inside(config.source), config.target.map(inside));
                let task = Task { out, incoming, source, target, step, control: &config.control };
                let (fresh, alone) = (|| Scratch::new(self.nodes), || self.alone(task));
                let large = self.nodes >= PAIR_NODES && out.entries.len() >= PAIR_ENTRIES;
                if threads::allowed() > 1 && (large || cfg!(test)) {
                    let block = if self.order.is_some() { ORDERED_BLOCK } else { BLOCK };
                    self.together(block, fresh, |dist, scratch, link| horizon(task, dist, scratch, link), alone)
                } else {
                    alone()
                }
            }
        }
    }
    /// The search over rows of `K` entries.
    fn over_fixed<const K: usize>(&self, rows: &[u32], config: &SsspConfig, shift: u32) -> Result<Vec<u32>> {
        trace::enter(if K == 4 { "sssp: rows of 4" } else { "sssp: rows of 8" });
        let (source, target, control) = (config.source, config.target, &config.control);
        let alone = || {
            let mut dist = vec![u32::MAX; self.nodes];
            let mut scratch = self.borrow().unwrap_or_else(Scratch::buckets_only);
            let result = fixed::search::<K, _>(rows, shift, source, target, control, &mut dist, &mut scratch.buckets, &mut Alone);
            self.give_back(scratch);
            result.map(|()| dist)
        };
        let large = self.nodes >= FIXED_PAIR_NODES;
        if threads::allowed() == 1 || !(large || cfg!(test)) {
            return alone();
        }
        // Searchers meet once a bucket: wider ones repeat some work and save most of the meetings.
        let shift = (shift + PAIR_WIDER).min(7);
        let block = self.nodes.ilog2().saturating_sub(BLOCKS).max(BLOCK);
        let search = |dist: &mut [u32], scratch: &mut Scratch, link: &mut Paired<'_>| {
            fixed::search::<K, _>(rows, shift, source, target, control, dist, &mut scratch.buckets, link)
        };
        self.together(block, Scratch::buckets_only, search, alone)
    }
    /// Scratch that an earlier run left.
    fn borrow(&self) -> Option<Scratch> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
    fn give_back(&self, scratch: Scratch) {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
    }
    /// Distances of nothing reached.
    fn blank(&self) -> Vec<u32> {
        let mut dist = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        dist.clear();
        dist.resize(self.nodes, u32::MAX);
        dist
    }
    fn keep(&self, dist: Vec<u32>) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(dist);
    }
    /// The distances that two searchers found, each those of its blocks.
    fn merged(&self, mut even: Vec<u32>, odd: Vec<u32>, block: u32) -> Vec<u32> {
        let distances = match &self.order {
            Some(order) => {
                let found = [&even[..], &odd[..]];
                let of = |&v: &u32| found[(v >> block & 1) as usize][v as usize];
                let distances = parallel::map(order.new_of_old(), of);
                self.keep(even);
                distances
            }
            None => {
                let two = 2 << block;
                let size = two * (8192 / two).max(1);
                parallel::chunks_mut(&mut even, size, |piece, even| {
                    for (even, odd) in even.chunks_mut(two).zip(odd[piece * size..].chunks(two)) {
                        if let (Some(own), Some(other)) = (even.get_mut(two / 2..), odd.get(two / 2..)) {
                            own.copy_from_slice(other);
                        }
                    }
                });
                even
            }
        };
        self.keep(odd);
        distances
    }
    /// One searcher.
    fn alone(&self, task: Task<'_>) -> Result<Vec<u32>> {
        trace::enter("sssp: packed by one");
        // The result itself, if there is no order to restore.
        let mut dist = if self.order.is_some() { self.blank() } else { vec![u32::MAX; self.nodes] };
        let mut scratch = self.borrow().unwrap_or_else(|| Scratch::new(self.nodes));
        let result = horizon(task, &mut dist, &mut scratch, &mut Alone);
        self.give_back(scratch);
        result?;
        Ok(match &self.order {
            None => dist,
            Some(order) => {
                let distances = order.restore(&dist);
                self.keep(dist);
                distances
            }
        })
    }
    /// Two searchers that own alternate blocks of `2^block` vertices, if a second worker comes soon; one otherwise, so that no run
    /// waits for a worker that waits for this one.
    fn together(
        &self,
        block: u32,
        fresh: impl Fn() -> Scratch + Sync,
        search: impl Fn(&mut [u32], &mut Scratch, &mut Paired<'_>) -> Result<()> + Sync,
        alone: impl Fn() -> Result<Vec<u32>> + Sync,
    ) -> Result<Vec<u32>> {
        let board = Board::new(block);
        let meeting = Meeting::new();
        let side = |me: usize| {
            let mut scratch = self.borrow().unwrap_or_else(&fresh);
            let mut dist = self.blank();
            let mut messages = std::mem::take(&mut scratch.messages);
            // The leader waits when all else is prepared.
            let start = Instant::now();
            let result = if me == 1 || meeting.wait(|| start.elapsed() > MEETING_WAIT) {
                let mut link = Paired::new(&board, me, &mut messages);
                Some(search(&mut dist, &mut scratch, &mut link).map(|()| dist))
            } else {
                self.keep(dist);
                None
            };
            scratch.messages = messages;
            self.give_back(scratch);
            result
        };
        let follow = || if meeting.join() { side(1) } else { None };
        match rayon::join(|| side(0).ok_or_else(&alone), follow) {
            (Err(finished), _) => finished,
            (Ok(even), Some(odd)) => {
                trace::enter("sssp: packed by two");
                Ok(self.merged(even?, odd?, block))
            }
            // It came, or the leader would have gone alone.
            (Ok(even), None) => even,
        }
    }
}

/// A searcher with the instructions in force.
#[allow(unsafe_code)]
fn horizon<L: Link>(task: Task<'_>, dist: &mut [u32], scratch: &mut Scratch, link: &mut L) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    {
        use ops::Avx512;
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt,lzcnt")]
        unsafe fn avx512<L: Link>(task: Task<'_>, dist: &mut [u32], scratch: &mut Scratch, link: &mut L) -> Result<()> {
            // SAFETY: the caller's, and the features are these.
            unsafe { horizon::search::<Avx512, L>(task, dist, scratch, link) }
        }
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        unsafe fn avx2<L: Link>(task: Task<'_>, dist: &mut [u32], scratch: &mut Scratch, link: &mut L) -> Result<()> {
            // SAFETY: the caller's.
            unsafe { horizon::search::<Portable, L>(task, dist, scratch, link) }
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
fn skewed(out: &Csr) -> bool {
    let n = out.nrows();
    let mean = out.nnz() as f64 / n.max(1) as f64;
    let squares: f64 = (0..n).map(|v| (out.degree(v) as f64).powi(2)).sum();
    n >= ORDER_NODES && squares > ORDER_SKEW * mean * mean * n as f64
}

impl Arcs<u32> for Direction<'_> {
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
