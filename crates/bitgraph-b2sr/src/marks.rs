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
    /// One bit for each word in use, built only where the words in use are few and far apart.
    summary: Vec<u64>,
}

impl Marks {
    /// An empty set of columns below `columns`. Memory: `columns * 3 / 16` bytes.
    pub(crate) fn new(columns: usize) -> Self {
        let words = columns.div_ceil(64);
        Self { words: vec![0; words], used: vec![0; words + 1], len: 0, summary: vec![0; words.div_ceil(64)] }
    }
    /// Adds the tile columns of all `indices`, a tile being `1 << shift` wide.
    #[inline]
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
    /// Empties the set; returns how many columns it held.
    #[inline]
    pub(crate) fn drain_count(&mut self) -> usize {
        let count = self.used[..self.len].iter().map(|&w| std::mem::take(&mut self.words[w as usize]).count_ones() as usize).sum();
        self.len = 0;
        count
    }
    /// Empties the set; visits its words in use in any order as `f(word index, bits)`.
    #[inline]
    pub(crate) fn drain_words(&mut self, mut f: impl FnMut(usize, u64)) {
        for &w in &self.used[..self.len] {
            f(w as usize, std::mem::take(&mut self.words[w as usize]));
        }
        self.len = 0;
    }
    /// Empties the set; visits its columns, ascending.
    #[inline]
    pub(crate) fn drain_ascending(&mut self, mut f: impl FnMut(u32)) {
        let used = &mut self.used[..self.len];
        self.len = 0;
        let (Some(&low), Some(&high)) = (used.iter().min(), used.iter().max()) else { return };
        let words = &mut self.words[..];
        let mut visit = |w: usize| {
            let mut bits = std::mem::take(&mut words[w]);
            while bits != 0 {
                f((w as u32) << 6 | bits.trailing_zeros());
                bits &= bits - 1;
            }
        };
        let span = (high - low) as usize;
        if span <= 8 * used.len() + 16 {
            (low as usize..=high as usize).for_each(visit);
        } else if span <= 512 * used.len() {
            for &w in used.iter() {
                self.summary[w as usize >> 6] |= 1 << (w & 63);
            }
            for s in low as usize >> 6..=high as usize >> 6 {
                let mut bits = std::mem::take(&mut self.summary[s]);
                while bits != 0 {
                    visit(s << 6 | bits.trailing_zeros() as usize);
                    bits &= bits - 1;
                }
            }
        } else {
            used.sort_unstable();
            used.iter().for_each(|&w| visit(w as usize));
        }
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
            let mut wanted: Vec<u32> = (0..columns as u32).step_by(step).collect();
            let shuffled: Vec<u32> = wanted.iter().rev().flat_map(|&c| [c << 3, (c << 3) + 5]).collect();
            for _ in 0..2 {
                marks.insert_all(&shuffled, 3);
                let mut seen = Vec::new();
                marks.drain_ascending(|c| seen.push(c));
                assert_eq!(seen, wanted);
            }
            marks.insert_all(&shuffled, 3);
            assert_eq!(marks.drain_count(), wanted.len());
            wanted.clear();
            marks.drain_ascending(|c| wanted.push(c));
            assert!(wanted.is_empty());
        }
    }
}
