//! Matrices that layers need in every pass, made once.

use bitgraph_tensor::{Dense, Real, TensorBackend};
use std::sync::{Mutex, PoisonError};

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
        // What a thread that panicked left is whole: entries are pushed complete.
        let mut constants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, made)) = constants.iter().find(|(found, _)| *found == name) {
            return Ok(made.clone());
        }
        let made = make()?;
        constants.push((name, made.clone()));
        Ok(made)
    }
}
