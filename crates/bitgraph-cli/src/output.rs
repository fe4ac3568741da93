//! Standard output and standard error.
//!
//! Invariant: a closed pipe is [`Failure::ClosedPipe`], never a panic.

use crate::failure::{Failure, Result};
use std::io::Write;

/// Prints a text on standard output, as it is.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
        Err(e) => Err(Failure::other(format_args!("standard output: {e}"))),
    }
}

/// Prints a text on standard error; there may be no listener.
pub fn note(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
