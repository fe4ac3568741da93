//! Random numbers as a function of a counter, and random renumberings as a function of the number.
//!
//! Invariant: nothing here has a state that advances, so results do not depend on who asks first.

/// The increment of `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
pub(crate) const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of `SplitMix64`, after adding its increment: a bijection of 64 bits that scatters neighbouring counters.
#[inline(always)]
#[must_use]
pub const fn mix64(x: u64) -> u64 {
    let mut z = x.wrapping_add(INCREMENT);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A random sequence with access in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(u64);

impl Stream {
    /// The sequence of a seed, for one purpose: sequences of different purposes are unrelated.
    #[must_use]
    pub const fn new(seed: u64, purpose: u64) -> Self {
        Self(mix64(mix64(seed) ^ purpose.wrapping_mul(0xD6E8_FEB8_6659_FD93)))
    }
    /// Element `i`: 64 random bits.
    #[inline(always)]
    #[must_use]
    pub const fn bits(self, i: u64) -> u64 {
        mix64(self.0.wrapping_add(i.wrapping_mul(INCREMENT)))
    }
    /// Element `i` as a number below `n`; 0 if `n` is 0. The bias is below `n / 2^64`.
    #[inline(always)]
    #[must_use]
    pub const fn below(self, i: u64, n: u64) -> u64 {
        ((self.bits(i) as u128 * n as u128) >> 64) as u64
    }
    /// Element `i` as a number in `0..1`, of 53 bits.
    #[inline(always)]
    #[must_use]
    pub fn unit(self, i: u64) -> f64 {
        (self.bits(i) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// A random renumbering of `0..n`, computed instead of stored.
///
/// Rounds of odd multiplications and shifts, each a bijection of the next power of two; a number that lands at `n` or above goes
/// round again until it lands below (cycle walking), which keeps the map a bijection of `0..n`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Renumbering {
    n: u64,
    mask: u64,
    shift: u32,
    factors: [u64; 4],
    summands: [u64; 4],
}

impl Renumbering {
    pub(crate) fn new(n: u64, seed: u64) -> Self {
        let keys = Stream::new(seed, 0x7265_6e75);
        let bits = n.max(1).next_power_of_two().trailing_zeros();
        Self {
            n,
            mask: (1u64 << bits) - 1,
            shift: bits.div_ceil(2),
            factors: std::array::from_fn(|r| keys.bits(r as u64) | 1),
            summands: std::array::from_fn(|r| keys.bits(4 + r as u64)),
        }
    }
    #[inline(always)]
    pub(crate) fn apply(&self, x: u32) -> u32 {
        let mut x = u64::from(x);
        loop {
            for (&factor, &summand) in self.factors.iter().zip(&self.summands) {
                x = x.wrapping_mul(factor).wrapping_add(summand) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.n || self.n == 0 {
                return x as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_reference_values() {
        // The first outputs of the published generator from the state 0.
        assert_eq!(mix64(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mix64(INCREMENT), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn renumberings_are_bijections_and_move_things() {
        for n in [1u64, 2, 3, 5, 64, 100, 1000, 4097] {
            let r = Renumbering::new(n, 7);
            let mut seen = vec![false; n as usize];
            let mut fixed = 0;
            for x in 0..n as u32 {
                let y = r.apply(x);
                assert!(!std::mem::replace(&mut seen[y as usize], true), "{n}: {y} twice");
                fixed += usize::from(x == y);
            }
            assert!(n < 64 || fixed < 12, "{n}: {fixed} fixed points");
        }
    }

    #[test]
    fn uniform_enough() {
        let s = Stream::new(1, 2);
        let mut count = [0u32; 10];
        for i in 0..100_000 {
            count[s.below(i, 10) as usize] += 1;
        }
        assert!(count.iter().all(|&c| (9_600..10_400).contains(&c)), "{count:?}");
        let mean: f64 = (0..10_000).map(|i| s.unit(i)).sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.02);
    }
}
