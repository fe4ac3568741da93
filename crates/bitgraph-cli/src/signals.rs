//! Ctrl-C, SIGBUS, and memory that runs out.
//!
//! Invariant: the first Ctrl-C sets a flag that work polls. What cannot poll it (an ordering, a wait for standard input) is ended with the
//! process after [`GRACE`], unless a file is being written, so that nothing half written is left. The second Ctrl-C ends the process at
//! once. A page of a mapped file that is gone, and a block of memory that cannot be had, end the process with a sentence instead of a
//! crash.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long work may take to notice Ctrl-C.
const GRACE: Duration = Duration::from_secs(1);

/// Held by whoever writes a file, and by what ends the process, so that the one waits for the other.
static WRITING: Mutex<()> = Mutex::new(());

/// Keeps Ctrl-C from ending the process for as long as it is held; writers poll the flag themselves, and clean up.
pub fn writing() -> MutexGuard<'static, ()> {
    WRITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets up all three, and returns the flag that Ctrl-C sets.
pub fn install() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    // Without a handler Ctrl-C kills at once, which is no reason to stop here.
    let _ = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            let _never_given_back = writing();
            crate::output::note("bitgraph: error: interrupted\n");
            // SAFETY: ends the process without running anything else, whatever the other threads are at.
            unsafe { libc::_exit(130) }
        });
    });
    install_bus_handler();
    bitgraph::memory::when_refused(on_refusal);
    flag
}

/// Says what the system refused and ends the process: whoever asked could only abort it.
fn on_refusal(bytes: usize) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    // Without memory for the sentence itself there is none.
    if !TOLD.swap(true, Ordering::Relaxed) {
        let free = std::fs::read_to_string("/proc/meminfo").ok();
        let free = free.as_deref().and_then(|t| t.lines().find_map(|l| l.strip_prefix("MemAvailable:")));
        let free = free.and_then(|t| t.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        let free = free.map_or_else(String::new, |kib| format!(", {} are free", kib * 1024));
        crate::output::note(&format!("bitgraph: error: out of memory: {bytes} bytes wanted{free}\n"));
    }
    // SAFETY: ends the process without running anything else, whatever the other threads are at.
    unsafe { libc::_exit(1) }
}

/// The name of the file that is mapped, as text that ends with a zero.
static MAPPED: AtomicPtr<libc::c_char> = AtomicPtr::new(ptr::null_mut());

/// Names the file that a bus error would be about.
pub fn mapped_file(path: &Path) {
    if let Ok(name) = CString::new(path.display().to_string()) {
        // The text is never freed: a signal may come at any time.
        MAPPED.store(name.into_raw(), Ordering::Release);
    }
}

fn install_bus_handler() {
    // SAFETY: all zeros is a valid `sigaction`; the handler is a function of the signature that goes without SA_SIGINFO.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut());
    }
}

/// Only what is safe inside a signal handler: `write` and `_exit`.
extern "C" fn on_bus_error(_: libc::c_int) {
    let say = |text: *const libc::c_char, len: usize| {
        // SAFETY: `text` points to `len` bytes.
        unsafe { libc::write(libc::STDERR_FILENO, text.cast(), len) }
    };
    let part = |text: &[u8]| say(text.as_ptr().cast(), text.len());
    part(b"bitgraph: error: ");
    let name = MAPPED.load(Ordering::Acquire);
    if name.is_null() {
        part(b"a mapped file");
    } else {
        // SAFETY: the pointer came from a `CString` that is never freed.
        say(name, unsafe { libc::strlen(name) });
    }
    part(b": the file became shorter, or could not be read, while it was in use\n");
    // SAFETY: ends the process without running anything else.
    unsafe { libc::_exit(1) }
}
