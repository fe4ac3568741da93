//! What the device at hand reaches at best, measured: the rates that benches hold kernels against.
//!
//! Invariant: the best of a few runs counts, each on the device's own clock.
#![allow(unsafe_code)]

use crate::{Clock, Launches};
use bitgraph_cuda::Result;
use bitgraph_cuda::device::{Buffer, Device, DevicePtr, Kernel, Mode, Parameters, Shape, Struct};
use bytemuck::{Pod, Zeroable};

/// Measured rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes read and written a second in a large copy.
    pub copy: f64,
    /// Gathers of 4 bytes a second at random from a table in the second-level cache.
    pub gather: f64,
    /// Atomic or-s a second at random places of a bit vector in the second-level cache.
    pub atomic: f64,
    /// Seconds of a kernel that does nothing: alone, in a row of launches by the host, in a graph.
    pub empty: [f64; 3],
}

/// `LimitParams` of the kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Params {
    from: DevicePtr<[u32; 4]>,
    to: DevicePtr<[u32; 4]>,
    table: DevicePtr<u32>,
    target: DevicePtr<u32>,
    sums: DevicePtr<u32>,
    items: u64,
    mask: u32,
    seed: u32,
}

// SAFETY: the fields are those of the kernels' struct, in order, without padding; a test compares them.
unsafe impl Parameters for Params {
    const STRUCT: &'static Struct = &Struct { file: "limits.cu", name: "LimitParams", argument: "", bytes: size_of::<Self>(), fields: &[] };
}

/// Compiled when they are first measured: no program but a harness needs them.
const SOURCE: &str = include_str!("limits.cu");
const MODULE: &str = "limits";
/// Entries of the gathered table: 4 MiB.
const TABLE: usize = 1 << 20;
/// Runs of each, the best of which counts.
const RUNS: usize = 5;
/// Launches in a row and in a graph.
const LAUNCHES: usize = 50;

impl Limits {
    /// Measures for some milliseconds. `copied` are the bytes of the copied array, beyond the cache for a rate of memory.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub fn measure(device: &Device, copied: usize) -> Result<Self> {
        // A stream of its own, so that no other clock is told.
        let device = &device.fork()?;
        let clock = Clock::of(Some(device));
        let items = (copied / 16).max(1);
        let (from, to): (Buffer<[u32; 4]>, Buffer<[u32; 4]>) = (device.zeroed(items)?, device.alloc(items)?);
        let (table, target) = (device.zeroed::<u32>(TABLE)?, device.zeroed::<u32>(TABLE)?);
        let block = device.properties().max_threads_per_block.min(512);
        let grid = device.properties().sms * 4;
        let sums = device.alloc::<u32>((grid * block) as usize)?;
        let params = Params {
            from: from.ptr(),
            to: to.ptr(),
            table: table.ptr(),
            target: target.ptr(),
            sums: sums.ptr(),
            items: items as u64,
            mask: TABLE as u32 - 1,
            seed: 1,
        };
        let load = |kernel: &str| -> Result<Kernel<Params>> { device.compiled(MODULE, kernel, || SOURCE.into()) };
        let rate = |kernel: &str, items: u64, amount: f64| -> Result<f64> {
            let kernel = load(kernel)?;
            let shape = Shape { grid, block, shared: 0, mode: Mode::Plain };
            let mut best = f64::INFINITY;
            for run in 0..RUNS {
                let params = Params { items, seed: run as u32, ..params };
                // SAFETY: the arrays were made above for this grid and at least as many items; places lie within the tables.
                best = best.min(clock.seconds_of(Launches::One, || unsafe { device.launch(&kernel, shape, &params) })?);
            }
            Ok(amount / best)
        };
        let nothing = |launches: Launches| -> Result<f64> {
            let (kernel, shape) = (load("limit_copy")?, Shape { grid: 1, block: 32, shared: 0, mode: Mode::Plain });
            let params = Params { items: 0, ..params };
            // SAFETY: no item is touched.
            let seconds = (0..RUNS).map(|_| clock.seconds_of(launches, || unsafe { device.launch(&kernel, shape, &params) }));
            seconds.reduce(|a, b| Ok(a?.min(b?))).unwrap_or(Ok(0.0))
        };
        let places = if device.properties().emulated { 1 << 12 } else { 1 << 27 };
        Ok(Self {
            copy: rate("limit_copy", items as u64, 32.0 * items as f64)?,
            gather: rate("limit_gather", places, places as f64)?,
            atomic: rate("limit_atomic", places, places as f64)?,
            empty: [nothing(Launches::One)?, nothing(Launches::Row(LAUNCHES))?, nothing(Launches::Graph(LAUNCHES))?],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The declaration in the kernels' source, without types.
    #[test]
    fn fields_are_those_of_the_kernels() {
        let text = SOURCE.split("struct LimitParams {").nth(1).unwrap().split('}').next().unwrap();
        let names: Vec<&str> =
            text.lines().filter_map(|l| l.split(';').next()?.split(['*', ' ']).next_back()).filter(|n| !n.is_empty()).collect();
        assert_eq!(names, ["from", "to", "table", "target", "sums", "items", "mask", "seed"]);
    }

    #[test]
    fn a_device_has_limits() {
        let Ok(device) = Device::open(0) else { return };
        let found = Limits::measure(&device, 1 << 16).unwrap();
        assert!([found.copy, found.gather, found.atomic].iter().all(|&rate| rate > 0.0) && found.empty.iter().all(|&s| s >= 0.0));
    }
}
