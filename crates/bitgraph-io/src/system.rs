//! Memory mapping, how other programs are kept from changing what is mapped, and who may write to a file: the unsafe calls of this crate.
//!
//! Invariant: a mapping is private and read-only, so that this process never writes through it. Unless the caller answers for it, a file
//! is mapped only where no other process can write to it unnoticed: on a file system that is mounted read-only, or under a read lease. A
//! program that opens the file for writing, or shortens it, then waits until the lease is given back, and this process gets SIGIO.
#![allow(unsafe_code)]

use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io;
use std::path::Path;

/// A mapped file. The file stays open as long, and with it the lease.
pub(crate) struct Mapping {
    map: Mmap,
    _file: File,
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

/// Maps a file for reading. No other process may write to it meanwhile: [`is_guarded`], or the caller's word.
pub(crate) fn map(file: File) -> io::Result<Mapping> {
    // SAFETY: the mapping is read-only and kept alive by whoever borrows from it. That the bytes stay as they are is made sure of by a
    // lease or a read-only file system, or is the promise of whoever asked for `ReadMode::MapUnguarded`.
    let map = unsafe { MmapOptions::new().map(&file)? };
    Ok(Mapping { map, _file: file })
}

/// Whether no process can write to a file for as long as it is open here, without this process being told first.
#[cfg(target_os = "linux")]
pub(crate) fn is_guarded(file: &File) -> bool {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open; the call takes a lease and touches no memory. It fails while anybody has the file open for
    // writing, on files of other owners, and where a file system knows no leases.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) } == 0 {
        return true;
    }
    // SAFETY: all zeros is a valid `statvfs`, which the call fills.
    unsafe {
        let mut about: libc::statvfs = std::mem::zeroed();
        libc::fstatvfs(file.as_raw_fd(), &raw mut about) == 0 && about.f_flag & libc::ST_RDONLY != 0
    }
}

/// Other systems have no leases.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_guarded(_: &File) -> bool {
    false
}

/// Fails as opening the file for writing would. It is not opened: that would be told to whoever holds a lease on it.
#[cfg(unix)]
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the name is text that ends with a zero, and lives through the call.
    match unsafe { libc::faccessat(libc::AT_FDCWD, name.as_ptr(), libc::W_OK, libc::AT_EACCESS) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Elsewhere the permissions say it.
#[cfg(not(unix))]
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    if std::fs::metadata(path)?.permissions().readonly() { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}
