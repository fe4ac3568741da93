//! Graphs as files for external programs, each written when it is first asked for and removed at the end.

use crate::task::Subject;
use anyhow::{Context, Result, bail};
use bitgraph::io::{self, WriteSource};
use bitgraph::sparse::{Csr, Values};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The file formats, by the placeholder that asks for them: GAP's serialized graph without and with weights, Matrix Market, edge lists
/// without and with weights.
pub const KINDS: [&str; 5] = ["sg", "wsg", "mtx", "el", "wel"];

/// The files of one graph.
pub struct GraphFiles {
    directory: TempDir,
    written: BTreeMap<&'static str, PathBuf>,
}

impl GraphFiles {
    /// None yet.
    ///
    /// # Errors
    /// If there is no directory for temporary files.
    pub fn new() -> Result<Self> {
        Ok(Self { directory: tempfile::tempdir().context("cannot create a temporary directory")?, written: BTreeMap::new() })
    }
    /// The graph's file of a kind.
    ///
    /// # Errors
    /// A kind that is not among [`KINDS`], or whatever goes wrong in writing.
    pub fn path(&mut self, subject: &Subject, kind: &str) -> Result<PathBuf> {
        let Some(kind) = KINDS.into_iter().find(|k| *k == kind) else { bail!("no file format is called {kind:?}") };
        if let Some(path) = self.written.get(kind) {
            return Ok(path.clone());
        }
        let name = if kind == "wel" { "graph_weighted.el".to_string() } else { format!("graph.{kind}") };
        let path = self.directory.path().join(name);
        match kind {
            "sg" => gap_file(&path, subject, false),
            "wsg" => gap_file(&path, subject, true),
            _ => {
                let weights = (kind == "wel").then(|| Values::from_vec(subject.weights.clone()));
                let source = WriteSource::new(subject.csr()).with_values(weights.as_ref()).with_symmetric(Some(subject.loaded.symmetric));
                io::write(&path, &source, &io::WriteOptions::default()).map_err(Into::into)
            }
        }
        .with_context(|| format!("cannot write {}", path.display()))?;
        self.written.insert(kind, path.clone());
        Ok(path)
    }
}

fn gap_file(path: &Path, subject: &Subject, weighted: bool) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let weights = weighted.then_some(&subject.weights[..]);
    write_gap(&mut out, subject.csr(), weights, subject.loaded.symmetric)?;
    Ok(out.flush()?)
}

/// Writes the serialized form of the GAP benchmark suite, little-endian: a byte that says whether the graph is directed, the number of
/// entries and of vertices, 64-bit offsets, and 32-bit neighbours, each followed by its weight if there are any; for a directed graph
/// offsets and neighbours of the transpose again.
///
/// # Errors
/// The writer's.
pub fn write_gap(out: &mut impl Write, csr: &Csr, weights: Option<&[u32]>, symmetric: bool) -> std::io::Result<()> {
    out.write_all(&[u8::from(!symmetric)])?;
    out.write_all(&(csr.nnz() as i64).to_le_bytes())?;
    out.write_all(&(csr.nrows() as i64).to_le_bytes())?;
    write_lists(out, csr, |k| weights.map(|w| w[k]))?;
    if !symmetric {
        let (transpose, positions) = csr.transpose_with_positions();
        write_lists(out, &transpose, |k| weights.map(|w| w[positions[k]]))?;
    }
    Ok(())
}

fn write_lists(out: &mut impl Write, csr: &Csr, weight: impl Fn(usize) -> Option<u32>) -> std::io::Result<()> {
    for row in 0..=csr.nrows() {
        out.write_all(&(csr.offsets().get(row) as i64).to_le_bytes())?;
    }
    for (k, neighbour) in csr.indices().iter().enumerate() {
        out.write_all(&neighbour.to_le_bytes())?;
        if let Some(weight) = weight(k) {
            out.write_all(&weight.to_le_bytes())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph::sparse::{Coo, Duplicates};

    #[test]
    fn serialized_for_gap() {
        let (csr, _) = Coo::pattern(2, 2, vec![0], vec![1]).into_csr(Duplicates::First).unwrap();
        let mut bytes = Vec::new();
        write_gap(&mut bytes, &csr, Some(&[9]), false).unwrap();
        assert_eq!(bytes.len(), 1 + 16 + 2 * (24 + 8));
        assert_eq!((bytes[0], bytes[1], bytes[9]), (1, 1, 2));
        let last: Vec<u8> = bytes[bytes.len() - 8..].to_vec();
        assert_eq!(last, [0, 0, 0, 0, 9, 0, 0, 0]);
    }
}
