//! Standard output, standard error, and the one value per vertex that `--output` writes.
//!
//! Invariant: a closed pipe is [`Failure::ClosedPipe`], never a panic.

use crate::failure::{Failure, Result};
use crate::progress::Reporter;
use crate::signals;
use bitgraph::io::{Naming, VectorData};
use bitgraph::sparse::Values;
use std::io::Write;
use std::path::Path;

/// Prints a text on standard output, as it is.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
        Err(e) => Err(Failure::other(format_args!("standard output: {e}"))),
    }
}

/// Prints a text on standard error; nobody may be listening.
pub fn note(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Writes values, and what they belong to. Numbers past 63 bits wrap around.
pub fn write_vector(path: &Path, values: &Values, naming: &Naming<'_>, reporter: &Reporter) -> Result<()> {
    let wide: Vec<i64>;
    let data = match values {
        Values::I32(v) => VectorData::I32(v),
        Values::U32(v) => VectorData::U32(v),
        Values::I64(v) => VectorData::I64(v),
        Values::F32(v) => VectorData::F32(v),
        Values::F64(v) => VectorData::F64(v),
        Values::U64(v) => {
            wide = v.iter().map(|&x| x as i64).collect();
            VectorData::I64(&wide)
        }
        other => return Err(Failure::other(format_args!("{} values cannot be written", other.dtype()))),
    };
    let _writing = signals::writing();
    Ok(bitgraph::io::write_vector(path, data, naming, &reporter.writing())?)
}

/// Writes a file under a temporary name beside it and renames it, so that a failure leaves nothing behind.
pub fn write_file(path: &Path, bytes: &[u8], reporter: &Reporter) -> Result<()> {
    let _writing = signals::writing();
    Ok(bitgraph::io::write_bytes(path, bytes, &reporter.writing())?)
}
