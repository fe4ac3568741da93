//! Rounds over pairs of trees by two threads at once: a store may undo another, and later rounds make it good.

#[path = "../../src/fused/cc/pairs.rs"]
mod rounds;

use crate::check;
use crate::sync::{AtomicU32, Ordering};
use loom::sync::Arc;
use loom::thread;
use rounds::{Pairs, Trees};

fn listed(list: &[(u32, u32)], room: usize) -> Pairs {
    let mut pairs = Pairs::default();
    pairs.begin(room);
    list.iter().for_each(|&(a, b)| pairs.push(a, b));
    pairs
}

/// One round by two threads, each over a list of its own, then rounds by one until no pair is left.
fn joined(numbers: usize, lists: [&'static [(u32, u32)]; 2], expected: &'static [u32]) {
    check(3, move || {
        let parents: Arc<Vec<AtomicU32>> = Arc::new((0..numbers as u32).map(AtomicU32::new).collect());
        let hook = |list: &[(u32, u32)], parents: &[AtomicU32]| {
            let mut pairs = listed(list, list.len());
            Trees { parents, labels: &[], names: &[] }.hook(&mut pairs);
            pairs
        };
        let other = {
            let parents = parents.clone();
            thread::spawn(move || hook(lists[1], &parents))
        };
        let mut left = [hook(lists[0], &parents), other.join().unwrap()];
        let trees = Trees { parents: &parents, labels: &[], names: &[] };
        // Numbers are hooked onto roots between rounds.
        trees.flatten(0..numbers);
        let mut rounds = 0;
        while left.iter().any(|pairs| !pairs.is_empty()) {
            left.iter_mut().for_each(|pairs| trees.hook(pairs));
            trees.flatten(0..numbers);
            rounds += 1;
            assert!(rounds <= numbers, "a round joins at least one pair");
        }
        let roots: Vec<u32> = parents.iter().map(|p| p.load(Ordering::Relaxed)).collect();
        assert_eq!(roots, expected);
    });
}

#[test]
fn a_store_undone_is_made_good() {
    joined(3, [&[(1, 2)], &[(0, 2)]], &[0, 0, 0]);
}

#[test]
fn a_chain_by_two() {
    joined(4, [&[(0, 1), (2, 3)], &[(1, 2)]], &[0, 0, 0, 0]);
}

#[test]
fn numbers_are_hooked_on_roots_by_two() {
    check(3, || {
        // 3 on 2, 2 on 1, 1 on 0: each thread follows what the other may have shortened.
        let parents: Arc<Vec<AtomicU32>> = Arc::new([0, 0, 1, 2].map(AtomicU32::new).into());
        let other = {
            let parents = parents.clone();
            thread::spawn(move || Trees { parents: &parents, labels: &[], names: &[] }.flatten(2..4))
        };
        Trees { parents: &parents, labels: &[], names: &[] }.flatten(0..2);
        other.join().unwrap();
        assert!(parents.iter().all(|p| p.load(Ordering::Relaxed) == 0));
    });
}
