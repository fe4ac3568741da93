//! How a file is to be read and written: what to do with duplicates, numbering, values; who hears of it.

use crate::FileFormat;
use bitgraph_sparse::{Control, Duplicates};
use std::path::PathBuf;
use std::sync::Arc;

/// How the bytes of a file come into memory.
///
/// Kernels check the arrays of a graph once and use them unchecked afterwards, so that bytes which change in between could make them
/// read and write anywhere. A mapping is therefore guarded: Linux gives a process a read lease on a file that it owns and no other process has open
/// for writing, which costs one system call. Copying 2 GB instead costs half a second and the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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

/// A temporary file of a writer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Temporary {
    /// A file of this name is about to be made.
    Made(PathBuf),
    /// It is renamed or removed.
    Gone,
}

/// What a [`Listener`] calls.
type Listen<E> = dyn Fn(&E) + Send + Sync;

/// A function that is called with events; by default there is no listener. Cheap to clone.
///
/// ```
/// use bitgraph_io::{Listener, ReadOptions, Remark};
///
/// let options = ReadOptions { remark: Listener::new(|remark: &Remark| eprintln!("{remark}")), ..ReadOptions::default() };
/// # let _ = options;
/// ```
pub struct Listener<E>(Option<Arc<Listen<E>>>);

impl<E> Listener<E> {
    /// Calls `listen` with every event, from whichever thread it happens on.
    #[must_use]
    pub fn new(listen: impl Fn(&E) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listen)))
    }
    /// Tells of an event.
    pub(crate) fn tell(&self, event: &E) {
        if let Some(listen) = &self.0 {
            listen(event);
        }
    }
}

impl<E> Clone for Listener<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E> Default for Listener<E> {
    fn default() -> Self {
        Self(None)
    }
}

impl<E> std::fmt::Debug for Listener<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("listens", &self.0.is_some()).finish()
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
    /// Progress, in bytes of the file, and cancellation.
    pub control: Control,
    /// Hears what a reader noticed about the file.
    pub remark: Listener<Remark>,
}

/// How a file is to be written.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Progress, in bytes written, and cancellation.
    pub control: Control,
    /// Hears of the temporary file, so that a program that is to end at once can remove it.
    pub temporary: Listener<Temporary>,
}
