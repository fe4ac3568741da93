//! `gnn train` on batches: its options, and the batches that they ask for.

use crate::failure::{Failure, Result};
use crate::progress::Reporter;
use bitgraph::gnn::Description;
use bitgraph::gnn::batch::{BatchSettings, Batches, Sampler};
use bitgraph::gnn::data::{Dataset, Normalise};
use clap::Args;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What a model is trained on at a step.
#[derive(Args, Clone, Debug)]
pub struct BatchArgs {
    /// Train on parts of the graph: neighbours:F1,F2.. (so many neighbours of a training node, then of theirs; one for each layer),
    /// saint-node:SIZE, saint-edge:SIZE, saint-walk:ROOTS:LENGTH (what drawn nodes, edges or walks induce), clusters:PARTS:JOINED (parts of
    /// few edges between them, so many joined to a batch) or none [default: none]
    #[arg(long, value_name = "HOW", conflicts_with = "resume")]
    pub sampler: Option<Sampling>,
    /// Training nodes of a batch of neighbours [default: 512]
    #[arg(long, value_name = "N", requires = "sampler", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: Option<u32>,
    /// Score the first of so many epochs, and the last, on the whole graph, and choose among these [default: 1]
    #[arg(long, value_name = "N", requires = "sampler", value_parser = clap::value_parser!(u32).range(1..))]
    pub evaluate_every: Option<u32>,
    /// Keep the parts of clusters in a folder [default: partitions, beside the files of the data set]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Leave features in host memory, or in features.npy itself, and bring only those of a batch to the device
    #[arg(long)]
    pub stream: bool,
    /// Make batches in host memory where a device could draw them: for comparisons of times, the numbers are the same
    #[arg(long, hide = true)]
    pub draw_on_host: bool,
}

/// A sampler, or that the whole graph is trained on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampling(Option<Sampler>);

impl FromStr for Sampling {
    type Err = bitgraph::gnn::Error;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        if text == "none" { Ok(Self(None)) } else { text.parse().map(|sampler| Self(Some(sampler))) }
    }
}

impl BatchArgs {
    /// What the options ask for a model of so many layers.
    pub fn settings(&self, layers: usize) -> Result<Option<BatchSettings>> {
        let Some(mut sampler) = self.sampler.clone().and_then(|s| s.0) else {
            return match (self.batch, self.evaluate_every) {
                (None, None) => Ok(None),
                (Some(_), _) => Err(Failure::usage("--batch: the whole graph is trained on at every step; take a --sampler")),
                _ => Err(Failure::usage("--evaluate-every: the whole graph is trained on at every step; take a --sampler")),
            };
        };
        if let Some(batch) = self.batch {
            sampler = sampler.with_batch(batch).map_err(Failure::usage)?;
        }
        sampler.validate(layers)?;
        Ok(Some(BatchSettings { sampler, evaluate_every: self.evaluate_every.unwrap_or(1) }))
    }
    /// Refuses features that would have to be on the device for every step.
    pub fn check_streaming(&self, batches: Option<&BatchSettings>) -> Result<()> {
        if self.stream && batches.is_none() {
            return Err(Failure::usage(
                "--stream: the whole graph is trained on at every step, which takes all features; take a --sampler",
            ));
        }
        Ok(())
    }
    /// The batches of a description's split. Streamed features are prepared as they are gathered.
    pub fn make(&self, settings: &BatchSettings, description: &Description, set: &Dataset, reporter: &Reporter) -> Result<Batches> {
        let folder = self.cache.clone().or_else(|| beside(Path::new(&description.data)));
        let preparation = match self.stream {
            true => set.preparation(description.normalise, Some(description.factor))?,
            false => Normalise::None.into(),
        };
        let control = reporter.running("sampling");
        let made = Batches::new(set, description.split, settings, preparation, folder.as_deref(), &control, |remark| {
            reporter.tell(&remark.to_string());
        });
        reporter.check()?;
        Ok(if self.draw_on_host { made?.drawn_on_host() } else { made? })
    }
}

/// Where the parts of a data set's graph are kept; nowhere for one that is made.
fn beside(data: &Path) -> Option<PathBuf> {
    let folder = if data.is_dir() { data } else { data.parent().filter(|_| data.is_file())? };
    Some(folder.join("partitions"))
}
