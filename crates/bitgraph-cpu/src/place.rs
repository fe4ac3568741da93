//! Which core a thread runs on, and how it gets away from one.
//!
//! A system that wakes a thread may leave it on the core of the one that woke it, though others are idle, and moves it when milliseconds
//! have passed: longer than many a search takes. Elsewhere than on Linux nothing is known of cores, and nothing is done.
#![allow(unsafe_code)]

/// The number of the core that the thread runs on, if the system tells.
pub(crate) fn current() -> Option<usize> {
    #[cfg(target_os = "linux")]
    // SAFETY: the call takes nothing, and touches nothing.
    return usize::try_from(unsafe { libc::sched_getcpu() }).ok();
    #[cfg(not(target_os = "linux"))]
    None
}

/// Moves the thread to another core if it runs on this one and may run on others; where it may run is the same afterwards.
pub(crate) fn leave(core: usize) {
    #[cfg(target_os = "linux")]
    if current() == Some(core) && core < 8 * size_of::<libc::cpu_set_t>() {
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: a set of cores is plain bits, of which all may be zero; the calls read and write sets of the size they are told, for
        // the calling thread, and the core is within a set.
        unsafe {
            let mut all: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size, &raw mut all) != 0 || libc::CPU_COUNT(&all) < 2 {
                return;
            }
            let mut others = all;
            libc::CPU_CLR(core, &mut others);
            if libc::sched_setaffinity(0, size, &raw const others) == 0 {
                libc::sched_setaffinity(0, size, &raw const all);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = core;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_leaves_its_core_and_may_return() {
        let allowed = || std::thread::available_parallelism().map_or(1, usize::from);
        let before = allowed();
        for _ in 0..20 {
            let Some(core) = current() else { return };
            leave(core);
            // It may have been moved back since, but what it may use is what it was.
            assert_eq!(allowed(), before);
        }
    }
}
