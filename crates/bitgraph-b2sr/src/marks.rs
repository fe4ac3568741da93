//! Which tile columns a tile row touches: a bitmap and the list of its words in use.
//!
//! Invariant: between tile rows the bitmap is zero and the list empty, so that the cost of a tile row depends on its entries
//! and not on the width of the matrix.

/// A set of tile columns that is filled, asked for the rank of its members, and emptied.
pub(crate) struct Marks {
    words: Vec<u64>,
    /// Words in use, in order of first use; one spare element, so that appending needs no branch.
    used: Vec<u32>,
    len: usize,
    /// One bit for each word in use, built only where the words in use are few and far apart.
    summary: Vec<u64>,
    /// For each word in use, how many columns are in the words before it, once the set is ranked.
    before: Vec<u32>,
}

impl Marks {
    /// An empty set of columns below `columns`. Memory: `columns * 3 / 16` bytes.
    pub(crate) fn new(columns: usize) -> Self {
        let words = columns.div_ceil(64);
        Self { words: vec![0; words], used: vec![0; words + 1], len: 0, summary: vec![0; words.div_ceil(64)], before: vec![0; words] }
    }
    /// Adds the tile columns of all `indices`, a tile being `1 << shift` wide.
    #[inline(always)]
    pub(crate) fn insert_all(&mut self, indices: &[u32], shift: u32) {
        let mut len = self.len;
        for &u in indices {
            let column = u >> shift;
            let w = column >> 6;
            let word = &mut self.words[w as usize];
            self.used[len] = w;
            len += usize::from(*word == 0);
            *word |= 1 << (column & 63);
        }
        self.len = len;
    }
    /// Adds the columns of the bits of one word.
    #[inline(always)]
    pub(crate) fn insert_word(&mut self, w: usize, bits: u64) {
        let word = &mut self.words[w];
        self.used[self.len] = w as u32;
        self.len += usize::from(*word == 0);
        *word |= bits;
    }
    /// How many columns the set holds.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.used[..self.len].iter().map(|&w| self.words[w as usize].count_ones() as usize).sum()
    }
    /// Empties the set; returns how many columns it held.
    #[inline(always)]
    pub(crate) fn drain_count(&mut self) -> usize {
        let count = self.used[..self.len].iter().map(|&w| std::mem::take(&mut self.words[w as usize]).count_ones() as usize).sum();
        self.len = 0;
        count
    }
    /// Empties the set; visits its words in use in any order as `f(word index, bits)`.
    #[inline(always)]
    pub(crate) fn drain_words(&mut self, mut f: impl FnMut(usize, u64)) {
        for &w in &self.used[..self.len] {
            f(w as usize, std::mem::take(&mut self.words[w as usize]));
        }
        self.len = 0;
    }
    /// Whether the set holds a column.
    #[inline(always)]
    pub(crate) fn contains(&self, column: u32) -> bool {
        self.words[column as usize >> 6] >> (column & 63) & 1 != 0
    }
    /// Takes a column of the set out if `out`, without a branch.
    #[inline(always)]
    pub(crate) fn remove_if(&mut self, column: u32, out: bool) {
        self.words[column as usize >> 6] &= !(u64::from(out) << (column & 63));
    }
    /// Empties the set.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.drain_words(|_, _| ());
    }
    /// Ranks the columns of the set, for [`Marks::rank`] until the set is changed; returns how many there are.
    #[inline(always)]
    pub(crate) fn rank_all(&mut self) -> usize {
        let used = &mut self.used[..self.len];
        let (Some(&low), Some(&high)) = (used.iter().min(), used.iter().max()) else { return 0 };
        let span = (high - low) as usize;
        let mut count = 0;
        let mut take = |words: &[u64], before: &mut [u32], w: usize| {
            before[w] = count as u32;
            count += words[w].count_ones() as usize;
        };
        if span <= 4 * used.len() + 16 {
            // Words that are not in use hold nothing, and passing over one is cheaper than finding out.
            for w in low as usize..=high as usize {
                take(&self.words, &mut self.before, w);
            }
        } else if span <= 512 * used.len() {
            for &w in used.iter() {
                self.summary[w as usize >> 6] |= 1 << (w & 63);
            }
            for s in low >> 6..=high >> 6 {
                let mut bits = std::mem::take(&mut self.summary[s as usize]);
                while bits != 0 {
                    take(&self.words, &mut self.before, (s << 6 | bits.trailing_zeros()) as usize);
                    bits &= bits - 1;
                }
            }
        } else {
            used.sort_unstable();
            for &w in used.iter() {
                take(&self.words, &mut self.before, w as usize);
            }
        }
        count
    }
    /// Writes the columns of the set, ascending, after [`Marks::rank_all`], which told how many there are.
    #[inline(always)]
    pub(crate) fn write_columns(&self, columns: &mut [u32]) {
        for &w in &self.used[..self.len] {
            let (mut bits, mut place) = (self.words[w as usize], self.before[w as usize] as usize);
            while bits != 0 {
                columns[place] = w << 6 | bits.trailing_zeros();
                bits &= bits - 1;
                place += 1;
            }
        }
    }
    /// The place of a column of the set among them all in ascending order, after [`Marks::rank_all`].
    #[inline(always)]
    pub(crate) fn rank(&self, column: u32) -> usize {
        let w = column as usize >> 6;
        self.before[w] as usize + (self.words[w] & ((1 << (column & 63)) - 1)).count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_places_in_ascending_order() {
        // Dense, sparse, and very sparse sets take the three ways of reading.
        for (columns, step) in [(1000usize, 1usize), (100_000, 1500), (4_000_000, 900_001)] {
            let mut marks = Marks::new(columns);
            let wanted: Vec<u32> = (0..columns as u32).step_by(step).collect();
            let shuffled: Vec<u32> = wanted.iter().rev().flat_map(|&c| [c << 3, (c << 3) + 5]).collect();
            for _ in 0..2 {
                marks.insert_all(&shuffled, 3);
                assert_eq!((marks.count(), marks.rank_all()), (wanted.len(), wanted.len()));
                assert!(wanted.iter().enumerate().all(|(k, &c)| marks.rank(c) == k));
                let mut columns = vec![0; wanted.len()];
                marks.write_columns(&mut columns);
                assert_eq!(columns, wanted);
                marks.remove_if(wanted[0], true);
                marks.remove_if(wanted[1], false);
                assert_eq!((marks.contains(wanted[0]), marks.contains(wanted[1]), marks.count()), (false, true, wanted.len() - 1));
                marks.clear();
                assert_eq!((marks.count(), marks.rank_all()), (0, 0));
            }
            marks.insert_all(&shuffled, 3);
            assert_eq!(marks.drain_count(), wanted.len());
            let mut words = 0;
            marks.insert_word(3, 5);
            marks.drain_words(|w, bits| words += w as u64 * bits);
            assert_eq!((words, marks.count()), (15, 0));
        }
    }
}
