//! Products of codes, as QGTC measures them: an N x N matrix of 1 bit by an N x D one of few bits, on the host and on a GPU.
//!
//! Invariant: every product is compared with whole numbers of the host before it is timed.

use crate::codes::{Codes, checked_rows, element, planes};
use crate::reproduce::paper::{Tables, seconds};
use crate::reproduce::table::Gpu;
use crate::timing::Bench;
use anyhow::{Result, ensure};
use bitgraph::cuda::tensor::bits::DeviceTiles;
use bitgraph::prelude::*;
use bitgraph::sparse::Control;
use bitgraph::tensor::Planes;
use bitgraph::tensor::ops::bit_gemm;
use bitgraph_bittensor::{BitLayout, BitMatrix, BitPlanes, Levels, Packing, Scales, TileShape};
use std::fmt;

/// Words of 64 bits that are counted up to which the host is asked for a product.
const HOST_WORDS: u64 = 1 << 32;

/// The shape of a product, and the bits of its second operand; the first one has 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Rows and columns of the first operand.
    pub n: usize,
    /// Columns of the second.
    pub columns: usize,
    /// Its bits.
    pub bits: u32,
}

/// Times of one product in seconds.
#[derive(Clone, Debug)]
pub struct Times {
    /// What was multiplied.
    pub size: Size,
    /// On the host, where it does not take too long.
    pub host: Option<f64>,
    /// On the GPU.
    pub gpu: Gpu<OnGpu>,
}

/// Times on a GPU in seconds.
#[derive(Clone, Copy, Debug)]
pub struct OnGpu {
    /// A single launch.
    pub single: f64,
    /// One of 20 in a graph of launches.
    pub in_graph: f64,
    /// cuBLASLt with both operands in 8 bits.
    pub int8: Option<f64>,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{0} x {0} of 1 bit by {1} columns of {2}", self.n, self.columns, self.bits)
    }
}

impl Size {
    /// Operations over time, in 10^12 a second: two for each element and place that is summed over, however many bits they have.
    #[must_use]
    pub fn tflops(self, seconds: f64) -> f64 {
        2e-12 * self.n as f64 * self.n as f64 * self.columns as f64 / seconds
    }
    /// Whether the host is asked for it.
    fn is_for_host(self) -> bool {
        (self.n as u64 / 64).saturating_mul(self.n as u64).saturating_mul(self.columns as u64 * u64::from(self.bits)) <= HOST_WORDS
    }
    fn first(self) -> Result<BitPlanes> {
        planes(self.n, self.n, Packing::Rows, 1, 1)
    }
    fn second(self) -> Result<BitPlanes> {
        planes(self.n, self.columns, Packing::Columns, self.bits, 2)
    }
    /// Times it; cuBLASLt, whose operands take a byte an element, on request.
    pub(crate) fn measure(self, tables: &mut Tables, bench: Option<&Bench<'_>>, int8: bool, runs: usize) -> Result<Times> {
        let (a, b) = (self.first()?, self.second()?);
        let host = if self.is_for_host() { Some(on_host(&a, &b, runs)?) } else { None };
        let gpu = tables.on_gpu(bench, &self.to_string(), |bench| {
            let product = Codes::of(bench, a, b)?;
            product.run(None)?;
            product.check()?;
            let int8 = if int8 { product.int8(bench)? } else { None };
            let (single, in_graph) = bench.timed(&|| product.run(None))?;
            Ok(OnGpu { single, in_graph, int8 })
        });
        Ok(Times { size: self, host, gpu })
    }
}

/// Seconds on the host.
fn on_host(a: &BitPlanes, b: &BitPlanes, runs: usize) -> Result<f64> {
    let cpu = Cpu::new();
    let (x, w) = (Planes::from_host(&cpu, a)?, Planes::from_host(&cpu, b)?);
    let found = bit_gemm(&x, &w).eval_as::<i32>()?.to_host()?;
    for i in checked_rows(a.nrows()) {
        for j in 0..b.ncols() {
            let (found, wanted) = (found[i * b.ncols() + j], element(a, b, i, j));
            ensure!(i64::from(found) == wanted as i64, "({i}, {j}) is {found} on the host, not {wanted}");
        }
    }
    seconds(runs, || Ok(bit_gemm(&x, &w).eval_as::<i32>()?))
}

/// A first operand of ones by codes of several bits: a product for each plane, and one of all planes.
#[derive(Clone, Debug)]
pub struct Reuse {
    /// What was multiplied.
    pub size: Size,
    /// Loads of tiles of 8 x 128 of the first operand, counted: for each plane again, and once for all of them.
    pub loads: (u64, u64),
    /// Seconds of single products on the host: one for each plane, and one of all.
    pub host: Option<(f64, f64)>,
    /// The same on the GPU.
    pub gpu: Gpu<(f64, f64)>,
}

/// Columns of the result that a tile of the first operand is multiplied with at once.
const TILE_COLUMNS: usize = 8;

/// Times a product with a first operand of ones, whose tiles are all filled.
pub(crate) fn reuse(size: Size, tables: &mut Tables, bench: Option<&Bench<'_>>, runs: usize) -> Result<Reuse> {
    let layout = BitLayout::new(size.n, size.n, Packing::Rows, TileShape::new(1, 128)?)?;
    let mut words = vec![0u32; layout.words()];
    for line in words.chunks_exact_mut(layout.stride()).take(size.n) {
        line[..size.n / 32].fill(!0);
        if !size.n.is_multiple_of(32) {
            line[size.n / 32] = (1 << (size.n % 32)) - 1;
        }
    }
    let ones = BitMatrix::from_words(layout, Levels::ZeroOne, words.into(), Scales::None)?;
    let tiles = ones.tiles(TileShape::TILE_8X128, &Control::default())?.nonzero() as u64;
    let (a, b) = (BitPlanes::from(&ones), size.second()?);
    let each: Vec<BitPlanes> = (0..b.bits()).map(|p| BitPlanes::from(&b.plane(p))).collect();
    let once = tiles * size.columns.div_ceil(TILE_COLUMNS) as u64;
    let host = if size.is_for_host() {
        let planes = each.iter().map(|plane| on_host(&a, plane, runs)).sum::<Result<f64>>()?;
        Some((planes, on_host(&a, &b, runs)?))
    } else {
        None
    };
    let gpu = tables.on_gpu(bench, &format!("{size}, each for itself"), |bench| {
        let all = Codes::of(bench, a.clone(), b)?;
        let planes = each.into_iter().map(|plane| all.beside(plane)).collect::<Result<Vec<_>>>()?;
        for product in planes.iter().chain([&all]) {
            product.run(None)?;
            product.check()?;
        }
        let one_each = || planes.iter().try_for_each(|product| product.run(None));
        Ok((bench.single(&one_each)?, bench.single(&|| all.run(None))?))
    });
    Ok(Reuse { size, loads: (once * u64::from(size.bits), once), host, gpu })
}

/// Seconds of the product of a batch's adjacency matrix on the GPU: over all tiles, and past those without entries.
pub(crate) fn jumping(bench: &Bench<'_>, adjacency: &BitMatrix, columns: usize, bits: u32) -> Result<(f64, f64)> {
    let a = BitPlanes::from(adjacency);
    let b = planes(adjacency.ncols(), columns, Packing::Columns, bits, 2)?;
    let map = DeviceTiles::of(&bench.device, adjacency)?;
    let product = Codes::of(bench, a, b)?;
    product.run(None)?;
    product.check()?;
    let all = bench.single(&|| product.run(None))?;
    product.run(Some(&map))?;
    product.check()?;
    Ok((all, bench.single(&|| product.run(Some(&map)))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_loads() {
        let mut tables = Tables::new("a paper", true);
        let size = Size { n: 1000, columns: 20, bits: 3 };
        assert!((size.tflops(1e-3) - 0.04).abs() < 1e-12);
        assert!(size.is_for_host() && !Size { n: 1 << 16, columns: 1024, bits: 8 }.is_for_host());
        let times = Size { n: 100, columns: 12, bits: 3 }.measure(&mut tables, None, true, 1).unwrap();
        assert!(times.host.is_some_and(|s| s > 0.0) && times.gpu.is_err());
        let reuse = reuse(Size { n: 200, columns: 12, bits: 4 }, &mut tables, None, 1).unwrap();
        // 25 x 2 tiles, all of ones, for two strips of 8 columns.
        assert_eq!(reuse.loads, (4 * 100, 100));
        assert!(reuse.host.is_some() && reuse.gpu.is_err());
    }
}
