//! A leader with one worker: chunks are run once, and what is written in a phase is read after it.

#![allow(unsafe_code)]

#[path = "../../src/team/phases.rs"]
mod phases;

use crate::check;
use crate::sync::{AtomicUsize, Cell, Ordering};
use loom::sync::Arc;
use loom::thread;
use phases::{Dismiss, Shared, Team};

/// A number that is not atomic: the model sees two threads that use it at once.
struct Plain(Cell<usize>);

// SAFETY: the model runs one thread at a time, and reports what would be a race.
unsafe impl Sync for Plain {}

/// Runs phases of `chunks` chunks with a team of so many workers; in each a chunk adds 1 to a cell of its own, which is not atomic.
fn phases(workers: usize, chunks: &[usize]) {
    let shared = Arc::new(Shared::new(workers));
    let joined: Vec<_> = (1..workers)
        .map(|worker| {
            let shared = shared.clone();
            thread::spawn(move || shared.serve(worker))
        })
        .collect();
    let dismiss = Dismiss(&shared);
    shared.will_wake(workers - 1);
    let team = Team::of(&shared, None);
    assert_eq!(team.workers(), workers);
    let most = chunks.iter().copied().max().unwrap_or(0);
    let cells: Vec<Plain> = (0..most).map(|_| Plain(Cell::new(0))).collect();
    let calls = AtomicUsize::new(0);
    for &count in chunks {
        team.run(count, |worker, chunk| {
            assert!(worker < workers);
            calls.fetch_add(1, Ordering::Relaxed);
            // SAFETY: no other thread has this chunk, or the model says so.
            cells[chunk].0.with_mut(|cell| unsafe { *cell += 1 });
        });
    }
    for (chunk, cell) in cells.iter().enumerate() {
        let expected = chunks.iter().filter(|&&count| chunk < count).count();
        // SAFETY: all phases have ended, or the model says so.
        cell.0.with(|cell| assert_eq!(unsafe { *cell }, expected, "chunk {chunk}"));
    }
    assert_eq!(calls.load(Ordering::Relaxed), chunks.iter().sum::<usize>());
    drop(dismiss);
    for thread in joined {
        thread.join().unwrap();
    }
}

#[test]
fn two_phases_of_two_workers() {
    check(3, || phases(2, &[2, 3]));
}

#[test]
fn a_phase_that_shrinks() {
    check(3, || phases(2, &[3, 2]));
}
