//! `generate`: a generated graph as a file.

use super::written;
use crate::failure::{Failure, Result};
use crate::options::GenerateArgs;
use crate::progress::Reporter;
use bitgraph::{GraphSource, LoadOptions};

/// Generates and writes; the graph is symmetric, and is written as such.
pub fn run(args: &GenerateArgs, reporter: &Reporter) -> Result<()> {
    if !matches!(args.generator.source, GraphSource::Generator(_)) {
        return Err(Failure::usage(format_args!("'{}' is no generator; bitgraph convert copies files", args.generator.text)));
    }
    let load = || {
        let options = LoadOptions { control: reporter.running("loading"), ..LoadOptions::default() };
        let start = std::time::Instant::now();
        let mut loaded = args.generator.source.load(&options)?;
        loaded.name.clone_from(&args.generator.text);
        reporter.check()?;
        Ok((loaded, start.elapsed().as_secs_f64()))
    };
    written::write(&args.out, args.output_format, load, &args.general, reporter)
}
