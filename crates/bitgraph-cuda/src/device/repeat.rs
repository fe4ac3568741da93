//! The time of work that is given to a device again and again: by the host, or as one graph, which the host's rate of launching does not bound.
//!
//! Invariant: what is repeated only launches kernels; its arrays are there from a run before.

use super::Device;
use crate::Result;

/// How often work is given to the device when its time is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launches {
    /// Once.
    One,
    /// So many times in a row, each by the host; their mean counts.
    Row(usize),
    /// So many times, written down before and given to the device as one graph; their mean counts. The host shim runs them in a row.
    Graph(usize),
}

impl Launches {
    /// How often.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Row(count) | Self::Graph(count) => count.max(1),
        }
    }
}

impl Device {
    /// Seconds of one run of `work` on the device.
    ///
    /// # Errors
    /// Whatever went wrong in the work; the driver's, if it cannot be written down as a graph.
    pub fn seconds_of(&self, launches: Launches, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        let mut all = || (0..launches.count()).try_for_each(|_| work());
        let graph = match launches {
            Launches::Graph(_) => self.driver().written(&mut all)?,
            _ => None,
        };
        match graph {
            Some(graph) => self.timed(|| self.driver().replay(graph))?,
            None => self.timed(all)?,
        }
        Ok(self.last_run_seconds().unwrap_or(0.0) / launches.count() as f64)
    }
}
