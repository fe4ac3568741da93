//! Counting, for each of 512 bit positions, in how many rows of bits it is set.
//!
//! Rows are kept until there are sixteen, which a tree of full adders turns into one bit each of weight 1, 2, 4 and 8 and a
//! carry of weight 16; this carry ripples into bit planes, plane `k` holding bit `k` of all 512 counts. Planes are emptied into
//! integers before they can overflow.
//!
//! Invariant: fewer than `2^PLANES` rows are in the planes.

#![allow(unsafe_code)]

use super::LANES;
use super::row::{Bits, Row};

/// Bits of a count in the planes.
const PLANES: usize = 12;
/// Rows that are added together.
const GROUP: usize = 16;

/// 512 counts.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Counts {
    waiting: [Row; GROUP],
    filled: usize,
    planes: [Row; PLANES],
    groups: u32,
    pub totals: Vec<u64>,
}

impl Default for Counts {
    fn default() -> Self {
        Self { waiting: [Row::default(); GROUP], filled: 0, planes: [Row::default(); PLANES], groups: 0, totals: vec![0; LANES] }
    }
}

impl Counts {
    /// Adds a row.
    ///
    /// # Safety
    /// The CPU has the instructions of `B`.
    #[inline(always)]
    pub unsafe fn add<B: Bits>(&mut self, row: B) {
        // SAFETY: this function's contract.
        unsafe {
            self.waiting[self.filled % GROUP] = row.row();
            self.filled += 1;
            if self.filled == GROUP {
                self.add_group::<B>();
            }
        }
    }
    /// Adds the rows that wait; those behind them are zero, or there are none.
    ///
    /// # Safety
    /// As for [`Counts::add`].
    #[inline(always)]
    unsafe fn add_group<B: Bits>(&mut self) {
        // SAFETY: this function's contract.
        unsafe {
            let p = &self.planes;
            let (mut ones, mut twos, mut fours, mut eights) = (B::load(&p[0]), B::load(&p[1]), B::load(&p[2]), B::load(&p[3]));
            let mut by_eight = [ones; 2];
            for (half, eight) in by_eight.iter_mut().enumerate() {
                let mut by_four = [ones; 2];
                for (quarter, four) in by_four.iter_mut().enumerate() {
                    let w = &self.waiting[8 * half + 4 * quarter..][..4];
                    let (sum, low) = ones.full_add(B::load(&w[0]), B::load(&w[1]));
                    let (sum, high) = sum.full_add(B::load(&w[2]), B::load(&w[3]));
                    ones = sum;
                    (twos, *four) = twos.full_add(low, high);
                }
                (fours, *eight) = fours.full_add(by_four[0], by_four[1]);
            }
            let (sum, mut carry) = eights.full_add(by_eight[0], by_eight[1]);
            eights = sum;
            for (plane, bits) in self.planes.iter_mut().zip([ones, twos, fours, eights]) {
                *plane = bits.row();
            }
            for plane in &mut self.planes[4..] {
                let bits = B::load(plane);
                *plane = bits.xor(carry).row();
                carry = bits.and(carry);
            }
        }
        self.filled = 0;
        self.groups += 1;
        if self.groups == (1 << PLANES) / GROUP as u32 - 1 {
            self.empty();
        }
    }
    /// Empties everything into the totals.
    pub fn flush(&mut self) {
        if self.filled > 0 {
            self.waiting[self.filled..].fill(Row::default());
            // SAFETY: the plain form needs no instructions of its own.
            unsafe { self.add_group::<Row>() };
        }
        if self.groups > 0 {
            self.empty();
        }
    }
    /// Empties the planes into the totals.
    #[inline(never)]
    fn empty(&mut self) {
        for (k, plane) in self.planes.iter_mut().enumerate() {
            for (word, totals) in plane.0.iter().zip(self.totals.chunks_exact_mut(64)) {
                for (bit, total) in totals.iter_mut().enumerate() {
                    *total += (word >> bit & 1) << k;
                }
            }
            *plane = Row::default();
        }
        self.groups = 0;
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
        for i in 0..10_003u64 {
            let row = Row(std::array::from_fn(|_| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if i % 3 == 0 { !0 } else { x & x >> 7 }
            }));
            // SAFETY: the plain form needs no instructions of its own.
            unsafe { counts.add(row) };
            expected.iter_mut().enumerate().for_each(|(k, e)| *e += row.0[k / 64] >> (k % 64) & 1);
            if i % 5000 == 4999 {
                counts.flush();
            }
        }
        counts.flush();
        assert_eq!(counts.totals, expected);
    }
}
