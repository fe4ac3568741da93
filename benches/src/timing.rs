//! What the benches of single operations on a GPU share: a device with its clock, medians of launches, layouts that are built, the report.

use anyhow::{Context, Result};
use bitgraph::cuda::device::Device;
use bitgraph::prelude::*;
use bitgraph_measure::limits::Limits;
use bitgraph_measure::{Clock, Launches, median};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Launches of one graph of launches.
const GRAPH_LAUNCHES: usize = 20;

/// The options that all these benches have.
#[derive(clap::Args, Debug)]
// The options around these are of that name, too, which a group must not share.
#[group(skip)]
pub struct Options {
    /// Single launches, whose median counts.
    #[arg(long, default_value_t = 31)]
    pub(crate) repeat: usize,
    /// The GPU's number.
    #[arg(long, default_value_t = 0)]
    device: u32,
    /// Writes the report to this file, too.
    #[arg(long)]
    json: Option<PathBuf>,
}

impl Options {
    /// Without a file for the report.
    pub(crate) fn of(repeat: usize, device: u32) -> Self {
        Self { repeat, device, json: None }
    }
}

/// A device and its clocks.
pub(crate) struct Bench<'a> {
    pub cuda: Cuda,
    pub device: Device,
    pub clock: Clock,
    /// Bytes a second that this device copies, where it has a limit.
    pub copy: Option<f64>,
    pub options: &'a Options,
}

/// What is timed: a launch that does not wait.
pub(crate) type Work<'a> = &'a dyn Fn() -> bitgraph::cuda::Result<()>;

impl<'a> Bench<'a> {
    /// Opens the device and measures how fast it copies.
    ///
    /// # Errors
    /// No GPU.
    pub fn open(options: &'a Options) -> Result<Self> {
        let cuda = Cuda::open(options.device)?;
        let device = cuda.device().clone();
        // Beyond the cache, for a rate of memory.
        let copied = if device.properties().emulated { 1 << 16 } else { 1 << 29 };
        let copy = Limits::measure(&device, copied).ok().map(|l| l.copy);
        Ok(Self { clock: Clock::of(Some(&device)), cuda, device, copy, options })
    }
    /// The median of what `once` says, so many times.
    pub fn median_of(&self, mut once: impl FnMut() -> Result<f64>) -> Result<f64> {
        for _ in 0..3 {
            once()?;
        }
        Ok(median(&(0..self.options.repeat.max(1)).map(|_| once()).collect::<Result<Vec<_>>>()?))
    }
    fn seconds(&self, launches: Launches, work: Work<'_>) -> Result<f64> {
        Ok(self.clock.seconds_of::<bitgraph::cuda::Error>(launches, work)?)
    }
    /// Seconds of a single launch; the median.
    pub fn single(&self, work: Work<'_>) -> Result<f64> {
        self.median_of(|| self.seconds(Launches::One, work))
    }
    /// Seconds of a single launch, and of one among many in a graph of launches; medians.
    pub fn timed(&self, work: Work<'_>) -> Result<(f64, f64)> {
        let one = self.single(work)?;
        let launches = Launches::Graph(if self.device.properties().emulated { 1 } else { GRAPH_LAUNCHES });
        Ok((one, self.median_of(|| self.seconds(launches, work))?))
    }
    /// Seconds of one launch among many one after the other, each by the host; the median.
    pub fn in_a_row(&self, work: Work<'_>) -> Result<f64> {
        self.median_of(|| self.seconds(Launches::Row(GRAPH_LAUNCHES), work))
    }
    /// A layout, and the seconds of building it.
    pub fn built<L>(&self, build: impl Fn() -> bitgraph::cuda::Result<Option<L>>) -> Result<(L, f64)> {
        // The first one loads the kernels.
        drop(build()?);
        self.device.synchronize()?;
        let start = Instant::now();
        let layout = build()?.context("offsets are 64 bits wide")?;
        self.device.synchronize()?;
        Ok((layout, start.elapsed().as_secs_f64()))
    }
    /// The part of the time that moving so many bytes takes at the rate of a copy.
    pub fn copy_fraction(&self, bytes: u64, seconds: f64) -> Option<f64> {
        self.copy.map(|rate| bytes as f64 / rate / seconds)
    }
    /// Writes the report, where one is asked for.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn report(&self, results: &[impl Serialize]) -> Result<()> {
        let Some(path) = &self.options.json else { return Ok(()) };
        let device = &self.device.properties().name;
        let report = serde_json::json!({ "schema": 1, "device": device, "copy_bytes_per_second": self.copy, "results": results });
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
    }
}

/// A part as a table prints it.
pub(crate) fn percent(part: Option<f64>) -> String {
    part.map_or("-".into(), |f| format!("{:.0} %", 100.0 * f))
}
