//! `cc`: connected components.

use crate::failure::Result;
use crate::options::PlainArgs;
use crate::output;
use crate::progress::Reporter;
use crate::report::{self, CcResult};
use crate::run::{CommandBackend, Run};
use bitgraph::WeightSource;
use bitgraph::algorithms::CcConfig;
use bitgraph::backend::Algorithm;
use bitgraph::sparse::Values;

/// Finds the components; `--output` writes the smallest vertex of each vertex's component.
pub fn run<B: CommandBackend>(backend: B, args: &PlainArgs, reporter: Reporter) -> Result<()> {
    let run = Run::start(backend, &args.common, CcConfig::NAME, WeightSource::Unit, reporter, |_| Ok(()))?;
    let config = CcConfig { control: run.reporter.running("cc") };
    let (seconds, cc) = run.repeat(&config)?;
    let (components, largest) = (cc.components, cc.largest);
    if let Some(file) = &args.common.output {
        let labels = if run.original_ids.is_some() {
            Values::from_vec(cc.labels.iter().map(|&l| run.number(l)).collect::<Vec<u64>>())
        } else {
            Values::from_vec(cc.labels)
        };
        output::write_vector(file, &labels, &run.naming(), &run.reporter)?;
    }
    let summary = format!("cc: {components} components, the largest of {largest} vertices\n");
    report::finish(&run, "cc", &seconds, CcResult { components, largest }, &summary)
}
