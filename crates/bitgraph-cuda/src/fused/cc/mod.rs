//! Connected components in one launch.
//!
//! The general form runs any graph, directed ones too. Symmetric graphs are hooked: small ones by one block in its shared memory,
//! the others by one block per multiprocessor. Where hubs reach nearly all vertices and many runs pay for it, vertices jump to their
//! max-degree neighbours instead (`ascent`). Sparse graphs without locality, where most vertices end up outside the largest component
//! until late, stay with the general form.
//!
//! # Invariants
//! Labels are the smallest vertex of each component, so they do not depend on the form or on the order of threads. Counting
//! components from labels is not part of the timed run.

mod ascent;
mod select;
#[cfg(test)]
mod tests;

pub use select::{VARIANTS, Variant};

use self::ascent::Ascent;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, Mode, Shape, parameters};
use crate::{DeviceCsr, Result};
use bitgraph_algorithms::{Cc, CcConfig};
use bitgraph_kernels::constant;

/// The constants of the forms; what is `None` is probed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Hooking: whether the middle neighbour of a row is tried second.
    pub middle: Option<bool>,
    /// Threads of a block of the forms on the whole grid.
    pub threads: Option<u32>,
}

/// Entries a vertex from where on joining may lose links on the way: measured, 4 is too few and 16 are enough.
const LOOSE_DEGREE: usize = 8;

parameters! {
    struct CcParams = "graph/cc_forest.cuh" "bg::cc::CcParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        in_offsets: DevicePtr<u32>,
        in_indices: DevicePtr<u32>,
        parent: DevicePtr<u32>,
        labels: DevicePtr<u32>,
        long_rows: DevicePtr<u32>,
        local: DevicePtr<u32>,
        near: DevicePtr<u32>,
        state: DevicePtr<GridState>,
        link: HostLink,
        n: u32,
        middle: u32,
        loose: u32,
        reserved: u32,
    }
    struct BlockParams = "graph/cc_block.cu" "bg::cc::BlockParams" {
        arcs: DevicePtr<u32>,
        labels: DevicePtr<u32>,
        n: u32,
        count: u32,
    }
    struct ArcsParams = "graph/cc_block.cu" "bg::cc::ArcsParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        arcs: DevicePtr<u32>,
        count: DevicePtr<u32>,
        n: u32,
        reserved: u32,
    }
    struct SizesParams = "graph/cc_sizes.cu" "bg::cc::SizesParams" {
        labels: DevicePtr<u32>,
        sizes: DevicePtr<u32>,
        result: DevicePtr<u32>,
        n: u32,
        reserved: u32,
    }
    struct NearParams = "graph/cc_probe.cu" "bg::cc::NearParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        near: DevicePtr<u32>,
        n: u32,
        middle: u32,
    }
    struct ProbeParams = "graph/cc_probe.cu" "bg::cc::ProbeParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        result: DevicePtr<u32>,
        n: u32,
        near: u32,
    }
}

/// `bg::cc::HookShared`, in bytes.
const HOOK_SHARED: u32 = 48 + 2 * 4 * constant("tuning/cc.cuh", "TABLE") as u32;
/// `bg::cc::NEAR`.
const NEAR: usize = constant("tuning/cc.cuh", "NEAR") as usize;
/// `bg::cc::LONG_ROW`.
const LONG_ROW: usize = constant("tuning/cc.cuh", "LONG_ROW") as usize;
/// Sampled vertices: blocks of the probe times its threads.
const PROBE_BLOCKS: u32 = 16;

/// A graph laid out for its components.
#[derive(Debug)]
pub struct CcLayout {
    variant: Variant,
    middle: bool,
    threads: u32,
    parent: Buffer<u32>,
    labels: Buffer<u32>,
    long_rows: Buffer<u32>,
    local: Buffer<u32>,
    /// Of hooking, where many runs will pay for it: some neighbours of every vertex.
    near: Buffer<u32>,
    /// Of the form of one block: every edge once.
    arcs: Buffer<u32>,
    ascent: Option<Ascent>,
    sizes: Buffer<u32>,
}

/// What the probe saw.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Shares of the vertices with neighbours whose first and whose middle neighbour is a lower one nearby.
    first: f64,
    middle: f64,
}

impl CcLayout {
    /// Allocates what a run of a variant needs, and probes what refines it; the general form stands in for a variant that the graph does
    /// not fit: [`CcLayout::variant`]. None if the offsets are 64 bits wide. Waits for the probe.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub fn build(
        device: &Device,
        out: &DeviceCsr,
        incoming: Option<&DeviceCsr>,
        variant: Variant,
        options: Options,
    ) -> Result<Option<Self>> {
        let wide = |g: &DeviceCsr| g.offsets.as_u32().is_none();
        // Parents are compared as 32-bit numbers that grid strides are added to.
        if wide(out) || incoming.is_some_and(wide) || out.rows > 1 << 31 {
            return Ok(None);
        }
        let n = out.rows;
        let symmetric = incoming.is_none();
        let variant = if select::fits(device, n, symmetric, variant) { variant } else { Variant::General };
        let ascent = match out.offsets.as_u32().filter(|_| variant == Variant::Ascent) {
            Some(offsets) => Some(Ascent::build(device, out, offsets)?),
            None => None,
        };
        let middle = match options.middle {
            Some(middle) => middle,
            None => variant.hooks() && select::middle(&Probe::take(device, out, select::range(device, n))?),
        };
        let long_rows = (out.nnz + incoming.map_or(0, |t| t.nnz)) / LONG_ROW + 1;
        let alone = matches!(variant, Variant::Block | Variant::Ascent);
        Ok(Some(Self {
            variant,
            middle,
            threads: options.threads.unwrap_or(1024),
            parent: device.alloc(if alone { 0 } else { n })?,
            labels: device.alloc(n)?,
            long_rows: device.alloc(if alone { 0 } else { long_rows })?,
            local: device.alloc(if variant.in_memory() { n } else { 0 })?,
            near: if variant.looks_near() { near(device, out, middle)? } else { Buffer::default() },
            arcs: if variant == Variant::Block { edges(device, out)? } else { Buffer::default() },
            ascent,
            sizes: device.alloc(n + 3)?,
        }))
    }
    /// The variant that runs.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.variant
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parent.bytes()
            + self.labels.bytes()
            + self.long_rows.bytes()
            + self.local.bytes()
            + self.near.bytes()
            + self.arcs.bytes()
            + self.ascent.as_ref().map_or(0, Ascent::bytes)
            + self.sizes.bytes()
    }
    /// The components of the graph that the layout was built for.
    ///
    /// # Errors
    /// Cancellation, a wait past the bound, or the driver's.
    pub fn run(&self, device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>, config: &CcConfig) -> Result<Cc> {
        config.control.check()?;
        let n = self.labels.len();
        let Some(offsets) = out.offsets.as_u32().filter(|_| n > 0) else {
            return Ok(Cc { labels: Vec::new(), components: 0, largest: 0 });
        };
        // Also keeps the device busy until the launch arrives, so that no gap is timed.
        self.sizes.fill_bytes(0)?;
        if self.variant == Variant::Block {
            let kernel = device.kernel("graph/cc_block", "cc_block")?;
            let block = device.properties().max_threads_per_block.min(1024);
            let parameters = BlockParams { arcs: self.arcs.ptr(), labels: self.labels.ptr(), n: n as u32, count: self.arcs.len() as u32 };
            let shape = Shape { grid: 1, block, shared: 4 * n as u32, mode: Mode::Plain };
            // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
            device.span(|| unsafe { device.launch(&kernel, shape, &parameters) })?;
        } else if let Some(ascent) = &self.ascent {
            ascent.run(device, out, offsets, config, &self.labels)?;
        } else {
            self.run_on_grid(device, out, incoming, config, offsets)?;
        }
        self.count(device)
    }
    fn run_on_grid(
        &self,
        device: &Device,
        out: &DeviceCsr,
        incoming: Option<&DeviceCsr>,
        config: &CcConfig,
        offsets: &Buffer<u32>,
    ) -> Result<u32> {
        let n = self.labels.len();
        let sms = device.properties().sms;
        let (module, name, shared) = match self.variant {
            v if v.in_memory() => ("graph/cc_hook", "cc_hook_memory", HOOK_SHARED),
            v if v.hooks() => ("graph/cc_hook", "cc_hook_shared", HOOK_SHARED + 4 * select::range(device, n) as u32),
            _ => ("graph/cc_general", "cc_general", 64),
        };
        let kernel = device.kernel(module, name)?;
        let mut shape = device.persistent_shape(&kernel, self.threads, shared, sms)?;
        if self.variant != Variant::General {
            // As many blocks as the ranges were sized for, or the launch is refused.
            shape.grid = sms;
        }
        let (in_offsets, in_indices) = match incoming {
            Some(t) => (t.offsets.as_u32().map_or(DevicePtr::NULL, Buffer::ptr), t.indices.ptr()),
            None => (DevicePtr::NULL, DevicePtr::NULL),
        };
        // SAFETY: the arrays were made for this graph's vertices; the launch is cooperative.
        unsafe {
            device.persistent(&kernel, shape, &config.control, |state, link| CcParams {
                offsets: offsets.ptr(),
                indices: out.indices.ptr(),
                in_offsets,
                in_indices,
                parent: self.parent.ptr(),
                labels: self.labels.ptr(),
                long_rows: self.long_rows.ptr(),
                local: self.local.ptr(),
                near: self.near.ptr(),
                state,
                link,
                n: n as u32,
                middle: u32::from(self.middle),
                loose: u32::from(out.nnz / n.max(1) >= LOOSE_DEGREE),
                reserved: 0,
            })
        }
    }
    /// Components and the largest, counted on the device; `sizes` is zero.
    fn count(&self, device: &Device) -> Result<Cc> {
        let n = self.labels.len();
        let result = self.sizes.ptr().offset(n);
        let mut shape = device.cover(n, 512);
        shape.grid = shape.grid.min(4 * device.properties().sms);
        let parameters = SizesParams { labels: self.labels.ptr(), sizes: self.sizes.ptr(), result, n: n as u32, reserved: 0 };
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { device.launch(&device.kernel("graph/cc_sizes", "cc_sizes")?, shape, &parameters) }?;
        let counts = self.sizes.range_to_vec(n..n + 3)?;
        Ok(Cc { labels: self.labels.to_vec()?, components: counts[0].into(), largest: counts[1].max(counts[2]).into() })
    }
}

/// The neighbours that hooking looks at first, of every vertex.
fn near(device: &Device, graph: &DeviceCsr, middle: bool) -> Result<Buffer<u32>> {
    let Some(offsets) = graph.offsets.as_u32() else { return Ok(Buffer::default()) };
    let near = device.alloc(NEAR * graph.rows)?;
    let parameters =
        NearParams { offsets: offsets.ptr(), indices: graph.indices.ptr(), near: near.ptr(), n: graph.rows as u32, middle: middle.into() };
    let mut shape = device.cover(graph.rows, 256);
    shape.grid = shape.grid.min(8 * device.properties().sms);
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { device.launch(&device.kernel("graph/cc_probe", "cc_near")?, shape, &parameters) }?;
    Ok(near)
}

/// The edges of a symmetric graph of at most 2^16 vertices, each as its larger vertex shifted left by 16, and its smaller one. Waits.
fn edges(device: &Device, graph: &DeviceCsr) -> Result<Buffer<u32>> {
    let Some(offsets) = graph.offsets.as_u32() else { return Ok(Buffer::default()) };
    let (arcs, count) = (device.alloc(graph.nnz / 2)?, device.zeroed::<u32>(1)?);
    let parameters = ArcsParams {
        offsets: offsets.ptr(),
        indices: graph.indices.ptr(),
        arcs: arcs.ptr(),
        count: count.ptr(),
        n: graph.rows as u32,
        reserved: 0,
    };
    let mut shape = device.cover(32 * graph.rows, 256);
    shape.grid = shape.grid.min(8 * device.properties().sms);
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { device.launch(&device.kernel("graph/cc_block", "cc_arcs")?, shape, &parameters) }?;
    Ok(arcs.prefix(count.get(0)? as usize))
}

impl Probe {
    /// Looks at a sample of vertices. `range` is how many a block owns.
    fn take(device: &Device, out: &DeviceCsr, range: usize) -> Result<Self> {
        let result = device.zeroed::<u32>(3)?;
        let block = device.properties().max_threads_per_block.min(256);
        if let Some(offsets) = out.offsets.as_u32() {
            let parameters = ProbeParams {
                offsets: offsets.ptr(),
                indices: out.indices.ptr(),
                result: result.ptr(),
                n: out.rows as u32,
                near: range as u32,
            };
            let shape = Shape { grid: PROBE_BLOCKS, block, shared: 0, mode: Mode::Plain };
            // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
            unsafe { device.launch(&device.kernel("graph/cc_probe", "cc_probe")?, shape, &parameters) }?;
        }
        let counts = result.to_vec()?;
        let share = |count: u32| f64::from(count) / f64::from(counts[0].max(1));
        Ok(Self { first: share(counts[1]), middle: share(counts[2]) })
    }
}
