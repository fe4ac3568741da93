//! Trees with numbers: joined one by one by few threads, and over pairs of numbers by several.
//!
//! Several look up both trees of every pair at first, hook the higher onto the lower without waiting for what others do, and keep the pairs
//! whose trees differed: nothing depends on what a cache line of another thread's says. Then every number is hooked onto its root, and mostly
//! both trees of the pairs that were kept are one; those that are not are joined one by one, as few threads do from the beginning. For
//! one thread, to keep pairs took 1.1 to 2.4 times as long on five graphs, and 0.8 times on one.
//!
//! Invariant: a number is hooked onto a lower one or itself, so the root of a component is its lowest number. Threads work on the same
//! parents without waiting for each other: a store may undo another, but the pair that stands for what was undone is kept, and joined
//! exactly. `tests/models` runs this file under a model checker.

use super::forest::Forest;
use crate::sync::{AtomicU32, Ordering::Relaxed};
use std::ops::Range;

/// Pairs of trees that are to be joined.
#[derive(Default)]
pub(super) struct Pairs {
    /// The lower number below, the higher above.
    list: Vec<u64>,
    count: usize,
}

impl Pairs {
    /// Empties the list and makes room for so many pairs.
    pub(super) fn begin(&mut self, room: usize) {
        // A pair that is not kept is written, too.
        if self.list.len() <= room {
            self.list = vec![0; room + 1];
        }
        self.count = 0;
    }
    /// Adds a pair, unless it is the same tree twice.
    #[inline(always)]
    fn push(&mut self, a: u32, b: u32) {
        self.list[self.count] = u64::from(a.max(b)) << 32 | u64::from(a.min(b));
        self.count += usize::from(a != b);
    }
}

/// The trees. With `SHARED` several threads work on them.
pub(super) struct Trees<'a, const SHARED: bool> {
    /// Of a number: the number it is hooked onto.
    parents: &'a [AtomicU32],
    /// The same, to join in.
    forest: Forest<'a, SHARED>,
    /// Of a vertex: the number of its tree.
    labels: &'a [AtomicU32],
    /// Of a number: the vertex that it was given to if that is a root, its smallest neighbour otherwise; in the end its root's name.
    names: &'a [AtomicU32],
}

impl<'a, const SHARED: bool> Trees<'a, SHARED> {
    /// The trees of these arrays.
    pub(super) fn new(parents: &'a [AtomicU32], labels: &'a [AtomicU32], names: &'a [AtomicU32]) -> Self {
        Self { parents, forest: Forest::new(parents), labels, names }
    }
    /// The number of the tree of vertex `v`.
    #[inline(always)]
    pub(super) fn number(&self, v: usize) -> u32 {
        self.labels[v].load(Relaxed)
    }
    /// The number that the tree of vertex `v` is hooked onto.
    #[inline(always)]
    pub(super) fn root(&self, v: usize) -> u32 {
        self.parents[self.number(v) as usize].load(Relaxed)
    }
    /// The name of a number.
    pub(super) fn name(&self, number: u32) -> u32 {
        self.names[number as usize].load(Relaxed)
    }
    /// Hooks numbers onto the root of the vertex in their name; roots onto themselves. Labels and names stay as they are meanwhile.
    pub(super) fn plant(&self, numbers: Range<usize>) {
        for id in numbers {
            let mut root = id as u32;
            loop {
                let next = self.labels[self.name(root) as usize].load(Relaxed);
                if next == root {
                    break;
                }
                root = next;
            }
            self.parents[id].store(root, Relaxed);
        }
    }
    /// Hooks the trees of two vertices onto each other, which is undone if another thread hooks the same tree; keeps the pair of the trees
    /// if they were different. Numbers were hooked onto roots when the first pair was.
    #[inline(always)]
    pub(super) fn hook(&self, v: usize, u: usize, pairs: &mut Pairs) {
        let (a, b) = (self.root(v), self.root(u));
        pairs.push(a, b);
        let high = &self.parents[a.max(b) as usize];
        let (before, low) = (high.load(Relaxed), a.min(b));
        // A store that changes nothing would take the line of a root, which all threads read, from the others.
        if low < before {
            high.store(low, Relaxed);
        }
    }
    /// Joins two trees; mostly they are one. Whether they have the same number is not asked first: a branch on that is mispredicted where half of
    /// the neighbours do, and took 1.2 to 1.6 times as long on a triangulation, a road and a census graph.
    #[inline(always)]
    pub(super) fn join(&self, a: u32, b: u32) {
        if self.parents[a as usize].load(Relaxed) != self.parents[b as usize].load(Relaxed) {
            self.forest.join(a, b);
        }
    }
    /// Joins the trees of all pairs.
    pub(super) fn join_all(&self, pairs: &Pairs) {
        pairs.list[..pairs.count].iter().for_each(|&pair| self.join(pair as u32, (pair >> 32) as u32));
    }
    /// The root of a number. Nothing is written on the way: numbers are flattened in ascending order, which shortens it.
    #[inline(always)]
    fn find(&self, id: usize) -> u32 {
        let mut root = self.parents[id].load(Relaxed);
        loop {
            let parent = self.parents[root as usize].load(Relaxed);
            if parent == root {
                return root;
            }
            root = parent;
        }
    }
    /// Hooks numbers onto their roots.
    pub(super) fn flatten(&self, numbers: Range<usize>) {
        for id in numbers {
            self.parents[id].store(self.find(id), Relaxed);
        }
    }
    /// Hooks numbers onto their roots, and gives them the roots' names; how many are roots.
    pub(super) fn settle(&self, numbers: Range<usize>) -> usize {
        let mut roots = 0;
        for id in numbers {
            let root = self.find(id);
            roots += usize::from(root as usize == id);
            self.parents[id].store(root, Relaxed);
            // A root's name is stored as it is.
            self.names[id].store(self.name(root), Relaxed);
        }
        roots
    }
    /// Gives vertices the names of their numbers; how many have the name `giant`.
    pub(super) fn label(&self, range: Range<usize>, giant: u32) -> usize {
        let mut count = 0u32;
        for label in &self.labels[range] {
            let name = self.name(label.load(Relaxed));
            count += u32::from(name == giant);
            label.store(name, Relaxed);
        }
        count as usize
    }
}
