//! Trees with numbers, joined over pairs of numbers: rounds without a branch on what is found.
//!
//! A round looks up both trees of every pair, hooks the higher onto the lower, and keeps the pairs whose trees differed. Then
//! every number is hooked onto its root. A round leaves at most half of the trees that have pairs, for of two that are paired one is
//! hooked; mostly it leaves few, and its work shrinks as fast.
//!
//! Invariant: a number is hooked onto a lower one or itself, so the root of a component is its lowest number. Threads work on the same
//! parents without waiting for each other: a store may undo another, but the pair that stands for what was undone is kept for
//! the next round, which settles it. What earlier rounds joined is never undone, since only roots are hooked.

use crate::sync::{AtomicU32, Ordering::Relaxed};
use std::ops::Range;

/// Pairs of trees that are to be joined.
#[derive(Default)]
pub(super) struct Pairs {
    /// The lower number below, the higher above.
    list: Vec<u64>,
    count: usize,
    room: usize,
}

impl Pairs {
    /// Empties the list and makes room for so many pairs, at least one.
    pub(super) fn begin(&mut self, room: usize) {
        self.room = room.max(1);
        // A pair that is not kept is written, too.
        if self.list.len() <= self.room {
            self.list.resize(self.room + 1, 0);
        }
        self.count = 0;
    }
    /// Adds a pair, unless it is the same tree twice.
    #[inline(always)]
    pub(super) fn push(&mut self, a: u32, b: u32) {
        self.list[self.count] = u64::from(a.max(b)) << 32 | u64::from(a.min(b));
        self.count += usize::from(a != b);
    }
    /// Whether there is no more room.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.count >= self.room
    }
    /// Whether there is no pair.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The trees.
pub(super) struct Trees<'a> {
    /// Of a number: the number it is hooked onto.
    pub(super) parents: &'a [AtomicU32],
    /// Of a vertex: the number of its tree.
    pub(super) labels: &'a [AtomicU32],
    /// Of a number: the root of its tree.
    pub(super) names: &'a [AtomicU32],
}

impl Trees<'_> {
    /// The number that the tree of vertex `v` is hooked onto.
    #[inline(always)]
    pub(super) fn root(&self, v: usize) -> u32 {
        self.parents[self.labels[v].load(Relaxed) as usize].load(Relaxed)
    }
    /// Gives vertices that have a neighbour below `start` for a label that one's number.
    pub(super) fn resolve(&self, range: Range<usize>, start: u32) {
        for v in range {
            let label = self.labels[v].load(Relaxed);
            let own = label >= start;
            let number = self.labels[if own { v } else { label as usize }].load(Relaxed);
            self.labels[v].store(number, Relaxed);
        }
    }
    /// Makes every number its own root.
    pub(super) fn plant(&self, ids: Range<usize>) {
        for id in ids {
            self.parents[id].store(id as u32, Relaxed);
        }
    }
    /// Gives numbers the names of their roots; how many are roots.
    pub(super) fn name(&self, ids: Range<usize>) -> usize {
        let mut roots = 0;
        for id in ids {
            let root = self.parents[id].load(Relaxed);
            roots += usize::from(root as usize == id);
            // A root's name is stored as it is.
            self.names[id].store(self.names[root as usize].load(Relaxed), Relaxed);
        }
        roots
    }
    /// Gives vertices the names of their numbers; how many have the name `giant`.
    pub(super) fn label(&self, range: Range<usize>, giant: u32) -> usize {
        let mut count = 0u32;
        for label in &self.labels[range] {
            let name = self.names[label.load(Relaxed) as usize].load(Relaxed);
            count += u32::from(name == giant);
            label.store(name, Relaxed);
        }
        count as usize
    }
    /// Hooks the trees of pairs onto each other; keeps the pairs of trees that were different.
    pub(super) fn hook(&self, pairs: &mut Pairs) {
        let count = std::mem::replace(&mut pairs.count, 0);
        for k in 0..count {
            let pair = pairs.list[k];
            let (a, b) = (self.parents[pair as u32 as usize].load(Relaxed), self.parents[(pair >> 32) as usize].load(Relaxed));
            pairs.push(a, b);
            let high = &self.parents[a.max(b) as usize];
            high.store(high.load(Relaxed).min(a.min(b)), Relaxed);
        }
    }
    /// Hooks numbers onto their roots.
    pub(super) fn flatten(&self, ids: Range<usize>) {
        for id in ids {
            let mut root = self.parents[id].load(Relaxed);
            loop {
                let parent = self.parents[root as usize].load(Relaxed);
                if parent == root {
                    break;
                }
                root = parent;
            }
            self.parents[id].store(root, Relaxed);
        }
    }
}
