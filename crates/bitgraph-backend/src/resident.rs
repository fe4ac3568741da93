//! Formats on a backend: a format is a type, and a backend that can hold it says so.
//!
//! Invariant: what a backend holds of a format are its sections, bit for bit.

use crate::Backend;
use bitgraph_sparse::Format;

/// A backend that can hold a format, built in or of another crate: for the layouts of fused forms that work on it.
pub trait Resident<F: Format>: Backend {
    /// The format on the backend.
    type Form: Send + Sync + 'static;

    /// Puts it there.
    ///
    /// # Errors
    /// Out of memory.
    fn reside(&self, format: &F) -> Result<Self::Form, Self::Error>;
    /// Bytes that it takes there.
    fn form_bytes(&self, form: &Self::Form) -> u64;
}
