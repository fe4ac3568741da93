//! Lists of a run, cut into segments, and how they are shared out: what every model's plan is made of.
//!
//! Invariant: the order of a list depends on the graph and the number of blocks alone.

use super::{Columns, ListPlaces, SEGMENT};
use bitgraph_sparse::Csr;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What counts the loss of a pair.
pub(super) const OWN: u32 = 1 << 31;
/// What a row or a column costs besides its segments, in entries.
pub(super) const ROW_COST: usize = 8;

/// The graph, its features and the nodes of each part of the split.
pub(super) struct Problem<'a> {
    /// Without loops.
    pub adjacency: &'a Csr,
    pub features: &'a Csr,
    pub values: &'a [f32],
    pub labels: &'a [i32],
    pub parts: [&'a [u32]; 3],
}
impl Problem<'_> {
    pub fn train(&self) -> &[u32] {
        self.parts[0]
    }
}

/// One term of a row or a column.
#[derive(Clone, Copy)]
pub(super) struct Term {
    pub place: u32,
    pub bit: u32,
    pub weight: f32,
}

/// Terms in lists one after the other; list `i` is `terms[begin[i]..begin[i + 1]]`.
pub(super) struct Terms {
    pub begin: Vec<usize>,
    pub terms: Vec<Term>,
}

impl Terms {
    /// Empty lists of so many terms.
    pub fn with_lengths(lengths: &[usize]) -> Self {
        let mut begin = Vec::with_capacity(lengths.len() + 1);
        begin.push(0);
        begin.extend(lengths.iter().scan(0, |end, len| {
            *end += len;
            Some(*end)
        }));
        let none = Term { place: 0, bit: 0, weight: 0.0 };
        Self { terms: vec![none; begin[lengths.len()]], begin }
    }
    pub fn list(&self, i: u32) -> &[Term] {
        &self.terms[self.begin[i as usize]..self.begin[i as usize + 1]]
    }
    /// What summing each list costs.
    pub fn costs(&self) -> Vec<usize> {
        self.begin.windows(2).map(|w| segments(w[1] - w[0]) * SEGMENT + ROW_COST).collect()
    }
    pub fn rename(&mut self, places: &[u32]) {
        self.terms.iter_mut().for_each(|t| t.place = places[t.place as usize]);
    }
}

/// A node and those that it hears from, ascending.
pub(super) fn heard(adjacency: &Csr, node: u32) -> impl Iterator<Item = u32> {
    let row = adjacency.row(node as usize);
    let (before, after) = row.split_at(row.partition_point(|&j| j < node));
    before.iter().copied().chain([node]).chain(after.iter().copied())
}

/// Those that some of the nodes hear from, ascending.
pub(super) fn reached(adjacency: &Csr, nodes: &[u32]) -> Vec<u32> {
    let mut seen = vec![false; adjacency.nrows()];
    nodes.iter().for_each(|&node| heard(adjacency, node).for_each(|j| seen[j as usize] = true));
    (0..adjacency.nrows() as u32).filter(|&j| seen[j as usize]).collect()
}

/// Where each of some numbers below `n` is in their list.
pub(super) fn places(list: &[u32], n: usize) -> Vec<u32> {
    let mut at = vec![u32::MAX; n];
    list.iter().enumerate().for_each(|(place, &number)| at[number as usize] = place as u32);
    at
}

pub(super) fn segments(len: usize) -> usize {
    len.div_ceil(SEGMENT)
}

/// Shares items out, the most expensive first, each to the block of the lowest cost so far; the items of each block.
pub(super) fn share_out(costs: &[usize], blocks: usize) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0..costs.len() as u32).collect();
    order.sort_by_key(|&i| (Reverse(costs[i as usize]), i));
    let mut loads: BinaryHeap<_> = (0..blocks).map(|block| Reverse((0usize, block))).collect();
    let mut shares = vec![Vec::new(); blocks];
    for i in order {
        if let Some(mut lowest) = loads.peek_mut() {
            lowest.0.0 += costs[i as usize];
            shares[lowest.0.1].push(i);
        }
    }
    shares
}

/// The words of a block as they grow.
pub(super) struct Words<'a> {
    pub all: &'a mut Vec<u32>,
    pub start: usize,
}
impl Words<'_> {
    /// Appends words, from a multiple of 16 bytes on; where they begin.
    pub fn add(&mut self, words: impl IntoIterator<Item = u32>) -> u32 {
        self.all.resize(self.start + (self.all.len() - self.start).next_multiple_of(4), 0);
        let at = self.all.len() - self.start;
        self.all.extend(words);
        at as u32
    }
}

/// Where lists are cut: their segments, and where those and the segments of each list begin.
pub(super) struct Cut {
    /// As words, without ids and entries yet.
    pub lists: ListPlaces,
    /// Of each segment, which list it is of.
    pub owners: Vec<u32>,
}

/// Cuts lists of so many entries into segments of about the same length, of `longest` entries at most and `fewest` of each list.
pub(super) fn cut(words: &mut Words<'_>, lengths: impl Iterator<Item = usize>, longest: usize, fewest: usize) -> Cut {
    let (mut begins, mut ends, mut owners, mut all) = (Vec::new(), vec![0], Vec::new(), 0usize);
    for (list, len) in lengths.enumerate() {
        let parts = len.div_ceil(longest).max(fewest);
        begins.extend((0..parts).map(|s| (all + len * s / parts) as u32));
        owners.extend(std::iter::repeat_n(list as u32, parts));
        all += len;
        ends.push(begins.len() as u32);
    }
    begins.push(all as u32);
    let lists = ListPlaces { tasks: owners.len() as u32, places: words.add(begins), ids: 0, entries: 0, ends: words.add(ends) };
    Cut { lists, owners }
}

/// Lists of features as words, with the bits of the first `dropped` ones, which dropout takes entries from.
pub(super) fn add_lists(words: &mut Words<'_>, lists: &[&[Term]], dropped: usize, fewest: usize) -> ListPlaces {
    let cut = cut(words, lists.iter().map(|list| list.len()), SEGMENT, fewest).lists;
    let ids = words.add(lists[..dropped].iter().flat_map(|list| list.iter().map(|t| t.bit)));
    let entries = words.add(lists.iter().flat_map(|list| list.iter().flat_map(|t| [t.place, t.weight.to_bits()])));
    ListPlaces { ids, entries, ..cut }
}

/// The columns of the features that a block owns, from the place of the first one on.
pub(super) fn add_columns(words: &mut Words<'_>, columns: &[u32], terms: &Terms, begin: u32) -> Columns {
    let lists: Vec<&[Term]> = columns.iter().map(|&k| terms.list(k)).collect();
    let lists = add_lists(words, &lists, lists.len(), 0);
    Columns { lists, begin, count: columns.len() as u32, features: words.add(columns.iter().copied()) }
}
