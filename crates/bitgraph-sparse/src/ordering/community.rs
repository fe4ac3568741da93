//! Order by community: vertices that are densely joined get neighbouring numbers, at every scale.
//!
//! Source: Arai, Shiokawa, Yamamuro, Onizuka, Iwamura: Rabbit Order, IPDPS 2016 (section III: incremental aggregation by
//! modularity, then the depth-first order of the dendrogram). Serial here, and therefore deterministic.

use super::{Permutation, degree};
use crate::Csr;

/// The community order of a symmetric square pattern.
///
/// From the smallest degree up, every vertex joins the neighbouring community that gains the most modularity, if any gains; its
/// edges are merged into that community's when the community itself is considered. Near O(nnz), serial; peak memory about
/// `56 rows` bytes, and 8 bytes per merged edge, of which there are fewer than entries unless communities hardly share edges.
///
/// # Panics
/// If the pattern is not square.
#[must_use]
pub fn community(csr: &Csr) -> Permutation {
    assert!(csr.is_square(), "an ordering of a square pattern");
    Permutation::of_valid_order(Dendrogram::grow(csr).depth_first())
}

const NONE: u32 = u32::MAX;

/// Who joined whom.
struct Dendrogram {
    /// The community that a vertex joined, its own number while it has not.
    joined: Vec<u32>,
    /// The member that joined last.
    last: Vec<u32>,
    /// The member of the same community that joined before.
    before: Vec<u32>,
}

impl Dendrogram {
    fn grow(csr: &Csr) -> Self {
        let n = csr.nrows();
        let mut tree = Self { joined: (0..n as u32).collect(), last: vec![NONE; n], before: vec![NONE; n] };
        // The sum of degrees of a community's vertices.
        let mut strength: Vec<f64> = (0..n).map(|v| csr.degree(v) as f64).collect();
        let per_total = 1.0 / (csr.nnz() as f64).max(1.0);
        // Edges of a vertex that joined, to communities as they were then: (community, number of edges).
        let mut merged: Vec<(u32, u32)> = Vec::new();
        let mut range = vec![(0usize, 0u32); n];
        // Edges of the vertex under consideration, by community.
        let mut weight = vec![0u32; n];
        let mut near: Vec<u32> = Vec::new();
        let by_degree = degree(csr);
        for &v in by_degree.old_of_new().iter().rev() {
            let mut add = |tree: &mut Self, u: u32, w: u32| {
                let c = tree.community(u);
                if c != v {
                    if weight[c as usize] == 0 {
                        near.push(c);
                    }
                    weight[c as usize] += w;
                }
            };
            for &u in csr.row(v as usize) {
                add(&mut tree, u, 1);
            }
            let mut member = tree.last[v as usize];
            while member != NONE {
                let (start, len) = range[member as usize];
                for &(u, w) in &merged[start..start + len as usize] {
                    add(&mut tree, u, w);
                }
                member = tree.before[member as usize];
            }
            // The gain of joining c is proportional to the edges to c less the edges expected by degrees alone.
            let mut best = (0.0, NONE);
            let own = strength[v as usize] * per_total;
            let start = merged.len();
            for &c in &near {
                let w = std::mem::take(&mut weight[c as usize]);
                let gain = f64::from(w) - own * strength[c as usize];
                if gain > best.0 || (gain == best.0 && c < best.1 && gain > 0.0) {
                    best = (gain, c);
                }
                merged.push((c, w));
            }
            near.clear();
            let (_, c) = best;
            if c == NONE {
                merged.truncate(start);
                continue;
            }
            range[v as usize] = (start, (merged.len() - start) as u32);
            tree.joined[v as usize] = c;
            tree.before[v as usize] = std::mem::replace(&mut tree.last[c as usize], v);
            strength[c as usize] += strength[v as usize];
        }
        tree
    }
    /// The community that `v` belongs to now; halves the path to it.
    #[inline]
    fn community(&mut self, mut v: u32) -> u32 {
        loop {
            let up = self.joined[v as usize];
            let top = self.joined[up as usize];
            if up == top {
                return up;
            }
            self.joined[v as usize] = top;
            v = top;
        }
    }
    /// Every community's members next to each other: a community's vertex, then its members from the last one that joined to
    /// the first, each followed by its own.
    fn depth_first(&self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.joined.len());
        let mut stack = Vec::new();
        for top in (0..self.joined.len() as u32).filter(|&v| self.joined[v as usize] == v) {
            stack.push(top);
            while let Some(v) = stack.pop() {
                order.push(v);
                // A member's line goes on with the one that joined before it, after the member's own members.
                if self.before[v as usize] != NONE && v != top {
                    stack.push(self.before[v as usize]);
                }
                if self.last[v as usize] != NONE {
                    stack.push(self.last[v as usize]);
                }
            }
        }
        order
    }
}
