//! `convert`: a graph in another file format, or a check of a file.
//!
//! Invariant: order and format of a `.bgr` are the planner's or the user's; every other format holds the graph as it is numbered. A file may
//! be converted in place: it is replaced once all of the other is written.

use crate::failure::{Failure, Result};
use crate::options::{ConvertArgs, GeneralArgs};
use crate::progress::Reporter;
use crate::{output, report, run, signals};
use bitgraph::algorithms::BfsConfig;
use bitgraph::b2sr::Layout;
use bitgraph::backend::Request;
use bitgraph::cpu::Cpu;
use bitgraph::io::{self, Container, FileFormat, ReadMode, WriteSource};
use bitgraph::sparse::FormatKind;
use bitgraph::sparse::ordering::Ordering;
use bitgraph::{GraphSource, LoadedGraph, WeightSource};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// What `--json` says of a written or checked file.
#[derive(Serialize)]
struct Converted<'a> {
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
struct Target {
    file: FileFormat,
    ordering: Ordering,
    format: Option<FormatKind>,
}

/// Loads, and writes or checks.
pub fn run(args: &ConvertArgs, reporter: &Reporter) -> Result<()> {
    run::host_only("convert", args.layout.backend)?;
    let target = args.out.as_deref().map(|out| target_format(out, args.output_format, args.to.0.is_some(), &args.general)).transpose()?;
    let container = target == Some(FileFormat::Bgr);
    let forced = args.to.0.or(args.layout.format.0);
    if args.to.0.is_some() && !container {
        return Err(Failure::usage("--to is a storage format, which only a .bgr file has"));
    }
    if args.out.is_some() && !container && (forced.is_some_and(|f| f != FormatKind::Csr) || forces_order(args)) {
        return Err(Failure::usage("only a .bgr file can hold another storage format or order"));
    }
    if let (true, GraphSource::File(path)) = (args.check, &args.graph.source)
        && io::file_format(path, args.reading.input_format)? == FileFormat::Bgr
    {
        signals::mapped_file(path);
        Container::open(path, ReadMode::Map)?.check()?;
        reporter.check()?;
    }
    let (loaded, load_s) = run::load(&args.graph, &args.reading, WeightSource::FileOrUnit, reporter)?;
    let Some(out) = &args.out else {
        // What a container says of itself is taken on trust elsewhere.
        if loaded.symmetric && !loaded.csr.is_symmetric_with(loaded.values.as_ref()) {
            let what = "it says that the matrix is symmetric, which it is not";
            return Err(io::Error::Malformed { path: loaded.name.into(), part: "header".into(), what }.into());
        }
        reporter.clear();
        let summary = format!("{}: valid, {}\n", loaded.name, describe(&loaded));
        return tell(&args.general, &converted(&loaded, load_s), &summary);
    };
    let mut target = Target { file: target.unwrap_or(FileFormat::Edges), ordering: Ordering::None, format: None };
    if container && loaded.csr.is_square() && loaded.csr.nrows() > 0 {
        let request = Request { format: forced, ..run::request(&args.layout) };
        let plan = loaded.clone().on(Cpu::new())?.plan(&BfsConfig::default(), &request)?;
        if args.layout.explain {
            reporter.clear();
            output::note(&plan.to_string());
        }
        target = Target { ordering: plan.ordering(), format: Some(plan.format()), ..target };
    } else if container {
        if forces_order(args) {
            let (rows, columns) = (loaded.csr.nrows(), loaded.csr.ncols());
            let what = format_args!(
                "{}: an order is one of vertices, and a matrix of {rows} x {columns} has none; leave out --reorder",
                loaded.name
            );
            return Err(Failure::usage(what));
        }
        target.format = forced;
    }
    write_as(out, loaded, target, load_s, &args.general, reporter)
}

fn forces_order(args: &ConvertArgs) -> bool {
    args.layout.reorder.0.is_some_and(|o| o != Ordering::None)
}

/// Standard output as OUT.
const STANDARD: &str = "-";

/// The format of the file to write: as told, else by its ending. Standard output has none: a storage format says that it is a container.
fn target_format(out: &Path, told: Option<FileFormat>, stored: bool, general: &GeneralArgs) -> Result<FileFormat> {
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

fn write_as(out: &Path, mut loaded: LoadedGraph, target: Target, load_s: f64, general: &GeneralArgs, reporter: &Reporter) -> Result<()> {
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

fn converted(loaded: &LoadedGraph, load_s: f64) -> Converted<'_> {
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

fn describe(loaded: &LoadedGraph) -> String {
    let weights = loaded.values.as_ref().map_or("no weights".into(), |v| format!("{} weights", v.dtype()));
    let kind = if loaded.symmetric { "symmetric" } else { "not symmetric" };
    format!("{} x {}, {} entries, {kind}, {weights}", loaded.csr.nrows(), loaded.csr.ncols(), loaded.csr.nnz())
}

fn tell(general: &GeneralArgs, converted: &Converted<'_>, summary: &str) -> Result<()> {
    if general.json {
        report::json(converted)
    } else if general.quiet {
        Ok(())
    } else {
        output::print(summary)
    }
}
