//! Philox4x32-10, the counter-based generator that dropout is drawn from: a function of seed, draw, row and column, so that the same element
//! is dropped on every backend, in every pass, and for every order of work.
//!
//! Source: Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011, section 4.3.
//!
//! Invariant: the map from an element to its counter is part of the contract of backends: see [`Philox::counter`].

/// The generator of one seed and one draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    key: [u32; 2],
    draw: u32,
}

impl Philox {
    /// The multipliers of a round.
    pub const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
    /// What the key grows by from round to round: the golden ratio, and the square root of 3 less 1.
    pub const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

    /// The generator of a seed; `draw` tells apart what one seed is drawn for more than once, a layer or a step.
    #[must_use]
    pub const fn new(seed: u64, draw: u32) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32], draw }
    }
    /// The counter of the four elements in the columns `4 * quad .. 4 * quad + 4` of a row: `quad`, the row's low and high word, the draw.
    #[inline(always)]
    #[must_use]
    pub const fn counter(&self, row: u64, quad: u32) -> [u32; 4] {
        [quad, row as u32, (row >> 32) as u32, self.draw]
    }
    /// The words of four neighbouring elements of a row.
    #[inline(always)]
    #[must_use]
    pub const fn words(&self, row: u64, quad: u32) -> [u32; 4] {
        block(self.counter(row, quad), self.key)
    }
    /// The word of one element.
    #[inline(always)]
    #[must_use]
    pub const fn word(&self, row: u64, column: u32) -> u32 {
        self.words(row, column / 4)[(column % 4) as usize]
    }
}

/// Ten rounds over a counter.
#[inline(always)]
#[must_use]
pub const fn block(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    let mut round = 0;
    while round < 10 {
        let first = Philox::MULTIPLIERS[0] as u64 * counter[0] as u64;
        let second = Philox::MULTIPLIERS[1] as u64 * counter[2] as u64;
        counter = [(second >> 32) as u32 ^ counter[1] ^ key[0], second as u32, (first >> 32) as u32 ^ counter[3] ^ key[1], first as u32];
        key = [key[0].wrapping_add(Philox::WEYL[0]), key[1].wrapping_add(Philox::WEYL[1])];
        round += 1;
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that Random123 ships for philox4x32 with 10 rounds.
    #[test]
    fn known_answers() {
        assert_eq!(block([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(block([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(block(pi, [0xa409_3822, 0x299f_31d0]), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn an_element_has_a_counter_of_its_own() {
        let p = Philox::new(0x0123_4567_89ab_cdef, 7);
        assert_eq!(p.words(5 + (9 << 32), 3), block([3, 5, 9, 7], [0x89ab_cdef, 0x0123_4567]));
        assert_eq!((0..4).map(|c| p.word(2, 8 + c)).collect::<Vec<_>>(), p.words(2, 2));
        assert_ne!(Philox::new(1, 0).word(0, 0), Philox::new(1, 1).word(0, 0));
    }
}
