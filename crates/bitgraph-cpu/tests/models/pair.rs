//! Two searchers that meet: each reads what the other sent before the meeting, and no thread waits for one that has left.

use crate::check;
use crate::packed::link::{Link, Report};
use crate::packed::pair::{Board, Paired};
use loom::sync::Arc;
use loom::thread;

/// Meets `meetings` times; before each sends the number of the meeting for a vertex of the other's. What was delivered.
fn search(board: &Board, me: usize, meetings: u32) -> Vec<(u32, u32)> {
    let mut messages = [Vec::new(), Vec::new()];
    let mut link = Paired::new(board, me, &mut messages, None);
    let dist = [u32::MAX; 4];
    let mut found = Vec::new();
    for meeting in 0..meetings {
        let theirs = 1 - me as u32;
        assert!(!link.owns(theirs) && link.owns(theirs + 1));
        link.send_if(theirs, 10 * me as u32 + meeting, true);
        link.send_if(theirs, 99, false);
        let report = Report { live: 1 << me, nearest: me as u32, found: me == 1, ..Report::EMPTY };
        let both = link.meet(dist.as_ptr(), report, |vertex, distance| found.push((vertex, distance)));
        assert_eq!((both.live, both.nearest, both.found, both.stop), (3, 0, true, false));
    }
    found
}

#[test]
fn what_is_sent_arrives_once() {
    check(3, || {
        let board = Arc::new(Board::new(0));
        let other = {
            let board = board.clone();
            thread::spawn(move || search(&board, 1, 3))
        };
        let own = search(&board, 0, 3);
        assert_eq!(own, [(0, 10), (0, 11), (0, 12)]);
        assert_eq!(other.join().unwrap(), [(1, 0), (1, 1), (1, 2)]);
    });
}

#[test]
fn distances_are_adopted() {
    check(2, || {
        let board = Arc::new(Board::new(0));
        let adopt = |board: &Board, me: usize| {
            let mut messages = [Vec::new(), Vec::new()];
            let mut link = Paired::new(board, me, &mut messages, None);
            // Each knows the distances of its own vertices only.
            let mut dist: Vec<u32> = (0..4).map(|v| if link.owns(v) { 10 + v } else { u32::MAX }).collect();
            link.meet(dist.as_ptr(), Report::EMPTY, |_, _| {});
            link.adopt(dist.as_mut_ptr(), 4, 13);
            // The other has read these.
            dist.iter().enumerate().for_each(|(v, &d)| {
                let far = !link.owns(v as u32) && v == 3;
                assert_eq!(d, if far { u32::MAX } else { 10 + v as u32 });
            });
            dist.fill(7);
            dist
        };
        let other = {
            let board = board.clone();
            thread::spawn(move || adopt(&board, 1))
        };
        adopt(&board, 0);
        other.join().unwrap();
    });
}

#[test]
fn no_one_waits_for_one_that_left() {
    check(3, || {
        let board = Arc::new(Board::new(0));
        let other = {
            let board = board.clone();
            // Leaves after one meeting, as by an error.
            thread::spawn(move || search(&board, 1, 1))
        };
        let mut messages = [Vec::new(), Vec::new()];
        let mut link = Paired::new(&board, 0, &mut messages, None);
        let dist = [0; 4];
        let report = Report { live: 1, nearest: 0, ..Report::EMPTY };
        assert!(!link.meet(dist.as_ptr(), report, |_, _| {}).stop);
        assert!(link.meet(dist.as_ptr(), report, |_, _| {}).stop);
        drop(link);
        other.join().unwrap();
    });
}
