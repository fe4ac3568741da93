//! Shortest paths from one source: a layout built once for a pattern and its weights, and a run per source.
//!
//! Distances are summed in `u32` where all weights are whole numbers that fit, whatever their type, and in `u64`, `f32` or `f64`
//! otherwise, or where a run finds that they outgrew `u32` (floats: what an `f32` holds exactly). The general form takes any
//! graph and any weights. Special forms for whole weights state what they need and are chosen in `select.rs`; the general form runs
//! wherever they give up.
//!
//! Invariant: distances and parents do not depend on the form or on how threads interleave.

mod bisect;
mod distance;
mod general;
mod parents;
mod partition;
mod select;
mod special;
mod sweep;
#[cfg(test)]
mod tests;
mod tile;
mod weights;

pub use distance::Distance;
pub use general::GeneralOptions;
pub use select::{VARIANTS, Variant};
pub use sweep::SweepOptions;
pub use tile::TileOptions;

use crate::device::{Buffer, Device};
use crate::{DeviceCsr, DeviceValues, Offsets, Result};
use bitgraph_algorithms::{Sssp, SsspConfig};
use bitgraph_backend::Error as Base;
use bitgraph_semiring::DType;
use distance::Native;
use general::General;
use special::Special;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use weights::{Summary, native_weights};

/// Arcs by their tail (or head, of the transpose), with their values in the same order.
#[derive(Clone, Debug)]
pub struct Arcs {
    /// Where each row starts, and the number of entries at the end.
    pub offsets: Buffer<u32>,
    /// The other end of each arc, ascending within a row.
    pub indices: Buffer<u32>,
    /// The values' type and bytes; none: every arc has length 1.
    pub values: Option<(DType, Buffer<u8>)>,
}

impl Arcs {
    /// Of a matrix; none if its offsets are 64 bits wide. The memory is shared.
    #[must_use]
    pub fn of(csr: &DeviceCsr, values: Option<&DeviceValues>) -> Option<Self> {
        let offsets = csr.offsets.as_u32()?.clone();
        Some(Self { offsets, indices: csr.indices.clone(), values: values.map(|v| (v.dtype, v.data.clone())) })
    }
    /// Without the values; the memory is shared.
    fn pattern(&self) -> DeviceCsr {
        let (rows, nnz) = (self.nodes(), self.nnz());
        DeviceCsr { rows, columns: rows, nnz, offsets: Offsets::U32(self.offsets.clone()), indices: self.indices.clone() }
    }
    /// The number of vertices.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }
    /// The number of arcs.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }
}

/// Choices that are made for the caller by default.
#[derive(Clone, Debug, Default)]
pub struct SsspOptions {
    /// Sum `f16`, `bf16` and `f32` weights in `f64`.
    pub wide_sums: bool,
    /// Of the general form; for trying it out.
    pub general: Option<GeneralOptions>,
    /// Of the sweeps; for trying them out.
    pub sweep: Option<SweepOptions>,
    /// Of the tiles; for trying them out.
    pub tile: Option<TileOptions>,
}

/// A graph with weights, ready for shortest paths from any source.
#[derive(Debug)]
pub struct SsspLayout {
    out: Arcs,
    incoming: Option<Arcs>,
    summary: Summary,
    /// The most arcs of a vertex.
    longest: u32,
    options: SsspOptions,
    special: Mutex<Special>,
    /// Runs outgrew `u32` before, or what the special form can sum up.
    outgrown: AtomicBool,
    special_outgrown: AtomicBool,
    whole: Searches<u32>,
    wide: Searches<u64>,
    single: Searches<f32>,
    double: Searches<f64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
/// The slot's value, made at first use.
fn once<T>(slot: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = slot.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(slot.get_or_init(|| value))
}

/// The general form in one type, made at first use; one run at a time.
#[derive(Debug)]
struct Searches<D> {
    weights: OnceLock<Option<Buffer<D>>>,
    general: OnceLock<Mutex<General<D>>>,
    /// Weights of the transpose of a directed graph.
    incoming: OnceLock<Option<Buffer<D>>>,
}
impl<D> Default for Searches<D> {
    fn default() -> Self {
        Self { weights: OnceLock::new(), general: OnceLock::new(), incoming: OnceLock::new() }
    }
}
impl<D: Native> Searches<D> {
    fn general(&self, device: &Device, layout: &SsspLayout) -> Result<MutexGuard<'_, General<D>>> {
        let build = || General::build(device, &layout.out, layout.general_options()).map(Mutex::new);
        Ok(lock(once(&self.general, build)?))
    }
    /// Weights of the arcs in this type.
    fn weights(&self, device: &Device, arcs: &Arcs) -> Result<Option<&Buffer<D>>> {
        once(&self.weights, || native_weights(device, arcs)).map(Option::as_ref)
    }
    fn incoming(&self, device: &Device, arcs: &Arcs) -> Result<Option<&Buffer<D>>> {
        once(&self.incoming, || native_weights(device, arcs)).map(Option::as_ref)
    }
    fn bytes(&self) -> u64 {
        let general = self.general.get().map_or(0, |g| lock(g).bytes());
        general + self.incoming.get().and_then(Option::as_ref).map_or(0, Buffer::bytes)
    }
}

/// Several launches count as one run; a single one is timed where it is launched, without the wait that follows it.
fn span_if<R>(device: &Device, several: bool, work: impl FnOnce() -> Result<R>) -> Result<R> {
    if several { device.span(work) } else { work() }
}

impl SsspLayout {
    /// Checks the weights and builds what a variant asks for; the general form stands in where graph or weights do not suit it:
    /// [`SsspLayout::variant`]. `incoming` is the transpose of a directed graph with its values; none says that pattern and weights are
    /// symmetric. An arc of infinite weight is never taken. O(nnz), on the device.
    ///
    /// # Errors
    /// [`Base::Shape`] for arrays that do not fit together; [`Base::Weight`] naming the first edge whose weight is negative or
    /// not a number.
    pub fn build(device: &Device, out: Arcs, incoming: Option<Arcs>, variant: Variant, options: SsspOptions) -> Result<Self> {
        for arcs in [Some(&out), incoming.as_ref()].into_iter().flatten() {
            let values = arcs.values.as_ref().map_or(arcs.nnz(), |(dtype, bytes)| bytes.len() / dtype.bytes());
            if values != arcs.nnz() || arcs.nnz() != out.nnz() || arcs.nodes() != out.nodes() {
                let (expected, found) = (out.nnz() as u64, values as u64);
                return Err(Base::Shape { operation: "sssp", operand: "arcs and weights", expected, found }.into());
            }
        }
        let summary = Summary::of(device, &out)?;
        let longest = weights::longest(device, &out)?;
        let layout = Self {
            out,
            incoming,
            summary,
            longest,
            options,
            special: Mutex::default(),
            outgrown: AtomicBool::new(false),
            special_outgrown: AtomicBool::new(false),
            whole: Searches::default(),
            wide: Searches::default(),
            single: Searches::default(),
            double: Searches::default(),
        };
        if layout.out.nnz() > 0 {
            let special = Special::build(device, &layout, variant)?;
            *lock(&layout.special) = special;
        }
        Ok(layout)
    }
    fn general_options(&self) -> GeneralOptions {
        self.options.general.unwrap_or_else(|| GeneralOptions::suited(self.nodes(), self.out.nnz(), self.longest, self.summary.mean))
    }
    /// The variant that a search begins with; the general one finishes what it gives up.
    #[must_use]
    pub fn variant(&self) -> Variant {
        lock(&self.special).variant()
    }
    /// Bytes on the device besides the caller's arrays.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        lock(&self.special).bytes() + self.whole.bytes() + self.wide.bytes() + self.single.bytes() + self.double.bytes()
    }
    /// Sweeps or hops of the special form's last run, for reports.
    #[must_use]
    pub fn steps(&self) -> u32 {
        lock(&self.special).steps()
    }
    /// The number of vertices.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.out.nodes()
    }

    /// Distances from the config's source, and parents if asked for. With a target, vertices that are farther count as not
    /// reached. `delta` is the width of a step.
    ///
    /// # Errors
    /// [`Base::VertexOutOfRange`] for the source or the target; [`Base::Parameter`] for a width that is not positive and finite;
    /// [`Base::Overflow`] if a distance does not fit `T` or 64 bits; [`Base::Type`] for float distances asked for as integers;
    /// cancellation.
    pub fn run<T: Distance>(&self, device: &Device, config: &SsspConfig) -> Result<Sssp<T>> {
        let nodes = self.nodes() as u64;
        for vertex in [Some(config.source), config.target].into_iter().flatten().map(u64::from) {
            if vertex >= nodes {
                return Err(Base::VertexOutOfRange { vertex, nodes }.into());
            }
        }
        if let Some(delta) = config.delta
            && !(delta > 0.0 && delta.is_finite())
        {
            return Err(Base::Parameter { parameter: "delta", found: delta, allowed: "above 0 and finite" }.into());
        }
        let float = self.summary.dtype.is_float();
        if self.fits_whole() {
            if let Some(found) = self.whole_search(device, config)? {
                return Ok(found);
            }
            self.outgrown.store(true, Ordering::Relaxed);
        }
        if !float {
            return self.general(device, &self.wide, config, |d| self.check_stuck(device, config, d));
        }
        if !T::DTYPE.is_float() {
            return Err(Base::Type { operation: "sssp", expected: T::DTYPE, found: self.summary.dtype }.into());
        }
        match distance::float_type(self.summary.dtype, self.options.wide_sums) {
            DType::F64 => self.general(device, &self.double, config, |_| Ok(())),
            _ => self.general(device, &self.single, config, |_| Ok(())),
        }
    }

    /// Whether distances may be summed in `u32`: certain where no path can be longer, else worth a try.
    fn fits_whole(&self) -> bool {
        self.summary.whole.is_some_and(|largest| largest < u64::from(u32::MAX)) && !self.outgrown.load(Ordering::Relaxed)
    }
    /// The largest whole distance for which sums in `u32` are those of the weights' own type.
    fn whole_limit(&self) -> u64 {
        match self.summary.dtype {
            dtype if !dtype.is_float() => u64::from(u32::MAX) - 1,
            dtype if distance::float_type(dtype, self.options.wide_sums) == DType::F64 => u64::from(u32::MAX) - 1,
            _ => 1 << f32::MANTISSA_DIGITS,
        }
    }
    /// A search in `u32`; none if distances outgrew it.
    fn whole_search<T: Distance>(&self, device: &Device, config: &SsspConfig) -> Result<Option<Sssp<T>>> {
        let special = lock(&self.special);
        if !matches!(*special, Special::None) && !self.special_outgrown.load(Ordering::Relaxed) {
            let search = || special.search(device, config);
            let limit = self.whole_limit().min(special.limit());
            if let Some(found) = self.checked_search(device, config, limit, search)? {
                return Ok(Some(found));
            }
            self.special_outgrown.store(true, Ordering::Relaxed);
        }
        drop(special);
        let general = self.whole.general(device, self)?;
        let weights = self.whole.weights(device, &self.out)?;
        let search = || Ok(Some(general.search(device, &self.out, weights, config)?.clone()));
        self.checked_search(device, config, self.whole_limit(), search)
    }
    /// A search in `u32`; none if it gave up, or if distances may have gone past `limit` on the way.
    fn checked_search<T: Distance>(
        &self,
        device: &Device,
        config: &SsspConfig,
        limit: u64,
        search: impl FnOnce() -> Result<Option<Buffer<u32>>>,
    ) -> Result<Option<Sssp<T>>> {
        let largest = self.summary.whole.unwrap_or(0);
        // No path has more arcs than there are other vertices.
        let certain = u128::from(largest) * u128::from(self.nodes().saturating_sub(1) as u64) <= u128::from(limit);
        let found = span_if(device, config.parents || !certain, || {
            let Some(distances) = search()? else { return Ok(None) };
            if !certain && u64::from(parents::farthest(device, &distances)?) + largest > limit {
                return Ok(None);
            }
            let parents = self.parents(device, &self.whole, &distances, config)?;
            Ok(Some((distances, parents)))
        })?;
        found.map(|(distances, parents)| finish(device, config, &distances, parents)).transpose()
    }
    /// A search by the general form, checked by `check`.
    fn general<D: Native, T: Distance>(
        &self,
        device: &Device,
        searches: &Searches<D>,
        config: &SsspConfig,
        check: impl FnOnce(&Buffer<D>) -> Result<()>,
    ) -> Result<Sssp<T>> {
        let general = searches.general(device, self)?;
        let weights = searches.weights(device, &self.out)?;
        let (distances, parents) = span_if(device, config.parents, || {
            let distances = general.search(device, &self.out, weights, config)?;
            Ok((distances, self.parents(device, searches, distances, config)?))
        })?;
        check(distances)?;
        finish(device, config, distances, parents)
    }
    /// The parents, if the config asks for them.
    fn parents<D: Native>(
        &self,
        device: &Device,
        searches: &Searches<D>,
        distances: &Buffer<D>,
        config: &SsspConfig,
    ) -> Result<Option<Buffer<u32>>> {
        if !config.parents {
            return Ok(None);
        }
        let (arcs, weights) = match &self.incoming {
            None => (&self.out, searches.weights(device, &self.out)?),
            Some(arcs) => (arcs, searches.incoming(device, arcs)?),
        };
        parents::parents(device, arcs, weights, distances, config).map(Some)
    }
    /// Refuses sums that stuck at the largest value of 64 bits although there is a path.
    fn check_stuck(&self, device: &Device, config: &SsspConfig, distances: &Buffer<u64>) -> Result<()> {
        let largest = self.summary.whole.unwrap_or(0);
        if u128::from(largest) * u128::from(self.nodes().saturating_sub(1) as u64) < u128::from(u64::MAX) {
            return Ok(());
        }
        // A target that was found is nearer than whatever overflowed.
        if let Some(target) = config.target
            && distances.get(target as usize)? != u64::MAX
        {
            return Ok(());
        }
        if parents::stuck(device, &self.out, distances)? {
            return Err(Base::Overflow { what: "a distance", dtype: DType::U64 }.into());
        }
        Ok(())
    }
}

/// Cuts off what lies beyond the target, converts, counts.
fn finish<D: Native, T: Distance>(
    device: &Device,
    config: &SsspConfig,
    distances: &Buffer<D>,
    parents: Option<Buffer<u32>>,
) -> Result<Sssp<T>> {
    let distances = distance::download::<D, T>(device, distances, config.target)?;
    let parents = parents.map(|p| p.to_vec()).transpose()?;
    let reached = distances.iter().filter(|&&d| d != T::largest()).count() as u64;
    Ok(Sssp { source: config.source, distances, parents, reached })
}
