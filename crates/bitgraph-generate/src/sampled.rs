//! Random graphs given by their edges: edge `i` is a function of the seed and `i`.

use crate::random::Stream;
use std::ops::Range;

/// A multiset of undirected edges that can be visited in any order and more than once. Loops and repeated edges may occur.
pub(crate) trait EdgeSource: Sync {
    /// The number of vertices.
    fn vertices(&self) -> u32;
    /// The number of edges.
    fn edges(&self) -> u64;
    /// Calls `f` with the two ends of every edge of `range`.
    fn visit(&self, range: Range<u64>, f: impl FnMut(u32, u32));
}

/// Both ends uniform (the Erdos-Renyi model with a given number of draws).
pub(crate) struct Urand {
    n: u32,
    edges: u64,
    stream: Stream,
}

impl Urand {
    pub(crate) fn new(n: u32, edges: u64, seed: u64) -> Self {
        Self { n, edges, stream: Stream::new(seed, 2) }
    }
}

impl EdgeSource for Urand {
    fn vertices(&self) -> u32 {
        self.n
    }
    fn edges(&self) -> u64 {
        self.edges
    }
    #[inline]
    fn visit(&self, range: Range<u64>, mut f: impl FnMut(u32, u32)) {
        let n = u64::from(self.n);
        for i in range {
            f(self.stream.below(2 * i, n) as u32, self.stream.below(2 * i + 1, n) as u32);
        }
    }
}

/// One end uniform, the other `floor(n r^2)` for uniform `r`: degrees fall like the inverse square root of the number.
pub(crate) struct Skew {
    n: u32,
    edges: u64,
    stream: Stream,
}

impl Skew {
    pub(crate) fn new(n: u32, edges: u64, seed: u64) -> Self {
        Self { n, edges, stream: Stream::new(seed, 3) }
    }
}

impl EdgeSource for Skew {
    fn vertices(&self) -> u32 {
        self.n
    }
    fn edges(&self) -> u64 {
        self.edges
    }
    #[inline]
    fn visit(&self, range: Range<u64>, mut f: impl FnMut(u32, u32)) {
        for i in range {
            let r = self.stream.unit(2 * i + 1);
            // Below n, because r is below 1 and the product rounds to at most the number before n for 32-bit n.
            let v = (f64::from(self.n) * (r * r)) as u32;
            f(self.stream.below(2 * i, self.n.into()) as u32, v.min(self.n - 1));
        }
    }
}

/// Communities of consecutive vertices, of sizes that differ by one at most: nine edges of ten stay inside one.
pub(crate) struct Planted {
    n: u32,
    communities: u32,
    edges: u64,
    stream: Stream,
}

impl Planted {
    /// The share of edges with the second end drawn from the first one's community, of 2^64.
    const INSIDE: u64 = (u64::MAX / 10) * 9;

    pub(crate) fn new(n: u32, communities: u32, edges: u64, seed: u64) -> Self {
        Self { n, communities, edges, stream: Stream::new(seed, 4) }
    }
    /// The first vertex of community `c`.
    #[inline(always)]
    fn start(&self, c: u64) -> u64 {
        c * u64::from(self.n) / u64::from(self.communities)
    }
}

impl EdgeSource for Planted {
    fn vertices(&self) -> u32 {
        self.n
    }
    fn edges(&self) -> u64 {
        self.edges
    }
    #[inline]
    fn visit(&self, range: Range<u64>, mut f: impl FnMut(u32, u32)) {
        let n = u64::from(self.n);
        for i in range {
            let u = self.stream.below(3 * i, n);
            let (start, end) = if self.stream.bits(3 * i + 1) < Self::INSIDE {
                // The community whose range holds u: the inverse of `start`.
                let c = ((u + 1) * u64::from(self.communities) - 1) / n;
                (self.start(c), self.start(c + 1))
            } else {
                (0, n)
            };
            f(u as u32, (start + self.stream.below(3 * i + 2, end - start)) as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communities_partition_the_vertices() {
        for (n, k) in [(10, 3), (7, 7), (100, 1), (1001, 37)] {
            let p = Planted::new(n, k, 0, 1);
            for u in 0..u64::from(n) {
                let c = ((u + 1) * u64::from(k) - 1) / u64::from(n);
                assert!((p.start(c)..p.start(c + 1)).contains(&u), "{n} {k} {u}");
            }
        }
    }

    #[test]
    fn planted_edges_stay_inside_and_skew_is_skewed() {
        let p = Planted::new(1000, 10, 20_000, 1);
        let mut inside = 0;
        p.visit(0..20_000, |u, v| inside += u32::from(u / 100 == v / 100));
        // One in ten of the edges drawn from all vertices stays inside by chance.
        assert!((17_900..18_500).contains(&inside), "{inside}");
        let s = Skew::new(1000, 20_000, 1);
        let mut low = 0;
        s.visit(0..20_000, |_, v| low += u32::from(v < 250));
        assert!((9_700..10_300).contains(&low), "{low}");
    }
}
