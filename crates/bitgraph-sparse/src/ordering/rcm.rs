//! Reverse Cuthill-McKee: vertices by the levels of a search from a far end, so that neighbours get near numbers.
//!
//! Source: Cuthill, McKee: Reducing the bandwidth of sparse symmetric matrices, 1969; reversed as in George, Liu: Computer
//! Solution of Large Sparse Positive Definite Systems, 1981, whose search for a far end is bounded here to two rounds.

use super::Permutation;
use crate::ahead::{self, beside, fetch};
use crate::{Csr, OffsetInt, with_offsets};

/// The reverse Cuthill-McKee order of a symmetric square pattern. Components follow each other, each from a vertex that two searches
/// found to be far out; children of a vertex go by rising degree, ties by smaller number. O(rows + nnz log degree), serial,
/// `8 rows` bytes. (A pattern that is not symmetric gets an order too, by its arcs as they are.)
///
/// # Panics
/// If the pattern is not square.
#[must_use]
pub fn rcm(csr: &Csr) -> Permutation {
    assert!(csr.is_square(), "an ordering of a square pattern");
    let mut order = with_offsets!(csr.offsets(), o => Search::new(o, csr.indices(), ahead::near(csr)).cuthill_mckee());
    order.reverse();
    Permutation::of_valid_order(order)
}

/// Vertices ahead in the queue whose rows are being fetched.
const AHEAD: usize = 12;

struct Search<'a, O> {
    offsets: &'a [O],
    indices: &'a [u32],
    /// Whether what lies beside a vertex is asked for.
    near: bool,
    /// One bit for every vertex that has its place, or that the running search has met.
    seen: Vec<u64>,
    /// Vertices in their order, and behind them the queue of the running search; one slot more, for the branch-free push.
    queue: Vec<u32>,
}

impl<'a, O: OffsetInt> Search<'a, O> {
    fn new(offsets: &'a [O], indices: &'a [u32], near: bool) -> Self {
        let n = offsets.len() - 1;
        Self { offsets, indices, near, seen: vec![0; n.div_ceil(64)], queue: vec![0; n + 1] }
    }
    fn degree(&self, v: u32) -> usize {
        self.offsets[v as usize + 1].index() - self.offsets[v as usize].index()
    }
    fn row(&self, v: u32) -> &'a [u32] {
        &self.indices[self.offsets[v as usize].index()..self.offsets[v as usize + 1].index()]
    }
    fn is_seen(&self, v: u32) -> bool {
        self.seen[v as usize / 64] >> (v % 64) & 1 == 1
    }
    fn cuthill_mckee(mut self) -> Vec<u32> {
        let n = self.offsets.len() - 1;
        let mut placed = 0;
        for v in 0..n as u32 {
            if self.is_seen(v) {
                continue;
            }
            // Without neighbours there is nothing to search.
            let alone = self.row(v).iter().all(|&w| w == v);
            let start = if alone { v } else { self.far_end(placed, v) };
            placed = self.search::<true>(placed, start).0;
            // Arcs that lead one way only may not lead back.
            if !self.is_seen(v) {
                placed = self.search::<true>(placed, v).0;
            }
        }
        self.queue.truncate(n);
        self.queue
    }
    /// A vertex far out: of smallest degree in the last level of a search from such a vertex.
    fn far_end(&mut self, placed: usize, mut v: u32) -> u32 {
        let mut depth = 0;
        for _ in 0..2 {
            let (end, level, levels) = self.search::<false>(placed, v);
            for &u in &self.queue[placed..end] {
                self.seen[u as usize / 64] &= !(1 << (u % 64));
            }
            if levels <= depth {
                break;
            }
            depth = levels;
            v = self.queue[level..end].iter().copied().min_by_key(|&u| (self.degree(u), u)).unwrap_or(v);
        }
        v
    }
    /// Searches from `start` among the vertices not seen, into the queue from `placed` on. Returns the queue's end, the start of
    /// the last level and the number of levels. `SORTED` puts the children of a vertex in order.
    fn search<const SORTED: bool>(&mut self, placed: usize, start: u32) -> (usize, usize, usize) {
        let (mut head, mut tail) = (placed, placed + 1);
        let (mut level, mut level_end, mut levels) = (placed, tail, 0);
        self.queue[placed] = start;
        self.seen[start as usize / 64] |= 1 << (start % 64);
        while head < tail {
            if head == level_end {
                (level, level_end) = (head, tail);
                levels += 1;
            }
            // What lies behind the tail is an old vertex, or zero: a useless hint and no harm.
            if head + 2 * AHEAD < self.queue.len() {
                fetch(self.offsets.as_ptr().wrapping_add(self.queue[head + 2 * AHEAD] as usize));
                fetch(self.indices.as_ptr().wrapping_add(self.offsets[self.queue[head + AHEAD] as usize].index()));
            }
            let u = self.queue[head] as usize;
            let row = self.row(u as u32);
            if self.near {
                beside(self.offsets.as_ptr(), u..u);
                beside(self.indices.as_ptr(), self.offsets[u].index()..self.offsets[u + 1].index());
            }
            head += 1;
            let first = tail;
            for &v in row {
                let (word, bit) = (&mut self.seen[v as usize / 64], 1 << (v % 64));
                self.queue[tail] = v;
                tail += usize::from(*word & bit == 0);
                *word |= bit;
            }
            if SORTED && tail - first > 1 {
                let offsets = self.offsets;
                let degree = |v: u32| offsets[v as usize + 1].index() - offsets[v as usize].index();
                self.queue[first..tail].sort_unstable_by_key(|&v| (degree(v), v));
            }
        }
        (tail, level, levels)
    }
}
