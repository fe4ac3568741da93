//! For the tests of these forms: graphs of every kind, features, and bounds of rounding.

use super::Feature;
use crate::DeviceCsr;
use crate::device::{Buffer, Device};
use bitgraph_sparse::{Coo, Csr, Duplicates};
use half::{bf16, f16};

/// A feature type with its way to and from `f64`, and its unit of rounding.
pub(crate) trait Tested: Feature {
    const UNIT: f64;
    fn of(x: f64) -> Self;
    fn number(self) -> f64;
}
macro_rules! tested {
    ($($t:ident $unit:expr, $of:expr, $number:expr;)*) => { $(
        impl Tested for $t {
            const UNIT: f64 = $unit;
            fn of(x: f64) -> Self {
                ($of)(x)
            }
            fn number(self) -> f64 {
                ($number)(self)
            }
        }
    )* };
}
tested! {
    f16 1.0 / 2048.0, f16::from_f64, f16::to_f64;
    bf16 1.0 / 256.0, bf16::from_f64, bf16::to_f64;
    f32 1.0 / 16_777_216.0, |x: f64| x as f32, f64::from;
}

/// Numbers from -1 to 1, the same for the same seed.
pub(crate) struct Draw(u64);
impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub(crate) fn below(&mut self, n: u64) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n) as u32
    }
    pub(crate) fn number(&mut self) -> f64 {
        f64::from(self.below(1 << 20)) / f64::from(1 << 19) - 1.0
    }
}

fn csr(rows: usize, columns: usize, entries: impl IntoIterator<Item = (u32, u32)>) -> Csr {
    let (r, c) = entries.into_iter().unzip();
    Coo::pattern(rows, columns, r, c).into_csr(Duplicates::First).unwrap().0
}

/// Without rows, of one vertex, with empty rows, with loops, without structure, with a row that is cut and lies among short ones, with such a
/// column: gradients go by the transposed matrix.
pub(crate) fn graphs() -> Vec<(&'static str, Csr)> {
    let mut draw = Draw::new(5);
    let random: Vec<_> = (0..260).map(|_| (draw.below(41), draw.below(37))).collect();
    let hub = (0..1300).map(|c| (3, c)).chain((0..60).map(|k| (k % 11, k * 7 % 1300))).chain((0..530).map(|c| (9, 2 * c)));
    let column = (0..150).map(|i| (i, 3)).chain((0..60).map(|k| (k * 7 % 150, k % 11))).chain((0..70).map(|i| (2 * i, 9)));
    let loops = (0..20u32).flat_map(|i| [(i, i), (i, (i + 1) % 20), (i, (i * i) % 20)]);
    vec![
        ("without rows", csr(0, 0, [])),
        ("one vertex", csr(1, 1, [])),
        ("one loop", csr(1, 1, [(0, 0)])),
        ("empty rows", csr(19, 30, [(2, 5), (2, 29), (17, 0)])),
        ("loops", csr(20, 20, loops)),
        ("random", csr(41, 37, random)),
        ("hub", csr(11, 1300, hub)),
        ("hub of columns", csr(150, 11, column)),
    ]
}

/// A matrix and its transpose without long rows: of 0 to 20 entries, many more rows than a block's groups of lanes, and two of 32.
pub(crate) fn short_rows() -> (&'static str, Csr) {
    let few = (0..150u32).flat_map(|i| (0..i % 21).map(move |k| (i, (i * 7 + k * 11) % 170)));
    let full = (0..32).flat_map(|k| [(0, 5 * k), (147, 5 * k + 1)]);
    ("short rows", csr(150, 170, few.chain(full)))
}

/// Square matrices whose rows share columns, and whose columns share rows: a row names the points to the right and below on a grid, 9 or 16 at most; some
/// name none, and the numbers of the points are mixed.
pub(crate) fn shared_columns() -> [(&'static str, Csr); 2] {
    let side = 15u32;
    // 49 has no divisor with 225 in common.
    let number = |x: u32, y: u32| (y * side + x) * 49 % (side * side);
    [("few shared columns", 3), ("shared columns", 4)].map(|(name, reach)| {
        let points = (0..side * side).map(|v| (v % side, v / side)).filter(|(x, y)| (x + 2 * y) % 13 != 5);
        let near = points.flat_map(|(x, y)| (0..reach * reach).map(move |k| (x, y, x + k % reach, y + k / reach)));
        let inside = near.filter(|&(.., x, y)| x < side && y < side);
        let entries: Vec<_> = inside.map(|(x, y, z, w)| (number(x, y), number(z, w))).collect();
        (name, csr((side * side) as usize, (side * side) as usize, entries))
    })
}

/// Features of a matrix, as the device has them and as `f64`.
pub(crate) fn features<T: Tested>(device: &Device, rows: usize, columns: usize, seed: u64) -> (Buffer<T>, Vec<f64>) {
    let mut draw = Draw::new(seed);
    let values: Vec<T> = (0..rows * columns).map(|_| T::of(draw.number())).collect();
    (device.upload(&values).unwrap(), values.iter().map(|v| v.number()).collect())
}

/// A buffer of rubbish that no kernel leaves: NaN.
pub(crate) fn rubbish<T: Tested>(device: &Device, len: usize) -> Buffer<T> {
    device.upload(&vec![T::of(f64::NAN); len]).unwrap()
}

/// The entries (row, column) of a matrix in CSR order.
pub(crate) fn entries(csr: &Csr) -> impl Iterator<Item = (usize, usize)> + '_ {
    (0..csr.nrows()).flat_map(move |i| csr.row(i).iter().map(move |&j| (i, j as usize)))
}

pub(crate) fn lists(device: &Device, csr: &Csr) -> DeviceCsr {
    DeviceCsr::upload(device, csr).unwrap()
}
