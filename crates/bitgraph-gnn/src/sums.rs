//! Sums over neighbours of features that are the same in every step of training: made once, and kept beside the graph.
//!
//! Invariant: what is given for features are the bits that would be computed for them. Entries hold the features that they are of, so that no
//! other array is ever taken for theirs, and what is written to such features is written to a copy.

use bitgraph_tensor::{Any, Dense, Element, TensorBackend};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How neighbours are taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Together {
    /// Their sum with the node itself, by the roots of both degrees.
    Convolution,
    /// Their mean.
    Mean,
    /// Their sum.
    Sum,
    /// Their sum, by the roots of both degrees.
    Scaled,
    /// Their sum by a power of the node's degree, whose bits these are.
    Power { exponent: u64 },
}

/// Sums of the features that were asked for last, for each way to take neighbours together, and all that replays read.
pub(crate) struct KeptSums<B: TensorBackend>(Mutex<Vec<Entry<B>>>);

struct Entry<B: TensorBackend> {
    together: Together,
    features: Any<B>,
    sums: Any<B>,
    /// Whether replays read the sums, whose memory stays for them.
    replayed: bool,
}

impl<B: TensorBackend> Default for KeptSums<B> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<B: TensorBackend> KeptSums<B> {
    /// The sums of features, made at the first use of these features.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get<T: Element>(
        &self,
        together: Together,
        features: &Dense<B, T>,
        make: impl FnOnce() -> Result<Dense<B, T>, B::Error>,
    ) -> Result<Dense<B, T>, B::Error> {
        let written_down = features.backend().writes_down();
        if let Some(sums) = self.known(together, features, written_down) {
            return Ok(sums);
        }
        // Not under the lock: what is asked of a device waits while another thread writes work down, and that thread may ask for sums.
        let made = make()?;
        // What is written down for replays is there from the first replay on, and not now.
        if !written_down {
            let mut entries = self.lock();
            entries.retain(|entry| entry.together != together || entry.replayed);
            entries.push(Entry { together, features: features.any(), sums: made.any(), replayed: false });
        }
        Ok(made)
    }
    /// The sums of features that there are; for work that is written down they stay.
    fn known<T: Element>(&self, together: Together, features: &Dense<B, T>, written_down: bool) -> Option<Dense<B, T>> {
        let mut entries = self.lock();
        let entry = entries.iter_mut().find(|entry| entry.together == together && entry.features.is_same_as(features))?;
        let sums = entry.sums.clone().get()?;
        entry.replayed |= written_down;
        Some(sums)
    }
    /// What a thread that panicked left is whole: entries are put there complete.
    fn lock(&self) -> MutexGuard<'_, Vec<Entry<B>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_cpu::Cpu;
    use bitgraph_tensor::ops::map;

    #[test]
    fn sums_are_of_their_features() {
        let (cpu, kept) = (Cpu::new(), KeptSums::<Cpu>::default());
        let mut made = 0;
        let mut twice = |together, x: &Dense<Cpu, f32>| {
            let double = || {
                made += 1;
                map(x).times(2.0).eval()
            };
            let sums = kept.get(together, x, double).unwrap().to_host().unwrap();
            assert_eq!(sums, x.to_host().unwrap().iter().map(|x| 2.0 * x).collect::<Vec<f32>>());
            made
        };
        let mut x = Dense::from_slice(&cpu, 2, 2, &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!([twice(Together::Mean, &x), twice(Together::Mean, &x.clone())], [1, 1]);
        // Another way, other rows of the same array, and the same numbers in another array.
        assert_eq!([twice(Together::Sum, &x), twice(Together::Mean, &x), twice(Together::Sum, &x)], [2, 2, 2]);
        assert_eq!([twice(Together::Mean, &x.rows(0..1).unwrap()), twice(Together::Sum, &x)], [3, 3]);
        let same = Dense::from_slice(&cpu, 2, 2, &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!([twice(Together::Sum, &same), twice(Together::Sum, &same), twice(Together::Sum, &x)], [4, 4, 5]);
        // Written to in its place.
        map(&same).times(3.0).into(&mut x).unwrap();
        assert_eq!([twice(Together::Sum, &x), twice(Together::Sum, &x)], [6, 6]);
        assert_eq!(
            [twice(Together::Power { exponent: 1 }, &x), twice(Together::Power { exponent: 2 }, &x), twice(Together::Scaled, &x)],
            [7, 8, 9]
        );
        assert_eq!([twice(Together::Convolution, &x), twice(Together::Power { exponent: 1 }, &x)], [10, 10]);
    }
    #[test]
    fn what_replays_read_stays() {
        let (cpu, kept) = (Cpu::new(), KeptSums::<Cpu>::default());
        let [x, y] = [1.0f32, 2.0].map(|value| Dense::from_slice(&cpu, 1, 1, &[value]).unwrap());
        let get = |x: &Dense<Cpu, f32>| kept.get(Together::Sum, x, || map(x).times(2.0).eval()).unwrap();
        let sums = get(&x);
        assert!(kept.known(Together::Sum, &x, true).unwrap().any().is_same_as(&sums));
        // Other features take the place of no sums that are read.
        let others = get(&y);
        get(&Dense::from_slice(&cpu, 1, 1, &[3.0f32]).unwrap());
        assert!(get(&x).any().is_same_as(&sums) && !get(&y).any().is_same_as(&others));
        // One asks for others while it makes its own.
        let inner = || kept.get(Together::Mean, &y, || map(&y).eval());
        assert_eq!(kept.get(Together::Mean, &x, inner).unwrap().to_host().unwrap(), [2.0]);
    }
}
