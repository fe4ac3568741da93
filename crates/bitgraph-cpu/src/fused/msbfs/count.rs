//! Counting, for each of 512 bit positions, in how many rows of bits it is set.
//!
//! Rows are added into bit planes: plane `k` holds bit `k` of all 512 counts, so that adding a row is a ripple of half adders
//! that ends after two planes on average. Planes are emptied into integers before they can overflow.
//!
//! Invariant: fewer than `2^PLANES` rows are in the planes.

use super::LANES;

/// 512 bits of one vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub(super) struct Row(pub [u64; 8]);

impl Row {
    /// Every bit set.
    pub const ONES: Self = Self([!0; 8]);
    #[inline(always)]
    pub fn is_zero(&self) -> bool {
        self.0.iter().fold(0, |a, b| a | b) == 0
    }
    #[inline(always)]
    pub fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] | other.0[k]))
    }
    /// The bits of `self` that are not in `other`.
    #[inline(always)]
    pub fn and_not(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] & !other.0[k]))
    }
    #[inline(always)]
    pub fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] & other.0[k]))
    }
    #[inline(always)]
    pub fn xor(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] ^ other.0[k]))
    }
}

/// Bits of a count in the planes.
const PLANES: usize = 12;

/// 512 counts.
#[derive(Debug)]
pub(super) struct Counts {
    planes: [Row; PLANES],
    rows: u32,
    pub totals: Vec<u64>,
}

impl Default for Counts {
    fn default() -> Self {
        Self { planes: [Row::default(); PLANES], rows: 0, totals: vec![0; LANES] }
    }
}

impl Counts {
    /// Adds a row.
    #[inline(always)]
    pub fn add(&mut self, row: Row) {
        let mut carry = row;
        for plane in &mut self.planes {
            let next = plane.and(carry);
            *plane = plane.xor(carry);
            carry = next;
            if carry.is_zero() {
                break;
            }
        }
        self.rows += 1;
        if self.rows == (1 << PLANES) - 1 {
            self.flush();
        }
    }
    /// Empties the planes into the totals.
    #[inline(never)]
    pub fn flush(&mut self) {
        if self.rows == 0 {
            return;
        }
        for (k, plane) in self.planes.iter_mut().enumerate() {
            for (word, totals) in plane.0.iter().zip(self.totals.chunks_exact_mut(64)) {
                for (bit, total) in totals.iter_mut().enumerate() {
                    *total += (word >> bit & 1) << k;
                }
            }
            *plane = Row::default();
        }
        self.rows = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_every_position() {
        let mut counts = Counts::default();
        let mut expected = vec![0u64; LANES];
        let mut x = 1u64;
        for i in 0..10_000u64 {
            let row = Row(std::array::from_fn(|_| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if i % 3 == 0 { !0 } else { x & x >> 7 }
            }));
            counts.add(row);
            expected.iter_mut().enumerate().for_each(|(k, e)| *e += row.0[k / 64] >> (k % 64) & 1);
        }
        counts.flush();
        assert_eq!(counts.totals, expected);
    }
}
