//! Who sums which neighbours: the tasks of warps, dealt to blocks.
//!
//! Invariant: every row has its tasks in one block, in an order that depends on the graph and the number of blocks alone; a node hears from
//! itself.

use bitgraph_sparse::Csr;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Neighbours of a task, and rows of one that has rows of up to 8 neighbours.
const LANES: usize = 32;
const ROWS: usize = 4;
/// Neighbours of a short row.
const SHORT: usize = LANES / ROWS;
/// No name.
pub(super) const NONE: u32 = u32::MAX;
/// What a segment says: four rows, or one.
const FOUR: u32 = 0;
const ONE: u32 = 1;
/// Numbers of cut rows, and of segments of one, are below this.
const MOST_CUT: usize = 65_535;

/// A task of a warp.
struct Task {
    /// Rows of up to 8 neighbours, or one row and where its neighbours begin.
    rows: [u32; ROWS],
    first: usize,
    segment: u32,
}

/// The tasks of all blocks: task `i` of block `b` is number `i * blocks + b`.
pub(super) struct Plan {
    /// 32 of each task.
    pub names: Vec<u32>,
    /// Row and number of neighbours, 4 of each task.
    pub rows: Vec<[u32; 2]>,
    pub segments: Vec<u32>,
    /// Words in shared memory, and segments, of each row that is cut.
    pub cuts: Vec<[u32; 2]>,
    /// Words in shared memory of a block.
    pub cut_words: u32,
}

impl Plan {
    /// Of a pattern without loops, for so many blocks; a row that is cut takes `cut` words and `segment` for each of its segments. None where
    /// there are more than `most` tasks, or rows that are cut, or segments of one.
    pub fn new(adjacency: &Csr, blocks: usize, (cut, segment): (usize, usize), most: usize) -> Option<Self> {
        let degree = |row: u32| adjacency.degree(row as usize) + 1;
        let mut order: Vec<u32> = (0..adjacency.nrows() as u32).collect();
        order.sort_by_key(|&row| Reverse(degree(row)));
        let long = order.partition_point(|&row| degree(row) > SHORT);
        let mut tasks: Vec<Vec<Task>> = (0..blocks).map(|_| Vec::new()).collect();
        let mut words = vec![0usize; blocks];
        let mut cuts = Vec::new();
        let mut count = 0;
        // The block of the fewest tasks, the first of equal ones.
        let mut lightest: BinaryHeap<_> = (0..blocks).map(|b| Reverse((0usize, b))).collect();
        let mut deal = |made: Vec<Task>, shared: usize| {
            let Reverse((before, b)) = lightest.pop()?;
            count += made.len();
            lightest.push(Reverse((before + made.len(), b)));
            tasks[b].extend(made);
            let at = words[b];
            words[b] += shared;
            (count <= most).then_some(at)
        };
        for &row in &order[..long] {
            let segments = degree(row).div_ceil(LANES);
            let shared = if segments > 1 { cut + segment * segments } else { 0 };
            if segments > MOST_CUT || cuts.len() >= MOST_CUT {
                return None;
            }
            let number = cuts.len() as u32 + 1;
            let mark = |s: usize| if segments > 1 { number << 16 | s as u32 } else { ONE };
            let made = (0..segments).map(|s| Task { rows: [row; ROWS], first: s * LANES, segment: mark(s) }).collect();
            let at = deal(made, shared)?;
            if segments > 1 {
                cuts.push([at as u32, segments as u32]);
            }
        }
        for rows in order[long..].chunks(ROWS) {
            let mut all = [NONE; ROWS];
            all[..rows.len()].copy_from_slice(rows);
            deal(vec![Task { rows: all, first: 0, segment: FOUR }], 0)?;
        }
        let longest = tasks.iter().map(Vec::len).max().unwrap_or(0);
        let total = longest * blocks;
        let mut plan = Self {
            names: vec![NONE; total * LANES],
            rows: vec![[NONE, 0]; total * ROWS],
            segments: vec![FOUR; total],
            cuts,
            cut_words: words.into_iter().max().unwrap_or(0).next_multiple_of(4) as u32,
        };
        for (b, tasks) in tasks.iter().enumerate() {
            for (i, task) in tasks.iter().enumerate() {
                plan.fill(adjacency, i * blocks + b, task);
            }
        }
        Some(plan)
    }
    fn fill(&mut self, adjacency: &Csr, at: usize, task: &Task) {
        // A node is the first of those that it hears from.
        let heard = |row: u32| std::iter::once(row).chain(adjacency.row(row as usize).iter().copied());
        self.segments[at] = task.segment;
        for (k, &row) in task.rows.iter().enumerate().filter(|(_, row)| **row != NONE) {
            self.rows[at * ROWS + k] = [row, adjacency.degree(row as usize) as u32 + 1];
            if task.segment == FOUR {
                heard(row).enumerate().for_each(|(j, name)| self.names[at * LANES + k * SHORT + j] = name);
            }
        }
        if task.segment != FOUR {
            heard(task.rows[0]).skip(task.first).take(LANES).enumerate().for_each(|(j, name)| self.names[at * LANES + j] = name);
        }
    }
}
