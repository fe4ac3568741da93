//! Threads that join trees at once lose no join.

#[path = "../../src/fused/cc/pairs.rs"]
mod hooked;
#[path = "pairs.rs"]
mod pairs;
#[path = "../../src/fused/cc/forest.rs"]
mod trees;

use crate::check;
use crate::sync::AtomicU32;
use loom::sync::Arc;
use loom::thread;
// What the files call it.
use trees as forest;
use trees::Forest;

/// Joins the edges of both lists on a thread each; every vertex is then to have the root that `expected` says.
fn joined(parents: &'static [u32], lists: [&'static [(u32, u32)]; 2], expected: &'static [u32]) {
    check(3, move || {
        let cells: Arc<Vec<AtomicU32>> = Arc::new(parents.iter().map(|&p| AtomicU32::new(p)).collect());
        let join = |list: &[(u32, u32)], cells: &[AtomicU32]| {
            let forest = Forest::<true>::new(cells);
            for &(a, b) in list {
                let root = forest.join(a, b);
                assert!(root <= a && root <= b);
            }
        };
        let other = {
            let cells = cells.clone();
            thread::spawn(move || join(lists[1], &cells))
        };
        join(lists[0], &cells);
        other.join().unwrap();
        let forest = Forest::<true>::new(&cells);
        for (v, &root) in expected.iter().enumerate() {
            assert_eq!(forest.find(v as u32), root, "vertex {v}");
        }
    });
}

#[test]
fn one_root_hooked_by_two() {
    joined(&[0, 1, 2], [&[(0, 2)], &[(1, 2)]], &[0, 0, 0]);
}

#[test]
fn joins_in_a_ring() {
    joined(&[0, 1, 2, 3], [&[(2, 3), (0, 1)], &[(1, 2), (3, 0)]], &[0, 0, 0, 0]);
}

#[test]
fn a_path_halved_by_both() {
    // 4 is hooked onto 3, 3 onto 2, 2 onto 1: finding halves the path while a root is hooked.
    joined(&[0, 1, 1, 2, 3], [&[(4, 0)], &[(4, 1)]], &[0, 0, 0, 0, 0]);
}

#[test]
fn two_trees_stay_apart() {
    joined(&[0, 1, 2, 3], [&[(0, 2)], &[(1, 3)]], &[0, 1, 0, 1]);
}
