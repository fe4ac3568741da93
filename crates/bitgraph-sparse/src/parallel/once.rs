//! Values that are computed at first use, in parallel.
//!
//! Invariant: no thread waits for a computation. A thread that waits for its parts may run another caller's work meanwhile, on top of its own stack,
//! and that may want the same value: a cell that others wait for would never be filled.

use std::sync::OnceLock;

/// What a cell holds, computed if it is empty. Callers at once compute it each, and the first one's is kept.
pub fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    if let Some(found) = cell.get() {
        return found;
    }
    let made = make();
    cell.get_or_init(|| made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_computation_may_want_its_own_value() {
        let cell = OnceLock::new();
        assert_eq!(*once(&cell, || *once(&cell, || 5) + 1), 5);
        assert_eq!(*once(&cell, || 7), 5);
    }
}
