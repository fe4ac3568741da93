//! Writing: by ending, to a temporary name beside the target that is renamed at the end, so that a target is whole or untouched.

use crate::{Error, FileFormat, Listener, Result, Temporary, WriteOptions};
use bitgraph_sparse::ordering::Ordering as Renumbering;
use bitgraph_sparse::{Control, Csr, FormatKind, Permutation, Section, Values, with_values};
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

/// The format that a name's ending says, and whether it says compressed, if it is one that is written.
fn written(path: &Path) -> Result<(FileFormat, bool)> {
    const KNOWN: &str = ".mtx, .el, .wel, .txt, .tsv, .csv, .edges, .edgelist, .dat, .graph (each with .gz or without), .npz, .bgr";
    let packs = |&(format, gz): &(FileFormat, bool)| FileFormat::WRITTEN.contains(&format) && (format.is_text() || !gz);
    crate::detect::ending(path).filter(packs).ok_or_else(|| Error::UnknownEnding { path: path.to_path_buf(), known: KNOWN })
}

/// The format that [`write()`] takes a name for; refuses others before there is anything to write.
///
/// # Errors
/// [`Error::UnknownEnding`].
pub fn check_ending(path: &Path) -> Result<FileFormat> {
    written(path).map(|(format, _)| format)
}

/// Writes a graph; the ending of the name says the format: `.mtx`, `.el` (also `.wel`, `.txt`, `.tsv`, `.edges`, `.edgelist`, `.dat`, and `.csv`
/// with commas), `.npz`, `.graph`, `.bgr`, and the text formats with `.gz` behind. A symmetric graph becomes a symmetric `.mtx`.
///
/// # Errors
/// [`Error::UnknownEnding`], [`Error::Inexpressible`] for what the format cannot hold, [`Error::Io`], [`Error::Folder`], [`Error::Matrix`] for
/// values of another number than entries, [`Error::Cancelled`]. Nothing is left behind, and an older file of that name is untouched.
pub fn write(path: &Path, source: &WriteSource<'_>, options: &WriteOptions) -> Result<()> {
    let (format, _) = written(path)?;
    write_as(path, format, source, options)
}

/// Writes a graph in a format of [`FileFormat::WRITTEN`] whatever the name's ending; `.gz` behind it packs the text formats.
///
/// # Errors
/// As [`write()`]; [`Error::Unsupported`] for another format.
pub fn write_as(path: &Path, format: FileFormat, source: &WriteSource<'_>, options: &WriteOptions) -> Result<()> {
    check(path, format, source)?;
    let gz = format.is_text() && path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    if !gz {
        return atomically(path, options, |out| body(out, format, source));
    }
    atomically(path, options, |out| {
        let path = out.path.clone();
        let mut encoder = GzEncoder::new(Through(out), Compression::fast());
        let mut inner = Sink { out: &mut encoder, path: path.clone(), control: &options.control, written: 0 };
        body(&mut inner, format, source)?;
        encoder.finish().map(drop).map_err(|e| cancelled_or(&path, e))
    })
}

/// Writes a graph to a writer, such as standard output; `name` stands for the file in error messages.
///
/// # Errors
/// As [`write_as`].
pub fn write_to(out: impl Write, name: &str, format: FileFormat, source: &WriteSource<'_>, options: &WriteOptions) -> Result<()> {
    let path = PathBuf::from(name);
    check(&path, format, source)?;
    let mut out = BufWriter::with_capacity(1 << 20, out);
    body(&mut Sink { out: &mut out, path: path.clone(), control: &options.control, written: 0 }, format, source)?;
    out.flush().map_err(|source| Error::Io { path, source })
}

/// Refuses what the format cannot hold.
fn check(path: &Path, format: FileFormat, source: &WriteSource<'_>) -> Result<()> {
    if !FileFormat::WRITTEN.contains(&format) {
        let (path, found) = (path.to_path_buf(), format.name().into());
        return Err(Error::Unsupported { path, what: "output format", found, known: "mtx, edges, metis, npz, bgr" });
    }
    let nnz = source.csr.nnz();
    if let Some(values) = source.values.filter(|v| v.len() != nnz && source.format.is_none()) {
        let source = bitgraph_sparse::Error::Length { array: "values", expected: nnz as u64, found: values.len() as u64 };
        return Err(Error::Matrix { path: path.to_path_buf(), source });
    }
    let inexpressible = |what| Err(Error::Inexpressible { path: path.to_path_buf(), what });
    if source.format.is_some() && format != FileFormat::Bgr {
        return inexpressible("only a .bgr file can hold another format than CSR");
    }
    if source.permutation.is_some() && format != FileFormat::Bgr {
        return inexpressible("only a .bgr file can hold a renumbering");
    }
    if source.original_ids.is_some() && !format.holds_ids() {
        return inexpressible("only .bgr files and edge lists can hold vertex numbers other than 0, 1, 2, ...");
    }
    if format.is_text()
        && let Some(values) = source.values
        && with_values!(values, v => v.iter().any(|x| !bitgraph_semiring::Scalar::to_f64(*x).is_finite()))
    {
        return inexpressible("a value is not finite, which text formats cannot hold");
    }
    match format {
        FileFormat::Npz if source.values.is_some_and(|v| crate::numpy::npz::descr(v.dtype()).is_none()) => {
            inexpressible("numpy has no bf16; convert the values first")
        }
        FileFormat::Edges if !source.csr.is_square() => inexpressible("an edge list holds square matrices only"),
        FileFormat::Metis => crate::lines::check_metis(path, source),
        _ => Ok(()),
    }
}

/// Writes what [`check`] has passed.
fn body(out: &mut Sink<'_>, format: FileFormat, source: &WriteSource<'_>) -> Result<()> {
    let path = out.path.clone();
    match format {
        FileFormat::Mtx => crate::mtx::write::write(out, source),
        FileFormat::Metis => crate::lines::metis(out, source),
        FileFormat::Npz => crate::numpy::npz::write(&mut Through(out), source.csr, source.values).map_err(|e| cancelled_or(&path, e)),
        FileFormat::Bgr => crate::bgr::write::write(out, &path, source),
        FileFormat::Edges | FileFormat::Gr | FileFormat::Sg => crate::lines::edge_list(out, &path, source),
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
    body(&mut Sink { out: &mut out, path: path.to_path_buf(), control, written: 0 })?;
    out.into_inner().map_err(|e| Error::Io { path: path.to_path_buf(), source: e.into_error() })
}
