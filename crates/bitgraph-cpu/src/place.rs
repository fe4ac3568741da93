//! Which core a thread runs on, how it gets away from one, and how many there are.
//!
//! A system that wakes a thread may leave it on the core of the one that woke it, though others are idle, and moves it when milliseconds
//! have passed: longer than many a search takes. Elsewhere than on Linux nothing is known of cores, and nothing is done.
#![allow(unsafe_code)]

use std::sync::OnceLock;

/// The number of the core that the thread runs on, if the system tells.
pub(crate) fn current() -> Option<usize> {
    #[cfg(target_os = "linux")]
    // SAFETY: the call takes nothing, and touches nothing.
    return usize::try_from(unsafe { libc::sched_getcpu() }).ok();
    #[cfg(not(target_os = "linux"))]
    None
}

/// The cores that a thread may run on, 0 for the calling one, if the system tells.
#[cfg(target_os = "linux")]
fn allowed(thread: libc::pid_t) -> Option<libc::cpu_set_t> {
    // SAFETY: a set of cores is plain bits, of which all may be zero; the call writes a set of the size that it is told.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        (libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &raw mut set) == 0).then_some(set)
    }
}

/// The cores of a set.
#[cfg(target_os = "linux")]
fn size(set: &libc::cpu_set_t) -> usize {
    // SAFETY: the call reads the set.
    usize::try_from(unsafe { libc::CPU_COUNT(set) }).unwrap_or(0)
}

/// How many cores all threads of the process together may run on: a pool may keep each of its threads on a core of its own, so that those of
/// one say little.
#[cfg(target_os = "linux")]
fn of_all_threads() -> Option<usize> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
    let sets: Vec<libc::cpu_set_t> = threads.filter_map(allowed).collect();
    // SAFETY: the core is within a set.
    let any = |core: &usize| sets.iter().any(|set| unsafe { libc::CPU_ISSET(*core, set) });
    Some((0..8 * size_of::<libc::cpu_set_t>()).filter(any).count())
}

/// How many threads of the process can run at a time: its cores, or what a container's quota is worth if that is less. Found once.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| {
        // The lesser of the quota and the cores of the calling thread.
        let known = std::thread::available_parallelism().map_or(usize::MAX, usize::from);
        #[cfg(target_os = "linux")]
        if let (Some(own), Some(all)) = (allowed(0), of_all_threads()) {
            let is_quota = known < size(&own);
            return if is_quota { known } else { all.max(known) };
        }
        known
    })
}

/// Moves the thread to another core if it runs on this one and may run on others; where it may run is the same afterwards.
pub(crate) fn leave(core: usize) {
    #[cfg(target_os = "linux")]
    if current() == Some(core)
        && core < 8 * size_of::<libc::cpu_set_t>()
        && let Some(all) = allowed(0)
        && size(&all) >= 2
    {
        let bytes = size_of::<libc::cpu_set_t>();
        let mut others = all;
        // SAFETY: the core is within a set; the calls read sets of the size they are told, for the calling thread.
        unsafe {
            libc::CPU_CLR(core, &mut others);
            if libc::sched_setaffinity(0, bytes, &raw const others) == 0 {
                libc::sched_setaffinity(0, bytes, &raw const all);
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
    fn a_pool_of_pinned_threads_has_all_their_cores() {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        let cores = std::thread::spawn(|| {
            #[cfg(target_os = "linux")]
            if let Some(core) = current() {
                // SAFETY: a set of cores is plain bits; the call reads one, for the calling thread.
                unsafe {
                    let mut one: libc::cpu_set_t = std::mem::zeroed();
                    libc::CPU_SET(core, &mut one);
                    libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one);
                }
                assert_eq!(allowed(0).map(|set| size(&set)), Some(1));
            }
            cores()
        });
        assert_eq!(cores.join().unwrap(), all);
    }

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
