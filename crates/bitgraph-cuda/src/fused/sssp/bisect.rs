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
    /// Twice the set that a vertex is in; odd after every other search, which stays in a set.
    state: Vec<u32>,
    sets: u32,
    order: Vec<u32>,
    /// One place more than there are vertices: what a search meets again is written, too, and overwritten.
    queue: Vec<u32>,
    parts: Vec<u32>,
}

/// Divides a graph into `parts`: the part of each vertex.
pub(super) fn bisect(graph: &Links<'_>, parts: u32) -> Vec<u32> {
    let n = graph.weights.len();
    let (mut starts, mut neighbours, mut end) = (vec![0; n + 1], vec![0; graph.links.len()], 0);
    for (row, start) in graph.links.chunks_exact(graph.width).zip(&mut starts[1..]) {
        for &u in row {
            neighbours[end] = u;
            end += usize::from(u != NONE);
        }
        *start = end as u32;
    }
    let mut b = Bisection {
        weights: graph.weights,
        starts,
        neighbours,
        state: vec![0; n],
        sets: 1,
        order: (0..n as u32).collect(),
        queue: vec![0; n + 1],
        parts: vec![0; n],
    };
    b.divide(0, n, 0, parts);
    b.parts
}

impl Bisection<'_> {
    /// Orders the vertices of `low..high` by a search from `start` into the queue; other components follow.
    fn search(&mut self, low: usize, high: usize, start: u32) {
        let old = self.state[start as usize];
        let (state, queue) = (&mut self.state[..], &mut self.queue[..]);
        queue[0] = start;
        state[start as usize] = old ^ 1;
        let (mut head, mut tail, mut next) = (0, 1, low);
        while tail < high - low {
            if head == tail {
                while state[self.order[next] as usize] != old {
                    next += 1;
                }
                let v = self.order[next];
                state[v as usize] = old ^ 1;
                queue[tail] = v;
                tail += 1;
            }
            let v = queue[head] as usize;
            head += 1;
            // Whether a neighbour is new cannot be foreseen: no branch.
            for &u in &self.neighbours[self.starts[v] as usize..self.starts[v + 1] as usize] {
                let state = &mut state[u as usize];
                let new = *state == old;
                queue[tail] = u;
                tail += usize::from(new);
                *state ^= u32::from(new);
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
        let count = high - low;
        let mut start = self.order[low];
        // The first of an order is far from its last: two searches do.
        for _ in 0..2 {
            self.search(low, high, start);
            start = self.queue[count - 1];
        }
        let weight = |v: &u32| u64::from(self.weights[*v as usize]);
        let total: u64 = self.queue[..count].iter().map(weight).sum();
        let left = parts / 2;
        let (wanted, mut sum, mut cut) = (total * u64::from(left) / u64::from(parts), 0, 0);
        // The vertex that crosses the mark goes where it errs less.
        for v in &self.queue[..count] {
            let next = sum + weight(v);
            if sum >= wanted || next.saturating_sub(wanted) > wanted - sum {
                break;
            }
            (sum, cut) = (next, cut + 1);
        }
        self.order[low..high].copy_from_slice(&self.queue[..count]);
        for &v in &self.order[low + cut..high] {
            self.state[v as usize] = 2 * self.sets;
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
