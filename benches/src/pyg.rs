//! Training steps of PyTorch Geometric beside ours: measured in the same run by a Python program, or those of a table.

use crate::contender::median;
use crate::external::times;
use anyhow::{Context, Result, bail, ensure};
use bitgraph::io::{WriteOptions, WriteSource, write};
use bitgraph::sparse::Csr;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = include_str!("../peers/pyg.py");
const TABLE: &str = include_str!("../data/pyg_layers.csv");
/// Columns of the models of the table.
const TABLE_COLUMNS: usize = 128;

/// A model of two layers by its name, and the dropout of every layer's input.
pub struct Model {
    pub name: &'static str,
    pub dropout: f64,
}

/// Milliseconds of a training step of each model on a graph, in f32, as a Python that has PyTorch Geometric measures them: medians. None for
/// a model that the program does not have.
///
/// # Errors
/// A file that cannot be written; a Python that fails, or tells no time of a model.
pub fn measured(python: &Path, csr: &Csr, columns: usize, repeat: usize, models: &[Model]) -> Result<Vec<Option<f64>>> {
    let folder = tempfile::tempdir().context("cannot create a temporary directory")?;
    let graph = folder.path().join("graph.npz");
    write(&graph, &WriteSource::new(csr), &WriteOptions::default())?;
    let wanted = models.iter().map(|model| format!("{}:{}", model.name, model.dropout));
    let output = Command::new(python)
        .args(["-c", PROGRAM])
        .arg(&graph)
        .args([columns.to_string(), repeat.to_string()])
        .args(wanted)
        .output()
        .with_context(|| format!("cannot start {}", python.display()))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}: {}", python.display(), output.status, errors.lines().last().unwrap_or(""));
    }
    let told = String::from_utf8_lossy(&output.stdout);
    models.iter().map(|model| step_of(&told, model.name)).collect()
}

/// The median of what is told of a model.
fn step_of(told: &str, model: &str) -> Result<Option<f64>> {
    let lines: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix(model)?.strip_prefix(": ")).collect();
    if lines == ["none"] {
        return Ok(None);
    }
    let times = times(&lines.join("\n"));
    ensure!(!times.is_empty(), "no time of {model} was told");
    Ok(Some(1e3 * median(&times)))
}

/// The step of the table, where it has the graph, the model and the columns.
///
/// # Errors
/// A table that is damaged.
pub fn published(graph: &str, model: &str, columns: usize) -> Result<Option<f64>> {
    let known = |line: &&str| columns == TABLE_COLUMNS && line.starts_with(&format!("{graph},{model},"));
    let step = TABLE.lines().find(known).and_then(|line| line.rsplit(',').next());
    step.map(|ms| ms.parse().context("pyg_layers.csv is damaged")).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_by_model() {
        let told = "gcn: 3.0 ms\ngcn: 1.0 ms\ngat: 9.5 ms\ngcn: 2.0 ms\nagnn: none\n";
        assert_eq!(step_of(told, "gcn").unwrap(), Some(2.0));
        assert_eq!(step_of(told, "gat").unwrap(), Some(9.5));
        assert_eq!(step_of(told, "agnn").unwrap(), None);
        assert!(step_of(told, "gin").is_err());
        assert_eq!(published("er100k", "gcn", 128).unwrap(), Some(3.9));
        assert_eq!((published("er100k", "gcn", 64).unwrap(), published("er100k", "agnn", 128).unwrap()), (None, None));
    }
}
