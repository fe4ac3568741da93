//! Ctrl-C, the signals that end a process, and memory that runs out.
//!
//! Invariant: the first Ctrl-C sets a flag that work polls. What cannot poll it (an ordering, a wait for standard input) is ended with the
//! process after [`GRACE`], unless a file is being written, so that nothing half written is left. The second Ctrl-C ends the process at
//! once. SIGTERM and SIGHUP, a mapped file that another program is about to change or that cannot be read any more, and a block of memory
//! that cannot be had, end the process with a sentence instead of silence or a crash. So does a panic, which is a mistake of the program. A file that grows past the limit that is set for it
//! is an error of writing. Whatever ends the process at once removes the temporary file that is being written.
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

/// Sets all of it up, and returns the flag that Ctrl-C sets.
pub fn install() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    // Without a handler Ctrl-C kills at once, which is no reason to stop here.
    let _ = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            end_interrupted();
        }
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            let _never_given_back = writing();
            end_interrupted();
        });
    });
    install_handlers();
    bitgraph::memory::when_refused(on_refusal);
    // Where a panic ends the process, nothing is dropped that would remove it.
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        remove_temporary();
        tell(panic);
    }));
    flag
}

/// Says that the work was interrupted, once, whoever comes to say it.
pub fn tell_interrupted(sentence: &str) {
    static TOLD: Mutex<bool> = Mutex::new(false);
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if !*told {
        crate::output::note(sentence);
        *told = true;
    }
}

/// Ends the process after Ctrl-C, whatever it is at.
fn end_interrupted() -> ! {
    remove_temporary();
    tell_interrupted("bitgraph: error: interrupted\n");
    // A writer may have been about to make its file.
    remove_temporary();
    // SAFETY: ends the process without running anything else, whatever the other threads are at.
    unsafe { libc::_exit(130) }
}

/// The name of the temporary file that is being written, as text that ends with a zero; null if there is none.
static TEMPORARY: AtomicPtr<libc::c_char> = AtomicPtr::new(ptr::null_mut());

/// Names the temporary file that is to go if the process ends at once.
pub fn temporary_file(path: Option<&Path>) {
    let name = path.and_then(|p| CString::new(p.as_os_str().as_encoded_bytes()).ok());
    // The text is never freed: a signal may come at any time.
    TEMPORARY.store(name.map_or(ptr::null_mut(), CString::into_raw), Ordering::Release);
}

/// Only what is safe inside a signal handler.
fn remove_temporary() {
    let name = TEMPORARY.load(Ordering::Acquire);
    if !name.is_null() {
        // SAFETY: the pointer came from a `CString` that is never freed.
        unsafe { libc::unlink(name) };
    }
}

/// Says what the system refused and ends the process: whoever asked could only abort it.
fn on_refusal(bytes: usize) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    // Without memory for the sentence itself there is none.
    if !TOLD.swap(true, Ordering::Relaxed) {
        let free = crate::system::free_memory().map_or_else(String::new, |bytes| format!(", {bytes} are free"));
        crate::output::note(&format!("bitgraph: error: out of memory: {bytes} bytes wanted{free}\n"));
    }
    remove_temporary();
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

fn install_handlers() {
    // SAFETY: all zeros is a valid `sigaction`; the handler is a function of the signature that goes without SA_SIGINFO.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigemptyset(&raw mut action.sa_mask);
        for signal in [libc::SIGBUS, libc::SIGIO, libc::SIGTERM, libc::SIGHUP] {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, ptr::null(), &raw mut before);
            // What was started to outlive its terminal (nohup) goes on.
            if signal != libc::SIGHUP || before.sa_sigaction != libc::SIG_IGN {
                libc::sigaction(signal, &raw const action, ptr::null_mut());
            }
        }
        // A write past the limit then fails with a reason.
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Only what is safe inside a signal handler: `write`, `unlink` and `_exit`.
extern "C" fn on_signal(signal: libc::c_int) {
    remove_temporary();
    let say = |text: *const libc::c_char, len: usize| {
        // SAFETY: `text` points to `len` bytes.
        unsafe { libc::write(libc::STDERR_FILENO, text.cast(), len) }
    };
    let part = |text: &[u8]| say(text.as_ptr().cast(), text.len());
    part(b"bitgraph: error: ");
    if signal == libc::SIGBUS || signal == libc::SIGIO {
        let name = MAPPED.load(Ordering::Acquire);
        if name.is_null() {
            part(b"a mapped file");
        } else {
            // SAFETY: the pointer came from a `CString` that is never freed.
            say(name, unsafe { libc::strlen(name) });
        }
    }
    match signal {
        libc::SIGBUS => part(b": the file became shorter, or could not be read, while it was in use\n"),
        libc::SIGIO => part(b": another program opened the file for writing while it was in use\n"),
        libc::SIGHUP => part(b"the terminal was closed\n"),
        _ => part(b"terminated\n"),
    };
    // A writer may have been about to make its file.
    remove_temporary();
    // SAFETY: ends the process without running anything else.
    unsafe { libc::_exit(1) }
}
