//! A leader with one worker that comes late: posts are read by both, what was posted stays until both have read it, and pieces are taken once.

#![allow(unsafe_code)]

#[path = "../../src/team/crew.rs"]
mod meetings;

use crate::check;
use crate::sync::{AtomicUsize, Cell, Ordering};
use loom::sync::Arc;
use loom::thread;
use meetings::{Crew, Member};

/// A number that is not atomic: the model sees two threads that use it at once.
struct Plain(Cell<usize>);

// SAFETY: the model runs one thread at a time, and reports what would be a race.
unsafe impl Sync for Plain {}

/// Pieces that are shared out: as many as two members take from each other.
const PIECES: usize = 16;

/// What both see: numbers that a member writes before it posts their place, two for each member and parity, and the pieces taken.
struct Seen {
    numbers: [[Plain; 2]; 2],
    pieces: Vec<AtomicUsize>,
}

/// Rounds up to `last`: writes a number, meets, reads those of all that posted, and takes pieces of what they posted.
fn rounds(mut member: Member<'_, usize, usize>, seen: &Seen, mut round: usize, last: usize) -> bool {
    while round < last {
        round += 1;
        let (me, side) = (member.me(), round & 1);
        // SAFETY: read by the other between this meeting and the next alone, or the model says so.
        seen.numbers[me][side].0.with_mut(|number| unsafe { *number = 10 * round + me });
        let mut posts = Vec::new();
        // What the other member tells is nothing to anyone.
        let Some(told) = member.meet(me, round + 100 * me, &mut posts) else { return false };
        assert!(told == round && member.members() >= posts.len());
        for post in posts {
            // SAFETY: as above.
            seen.numbers[post][side].0.with(|number| assert_eq!(unsafe { *number }, 10 * round + post));
        }
        if round == last {
            // Enough for both to take from each other.
            member.share(seen.pieces.len(), 1, |range| range.for_each(|k| _ = seen.pieces[k].fetch_add(1, Ordering::Relaxed)));
        }
    }
    true
}

fn run(last: usize, leaves: bool) {
    let cell = || Plain(Cell::new(0));
    let seen = Seen { numbers: [[cell(), cell()], [cell(), cell()]], pieces: (0..PIECES).map(|_| AtomicUsize::new(0)).collect() };
    let shared = Arc::new((Crew::new(2), seen));
    let other = {
        let shared = shared.clone();
        thread::spawn(move || {
            let (crew, seen) = &*shared;
            let mut posts = Vec::new();
            crew.join(&mut posts).map(|(member, round): (Member<'_, usize, usize>, usize)| {
                assert!(round > 0 && posts == [0]);
                // Comes to no meeting, as after a panic, or to all.
                if leaves {
                    drop(member);
                    return round;
                }
                assert!(rounds(member, seen, round, last));
                round
            })
        })
    };
    let (crew, seen) = &*shared;
    let finished = rounds(crew.lead(), seen, 0, last);
    let joined = other.join().unwrap();
    // One that left is missed at the meeting after the one at which it was admitted.
    assert_eq!(finished, !leaves || joined.is_none_or(|round| round == last));
    if finished {
        // A share that is dealt to one admitted at the last meeting is taken by it or by the leader.
        assert!(seen.pieces.iter().all(|piece| piece.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn rounds_of_a_leader_and_one_that_comes() {
    check(2, || run(2, false));
}

#[test]
fn three_rounds() {
    check(1, || run(3, false));
}

#[test]
fn no_one_waits_for_one_that_left() {
    check(2, || run(2, true));
}
