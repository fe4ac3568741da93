//! Reading a file of any format.

use crate::detect::{HEAD, MARK, detect};
use crate::source::Source;
use crate::{Error, FileFormat, Loaded, ReadMode, ReadOptions, Result};
use std::path::Path;

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
