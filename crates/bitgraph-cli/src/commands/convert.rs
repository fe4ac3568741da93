//! `convert`: a graph in another file format, or a check of a file.

use crate::failure::{Failure, Result};
use crate::options::{ConvertArgs, GeneralArgs};
use crate::progress::Reporter;
use bitgraph::LoadedGraph;
use bitgraph::sparse::FormatKind;
use std::path::Path;

/// Loads, and writes or checks.
pub fn run(_: &ConvertArgs, _: &Reporter) -> Result<()> {
    Err(Failure::other("convert is not there yet"))
}

pub fn check_name(_: &Path) -> Result<()> {
    Ok(())
}

pub fn write(_: &Path, _: LoadedGraph, _: Option<FormatKind>, _: &GeneralArgs, _: &Reporter) -> Result<()> {
    Err(Failure::other("generate is not there yet"))
}
