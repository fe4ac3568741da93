//! `bitgraph-bench gemm-bits`: dense products of bits and codes on a GPU, single launches by the device's clock, beside cuBLASLt with numbers of
//! 8 bits; and packing.
//!
//! Invariant: nothing is timed before rows of its result agreed with whole numbers of the host.

use crate::codes::{Codes, checked_rows, word, words};
use crate::timing::{self, Bench, Work, percent};
use anyhow::{Context, Result, ensure};
use bitgraph::cuda::tensor::bits::{DeviceBits, DeviceTiles, ProductSigns, binarize, quantize, sign_product};
use bitgraph_bittensor::{
    Binarize, BitLayout, BitMatrix, BitPlanes, Levels, Packing, Quantization, Rounding, Scales, Scaling, Step, Steps, TileShape, dot,
};
use serde::Serialize;

/// The command line.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Rows, and bits of a row, of a square first operand of one bit.
    #[arg(long, value_delimiter = ',', default_values = ["8192"])]
    sizes: Vec<usize>,
    /// Columns of the second operand.
    #[arg(long, value_delimiter = ',', default_values = ["64", "1024"])]
    columns: Vec<usize>,
    /// Bits of the second operand's codes.
    #[arg(long, value_delimiter = ',', default_values = ["1", "2", "4", "8"])]
    bits: Vec<u32>,
    /// Bits of the first operand's codes.
    #[arg(long, default_value_t = 1)]
    left_bits: u32,
    /// Rows of the product of signs with a result of signs, 512 bits by 256 columns; 0 for none.
    #[arg(long, default_value_t = 1_000_000)]
    sign_rows: usize,
    /// Rows of 512 numbers that are packed; 0 for none.
    #[arg(long, default_value_t = 1_000_000)]
    packed_rows: usize,
    /// A part of the first operand's tiles of 64 rows that hold something, beside all of them, with a map of the others; 0 for none.
    #[arg(long, default_value_t = 0.0)]
    filled: f64,
    /// What the device's 1-bit tensor cores reach, in 10^12 operations a second.
    #[arg(long, default_value_t = 15_200.0)]
    limit: f64,
    #[command(flatten)]
    timing: timing::Options,
}

/// One product, or one packing.
#[derive(Debug, Serialize)]
pub struct Measured {
    what: String,
    rows: usize,
    length: usize,
    columns: usize,
    left_bits: u32,
    right_bits: u32,
    /// The median of single launches.
    ms: f64,
    /// The mean of a launch of 20 in one graph; its median.
    graph_ms: f64,
    /// Operations a second, an AND and a count being two, in 10^12.
    tops: f64,
    /// Those over the limit of 1-bit tensor cores.
    limit_fraction: f64,
    /// cuBLASLt with numbers of 8 bits, the median of single launches.
    int8_ms: Option<f64>,
    /// The time of moving every array once at the rate of a copy, over the time.
    copy_fraction: Option<f64>,
}

/// A device, what is asked of it, and what was found.
struct Runner<'a> {
    bench: Bench<'a>,
    options: &'a Options,
    all: Vec<Measured>,
}

fn signs(rows: usize, columns: usize, packing: Packing, seed: u64) -> Result<BitMatrix> {
    let layout = BitLayout::new(rows, columns, packing, TileShape::new(1, 128)?)?;
    Ok(BitMatrix::from_words(layout, Levels::Signs, words(&layout, 1, seed).into(), Scales::None)?)
}

/// Runs the bench and prints a table.
///
/// # Errors
/// No GPU, sizes that cannot be, a result that differs from the host's.
pub fn run(options: &Options) -> Result<()> {
    let mut runner = Runner { bench: Bench::open(&options.timing)?, options, all: Vec::new() };
    println!("{HEADER}");
    for &n in &options.sizes {
        for &d in &options.columns {
            for &bits in &options.bits {
                runner.codes(n, d, bits).with_context(|| format!("{n} x {n} by {d} columns of {bits} bits"))?;
            }
        }
    }
    if options.sign_rows > 0 {
        runner.sign_output(options.sign_rows, 512, 256).context("the product of signs")?;
    }
    if options.packed_rows > 0 {
        runner.packing(options.packed_rows, 512).context("packing")?;
    }
    runner.bench.report(&runner.all)
}

const HEADER: &str =
    "what                      rows  length  columns  s  t        ms  graph ms      TOPS  of limit  of copy   int8 ms  ratio";

impl Measured {
    fn line(&self) -> String {
        let peer = self.int8_ms.map_or("-".into(), |ms| format!("{ms:.4}"));
        let ratio = self.int8_ms.map_or("-".into(), |ms| format!("{:.2}", ms / self.ms));
        let part = percent(self.copy_fraction);
        format!(
            "{:<22} {:>7} {:>7} {:>8} {:>2} {:>2} {:>9.4} {:>9.4} {:>9.0} {:>7.1} % {part:>8} {peer:>9} {ratio:>6}",
            self.what,
            self.rows,
            self.length,
            self.columns,
            self.left_bits,
            self.right_bits,
            self.ms,
            self.graph_ms,
            self.tops,
            100.0 * self.limit_fraction
        )
    }
}

/// Some thousand elements of so many.
fn checked_elements(count: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by((count / 999).max(1))
}

impl Runner<'_> {
    /// Times work of which `moved` bytes go through memory, and notes it.
    fn note(&mut self, mut row: Measured, moved: u64, work: Work<'_>) -> Result<()> {
        let (seconds, in_graph) = self.bench.timed(work)?;
        row.graph_ms = 1e3 * in_graph;
        let operations = 2.0 * row.rows as f64 * row.length as f64 * row.columns as f64 * f64::from(row.left_bits * row.right_bits);
        row.ms = 1e3 * seconds;
        row.tops = 1e-12 * operations / seconds;
        row.limit_fraction = row.tops / self.options.limit;
        row.copy_fraction = self.bench.copy_fraction(moved, seconds);
        println!("{}", row.line());
        self.all.push(row);
        Ok(())
    }
    fn row(what: &str, [rows, length, columns]: [usize; 3], left_bits: u32, right_bits: u32) -> Measured {
        Measured {
            what: what.into(),
            rows,
            length,
            columns,
            left_bits,
            right_bits,
            ms: 0.0,
            graph_ms: 0.0,
            tops: 0.0,
            limit_fraction: 0.0,
            int8_ms: None,
            copy_fraction: None,
        }
    }
    fn codes(&mut self, n: usize, d: usize, bits: u32) -> Result<()> {
        let left = self.options.left_bits;
        let device = self.bench.device.clone();
        let product = Codes::new(&self.bench, [n, n, d], left, bits)?;
        product.run(None)?;
        product.check()?;
        let moved = product.bytes();
        let mut row = Self::row("codes", [n, n, d], left, bits);
        row.int8_ms = product.int8(&self.bench)?.map(|seconds| 1e3 * seconds);
        self.note(row, moved, &|| product.run(None))?;
        if self.options.filled <= 0.0 || left != 1 {
            return Ok(());
        }
        // The same with rows of tiles of which most hold nothing.
        let layout = *product.a.layout();
        let mut sparse = product.a.words().to_vec();
        for (l, line) in sparse.chunks_exact_mut(layout.stride()).enumerate() {
            for (t, tile) in line.chunks_mut(32).enumerate() {
                if f64::from(word(l / 64 * layout.stride() + t, 9)) >= self.options.filled * f64::from(u32::MAX) {
                    tile.fill(0);
                }
            }
        }
        let host = BitMatrix::from_words(layout, Levels::ZeroOne, sparse.into(), Scales::None)?;
        let map = DeviceTiles::of(&device, &host)?;
        let product = product.with_left(BitPlanes::from(&host))?;
        product.run(Some(&map))?;
        product.check()?;
        self.note(Self::row("codes, tiles left out", [n, n, d], left, bits), moved, &|| product.run(Some(&map)))
    }
    fn sign_output(&mut self, n: usize, length: usize, d: usize) -> Result<()> {
        let (a, b) = (signs(n, length, Packing::Rows, 3)?, signs(length, d, Packing::Columns, 4)?);
        let device = self.bench.device.clone();
        let (x, w) = (DeviceBits::upload(&device, &a)?, DeviceBits::upload(&device, &b)?);
        let y = DeviceBits::zeroed(&device, BitLayout::new(n, d, Packing::Rows, TileShape::WORD)?, Levels::Signs)?;
        let work = || sign_product(&device, &x, &w, None, ProductSigns::default(), &y);
        work()?;
        let stride = y.layout().stride();
        for i in checked_rows(n) {
            let found = y.words().range_to_vec(i * stride..(i + 1) * stride)?;
            for j in 0..d {
                let sum = dot::signs_by_xnor(a.line(i), b.line(j), length);
                ensure!(found[j / 32] >> (j % 32) & 1 == u32::from(sum >= 0), "({i}, {j}) has another sign than {sum}");
            }
        }
        let moved = x.bytes() + w.bytes() + y.bytes();
        self.note(Self::row("signs to signs", [n, length, d], 1, 1), moved, &work)
    }
    fn packing(&mut self, n: usize, columns: usize) -> Result<()> {
        let device = self.bench.device.clone();
        let host: Vec<f32> = (0..n * columns).map(|k| (word(k, 5) >> 8) as f32 / f64::from(1 << 23) as f32 - 1.0).collect();
        let x = device.upload(&host)?;
        for (what, scaling, packing) in [
            ("packing signs", Scaling::None, Packing::Rows),
            ("packing signs, scales", Scaling::RowMeans, Packing::Rows),
            ("packing signs, columns", Scaling::None, Packing::Columns),
        ] {
            let how = Binarize { scaling, packing, ..Binarize::default() };
            let work = || binarize(&device, &x, n, columns, &how).map(drop);
            let found = binarize(&device, &x, n, columns, &how)?;
            for k in checked_elements(n * columns) {
                let (i, j) = (k / columns, k % columns);
                let (at, bit) = found.layout().position(i, j);
                ensure!((found.words().get(at)? >> bit & 1 != 0) == (host[k] >= 0.0), "element ({i}, {j}) has another sign");
            }
            self.note(Self::row(what, [n, columns, 0], 1, 1), x.bytes() + found.bytes(), &work)?;
        }
        for (bits, packing) in [(2, Packing::Rows), (8, Packing::Rows), (16, Packing::Rows), (2, Packing::Columns), (8, Packing::Columns)] {
            let step = Step { scale: 2.0 / (1 << bits) as f32, zero: (1 << (bits - 1)) as f32 };
            let quantization = Quantization::new(bits, Rounding::Nearest, Steps::Tensor(step))?;
            let pack = || quantize(&device, &x, n, columns, &quantization, packing, TileShape::WORD);
            let found = pack()?;
            let words = found.layout().words();
            for k in checked_elements(n * columns) {
                let (i, j) = (k / columns, k % columns);
                let (at, bit) = found.layout().position(i, j);
                let mut code = 0;
                for p in 0..bits as usize {
                    code |= (found.words().get(p * words + at)? >> bit & 1) << p;
                }
                ensure!(code == quantization.code(host[k], i, j), "element ({i}, {j}) has code {code}");
            }
            let what = format!("packing {bits} bits{}", if packing == Packing::Columns { ", columns" } else { "" });
            self.note(Self::row(&what, [n, columns, 0], 1, bits), x.bytes() + found.bytes(), &|| pack().map(drop))?;
        }
        Ok(())
    }
}
