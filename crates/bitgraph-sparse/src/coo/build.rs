//! From entries in any order to sorted rows: count, scatter, order, merge.
//!
//! Invariant: within a row, entries are scattered in the order of the input, whatever the threads, so that "first" and "last" of
//! several entries at one place mean what they say. Patterns are the case of values without size.
//!
//! Entries are moved with the bits of their values, and merged with the values themselves: moving is compiled for a size, not for a type.
#![allow(unsafe_code)]

use super::{Coo, Duplicates};
use crate::cell::Cell;
use crate::offsets::Width;
use crate::parallel::{DisjointSlice, collect, each_mut, position, rows_mut, stack};
use crate::{Csr, Error, Result, Values};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows with their entries, on the way to a matrix.
pub(crate) struct Rows<O, V> {
    pub offsets: Vec<O>,
    pub indices: Vec<u32>,
    pub values: Vec<V>,
}

/// What is to be made of rows.
pub(crate) struct Making {
    pub nrows: usize,
    pub ncols: usize,
    pub duplicates: Duplicates,
    /// What is above the diagonal is to be negated.
    pub skew: bool,
}

/// Tasks for so many entries. Every task needs four bytes per row: few entries make few tasks.
pub(crate) fn tasks(entries: usize, rows: usize) -> usize {
    let most = 2 + entries / (2 * rows.max(1));
    if entries < 65536 { 1 } else { rayon::current_num_threads().min(most) }
}

/// Consecutive blocks of entries, one per task.
pub(crate) fn blocks(coo: &Coo) -> Vec<Range<usize>> {
    let (entries, tasks) = (coo.len(), tasks(coo.len(), coo.nrows));
    let size = entries.div_ceil(tasks).max(1);
    (0..entries.max(1)).step_by(size).map(|s| s..(s + size).min(entries)).collect()
}

impl<O: Width, V: Copy + Default + Send + Sync> Rows<O, V> {
    /// Puts every entry, and its mirror image if there are such, into its row. The entries must be in range.
    pub(crate) fn scatter(coo: &Coo, values: &[V]) -> Self {
        let (rows, columns) = (&coo.rows[..], &coo.columns[..]);
        let blocks = blocks(coo);
        // Room for one more, for the offset in front.
        let zeros = || {
            let mut zeros = Vec::with_capacity(coo.nrows + 1);
            zeros.resize(coo.nrows, O::default());
            zeros
        };
        let mut places: Vec<Vec<O>> = collect(blocks.len(), |b| {
            let mut count = zeros();
            let mut one_more = |r: u32| count[r as usize] = O::from_index(count[r as usize].index() + 1);
            for (&r, &c) in rows[blocks[b].clone()].iter().zip(&columns[blocks[b].clone()]) {
                one_more(r);
                if coo.mirrored && r != c {
                    one_more(c);
                }
            }
            count
        });
        // From counts to the place of each block's next entry of each row.
        let total = stack(&mut places);
        let mut indices = vec![0u32; total];
        let mut scattered = vec![V::default(); total];
        let (out, out_values) = (DisjointSlice::new(&mut indices), DisjointSlice::new(&mut scattered));
        each_mut(&mut places, |b, place| {
            let mut put = |r: u32, c: u32, v: V| {
                let slot = &mut place[r as usize];
                let at = slot.index();
                *slot = O::from_index(at + 1);
                // SAFETY: (block, row) pairs own disjoint runs of places by the sums above, as long as counted here as there.
                unsafe {
                    out.write(at, c);
                    out_values.write(at, v);
                }
            };
            for k in blocks[b].clone() {
                let (r, c, v) = (rows[k], columns[k], values[k]);
                put(r, c, v);
                if coo.mirrored && r != c {
                    put(c, r, v);
                }
            }
        });
        // Where the last block ended in a row, the next row begins.
        let mut offsets = places.pop().unwrap_or_else(zeros);
        offsets.insert(0, O::default());
        Self { offsets, indices, values: scattered }
    }

    /// Sorts every row by column; entries at one place keep their order. Returns whether there are such.
    fn order(&mut self) -> bool {
        let repeated = AtomicBool::new(false);
        let values = DisjointSlice::new(&mut self.values);
        let offsets = &self.offsets;
        rows_mut(offsets, &mut self.indices, |i, row| {
            if row.is_sorted_by(|a, b| a < b) {
                return;
            }
            if size_of::<V>() == 0 {
                row.sort_unstable();
            } else {
                // SAFETY: each row is visited once, and its values lie where its columns do.
                let values = unsafe { values.range(offsets[i].index()..offsets[i + 1].index()) };
                order_weighted(row, values);
            }
            if row.windows(2).any(|w| w[0] == w[1]) {
                repeated.store(true, Ordering::Relaxed);
            }
        });
        repeated.into_inner()
    }

    /// The rows with the values whose bits these are.
    fn of_bits<C: Cell<Bits = V>>(self) -> Rows<O, C> {
        Rows { offsets: self.offsets, indices: self.indices, values: C::from_bits(self.values) }
    }

    /// The matrix of values `C`: rows in order, one entry at a place.
    pub(crate) fn finish<C: Cell<Bits = V>>(mut self, making: &Making) -> Result<(Csr, Option<Values>)> {
        let repeated = self.order();
        self.of_bits::<C>().merged(repeated, making)
    }
}

impl<O: Width, V: Cell> Rows<O, V> {
    /// The matrix, of rows in order, some of which have several entries at a place if `repeated`.
    fn merged(mut self, repeated: bool, making: &Making) -> Result<(Csr, Option<Values>)> {
        if repeated {
            let refused = |group: &[V]| match making.duplicates {
                Duplicates::Error => true,
                Duplicates::Sum => V::sum(group).is_none(),
                _ => false,
            };
            if let Some((row, column)) = self.first_run(refused) {
                return match making.duplicates {
                    Duplicates::Error => Err(Error::Duplicate { row, column }),
                    _ => self.widened((row, column))?.merged(repeated, making),
                };
            }
            self.merge(|group| match making.duplicates {
                Duplicates::Sum => V::sum(group).unwrap_or_default(),
                Duplicates::Min => group[1..].iter().fold(group[0], |a, &b| a.smallest(b)),
                Duplicates::Max => group[1..].iter().fold(group[0], |a, &b| a.largest(b)),
                Duplicates::First | Duplicates::Error => group[0],
                Duplicates::Last => group[group.len() - 1],
            });
        }
        if making.skew {
            if let Some(k) = position(&self.values, |v| v.negated().is_none()) {
                let (row, column) = (self.offsets.partition_point(|o| o.index() <= k) as u64 - 1, u64::from(self.indices[k]));
                // Both it and its mirror image are there.
                let place = (row.min(column), row.max(column));
                return self.widened(place)?.merged(false, making);
            }
            self.negate_upper();
        }
        let csr = Csr::from_valid(making.nrows, making.ncols, O::wrap(self.offsets), self.indices.into());
        Ok((csr, V::values(self.values)))
    }

    /// The same with values of the wide type; an error that names the place for which that is needed if they are of it.
    fn widened(self, (row, column): (u64, u64)) -> Result<Rows<O, V::Wide>> {
        match V::DTYPE {
            Some(dtype) if V::DTYPE == V::Wide::DTYPE => Err(Error::Overflow { row, column, dtype }),
            _ => Ok(Rows { offsets: self.offsets, indices: self.indices, values: self.values.into_iter().map(V::wide).collect() }),
        }
    }

    /// Negates what is above the diagonal: the mirror images of a skew-symmetric matrix.
    fn negate_upper(&mut self) {
        let (offsets, indices) = (&self.offsets, &self.indices);
        rows_mut(offsets, &mut self.values, |i, row| {
            for (value, &column) in row.iter_mut().zip(&indices[offsets[i].index()..]) {
                if column > i as u32 {
                    *value = value.negated().unwrap_or_default();
                }
            }
        });
    }

    /// The first place, row by row, that has more than one entry, and whose values `wanted` takes. Rows must be in order.
    fn first_run(&self, wanted: impl Fn(&[V]) -> bool) -> Option<(u64, u64)> {
        (0..self.offsets.len() - 1).find_map(|i| {
            let range = self.offsets[i].index()..self.offsets[i + 1].index();
            let mut runs = self.indices[range.clone()].chunk_by(|a, b| a == b);
            let mut at = range.start;
            runs.find_map(|run| {
                let group = at..at + run.len();
                at = group.end;
                (run.len() > 1 && wanted(&self.values[group])).then_some((i as u64, run[0].into()))
            })
        })
    }

    /// Leaves one entry of those at one place, with the value that `combine` makes of theirs. Rows must be in order.
    fn merge(&mut self, combine: impl Fn(&[V]) -> V) {
        let (mut to, mut start) = (0, 0);
        for i in 1..self.offsets.len() {
            let end = self.offsets[i].index();
            while start < end {
                let column = self.indices[start];
                let run = self.indices[start..end].iter().take_while(|&&c| c == column).count();
                self.indices[to] = column;
                self.values[to] = if run == 1 { self.values[start] } else { combine(&self.values[start..start + run]) };
                to += 1;
                start += run;
            }
            self.offsets[i] = O::from_index(to);
        }
        self.indices.truncate(to);
        self.indices.shrink_to_fit();
        self.values.truncate(to);
        self.values.shrink_to_fit();
    }
}

/// Sorts a row and its values by column, entries at one place in the order they have.
fn order_weighted<V: Copy>(row: &mut [u32], values: &mut [V]) {
    // The position within the row breaks ties. It fits 32 bits unless a row repeats columns over and over.
    if u32::try_from(row.len()).is_ok() {
        let mut keys: Vec<u64> = row.iter().zip(0u64..).map(|(&c, k)| u64::from(c) << 32 | k).collect();
        keys.sort_unstable();
        let old = values.to_vec();
        for ((column, value), key) in row.iter_mut().zip(values).zip(keys) {
            (*column, *value) = ((key >> 32) as u32, old[key as u32 as usize]);
        }
    } else {
        let mut pairs: Vec<(u32, V)> = row.iter().copied().zip(values.iter().copied()).collect();
        pairs.sort_by_key(|p| p.0);
        for ((column, value), pair) in row.iter_mut().zip(values).zip(pairs) {
            (*column, *value) = pair;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Entries one by one into a map: the plain reference.
    fn reference(coo: &Coo, values: &[i32]) -> BTreeMap<(u32, u32), Vec<i32>> {
        let mut map: BTreeMap<_, Vec<i32>> = BTreeMap::new();
        for k in 0..coo.len() {
            map.entry((coo.rows[k], coo.columns[k])).or_default().push(values[k]);
            if coo.mirrored && coo.rows[k] != coo.columns[k] {
                map.entry((coo.columns[k], coo.rows[k])).or_default().push(values[k]);
            }
        }
        map
    }

    #[test]
    fn any_entries_on_any_number_of_threads() {
        let mut seed = 7u64;
        let mut next = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) as usize % n) as u32
        };
        for (n, entries, mirrored, wide) in
            [(1, 3, true, false), (50, 400, false, true), (700, 70_000, true, false), (3000, 66_000, false, false)]
        {
            let m = if wide { n * 3 } else { n };
            let (rows, columns): (Vec<u32>, Vec<u32>) = (0..entries).map(|_| (next(n), next(m))).unzip();
            let values: Vec<i32> = (0..entries).map(|_| next(1000) as i32).collect();
            let coo = Coo { mirrored, ..Coo::pattern(n, m, rows, columns) };
            let wanted = reference(&coo, &values);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let (a, none) = coo.clone().into_csr(Duplicates::First).unwrap();
                    assert!(none.is_none());
                    let found = (0..n).flat_map(|i| a.row(i).iter().map(move |&c| (i as u32, c)).collect::<Vec<_>>());
                    assert!(found.eq(wanted.keys().copied()));
                    for how in [Duplicates::First, Duplicates::Last, Duplicates::Sum, Duplicates::Min, Duplicates::Max] {
                        let weighted = Coo { values: Some(Values::from_vec(values.clone())), ..coo.clone() };
                        let (b, v) = weighted.into_csr(how).unwrap();
                        assert_eq!(a, b);
                        let v = v.unwrap();
                        let merged = wanted.values().map(|g| match how {
                            Duplicates::First | Duplicates::Error => g[0],
                            Duplicates::Last => g[g.len() - 1],
                            Duplicates::Sum => g.iter().sum(),
                            Duplicates::Min => g.iter().copied().min().unwrap(),
                            Duplicates::Max => g.iter().copied().max().unwrap(),
                        });
                        assert!(v.as_slice::<i32>().unwrap().iter().copied().eq(merged), "{how:?}");
                    }
                });
            }
        }
    }
}
