//! The forms with the operand in shared memory.
//!
//! They need f32, even teleport, and dangling vertices without any arcs (or dropped ones). On small graphs they are one block or one
//! cluster with a barrier an iteration; else blocks wait only for those whose values they read, so all must be resident.
//!
//! Invariant: the tags of the exchanged words go on from run to run; after a run that failed the words are cleared.

use super::core::{Core, CoreChoice};
use super::general::General;
use super::select::{self, Variant};
use super::tiles::{Local, Order, Source, TileChoice, TileForm, Tiles};
use super::{RankResult, Score, finished};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, Mode, Shape, parameters};
use crate::fused::bfs::{Rows, far_end};
use crate::primitives::{LevelOrderConfig, level_order};
use crate::spmv::Pattern;
use bitgraph_algorithms::{Dangling, PageRank, PageRankConfig};
use std::sync::{Mutex, PoisonError};

parameters! {
    struct SharedRankParams = "graph/pagerank_shared.cuh" "bg::SharedRankParams" {
        state: DevicePtr<GridState>,
        link: HostLink,
        result: DevicePtr<RankResult>,
        tiles: DevicePtr<u8>,
        data: DevicePtr<u32>,
        inverse: DevicePtr<f32>,
        vertex: DevicePtr<u32>,
        isolated: DevicePtr<u32>,
        readers: DevicePtr<u32>,
        shares: [DevicePtr<f32>; 2],
        partials: [DevicePtr<f32>; 2],
        scores: DevicePtr<f32>,
        damping: f64,
        tolerance: f64,
        max_iterations: u32,
        vertices: u32,
        lost: u32,
        isolated_count: u32,
        share_rounds: [u32; 2],
        partial_rounds: [u32; 2],
        columns: u32,
        groups: u32,
        part: u32,
        halo: u32,
        positions: u32,
        x_room: u32,
        sum_room: u32,
        own_room: u32,
        early: u32,
        samples: u32,
    }
}

const THREADS: u32 = 1024;
/// Threads of a block of the small forms at least, to load what it keeps.
const SMALL_THREADS: u32 = 256;
/// Slices of a warp in the small forms: `SMALL_TURNS` in the kernel.
const SMALL_TURNS: u32 = 4;

/// What blocks exchange, and in which round it is.
struct Exchange {
    shares: [Buffer<f32>; 2],
    partials: [Buffer<f32>; 2],
    share_rounds: [u32; 2],
    partial_rounds: [u32; 2],
}

/// A layout of one of the forms.
#[derive(Debug)]
pub(super) enum Special {
    /// All in shared memory.
    Shared(Box<Shared>),
    /// What fits.
    Core(Box<Core>),
}

/// The operand of all vertices in shared memory, spread over the blocks.
pub(super) struct Shared {
    tiles: Tiles,
    resident: bool,
    exchange: Mutex<Exchange>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.explain())
    }
}

fn source<'a>(device: &'a Device, incoming: &'a Pattern, general: &'a General) -> Source<'a> {
    Source { device, incoming, inverse: &general.inverse, longest: general.bins.largest, isolated: general.bins.isolated }
}

impl Special {
    /// The form of a variant; none for the general one, and where it does not fit. Where levels are too wide for windows it is the next best.
    pub(super) fn build(device: &Device, incoming: &Pattern, general: &General, symmetric: bool, variant: Variant) -> Result<Option<Self>> {
        let source = source(device, incoming, general);
        let (n, entries, sms) = (incoming.rows(), incoming.entries(), device.properties().sms);
        let (placed, longest) = (n - general.bins.isolated as usize, general.bins.largest);
        if entries == 0 {
            return Ok(None);
        }
        let window = || select::window(sms, n, entries, longest);
        let shared = match variant {
            Variant::General => None,
            Variant::Block | Variant::Cluster | Variant::Stretches => Shared::small(&source, symmetric, variant)?,
            Variant::Windows => Shared::of(&source, window(), None, None, source.widest(None)?, false)?,
            Variant::Levels => Shared::by_levels(&source, symmetric, window())?,
            Variant::Dealt => Shared::dealt(&source, select::dealt(sms, placed, entries, longest))?,
            Variant::Core => return Self::build_core(device, incoming, general, select::core(sms, placed)),
        };
        if shared.is_none() && variant == Variant::Levels {
            for variant in select::without_levels(sms, placed, entries) {
                if let Some(found) = Self::build(device, incoming, general, symmetric, variant)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(shared.map(|s| Self::Shared(Box::new(s))))
    }
    /// The variant that it is one of.
    pub(super) fn variant(&self) -> Variant {
        match self {
            Self::Core(_) => Variant::Core,
            Self::Shared(shared) => match shared.tiles.choice.form {
                TileForm::Block => Variant::Block,
                TileForm::Cluster if shared.tiles.choice.stretches => Variant::Stretches,
                TileForm::Cluster => Variant::Cluster,
                TileForm::Window if shared.tiles.vertex.is_empty() => Variant::Windows,
                TileForm::Window => Variant::Levels,
                TileForm::Grid => Variant::Dealt,
            },
        }
    }
    /// A given form; none if it does not fit.
    pub(super) fn build_as(
        device: &Device,
        incoming: &Pattern,
        general: &General,
        choice: TileChoice,
        resident: bool,
    ) -> Result<Option<Self>> {
        let source = source(device, incoming, general);
        if incoming.rows() == 0 || choice.groups * choice.columns == 0 {
            return Ok(None);
        }
        let shared = if choice.form == TileForm::Window {
            let halo = source.widest(None)?;
            Shared::of(&source, choice, None, None, halo, resident)?
        } else if choice.stretches {
            match source.level_order()? {
                Some(order) => Shared::of(&source, choice, Some(&order), None, 0, resident)?,
                None => None,
            }
        } else {
            Shared::of(&source, choice, Some(&source.order()?), None, 0, resident)?
        };
        Ok(shared.map(|s| Self::Shared(Box::new(s))))
    }
    /// A core of a given cut; none if it does not fit.
    pub(super) fn build_core(device: &Device, incoming: &Pattern, general: &General, choice: CoreChoice) -> Result<Option<Self>> {
        let source = source(device, incoming, general);
        if general.bins.sources > 0 || incoming.entries() == 0 {
            return Ok(None);
        }
        Ok(Core::build(&source, choice, source.order()?)?.map(|core| Self::Core(Box::new(core))))
    }
    pub(super) fn run<T: Score>(&self, device: &Device, config: &PageRankConfig, n: usize, isolated: u32) -> Result<PageRank<T>> {
        match self {
            Self::Shared(shared) => shared.run(device, config, n, isolated),
            Self::Core(core) => core.run(device, config, n, isolated),
        }
    }
    pub(super) fn explain(&self) -> String {
        match self {
            Self::Shared(shared) => shared.explain(),
            Self::Core(core) => core.explain(),
        }
    }
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Shared(shared) => shared.bytes(),
            Self::Core(core) => core.bytes(),
        }
    }
}

fn threads(device: &Device) -> u32 {
    THREADS.min(device.properties().max_threads_per_block)
}

impl Shared {
    /// One block or one cluster, if the device and the graph allow.
    fn small(source: &Source<'_>, symmetric: bool, variant: Variant) -> Result<Option<Self>> {
        if variant != Variant::Block && !source.device.properties().clusters {
            return Ok(None);
        }
        let order = match variant {
            Variant::Stretches if symmetric => source.level_order()?,
            Variant::Stretches => None,
            _ => Some(source.order()?),
        };
        let Some(order) = order else { return Ok(None) };
        for lane_entries in select::SMALL_ENTRIES {
            let choice = select::small(variant, source.incoming.entries(), lane_entries);
            if let Some(found) = Self::of(source, choice, Some(&order), None, 0, true)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
    /// The first of some ways to deal vertices anew that fits.
    fn dealt(source: &Source<'_>, choices: impl Iterator<Item = TileChoice>) -> Result<Option<Self>> {
        for choice in choices.filter(|c| source.capacity().may_hold(c, 0, true)) {
            if let Some(found) = Self::of(source, choice, Some(&source.order()?), None, 0, true)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
    /// Windows of a numbering by levels of a search; none if the graph has no levels, or too wide ones.
    fn by_levels(source: &Source<'_>, symmetric: bool, choice: TileChoice) -> Result<Option<Self>> {
        let (device, n, csr) = (source.device, source.rows(), source.incoming.as_csr());
        if !symmetric {
            return Ok(None);
        }
        // The search for an end is for offsets of 32 bits; a sweep of the order finds one, too.
        let start = Rows::of(&csr).map(|rows| far_end(device, n, &rows, None)).transpose()?.map(|end| end.vertex);
        let sweeps = if start.is_some() { 1 } else { 2 };
        let config = LevelOrderConfig { start, sweeps, longest_row: u32::MAX, ..LevelOrderConfig::default() };
        let Some(found) = level_order(device, &csr, &config)? else { return Ok(None) };
        let local = Local { position: found.order.new_of_old, vertex: found.order.old_of_new };
        let halo = source.widest(Some(&local))?;
        if !select::near(halo, n, device.properties().sms) {
            return Ok(None);
        }
        Self::of(source, choice, None, Some(&local), halo, false)
    }
    /// `must_reside`: rather none than data outside shared memory.
    fn of(
        source: &Source<'_>,
        choice: TileChoice,
        order: Option<&Order>,
        local: Option<&Local>,
        halo: u32,
        must_reside: bool,
    ) -> Result<Option<Self>> {
        let device = source.device;
        let Some(tiles) = source.build(choice, order, local, halo)? else { return Ok(None) };
        let small = choice.form.is_small();
        let resident = tiles.shared[0] <= device.properties().shared_per_block as usize;
        if (!resident && (must_reside || small)) || (small && tiles.most_slices > SMALL_TURNS * (threads(device) / 32)) {
            return Ok(None);
        }
        let exchanged = if small { 0 } else { tiles.positions as usize };
        let partials = if choice.form == TileForm::Grid { exchanged * choice.columns as usize } else { 0 };
        let exchange = Exchange {
            shares: [device.zeroed(exchanged)?, device.zeroed(exchanged)?],
            partials: [device.zeroed(partials)?, device.zeroed(partials)?],
            share_rounds: [1; 2],
            partial_rounds: [1; 2],
        };
        Ok(Some(Self { tiles, resident, exchange: Mutex::new(exchange) }))
    }
    fn kernel(&self) -> &'static str {
        match (self.tiles.choice.form, self.resident) {
            (TileForm::Window, true) => "pagerank_window",
            (TileForm::Window, false) => "pagerank_window_streamed",
            (TileForm::Grid, true) => "pagerank_grid",
            (TileForm::Grid, false) => "pagerank_grid_streamed",
            (TileForm::Cluster, _) => "pagerank_cluster",
            (TileForm::Block, _) => "pagerank_block",
        }
    }
    pub(super) fn run<T: Score>(&self, device: &Device, config: &PageRankConfig, n: usize, isolated: u32) -> Result<PageRank<T>> {
        let tiles = &self.tiles;
        let scores = device.alloc::<T>(n)?;
        let result = device.alloc::<RankResult>(1)?;
        let form = tiles.choice.form;
        let module = if form.is_small() { "graph/pagerank_small" } else { "graph/pagerank_shared" };
        let kernel = device.kernel(module, self.kernel())?;
        let mut exchange = self.exchange.lock().unwrap_or_else(PoisonError::into_inner);
        let ex = &mut *exchange;
        // No more warps than have work: they meet at a barrier in every iteration.
        let busy = if form.is_small() { (32 * tiles.most_slices).max(SMALL_THREADS) } else { THREADS };
        let shape = Shape {
            grid: tiles.blocks,
            block: busy.min(threads(device)),
            shared: tiles.shared[usize::from(!self.resident)] as u32,
            mode: match form {
                TileForm::Block => Mode::Plain,
                TileForm::Cluster => Mode::Cluster,
                TileForm::Window | TileForm::Grid => Mode::Cooperative,
            },
        };
        // SAFETY: the arrays were made for this graph when it was laid out; the launch is cooperative, or one cluster.
        let done = unsafe {
            device.persistent(&kernel, shape, &config.control, |state, link| SharedRankParams {
                state,
                link,
                result: result.ptr(),
                tiles: tiles.tiles.ptr().cast(),
                data: tiles.data.ptr(),
                inverse: tiles.inverse_at.ptr(),
                vertex: tiles.vertex.ptr(),
                isolated: tiles.isolated(),
                readers: tiles.readers.ptr(),
                shares: [ex.shares[0].ptr(), ex.shares[1].ptr()],
                partials: [ex.partials[0].ptr(), ex.partials[1].ptr()],
                scores: scores.ptr().cast(),
                damping: config.damping,
                tolerance: config.tolerance,
                max_iterations: config.max_iterations,
                vertices: n as u32,
                lost: if config.dangling == Dangling::Spread { isolated } else { 0 },
                isolated_count: tiles.isolated_count(),
                share_rounds: ex.share_rounds,
                partial_rounds: ex.partial_rounds,
                columns: tiles.choice.columns,
                groups: tiles.choice.groups,
                part: tiles.part,
                halo: tiles.halo,
                positions: tiles.positions,
                x_room: tiles.x_room,
                sum_room: tiles.sum_room,
                own_room: tiles.part,
                early: u32::from(tiles.early),
                samples: tiles.choice.samples,
            })
        };
        if let Err(error) = done {
            for words in ex.shares.iter().chain(&ex.partials) {
                words.fill_bytes(0)?;
            }
            (ex.share_rounds, ex.partial_rounds) = ([1; 2], [1; 2]);
            return Err(error);
        }
        let result = result.get(0)?;
        ex.advance(config, result.iterations, tiles.early);
        drop(exchange);
        finished(&scores, &result, config)
    }
    pub(super) fn explain(&self) -> String {
        let t = &self.tiles;
        let form = match t.choice.form {
            TileForm::Window => "windows in natural order",
            TileForm::Grid => "vertices dealt anew",
            TileForm::Cluster if t.choice.stretches => "one cluster, stretches of a numbering by levels",
            TileForm::Cluster => "one cluster",
            TileForm::Block => "one block",
        };
        let place = if self.resident { "in shared memory" } else { "in the second-level cache" };
        format!(
            "{form}: {} x {} blocks, {} bytes of shared memory, entries {place}",
            t.choice.groups,
            t.choice.columns,
            t.shared[usize::from(!self.resident)]
        )
    }
    pub(super) fn bytes(&self) -> u64 {
        let exchange = self.exchange.lock().unwrap_or_else(PoisonError::into_inner);
        self.tiles.bytes() + exchange.shares.iter().chain(&exchange.partials).map(Buffer::bytes).sum::<u64>()
    }
}

impl Exchange {
    /// Counts how often each array was written by a run: in every iteration, but for shares in the last one allowed. A run that converged
    /// was left in the iteration after, in which windows may have told their borders already.
    fn advance(&mut self, config: &PageRankConfig, iterations: u32, tells_early: bool) {
        let told = u32::from(tells_early && iterations + 1 < config.max_iterations);
        let (shares, partials) = ((iterations + told).min(config.max_iterations - 1), iterations);
        for (rounds, written) in [(&mut self.share_rounds, shares), (&mut self.partial_rounds, partials)] {
            rounds[0] = rounds[0].wrapping_add(written.div_ceil(2));
            rounds[1] = rounds[1].wrapping_add(written / 2);
        }
    }
}
