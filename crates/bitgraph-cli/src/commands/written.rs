//! Graphs written to a file, and what is said of it: for `convert` and `generate`.
//!
//! Invariant: a file is replaced once all of the other is written.

use crate::failure::{Failure, Result};
use crate::options::GeneralArgs;
use crate::progress::Reporter;
use crate::{output, report, signals};
use bitgraph::LoadedGraph;
use bitgraph::b2sr::Layout;
use bitgraph::io::{self, FileFormat, WriteSource};
use bitgraph::sparse::FormatKind;
use bitgraph::sparse::ordering::Ordering;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// What `--json` says of a written or checked file.
#[derive(Serialize)]
pub struct Converted<'a> {
    schema: u32,
    graph: &'a str,
    output: Option<String>,
    rows: usize,
    columns: usize,
    edges: usize,
    symmetric: bool,
    weights: Option<&'static str>,
    format: &'static str,
    reorder: &'static str,
    bytes: Option<u64>,
    load_s: f64,
    write_s: f64,
    peak_bytes: u64,
}

/// The file format, order and storage format of what is written.
#[derive(Clone, Copy)]
pub struct Target {
    pub file: FileFormat,
    pub ordering: Ordering,
    pub format: Option<FormatKind>,
}

/// Standard output as OUT.
const STANDARD: &str = "-";

/// The format of the file to write: as told, else by its ending. Standard output has none: a storage format says that it is a container.
pub fn target_format(out: &Path, told: Option<FileFormat>, stored: bool, general: &GeneralArgs) -> Result<FileFormat> {
    if out != Path::new(STANDARD) {
        return Ok(told.map_or_else(|| io::check_ending(out), Ok)?);
    }
    if general.json {
        return Err(Failure::usage("--json has standard output for itself; write the graph to a file"));
    }
    let told = told.or(stored.then_some(FileFormat::Bgr));
    told.ok_or_else(|| Failure::usage("standard output has no ending; --output-format says what to write there"))
}

/// Writes a graph as it is. `told` is the format if it is not to be that of the ending.
pub fn write(
    out: &Path,
    told: Option<FileFormat>,
    load: impl FnOnce() -> Result<(LoadedGraph, f64)>,
    general: &GeneralArgs,
    reporter: &Reporter,
) -> Result<()> {
    // Names are looked at before there is anything to write.
    let file = target_format(out, told, false, general)?;
    let (loaded, load_s) = load()?;
    write_as(out, loaded, Target { file, ordering: Ordering::None, format: None }, load_s, general, reporter)
}

/// Writes a graph in the order and format of the target.
pub fn write_as(
    out: &Path,
    mut loaded: LoadedGraph,
    target: Target,
    load_s: f64,
    general: &GeneralArgs,
    reporter: &Reporter,
) -> Result<()> {
    reporter.note("writing");
    let start = Instant::now();
    let permutation = match target.ordering {
        Ordering::None => None,
        ordering if loaded.symmetric => ordering.compute(&loaded.csr),
        ordering => ordering.compute(&loaded.csr.symmetrized()?),
    };
    if let Some(p) = &permutation {
        (loaded.csr, loaded.values) = p.apply_with(&loaded.csr, loaded.values.as_ref())?;
    }
    let mut source = WriteSource::new(&loaded.csr).with_values(loaded.values.as_ref()).with_symmetric(Some(loaded.symmetric));
    source.permutation = permutation.as_ref();
    source.ordering = target.ordering;
    source.original_ids = loaded.original_ids.as_deref().filter(|_| target.file.holds_ids());
    if loaded.original_ids.is_some() && source.original_ids.is_none() && !general.quiet {
        let out = out.display();
        reporter.tell(&format!("{out}: a file of this format holds no numbers of vertices; they are replaced by their rank, from 0"));
    }
    let format = target.format.unwrap_or(FormatKind::Csr);
    if format != FormatKind::Csr {
        source.format = Some((format, Layout::from_csr(&loaded.csr, format).sections()));
    }
    if out == Path::new(STANDARD) {
        reporter.clear();
        let stdout = std::io::stdout().lock();
        return Ok(io::write_to(stdout, "standard output", target.file, &source, &reporter.writing())?);
    }
    let written = {
        let _writing = signals::writing();
        io::write_as(out, target.file, &source, &reporter.writing())
    };
    written?;
    let bytes = std::fs::metadata(out).map(|m| m.len()).ok();
    reporter.clear();
    let summary = format!(
        "{}: {} written to {} ({})\n",
        loaded.name,
        describe(&loaded),
        out.display(),
        bytes.map_or_else(|| "size unknown".into(), report::bytes)
    );
    let write_s = start.elapsed().as_secs_f64();
    let (format, reorder) = (format.name(), target.ordering.name());
    let output = Some(out.display().to_string());
    tell(general, &Converted { output, format, reorder, bytes, write_s, ..converted(&loaded, load_s) }, &summary)
}

/// What there is to say of a graph that is not written.
pub fn converted(loaded: &LoadedGraph, load_s: f64) -> Converted<'_> {
    Converted {
        schema: 1,
        graph: &loaded.name,
        output: None,
        rows: loaded.csr.nrows(),
        columns: loaded.csr.ncols(),
        edges: loaded.csr.nnz(),
        symmetric: loaded.symmetric,
        weights: loaded.values.as_ref().map(|v| v.dtype().name()),
        format: FormatKind::Csr.name(),
        reorder: Ordering::None.name(),
        bytes: None,
        load_s,
        write_s: 0.0,
        peak_bytes: bitgraph::memory::peak_bytes(),
    }
}

/// A graph for people.
pub fn describe(loaded: &LoadedGraph) -> String {
    let weights = loaded.values.as_ref().map_or("no weights".into(), |v| format!("{} weights", v.dtype()));
    let kind = if loaded.symmetric { "symmetric" } else { "not symmetric" };
    format!("{} x {}, {} entries, {kind}, {weights}", loaded.csr.nrows(), loaded.csr.ncols(), loaded.csr.nnz())
}

/// Prints what was done.
pub fn tell(general: &GeneralArgs, converted: &Converted<'_>, summary: &str) -> Result<()> {
    if general.json {
        report::json(converted)
    } else if general.quiet {
        Ok(())
    } else {
        output::print(summary)
    }
}
