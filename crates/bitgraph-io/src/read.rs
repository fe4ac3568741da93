//! Reading a file by its ending, and what all readers share.

use crate::source::{Source, open_text};
use crate::{Error, ReadOptions, Result};
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Coo, Csr, Duplicates, FormatKind, Permutation, Sections, Values, mirrored};
use std::path::Path;

/// The endings that are read and written.
const KNOWN: &str = ".mtx, .el, .wel, .txt, .tsv, .csv, .graph (each with .gz or without), .npz, .bgr";

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

/// The kinds of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Mtx,
    EdgeList,
    Npz,
    Metis,
    Bgr,
}

/// The kind of file that a name's ending says, and whether it is compressed.
pub(crate) fn ending(path: &Path) -> Option<(Ending, bool)> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let (name, gz) = name.strip_suffix(".gz").map_or((&name[..], false), |n| (n, true));
    let kind = match name.rsplit_once('.')?.1 {
        "mtx" => Ending::Mtx,
        "el" | "wel" | "txt" | "tsv" | "csv" => Ending::EdgeList,
        "graph" => Ending::Metis,
        "npz" if !gz => Ending::Npz,
        "bgr" if !gz => Ending::Bgr,
        _ => return None,
    };
    Some((kind, gz))
}

/// The same, or the error that names the endings that there are.
pub(crate) fn known_ending(path: &Path) -> Result<(Ending, bool)> {
    ending(path).ok_or_else(|| Error::UnknownEnding { path: path.to_path_buf(), known: KNOWN })
}

/// Refuses a name whose ending says no format, before there is anything to read or write.
///
/// # Errors
/// [`Error::UnknownEnding`].
pub fn check_ending(path: &Path) -> Result<()> {
    known_ending(path).map(drop)
}

/// Whether a file of this name can hold vertex numbers other than 0, 1, 2, ...: [`WriteSource::original_ids`](crate::WriteSource).
#[must_use]
pub fn holds_ids(path: &Path) -> bool {
    matches!(ending(path), Some((Ending::Bgr | Ending::EdgeList, _)))
}

/// Reads a graph; the ending of the name says the format. gzip data are recognised by their first bytes.
///
/// | ending | format | numbering |
/// |---|---|---|
/// | `.mtx` | Matrix Market | from 1 |
/// | `.el`, `.wel`, `.txt`, `.tsv`, `.csv` | edge list | from 0, or [`ReadOptions::one_based`] |
/// | `.graph` | METIS | from 1 |
/// | `.npz` | scipy CSR, CSC or COO | from 0 |
/// | `.bgr` | bitgraph's container | from 0 |
///
/// Whole numbers become 32-bit values if all of them fit, 64-bit ones otherwise; others become `f64`.
///
/// # Errors
/// Any [`Error`]: each names the file and, for text, the line.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Loaded> {
    match known_ending(path)?.0 {
        Ending::Mtx => crate::mtx::read(open_text(path, options.mode)?, path, options),
        Ending::EdgeList => crate::edges::read(open_text(path, options.mode)?, path, options),
        Ending::Metis => crate::metis::read(open_text(path, options.mode)?, path, options),
        Ending::Npz => crate::numpy::npz::read(path, options),
        Ending::Bgr => crate::bgr::read(path, options),
    }
}

/// Reads an edge list from a reader, such as standard input; `name` stands for the file in error messages.
///
/// # Errors
/// As [`read`].
pub fn read_edge_list_from(reader: impl std::io::Read, name: &str, options: &ReadOptions) -> Result<Loaded> {
    crate::edges::read(Source::from_reader(reader), Path::new(name), options)
}

/// Reads a Matrix Market text from a reader; `name` stands for the file in error messages.
///
/// # Errors
/// As [`read`].
pub fn read_matrix_market_from(reader: impl std::io::Read, name: &str, options: &ReadOptions) -> Result<Loaded> {
    crate::mtx::read(Source::from_reader(reader), Path::new(name), options)
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
    let mut duplicates = options.duplicates;
    let mut symmetric = given.then_some(!coo.skew || coo.values.is_none());
    if options.symmetrize && !given {
        if coo.values.is_none() {
            // Without values the union of two patterns is cheaper than twice as many entries.
            let (csr, _) = coo.into_csr(duplicates).map_err(matrix)?;
            let csr = csr.symmetrized().map_err(matrix)?;
            return Ok(Loaded { symmetric: Some(true), ..Loaded::new(csr, None) });
        }
        if duplicates == Duplicates::Error {
            // Only entries as given may not repeat; a pair of opposite arcs is no duplicate.
            coo.clone().into_csr(duplicates).map_err(matrix)?;
            duplicates = Duplicates::First;
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
