//! How many tiles each format takes, counted or estimated on the device; the numbers are those of `TileCounts` on the host.

use super::hybrid;
use super::tiles::{TileOptions, Walk};
use crate::Result;
use crate::device::Device;
use crate::layout::DeviceCsr;
use bitgraph_b2sr::{HybridConfig, TileCounts};
use bitgraph_sparse::FormatKind;

/// How to count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileCountConfig {
    /// Estimate from about this many bands of 32 rows; count all rows if `None`.
    pub sampled_bands: Option<usize>,
    /// The seed of the sample.
    pub seed: u64,
    /// Count the hybrid's parts as well; not with a sample.
    pub hybrid: Option<HybridConfig>,
}

impl Default for TileCountConfig {
    fn default() -> Self {
        Self { sampled_bands: None, seed: 1, hybrid: None }
    }
}

pub(super) const KINDS: [FormatKind; 4] = [FormatKind::B2sr4, FormatKind::B2sr8, FormatKind::B2sr16, FormatKind::B2sr32];

/// SplitMix64, as the host draws its sample.
pub(super) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// One band of 32 rows from each of equal strata of all; `None` if there are no more bands than wanted.
pub(super) fn draw(rows: usize, bands: usize, seed: u64) -> Option<Vec<u32>> {
    let (all, bands) = (rows.div_ceil(32), bands.max(1));
    let mut state = seed;
    (all > bands).then(|| {
        (0..bands)
            .map(|k| {
                let (low, high) = (k * all / bands, (k + 1) * all / bands);
                low as u32 + ((u128::from(split_mix(&mut state)) * (high - low) as u128) >> 64) as u32
            })
            .collect()
    })
}

/// Counts the tiles of all sizes. A pass over the entries for each size, of the sampled rows only where there is a sample; waits once.
///
/// # Errors
/// Out of memory.
pub fn tile_counts(device: &Device, csr: &DeviceCsr, config: &TileCountConfig) -> Result<TileCounts> {
    tile_counts_with(device, csr, config, &TileOptions::default())
}

pub(super) fn tile_counts_with(device: &Device, csr: &DeviceCsr, config: &TileCountConfig, options: &TileOptions) -> Result<TileCounts> {
    let drawn = config.sampled_bands.and_then(|bands| draw(csr.rows, bands, config.seed));
    let sample = drawn.as_ref().map(|d| device.upload(d)).transpose()?;
    // Tiles of each size, each followed by the entries seen.
    let totals = device.zeroed::<u64>(8)?;
    for (i, kind) in KINDS.into_iter().enumerate() {
        let mut walk = Walk::new(device, csr, kind, sample.as_ref(), options)?;
        walk.parameters.total = totals.ptr().offset(2 * i);
        walk.pass(device)?;
    }
    let found = totals.to_vec()?;
    let (mut tiles, exact) = ([found[0], found[2], found[4], found[6]], sample.is_none());
    if !exact {
        let scale = if found[1] == 0 { 0.0 } else { csr.nnz as f64 / found[1] as f64 };
        tiles = tiles.map(|t| (t as f64 * scale).round() as u64);
    }
    let hybrid = match &config.hybrid {
        Some(c) if exact && config.sampled_bands.is_none() => Some(hybrid::counts(device, csr, c, options)?),
        _ => None,
    };
    Ok(TileCounts { rows: csr.rows, nnz: csr.nnz as u64, tiles, hybrid, exact })
}
