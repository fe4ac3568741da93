//! How many multiprocessors are held by kernels whose blocks wait for each other.
//!
//! Of two such kernels that two streams give to a device, each may get some of the multiprocessors and then wait for the others until the bound of
//! its barriers. So a kernel claims as many as it has blocks before it is launched, and gives them back when it has ended. Devices are told
//! apart by their numbers, since each may be opened more than once.
//!
//! Invariant: what is claimed of a device is never more than it has.

use super::lock;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};

static CLAIMED: Mutex<BTreeMap<u32, u32>> = Mutex::new(BTreeMap::new());
static FREED: Condvar = Condvar::new();

/// Multiprocessors of a device, until it is dropped.
pub(super) struct Claim {
    ordinal: u32,
    count: u32,
}

impl Claim {
    /// One for each of so many blocks, all at most; waits until they are free. A block alone waits for no other and claims none.
    pub fn new(ordinal: u32, blocks: u32, all: u32) -> Self {
        let count = if blocks > 1 { blocks.min(all) } else { 0 };
        if count > 0 {
            let mut claimed = lock(&CLAIMED);
            while claimed.get(&ordinal).map_or(0, |n| *n) + count > all {
                claimed = FREED.wait(claimed).unwrap_or_else(PoisonError::into_inner);
            }
            *claimed.entry(ordinal).or_default() += count;
        }
        Self { ordinal, count }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.count > 0 {
            if let Some(claimed) = lock(&CLAIMED).get_mut(&self.ordinal) {
                *claimed -= self.count;
            }
            FREED.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn no_more_is_claimed_than_there_is() {
        const ALL: u32 = 8;
        let (held, most) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let (held, most) = (&held, &most);
                scope.spawn(move || {
                    for turn in 0..200 {
                        let blocks = (thread * 7 + turn * 5) % 12;
                        let claim = Claim::new(u32::MAX, blocks, ALL);
                        most.fetch_max(held.fetch_add(claim.count, Ordering::SeqCst) + claim.count, Ordering::SeqCst);
                        std::thread::yield_now();
                        held.fetch_sub(claim.count, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!((2..=ALL).contains(&most.into_inner()) && held.into_inner() == 0);
        assert_eq!(lock(&CLAIMED).get(&u32::MAX), Some(&0));
    }

    #[test]
    fn blocks_alone_and_other_devices_do_not_wait() {
        let all = Claim::new(u32::MAX - 1, 99, 4);
        assert_eq!((all.count, Claim::new(u32::MAX - 1, 1, 4).count, Claim::new(u32::MAX - 2, 4, 4).count), (4, 0, 4));
    }
}
