//! What `gnn infer` says of the nodes or graphs that it classified.

use super::GnnBackend;
use super::heading::Heading;
use super::options::InferArgs;
use crate::failure::Result;
use crate::progress::Reporter;
use crate::{output, report};
use bitgraph::gnn::Description;
use bitgraph_measure::median;
use serde::Serialize;
use std::path::Path;

/// The JSON object: that of training without runs. Accuracies are shares of 1.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    heading: Heading<'a>,
    test_accuracy: f64,
    /// None without anything for validation.
    val_accuracy: Option<f64>,
    peak_bytes: u64,
    infer_s: f64,
}

/// What was classified.
pub struct Classified<'a> {
    pub data: &'a str,
    /// How many of what.
    pub what: (usize, &'static str),
    pub test_accuracy: f64,
    pub val_accuracy: Option<f64>,
}

/// Prints what came out.
pub fn tell<B: GnnBackend>(
    (backend, args, reporter): (&B, &InferArgs, &Reporter),
    description: &Description,
    classified: &Classified<'_>,
    seconds: &[f64],
) -> Result<()> {
    reporter.clear();
    let infer_s = median(seconds);
    let peak_bytes = backend.device_bytes().unwrap_or_else(bitgraph::memory::peak_bytes);
    let (model, precision) = (&description.model[..], &description.precision[..]);
    let Classified { data, what: (count, of), test_accuracy, val_accuracy } = *classified;
    if args.general.json {
        let heading = Heading::new([model, precision, data], backend.name());
        return report::json(&Report { heading, test_accuracy, val_accuracy, peak_bytes, infer_s });
    }
    if args.general.quiet {
        return Ok(());
    }
    let (time, peak) = (report::time(infer_s), report::bytes(peak_bytes));
    let written = args.output.as_deref().map_or_else(String::new, |file: &Path| format!("classes are in {}\n", file.display()));
    let validation = val_accuracy.map_or_else(String::new, |accuracy| format!(", validation {accuracy:.4}"));
    output::print(&format!(
        "{data}: {count} {of} by {model} in {precision}\ntest accuracy {test_accuracy:.4}{validation}\ninference {time}, peak memory {peak}\n\
         {written}"
    ))
}
