//! The lists of a run: what each block sums, in words that it copies to shared memory.
//!
//! Invariant: every row of the hidden layer that the loss sees and every column of the features belongs to one block; the order of a list
//! depends on the graph and the number of blocks alone.

use super::super::lists::{OWN, Problem, Term, Terms, Words, add_columns, add_lists, heard, places, reached, share_out};
use super::super::{LONG, RECORDS};
use super::Block;
use std::cmp::Reverse;

/// Rows that are scored, by rows of the layer before.
#[derive(Default)]
pub(super) struct Lists {
    pub begin: Vec<u64>,
    pub names: Vec<u32>,
    pub scales: Vec<f32>,
}

impl Lists {
    /// The rows of `nodes`, whose names are translated.
    fn new(scales: &[f32], nodes: &[u32], names: impl Fn(u32, &mut Vec<u32>)) -> Self {
        let mut lists = Self { begin: vec![0], ..Self::default() };
        for &node in nodes {
            names(node, &mut lists.names);
            lists.begin.push(lists.names.len() as u64);
            lists.scales.push(scales[node as usize]);
        }
        lists
    }
}

/// All of it.
pub(super) struct Plan {
    pub blocks: Vec<Block>,
    pub words: Vec<u32>,
    /// The entry of the features that a bit is of.
    pub entries: Vec<u32>,
    pub extent: Extent,
    pub input: Lists,
    pub input_values: Vec<f32>,
    pub middle: Lists,
    pub output: Lists,
    /// The class of a scored node, and its part << 30.
    pub labels: Vec<u32>,
}

/// How much of everything there is: hidden rows, and what a block has at most.
#[derive(Clone, Copy, Default)]
pub(super) struct Extent {
    pub rows: usize,
    pub most_segments: u32,
    pub most_rows: u32,
    pub most_pairs: u32,
    pub most_columns: u32,
    pub most_words: u32,
    /// Rows of the middle that blocks share, the first ones.
    pub long_rows: u32,
}

/// How many records the lists have, or none if they are more than are worth it.
fn records(problem: &Problem<'_>, rows: &[u32]) -> Option<usize> {
    let features = |node: u32| problem.features.degree(node as usize);
    let mut all = problem.features.nnz() + problem.adjacency.nnz();
    for &node in rows {
        all = all.checked_add(2 * heard(problem.adjacency, node).map(features).sum::<usize>())?;
    }
    for &node in problem.train() {
        let names = problem.adjacency.degree(node as usize) + 1;
        all = all.checked_add(names.checked_mul(names)?)?;
    }
    (all <= RECORDS).then_some(all)
}

impl Plan {
    /// Lists for so many blocks; none if they are too long. O(records log records).
    pub fn new(problem: &Problem<'_>, scales: &[f32], blocks: usize) -> Option<Self> {
        let (adjacency, features) = (problem.adjacency, problem.features);
        let rows = reached(adjacency, problem.train());
        records(problem, &rows)?;
        let row_of = places(&rows, adjacency.nrows());

        // Bits are of the entries that occur, in the order of the features.
        let seen = reached(adjacency, &rows);
        let entries: Vec<u32> = seen.iter().flat_map(|&i| features.row_range(i as usize)).map(|e| e as u32).collect();
        let bit_of = places(&entries, features.nnz());

        // What a row of the hidden layer sums, by columns; what the gradient of a column sums, by rows.
        let (mut lengths, mut column_lengths) = (vec![0; rows.len()], vec![0; features.ncols()]);
        for (r, &j) in rows.iter().enumerate() {
            heard(adjacency, j).for_each(|i| {
                lengths[r] += features.degree(i as usize);
                features.row(i as usize).iter().for_each(|&k| column_lengths[k as usize] += 1);
            });
        }
        let (mut row_terms, mut column_terms) = (Terms::with_lengths(&lengths), Terms::with_lengths(&column_lengths));
        let (mut at, mut column_at) = (0, column_terms.begin.clone());
        for (r, &j) in rows.iter().enumerate() {
            heard(adjacency, j).for_each(|i| {
                for e in features.row_range(i as usize) {
                    let (k, bit) = (features.indices()[e], bit_of[e]);
                    let weight = scales[j as usize] * scales[i as usize] * problem.values[e];
                    row_terms.terms[at] = Term { place: k, bit, weight };
                    column_terms.terms[column_at[k as usize]] = Term { place: r as u32, bit, weight };
                    at += 1;
                    column_at[k as usize] += 1;
                }
            });
        }
        let row_shares = share_out(&row_terms.costs(), blocks);
        let column_shares = share_out(&column_terms.costs(), blocks);
        let row_place = places(&row_shares.concat(), rows.len());
        let column_place = places(&column_shares.concat(), features.ncols());
        row_terms.rename(&column_place);
        column_terms.rename(&row_place);

        // The training nodes that hear from a row.
        let mut hearers: Vec<Vec<u32>> = vec![Vec::new(); rows.len()];
        for &x in problem.train() {
            heard(adjacency, x).for_each(|u| hearers[row_of[u as usize] as usize].push(x));
        }

        let mut plan = Self::scores(problem, scales, &column_place, blocks);
        plan.entries = entries;
        plan.extent.rows = rows.len();
        let (mut rows_begin, mut columns_begin) = (0, 0);
        for (own_rows, own_columns) in row_shares.iter().zip(&column_shares) {
            let start = plan.words.len();
            let mut words = Words { all: &mut plan.words, start };
            let row_lists: Vec<&[Term]> = own_rows.iter().map(|&r| row_terms.list(r)).collect();
            let forward = add_lists(&mut words, &row_lists, row_lists.len(), 0);
            let columns = add_columns(&mut words, own_columns, &column_terms, columns_begin);
            let (mut pairs, mut names, mut ends) = (Vec::new(), Vec::new(), vec![0u32]);
            for &r in own_rows {
                for &x in &hearers[r as usize] {
                    let own = if x == rows[r as usize] { OWN } else { 0 };
                    let (label, scale) = (problem.labels[x as usize] as u32, scales[x as usize].to_bits());
                    let first = names.len();
                    names.extend(heard(adjacency, x).map(|j| row_place[row_of[j as usize] as usize]));
                    pairs.extend([first as u32, (names.len() - first) as u32, label | own, scale]);
                }
                ends.push(pairs.len() as u32 / 4);
            }
            let pair_count = pairs.len() as u32 / 4;
            let nodes = own_rows.iter().map(|&r| rows[r as usize]);
            let block = Block {
                offset: start as u64,
                words: 0,
                rows_begin,
                rows: own_rows.len() as u32,
                forward,
                columns,
                pair_count,
                pairs: words.add(pairs),
                names: words.add(names),
                pair_ends: words.add(ends),
                nodes: words.add(nodes.clone()),
                scales: words.add(nodes.map(|node| scales[node as usize].to_bits())),
            };
            words.add([]);
            let block = Block { words: (plan.words.len() - start) as u32, ..block };
            rows_begin += block.rows;
            columns_begin += columns.count;
            let most = &mut plan.extent;
            most.most_segments = most.most_segments.max(forward.tasks).max(columns.lists.tasks);
            most.most_rows = most.most_rows.max(block.rows);
            most.most_pairs = most.most_pairs.max(pair_count);
            most.most_columns = most.most_columns.max(columns.count);
            most.most_words = most.most_words.max(block.words);
            plan.blocks.push(block);
        }
        Some(plan)
    }

    /// The lists of scores alone. The longest rows of the middle come first, at most one for each block.
    fn scores(problem: &Problem<'_>, scales: &[f32], column_place: &[u32], blocks: usize) -> Self {
        let (adjacency, features, n) = (problem.adjacency, problem.features, problem.adjacency.nrows());
        let scored: Vec<u32> = problem.parts.concat();
        let mut middle = reached(adjacency, &scored);
        let names = |node: &u32| adjacency.degree(*node as usize) + 1;
        middle.sort_by_key(|node| Reverse(names(node)));
        let long_rows = middle.iter().take(blocks).take_while(|node| names(node) >= LONG).count() as u32;
        let input = reached(adjacency, &middle);
        let (middle_of, input_of) = (places(&middle, n), places(&input, n));
        let around = |place: &[u32], node: u32, to: &mut Vec<u32>| to.extend(heard(adjacency, node).map(|j| place[j as usize]));
        let values = input.iter().flat_map(|&i| features.row_range(i as usize)).map(|e| problem.values[e]).collect();
        let part = |p: usize| problem.parts[p].iter().map(move |&v| problem.labels[v as usize] as u32 | (p as u32) << 30);
        Self {
            input: Lists::new(scales, &input, |i, to| to.extend(features.row(i as usize).iter().map(|&k| column_place[k as usize]))),
            input_values: values,
            middle: Lists::new(scales, &middle, |j, to| around(&input_of, j, to)),
            output: Lists::new(scales, &scored, |v, to| around(&middle_of, v, to)),
            labels: (0..3).flat_map(part).collect(),
            blocks: Vec::new(),
            words: Vec::new(),
            entries: Vec::new(),
            extent: Extent { long_rows, ..Extent::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_sparse::{Buffer, Csr, Offsets};

    fn csr(rows: Vec<Vec<u32>>, columns: usize) -> Csr {
        let mut offsets = vec![0];
        rows.iter().for_each(|row| offsets.push(offsets[offsets.len() - 1] + row.len()));
        Csr::new(rows.len(), columns, Offsets::from_usizes(&offsets), Buffer::from(rows.concat())).unwrap()
    }

    /// Nodes that hear from so many of those after them, which hear from none.
    fn plan(heard: &[usize], blocks: usize) -> Plan {
        let first = heard.len() as u32;
        let others = heard.iter().copied().max().unwrap_or(0);
        let mut rows: Vec<Vec<u32>> = heard.iter().map(|&count| (first..first + count as u32).collect()).collect();
        rows.resize(heard.len() + others, Vec::new());
        let n = rows.len();
        let (adjacency, features) = (csr(rows, n), csr(vec![vec![0]; n], 1));
        let nodes: Vec<u32> = (0..n as u32).collect();
        let (values, labels) = (vec![1.0; n], vec![0; n]);
        let parts = [&nodes[..1], &nodes[1..2], &nodes[2..]];
        Plan::new(&Problem { adjacency: &adjacency, features: &features, values: &values, labels: &labels, parts }, &vec![1.0; n], blocks)
            .unwrap()
    }

    /// A node is a name of its own row.
    #[test]
    fn blocks_share_the_longest_rows_one_each() {
        let heard = [3, LONG - 2, LONG - 1, LONG, 5, 2 * LONG];
        for (blocks, shared) in [(1, 1), (2, 2), (3, 3), (4, 3), (50, 3)] {
            let plan = plan(&heard, blocks);
            let names: Vec<u64> = plan.middle.begin.windows(2).map(|w| w[1] - w[0]).collect();
            assert_eq!(plan.extent.long_rows, shared, "{blocks} blocks");
            assert_eq!(names[..6], [2 * LONG + 1, LONG + 1, LONG, LONG - 1, 6, 4].map(|n| n as u64));
        }
        assert_eq!(plan(&[LONG - 2, 4, 4], 8).extent.long_rows, 0, "a row of one name less is a warp's");
    }
}
