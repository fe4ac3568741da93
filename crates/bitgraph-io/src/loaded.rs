//! What a reader returns, and what all readers share on the way to it.

use crate::{Error, ReadOptions, Result};
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
