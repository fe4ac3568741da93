//! The second searcher comes in time, or both know that it does not.

#[path = "../../src/fused/sssp/packed/meeting.rs"]
mod packed;

use crate::check;
use crate::sync::{AtomicUsize, Ordering};
use loom::sync::Arc;
use loom::thread;
use packed::Meeting;

#[test]
fn both_agree() {
    check(3, || {
        let meeting = Arc::new(Meeting::new());
        let second = {
            let meeting = meeting.clone();
            thread::spawn(move || meeting.join())
        };
        // Late at the second look.
        let looks = AtomicUsize::new(0);
        let paired = meeting.wait(|| looks.fetch_add(1, Ordering::Relaxed) == 1);
        assert_eq!(second.join().unwrap(), paired);
    });
}
