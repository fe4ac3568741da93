//! A product of two matrices of codes on a GPU, with its check against whole numbers of the host, and cuBLASLt's with numbers of 8 bits.
//!
//! Invariant: what is timed is what was checked.

use crate::timing::Bench;
use anyhow::{Context, Result, ensure};
use bitgraph::cuda::device::{Buffer, Device};
use bitgraph::cuda::tensor::bits::{DevicePlanes, DeviceTiles, codes_product};
use bitgraph_bittensor::{BitLayout, BitPlanes, Packing, Quantization, Rounding, Step, Steps, TileShape, dot};
use bitgraph_measure::Launches;
use bitgraph_measure::cublaslt::CublasInt8;

/// Rows whose result is compared.
const CHECKED_ROWS: usize = 24;

/// Words by a hash of their place.
pub(crate) fn word(place: usize, seed: u64) -> u32 {
    let mut x = (place as u64 ^ seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 29) as u32
}

/// Words of lines, with zeros behind the matrix.
pub(crate) fn words(layout: &BitLayout, planes: usize, seed: u64) -> Vec<u32> {
    let (full, rest) = (layout.length() / 32, layout.length() % 32);
    let mut all = vec![0u32; planes * layout.words()];
    if layout.words() > 0 {
        for (l, line) in all.chunks_exact_mut(layout.stride()).enumerate() {
            if l % layout.padded_lines() >= layout.lines() {
                continue;
            }
            for (k, w) in line.iter_mut().enumerate().take(full + usize::from(rest > 0)) {
                let mask = if k < full { !0 } else { (1 << rest) - 1 };
                *w = word(l * layout.stride() + k, seed) & mask;
            }
        }
    }
    all
}

/// Pseudo-random codes.
pub(crate) fn planes(rows: usize, columns: usize, packing: Packing, bits: u32, seed: u64) -> Result<BitPlanes> {
    let layout = BitLayout::new(rows, columns, packing, TileShape::new(1, 128)?)?;
    let quantization = Quantization::new(bits, Rounding::Nearest, Steps::Tensor(Step::UNIT))?;
    Ok(BitPlanes::from_words(layout, quantization, words(&layout, bits as usize, seed).into())?)
}

/// Lines of codes as numbers of 8 bits, the sign bit left out.
pub(crate) fn bytes(planes: &BitPlanes) -> Vec<i8> {
    let layout = planes.layout();
    // A layout's bits fit an address space sixteen times over.
    let mut all = vec![0i8; layout.lines() * layout.length()];
    for p in 0..planes.bits().min(7) {
        for l in 0..layout.lines() {
            let line = layout.line(planes.plane_words(p), l);
            let to = &mut all[l * layout.length()..(l + 1) * layout.length()];
            to.iter_mut().enumerate().for_each(|(k, x)| *x |= ((line[k / 32] >> (k % 32) & 1) << p) as i8);
        }
    }
    all
}

/// The rows of so many that are compared, at places that are no multiple of anything.
pub(crate) fn checked_rows(rows: usize) -> impl Iterator<Item = usize> {
    let step = rows.div_ceil(CHECKED_ROWS).max(1);
    (0..rows).step_by(step).map(move |i| (i + i / step % step).min(rows - 1))
}

/// `a b` into whole numbers of 32 bits.
pub(crate) struct Codes {
    pub a: BitPlanes,
    pub b: BitPlanes,
    device: Device,
    x: DevicePlanes,
    w: DevicePlanes,
    y: Buffer<i32>,
}

impl Codes {
    /// Of pseudo-random codes: rows x length of `left` bits by length x columns of `right` bits.
    pub fn new(bench: &Bench<'_>, [rows, length, columns]: [usize; 3], left: u32, right: u32) -> Result<Self> {
        Self::of(bench, planes(rows, length, Packing::Rows, left, 1)?, planes(length, columns, Packing::Columns, right, 2)?)
    }
    /// Of codes that are there.
    pub fn of(bench: &Bench<'_>, a: BitPlanes, b: BitPlanes) -> Result<Self> {
        let device = bench.device.clone();
        let (x, w) = (DevicePlanes::upload(&device, &a)?, DevicePlanes::upload(&device, &b)?);
        let y = device.zeroed::<i32>(elements(&a, &b)?)?;
        Ok(Self { a, b, device, x, w, y })
    }
    /// The same first operand by another second one.
    pub fn beside(&self, b: BitPlanes) -> Result<Self> {
        let w = DevicePlanes::upload(&self.device, &b)?;
        let y = self.device.zeroed::<i32>(elements(&self.a, &b)?)?;
        Ok(Self { a: self.a.clone(), b, device: self.device.clone(), x: self.x.clone(), w, y })
    }
    /// With another first operand of the same shape.
    pub fn with_left(self, a: BitPlanes) -> Result<Self> {
        Ok(Self { x: DevicePlanes::upload(&self.device, &a)?, a, ..self })
    }
    /// Launches it; `map` says which tiles of the first operand hold something.
    pub fn run(&self, map: Option<&DeviceTiles>) -> bitgraph::cuda::Result<()> {
        codes_product(&self.device, &self.x, &self.w, map, &self.y)
    }
    /// Bytes of all arrays.
    pub fn bytes(&self) -> u64 {
        self.x.bytes() + self.w.bytes() + self.y.bytes()
    }
    /// Compares rows of the result.
    pub fn check(&self) -> Result<()> {
        let columns = self.b.ncols();
        for i in checked_rows(self.a.nrows()) {
            let found = self.y.range_to_vec(i * columns..(i + 1) * columns)?;
            for (j, &found) in found.iter().enumerate() {
                let wanted = element(&self.a, &self.b, i, j);
                ensure!(i64::from(found) == wanted as i64, "({i}, {j}) is {found}, not {wanted}");
            }
        }
        Ok(())
    }
    /// Seconds of cuBLASLt with the same numbers in 8 bits, whose result is compared with ours where they fit; `None` without it.
    pub fn int8(&self, bench: &Bench<'_>) -> Result<Option<f64>> {
        let sizes = [self.a.nrows(), self.b.ncols(), self.a.ncols()];
        let (left, right) = (self.device.upload(&bytes(&self.a))?, self.device.upload(&bytes(&self.b))?);
        let Some(peer) = CublasInt8::new(&self.device, &left, &right, sizes)? else { return Ok(None) };
        if self.b.bits() < 8 && self.a.bits() < 8 {
            for i in checked_rows(sizes[0]) {
                let range = i * sizes[1]..(i + 1) * sizes[1];
                ensure!(
                    peer.output().range_to_vec(range.clone())? == self.y.range_to_vec(range)?,
                    "cuBLASLt found other numbers in row {i}"
                );
            }
        }
        Ok(Some(bench.median_of(|| Ok(peer.seconds(&bench.clock, Launches::One)?))?))
    }
}

fn elements(a: &BitPlanes, b: &BitPlanes) -> Result<usize> {
    a.nrows().checked_mul(b.ncols()).context("the elements of the product overflow")
}

/// An element of the product, by the host.
pub(crate) fn element(a: &BitPlanes, b: &BitPlanes, i: usize, j: usize) -> u64 {
    let line = |p| a.layout().line(a.plane_words(p), i);
    dot::codes(a.bits(), line, b.bits(), |q| b.layout().line(b.plane_words(q), j))
}
