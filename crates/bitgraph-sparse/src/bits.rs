//! Packed bits, 32 to a word: the storage of boolean vectors and of presence on every backend.
//!
//! # Invariants
//! Bit `i` is bit `i % 32` of word `i / 32`. Bits past the length are zero. On the CPU the words are kept in 64-bit units,
//! so that kernels may read either width.

/// A vector of bits.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct BitVector {
    words: Vec<u64>,
    len: usize,
}

impl std::fmt::Debug for BitVector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BitVector({} of {} set)", self.count_ones(), self.len)
    }
}

impl BitVector {
    /// `len` bits, all zero.
    #[must_use]
    pub fn zeros(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], len }
    }
    /// `len` bits, all one.
    #[must_use]
    pub fn ones(len: usize) -> Self {
        let mut bits = Self { words: vec![!0; len.div_ceil(64)], len };
        bits.clear_tail();
        bits
    }
    /// The bits of 64-bit words; bits past `len` are cleared, missing words are zero.
    #[must_use]
    pub fn from_words64(mut words: Vec<u64>, len: usize) -> Self {
        words.resize(len.div_ceil(64), 0);
        let mut bits = Self { words, len };
        bits.clear_tail();
        bits
    }
    /// One bit for each `bool`.
    #[must_use]
    pub fn from_bools(bools: &[bool]) -> Self {
        bools.iter().copied().collect()
    }
    fn clear_tail(&mut self) {
        if !self.len.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }
    /// The number of bits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are no bits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The bit at `i`.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[inline]
    #[must_use]
    pub fn get(&self, i: usize) -> bool {
        assert!(i < self.len, "bit {i} of {}", self.len);
        self.words[i >> 6] >> (i & 63) & 1 != 0
    }
    /// Sets the bit at `i`.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[inline]
    pub fn set(&mut self, i: usize, value: bool) {
        assert!(i < self.len, "bit {i} of {}", self.len);
        let mask = 1u64 << (i & 63);
        if value {
            self.words[i >> 6] |= mask;
        } else {
            self.words[i >> 6] &= !mask;
        }
    }
    /// Sets every bit to `value`.
    pub fn fill(&mut self, value: bool) {
        self.words.fill(if value { !0 } else { 0 });
        self.clear_tail();
    }
    /// The bits as 64-bit words.
    #[must_use]
    pub fn words64(&self) -> &[u64] {
        &self.words
    }
    /// The bits as 64-bit words, moved out.
    #[must_use]
    pub fn into_words64(self) -> Vec<u64> {
        self.words
    }
    /// The bits as 64-bit words to write to. The caller keeps the bits past the length zero.
    pub fn words64_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
    /// The bits as 32-bit words, the form that crosses to a device (an even number of them).
    #[must_use]
    pub fn words32(&self) -> &[u32] {
        bytemuck::cast_slice(&self.words)
    }
    /// The bits as bytes, eight to a byte (a multiple of eight bytes).
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words)
    }
    /// How many bits are set. O(n / 64).
    #[must_use]
    pub fn count_ones(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }
    /// The positions of the set bits, ascending.
    pub fn iter_ones(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            std::iter::successors((word != 0).then_some(word), |w| {
                let rest = w & (w - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |w| i * 64 + w.trailing_zeros() as usize)
        })
    }
    /// The bits as `bool`s.
    pub fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        (0..self.len).map(|i| self.words[i >> 6] >> (i & 63) & 1 != 0)
    }
}

impl FromIterator<bool> for BitVector {
    fn from_iter<I: IntoIterator<Item = bool>>(iter: I) -> Self {
        let (mut words, mut len) = (Vec::new(), 0usize);
        for bit in iter {
            if len % 64 == 0 {
                words.push(0u64);
            }
            if bit {
                words[len / 64] |= 1 << (len % 64);
            }
            len += 1;
        }
        Self { words, len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_stays_clear() {
        for len in [0, 1, 31, 32, 63, 64, 65, 200] {
            let ones = BitVector::ones(len);
            assert_eq!(ones.count_ones(), len);
            assert_eq!(ones.iter_ones().collect::<Vec<_>>(), (0..len).collect::<Vec<_>>());
            assert_eq!(ones.words32().len() % 2, 0);
        }
    }
}
