//! `tc`: triangles of an undirected graph.

use crate::failure::{Failure, Result};
use crate::options::PlainArgs;
use crate::progress::Reporter;
use crate::report::{self, TcResult};
use crate::run::{CommandBackend, Run};
use bitgraph::WeightSource;
use bitgraph::algorithms::TcConfig;
use bitgraph::backend::Algorithm;

/// Counts them. Directed input is refused, and so is `--output`: there is no value per vertex.
pub fn run<B: CommandBackend>(backend: B, args: &PlainArgs, reporter: Reporter) -> Result<()> {
    if args.common.output.is_some() {
        return Err(Failure::usage("tc has one number as its result; --output writes values per vertex"));
    }
    let run = Run::start(backend, &args.common, TcConfig::NAME, WeightSource::Unit, reporter, |stored| {
        if stored.symmetric {
            return Ok(());
        }
        Err(Failure::usage(format_args!("tc needs an undirected graph, and {} is directed; --symmetrize makes it one", stored.name)))
    })?;
    let config = TcConfig { control: run.reporter.running("tc") };
    let (seconds, tc) = run.repeat(&config)?;
    let triangles = tc.triangles;
    report::finish(&run, "tc", &seconds, TcResult { triangles }, &format!("tc: {triangles} triangles\n"))
}
