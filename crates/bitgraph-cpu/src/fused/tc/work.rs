//! How the fused searches and counts share work: chunks of rows of about equal size, taken one after the other by every
//! worker of a team, each with scratch of its own that outlives the run.
//!
//! Invariant: every chunk is worked on exactly once, or the run ends with the error that stopped it.

use crate::team::{self, Team};
use bitgraph_backend::{Control, Error, Result};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Objects to use again: taken by a run, given back after it.
#[derive(Debug)]
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T: Default> Pool<T> {
    /// One that was given back, or a new one.
    pub fn take(&self) -> T {
        self.0.lock().ok().and_then(|mut pool| pool.pop()).unwrap_or_default()
    }
    /// Gives one back. A poisoned pool drops it, which costs the next run an allocation and nothing else.
    pub fn give(&self, object: T) {
        if let Ok(mut pool) = self.0.lock() {
            pool.push(object);
        }
    }
}

/// Makes an array of at least so many elements of one that holds nothing that matters: what is new is zero, and touched by whoever uses it first.
pub(crate) fn reserve<T: Copy + Default>(array: &mut Vec<T>, length: usize) {
    if array.len() < length {
        // The old one goes first.
        *array = Vec::new();
        *array = vec![T::default(); length];
    }
}

/// Consecutive ranges of rows, of about `entries` entries and rows together each.
pub(crate) fn chunks(offsets: &[u32], entries: usize) -> Vec<Range<usize>> {
    let rows = offsets.len() - 1;
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < rows {
        let work = |row: usize| (offsets[row] - offsets[start]) as usize + (row - start);
        // The first row at which the chunk is full, by bisection; a chunk holds at least one row.
        let (mut low, mut high) = (start + 1, rows);
        while low < high {
            let middle = usize::midpoint(low, high);
            if work(middle) < entries { low = middle + 1 } else { high = middle }
        }
        chunks.push(start..low);
        start = low;
    }
    chunks
}

/// As [`sum_in`], with a team of its own.
pub(crate) fn sum_chunks<S: Default + Send>(
    count: usize,
    control: &Control,
    pool: &Pool<S>,
    work: impl Fn(&mut S, usize) -> u64 + Sync,
) -> Result<u64> {
    team::with(count, |team| sum_in(team, count, control, pool, work))
}

/// Calls `work(scratch, chunk)` for the chunks `0..count` and returns the sum of the answers. A worker that has none left takes those of
/// others; one alone takes them in order. `control` is asked before each chunk.
///
/// # Errors
/// [`Error::Cancelled`].
pub(crate) fn sum_in<S: Default + Send>(
    team: &Team<'_>,
    count: usize,
    control: &Control,
    pool: &Pool<S>,
    work: impl Fn(&mut S, usize) -> u64 + Sync,
) -> Result<u64> {
    let (sum, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let stopped: Mutex<Option<Error>> = Mutex::default();
    let scratch: Vec<Mutex<Option<S>>> = (0..team.workers()).map(|_| Mutex::default()).collect();
    team.run(count, |worker, chunk| {
        if let Err(error) = control.check() {
            *stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.into());
            return;
        }
        // No other thread is this worker.
        let mut own = scratch[worker].lock().unwrap_or_else(PoisonError::into_inner);
        sum.fetch_add(work(own.get_or_insert_with(|| pool.take()), chunk), Ordering::Relaxed);
        control.report(done.fetch_add(1, Ordering::Relaxed) + 1, Some(count as u64));
    });
    for own in scratch {
        if let Some(own) = own.into_inner().unwrap_or_else(PoisonError::into_inner) {
            pool.give(own);
        }
    }
    stopped.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(sum.into_inner()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_the_rows_once() {
        let offsets: Vec<u32> = (0..1001u32).map(|i| i * i / 7).collect();
        for entries in [1, 10, 1000, 1_000_000] {
            let chunks = chunks(&offsets, entries);
            assert_eq!(chunks.first().map(|c| c.start), Some(0));
            assert_eq!(chunks.last().map(|c| c.end), Some(1000));
            assert!(chunks.windows(2).all(|w| w[0].end == w[1].start && w[0].start < w[0].end));
        }
        assert!(chunks(&[0], 10).is_empty());
        let pool = Pool::<u64>::default();
        let sum = sum_chunks(100, &Control::default(), &pool, |_, chunk| chunk as u64);
        assert_eq!(sum, Ok(4950));
    }
}
