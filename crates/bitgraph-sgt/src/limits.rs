//! What every part of this crate keeps to.

/// A window has at most as many rows, so that a row within a window fits a byte.
pub const MOST_ROWS: u32 = 256;
