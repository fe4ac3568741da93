//! Matrices that layers need in every pass, made once.

use bitgraph_tensor::{Dense, Real, TensorBackend};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a constant of layers is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constant {
    /// Degrees plus one to a power, whose bits these are.
    Degrees { exponent: u64 },
    /// One over each degree.
    InverseDegrees,
    /// 1 where a column belongs to a head.
    Blocks { heads: usize, width: usize },
    /// What takes the mean of heads.
    Mean { heads: usize, width: usize },
    /// Ones.
    Ones { rows: usize, columns: usize },
}

/// The constants that were asked for, by their names.
pub(crate) struct Constants<B: TensorBackend, R: Real>(Mutex<Vec<(Constant, Dense<B, R>)>>);

impl<B: TensorBackend, R: Real> Default for Constants<B, R> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<B: TensorBackend, R: Real> Constants<B, R> {
    /// The constant of a name, made at its first use.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get(&self, name: Constant, make: impl FnOnce() -> Result<Dense<B, R>, B::Error>) -> Result<Dense<B, R>, B::Error> {
        if let Some(made) = known(&self.lock(), name) {
            return Ok(made);
        }
        // Not under the lock: what is asked of a device waits while another thread writes work down, and that thread may ask for a constant.
        let made = make()?;
        let mut constants = self.lock();
        Ok(known(&constants, name).unwrap_or_else(|| {
            constants.push((name, made.clone()));
            made
        }))
    }
    /// What a thread that panicked left is whole: entries are pushed complete.
    fn lock(&self) -> MutexGuard<'_, Vec<(Constant, Dense<B, R>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn known<B: TensorBackend, R: Real>(constants: &[(Constant, Dense<B, R>)], name: Constant) -> Option<Dense<B, R>> {
    constants.iter().find(|(found, _)| *found == name).map(|(_, made)| made.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_cpu::Cpu;

    #[test]
    fn one_is_made_while_another_is() {
        let (cpu, constants) = (Cpu::new(), Constants::<Cpu, f32>::default());
        let ones = |n: usize| constants.get(Constant::Ones { rows: 1, columns: n }, || Dense::from_slice(&cpu, 1, n, &vec![1.0; n]));
        let mean = constants.get(Constant::Mean { heads: 1, width: 2 }, || ones(2)).unwrap();
        assert_eq!(mean.to_host().unwrap(), [1.0, 1.0]);
        // Of two that are made at the same time the first to be there stays.
        let name = Constant::Ones { rows: 1, columns: 3 };
        let slower = constants.get(name, || ones(3).and_then(|_| Dense::from_slice(&cpu, 1, 3, &[1.0; 3]))).unwrap();
        assert!(slower.any().is_same_as(&ones(3).unwrap()));
        assert_eq!(constants.lock().len(), 3);
    }
}
