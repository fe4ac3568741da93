//! The pattern of a sparse matrix in compressed sparse rows.
//!
//! # Invariants
//! `offsets` has `rows + 1` non-decreasing elements from 0 to the number of entries; the columns of a row are strictly
//! ascending (so there are no duplicates) and below the number of columns. Checked on construction from outside.
//!
//! # Bytes
//! `4 nnz + 4 (rows + 1)`, or `8 (rows + 1)` for offsets of 64 bits.

use crate::offsets::Width;
use crate::parallel::DisjointSlice;
use crate::{Buffer, Error, OffsetInt, Offsets, Result, Values, parallel, valid, with_offsets, with_values};
use std::mem::MaybeUninit;

/// A sparse pattern: where entries are. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Csr {
    rows: u32,
    columns: u32,
    offsets: Offsets,
    indices: Buffer<u32>,
}

impl Csr {
    /// From arrays that come from outside: every invariant is checked, in parallel. O(rows + nnz).
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Length`], [`Error::Invalid`] or [`Error::OutOfRange`], naming the first breach found.
    pub fn new(rows: usize, columns: usize, offsets: Offsets, indices: Buffer<u32>) -> Result<Self> {
        let (r, c) = Self::ids(rows as u64, columns as u64)?;
        if offsets.len() != rows + 1 {
            return Err(Error::Length { array: "offsets", expected: rows as u64 + 1, found: offsets.len() as u64 });
        }
        with_offsets!(&offsets, o => valid::check(o, &indices, c))?;
        Ok(Self { rows: r, columns: c, offsets, indices })
    }
    /// From arrays that are valid if their producer is right, for producers inside the workspace. O(rows + nnz), parallel, a fraction of
    /// what producing them took: whoever holds a `Csr` may rely on its invariants, without checks of bounds.
    ///
    /// # Panics
    /// If they are not valid, or a dimension does not fit 32 bits.
    #[must_use]
    pub fn from_valid(rows: usize, columns: usize, offsets: Offsets, indices: Buffer<u32>) -> Self {
        match Self::new(rows, columns, offsets, indices) {
            Ok(csr) => csr,
            Err(error) => panic!("a valid pattern: {error}"),
        }
    }
    /// A matrix without entries.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if a dimension does not fit 32 bits.
    pub fn empty(rows: usize, columns: usize) -> Result<Self> {
        let (r, c) = Self::ids(rows as u64, columns as u64)?;
        Ok(Self { rows: r, columns: c, offsets: Offsets::U32(vec![0; rows + 1].into()), indices: Buffer::default() })
    }
    /// Both dimensions as ids.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if one does not fit.
    pub fn ids(rows: u64, columns: u64) -> Result<(u32, u32)> {
        match (u32::try_from(rows), u32::try_from(columns)) {
            (Ok(r), Ok(c)) => Ok((r, c)),
            _ => Err(Error::TooLarge { rows, columns }),
        }
    }
    /// The number of rows.
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.rows as usize
    }
    /// The number of columns.
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.columns as usize
    }
    /// The number of entries.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }
    /// Whether the matrix is square.
    #[must_use]
    pub fn is_square(&self) -> bool {
        self.rows == self.columns
    }
    /// The row offsets.
    #[must_use]
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }
    /// The column ids, row by row.
    #[must_use]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }
    /// The column ids as a buffer to share.
    #[must_use]
    pub fn indices_buffer(&self) -> &Buffer<u32> {
        &self.indices
    }
    /// Where the entries of row `i` are in [`Csr::indices`].
    ///
    /// # Panics
    /// If `i` is out of range.
    #[inline]
    #[must_use]
    pub fn row_range(&self, i: usize) -> std::ops::Range<usize> {
        self.offsets.get(i)..self.offsets.get(i + 1)
    }
    /// The columns of row `i`, ascending.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[inline]
    #[must_use]
    pub fn row(&self, i: usize) -> &[u32] {
        &self.indices[self.row_range(i)]
    }
    /// The number of entries of row `i`.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[inline]
    #[must_use]
    pub fn degree(&self, i: usize) -> usize {
        self.row_range(i).len()
    }
    /// Exact size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.offsets.bytes() + 4 * self.indices.len() as u64
    }
    /// The entry at (`row`, `column`) as its position in the pattern's order, if there is one. O(log degree).
    ///
    /// # Panics
    /// If `row` is out of range.
    #[must_use]
    pub fn position(&self, row: usize, column: u32) -> Option<usize> {
        let range = self.row_range(row);
        self.indices[range.clone()].binary_search(&column).ok().map(|k| range.start + k)
    }
    /// The row of largest degree, the smallest number among equals; `None` for a matrix without rows. O(rows).
    #[must_use]
    pub fn max_degree_row(&self) -> Option<u32> {
        with_offsets!(&self.offsets, o => {
            o.windows(2)
                .enumerate()
                .map(|(i, w)| (w[1].index() - w[0].index(), std::cmp::Reverse(i as u32)))
                .max()
                .map(|(_, std::cmp::Reverse(i))| i)
        })
    }
    /// The number of entries on the main diagonal. O(rows log degree), parallel.
    #[must_use]
    pub fn count_loops(&self) -> usize {
        let has_loop = |i: &usize| self.row(*i).binary_search(&(*i as u32)).is_ok();
        parallel::reduce(self.nrows(), 8192, |rows| rows.filter(has_loop).count(), |a, b| a + b)
    }
    /// Whether every entry has its mirror image. O(nnz) time, parallel; stops at the first breach, and other tasks when they have done their
    /// part. Peak memory an offset a row for each task, and half of that in the mean: at most eight, or as many as the mean row has entries.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        self.is_square()
            && with_offsets!(&self.offsets, o => {
                let tasks = rayon::current_num_threads().min((self.nnz() / self.nrows().max(1)).max(8));
                let blocks = self.lower_blocks(o, tasks);
                let mut next = self.first_mirrors(o, &blocks);
                let next: Vec<_> = next.iter_mut().map(|n| DisjointSlice::new(&mut n[..])).collect();
                parallel::all(blocks.len(), 1, |b| {
                    // SAFETY: each block has an array of its own, and is one task's.
                    #[allow(unsafe_code)]
                    let next = unsafe { next[b].range(0..blocks[b].end) };
                    self.is_mirrored(o, blocks[b].clone(), next)
                })
            })
    }
    /// All rows, in at most so many blocks with about as many entries left of the diagonal in each.
    fn lower_blocks<O: OffsetInt>(&self, o: &[O], tasks: usize) -> Vec<std::ops::Range<usize>> {
        let n = self.nrows();
        let size = n.div_ceil(tasks * 64).max(1);
        let lower = |i: usize| self.indices[o[i].index()..o[i + 1].index()].partition_point(|&c| (c as usize) < i);
        let sums = parallel::collect(n.div_ceil(size), |k| (k * size..n.min((k + 1) * size)).map(lower).sum());
        let starts: Vec<u64> = prefix(&sums).into_iter().map(|s| s as u64).collect();
        parallel::balanced_rows(&starts, tasks).into_iter().map(|k| k.start * size..n.min(k.end * size)).collect()
    }
    /// For each block of rows, and each row up to the end of it, the place of the row's first entry right of the diagonal in these columns. All
    /// blocks' places in a row are found together, while the row is in cache.
    fn first_mirrors<O: OffsetInt + Default>(&self, o: &[O], blocks: &[std::ops::Range<usize>]) -> Vec<Vec<O>> {
        let mut places: Vec<Vec<O>> = blocks.iter().map(|block| vec![O::default(); block.end]).collect();
        let slots: Vec<_> = places.iter_mut().map(|p| DisjointSlice::new(&mut p[..])).collect();
        parallel::blocks(self.nrows(), 1 << 12, |rows| {
            for j in rows {
                let mut at = o[j].index();
                let first = blocks.partition_point(|block| block.end <= j);
                for (block, slots) in blocks.iter().zip(&slots).skip(first) {
                    let start = block.start.max(j + 1);
                    at += self.indices[at..o[j + 1].index()].partition_point(|&c| (c as usize) < start);
                    // SAFETY: the row is below the end of the block, and one task's.
                    #[allow(unsafe_code)]
                    unsafe {
                        slots.write(j, O::from_index(at));
                    }
                }
            }
        });
        places
    }
    /// Whether every entry left of the diagonal in these rows has its mirror image, and every entry right of it in these columns; `next` holds
    /// the place of each row's first entry there.
    fn is_mirrored<O: OffsetInt>(&self, o: &[O], rows: std::ops::Range<usize>, next: &mut [O]) -> bool {
        // Row by row ascending, the mirror image (j, i) of entry (i, j), i > j, must be the next unseen one of row j.
        for i in rows.clone() {
            for &j in self.indices[o[i].index()..o[i + 1].index()].iter().take_while(|&&j| (j as usize) < i) {
                let j = j as usize;
                let at = next[j].index();
                if at == o[j + 1].index() || self.indices[at] as usize != i {
                    return false;
                }
                next[j] = O::from_index(at + 1);
            }
        }
        (0..rows.end).all(|j| {
            let at = next[j].index();
            at == o[j + 1].index() || self.indices[at] as usize >= rows.end
        })
    }
    /// The transpose. O(nnz) time, parallel; peak memory the result, and an offset a column for each task: at most eight, or as many as
    /// makes no more of these than there are entries.
    #[must_use]
    pub fn transpose(&self) -> Self {
        self.transpose_carrying(|_| ()).0
    }
    /// The transpose, and for each of its entries the position of the original. Time and memory as [`Csr::transpose`], and 8 bytes an entry.
    #[must_use]
    pub fn transpose_with_positions(&self) -> (Self, Vec<usize>) {
        self.transpose_carrying(|k| k)
    }
    /// The transpose of a matrix with values. Time and memory as [`Csr::transpose`], and the values.
    ///
    /// # Panics
    /// If there are fewer values than entries.
    #[must_use]
    pub fn transpose_with(&self, values: &Values) -> (Self, Values) {
        with_values!(values, v => {
            let (transpose, values) = self.transpose_carrying(|k| v[k]);
            (transpose, values.into())
        })
    }
    /// The transpose, and what each of its entries carries along, given its position in the original.
    fn transpose_carrying<P: Copy + Send>(&self, carried: impl Fn(usize) -> P + Sync) -> (Self, Vec<P>) {
        if Offsets::are_narrow(self.nnz() as u64) { self.transpose_as::<u32, P>(carried) } else { self.transpose_as::<u64, P>(carried) }
    }
    fn transpose_as<O: Width, P: Copy + Send>(&self, carried: impl Fn(usize) -> P + Sync) -> (Self, Vec<P>) {
        let m = self.ncols();
        // Each task owns a block of rows and counts its columns; the blocks' counts, stacked by column, give every task
        // its own places, so that the result is the same whatever the number of threads.
        let parts = rayon::current_num_threads().min((self.nnz() / m.max(1)).max(8));
        let blocks = with_offsets!(&self.offsets, o => parallel::balanced_rows(o, parts));
        let mut places: Vec<Vec<O>> = parallel::collect(blocks.len().max(1), |b| {
            // Room for one more, for the offset in front.
            let mut count = Vec::with_capacity(m + 1);
            count.resize(m, O::default());
            let entries = blocks.get(b).map_or(0..0, |rows| self.offsets.get(rows.start)..self.offsets.get(rows.end));
            for &c in &self.indices[entries] {
                count[c as usize] = O::from_index(count[c as usize].index() + 1);
            }
            count
        });
        parallel::stack(&mut places);
        let mut scatter = |indices: DisjointSlice<'_, MaybeUninit<u32>>, carry: DisjointSlice<'_, MaybeUninit<P>>| {
            parallel::each_mut(&mut places[..blocks.len()], |b, places| {
                for row in blocks[b].clone() {
                    for k in self.row_range(row) {
                        let place = &mut places[self.indices[k] as usize];
                        let at = place.index();
                        *place = O::from_index(at + 1);
                        // SAFETY: (block, column) pairs own disjoint runs of places by the sums above.
                        #[allow(unsafe_code)]
                        unsafe {
                            indices.write(at, MaybeUninit::new(row as u32));
                            carry.write(at, MaybeUninit::new(carried(k)));
                        }
                    }
                }
            });
        };
        // SAFETY: every entry has a place of its own, and there are as many places as entries.
        #[allow(unsafe_code)]
        let (indices, (carry, ())) =
            unsafe { parallel::filled_by(self.nnz(), |indices| parallel::filled_by(self.nnz(), |carry| scatter(indices, carry))) };
        // Where the last block ended in a column, the next column begins.
        let mut offsets = places.pop().unwrap_or_default();
        offsets.insert(0, O::default());
        (Self { rows: self.columns, columns: self.rows, offsets: O::wrap(offsets), indices: indices.into() }, carry)
    }
    /// The entries that `keep(row, column)` selects, and their positions in the original. O(nnz), parallel, two passes.
    #[must_use]
    pub fn filter_with_positions(&self, keep: impl Fn(u32, u32) -> bool + Sync) -> (Self, Vec<usize>) {
        let counts = parallel::tabulate(self.nrows(), 1024, |i| self.row(i).iter().filter(|&&c| keep(i as u32, c)).count());
        let offsets = prefix(&counts);
        let total = offsets[self.nrows()];
        let (mut indices, mut order) = (vec![0u32; total], vec![0usize; total]);
        let rows: Vec<u64> = offsets.iter().map(|&o| o as u64).collect();
        {
            let out = DisjointSlice::new(&mut indices);
            parallel::rows_mut(&rows, &mut order, |i, places| {
                let kept = self.row_range(i).filter(|&k| keep(i as u32, self.indices[k]));
                for (slot, k) in kept.enumerate() {
                    places[slot] = k;
                    // SAFETY: row `i` owns this run of places, as it does in `order`.
                    #[allow(unsafe_code)]
                    unsafe {
                        out.write(offsets[i] + slot, self.indices[k]);
                    }
                }
            });
        }
        (Self { rows: self.rows, columns: self.columns, offsets: Offsets::from_usizes(&offsets), indices: indices.into() }, order)
    }
}

/// The running sum of `counts`, starting at 0, one element longer.
pub(crate) fn prefix(counts: &[usize]) -> Vec<usize> {
    let mut offsets = Vec::with_capacity(counts.len() + 1);
    let mut sum = 0;
    offsets.push(0);
    offsets.extend(counts.iter().map(|&c| {
        sum += c;
        sum
    }));
    offsets
}

impl PartialEq for Csr {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.columns == other.columns && self.offsets == other.offsets && self.indices == other.indices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csr(rows: usize, columns: usize, offsets: &[usize], indices: &[u32]) -> Result<Csr> {
        Csr::new(rows, columns, Offsets::from_usizes(offsets), indices.to_vec().into())
    }

    #[test]
    fn invariants_are_checked() {
        assert!(csr(2, 3, &[0, 1, 3], &[2, 0, 1]).is_ok());
        assert!(matches!(csr(2, 3, &[0, 1], &[2]), Err(Error::Length { .. })));
        assert!(matches!(csr(2, 3, &[0, 2, 1], &[0]), Err(Error::Invalid { array: "offsets", .. })));
        assert!(matches!(csr(2, 3, &[0, 1, 3], &[3, 0, 1]), Err(Error::Invalid { array: "indices", position: 0, .. })));
        assert!(matches!(csr(1, 3, &[0, 2], &[1, 1]), Err(Error::Invalid { array: "indices", position: 1, .. })));
        assert!(matches!(csr(1, 3, &[1, 1], &[]), Err(Error::Invalid { array: "offsets", .. })));
    }

    #[test]
    fn symmetry_and_transposes_do_not_depend_on_threads() {
        let n = 3000u32;
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            ((state >> 33) % u64::from(n)) as u32
        };
        let mut arcs = std::collections::BTreeSet::new();
        for _ in 0..12_000 {
            let (u, v) = (random(), random() / 3);
            arcs.extend([(u, v), (v, u)]);
        }
        let build = |arcs: &std::collections::BTreeSet<(u32, u32)>| {
            let mut offsets = vec![0; n as usize + 1];
            arcs.iter().for_each(|&(u, _)| offsets[u as usize + 1] += 1);
            (0..n as usize).for_each(|v| offsets[v + 1] += offsets[v]);
            csr(n as usize, n as usize, &offsets, &arcs.iter().map(|&(_, v)| v).collect::<Vec<_>>()).unwrap()
        };
        let whole = build(&arcs);
        let pools = [1, 4, 13].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
        let plain = pools[0].install(|| whole.transpose_with_positions());
        for pool in &pools {
            pool.install(|| {
                assert!(whole.is_symmetric());
                assert_eq!(whole.transpose_with_positions(), plain);
                let all: Vec<_> = arcs.iter().copied().filter(|&(u, v)| u != v).collect();
                for k in (0..all.len()).step_by(all.len() / 40) {
                    // Without one of two, and with one too many instead.
                    let mut less = arcs.clone();
                    less.remove(&all[k]);
                    assert!(!build(&less).is_symmetric(), "without {:?}", all[k]);
                    let other = (0..n).find(|&v| v != all[k].0 && !arcs.contains(&(all[k].0, v))).unwrap();
                    less.insert((all[k].0, other));
                    assert!(!build(&less).is_symmetric(), "{other} for {:?}", all[k]);
                }
            });
        }
    }

    #[test]
    fn transpose_twice_is_the_original() {
        let a = csr(3, 4, &[0, 2, 2, 5], &[1, 3, 0, 1, 2]).unwrap();
        let (t, positions) = a.transpose_with_positions();
        assert_eq!((t.nrows(), t.ncols(), t.row(1)), (4, 3, &[0u32, 2][..]));
        assert_eq!(positions, vec![2, 0, 3, 4, 1]);
        assert_eq!(t.transpose(), a);
    }

    #[test]
    fn symmetry() {
        let path = csr(3, 3, &[0, 1, 3, 4], &[1, 0, 2, 1]).unwrap();
        assert!(path.is_symmetric());
        let arc = csr(3, 3, &[0, 1, 1, 1], &[2]).unwrap();
        assert!(!arc.is_symmetric());
        assert!(arc.symmetrized().unwrap().is_symmetric());
        assert!(csr(3, 3, &[0, 1, 2, 3], &[0, 1, 2]).unwrap().is_symmetric());
        assert!(!csr(2, 2, &[0, 2, 2], &[0, 1]).unwrap().is_symmetric());
        assert!(!csr(2, 2, &[0, 0, 1], &[0]).unwrap().is_symmetric());
        assert_eq!(path.max_degree_row(), Some(1));
        assert_eq!(Csr::empty(0, 0).unwrap().max_degree_row(), None);
    }
}
