//! Tiles: a part of the graph in the shared memory of each block. For meshes, grids, and small graphs in one part.
//!
//! Needs: whole weights below 65535, distances below [`Tiles::LIMIT`], all parts with their arcs within the shared memories, few arcs between parts.
//!
//! # Memory
//! Two copies' worth: 4 bytes per arc within a part and 8 per arc between parts, about 20 per vertex.

use super::Arcs;
use super::partition::{Partition, fill, partition};
use super::weights::Summary;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, Mode, Shape, parameters};
use bitgraph_algorithms::SsspConfig;
use bitgraph_kernels::constant;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const MODULE: &str = "graph/sssp_tile";
/// Bytes of shared memory before the queues.
const FIXED: u32 = 128;
/// What fills inboxes and minima; four of them are `bg::TILE_INFINITE`.
const INFINITE_BYTE: u8 = 0x3f;
const INFINITE: u32 = constant("graph/sssp_tile.cuh", "TILE_INFINITE") as u32;
const PUBLISHED: u32 = constant("graph/sssp_tile.cu", "PUBLISHED") as u32;
/// A weight in an arc has 16 bits, the largest for padding.
const MAX_WEIGHT: u64 = 65534;
/// Entries of the longest row that fits.
const LONGEST_ROW: u32 = 4000;
/// Arcs up to which one block is enough.
const ONE_BLOCK_ARCS: usize = 40_000;

parameters! {
    #[derive(Debug, Default)]
    pub(super) struct Head = "graph/sssp_tile.cuh" "bg::TileHead" {
        pub blob: u64,
        pub bytes: u32,
        pub first: u32,
        pub count: u32,
        pub entrances: u32,
        pub inbox: u32,
        pub edges: u32,
        pub send_starts: u32,
        pub sends: u32,
        pub pad: [u32; 2],
    }

    struct Params = "graph/sssp_tile.cu" "bg::TileParams" {
        state: DevicePtr<GridState>,
        link: HostLink,
        heads: DevicePtr<Head>,
        blobs: DevicePtr<u8>,
        order: DevicePtr<u32>,
        places: DevicePtr<u32>,
        inbox: DevicePtr<u32>,
        next_inbox: DevicePtr<u32>,
        control: DevicePtr<u32>,
        next_control: DevicePtr<u32>,
        minima: DevicePtr<u32>,
        next_minima: DevicePtr<u32>,
        distances: DevicePtr<u32>,
        source: u32,
        blob_bytes: u32,
        queue: u32,
        delta: u32,
        period: u32,
        pad: u32,
    }
}

/// How far blocks run ahead of each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileOptions {
    /// Parts; 1 for a block alone.
    pub parts: u32,
    /// Threads of a block.
    pub threads: u32,
    /// What a queued distance may be above the smallest of all, in mean weights; 0 for no limit.
    pub breadth: f64,
    /// Hops between looks at the inbox.
    pub period: u32,
    /// Lanes that share a row of more than four entries: 2 or 4.
    pub lanes: u32,
}

impl TileOptions {
    /// One part, or one for each multiprocessor.
    pub(super) fn parts(device: &Device, alone: bool) -> u32 {
        if alone { 1 } else { device.properties().sms }
    }
    /// For a graph with rows of at most `longest` entries.
    pub(super) fn suited(device: &Device, arcs: &Arcs, longest: u32, alone: bool) -> Self {
        let parts = Self::parts(device, alone);
        let most = device.properties().max_threads_per_block;
        if alone {
            Self { parts, threads: most.min(1024), breadth: 0.0, period: 1, lanes: 4 }
        } else if longest <= 4 {
            Self { parts, threads: most.min(256), breadth: 8.0, period: 2, lanes: 2 }
        } else {
            let lanes = if arcs.nnz() > 12 * arcs.nodes() { 2 } else { 4 };
            Self { parts, threads: most.min(1024), breadth: 1.0, period: 1, lanes }
        }
    }
}

/// The parts, and what a run needs. Inboxes and control words come twice: a run cleans those of the next one.
#[derive(Debug)]
pub(super) struct Tiles {
    partition: Partition,
    heads: Buffer<Head>,
    blobs: Buffer<u8>,
    inbox: [Buffer<u32>; 2],
    control: [Buffer<u32>; 2],
    minima: [Buffer<u32>; 2],
    distances: Buffer<u32>,
    turn: AtomicU32,
    /// Hops of the last run, of the block that took most.
    pub steps: AtomicU32,
    /// A run ended early: nothing is clean.
    dirty: AtomicBool,
    shape: Shape,
    blob_bytes: u32,
    queue: u32,
    is_short: bool,
    mean: f64,
    pub options: TileOptions,
}

impl Tiles {
    /// The largest distance that the form can sum up.
    pub const LIMIT: u64 = INFINITE as u64 - 1;

    /// Whether a graph whose largest weight is this and whole may fit in `parts` parts.
    pub fn suits(device: &Device, nodes: usize, arcs: usize, largest: u64, longest: u32, parts: u32) -> bool {
        let (n, m) = (nodes as u64, arcs as u64);
        let quads = if longest <= 4 { 16 * n } else { 4 * m };
        let room = u64::from(device.properties().shared_per_block - FIXED) * u64::from(parts);
        let alone = parts > 1 || (arcs <= ONE_BLOCK_ARCS && n <= 60_000);
        largest <= MAX_WEIGHT && longest <= LONGEST_ROW && m > 0 && alone && quads + 12 * n < room
    }
    /// Divides the graph and lays out its parts; none if they do not fit or are not local.
    pub fn build(
        device: &Device,
        arcs: &Arcs,
        weights: Option<&Buffer<u32>>,
        summary: &Summary,
        longest: u32,
        options: TileOptions,
    ) -> Result<Option<Self>> {
        let is_short = longest <= 4;
        let Some(partition) = partition(device, arcs, options.parts, is_short)? else { return Ok(None) };
        let heads = &partition.heads;
        let most = |f: fn(&Head) -> u32| heads.iter().map(f).max().unwrap_or(0);
        let (blob_bytes, count) = (most(|h| h.bytes), most(|h| h.count));
        let queue = count.next_multiple_of(8);
        let shared = u64::from(FIXED) + 4 * u64::from(queue) + u64::from(blob_bytes) + 4 * u64::from(count.next_multiple_of(4));
        let slots = most(|h| h.entrances).div_ceil(4);
        let fits = shared <= u64::from(device.properties().shared_per_block)
            && slots.max(options.parts) <= options.threads
            && count <= 65_000
            && partition.most_sends <= 65_000;
        if !fits {
            return Ok(None);
        }
        let mode = if options.parts == 1 { Mode::Plain } else { Mode::Cooperative };
        let shape = Shape { grid: options.parts, block: options.threads, shared: shared as u32, mode };
        let kernel = device.kernel::<Params>(MODULE, kernel_name(is_short, options.lanes))?;
        if device.resident(&kernel, shape.block, shape.shared)? * device.properties().sms < options.parts {
            return Ok(None);
        }
        let last = heads.last().copied().unwrap_or_default();
        let blobs = device.alloc_for::<u8>(last.blob as usize + last.bytes as usize + 16, "parts of a graph")?;
        let uploaded = device.upload(heads)?;
        fill(device, arcs, weights, &partition, &uploaded, &blobs, is_short)?;
        let inbox_slots = (last.inbox + last.entrances).next_multiple_of(32) as usize + 32;
        let words = (PUBLISHED + options.parts) as usize;
        Ok(Some(Self {
            heads: uploaded,
            blobs,
            inbox: [device.alloc(inbox_slots)?, device.alloc(inbox_slots)?],
            control: [device.alloc(words)?, device.alloc(words)?],
            minima: [device.alloc(options.parts as usize)?, device.alloc(options.parts as usize)?],
            distances: device.alloc(arcs.nodes())?,
            turn: AtomicU32::new(0),
            steps: AtomicU32::new(0),
            dirty: AtomicBool::new(true),
            shape,
            blob_bytes,
            queue,
            is_short,
            mean: summary.mean,
            options,
            partition,
        }))
    }
    pub fn bytes(&self) -> u64 {
        let inboxes: u64 = self.inbox.iter().chain(&self.control).chain(&self.minima).map(Buffer::bytes).sum();
        self.blobs.bytes() + self.heads.bytes() + self.distances.bytes() + inboxes + self.partition.bytes()
    }
    /// Distances from the source.
    pub fn search(&self, device: &Device, config: &SsspConfig) -> Result<&Buffer<u32>> {
        if self.dirty.swap(true, Ordering::Relaxed) {
            for set in 0..2 {
                self.inbox[set].fill_bytes(INFINITE_BYTE)?;
                self.minima[set].fill_bytes(INFINITE_BYTE)?;
                self.control[set].fill_bytes(0)?;
            }
        }
        let kernel = device.kernel(MODULE, kernel_name(self.is_short, self.options.lanes))?;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) as usize % 2;
        let breadth = config.delta.unwrap_or(self.options.breadth * self.mean);
        let delta = if self.options.parts == 1 { 0 } else { breadth.round().clamp(1.0, f64::from(INFINITE / 2)) as u32 };
        let parameters = |state, link| Params {
            state,
            link,
            heads: self.heads.ptr(),
            blobs: self.blobs.ptr(),
            order: self.partition.order.ptr(),
            places: self.partition.places.ptr(),
            inbox: self.inbox[turn].ptr(),
            next_inbox: self.inbox[1 - turn].ptr(),
            control: self.control[turn].ptr(),
            next_control: self.control[1 - turn].ptr(),
            minima: self.minima[turn].ptr(),
            next_minima: self.minima[1 - turn].ptr(),
            distances: self.distances.ptr(),
            source: config.source,
            blob_bytes: self.blob_bytes,
            queue: self.queue,
            delta,
            period: self.options.period,
            pad: 0,
        };
        // SAFETY: the arrays were made for this graph when it was laid out; the launch is cooperative.
        let hops = unsafe { device.persistent(&kernel, self.shape, &config.control, parameters) }?;
        self.steps.store(hops, Ordering::Relaxed);
        self.dirty.store(false, Ordering::Relaxed);
        Ok(&self.distances)
    }
}

fn kernel_name(is_short: bool, lanes: u32) -> &'static str {
    match (is_short, lanes) {
        (true, _) => "sssp_tile_short",
        (_, 2) => "sssp_tile_2",
        _ => "sssp_tile_4",
    }
}
