//! Divides a small weighted graph into parts of about equal weight: recursive bisection by level sets.
//!
//! A breadth-first search from a vertex far from all others orders the vertices, the order is cut at half the weight, and each side is divided in
//! the same way. Cost: two searches per level of the recursion.

/// Neighbours of each vertex, any number of them, padded with [`NONE`].
pub(super) struct Links<'a> {
    pub links: &'a [u32],
    pub width: usize,
    pub weights: &'a [u32],
}

/// No neighbour.
pub(super) const NONE: u32 = u32::MAX;

struct Bisection<'a> {
    weights: &'a [u32],
    /// Neighbours without the padding, and where each vertex's start.
    starts: Vec<u32>,
    neighbours: Vec<u32>,
    /// The set that a vertex is in; a search stays in one.
    set: Vec<u32>,
    sets: u32,
    /// The search that saw a vertex last.
    seen: Vec<u32>,
    searches: u32,
    order: Vec<u32>,
    queue: Vec<u32>,
    parts: Vec<u32>,
}

/// The part of each vertex, below `parts`.
pub(super) fn bisect(graph: &Links<'_>, parts: u32) -> Vec<u32> {
    let n = graph.weights.len();
    let (mut starts, mut neighbours) = (vec![0], Vec::with_capacity(8 * n));
    for row in graph.links.chunks_exact(graph.width) {
        neighbours.extend(row.iter().filter(|&&u| u != NONE));
        starts.push(neighbours.len() as u32);
    }
    let mut b = Bisection {
        weights: graph.weights,
        starts,
        neighbours,
        set: vec![0; n],
        sets: 1,
        seen: vec![0; n],
        searches: 0,
        order: (0..n as u32).collect(),
        queue: Vec::with_capacity(n),
        parts: vec![0; n],
    };
    b.divide(0, n, 0, parts);
    b.parts
}

impl Bisection<'_> {
    /// Orders the vertices of `low..high` by a search from `start` into the queue; other components follow.
    fn search(&mut self, low: usize, high: usize, start: u32) {
        self.searches += 1;
        let set = self.set[start as usize];
        self.queue.clear();
        self.queue.push(start);
        self.seen[start as usize] = self.searches;
        let (mut head, mut next) = (0, low);
        while self.queue.len() < high - low {
            if head == self.queue.len() {
                while self.seen[self.order[next] as usize] == self.searches {
                    next += 1;
                }
                let v = self.order[next];
                self.seen[v as usize] = self.searches;
                self.queue.push(v);
            }
            let v = self.queue[head] as usize;
            head += 1;
            for &u in &self.neighbours[self.starts[v] as usize..self.starts[v + 1] as usize] {
                if self.set[u as usize] == set && self.seen[u as usize] != self.searches {
                    self.seen[u as usize] = self.searches;
                    self.queue.push(u);
                }
            }
        }
    }
    fn divide(&mut self, low: usize, high: usize, first: u32, parts: u32) {
        if low == high {
            return;
        }
        if parts == 1 {
            for &v in &self.order[low..high] {
                self.parts[v as usize] = first;
            }
            return;
        }
        let mut start = self.order[low];
        // The first of an order is far from its last: two searches do.
        for _ in 0..2 {
            self.search(low, high, start);
            start = self.queue[high - low - 1];
        }
        let weight = |v: &u32| u64::from(self.weights[*v as usize]);
        let total: u64 = self.queue.iter().map(weight).sum();
        let left = parts / 2;
        let (wanted, mut sum, mut cut) = (total * u64::from(left) / u64::from(parts), 0, 0);
        // The vertex that crosses the mark goes where it errs less.
        for v in &self.queue {
            let next = sum + weight(v);
            if sum >= wanted || next.saturating_sub(wanted) > wanted - sum {
                break;
            }
            (sum, cut) = (next, cut + 1);
        }
        self.order[low..high].copy_from_slice(&self.queue);
        for &v in &self.order[low + cut..high] {
            self.set[v as usize] = self.sets;
        }
        self.sets += 1;
        self.divide(low, low + cut, first, left);
        self.divide(low + cut, high, first + left, parts - left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_torus_and_of_pieces_are_even() {
        let side = 24u32;
        let mut links = Vec::new();
        for v in 0..side * side {
            let (x, y) = (v % side, v / side);
            links.extend([y * side + (x + 1) % side, y * side + (x + side - 1) % side, (y + 1) % side * side + x, NONE]);
        }
        let n = (side * side) as usize;
        for parts in [1u32, 2, 7, 12] {
            for links in [links.clone(), vec![NONE; 4 * n]] {
                let found = bisect(&Links { links: &links, width: 4, weights: &vec![3; n] }, parts);
                let sizes: Vec<usize> = (0..parts).map(|p| found.iter().filter(|&&f| f == p).count()).collect();
                assert!(sizes.iter().all(|&s| s.abs_diff(n / parts as usize) <= 3), "{sizes:?}");
            }
        }
        assert!(bisect(&Links { links: &[], width: 4, weights: &[] }, 3).is_empty());
    }
}
