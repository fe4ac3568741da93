//! Where writers put their bytes: a temporary name beside the target that is renamed at the end, so that a target is whole or untouched.

use crate::{Error, Listener, Result, Temporary, WriteOptions};
use bitgraph_sparse::Control;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a writer puts its bytes.
pub(crate) struct Sink<'a> {
    out: &'a mut dyn Write,
    path: PathBuf,
    control: &'a Control,
    written: u64,
}

impl<'a> Sink<'a> {
    /// One that passes bytes on to `out`; `path` is named in errors.
    pub(crate) fn new(out: &'a mut dyn Write, path: &Path, control: &'a Control) -> Self {
        Self { out, path: path.to_path_buf(), control, written: 0 }
    }
    /// The file's name, for errors.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
    /// Writes bytes, in steps between which the work can be cancelled.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        for step in bytes.chunks(16 << 20) {
            self.control.step(self.written, None)?;
            // An encoder passes on what the sink below it said.
            self.out.write_all(step).map_err(|e| cancelled_or(&self.path, e))?;
            self.written += step.len() as u64;
        }
        Ok(())
    }
}

/// A sink as an [`io::Write`].
pub(crate) struct Through<'a, 'b>(pub &'a mut Sink<'b>);

impl Write for Through<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.put(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(Error::Io { source, .. }) => Err(source),
            Err(other) => Err(io::Error::other(other)),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error that an encoder passed on, or one of writing.
pub(crate) fn cancelled_or(path: &Path, e: io::Error) -> Error {
    match e.downcast::<Error>() {
        Ok(inner) => inner,
        Err(source) => Error::Io { path: path.to_path_buf(), source },
    }
}

/// Removes a temporary file unless it was renamed.
struct Guard<'a>(Option<PathBuf>, &'a Listener<Temporary>);

impl<'a> Guard<'a> {
    /// Makes the file.
    fn create(path: PathBuf, listener: &'a Listener<Temporary>) -> io::Result<(File, Self)> {
        listener.tell(&Temporary::Made(path.clone()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Ok((file, Self(Some(path), listener))),
            Err(error) => {
                listener.tell(&Temporary::Gone);
                Err(error)
            }
        }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
        self.1.tell(&Temporary::Gone);
    }
}

/// Writes a file of these bytes under a temporary name beside it and renames it.
///
/// # Errors
/// [`Error::Io`], [`Error::Cancelled`]. Nothing is left behind, and an older file of that name is untouched.
pub fn write_bytes(path: &Path, bytes: &[u8], options: &WriteOptions) -> Result<()> {
    atomically(path, options, |out| out.put(bytes))
}

/// What a name stands for once links are followed, whether anything is there or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    // As many as the system follows.
    const LINKS: usize = 40;
    let mut at = path.to_path_buf();
    for _ in 0..LINKS {
        match std::fs::read_link(&at) {
            Ok(next) => at = at.parent().map_or_else(|| next.clone(), |folder| folder.join(&next)),
            Err(_) => return Ok(at),
        }
    }
    Err(io::Error::other(format!("more than {LINKS} links follow each other")))
}

/// Makes a file of a new name in the folder of `target`. The name is short whatever the target's is, which may be as long as a name can be.
fn temporary<'a>(target: &Path, options: &'a WriteOptions) -> io::Result<(PathBuf, File, Guard<'a>)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let name = format!(".bitgraph-{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = target.with_file_name(name);
        match Guard::create(path.clone(), &options.temporary) {
            // Left by another process of that number: there are fewer of them than names.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|(file, guard)| (path, file, guard)),
        }
    }
}

/// Writes a file under a temporary name in the same folder and renames it when all is on the disk. A link stays a link: what it points to
/// is replaced, or made. A file that may not be written to is not replaced either. What is no regular file, such as a pipe or a device, is
/// written to directly.
pub(crate) fn atomically(path: &Path, options: &WriteOptions, body: impl FnOnce(&mut Sink<'_>) -> Result<()>) -> Result<()> {
    let io = |source| Error::Io { path: path.to_path_buf(), source };
    let existing = std::fs::metadata(path);
    match &existing {
        Ok(m) if m.is_dir() => return Err(io(io::ErrorKind::IsADirectory.into())),
        Ok(m) if !m.is_file() => {
            let file = OpenOptions::new().write(true).open(path).map_err(io)?;
            return fill(file, path, &options.control, body).map(drop);
        }
        Ok(_) => crate::system::check_writable(path).map_err(io)?,
        Err(_) => {}
    }
    let target = followed(path).map_err(io)?;
    if target.file_name().is_none() {
        return Err(io(io::ErrorKind::InvalidInput.into()));
    }
    let (temporary, file, mut guard) = temporary(&target, options).map_err(|source| {
        let folder = target.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Error::Folder { path: path.to_path_buf(), folder: folder.to_path_buf(), source }
    })?;
    let file = fill(file, path, &options.control, body)?;
    if let Ok(old) = existing {
        file.set_permissions(old.permissions()).map_err(io)?;
    }
    file.sync_data().map_err(io)?;
    drop(file);
    std::fs::rename(&temporary, &target).map_err(io)?;
    guard.0 = None;
    Ok(())
}

fn fill(file: File, path: &Path, control: &Control, body: impl FnOnce(&mut Sink<'_>) -> Result<()>) -> Result<File> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    body(&mut Sink::new(&mut out, path, control))?;
    out.into_inner().map_err(|e| Error::Io { path: path.to_path_buf(), source: e.into_error() })
}
