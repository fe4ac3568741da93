//! What a graph looks like, measured on the device and read back at once: degrees, locality, tile counts, how slowly searches spread.
//!
//! Cost: a pass over the entries, a sort of the degrees, and the tile counts (of sampled bands unless asked for exactly): about a tenth of
//! a conversion. Waits once.

use super::counts::{KINDS, draw, split_mix};
use super::tiles::{TileOptions, Walk};
use crate::Result;
use crate::device::{Device, DevicePtr, Mode, Shape, parameters};
use crate::layout::DeviceCsr;
use crate::primitives::{RowOffsets, THREADS, degrees, elementwise, entry_rows_shared, id_bits, probe, sort_keys, threads};
use bitgraph_b2sr::{Degrees, RowSample, TileCounts};

const MODULE: &str = "formats/profile";

/// How much to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceProfileConfig {
    /// Count the tiles of all rows.
    pub exact: bool,
    /// Bands of 32 rows from which tile counts are estimated otherwise.
    pub sample_bands: usize,
    /// Rows of the sampling profile of Bit-GraphBLAS.
    pub sample_rows: usize,
    /// The seed of both samples.
    pub seed: u64,
    /// Vertices that the searches of the diameter probe look for; 0 for no probe.
    pub probed: u32,
}

impl Default for DeviceProfileConfig {
    fn default() -> Self {
        Self { exact: false, sample_bands: 512, sample_rows: 1024, seed: 1, probed: 4096 }
    }
}

/// A graph's profile.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeviceProfile {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Entries.
    pub nnz: usize,
    /// Entries of the rows.
    pub degrees: Degrees,
    /// Tiles of each size, exact or estimated.
    pub tiles: TileCounts,
    /// The sampling profile of Bit-GraphBLAS.
    pub sample: RowSample,
    /// The average distance of an entry from the main diagonal.
    pub bandwidth_mean: f64,
    /// The largest.
    pub bandwidth_max: usize,
    /// Entries by the bits of their distance: `distances[b]` have one of at least `2^(b - 1)` and below `2^b`; `[0]` are loops.
    pub distances: [u64; 33],
    /// Levels that searches from vertices `n / 3` and `2 n / 3` need to meet the probed number of vertices; `None` for smaller components.
    pub levels: [Option<u32>; 2],
    /// The number of vertices that the probe looked for.
    pub probed: u32,
}

impl DeviceProfile {
    /// The share of entries whose distance from the diagonal is at least `reach`, rounded down to a power of two.
    #[must_use]
    pub fn far_share(&self, reach: usize) -> f64 {
        let first = (usize::BITS - reach.leading_zeros()) as usize;
        let far: u64 = self.distances.iter().skip(first).sum();
        if self.nnz == 0 { 0.0 } else { far as f64 / self.nnz as f64 }
    }
    /// Whether searches need clearly more levels than in a random graph of the same mean degree: a mesh, a grid, a road network.
    #[must_use]
    pub fn spreads_slowly(&self) -> bool {
        let random = f64::from(self.probed).ln() / (self.degrees.mean - 1.0).max(1.5).ln();
        let most = self.levels.iter().flatten().max();
        self.rows > 2 * self.probed as usize && most.is_some_and(|&l| f64::from(l) > 1.6 * random + 2.0)
    }
}

parameters! {
    struct DistanceParams = "formats/profile.cu" "bg::DistanceParams" {
        offsets: RowOffsets,
        indices: DevicePtr<u32>,
        nnz: u64,
        output: DevicePtr<u64>,
    }
    struct DegreeParams = "formats/profile.cu" "bg::DegreeParams" {
        sorted: DevicePtr<u32>,
        output: DevicePtr<u64>,
        n: u32,
        ranks: [u32; 6],
        top: u32,
    }
    struct SampleParams = "formats/profile.cu" "bg::SampleParams" {
        offsets: RowOffsets,
        indices: DevicePtr<u32>,
        rows: DevicePtr<u32>,
        output: DevicePtr<u64>,
        n: u32,
        unused: u32,
    }
}

// Where each part of the result starts, in words.
const TILES: usize = 0;
const DISTANCES: usize = 8;
const DEGREES: usize = DISTANCES + 35;
const LEVELS: usize = DEGREES + 11;
const SAMPLE: usize = LEVELS + 4;

/// Profiles a pattern.
///
/// # Errors
/// Out of memory.
pub fn profile(device: &Device, csr: &DeviceCsr, config: &DeviceProfileConfig) -> Result<DeviceProfile> {
    let (n, nnz) = (csr.rows, csr.nnz);
    let out = device.zeroed::<u64>(SAMPLE + 5 * config.sample_rows)?;
    let at = |word: usize| out.ptr().offset(word);
    let drawn = if config.exact { None } else { draw(n, config.sample_bands, config.seed) };
    let bands = drawn.as_ref().map(|d| device.upload(d)).transpose()?;
    for (i, kind) in KINDS.into_iter().enumerate() {
        let mut walk = Walk::new(device, csr, kind, bands.as_ref(), &TileOptions::default())?;
        walk.parameters.total = at(TILES + 2 * i);
        walk.pass(device)?;
    }
    let (offsets, indices) = (RowOffsets::of(csr), csr.indices.ptr());
    let block = threads(device, THREADS);
    if nnz > 0 {
        let grid = (nnz as u64).div_ceil(u64::from(block) * 16).min(u64::from(device.properties().sms) * 8) as u32;
        let shape = Shape { grid, block, shared: 48 * 4 + entry_rows_shared(block, 16), mode: Mode::Plain };
        let parameters = DistanceParams { offsets, indices, nnz: nnz as u64, output: at(DISTANCES) };
        // SAFETY: the arrays are the matrix's own, and those made above for its counts.
        unsafe { device.launch(&device.kernel(MODULE, "profile_distances")?, shape, &parameters) }?;
    }
    if n > 0 {
        let sorted = sort_keys(device, &degrees(device, csr)?, 0..id_bits(csr.columns + 1))?;
        let ranks = Degrees::PERCENTS.map(|p| ((n * p).div_ceil(100) - 1) as u32);
        let parameters = DegreeParams { sorted: sorted.ptr(), output: at(DEGREES), n: n as u32, ranks, top: n.div_ceil(100) as u32 };
        // SAFETY: the arrays are the matrix's own, and those made above for its counts.
        unsafe { elementwise(device, MODULE, "profile_degrees", n as u64, &parameters) }?;
    }
    if n > 0 && config.sample_rows > 0 {
        let mut state = config.seed;
        let rows: Vec<u32> = (0..config.sample_rows).map(|_| ((u128::from(split_mix(&mut state)) * n as u128) >> 64) as u32).collect();
        let rows = device.upload(&rows)?;
        let count = rows.len() as u32;
        let shape = Shape { grid: count.div_ceil(block / 32), block, shared: 0, mode: Mode::Plain };
        let parameters = SampleParams { offsets, indices, rows: rows.ptr(), output: at(SAMPLE), n: count, unused: 0 };
        // SAFETY: the arrays are the matrix's own, and those made above for its counts.
        unsafe { device.launch(&device.kernel(MODULE, "profile_sample")?, shape, &parameters) }?;
    }
    if config.probed > 0 && csr.rows == csr.columns && n > 0 {
        for (i, source) in [n / 3, 2 * n / 3].into_iter().enumerate() {
            probe(device, csr, source as u32, config.probed, at(LEVELS + 2 * i).cast())?;
        }
    }
    Ok(read(csr, config, bands.is_none(), &out.to_vec()?))
}

fn read(csr: &DeviceCsr, config: &DeviceProfileConfig, exact: bool, words: &[u64]) -> DeviceProfile {
    let (n, nnz) = (csr.rows, csr.nnz);
    let mut tiles = [0, 2, 4, 6].map(|i| words[TILES + i]);
    if !exact {
        let scale = if words[TILES + 1] == 0 { 0.0 } else { nnz as f64 / words[TILES + 1] as f64 };
        tiles = tiles.map(|t| (t as f64 * scale).round() as u64);
    }
    let d = &words[DEGREES..LEVELS];
    let mean = if n == 0 { 0.0 } else { nnz as f64 / n as f64 };
    let variance = if n == 0 { 0.0 } else { (d[0] as f64 / n as f64 - mean * mean).max(0.0) };
    let mut percentiles = [0; 6];
    percentiles.iter_mut().zip(&d[5..]).for_each(|(p, &w)| *p = w as usize);
    let degrees = Degrees {
        min: d[3] as usize,
        max: d[4] as usize,
        mean,
        deviation: variance.sqrt(),
        percentiles,
        top_share: if nnz == 0 { 0.0 } else { d[1] as f64 / nnz as f64 },
        empty: d[2] as usize,
    };
    let mut distances = [0; 33];
    distances.copy_from_slice(&words[DISTANCES + 2..DISTANCES + 35]);
    let levels = [0, 1].map(|i| {
        let word = words[LEVELS + 2 * i];
        let (met, levels) = (word as u32, (word >> 32) as u32);
        (config.probed > 0 && met >= config.probed).then_some(levels)
    });
    DeviceProfile {
        rows: n,
        columns: csr.columns,
        nnz,
        degrees,
        tiles: TileCounts { rows: n, nnz: nnz as u64, tiles, hybrid: None, exact },
        sample: sample_of(if n == 0 { &[] } else { &words[SAMPLE..] }, config.sample_rows),
        bandwidth_mean: if nnz == 0 { 0.0 } else { words[DISTANCES] as f64 / nnz as f64 },
        bandwidth_max: words[DISTANCES + 1] as usize,
        distances,
        levels,
        probed: config.probed,
    }
}

/// The averages, in the order in which rows were drawn, as on the host.
fn sample_of(words: &[u64], rows: usize) -> RowSample {
    let mut sample = RowSample { rows, ..RowSample::default() };
    let filled = words.chunks_exact(5).filter(|w| w[0] > 0);
    for w in filled.clone() {
        for k in 0..4 {
            sample.entries_per_bit_row[k] += w[0] as f64 / w[k + 1] as f64;
        }
    }
    let count = filled.count();
    for k in 0..4 {
        if count > 0 {
            let size = f64::from(4u32 << k);
            sample.entries_per_bit_row[k] /= count as f64;
            sample.bytes_ratio[k] = (size / 8.0 + 4.0 / size) / (8.0 * sample.entries_per_bit_row[k]);
        }
    }
    sample
}
