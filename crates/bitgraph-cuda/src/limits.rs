//! What the device at hand reaches at best, measured: the rates that benches hold kernels against.

use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, Launches, Mode, Shape};
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

const MODULE: &str = "ops/limits";
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
        let rate = |kernel: &str, items: u64, amount: f64| -> Result<f64> {
            let kernel = device.kernel(MODULE, kernel)?;
            let shape = Shape { grid, block, shared: 0, mode: Mode::Plain };
            let mut best = f64::INFINITY;
            for run in 0..RUNS {
                device.timed(|| device.launch(&kernel, shape, &Params { items, seed: run as u32, ..params }))?;
                best = best.min(device.last_run_seconds().unwrap_or(f64::INFINITY));
            }
            Ok(amount / best)
        };
        let nothing = |launches: Launches| -> Result<f64> {
            let (kernel, shape) = (device.kernel(MODULE, "limit_copy")?, Shape { grid: 1, block: 32, shared: 0, mode: Mode::Plain });
            let seconds = (0..RUNS).map(|_| device.seconds_of(launches, || device.launch(&kernel, shape, &Params { items: 0, ..params })));
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
