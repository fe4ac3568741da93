//! A leader with members that come late: posts are read by all, what was posted stays until all have read it, a turn is taken once,
//! by its member, by another or by the leader, and so are pieces.

#![allow(unsafe_code)]

#[path = "../../src/team/crew.rs"]
mod meetings;

use crate::check;
use crate::sync::{AtomicUsize, Cell, Ordering};
use loom::sync::Arc;
use loom::thread;
use meetings::{Crew, Turn};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A number that is not atomic: the model sees two threads that use it at once.
struct Plain(Cell<usize>);

// SAFETY: the model runs one thread at a time, and reports what would be a race.
unsafe impl Sync for Plain {}

/// Pieces that are shared out: as many as two turns take from each other.
const PIECES: usize = 4;

/// What both see: numbers that a turn writes before it posts their place, two for each turn and parity, and the pieces taken.
struct Seen {
    numbers: Vec<[Plain; 2]>,
    pieces: Vec<AtomicUsize>,
    last: usize,
}

/// A turn of a round: reads the numbers of all that posted in the round before, writes one, and in the last round takes pieces.
fn work(seen: &Seen, turn: &Turn<'_, usize, usize>, round: usize, posts: &[usize]) -> usize {
    assert!(turn.me() < turn.members() && turn.members() <= seen.numbers.len());
    for &post in posts {
        // SAFETY: written in the round before, or the model says so.
        seen.numbers[post][(round - 1) & 1].0.with(|number| assert_eq!(unsafe { *number }, 10 * (round - 1) + post));
    }
    // SAFETY: read in the next round alone, or the model says so.
    seen.numbers[turn.me()][round & 1].0.with_mut(|number| unsafe { *number = 10 * round + turn.me() });
    if round == seen.last {
        // Enough for both to take from each other.
        turn.share(seen.pieces.len(), 1, |range| range.for_each(|k| _ = seen.pieces[k].fetch_add(1, Ordering::Relaxed)));
    }
    turn.me()
}

/// What is checked besides.
#[derive(Clone, Copy, PartialEq)]
enum Also {
    Nothing,
    /// There are turns for members that have not come.
    Coming,
    /// A round in the middle has one turn.
    Narrows,
    /// A member leaves.
    Leaves,
}

/// Rounds up to `last`, with turns for those that have come.
fn run(members: usize, last: usize, also: Also) {
    let cell = || Plain(Cell::new(0));
    let pieces = (0..PIECES).map(|_| AtomicUsize::new(0)).collect();
    let seen = Seen { numbers: (0..members).map(|_| [cell(), cell()]).collect(), pieces, last };
    let shared = Arc::new((Crew::new(members), seen));
    let comes = || {
        let shared = shared.clone();
        thread::spawn(move || {
            let (crew, seen) = &*shared;
            // Leaves in the middle of its turn, or takes all.
            let turn = |turn: &Turn<'_, usize, usize>, round, posts: &[usize]| {
                if also == Also::Leaves {
                    std::panic::resume_unwind(Box::new("leaves"));
                }
                work(seen, turn, round, posts)
            };
            catch_unwind(AssertUnwindSafe(|| crew.follow(turn))).is_err()
        })
    };
    let others: Vec<_> = (1..members).map(|_| comes()).collect();
    let (crew, seen) = &*shared;
    let mut leader = crew.lead();
    let mut posts = Vec::new();
    let finished = (1..=last).all(|round| {
        let turns = match also {
            Also::Narrows if round == 2 => 1,
            Also::Coming => leader.present(members, members),
            _ => leader.arrived(),
        };
        let went = leader.round(turns, round, &mut posts, |turn, round, posts| work(seen, turn, round, posts)).is_some();
        assert!(!went || posts.iter().copied().eq(0..turns));
        went
    });
    drop(leader);
    let left = others.into_iter().fold(false, |left, other| left | other.join().unwrap());
    assert_eq!(finished, !left);
    if finished {
        assert!(seen.pieces.iter().all(|piece| piece.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn rounds_of_a_leader_and_one_that_comes() {
    check(2, || run(2, 2, Also::Nothing));
}

#[test]
fn three_rounds() {
    check(1, || run(2, 3, Also::Nothing));
}

#[test]
fn a_round_without_a_turn_for_all() {
    check(2, || run(2, 3, Also::Narrows));
}

#[test]
fn turns_of_those_that_are_to_come() {
    check(2, || run(2, 2, Also::Coming));
    check(1, || run(3, 1, Also::Coming));
}

#[test]
fn three_members() {
    check(1, || run(3, 1, Also::Nothing));
}

#[test]
fn no_one_waits_for_one_that_left() {
    check(2, || run(2, 2, Also::Leaves));
}
