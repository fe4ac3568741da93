//! The lists of a run over graph attention: what each block sums, in words that it copies to shared memory.
//!
//! Invariant: every row that the loss sees, every row that is scored and every column of the features belongs to one block. Rows of the step
//! come first in a block's lists and in the tables, scored ones after them; the order of a list depends on the graph and the number of blocks
//! alone.

use super::super::lists::{
    Cut, OWN, Problem, ROW_COST, Term, Terms, Words, add_columns, add_lists, cut, heard, places, reached, segments, share_out,
};
use super::super::{ListPlaces, RECORDS, SEGMENT};
use super::{Block, NEIGHBOURS};
use bitgraph_sparse::Csr;

/// All of it.
pub(super) struct Plan {
    pub blocks: Vec<Block>,
    pub words: Vec<u32>,
    /// The entry of the features that a bit is of.
    pub entries: Vec<u32>,
    /// The entries of attention that dropout takes from: those of the hidden layer, then those of the last one.
    pub positions: Vec<u32>,
    pub extent: Extent,
}

/// How much of everything there is, and what a block has at most.
#[derive(Clone, Copy, Default)]
pub(super) struct Extent {
    /// Entries of the hidden layer among those of dropout.
    pub hidden_positions: usize,
    /// Rows of the first product: of the step, and with those that are scored.
    pub rows: [usize; 2],
    /// Hidden rows.
    pub hidden: [usize; 2],
    pub most_rows: u32,
    pub most_hidden: u32,
    pub most_all_hidden: u32,
    pub most_pairs: u32,
    pub most_columns: u32,
    /// Segments of features, and of neighbours.
    pub most_segments: u32,
    pub most_neighbour_segments: u32,
    pub most_words: u32,
}

/// Nodes that are shared out over the blocks.
struct Shares {
    /// The nodes of each block.
    blocks: Vec<Vec<u32>>,
    /// The place of each node in its table.
    place: Vec<u32>,
}
impl Shares {
    /// Of places from `first` on.
    fn new(nodes: &[u32], costs: &[usize], (first, n): (usize, usize), blocks: usize) -> Self {
        let named = |share: Vec<u32>| share.into_iter().map(|i| nodes[i as usize]).collect::<Vec<u32>>();
        let blocks: Vec<Vec<u32>> = share_out(costs, blocks).into_iter().map(named).collect();
        let mut place = places(&blocks.concat(), n);
        place.iter_mut().filter(|p| **p != u32::MAX).for_each(|p| *p += first as u32);
        Self { blocks, place }
    }
}

/// Lists of neighbours as they grow.
#[derive(Default)]
struct Neighbours {
    names: Vec<u32>,
    lengths: Vec<usize>,
}
impl Neighbours {
    fn add(&mut self, names: impl Iterator<Item = u32>) {
        let before = self.names.len();
        self.names.extend(names);
        self.lengths.push(self.names.len() - before);
    }
    /// As words, with what `owner` says of the list that each segment is of.
    fn write(self, words: &mut Words<'_>, ids: Vec<u32>, owner: impl Fn(u32) -> u32) -> (ListPlaces, u32) {
        let Cut { lists, owners } = cut(words, self.lengths.iter().copied(), NEIGHBOURS, 1);
        let (ids, entries) = (words.add(ids), words.add(self.names));
        (ListPlaces { ids, entries, ..lists }, words.add(owners.into_iter().map(owner)))
    }
}

/// How many records the lists have, or none if they are more than are worth it.
fn records(problem: &Problem<'_>, hidden: &[u32], rows: &[u32]) -> Option<usize> {
    let (adjacency, features) = (problem.adjacency, problem.features);
    let mut all = 2 * features.nnz() + 2 * adjacency.nnz() + 4 * adjacency.nrows();
    all += rows.iter().map(|&node| features.degree(node as usize)).sum::<usize>();
    all += 2 * hidden.iter().map(|&node| adjacency.degree(node as usize) + 1).sum::<usize>();
    for &node in problem.train() {
        let names = adjacency.degree(node as usize) + 1;
        all = all.checked_add(names.checked_mul(names)?)?;
    }
    (all <= RECORDS).then_some(all)
}

/// The entries of a node's row in the adjacency with loops.
fn looped(adjacency: &Csr, node: u32) -> impl Iterator<Item = u32> {
    let first = adjacency.row_range(node as usize).start + node as usize;
    (0..=adjacency.degree(node as usize)).map(move |k| (first + k) as u32)
}

impl Plan {
    /// Lists for so many blocks; none if they are too long. O(records log records).
    pub fn new(problem: &Problem<'_>, blocks: usize) -> Option<Self> {
        let (adjacency, features, n) = (problem.adjacency, problem.features, problem.adjacency.nrows());
        let train = problem.train();
        let hidden = reached(adjacency, train);
        let rows = reached(adjacency, &hidden);
        let scored: Vec<u32> = problem.parts.concat();
        let scored_hidden = reached(adjacency, &scored);
        let scored_rows = reached(adjacency, &scored_hidden);
        records(problem, &hidden, &rows)?;
        let mut plan =
            Self { blocks: Vec::new(), words: Vec::new(), entries: Vec::new(), positions: Vec::new(), extent: Extent::default() };
        plan.extent.rows = [rows.len(), rows.len() + scored_rows.len()];
        plan.extent.hidden = [hidden.len(), hidden.len() + scored_hidden.len()];

        let of_features = |nodes: &[u32]| -> Vec<usize> {
            nodes.iter().map(|&i| segments(features.degree(i as usize)).max(1) * SEGMENT + ROW_COST).collect()
        };
        let of_neighbours = |nodes: &[u32]| -> Vec<usize> {
            let one = |i: usize| (adjacency.degree(i) + 1).next_multiple_of(NEIGHBOURS) + ROW_COST;
            nodes.iter().map(|&i| one(i as usize)).collect()
        };
        let row_of = Shares::new(&rows, &of_features(&rows), (0, n), blocks);
        let scored_row_of = Shares::new(&scored_rows, &of_features(&scored_rows), (rows.len(), n), blocks);
        let hidden_of = Shares::new(&hidden, &of_neighbours(&hidden), (0, n), blocks);
        let scored_hidden_of = Shares::new(&scored_hidden, &of_neighbours(&scored_hidden), (hidden.len(), n), blocks);
        let outputs = Shares::new(&scored, &of_neighbours(&scored), (0, n), blocks);

        // The entries that dropout takes from, in the order of the tables.
        plan.entries = rows.iter().flat_map(|&i| features.row_range(i as usize)).map(|e| e as u32).collect();
        let bit_of = places(&plan.entries, features.nnz());
        let mut first_entry = vec![0u32; n];
        for &i in hidden_of.blocks.iter().flatten() {
            first_entry[i as usize] = plan.positions.len() as u32;
            plan.positions.extend(looped(adjacency, i));
        }
        plan.extent.hidden_positions = plan.positions.len();
        let mut first_last_entry = vec![0u32; n];
        for &x in train {
            first_last_entry[x as usize] = (plan.positions.len() - plan.extent.hidden_positions) as u32;
            plan.positions.extend(looped(adjacency, x));
        }

        // What the gradient of a column sums, by rows.
        let mut lengths = vec![0; features.ncols()];
        rows.iter().for_each(|&i| features.row(i as usize).iter().for_each(|&k| lengths[k as usize] += 1));
        let mut column_terms = Terms::with_lengths(&lengths);
        let mut at = column_terms.begin.clone();
        for &i in &rows {
            for e in features.row_range(i as usize) {
                let k = features.indices()[e] as usize;
                column_terms.terms[at[k]] = Term { place: row_of.place[i as usize], bit: bit_of[e], weight: problem.values[e] };
                at[k] += 1;
            }
        }
        let column_shares = share_out(&column_terms.costs(), blocks);
        let column_place = places(&column_shares.concat(), features.ncols());

        // The hidden rows that hear from a row, with the entry; the training nodes that hear from a hidden row, and which of their names it is.
        let mut hearers: Vec<Vec<(u32, u32)>> = vec![Vec::new(); n];
        for &i in &hidden {
            let entries = first_entry[i as usize]..;
            heard(adjacency, i).zip(entries).for_each(|(j, id)| hearers[j as usize].push((hidden_of.place[i as usize], id)));
        }
        let mut listeners: Vec<Vec<(u32, u32)>> = vec![Vec::new(); n];
        train.iter().for_each(|&x| heard(adjacency, x).zip(0..).for_each(|(u, k)| listeners[u as usize].push((x, k))));
        let mut part_of = vec![0u32; n];
        (0u32..).zip(problem.parts).for_each(|(part, nodes)| nodes.iter().for_each(|&v| part_of[v as usize] = part));

        let term = |e: usize, bit: u32| Term { place: column_place[features.indices()[e] as usize], bit, weight: problem.values[e] };
        let mut begins = [0, 0, rows.len() as u32, hidden.len() as u32, 0, 0];
        for (b, own_columns) in column_shares.iter().enumerate() {
            let start = plan.words.len();
            let mut words = Words { all: &mut plan.words, start };
            let (own_rows, more_rows) = (&row_of.blocks[b], &scored_row_of.blocks[b]);
            let (own_hidden, more_hidden) = (&hidden_of.blocks[b], &scored_hidden_of.blocks[b]);
            let [rows_begin, hidden_begin, scored_rows_begin, scored_hidden_begin, attention_begin, columns_begin] = begins;

            let of_row = |&i: &u32| features.row_range(i as usize).map(|e| term(e, bit_of[e])).collect::<Vec<Term>>();
            let of_scored = |&i: &u32| features.row_range(i as usize).map(|e| term(e, 0)).collect::<Vec<Term>>();
            let terms: Vec<Vec<Term>> = own_rows.iter().map(of_row).chain(more_rows.iter().map(of_scored)).collect();
            let term_lists: Vec<&[Term]> = terms.iter().map(Vec::as_slice).collect();
            let forward = add_lists(&mut words, &term_lists, own_rows.len(), 1);
            let forward_trained = own_rows.iter().map(|&i| segments(features.degree(i as usize)).max(1) as u32).sum();
            let columns = add_columns(&mut words, own_columns, &column_terms, columns_begin);

            let mut neighbours = Neighbours::default();
            own_hidden.iter().for_each(|&i| neighbours.add(heard(adjacency, i).map(|j| row_of.place[j as usize])));
            let attention_entries = neighbours.names.len() as u32;
            more_hidden.iter().for_each(|&i| neighbours.add(heard(adjacency, i).map(|j| scored_row_of.place[j as usize])));
            let attention_trained = own_hidden.iter().map(|&i| (adjacency.degree(i as usize) + 1).div_ceil(NEIGHBOURS) as u32).sum();
            let own_places = own_hidden.iter().map(|&i| row_of.place[i as usize]);
            let own_places: Vec<u32> = own_places.chain(more_hidden.iter().map(|&i| scored_row_of.place[i as usize])).collect();
            let (attention, attention_owners) = neighbours.write(&mut words, Vec::new(), |list| own_places[list as usize]);

            let (mut neighbours, mut ids) = (Neighbours::default(), Vec::new());
            for &j in own_rows {
                neighbours.add(hearers[j as usize].iter().map(|&(place, _)| place));
                ids.extend(hearers[j as usize].iter().map(|&(_, id)| id));
            }
            let (hearing, hearer_owners) = neighbours.write(&mut words, ids, |list| list);

            let (mut names, mut pairs, mut pair_ends) = (Vec::new(), Vec::new(), vec![0u32]);
            for (row, &u) in (0u32..).zip(own_hidden) {
                for &(x, k) in &listeners[u as usize] {
                    let (own, first) = (if x == u { OWN } else { 0 }, names.len() as u32);
                    names.extend(heard(adjacency, x).map(|j| hidden_of.place[j as usize]));
                    let (label, self_place) = (problem.labels[x as usize] as u32 | own, hidden_of.place[x as usize]);
                    pairs.extend([first, names.len() as u32 - first, label, first_last_entry[x as usize], self_place, k, row, 0]);
                }
                pair_ends.push(pairs.len() as u32 / 8);
            }
            let mut nodes = Vec::new();
            for &v in &outputs.blocks[b] {
                let first = names.len() as u32;
                names.extend(heard(adjacency, v).map(|j| scored_hidden_of.place[j as usize]));
                let label = problem.labels[v as usize] as u32 | part_of[v as usize] << 30;
                nodes.extend([first, names.len() as u32 - first, label, scored_hidden_of.place[v as usize]]);
            }
            let block = Block {
                offset: start as u64,
                words: 0,
                rows_begin,
                rows: own_rows.len() as u32,
                scored_rows_begin,
                scored_rows: more_rows.len() as u32,
                hidden_begin,
                hidden: own_hidden.len() as u32,
                scored_hidden_begin,
                scored_hidden: more_hidden.len() as u32,
                attention_begin,
                columns,
                forward,
                forward_trained,
                attention,
                attention_trained,
                attention_owners,
                hearers: hearing,
                hearer_owners,
                hidden_of: words.add(own_rows.iter().map(|&i| hidden_of.place[i as usize])),
                own_rows: words.add(own_places),
                nodes: words.add(own_hidden.iter().copied()),
                pair_count: pairs.len() as u32 / 8,
                pairs: words.add(pairs),
                pair_ends: words.add(pair_ends),
                names: words.add(names),
                outputs: nodes.len() as u32 / 4,
                scored: words.add(nodes),
            };
            words.add([]);
            let block = Block { words: (plan.words.len() - start) as u32, ..block };
            let grown = [block.rows, block.hidden, block.scored_rows, block.scored_hidden, attention_entries, columns.count];
            begins.iter_mut().zip(grown).for_each(|(begin, more)| *begin += more);
            plan.extent.take(&block);
            plan.blocks.push(block);
        }
        Some(plan)
    }
}

impl Extent {
    fn take(&mut self, block: &Block) {
        let larger = |most: &mut u32, found: u32| *most = (*most).max(found);
        larger(&mut self.most_rows, block.rows);
        larger(&mut self.most_hidden, block.hidden);
        larger(&mut self.most_all_hidden, block.hidden + block.scored_hidden);
        larger(&mut self.most_pairs, block.pair_count);
        larger(&mut self.most_columns, block.columns.count);
        larger(&mut self.most_segments, block.forward.tasks.max(block.columns.lists.tasks));
        larger(&mut self.most_neighbour_segments, block.attention.tasks.max(block.hearers.tasks));
        larger(&mut self.most_words, block.words);
    }
}
