//! `bitvec`: bits in 64-bit words, lowest first, are the very layout of [`BitVector`]; they are moved or borrowed.

use crate::BitVector;
use bitvec::prelude::{BitSlice, BitVec, Lsb0};

/// Moves the words. Copies only bits that do not begin at the start of a word.
///
/// ```
/// use bitgraph_sparse::BitVector;
/// use bitvec::prelude::*;
/// let bits: BitVector = bitvec![u64, Lsb0; 1, 0, 1].into();
/// assert_eq!(bits.iter_ones().collect::<Vec<_>>(), [0, 2]);
/// ```
impl From<BitVec<u64, Lsb0>> for BitVector {
    fn from(mut bits: BitVec<u64, Lsb0>) -> Self {
        bits.force_align();
        let len = bits.len();
        BitVector::from_words64(bits.into_vec(), len)
    }
}

/// Moves the words.
impl From<BitVector> for BitVec<u64, Lsb0> {
    fn from(bits: BitVector) -> Self {
        let len = bits.len();
        let mut moved = BitVec::from_vec(bits.into_words64());
        moved.truncate(len);
        moved
    }
}

/// Copies: two words become one.
impl From<BitVec<u32, Lsb0>> for BitVector {
    fn from(mut bits: BitVec<u32, Lsb0>) -> Self {
        bits.force_align();
        let len = bits.len();
        let words = bits.into_vec();
        let wide = words.chunks(2).map(|pair| u64::from(pair[0]) | pair.get(1).map_or(0, |&high| u64::from(high) << 32));
        BitVector::from_words64(wide.collect(), len)
    }
}

/// Copies.
impl From<BitVector> for BitVec<u32, Lsb0> {
    fn from(bits: BitVector) -> Self {
        let mut copied = BitVec::from_slice(bits.words32());
        copied.truncate(bits.len());
        copied
    }
}

impl BitVector {
    /// The bits as a slice of the crate `bitvec`, borrowed.
    #[must_use]
    pub fn as_bitslice(&self) -> &BitSlice<u64, Lsb0> {
        &BitSlice::from_slice(self.words64())[..self.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for len in [0, 1, 31, 32, 33, 64, 65, 1000] {
            let bits: BitVector = (0..len).map(|i| i % 3 == 0 || i % 7 == 2).collect();
            assert!(bits.as_bitslice().iter().by_vals().eq(bits.iter()));
            let words = bits.words64().as_ptr();
            let wide: BitVec<u64, Lsb0> = bits.clone().into();
            assert_eq!(wide.len(), len);
            assert_eq!(BitVector::from(wide), bits);
            let narrow: BitVec<u32, Lsb0> = bits.clone().into();
            assert_eq!(BitVector::from(narrow), bits);
            let moved: BitVec<u64, Lsb0> = bits.into();
            assert!(len == 0 || moved.as_raw_slice().as_ptr() == words, "moved, not copied");
        }
        let odd: BitVec<u64, Lsb0> = BitVec::<u64, Lsb0>::repeat(true, 100)[3..70].to_bitvec();
        assert_eq!(BitVector::from(odd).count_ones(), 67);
    }
}
