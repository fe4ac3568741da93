//! `info`.

use crate::failure::{Failure, Result};
use crate::progress::Reporter;

/// Not there yet.
pub fn run<T>(_: &T, _: &Reporter) -> Result<()> {
    Err(Failure::other("info is not there yet"))
}
