//! How a file is to be read: what to do with duplicates, numbering, values; progress and cancellation.

use crate::{Error, Result};
use bitgraph_sparse::Duplicates;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the bytes of a file come into memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadMode {
    /// The file is mapped: no copy, pages are read as they are touched. If another process shortens the file meanwhile, touching
    /// a lost page raises the signal SIGBUS, which ends a process without a handler for it; if it writes to the file, what is read
    /// is unspecified.
    #[default]
    Map,
    /// The file is read into memory: later changes to it are of no consequence.
    Copy,
}

/// What is called with the bytes done and the bytes in all.
type Report = dyn Fn(u64, Option<u64>) + Send + Sync;

/// What is called with the name of a temporary file before it is there, and without one once it is gone.
type Announce = dyn Fn(Option<&Path>) + Send + Sync;

/// Progress and cancellation, both optional. Cheap to clone.
#[derive(Clone, Default)]
pub struct Control {
    cancel: Option<Arc<AtomicBool>>,
    progress: Option<Arc<Report>>,
    temporary: Option<Arc<Announce>>,
}

impl Control {
    /// Stops reading soon after `flag` becomes true.
    #[must_use]
    pub fn with_cancel(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancel = Some(flag);
        self
    }
    /// Calls `report(bytes done, bytes in all where known)` as reading goes on.
    #[must_use]
    pub fn with_progress(mut self, report: impl Fn(u64, Option<u64>) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(report));
        self
    }
    /// Calls `announce(name)` before a writer makes its temporary file, and `announce(none)` once that is renamed or removed: a program
    /// that is to end at once can remove it.
    #[must_use]
    pub fn with_temporary(mut self, announce: impl Fn(Option<&Path>) + Send + Sync + 'static) -> Self {
        self.temporary = Some(Arc::new(announce));
        self
    }
    /// Tells of a temporary file.
    pub(crate) fn temporary(&self, path: Option<&Path>) {
        if let Some(announce) = &self.temporary {
            announce(path);
        }
    }
    /// Reports progress; an error if the work is to stop.
    pub(crate) fn step(&self, done: u64, total: Option<u64>) -> Result<()> {
        if let Some(report) = &self.progress {
            report(done, total);
        }
        if self.cancel.as_ref().is_some_and(|c| c.load(Ordering::Relaxed)) { Err(Error::Cancelled) } else { Ok(()) }
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

/// How a file is to be read. Options that a format does not know are without effect on it.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Add the mirror image of every entry. Duplicates that arise are combined like any others, except that
    /// [`Duplicates::Error`] looks at the entries as given.
    pub symmetrize: bool,
    /// The number of vertices. Edge lists: instead of what a `# Nodes:` comment says, or the largest number + 1 (an edge beyond it is
    /// an error). Other formats: confirms a dimension that would not be taken on trust ([`Error::TooSparse`](crate::Error::TooSparse)).
    pub nodes: Option<usize>,
    /// Edge lists: vertices are numbered from 1.
    pub one_based: bool,
    /// What to do with entries given more than once.
    pub duplicates: Duplicates,
    /// Edge lists: vertex numbers are arbitrary 64-bit numbers; they are replaced by their rank.
    pub relabel: bool,
    /// Drop the values while parsing. They are checked nonetheless.
    pub as_pattern: bool,
    /// How bytes come into memory.
    pub mode: ReadMode,
    /// Progress and cancellation.
    pub control: Control,
}
