//! Writing: by ending, to a temporary name beside the target that is renamed at the end, so that a target is whole or untouched.

use crate::read::{Ending, known_ending};
use crate::{Control, Error, Result};
use bitgraph_sparse::ordering::Ordering as Renumbering;
use bitgraph_sparse::{Csr, FormatKind, Permutation, Section, Values, with_values};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What is to be written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteSource<'a> {
    /// The pattern.
    pub csr: &'a Csr,
    /// Its values.
    pub values: Option<&'a Values>,
    /// Whether pattern and values equal their transpose. With None it is found out where the format can use it; `Some(true)` is
    /// checked by the text formats, since half of a matrix that is not symmetric would be lost.
    pub symmetric: Option<bool>,
    /// `.bgr`: the renumbering that the matrix is in.
    pub permutation: Option<&'a Permutation>,
    /// `.bgr`: which ordering computed that renumbering; none if it is not known.
    pub ordering: Renumbering,
    /// `.bgr`: the vertices' numbers in the file they came from. Edge lists: written instead of 0, 1, 2, ...
    pub original_ids: Option<&'a [u64]>,
    /// `.bgr`: the arrays of another format, written instead of the CSR.
    pub format: Option<(FormatKind, Vec<Section>)>,
}

impl<'a> WriteSource<'a> {
    /// A pattern, nothing else.
    #[must_use]
    pub fn new(csr: &'a Csr) -> Self {
        Self { csr, values: None, symmetric: None, permutation: None, ordering: Renumbering::None, original_ids: None, format: None }
    }
    /// With values.
    #[must_use]
    pub fn with_values(mut self, values: Option<&'a Values>) -> Self {
        self.values = values;
        self
    }
    /// With what is known of its symmetry.
    #[must_use]
    pub fn with_symmetric(mut self, symmetric: Option<bool>) -> Self {
        self.symmetric = symmetric;
        self
    }

    /// Whether pattern and values equal their transpose.
    pub(crate) fn is_symmetric(&self) -> bool {
        self.symmetric != Some(false) && self.csr.is_symmetric_with(self.values)
    }
}

/// Writes a graph; the ending of the name says the format: `.mtx`, `.el` (also `.wel`, `.txt`, `.tsv`, and `.csv` with commas), `.npz`, `.graph`, `.bgr`, and
/// the text formats with `.gz` behind. A symmetric graph becomes a symmetric `.mtx`.
///
/// # Errors
/// [`Error::UnknownEnding`], [`Error::Inexpressible`] for what the format cannot hold, [`Error::Io`], [`Error::Matrix`] for values of
/// another number than entries, [`Error::Cancelled`]. Nothing is left behind, and an older file of that name is untouched.
pub fn write(path: &Path, source: &WriteSource<'_>, control: &Control) -> Result<()> {
    let (kind, gz) = known_ending(path)?;
    let nnz = source.csr.nnz();
    if let Some(values) = source.values.filter(|v| v.len() != nnz && source.format.is_none()) {
        let source = bitgraph_sparse::Error::Length { array: "values", expected: nnz as u64, found: values.len() as u64 };
        return Err(Error::Matrix { path: path.to_path_buf(), source });
    }
    let inexpressible = |what| Err(Error::Inexpressible { path: path.to_path_buf(), what });
    if source.format.is_some() && kind != Ending::Bgr {
        return inexpressible("only a .bgr file can hold another format than CSR");
    }
    if source.permutation.is_some() && kind != Ending::Bgr {
        return inexpressible("only a .bgr file can hold a renumbering");
    }
    if source.original_ids.is_some() && !crate::read::holds_ids(path) {
        return inexpressible("only .bgr files and edge lists can hold vertex numbers other than 0, 1, 2, ...");
    }
    if kind != Ending::Bgr
        && kind != Ending::Npz
        && let Some(values) = source.values
        && with_values!(values, v => v.iter().any(|x| !bitgraph_semiring::Scalar::to_f64(*x).is_finite()))
    {
        return inexpressible("a value is not finite, which text formats cannot hold");
    }
    match kind {
        Ending::Npz if source.values.is_some_and(|v| crate::numpy::npz::descr(v.dtype()).is_none()) => {
            inexpressible("numpy has no bf16; convert the values first")
        }
        Ending::EdgeList if !source.csr.is_square() => inexpressible("an edge list holds square matrices only"),
        Ending::Mtx => atomically_gz(path, gz, control, |out| crate::mtx::write::write(out, source)),
        Ending::EdgeList => atomically_gz(path, gz, control, |out| crate::lines::edge_list(out, path, source)),
        Ending::Metis => {
            crate::lines::check_metis(path, source)?;
            atomically_gz(path, gz, control, |out| crate::lines::metis(out, source))
        }
        Ending::Npz => atomically(path, control, |out| {
            let (path, mut writer) = (out.path.clone(), Through(out));
            crate::numpy::npz::write(&mut writer, source.csr, source.values).map_err(|e| cancelled_or(&path, e))
        }),
        Ending::Bgr => crate::bgr::write::write(path, source, control),
    }
}

/// Where a writer puts its bytes.
pub(crate) struct Sink<'a> {
    out: &'a mut dyn Write,
    path: PathBuf,
    control: &'a Control,
    written: u64,
}

impl Sink<'_> {
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
struct Through<'a, 'b>(&'a mut Sink<'b>);

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

fn cancelled_or(path: &Path, e: io::Error) -> Error {
    match e.downcast::<Error>() {
        Ok(inner) => inner,
        Err(source) => Error::Io { path: path.to_path_buf(), source },
    }
}

/// As [`atomically`], through a gzip encoder if asked for.
fn atomically_gz(path: &Path, gz: bool, control: &Control, body: impl FnOnce(&mut Sink<'_>) -> Result<()>) -> Result<()> {
    if !gz {
        return atomically(path, control, body);
    }
    atomically(path, control, |out| {
        let path = out.path.clone();
        let mut encoder = GzEncoder::new(Through(out), Compression::fast());
        let mut inner = Sink { out: &mut encoder, path: path.clone(), control, written: 0 };
        body(&mut inner)?;
        encoder.finish().map(drop).map_err(|e| cancelled_or(&path, e))
    })
}

/// Removes a temporary file unless it was renamed.
struct Temporary<'a>(Option<PathBuf>, &'a Control);

impl<'a> Temporary<'a> {
    /// Makes the file.
    fn create(path: PathBuf, control: &'a Control) -> io::Result<(File, Self)> {
        control.temporary(Some(&path));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Ok((file, Self(Some(path), control))),
            Err(error) => {
                control.temporary(None);
                Err(error)
            }
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
        self.1.temporary(None);
    }
}

/// Writes a file of these bytes under a temporary name beside it and renames it.
///
/// # Errors
/// [`Error::Io`], [`Error::Cancelled`]. Nothing is left behind, and an older file of that name is untouched.
pub fn write_bytes(path: &Path, bytes: &[u8], control: &Control) -> Result<()> {
    atomically(path, control, |out| out.put(bytes))
}

/// Writes a file under a temporary name in the same folder and renames it when all is on the disk. What is no regular file, such as
/// a pipe or a device, is written to directly.
pub(crate) fn atomically(path: &Path, control: &Control, body: impl FnOnce(&mut Sink<'_>) -> Result<()>) -> Result<()> {
    let io = |source| Error::Io { path: path.to_path_buf(), source };
    let existing = std::fs::metadata(path);
    if existing.as_ref().is_ok_and(|m| m.is_dir()) {
        return Err(io(io::ErrorKind::IsADirectory.into()));
    }
    if existing.as_ref().is_ok_and(|m| !m.is_file()) {
        let file = OpenOptions::new().write(true).open(path).map_err(io)?;
        return fill(file, path, control, body).map(drop);
    }
    // A link stays a link: what it points to is replaced.
    let target = if existing.is_ok() { path.canonicalize().map_err(io)? } else { path.to_path_buf() };
    let name = target.file_name().ok_or_else(|| io(io::ErrorKind::InvalidInput.into()))?.to_string_lossy().into_owned();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let unique = format!(".{name}.{}.{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let temporary = target.with_file_name(unique);
    let (file, mut guard) = Temporary::create(temporary.clone(), control).map_err(io)?;
    let file = fill(file, path, control, body)?;
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
    body(&mut Sink { out: &mut out, path: path.to_path_buf(), control, written: 0 })?;
    out.into_inner().map_err(|e| Error::Io { path: path.to_path_buf(), source: e.into_error() })
}
