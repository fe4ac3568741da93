//! Which of several forms of a model to take, by accuracy, time and memory. Source: BitGNN, 2023, section 3.4.

/// A form of a model as it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Its accuracy, a share of 1.
    pub accuracy: f64,
    /// Seconds of an inference.
    pub seconds: f64,
    /// Bytes that inference takes.
    pub bytes: u64,
}

impl Candidate {
    /// Whether it is at least as good in everything and better in something.
    #[must_use]
    pub fn dominates(&self, other: &Self) -> bool {
        let no_worse = self.accuracy >= other.accuracy && self.seconds <= other.seconds && self.bytes <= other.bytes;
        no_worse && (self.accuracy > other.accuracy || self.seconds < other.seconds || self.bytes < other.bytes)
    }
}

/// Those that no other one dominates, by their places. O(n^2).
#[must_use]
pub fn front(all: &[Candidate]) -> Vec<usize> {
    (0..all.len()).filter(|&k| !all.iter().any(|other| other.dominates(&all[k]))).collect()
}

/// The fastest of those whose accuracy is at most `within` below the best one, the smaller of equally fast ones; none of none. It is on the
/// front. O(n).
#[must_use]
pub fn choice(all: &[Candidate], within: f64) -> Option<usize> {
    let best = all.iter().map(|c| c.accuracy).fold(f64::NEG_INFINITY, f64::max);
    // A bound that was meant to be met exactly is not missed by the rounding of a subtraction.
    let enough = |c: &Candidate| c.accuracy >= best - within - 1e-12;
    let by_cost = |a: &usize, b: &usize| {
        let (a, b) = (&all[*a], &all[*b]);
        a.seconds.total_cmp(&b.seconds).then(a.bytes.cmp(&b.bytes)).then(b.accuracy.total_cmp(&a.accuracy))
    };
    (0..all.len()).filter(|&k| enough(&all[k])).min_by(by_cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_tensor::Philox;

    #[test]
    fn no_point_of_the_front_is_dominated_and_every_other_one_is() {
        for seed in 0..50 {
            let number = |k: u64, of: u32| f64::from(Philox::new(seed, 0).word(k, of) % 6);
            let all: Vec<Candidate> =
                (0..12).map(|k| Candidate { accuracy: number(k, 0) / 6.0, seconds: number(k, 1), bytes: number(k, 2) as u64 }).collect();
            let on = front(&all);
            assert!(!on.is_empty());
            for k in 0..all.len() {
                assert_eq!(on.contains(&k), !all.iter().any(|other| other.dominates(&all[k])));
            }
            let chosen = choice(&all, 0.2).unwrap();
            assert!(on.contains(&chosen), "{all:?} {chosen}");
        }
    }
    #[test]
    fn the_choice_is_the_fastest_that_is_accurate_enough() {
        let at = |accuracy, seconds, bytes| Candidate { accuracy, seconds, bytes };
        let all = [at(0.82, 9.0, 100), at(0.81, 3.0, 50), at(0.80, 1.0, 10), at(0.81, 3.0, 40)];
        assert_eq!([0.0, 0.01, 0.02].map(|within| choice(&all, within)), [Some(0), Some(3), Some(2)]);
        assert_eq!(choice(&[], 1.0), None);
    }
}
