//! Writing a graph in any format.

use crate::sink::{Sink, Through, atomically, cancelled_or};
use crate::{Error, FileFormat, Result, WriteOptions, WriteSource};
use bitgraph_sparse::with_values;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

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
        let path = out.path().to_path_buf();
        let mut encoder = GzEncoder::new(Through(out), Compression::fast());
        let mut inner = Sink::new(&mut encoder, &path, &options.control);
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
    body(&mut Sink::new(&mut out, &path, &options.control), format, source)?;
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
    let path = out.path().to_path_buf();
    match format {
        FileFormat::Mtx => crate::mtx::write::write(out, source),
        FileFormat::Metis => crate::lines::metis(out, source),
        FileFormat::Npz => crate::numpy::npz::write(&mut Through(out), source.csr, source.values).map_err(|e| cancelled_or(&path, e)),
        FileFormat::Bgr => crate::bgr::write::write(out, &path, source),
        FileFormat::Edges | FileFormat::Gr | FileFormat::Sg => crate::lines::edge_list(out, &path, source),
    }
}
