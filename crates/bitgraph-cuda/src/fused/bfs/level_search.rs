//! The memory of a search whose kernel finds levels, and the search itself: parents, if they are asked for, are found from the levels.

use super::prepare::parents_of_levels;
use super::{Outputs, Rows, Totals};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr};
use bitgraph_algorithms::BfsConfig;

/// Arrays on the device, used again by the next search.
#[derive(Debug)]
pub(crate) struct LevelSearch {
    levels: Buffer<i32>,
    /// Empty until parents are asked for.
    parents: Buffer<u32>,
    totals: Buffer<Totals>,
}

impl LevelSearch {
    pub(crate) fn new(device: &Device, nodes: usize) -> Result<Self> {
        Ok(Self { levels: device.alloc(nodes)?, parents: Buffer::default(), totals: device.alloc(1)? })
    }
    pub(crate) fn nodes(&self) -> usize {
        self.levels.len()
    }
    /// Searches by `launch`, which fills levels and totals, the totals zeroed before. `entering` are the arcs into each vertex.
    pub(crate) fn run(
        &mut self,
        device: &Device,
        entering: &Rows,
        config: &BfsConfig,
        launch: impl FnOnce(DevicePtr<i32>, DevicePtr<Totals>) -> Result<u32>,
    ) -> Result<Outputs> {
        if config.output.parents() && self.parents.is_empty() {
            self.parents = device.alloc(self.levels.len())?;
        }
        self.totals.fill_bytes(0)?;
        let launch = || launch(self.levels.ptr(), self.totals.ptr());
        if config.output.parents() {
            device.span(|| {
                launch()?;
                parents_of_levels(device, entering, &self.levels, &self.parents, config.source)
            })?;
        } else {
            launch()?;
        }
        Ok(Outputs { levels: self.levels.clone(), parents: self.parents.clone(), totals: self.totals.clone() })
    }
}
