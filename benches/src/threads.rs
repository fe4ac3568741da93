//! One number of threads for all.
//!
//! Some peers start as many threads as the process has CPUs. So the calling thread is confined to as many CPUs as threads are asked
//! for; threads and programs that it starts inherit that.

use anyhow::Result;
use std::thread;

/// The CPUs that this process may use.
#[must_use]
pub fn available() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Confines the calling thread, and what it starts from now on, to the last `threads` of its CPUs (the first ones serve interrupts).
/// Nothing changes if it has no more than that, or where the system offers no such thing.
///
/// # Errors
/// The system's.
#[cfg(target_os = "linux")]
pub fn confine(threads: usize) -> Result<()> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let mine = sched_getaffinity(None)?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&c| mine.is_set(c)).collect();
    if threads >= cpus.len() {
        return Ok(());
    }
    let mut kept = CpuSet::new();
    cpus[cpus.len() - threads..].iter().for_each(|&c| kept.set(c));
    Ok(sched_setaffinity(None, &kept)?)
}

/// Confines the calling thread, where the system offers that.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn confine(_: usize) -> Result<()> {
    Ok(())
}

/// Runs `work` in a pool of `threads` threads on as many CPUs.
///
/// # Errors
/// The work's, or the system's if it gives no threads.
pub fn with<R: Send>(threads: usize, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    let confined = move || {
        confine(threads)?;
        rayon::ThreadPoolBuilder::new().num_threads(threads).build()?.install(work)
    };
    thread::scope(|scope| match scope.spawn(confined).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
