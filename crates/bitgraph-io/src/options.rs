//! How a file is to be read: what to do with duplicates, numbering, values; progress and cancellation.

use crate::{Error, FileFormat, Result};
use bitgraph_sparse::Duplicates;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the bytes of a file come into memory.
///
/// Kernels check the arrays of a graph once and use them unchecked afterwards, so that bytes which change in between could make them
/// read and write anywhere. A mapping is therefore guarded: Linux gives a process a read lease on a file that it owns and no other process has open
/// for writing, which costs one system call. Copying 2 GB instead costs half a second and the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadMode {
    /// The file is mapped under a read lease (or on a file system that is mounted read-only): no copy, pages are read as they are touched.
    /// A program that opens the file for writing, or shortens it, waits until the mapping is gone, at most for the seconds in
    /// `/proc/sys/fs/lease-break-time` (45); this process gets the signal SIGIO, which ends a process without a handler for it. A handler
    /// has to end the process, or its use of the mapping, within that time. Where no lease is to be had (a file of another owner, one that is
    /// open for writing, some network file systems, systems other than Linux) it is as [`ReadMode::Copy`].
    #[default]
    Map,
    /// The file is mapped whoever may write to it: the caller answers that no process does. If another process shortens the file meanwhile,
    /// touching a lost page raises SIGBUS; if it writes to the file, anything may happen.
    MapUnguarded,
    /// The file is read into memory: later changes to it are of no consequence.
    Copy,
}

/// What is called with the bytes done and the bytes in all.
type Report = dyn Fn(u64, Option<u64>) + Send + Sync;

/// What is called with the name of a temporary file before it is there, and without one once it is gone.
type Announce = dyn Fn(Option<&Path>) + Send + Sync;

/// What is called with something that a reader noticed.
type Notice = dyn Fn(&Remark) + Send + Sync;

/// Something about a file that is no error, and that its owner may want to know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Remark {
    /// An edge list whose numbers begin at 1, read as if they began at 0.
    #[error("{}: the vertices seem to be numbered from 1, which adds an isolated vertex 0; --one-based numbers them so", path.display())]
    UnusedZero {
        /// The file.
        path: PathBuf,
    },
    /// An edge list with a fourth column, such as the time stamps of KONECT's, which is checked and left out.
    #[error("{}: the fourth column (time stamps?) is left out", path.display())]
    FourthColumn {
        /// The file.
        path: PathBuf,
    },
}

/// Progress, cancellation and remarks, all optional. Cheap to clone.
#[derive(Clone, Default)]
pub struct Control {
    cancel: Option<Arc<AtomicBool>>,
    progress: Option<Arc<Report>>,
    temporary: Option<Arc<Announce>>,
    remark: Option<Arc<Notice>>,
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
    /// Calls `notice(remark)` for what a reader noticed about a file.
    #[must_use]
    pub fn with_remark(mut self, notice: impl Fn(&Remark) + Send + Sync + 'static) -> Self {
        self.remark = Some(Arc::new(notice));
        self
    }
    /// Tells what was noticed.
    pub(crate) fn remark(&self, remark: Remark) {
        if let Some(notice) = &self.remark {
            notice(&remark);
        }
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
    /// The format of the file. Default: what its first bytes cannot but be, else what its ending says.
    pub format: Option<FileFormat>,
    /// Add the mirror image of every entry. Duplicates that arise are combined like any others, except that
    /// [`Duplicates::Error`] takes opposite entries of one value for what they are: both directions of an edge.
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
    /// Drop the values while parsing. That they are numbers is checked nonetheless; infinities and NaN are allowed then.
    pub as_pattern: bool,
    /// How bytes come into memory.
    pub mode: ReadMode,
    /// Progress and cancellation.
    pub control: Control,
}
