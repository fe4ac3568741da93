//! `convert`: a graph in another file format, or a check of a file.
//!
//! Invariant: order and format of a `.bgr` are the planner's or the user's; every other format holds the graph as it is numbered. A file may
//! be converted in place: it is replaced once all of the other is written.

use super::written::{Target, converted, describe, target_format, tell, write_as};
use crate::failure::{Failure, Result};
use crate::options::ConvertArgs;
use crate::progress::Reporter;
use crate::{output, run, signals};
use bitgraph::algorithms::BfsConfig;
use bitgraph::backend::Request;
use bitgraph::cpu::Cpu;
use bitgraph::io::{self, Container, FileFormat, ReadMode};
use bitgraph::sparse::FormatKind;
use bitgraph::sparse::ordering::Ordering;
use bitgraph::{GraphSource, WeightSource};

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
