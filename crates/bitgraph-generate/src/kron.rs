//! Kronecker graphs (R-MAT) with the Graph500 parameters, labels permuted.
//!
//! Source: Chakrabarti, Zhan, Faloutsos: R-MAT, SDM 2004; the probabilities of the Graph500 specification. Every edge
//! descends `SCALE` levels of a recursive 2 x 2 division; here several levels are drawn at once from an alias table.

use crate::random::{Renumbering, Stream};
use crate::sampled::EdgeSource;
use std::ops::Range;

/// Probabilities of the four quadrants, by (row bit, column bit).
const QUADRANTS: [[f64; 2]; 2] = [[0.57, 0.19], [0.19, 0.05]];
/// Levels of one table draw: the table of 2^12 words stays in the first-level cache.
const LEVELS: u32 = 6;
const OUTCOMES: usize = 1 << (2 * LEVELS);
/// Bits of a draw that compare with a threshold; the others pick the slot.
const THRESHOLD_BITS: u32 = 32 - 2 * LEVELS;

/// A Kronecker graph before duplicates are merged.
pub(crate) struct Kron {
    scale: u32,
    edges: u64,
    stream: Stream,
    labels: Renumbering,
    table: Vec<u32>,
}

impl Kron {
    pub(crate) fn new(scale: u32, edges: u64, seed: u64) -> Self {
        let labels = Renumbering::new(1 << scale, seed ^ 0x6b72_6f6e);
        Self { scale, edges, stream: Stream::new(seed, 1), labels, table: alias_table() }
    }
    /// Row and column bits of six levels from 32 random bits.
    #[inline(always)]
    fn draw(&self, random: u32) -> (u32, u32) {
        let slot = random & (OUTCOMES as u32 - 1);
        let entry = self.table[slot as usize];
        let outcome = if random >> (2 * LEVELS) < entry >> (2 * LEVELS) { slot } else { entry & (OUTCOMES as u32 - 1) };
        (outcome >> LEVELS, outcome & ((1 << LEVELS) - 1))
    }
}

impl EdgeSource for Kron {
    fn vertices(&self) -> u32 {
        1 << self.scale
    }
    fn edges(&self) -> u64 {
        self.edges
    }
    #[inline]
    fn visit(&self, range: Range<u64>, mut f: impl FnMut(u32, u32)) {
        // Levels past the scale are drawn and dropped: levels are independent, so the ones kept are not affected.
        let draws = self.scale.div_ceil(2 * LEVELS);
        let surplus = draws * 2 * LEVELS - self.scale;
        for i in range {
            let (mut u, mut v) = (0u64, 0u64);
            for k in 0..draws {
                let random = self.stream.bits(i * u64::from(draws) + u64::from(k));
                let (a, b) = (self.draw(random as u32), self.draw((random >> 32) as u32));
                u = u << (2 * LEVELS) | u64::from(a.0 << LEVELS | b.0);
                v = v << (2 * LEVELS) | u64::from(a.1 << LEVELS | b.1);
            }
            f(self.labels.apply((u >> surplus) as u32), self.labels.apply((v >> surplus) as u32));
        }
    }
}

/// Walker's alias table over the outcomes of six levels: threshold in the high bits, alias in the low ones.
fn alias_table() -> Vec<u32> {
    let mut scaled: Vec<f64> = (0..OUTCOMES)
        .map(|o| (0..LEVELS).map(|l| QUADRANTS[o >> (LEVELS + l) & 1][o >> l & 1]).product::<f64>() * OUTCOMES as f64)
        .collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..OUTCOMES).partition(|&o| scaled[o] < 1.0);
    let full = (1u32 << THRESHOLD_BITS) - 1;
    let mut table: Vec<u32> = (0..OUTCOMES as u32).map(|o| full << (2 * LEVELS) | o).collect();
    while let (Some(s), Some(&l)) = (small.pop(), large.last()) {
        let threshold = (scaled[s] * f64::from(1u32 << THRESHOLD_BITS)) as u32;
        table[s] = threshold.min(full) << (2 * LEVELS) | l as u32;
        scaled[l] -= 1.0 - scaled[s];
        if scaled[l] < 1.0 {
            large.pop();
            small.push(l);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadrants_have_their_probabilities() {
        let kron = Kron::new(12, 0, 1);
        let mut count = [[0u32; 2]; 2];
        let draws = 400_000u64;
        for i in 0..draws {
            let (r, c) = kron.draw(kron.stream.bits(i) as u32);
            for level in 0..LEVELS {
                count[(r >> level & 1) as usize][(c >> level & 1) as usize] += 1;
            }
        }
        for (r, c) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let share = f64::from(count[r][c]) / (draws as f64 * f64::from(LEVELS));
            assert!((share - QUADRANTS[r][c]).abs() < 0.002, "({r}, {c}): {share}");
        }
    }

    #[test]
    fn alias_table_sums_to_the_distribution() {
        let table = alias_table();
        let unit = f64::from(1u32 << THRESHOLD_BITS);
        let mut mass = vec![0.0; OUTCOMES];
        for (slot, &entry) in table.iter().enumerate() {
            let own = f64::from(entry >> (2 * LEVELS)) / unit;
            mass[slot] += own;
            mass[entry as usize & (OUTCOMES - 1)] += 1.0 - own;
        }
        assert!((mass[0] / OUTCOMES as f64 - 0.57f64.powi(6)).abs() < 1e-5);
        assert!((mass[OUTCOMES - 1] / OUTCOMES as f64 - 0.05f64.powi(6)).abs() < 1e-9);
    }
}
