//! Dense products of bits and of codes of few bits on 1-bit tensor cores: what `kernels/tensor/bits_product.cuh` does.
//!
//! The names of BitGNN's products by what their operands and their result are, B for bits and F for numbers: BBB is [`sign_product`], BBF is
//! [`sign_sums`]; those with a first operand of numbers pack it first ([`binarize`](super::binarize)).
//!
//! Invariant: the first operand is packed by rows and the second by columns, so that both are read along the dimension that is summed over.

use super::{DeviceBits, DevicePlanes, DeviceTiles, expect, host_error};
use crate::device::{Buffer, Device, DevicePtr, Mode, Properties, Shape, parameters};
use crate::primitives::{self, elementwise};
use crate::{Error, Result};
use bitgraph_backend::Error as Base;
use bitgraph_bittensor::{BitLayout, Error as Bits, Levels, Packing, TileShape};
use bitgraph_kernels::constant;
use bitgraph_semiring::DType;

parameters! {
    struct ProductParams = "tensor/bits_product.cuh" "bg::BitsProductParams" {
        a: DevicePtr<u32>,
        b: DevicePtr<u32>,
        ones_b: DevicePtr<u32>,
        map: DevicePtr<u32>,
        thresholds: DevicePtr<i32>,
        flips: DevicePtr<u32>,
        output: DevicePtr<u8>,
        a_plane: u64,
        b_plane: u64,
        a_planes: u32,
        b_planes: u32,
        rows: u32,
        columns: u32,
        words: u32,
        a_stride: u32,
        b_stride: u32,
        map_stride: u32,
        out_stride: u32,
        row_tiles: u32,
        column_tiles: u32,
        factor: i32,
        factor_a: i32,
        factor_b: i32,
        constant: i32,
        unused: u32,
    }
    struct LinesParams = "tensor/bits_product.cu" "bg::BitsLines" {
        lines: DevicePtr<u32>,
        output: DevicePtr<u32>,
        count: u32,
        stride: u32,
        wide: u32,
        unused: u32,
    }
}

const NAME: &str = "a product of bits";
const MODULE: &str = "tensor/bits_product";
const WIDE_MODULE: &str = "tensor/bits_product_wide";
const TILE_ROWS: u32 = constant("tuning/bits.cuh", "TILE_ROWS") as u32;
const TILE_COLUMNS: u32 = constant("tuning/bits.cuh", "TILE_COLUMNS") as u32;
const STEP_BITS: u32 = constant("tuning/bits.cuh", "STEP_BITS") as u32;
const STAGES: u32 = constant("tuning/bits.cuh", "STAGES") as u32;
const MAP_BITS: u32 = constant("tuning/bits.cuh", "MAP_BITS") as u32;
const NARROW_STAGES: u32 = constant("tuning/bits.cuh", "NARROW_STAGES") as u32;
const MIDDLE_STAGES: u32 = constant("tuning/bits.cuh", "MIDDLE_STAGES") as u32;
const WIDE_STAGES: u32 = constant("tuning/bits.cuh", "WIDE_STAGES") as u32;
const WIDE_SIGNS_STAGES: u32 = constant("tuning/bits.cuh", "WIDE_SIGNS_STAGES") as u32;
const WIDE_SIGNS_ROWS: u32 = constant("tensor/bits_product_signs.cuh", "WIDE_SIGNS_ROWS") as u32;
const WIDE_SIGNS_BLOCKS: u32 = constant("tuning/bits.cuh", "WIDE_SIGNS_BLOCKS") as u32;
const STREAM_STAGES: u32 = constant("tuning/bits.cuh", "STREAM_STAGES") as u32;
const STREAM_BLOCKS: u32 = constant("tuning/bits.cuh", "STREAM_BLOCKS") as u32;
const STREAM_ROWS: u32 = constant("tensor/bits_product_stream.cuh", "STREAM_ROWS") as u32;
const STREAM_BYTES: u32 = constant("tensor/bits_product_stream.cuh", "STREAM_BYTES") as u32;
const STREAM_COLUMNS: u32 = constant("tensor/bits_product_stream.cuh", "STREAM_COLUMNS") as u32;
/// Threads of a block, as the kernels share out a tile; and of a group of warps.
const BLOCK: u32 = 128;
/// Words of 16 bytes.
const CHUNK: usize = 4;
/// Bits of a line up to which four times their number is a number of the sums.
const MOST_LENGTH: usize = 1 << 29;

/// The tiles of a first operand's map: [`DeviceTiles::of`] makes one.
#[must_use]
pub fn map_tiles() -> TileShape {
    TileShape::new(TILE_ROWS, MAP_BITS).unwrap_or(TileShape::WORD)
}

/// How the numbers of a product become signs: +1 in column `j` where a number is at least `thresholds[j]`, or 0; turned where `flips` has a 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProductSigns<'a> {
    /// One for each column.
    pub thresholds: Option<&'a Buffer<i32>>,
    /// Words of a line of the result.
    pub flips: Option<&'a Buffer<u32>>,
}

/// Lines of an operand as the kernels read them: whole 16 bytes each.
struct Lines {
    words: Buffer<u32>,
    stride: usize,
    /// Words of a plane.
    plane: usize,
}

impl Lines {
    /// The words themselves, or a copy with zeros behind each line.
    fn of(device: &Device, words: &Buffer<u32>, layout: &BitLayout, planes: u32) -> Result<Self> {
        let stride = layout.stride();
        if stride.is_multiple_of(CHUNK) && words.ptr().address().is_multiple_of(16) {
            return Ok(Self { words: words.clone(), stride, plane: layout.words() });
        }
        let overflow = || Error::from(Base::Overflow { what: "the words of padded lines", dtype: DType::U64 });
        let wide = stride.next_multiple_of(CHUNK);
        let count = layout.padded_lines().checked_mul(planes as usize).ok_or_else(overflow)?;
        let padded = device.alloc_for::<u32>(count.checked_mul(wide).ok_or_else(overflow)?, "lines of whole 16 bytes")?;
        let count32 = u32::try_from(count).map_err(|_| primitives::too_large(count as u64))?;
        let parameters =
            LinesParams { lines: words.ptr(), output: padded.ptr(), count: count32, stride: stride as u32, wide: wide as u32, unused: 0 };
        // SAFETY: both arrays hold as many lines.
        unsafe { elementwise(device, MODULE, "bits_line_pad", padded.len() as u64, &parameters) }?;
        Ok(Self { words: padded, stride: wide, plane: layout.padded_lines() * wide })
    }
}

/// The numbers of a product in terms of the ones of ANDs, of both lines, and of the length.
struct Formula {
    factor: i32,
    factor_a: i32,
    factor_b: i32,
    constant: i32,
}

impl Formula {
    const CODES: Self = Self { factor: 1, factor_a: 0, factor_b: 0, constant: 0 };
    fn of(a: Levels, b: Levels, length: usize) -> Self {
        match (a, b) {
            (Levels::Signs, Levels::Signs) => Self { factor: 4, factor_a: 2, factor_b: 2, constant: length as i32 },
            (Levels::ZeroOne, Levels::Signs) => Self { factor: 2, factor_a: 1, factor_b: 0, constant: 0 },
            (Levels::Signs, Levels::ZeroOne) => Self { factor: 2, factor_a: 0, factor_b: 1, constant: 0 },
            (Levels::ZeroOne, Levels::ZeroOne) => Self::CODES,
        }
    }
}

/// One operand: where its bits are.
struct Operand<'a> {
    layout: &'a BitLayout,
    words: &'a Buffer<u32>,
    planes: u32,
}

impl<'a> Operand<'a> {
    fn bits(of: &'a DeviceBits) -> Self {
        Self { layout: of.layout(), words: of.words(), planes: 1 }
    }
    fn codes(of: &'a DevicePlanes) -> Self {
        Self { layout: of.layout(), words: of.words(), planes: of.bits() }
    }
}

/// The product of two matrices of bits by what their bits mean, without scales, into `y`: rows of `a` x columns of `b`, row after row without
/// gaps. `map` tells the tiles of `a` that hold a 1; the others are left out. One launch, one more for signs in `b`, and a copy of an operand
/// whose lines are not of whole 16 bytes. O(rows * columns * words); returns before it is done.
///
/// # Errors
/// Operands packed the other way, of shapes that do not fit, or of 2^29 bits a line and more; a map of another matrix; out of memory.
pub fn sign_sums(device: &Device, a: &DeviceBits, b: &DeviceBits, map: Option<&DeviceTiles>, y: &Buffer<i32>) -> Result<()> {
    let formula = Formula::of(a.levels(), b.levels(), a.layout().ncols());
    let (a, b) = (Operand::bits(a), Operand::bits(b));
    check(&a, &b)?;
    expect(NAME, "the output", elements(&a, &b), y.len() as u64)?;
    launch(device, &a, &b, map, &formula, ProductSigns::default(), Output::Numbers(y))
}

/// The signs of such a product into `y`, of which bits that both operands' scales multiply do not change: a positive scale turns no sign. Launches
/// as of [`sign_sums`].
///
/// # Errors
/// As of [`sign_sums`]; a result that is not packed by rows or not of signs.
pub fn sign_product(
    device: &Device,
    a: &DeviceBits,
    b: &DeviceBits,
    map: Option<&DeviceTiles>,
    signs: ProductSigns<'_>,
    y: &DeviceBits,
) -> Result<()> {
    let formula = Formula::of(a.levels(), b.levels(), a.layout().ncols());
    let (a, b) = (Operand::bits(a), Operand::bits(b));
    check(&a, &b)?;
    packed("result's", Packing::Rows, y.layout())?;
    if y.levels() != Levels::Signs {
        return Err(Error::Levels { operation: NAME, operand: "result", expected: Levels::Signs, found: y.levels() });
    }
    expect(NAME, "the rows of the result", a.layout.nrows() as u64, y.layout().nrows() as u64)?;
    expect(NAME, "the columns of the result", b.layout.ncols() as u64, y.layout().ncols() as u64)?;
    if let Some(thresholds) = signs.thresholds {
        expect(NAME, "the thresholds", b.layout.ncols() as u64, thresholds.len() as u64)?;
    }
    if let Some(flips) = signs.flips {
        expect(NAME, "the words of turned columns", y.layout().stride() as u64, flips.len() as u64)?;
    }
    launch(device, &a, &b, map, &formula, signs, Output::Signs(y))
}

/// The product of two matrices of codes of s and t bits, as whole numbers, into `y` as in [`sign_sums`]: s t products of planes. Launches as of
/// [`sign_sums`], without one for signs.
///
/// # Errors
/// As of [`sign_sums`]; codes and lengths whose product could pass 2^31 - 1.
pub fn codes_product(device: &Device, a: &DevicePlanes, b: &DevicePlanes, map: Option<&DeviceTiles>, y: &Buffer<i32>) -> Result<()> {
    let tops = u64::from(a.quantization().top()) * u64::from(b.quantization().top());
    let (a, b) = (Operand::codes(a), Operand::codes(b));
    check(&a, &b)?;
    let largest = tops.saturating_mul(a.layout.ncols() as u64);
    if largest > i32::MAX as u64 {
        let (found, allowed) = (largest as f64, "at most 2147483647");
        return Err(Base::Parameter { parameter: "the largest number of a product of codes", found, allowed }.into());
    }
    expect(NAME, "the output", elements(&a, &b), y.len() as u64)?;
    launch(device, &a, &b, map, &Formula::CODES, ProductSigns::default(), Output::Numbers(y))
}

/// What a block forms, and by which kernel.
struct Tile {
    module: &'static str,
    kernel: &'static str,
    rows: u32,
    /// Of the product.
    columns: u32,
    /// Planes of the second operand that lie in it beside each other.
    planes: u32,
    block: u32,
    shared: u32,
    /// Blocks of a multiprocessor that stay for several tiles of rows; else each forms one.
    resident: Option<u32>,
}

impl Tile {
    /// From registers, on every GPU.
    fn small(kernel: &'static str) -> Self {
        let shared = (TILE_ROWS + TILE_COLUMNS) * (STEP_BITS / 8) * STAGES;
        Self { module: MODULE, kernel, rows: TILE_ROWS, columns: TILE_COLUMNS, planes: 1, block: BLOCK, shared, resident: None }
    }
    /// On Hopper, where there is a tile for every multiprocessor, of lines that a step of a group of warps holds; else of lines that a warp's
    /// registers hold, a stream; of longer ones, tiles.
    fn of_signs(properties: &Properties, [rows, columns]: [u32; 2], words: usize) -> Self {
        let (tall, across) = (WIDE_SIGNS_ROWS, 256);
        let shared = tall * 128 * WIDE_SIGNS_STAGES + across * (128 + 2) + 1024;
        let enough = u64::from(rows.div_ceil(tall)) * u64::from(columns.div_ceil(across)) >= u64::from(properties.sms);
        if properties.compute == (9, 0) && words <= 32 && enough && shared <= properties.shared_per_block {
            let kernel = if words <= 16 { "bits_product_signs_512" } else { "bits_product_signs_1024" };
            let resident = Some(WIDE_SIGNS_BLOCKS);
            return Self {
                module: "tensor/bits_product_signs",
                kernel,
                rows: tall,
                columns: across,
                planes: 1,
                block: BLOCK,
                shared,
                resident,
            };
        }
        if words * 4 > STREAM_BYTES as usize {
            return Self::small("bits_product_signs");
        }
        let (rows, columns, shared) = (STREAM_ROWS, STREAM_COLUMNS, STREAM_ROWS * STREAM_BYTES * STREAM_STAGES);
        Self { module: MODULE, kernel: "bits_stream_signs", rows, columns, planes: 1, block: BLOCK, shared, resident: Some(STREAM_BLOCKS) }
    }
    /// From shared memory by groups of warps, on Hopper, where a line fills a part of a step: the largest tile of which there are enough for half
    /// the multiprocessors.
    fn of_numbers(properties: &Properties, [rows, columns]: [u32; 2], words: usize, planes: [u32; 2], map: bool) -> Self {
        if properties.compute != (9, 0) || words * 32 <= STEP_BITS as usize {
            return Self::small("bits_product_codes");
        }
        let [left, right] = planes;
        let planes = if matches!(right, 2 | 4 | 8) { right } else { 1 };
        // The walk is along one line then, and begins sooner.
        let one_line = left == 1 && right == planes && !map;
        let [narrow, middle, wide] = match (planes, one_line) {
            (2, false) => ["bits_product_narrow_2", "bits_product_middle_2", "bits_product_wide_2"],
            (4, false) => ["bits_product_narrow_4", "bits_product_middle_4", "bits_product_wide_4"],
            (8, false) => ["bits_product_narrow_8", "bits_product_middle_8", "bits_product_wide_8"],
            (_, false) => ["bits_product_narrow_1", "bits_product_middle_1", "bits_product_wide_1"],
            (2, true) => ["bits_product_narrow_line_2", "bits_product_middle_line_2", "bits_product_wide_line_2"],
            (4, true) => ["bits_product_narrow_line_4", "bits_product_middle_line_4", "bits_product_wide_line_4"],
            (8, true) => ["bits_product_narrow_line_8", "bits_product_middle_line_8", "bits_product_wide_line_8"],
            (_, true) => ["bits_product_narrow_line_1", "bits_product_middle_line_1", "bits_product_wide_line_1"],
        };
        let tile = |kernel, groups: u32, lines: u32, stages: u32| {
            let groups = groups.min(properties.max_threads_per_block / BLOCK).max(1);
            let tall = TILE_ROWS * groups;
            // 128 bytes a line and stage, and room to begin at a multiple of 1024.
            let shared = (tall + lines) * 128 * stages + 1024;
            Self { module: WIDE_MODULE, kernel, rows: tall, columns: lines / planes, planes, block: BLOCK * groups, shared, resident: None }
        };
        let enough = |tile: &Self| {
            let tiles = u64::from(rows.div_ceil(tile.rows)) * u64::from(columns.div_ceil(tile.columns));
            tiles >= u64::from(properties.sms / 2) && tile.shared <= properties.shared_per_block
        };
        let lines = u64::from(columns) * u64::from(planes);
        let (middle, wide) = (tile(middle, 2, 128, MIDDLE_STAGES), tile(wide, 2, 256, WIDE_STAGES));
        if lines > 128 && enough(&wide) {
            wide
        } else if lines > 64 && enough(&middle) {
            middle
        } else {
            tile(narrow, 1, 64, NARROW_STAGES)
        }
    }
}

enum Output<'a> {
    Numbers(&'a Buffer<i32>),
    Signs(&'a DeviceBits),
}

fn elements(a: &Operand<'_>, b: &Operand<'_>) -> u64 {
    // Both are below 2^32.
    a.layout.nrows() as u64 * b.layout.ncols() as u64
}

fn packed(operand: &'static str, expected: Packing, layout: &BitLayout) -> Result<()> {
    let found = layout.packing();
    if found == expected { Ok(()) } else { Err(host_error(Bits::Packed { operand, expected, found })) }
}

fn check(a: &Operand<'_>, b: &Operand<'_>) -> Result<()> {
    packed("first", Packing::Rows, a.layout)?;
    packed("second", Packing::Columns, b.layout)?;
    if a.layout.ncols() != b.layout.nrows() {
        return Err(host_error(Bits::Shape {
            operation: "a product",
            left_rows: a.layout.nrows() as u64,
            left_columns: a.layout.ncols() as u64,
            right_rows: b.layout.nrows() as u64,
            right_columns: b.layout.ncols() as u64,
        }));
    }
    if a.layout.ncols() >= MOST_LENGTH {
        let (found, allowed) = (a.layout.ncols() as f64, "below 2^29");
        return Err(Base::Parameter { parameter: "the length of a product of bits", found, allowed }.into());
    }
    Ok(())
}

fn launch(
    device: &Device,
    a: &Operand<'_>,
    b: &Operand<'_>,
    map: Option<&DeviceTiles>,
    formula: &Formula,
    signs: ProductSigns<'_>,
    output: Output<'_>,
) -> Result<()> {
    let (rows, columns, words) = (a.layout.nrows(), b.layout.ncols(), a.layout.length().div_ceil(32));
    if let Some(map) = map {
        let shape = map_tiles();
        expect(NAME, "the lines of a tile of the map", shape.lines() as u64, map.shape.lines() as u64)?;
        expect(NAME, "the bits of a tile of the map", shape.bits() as u64, map.shape.bits() as u64)?;
        expect(NAME, "the rows of tiles of the map", rows.div_ceil(shape.lines()) as u64, map.tile_rows as u64)?;
        expect(NAME, "the columns of tiles of the map", a.layout.length().div_ceil(shape.bits()) as u64, map.tile_columns as u64)?;
    }
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    let left = Lines::of(device, a.words, a.layout, a.planes)?;
    let right = Lines::of(device, b.words, b.layout, b.planes)?;
    let ones_b = if formula.factor_b == 0 { Buffer::default() } else { line_ones(device, &right, columns)? };
    let size = [rows as u32, columns as u32];
    let (tile, out, out_stride) = match output {
        Output::Signs(y) => (Tile::of_signs(device.properties(), size, words), y.words().ptr().cast(), y.layout().stride()),
        Output::Numbers(y) if formula.factor_a != 0 => (Tile::small("bits_product_sums"), y.ptr().cast(), 0),
        Output::Numbers(y) => (Tile::of_numbers(device.properties(), size, words, [a.planes, b.planes], map.is_some()), y.ptr().cast(), 0),
    };
    let (row_tiles, column_tiles) = ((rows as u32).div_ceil(tile.rows), (columns as u32).div_ceil(tile.columns));
    let parameters = ProductParams {
        a: left.words.ptr(),
        b: right.words.ptr(),
        ones_b: ones_b.ptr(),
        map: map.map_or(DevicePtr::NULL, |m| m.words.ptr()),
        thresholds: signs.thresholds.map_or(DevicePtr::NULL, Buffer::ptr),
        flips: signs.flips.map_or(DevicePtr::NULL, Buffer::ptr),
        output: out,
        a_plane: left.plane as u64,
        b_plane: right.plane as u64,
        a_planes: a.planes,
        b_planes: b.planes / tile.planes,
        rows: rows as u32,
        columns: columns as u32,
        words: words as u32,
        a_stride: left.stride as u32,
        b_stride: right.stride as u32,
        map_stride: map.map_or(0, |m| m.tile_columns.div_ceil(32) as u32),
        out_stride: out_stride as u32,
        row_tiles,
        column_tiles,
        factor: formula.factor,
        factor_a: formula.factor_a,
        factor_b: formula.factor_b,
        constant: formula.constant,
        unused: 0,
    };
    // Blocks that stay each take every so many tiles of rows.
    let walkers = tile.resident.map_or(row_tiles, |blocks| row_tiles.min((device.properties().sms * blocks / column_tiles).max(1)));
    let grid = primitives::blocks(u64::from(walkers) * u64::from(column_tiles), 1)?;
    let shape = Shape { grid, block: tile.block, shared: tile.shared, mode: Mode::Plain };
    // SAFETY: the operands' shapes were compared with each other and with the result's; lines are of whole 16 bytes.
    unsafe { device.launch(&device.kernel(tile.module, tile.kernel)?, shape, &parameters) }
}

/// The ones of the first `count` lines of an operand of one plane.
fn line_ones(device: &Device, lines: &Lines, count: usize) -> Result<Buffer<u32>> {
    let ones = device.alloc::<u32>(count)?;
    let parameters =
        LinesParams { lines: lines.words.ptr(), output: ones.ptr(), count: count as u32, stride: lines.stride as u32, wide: 0, unused: 0 };
    // SAFETY: the operand has as many lines.
    unsafe { elementwise(device, MODULE, "bits_line_ones", 32 * count as u64, &parameters) }?;
    Ok(ones)
}
