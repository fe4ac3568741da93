//! It is over when what was made is done, whoever takes it, and not before.

#[path = "../../src/team/rests.rs"]
mod quiet;

use crate::check;
use crate::sync::{AtomicUsize, Ordering};
use loom::sync::Arc;
use loom::thread;
use quiet::Rests;

/// What is shown, and what has been done of it.
struct Work {
    rests: Rests,
    shown: AtomicUsize,
    done: AtomicUsize,
}

impl Work {
    /// Takes one of what is shown; false if another was faster.
    fn take(&self, shown: usize) -> bool {
        let taken = self.shown.compare_exchange(shown, shown - 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if taken {
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }
    /// Takes all that is shown, and whatever is shown later, until it is over.
    fn member(&self) {
        loop {
            loop {
                let shown = self.shown.load(Ordering::Acquire);
                if shown == 0 {
                    break;
                }
                self.take(shown);
            }
            self.rests.rest();
            loop {
                if self.rests.is_over() {
                    assert_eq!(self.done.load(Ordering::Relaxed), 2);
                    return;
                }
                let shown = self.shown.load(Ordering::Acquire);
                if shown > 0 {
                    self.rests.rise();
                    if self.take(shown) {
                        break;
                    }
                    self.rests.rest();
                }
                thread::yield_now();
            }
        }
    }
}

#[test]
fn over_when_all_is_done() {
    check(2, || {
        let work = Arc::new(Work { rests: Rests::new(), shown: AtomicUsize::new(0), done: AtomicUsize::new(0) });
        let other = {
            let work = work.clone();
            thread::spawn(move || {
                work.rests.join();
                work.member();
            })
        };
        work.shown.store(2, Ordering::Release);
        work.member();
        other.join().unwrap();
    });
}
