//! Reading a file of any format, and what all readers share.

use crate::detect::{HEAD, MARK, detect};
use crate::source::Source;
use crate::{Error, FileFormat, ReadMode, ReadOptions, Result};
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Coo, Csr, Duplicates, FormatKind, Permutation, Sections, Values, mirrored};
use std::path::Path;

/// What a file held.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The pattern. Of no rows and columns if [`Loaded::format`] holds it in another format.
    pub csr: Csr,
    /// The values in the pattern's order, if the file has any and they were asked for.
    pub values: Option<Values>,
    /// Whether pattern and values equal their transpose, where the file says so; None where nothing is known.
    pub symmetric: Option<bool>,
    /// The file's own vertex numbers, ascending, if vertices were relabelled.
    pub original_ids: Option<Vec<u64>>,
    /// The renumbering that a container was written with: rows and columns are in its new numbers.
    pub permutation: Option<Permutation>,
    /// The ordering that computed it, where the container says so.
    pub ordering: Ordering,
    /// The pattern in another format than CSR, if a container holds one.
    pub format: Option<StoredFormat>,
}

/// A pattern in another format than CSR: arrays whose bytes are as they were written, which the format itself is to check.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredFormat {
    /// The format.
    pub kind: FormatKind,
    /// Rows, as the header says.
    pub rows: usize,
    /// Columns, as the header says.
    pub columns: usize,
    /// Entries, as the header says.
    pub entries: u64,
    /// The arrays by name.
    pub sections: Sections,
}

impl Loaded {
    /// A pattern and its values, nothing else known.
    #[must_use]
    pub fn new(csr: Csr, values: Option<Values>) -> Self {
        Self { csr, values, symmetric: None, original_ids: None, permutation: None, ordering: Ordering::None, format: None }
    }
}

/// Reads a graph. [`ReadOptions::format`] says the format; without it the first bytes do, where they cannot be anything else, and
/// otherwise the ending of the name. gzip data are recognised by their first bytes.
///
/// | ending | format | numbering |
/// |---|---|---|
/// | `.mtx` | Matrix Market | from 1 |
/// | `.el`, `.wel`, `.txt`, `.tsv`, `.csv`, `.edges`, `.edgelist`, `.dat`, and names `out.*` | edge list | from 0, or [`ReadOptions::one_based`] |
/// | `.graph` | METIS | from 1 |
/// | `.npz` | scipy CSR, CSC or COO | from 0 |
/// | `.bgr` | bitgraph's container | from 0 |
/// | `.gr` | DIMACS, shortest paths | from 1 |
/// | `.sg`, `.wsg` | GAP's serialized graph | from 0 |
///
/// Whole numbers become 32-bit values if all of them fit, 64-bit ones otherwise; others become `f64`.
///
/// # Errors
/// Any [`Error`]: each names the file and, for text, the line.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Loaded> {
    match Source::open(path, options.mode) {
        Ok(source) => read_source(source, path, options, true),
        // Perhaps it is no file that is meant.
        Err(Error::Io { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound
                && options.format.is_none()
                && path.extension().is_some()
                && FileFormat::from_name_of(path).is_none() =>
        {
            Err(crate::detect::unknown(path))
        }
        Err(error) => Err(error),
    }
}

/// Reads a graph from a reader, such as standard input, as [`read`] does; what says nothing else of itself is an edge list. `name` stands
/// for the file in error messages.
///
/// # Errors
/// As [`read`].
pub fn read_from(reader: impl std::io::Read, name: &str, options: &ReadOptions) -> Result<Loaded> {
    let path = Path::new(name);
    read_source(Source::from_reader(reader, path)?, path, options, false)
}

fn read_source(mut source: Source<'_>, path: &Path, options: &ReadOptions, named: bool) -> Result<Loaded> {
    let head = source.head(HEAD, path)?;
    let format = detect(head, path, options.format, named)?;
    if format.is_text() && head.starts_with(MARK) {
        source.skip(MARK.len());
    }
    match format {
        FileFormat::Mtx => crate::mtx::read(source, path, options),
        FileFormat::Edges => crate::edges::read(source, path, options),
        FileFormat::Metis => crate::metis::read(source, path, options),
        FileFormat::Gr => crate::gr::read(source, path, options),
        FileFormat::Npz => crate::numpy::npz::from_bytes((*source.into_bytes(path)?).as_ref(), path, options),
        FileFormat::Sg => crate::sg::read((*source.into_bytes(path)?).as_ref(), path, options),
        FileFormat::Bgr => {
            let container = crate::Container::from_bytes(source.into_bytes(path)?, path)?;
            options.control.step(0, None)?;
            container.load(options)
        }
    }
}

/// The format that a file would be read in.
///
/// # Errors
/// [`Error::Io`]; [`Error::Foreign`] or [`Error::UnknownEnding`] for none.
pub fn file_format(path: &Path, forced: Option<FileFormat>) -> Result<FileFormat> {
    let mut source = Source::open(path, ReadMode::Copy)?;
    detect(source.head(HEAD, path)?, path, forced, true)
}

/// The error for a claim that does not hold.
pub(crate) fn not_symmetric(path: &Path) -> Error {
    let what = "it says that the matrix is symmetric, which it is not";
    Error::Malformed { path: path.to_path_buf(), part: "header".into(), what }
}

/// Vertices that are taken on trust whatever the size of the file: 256 MiB of offsets.
const TRUSTED: u64 = 1 << 26;

/// Refuses a number of vertices that is out of all proportion to the file, unless it is confirmed. `what` they are called in the file.
pub(crate) fn check_vertices(path: &Path, what: &'static str, vertices: u64, bytes: u64, options: &ReadOptions) -> Result<()> {
    let confirmed = options.nodes.is_some_and(|n| n as u64 >= vertices);
    if vertices > TRUSTED.max(bytes.saturating_mul(64)) && !confirmed {
        return Err(Error::TooSparse { path: path.to_path_buf(), what, vertices, bytes });
    }
    Ok(())
}

/// The pattern of entries, mirrored if asked for.
pub(crate) fn from_coo(mut coo: Coo, path: &Path, options: &ReadOptions) -> Result<Loaded> {
    let matrix = |source| Error::Matrix { path: path.to_path_buf(), source };
    options.control.step(0, None)?;
    let given = coo.mirrored;
    let duplicates = options.duplicates;
    let mut symmetric = given.then_some(!coo.skew || coo.values.is_none());
    if options.symmetrize && !given {
        if coo.values.is_none() {
            // Without values the union of two patterns is cheaper than twice as many entries.
            let (csr, _) = coo.into_csr(duplicates).map_err(matrix)?;
            let csr = csr.symmetrized().map_err(matrix)?;
            return Ok(Loaded { symmetric: Some(true), ..Loaded::new(csr, None) });
        }
        if duplicates == Duplicates::Error {
            // Entries as given may not repeat, and opposite ones must agree.
            let (csr, values) = coo.into_csr(duplicates).map_err(matrix)?;
            return symmetrized(Loaded::new(csr, values), path, options);
        }
        coo.mirrored = true;
        symmetric = Some(true);
    }
    let (csr, values) = coo.into_csr(duplicates).map_err(matrix)?;
    Ok(Loaded { symmetric, ..Loaded::new(csr, values) })
}

/// A matrix that is in memory already, and its mirror image.
pub(crate) fn symmetrized(loaded: Loaded, path: &Path, options: &ReadOptions) -> Result<Loaded> {
    let both = mirrored(&loaded.csr, loaded.values, loaded.permutation.as_ref(), options.duplicates);
    let (csr, values) = both.map_err(|source| Error::Matrix { path: path.to_path_buf(), source })?;
    Ok(Loaded { csr, values, symmetric: Some(true), ..loaded })
}
