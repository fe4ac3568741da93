//! `cc`: connected components.

use crate::failure::Result;
use crate::files;
use crate::options::PlainArgs;
use crate::progress::Reporter;
use crate::report::{self, CcResult};
use crate::run::{CommandBackend, Run};
use bitgraph::WeightSource;
use bitgraph::algorithms::CcConfig;
use bitgraph::backend::Algorithm;
use bitgraph::io::VectorData;

/// Finds the components; `--output` writes the smallest vertex of each vertex's component.
pub fn run<B: CommandBackend>(backend: B, args: &PlainArgs, reporter: Reporter) -> Result<()> {
    let run = Run::start(backend, &args.common, CcConfig::NAME, WeightSource::Unit, reporter, |_| Ok(()))?;
    let config = CcConfig { control: run.reporter.running("cc") };
    let (seconds, cc) = run.repeat(&config)?;
    let (components, largest) = (cc.components, cc.largest);
    if let Some(file) = &args.common.output {
        let labels = match &run.original_ids {
            Some(names) => VectorData::Vertices { values: &cc.labels, names },
            None => VectorData::U32(&cc.labels),
        };
        files::write_vector(file, labels, &run.naming(), &run.reporter)?;
    }
    let summary = format!("cc: {components} components, the largest of {largest} vertices\n");
    report::finish(&run, "cc", &seconds, CcResult { components, largest }, &summary)
}
