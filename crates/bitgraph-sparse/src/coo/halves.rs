//! A symmetric matrix given by half of its entries, in no order: its rows in order, by counting alone.
//!
//! Three moves, each of which keeps the order that it finds: the entries by the smaller of their numbers; from there, row by row, by the
//! larger one, so that the smaller ones ascend; and from there by the smaller one again. No two numbers are compared.
//!
//! Invariant: entries at one place keep the order of the input, whatever the threads.
#![allow(unsafe_code)]

use super::Coo;
use super::build::{Rows, blocks, tasks};
use crate::offsets::Width;
use crate::parallel::{DisjointSlice, balanced_rows, collect, each_mut};
use std::ops::Range;

/// Whether this is quicker than sorting rows, as far as a sample tells: they are long, and out of order by rows and by columns.
pub(crate) fn pays(coo: &Coo) -> bool {
    const SAMPLE: usize = 4096;
    if !coo.mirrored || coo.len() < 2 || coo.len() < 4 * coo.nrows {
        return false;
    }
    let step = coo.len() / SAMPLE + 1;
    let sampled = (coo.len() - 1).div_ceil(step);
    let descends = |ids: &[u32]| 8 * (1..ids.len()).step_by(step).filter(|&k| ids[k] < ids[k - 1]).count() > sampled;
    descends(&coo.rows) && descends(&coo.columns)
}

/// How many entries of each block go to each of `n` rows.
fn counts<O: Width, B: Sync, I: Iterator<Item = u32>>(blocks: &[B], n: usize, rows: impl Fn(&B) -> I + Sync) -> Vec<Vec<O>> {
    let count = |block| {
        let mut count = vec![O::default(); n];
        for row in rows(block) {
            count[row as usize] = O::from_index(count[row as usize].index() + 1);
        }
        count
    };
    collect(blocks.len(), |b| count(&blocks[b]))
}

/// From the counts of a row to the place of each block's next entry of it; returns the place behind the last.
fn place<O: Width>(counts: &mut [Vec<O>], row: usize, mut at: usize) -> usize {
    for count in counts {
        let here = count[row].index();
        count[row] = O::from_index(at);
        at += here;
    }
    at
}

/// The next place of a row.
#[inline(always)]
fn next<O: Width>(places: &mut [O], row: u32) -> usize {
    let slot = &mut places[row as usize];
    let at = slot.index();
    *slot = O::from_index(at + 1);
    at
}

/// The rows of a mirrored matrix, in order. The entries must be in range.
pub(crate) fn rows<O: Width, V: Copy + Default + Send + Sync>(coo: Coo, values: Vec<V>) -> Rows<O, V> {
    let n = coo.nrows;
    let (begin, first, first_values) = by_smaller::<O, V>(&coo, &values);
    drop((coo, values));

    // The row of the larger number takes all entries, that of the smaller one all but loops.
    let parts = balanced_rows(&begin, tasks(first.len(), n));
    let row = |i: usize| begin[i].index()..begin[i + 1].index();
    let larger = |rows: &Range<usize>| first[begin[rows.start].index()..begin[rows.end].index()].iter().copied();
    let mut places: Vec<Vec<O>> = counts(&parts, n, larger);
    let mut offsets: Vec<O> = Vec::with_capacity(n + 1);
    let mut total = 0;
    for i in 0..n {
        offsets.push(O::from_index(total));
        total = place(&mut places, i, total) + first[row(i)].iter().filter(|&&c| c as usize != i).count();
    }
    offsets.push(O::from_index(total));
    let (mut indices, mut values) = (vec![0u32; total], vec![V::default(); total]);
    let (out, out_values) = (DisjointSlice::new(&mut indices), DisjointSlice::new(&mut values));
    each_mut(&mut places, |part, places| {
        for i in parts[part].clone() {
            for k in row(i) {
                let at = next(places, first[k]);
                // SAFETY: (block, row) pairs own disjoint runs of places by the sums above, as long as counted here as there.
                unsafe {
                    out.write(at, i as u32);
                    out_values.write(at, first_values[k]);
                }
            }
        }
    });
    drop((first, first_values));

    // Where the last block ended in a row, the larger numbers of that row begin.
    let middle = places.pop().unwrap_or_default();
    drop(places);
    let parts = balanced_rows(&offsets, tasks(total, n));
    let lower = |i: usize| offsets[i].index()..middle[i].index();
    // SAFETY: these ranges are within the array, disjoint, and were written above; from here on they are only read.
    let smaller = |i: usize| unsafe { &*out.range(lower(i)) };
    let mut places: Vec<Vec<O>> = if parts.len() > 1 {
        let off_diagonal = |rows: &Range<usize>| rows.clone().flat_map(|i| smaller(i).iter().copied().filter(move |&c| c as usize != i));
        let mut places = counts(&parts, n, off_diagonal);
        (0..n).for_each(|i| {
            place(&mut places, i, middle[i].index());
        });
        places
    } else {
        vec![middle.clone()]
    };
    each_mut(&mut places, |part, places| {
        for i in parts[part].clone() {
            for (k, &c) in lower(i).zip(smaller(i)) {
                if c as usize != i {
                    let at = next(places, c);
                    // SAFETY: (block, row) pairs own disjoint runs of places by the sums above, behind those that are read; the
                    // value that is read lies before the middle of its row, where nothing is written any more.
                    unsafe {
                        out.write(at, i as u32);
                        out_values.write(at, out_values.range(k..k + 1)[0]);
                    }
                }
            }
        }
    });
    Rows { offsets, indices, values }
}

/// The larger numbers of all entries by the smaller one, in the order of the input: where each row begins, numbers, values.
fn by_smaller<O: Width, V: Copy + Default + Send + Sync>(coo: &Coo, values: &[V]) -> (Vec<O>, Vec<u32>, Vec<V>) {
    let (rows, columns) = (&coo.rows[..], &coo.columns[..]);
    let blocks = blocks(coo);
    let mut places: Vec<Vec<O>> =
        counts(&blocks, coo.nrows, |block| rows[block.clone()].iter().zip(&columns[block.clone()]).map(|(&r, &c)| r.min(c)));
    let mut begin: Vec<O> = Vec::with_capacity(coo.nrows + 1);
    let mut total = 0;
    for i in 0..coo.nrows {
        begin.push(O::from_index(total));
        total = place(&mut places, i, total);
    }
    begin.push(O::from_index(total));
    let (mut larger, mut moved) = (vec![0u32; total], vec![V::default(); total]);
    let (out, out_values) = (DisjointSlice::new(&mut larger), DisjointSlice::new(&mut moved));
    each_mut(&mut places, |block, places| {
        for k in blocks[block].clone() {
            let at = next(places, rows[k].min(columns[k]));
            // SAFETY: (block, row) pairs own disjoint runs of places by the sums above, as long as counted here as there.
            unsafe {
                out.write(at, rows[k].max(columns[k]));
                out_values.write(at, values[k]);
            }
        }
    });
    (begin, larger, moved)
}

#[cfg(test)]
mod tests {
    use super::super::build::Making;
    use super::*;
    use crate::{Duplicates, Values};

    /// Entries on either side of the diagonal and on it, many of them repeated.
    fn entries(n: u64, count: u64) -> Coo {
        let draw = |k: u64| ((k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % n) as u32;
        let (rows, columns) = (0..count).map(|k| (draw(2 * k), draw(2 * k + 1))).unzip();
        Coo { mirrored: true, ..Coo::pattern(n as usize, n as usize, rows, columns) }
    }

    #[test]
    fn as_sorted_rows_whatever_the_threads() {
        for (n, count) in [(1, 5), (9, 400), (300, 80_000), (9000, 70_000)] {
            let coo = entries(n, count);
            let bits: Vec<u32> = (0..count as u32).collect();
            for duplicates in [Duplicates::First, Duplicates::Last, Duplicates::Sum] {
                for skew in [false, true] {
                    let making = Making { nrows: n as usize, ncols: n as usize, duplicates, skew };
                    let wanted = Rows::<u32, u32>::scatter(&coo, &bits).finish::<i32>(&making).unwrap();
                    for threads in [1, 3] {
                        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                        let found = pool.install(|| rows::<u32, u32>(coo.clone(), bits.clone()).finish::<i32>(&making)).unwrap();
                        assert_eq!(found, wanted, "{n} {duplicates:?} {threads}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_it_pays_for() {
        let random = entries(300, 80_000);
        assert!(pays(&random));
        assert!(!pays(&Coo { mirrored: false, ..random.clone() }));
        assert!(!pays(&entries(9000, 20_000)), "short rows");
        let (mut rows, mut columns) = (random.rows.clone(), random.columns.clone());
        rows.sort_unstable();
        assert!(!pays(&Coo { rows, ..random.clone() }), "in order by rows");
        columns.sort_unstable();
        assert!(!pays(&Coo { columns, ..random.clone() }), "in order by columns");
        let coo = Coo { values: Some(Values::from_vec(vec![1.5f64; 80_000])), ..random };
        assert_eq!(coo.into_csr(Duplicates::Sum).unwrap().0.nrows(), 300);
    }
}
