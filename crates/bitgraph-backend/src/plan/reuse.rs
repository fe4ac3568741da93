//! How often an algorithm will run on one graph: said, or learnt.
//!
//! Learning is a ski rental: runs go on the layout that costs nothing to build until they have cost as much as building a better one, which
//! is then built. Costs are predicted ones, so that the same calls always make the same layouts.
//!
//! Invariant: with one better layout, runs and building together never cost more than twice what the better choice from the beginning
//! would have; with several, each is only built while that bound holds or is already lost.

use super::Candidate;

/// How often an algorithm will run on one graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reuse {
    /// A better layout is built once the runs so far have cost as much as building it.
    #[default]
    Learn,
    /// So often; at least once.
    Runs(u32),
}

/// What the runs so far have cost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learnt {
    /// Runs so far.
    pub runs: u32,
    /// Their predicted seconds, and those of what was built for them.
    spent: f64,
    /// The candidate of the last run.
    current: Option<usize>,
}

impl Learnt {
    /// The same where other candidates are weighed from now on.
    pub fn carried(self, before: &[Candidate], now: &[Candidate]) -> Self {
        let same = |a: &Candidate, b: &Candidate| (a.ordering, a.format, a.variant) == (b.ordering, b.format, b.variant);
        let current = self.current.and_then(|k| now.iter().position(|c| same(c, &before[k])));
        Self { current, ..self }
    }
    /// The candidate for the next run, which is counted with its building.
    pub fn next(&mut self, candidates: &[Candidate]) -> usize {
        let runs = f64::from(self.runs + 1);
        let best = candidates.iter().map(|c| c.total_seconds(runs)).fold(f64::INFINITY, f64::min);
        let after = |c: &Candidate| self.spent + c.build_seconds + c.run_seconds;
        let first = || (0..candidates.len()).min_by(|&a, &b| candidates[a].total_seconds(1.0).total_cmp(&candidates[b].total_seconds(1.0)));
        let chosen = match self.current {
            None => first().unwrap_or(0),
            Some(now) => {
                let faster = |c: &&usize| candidates[**c].run_seconds < candidates[now].run_seconds;
                // What is faster, and bought without losing the bound; the fastest of these.
                let kept = |c: &&usize| after(&candidates[**c]) <= 2.0 * best && candidates[**c].build_seconds <= self.spent;
                let all: Vec<usize> = (0..candidates.len()).collect();
                let fastest = |a: &&usize, b: &&usize| candidates[**a].run_seconds.total_cmp(&candidates[**b].run_seconds);
                let bought = all.iter().filter(faster).filter(kept).min_by(fastest).copied();
                let lost = self.spent + candidates[now].run_seconds > 2.0 * best;
                let rescue = || {
                    let total = |a: &&usize, b: &&usize| {
                        candidates[**a].total_seconds(2.0 * runs).total_cmp(&candidates[**b].total_seconds(2.0 * runs))
                    };
                    if lost { all.iter().filter(faster).min_by(total).copied() } else { None }
                };
                bought.or_else(rescue).unwrap_or(now)
            }
        };
        let build = if self.current == Some(chosen) { 0.0 } else { candidates[chosen].build_seconds };
        self.spent += build + candidates[chosen].run_seconds;
        self.current = Some(chosen);
        self.runs = self.runs.saturating_add(1);
        chosen
    }
}
