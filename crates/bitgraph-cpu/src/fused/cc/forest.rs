//! Trees of vertices, or of numbers, hooked onto smaller ones.
//!
//! Invariant: every element is at most its index, so there are no cycles, and the root of a tree is its smallest vertex. With
//! `SHARED` several threads may work on the trees at once: a root is hooked by compare-and-swap, and a shortened path only ever
//! skips ancestors, so that concurrent stores agree on the tree whatever their order.
//!
//! Source: union by index with path halving; its concurrent form as in Afforest (Sutton et al., IPDPS 2018).

use crate::sync::{AtomicU32, Ordering::Relaxed};

/// The trees.
#[derive(Clone, Copy)]
pub(super) struct Forest<'a, const SHARED: bool> {
    parents: &'a [AtomicU32],
}

impl<'a, const SHARED: bool> Forest<'a, SHARED> {
    /// The trees of an array in which no element is above its index.
    pub(super) fn new(parents: &'a [AtomicU32]) -> Self {
        Self { parents }
    }
    /// The parent of `x`, itself for a root.
    #[inline(always)]
    pub(super) fn parent(&self, x: u32) -> u32 {
        self.parents[x as usize].load(Relaxed)
    }
    /// Hooks `x` onto `p`. Only for vertices that no other thread hooks at the time.
    #[inline(always)]
    pub(super) fn set(&self, x: u32, p: u32) {
        self.parents[x as usize].store(p, Relaxed);
    }
    /// The root of `x`; halves the path to it.
    #[inline(always)]
    pub(super) fn find(&self, mut x: u32) -> u32 {
        loop {
            let p = self.parent(x);
            if p == x {
                return x;
            }
            let g = self.parent(p);
            if g == p {
                return p;
            }
            self.set(x, g);
            x = g;
        }
    }
    /// Joins the trees of `a` and `b`; the root they then have.
    #[inline(always)]
    pub(super) fn join(&self, a: u32, b: u32) -> u32 {
        let (mut x, mut y) = (self.find(a), self.find(b));
        loop {
            if x == y {
                return x;
            }
            let (high, low) = if x > y { (x, y) } else { (y, x) };
            if !SHARED {
                self.set(high, low);
                return low;
            }
            if self.parents[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok() {
                return low;
            }
            (x, y) = (self.find(high), self.find(low));
        }
    }
}
