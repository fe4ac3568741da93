//! The files that a command writes.
//!
//! Invariant: while one is written, Ctrl-C does not end the process before what is half written is gone.

use crate::failure::{Failure, Result};
use crate::progress::Reporter;
use crate::signals;
use bitgraph::io::{Naming, VectorData};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Refuses, before any work, an output that is one of the files that are read: what was in it would be gone.
pub fn check_target(out: &Path, read: &[&OsStr]) -> Result<()> {
    // Devices and pipes hold nothing that could be lost.
    let identity = |path: &Path| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|m| (m.dev(), m.ino()));
    let Some(target) = identity(out) else { return Ok(()) };
    match read.iter().find(|file| identity(Path::new(file)) == Some(target)) {
        Some(file) => Err(Failure::usage(format_args!("{}: the output would replace {}, which is read", out.display(), file.display()))),
        None => Ok(()),
    }
}

/// Writes values, and what they belong to.
pub fn write_vector<'a>(path: &Path, values: impl Into<VectorData<'a>>, naming: &Naming<'_>, reporter: &Reporter) -> Result<()> {
    let _writing = signals::writing();
    Ok(bitgraph::io::write_vector(path, values, naming, &reporter.writing())?)
}

/// Writes a file under a temporary name beside it and renames it, so that a failure leaves nothing behind.
pub fn write_file(path: &Path, bytes: &[u8], reporter: &Reporter) -> Result<()> {
    let _writing = signals::writing();
    Ok(bitgraph::io::write_bytes(path, bytes, &reporter.writing())?)
}
