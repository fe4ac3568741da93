//! Which tile columns a tile row touches: a bitmap and the list of its words in use.
//!
//! Invariant: between tile rows the bitmap is zero and the list empty, so that the cost of a tile row depends on its entries
//! and not on the width of the matrix.

/// A set of tile columns that is filled, read in ascending order, and thereby emptied.
pub(crate) struct Marks {
    words: Vec<u64>,
    /// Words in use, in order of first use; one spare element, so that appending needs no branch.
    used: Vec<u32>,
    len: usize,
    /// How often a column was added: no fewer than there are columns in the set.
    inserted: usize,
    /// One bit for each word in use, built only where the words in use are few and far apart.
    summary: Vec<u64>,
    /// The columns in order, as they were last read.
    columns: Vec<u32>,
    /// For each word in use, how many columns are in the words before it, while the set is being ranked.
    before: Vec<u32>,
}

impl Marks {
    /// An empty set of columns below `columns`. Memory: `columns * 3 / 16` bytes.
    pub(crate) fn new(columns: usize) -> Self {
        let words = columns.div_ceil(64);
        Self {
            words: vec![0; words],
            used: vec![0; words + 1],
            len: 0,
            inserted: 0,
            summary: vec![0; words.div_ceil(64)],
            columns: Vec::new(),
            before: Vec::new(),
        }
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
        self.inserted += indices.len();
    }
    /// Adds the columns of the bits of one word.
    #[inline(always)]
    pub(crate) fn insert_word(&mut self, w: usize, bits: u64) {
        let word = &mut self.words[w];
        self.used[self.len] = w as u32;
        self.len += usize::from(*word == 0);
        *word |= bits;
        self.inserted += 64;
    }
    /// Empties the set; returns how many columns it held.
    #[inline(always)]
    pub(crate) fn drain_count(&mut self) -> usize {
        let count = self.used[..self.len].iter().map(|&w| std::mem::take(&mut self.words[w as usize]).count_ones() as usize).sum();
        (self.len, self.inserted) = (0, 0);
        count
    }
    /// Empties the set; visits its words in use in any order as `f(word index, bits)`.
    #[inline(always)]
    pub(crate) fn drain_words(&mut self, mut f: impl FnMut(usize, u64)) {
        for &w in &self.used[..self.len] {
            f(w as usize, std::mem::take(&mut self.words[w as usize]));
        }
        (self.len, self.inserted) = (0, 0);
    }
    /// Empties the set; returns its columns, ascending.
    #[inline(always)]
    pub(crate) fn drain_ascending(&mut self) -> &[u32] {
        self.read::<false>()
    }
    /// The columns of the set, ascending; the set stays, and [`Marks::rank`] tells where each is, until [`Marks::forget`].
    #[inline(always)]
    pub(crate) fn ascending(&mut self) -> &[u32] {
        self.before.resize(self.words.len(), 0);
        self.read::<true>()
    }
    /// The place of a column of the set among them all, after [`Marks::ascending`].
    #[inline(always)]
    pub(crate) fn rank(&self, column: u32) -> usize {
        let w = column as usize >> 6;
        self.before[w] as usize + (self.words[w] & ((1 << (column & 63)) - 1)).count_ones() as usize
    }
    /// Empties the set after [`Marks::ascending`], which found `count` columns.
    #[inline(always)]
    pub(crate) fn forget(&mut self, count: usize) {
        self.columns[..count].iter().for_each(|&c| self.words[c as usize >> 6] = 0);
    }
    /// The columns, ascending. The set is emptied unless it is kept for ranks.
    #[inline(always)]
    fn read<const KEEP: bool>(&mut self) -> &[u32] {
        let used = &mut self.used[..self.len];
        self.len = 0;
        let (Some(&low), Some(&high)) = (used.iter().min(), used.iter().max()) else { return &[] };
        if self.columns.len() < self.inserted + 2 {
            self.columns.resize(2 * self.inserted + 2, 0);
        }
        self.inserted = 0;
        let mut out = Ascending { columns: &mut self.columns, len: 0 };
        let span = (high - low) as usize;
        if span <= used.len() + used.len() / 4 + 2 {
            for w in low..=high {
                out.take::<KEEP>(w, &mut self.words, &mut self.before);
            }
        } else if span <= 512 * used.len() {
            for &w in used.iter() {
                self.summary[w as usize >> 6] |= 1 << (w & 63);
            }
            for s in low >> 6..=high >> 6 {
                let mut bits = std::mem::take(&mut self.summary[s as usize]);
                while bits != 0 {
                    let w = s << 6 | bits.trailing_zeros();
                    out.take::<KEEP>(w, &mut self.words, &mut self.before);
                    bits &= bits - 1;
                }
            }
        } else {
            used.sort_unstable();
            for &w in used.iter() {
                out.take::<KEEP>(w, &mut self.words, &mut self.before);
            }
        }
        let len = out.len;
        &self.columns[..len]
    }
}

/// The columns of words, written in order.
struct Ascending<'a> {
    columns: &'a mut [u32],
    len: usize,
}

impl Ascending<'_> {
    /// Appends the columns of word `w`, and empties it or notes how many came before.
    #[inline(always)]
    fn take<const KEEP: bool>(&mut self, w: u32, words: &mut [u64], before: &mut [u32]) {
        let word = &mut words[w as usize];
        let bits = *word;
        if KEEP {
            before[w as usize] = self.len as u32;
        } else {
            *word = 0;
        }
        self.push(w, bits);
    }
    /// Appends the columns of the bits of word `w`. Two places are written whatever the bits are: most words of a random row
    /// hold none, one or two, and a branch on which it is would be mispredicted at every other word.
    #[inline(always)]
    fn push(&mut self, w: u32, mut bits: u64) {
        let count = bits.count_ones() as usize;
        let base = w << 6;
        let mut next = || {
            let column = base + (bits.trailing_zeros() & 63);
            bits &= bits.wrapping_sub(1);
            column
        };
        let (first, second) = (next(), next());
        let out = &mut self.columns[self.len..self.len + count.max(2)];
        out[0] = first;
        out[1] = second;
        for place in &mut out[2..] {
            *place = next();
        }
        self.len += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_reading_is_ascending() {
        // Dense, sparse, and very sparse sets take the three ways of reading.
        for (columns, step) in [(1000usize, 1usize), (100_000, 1500), (4_000_000, 900_001)] {
            let mut marks = Marks::new(columns);
            let wanted: Vec<u32> = (0..columns as u32).step_by(step).collect();
            let shuffled: Vec<u32> = wanted.iter().rev().flat_map(|&c| [c << 3, (c << 3) + 5]).collect();
            for _ in 0..2 {
                marks.insert_all(&shuffled, 3);
                assert_eq!(marks.drain_ascending(), wanted);
            }
            marks.insert_all(&shuffled, 3);
            assert_eq!(marks.ascending(), wanted);
            assert!(wanted.iter().enumerate().all(|(k, &c)| marks.rank(c) == k));
            marks.forget(wanted.len());
            marks.insert_all(&shuffled, 3);
            assert_eq!(marks.drain_count(), wanted.len());
            assert!(marks.drain_ascending().is_empty());
        }
    }
}
