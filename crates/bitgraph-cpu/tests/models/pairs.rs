//! Pairs of trees hooked by two threads at once: a store may undo another, and joining the pairs that were kept makes it good.

use super::hooked::{Pairs, Trees};
use crate::check;
use crate::sync::{AtomicU32, Ordering};
use loom::sync::Arc;
use loom::thread;

/// Numbers of trees, and vertices that have these numbers: a tree for each.
fn planted(numbers: usize) -> Arc<[Vec<AtomicU32>; 3]> {
    Arc::new(std::array::from_fn(|_| (0..numbers as u32).map(AtomicU32::new).collect()))
}

/// Both lists are hooked by a thread each; then two threads join the pairs that either kept.
fn joined(numbers: usize, lists: [&'static [(usize, usize)]; 2], expected: &'static [u32]) {
    check(3, move || {
        let arrays = planted(numbers);
        let hook = |list: &[(usize, usize)], arrays: &[Vec<AtomicU32>; 3]| {
            let mut pairs = Pairs::default();
            pairs.begin(list.len());
            let trees = Trees::<true>::new(&arrays[0], &arrays[1], &arrays[2]);
            list.iter().for_each(|&(v, u)| trees.hook(v, u, &mut pairs));
            pairs
        };
        let other = {
            let arrays = arrays.clone();
            thread::spawn(move || hook(lists[1], &arrays))
        };
        let left = [hook(lists[0], &arrays), other.join().unwrap()];
        let trees = Trees::<true>::new(&arrays[0], &arrays[1], &arrays[2]);
        trees.flatten(0..numbers);
        left.iter().for_each(|pairs| trees.join_all(pairs));
        let roots = trees.settle(0..numbers);
        let found: Vec<u32> = arrays[0].iter().map(|p| p.load(Ordering::Relaxed)).collect();
        assert_eq!(found, expected);
        assert_eq!(roots, expected.iter().enumerate().filter(|&(k, &root)| k == root as usize).count());
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
        let arrays = planted(4);
        (1..4).for_each(|k| arrays[0][k].store(k as u32 - 1, Ordering::Relaxed));
        let flatten = |range, arrays: &[Vec<AtomicU32>; 3]| Trees::<true>::new(&arrays[0], &arrays[1], &arrays[2]).flatten(range);
        let other = {
            let arrays = arrays.clone();
            thread::spawn(move || flatten(2..4, &arrays))
        };
        flatten(0..2, &arrays);
        other.join().unwrap();
        assert!(arrays[0].iter().all(|p| p.load(Ordering::Relaxed) == 0));
    });
}
