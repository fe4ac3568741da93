//! Sums of rows of signs over the neighbours of a vertex, as signs or as numbers: what `kernels/tensor/bits_aggregate.cuh` does.
//!
//! Invariant: a layout is of one matrix and of features of one layout; what is run is checked against both.

use super::select::{self, AggregateForm, AggregatePlan, Stats};
use super::strips::Strips;
use super::window::Window;
use super::{DeviceBits, expect, host_error};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::primitives::{self, elementwise, exclusive_scan_total};
use crate::spmv::Pattern;
use crate::{DeviceCsr, Error, Result};
use bitgraph_backend::Error as Base;
use bitgraph_bittensor::{BitLayout, Levels, Packing};
use bitgraph_semiring::DType;
use half::f16;

parameters! {
    pub(super) struct Epilogue = "tensor/bits_aggregate.cuh" "bg::BitsEpilogue" {
        pub output: DevicePtr<u8>,
        pub thresholds: DevicePtr<i32>,
        pub planes: DevicePtr<u32>,
        pub flips: DevicePtr<u32>,
        pub scale_rows: DevicePtr<f32>,
        pub kind: u32,
        pub columns: u32,
        pub stride: u32,
        pub plane_count: u32,
        pub offset: u32,
        pub lines: u32,
    }
    struct AggregateParams = "tensor/bits_aggregate.cuh" "bg::BitsAggregateParams" {
        epilogue: Epilogue,
        features: DevicePtr<u32>,
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        order: DevicePtr<u32>,
        pieces: DevicePtr<[u32; 4]>,
        cut: DevicePtr<[u32; 4]>,
        arrived: DevicePtr<u32>,
        partial: DevicePtr<u16>,
        warp_ends: [u32; 4],
        row_ends: [u32; 4],
        rows: u32,
        entries: u32,
        cut_count: u32,
        pitch: u32,
        slice_blocks: u32,
        with_self: u32,
    }
    struct ClassesParams = "tensor/bits_aggregate.cu" "bg::BitsClasses" {
        offsets: DevicePtr<u32>,
        order: DevicePtr<u32>,
        pieces: DevicePtr<u32>,
        ends: DevicePtr<u32>,
        piece: DevicePtr<[u32; 4]>,
        cut: DevicePtr<[u32; 4]>,
        limits: [u32; 4],
        rows: u32,
        unused: u32,
    }
    struct ThresholdsParams = "tensor/bits_aggregate.cu" "bg::BitsThresholds" {
        thresholds: DevicePtr<i32>,
        clamped: DevicePtr<i32>,
        planes: DevicePtr<u32>,
        columns: u32,
        stride: u32,
        plane_count: u32,
        offset: u32,
        largest: i32,
        unused: u32,
    }
}

const NAME: &str = "a sum of signs";
const MODULE: &str = "tensor/bits_aggregate";

/// What sums of signs are stored as: `i16`, `i32`, `f16` or `f32`.
pub trait Sum: bytemuck::Pod + sealed::Listed {
    /// As kernels call it.
    #[doc(hidden)]
    const KIND: u32;
    /// Whether sums may be scaled.
    #[doc(hidden)]
    const FLOAT: bool;
}
mod sealed {
    /// Keeps the list of types closed.
    pub trait Listed {}
}
macro_rules! sums {
    ($($t:ident $kind:literal $float:literal)*) => { $(
        impl sealed::Listed for $t {}
        impl Sum for $t {
            const KIND: u32 = $kind;
            const FLOAT: bool = $float;
        }
    )* };
}
sums! { i16 1 false i32 2 false f16 3 true f32 4 true }

/// Signs and counts, as kernels call them.
const SIGNS: u32 = 0;
const COUNTS: u32 = 5;

/// Rows in classes, and the pieces of those that are cut.
#[derive(Clone, Debug, Default)]
struct Classes {
    order: Option<Buffer<u32>>,
    pieces: Buffer<[u32; 4]>,
    cut: Buffer<[u32; 4]>,
    arrived: Buffer<u32>,
    partial: Buffer<u16>,
    /// Rows that are cut, and where the classes of a warp, of some lanes and of two lanes end.
    row_ends: [u32; 4],
}

/// Lines of features in shared memory.
#[derive(Clone, Debug)]
enum Held {
    Strips(Strips),
    Window(Window),
}

/// Thresholds of columns in place of 0, as sums are compared with them.
#[derive(Clone, Debug)]
pub struct Thresholds {
    clamped: Buffer<i32>,
    planes: Buffer<u32>,
    flips: Option<Buffer<u32>>,
    /// The largest sum that they were made for.
    largest: u32,
    columns: usize,
    stride: usize,
}

/// A matrix laid out for sums of signs: row `i` of the result is the sum of the lines of signs `x(j)` over the entries `(i, j)`, and of `x(i)`,
/// if it is asked for. A clone shares the memory; runs of clones are ordered by the device's stream.
#[derive(Clone, Debug)]
pub struct Aggregation {
    device: Device,
    plan: AggregatePlan,
    pattern: Pattern,
    /// For sums as numbers, where signs come from shared memory; and for signs of words that are not aligned.
    classes: Classes,
    held: Option<Held>,
    features: BitLayout,
    results: BitLayout,
    /// Entries of the longest row, and one for its own line.
    largest: u32,
    with_self: bool,
}

impl Aggregation {
    /// Lays out a matrix for features that lie as `features` says, packed by rows, a line for each column of the matrix. `with_self` adds a
    /// row's own line, of a square matrix. None if its offsets are 64 bits wide. A sort of the rows by length, where they differ; waits.
    ///
    /// # Errors
    /// Features of another shape, or packed by columns; a row's own line of a matrix that is not square; out of memory.
    pub fn build(device: &Device, csr: &DeviceCsr, features: &BitLayout, with_self: bool) -> Result<Option<Self>> {
        Self::laid(device, csr, features, with_self, None)
    }
    /// As [`Aggregation::build`], by a plan of the caller's. What a plan asks for and the matrix does not allow is left out:
    /// [`Aggregation::plan`] tells.
    ///
    /// # Errors
    /// As [`Aggregation::build`].
    pub fn with_plan(device: &Device, csr: &DeviceCsr, features: &BitLayout, with_self: bool, plan: AggregatePlan) -> Result<Option<Self>> {
        Self::laid(device, csr, features, with_self, Some(plan))
    }
    /// None: the plan that is likely best.
    fn laid(device: &Device, csr: &DeviceCsr, features: &BitLayout, with_self: bool, plan: Option<AggregatePlan>) -> Result<Option<Self>> {
        by_rows("features", features)?;
        expect(NAME, "the lines of features", csr.columns as u64, features.nrows() as u64)?;
        if with_self {
            expect(NAME, "the columns of a matrix to which rows' own lines are added", csr.rows as u64, csr.columns as u64)?;
        }
        let results = BitLayout::new(csr.rows, features.ncols(), Packing::Rows, features.padding()).map_err(host_error)?;
        let Some(pattern) = Pattern::of(csr) else { return Ok(None) };
        let stats = Stats::of(device, csr)?;
        let window = || Window::build(device, &pattern, csr.columns, features.stride(), with_self, stats.longest);
        let strips = || Strips::build(device, &pattern, csr.columns, features, with_self);
        let rows = csr.rows as u32;
        let gathering = AggregatePlan::gathering(&stats, features.stride());
        let wanted = match plan {
            Some(plan) => plan.allowed(&stats),
            None => AggregatePlan::choose(device.properties(), &stats, features.stride()),
        };
        let mut held = match (wanted.form, plan) {
            (AggregateForm::Window, _) => window()?.map(Held::Window),
            (_, None) if select::may_slide(&stats) => window()?.filter(|w| select::slides(&stats, w.diagonals())).map(Held::Window),
            _ => None,
        };
        if held.is_none() && wanted.form == AggregateForm::Strips {
            held = strips()?.map(Held::Strips);
        }
        let (plan, gathers) = match (&held, wanted.form) {
            (Some(Held::Window(_)), _) => (AggregatePlan { form: AggregateForm::Window }, gathering),
            (Some(Held::Strips(_)), _) => (AggregatePlan { form: AggregateForm::Strips }, gathering),
            (None, AggregateForm::Strips | AggregateForm::Window) => (gathering, gathering),
            (None, _) => (wanted, wanted),
        };
        let classes = match gathers.form {
            AggregateForm::Rows { lanes } => {
                let row_ends = match lanes {
                    1 => [0; 4],
                    2 => [0, 0, 0, rows],
                    _ => [0, 0, rows, rows],
                };
                Classes { row_ends, ..Classes::default() }
            }
            AggregateForm::Classes | AggregateForm::Strips | AggregateForm::Window => Classes::build(device, csr, &pattern, features)?,
        };
        let largest = stats.longest.saturating_add(u32::from(with_self));
        Ok(Some(Self { device: device.clone(), plan, pattern, classes, held, features: *features, results, largest, with_self }))
    }
    /// Thresholds for these sums: the sign of column `f` is +1 where the sum is at least `thresholds[f]`, and turned where `flips` has a 1 in
    /// column `f`, laid out as a line of the features. A batch normalisation before a sign folds into both: the threshold is the smallest sum
    /// that it takes to 0 or above, and a negative factor turns the sign. One launch.
    ///
    /// # Errors
    /// Another number of thresholds than of columns, or of words of flips than of a line; rows of 2^30 entries and more.
    pub fn thresholds(&self, thresholds: &Buffer<i32>, flips: Option<&Buffer<u32>>) -> Result<Thresholds> {
        expect(NAME, "the thresholds", self.features.ncols() as u64, thresholds.len() as u64)?;
        if let Some(flips) = flips {
            expect(NAME, "the words of turned columns", self.features.stride() as u64, flips.len() as u64)?;
        }
        let planes = plane_count(self.largest)?;
        let (columns, stride) = (self.features.ncols(), self.features.stride());
        let clamped = self.device.alloc::<i32>(columns)?;
        let overflow = || Error::from(Base::Overflow { what: "the planes of thresholds", dtype: DType::U64 });
        let words = self.device.alloc::<u32>(stride.checked_mul(planes as usize).ok_or_else(overflow)?)?;
        let parameters = ThresholdsParams {
            thresholds: thresholds.ptr(),
            clamped: clamped.ptr(),
            planes: words.ptr(),
            columns: columns as u32,
            stride: stride as u32,
            plane_count: planes,
            offset: 1 << (planes - 1),
            largest: self.largest as i32,
            unused: 0,
        };
        // SAFETY: the arrays were made for these columns, and those of the caller are as long as they have to be.
        unsafe { elementwise(&self.device, MODULE, "bits_thresholds", 32 * stride as u64, &parameters) }?;
        Ok(Thresholds { clamped, planes: words, flips: flips.cloned(), largest: self.largest, columns, stride })
    }
    /// The signs of the sums into `y`, which lies as [`Aggregation::results`] says and shares no memory with `x`. +1 where a sum is at least its
    /// column's threshold, or 0; so 0 is +1, as of a row without entries. One launch, two of strips. O(entries * words); returns before it is done.
    ///
    /// # Errors
    /// Matrices that lie otherwise, or are not of signs; thresholds of other sums; the driver's.
    pub fn signs(&self, x: &DeviceBits, thresholds: Option<&Thresholds>, y: &DeviceBits) -> Result<()> {
        self.check(x)?;
        same_layout("the output", &self.results, y.layout())?;
        signs_only("output", y)?;
        let mut epilogue = self.epilogue(SIGNS, y.words().ptr().cast());
        if let Some(t) = thresholds {
            expect(NAME, "the columns of thresholds", self.features.ncols() as u64, t.columns as u64)?;
            expect(NAME, "the words of thresholds", self.features.stride() as u64, t.stride as u64)?;
            expect(NAME, "the largest sum of thresholds", self.largest.into(), t.largest.into())?;
            let planes = plane_count(self.largest)?;
            epilogue.thresholds = t.clamped.ptr();
            epilogue.planes = t.planes.ptr();
            epilogue.flips = t.flips.as_ref().map_or(DevicePtr::NULL, Buffer::ptr);
            epilogue.plane_count = planes;
            epilogue.offset = 1 << (planes - 1);
        }
        self.run(x, epilogue, None)
    }
    /// Signs; `share`: blocks for a strip, if they are not as many as are resident.
    pub(super) fn run(&self, x: &DeviceBits, epilogue: Epilogue, share: Option<u32>) -> Result<()> {
        let there = self.results.nrows() > 0 && self.results.ncols() > 0;
        match (&self.held, share) {
            (Some(Held::Strips(strips)), Some(share)) => strips.run_with(&self.device, x.words(), epilogue, share),
            (Some(Held::Strips(strips)), None) if there => strips.run(&self.device, x.words(), epilogue),
            (Some(Held::Window(window)), _) if there && aligned(x, &epilogue) => window.run(&self.device, x.words(), epilogue),
            _ => self.launch(x, epilogue),
        }
    }
    /// The sums as numbers into `y`: matrix rows x columns, row after row without gaps; floats are of whole numbers times the scale of their
    /// row, in `f32`, rounded once. One launch. O(entries * words); returns before it is done.
    ///
    /// # Errors
    /// Features that lie otherwise, or are not of signs; arrays of other lengths; scales of whole numbers; sums that `T` may not hold.
    pub fn sums<T: Sum>(&self, x: &DeviceBits, scale_rows: Option<&Buffer<f32>>, y: &Buffer<T>) -> Result<()> {
        self.check(x)?;
        expect(NAME, "the output", (self.results.nrows() as u64).saturating_mul(self.results.ncols() as u64), y.len() as u64)?;
        let most = if T::KIND == i16::KIND { i16::MAX as u32 } else { i32::MAX as u32 };
        if !T::FLOAT && self.largest > most {
            let (found, allowed) = (f64::from(self.largest), if T::KIND == i16::KIND { "at most 32767" } else { "at most 2147483647" });
            return Err(Base::Parameter { parameter: "the largest sum of signs", found, allowed }.into());
        }
        let mut epilogue = self.epilogue(T::KIND, y.ptr().cast());
        if let Some(scales) = scale_rows {
            if !T::FLOAT {
                let (found, allowed) = (scales.len() as f64, "none beside whole numbers");
                return Err(Base::Parameter { parameter: "the number of scales of rows", found, allowed }.into());
            }
            expect(NAME, "the scales of rows", self.results.nrows() as u64, scales.len() as u64)?;
            epilogue.scale_rows = scales.ptr();
        }
        self.launch(x, epilogue)
    }
    /// How many +1 are among the lines of each row, as codes of `planes` bits into `y`: planes of words that lie as [`Aggregation::results`] says,
    /// sharing no memory with `x`. Words of lines beyond the matrix are not written. One launch. O(entries * words); returns before it is done.
    ///
    /// # Errors
    /// Features that lie otherwise, or are not of signs; another number of words; a row of more lines than codes of so many bits can count.
    pub fn counts(&self, x: &DeviceBits, planes: u32, y: &Buffer<u32>) -> Result<()> {
        self.check(x)?;
        expect(NAME, "the words of counts", (self.results.words() as u64).saturating_mul(planes.into()), y.len() as u64)?;
        if planes < u32::BITS && self.largest >> planes != 0 {
            let (found, allowed) = (f64::from(self.largest), "below 2 to the number of planes");
            return Err(Base::Parameter { parameter: "the largest count of signs", found, allowed }.into());
        }
        let mut epilogue = self.epilogue(COUNTS, y.ptr().cast());
        epilogue.plane_count = planes;
        epilogue.lines = self.results.padded_lines() as u32;
        self.launch(x, epilogue)
    }
    fn check(&self, x: &DeviceBits) -> Result<()> {
        same_layout("the features", &self.features, x.layout())?;
        signs_only("features", x)
    }
    pub(super) fn epilogue(&self, kind: u32, output: DevicePtr<u8>) -> Epilogue {
        Epilogue {
            output,
            thresholds: DevicePtr::NULL,
            planes: DevicePtr::NULL,
            flips: DevicePtr::NULL,
            scale_rows: DevicePtr::NULL,
            kind,
            columns: self.features.ncols() as u32,
            stride: self.features.stride() as u32,
            plane_count: 0,
            offset: 0,
            lines: 0,
        }
    }
    fn launch(&self, x: &DeviceBits, epilogue: Epilogue) -> Result<()> {
        if self.results.nrows() == 0 || self.results.ncols() == 0 {
            return Ok(());
        }
        let (vector, lanes) = line_shape(self.features.stride(), aligned(x, &epilogue));
        let classes = &self.classes;
        let rows = self.results.nrows() as u32;
        // Warps of each class: the pieces, then the rows by the lanes of each.
        let shared = if lanes >= 4 { 2 } else { 8 };
        let [cut, whole, some, pair] = classes.row_ends;
        let mut warp_ends = [classes.pieces.len() as u32; 4];
        warp_ends[1] = warp_ends[0] + (whole - cut);
        warp_ends[2] = warp_ends[1] + (some - whole).div_ceil(32 / (lanes * shared));
        warp_ends[3] = warp_ends[2] + (pair - some).div_ceil(16 / lanes);
        let warps = u64::from(warp_ends[3]) + u64::from((rows - pair).div_ceil(32 / lanes));
        let block = primitives::threads(&self.device, primitives::THREADS);
        let slice_blocks = warps.div_ceil(u64::from(block / 32));
        let slices = self.features.stride().div_ceil((vector * lanes) as usize) as u64;
        let grid = primitives::blocks(slice_blocks.saturating_mul(slices), 1)?;
        let parameters = AggregateParams {
            epilogue,
            features: x.words().ptr(),
            offsets: self.pattern.offsets.ptr(),
            indices: self.pattern.indices.ptr(),
            order: classes.order.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
            pieces: classes.pieces.ptr(),
            cut: classes.cut.ptr(),
            arrived: classes.arrived.ptr(),
            partial: classes.partial.ptr(),
            warp_ends,
            row_ends: classes.row_ends,
            rows,
            entries: self.pattern.entries() as u32,
            cut_count: classes.cut.len() as u32,
            pitch: 32 * self.features.stride() as u32,
            slice_blocks: slice_blocks as u32,
            with_self: u32::from(self.with_self),
        };
        let kernel = self.device.kernel(MODULE, &format!("bits_aggregate_{vector}x{lanes}"))?;
        let shape = Shape { grid, block, shared: 0, mode: Mode::Plain };
        // SAFETY: the layout was made for this matrix and features that lie so, and the operands were compared with both.
        unsafe { self.device.launch(&kernel, shape, &parameters) }
    }
    /// How results lie: matrix rows x columns of the features, padded as they are.
    #[must_use]
    pub fn results(&self) -> &BitLayout {
        &self.results
    }
    /// No sum is larger, and none smaller than its negative: the entries of the longest row, and one for a row's own line.
    #[must_use]
    pub fn largest(&self) -> u32 {
        self.largest
    }
    /// What runs.
    #[must_use]
    pub fn plan(&self) -> AggregatePlan {
        self.plan
    }
    /// Which form runs, and how the rows are cut.
    #[must_use]
    pub fn explain(&self) -> String {
        match &self.held {
            Some(Held::Strips(strips)) => return format!("{}; {}", self.plan, strips.explain()),
            Some(Held::Window(window)) => return format!("{}; {}", self.plan, window.explain()),
            None => {}
        }
        let [cut, whole, some, pair] = self.classes.row_ends;
        match self.plan.form {
            AggregateForm::Rows { .. } => format!("{}; {} rows in their order", self.plan, self.results.nrows()),
            AggregateForm::Classes | AggregateForm::Strips | AggregateForm::Window => format!(
                "{}; {cut} rows in {} pieces, then {}, {}, {} and {}",
                self.plan,
                self.classes.pieces.len(),
                whole - cut,
                some - whole,
                pair - some,
                self.results.nrows() - pair as usize
            ),
        }
    }
    /// Bytes beyond the matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let c = &self.classes;
        let held = match &self.held {
            Some(Held::Strips(strips)) => strips.bytes(),
            Some(Held::Window(window)) => window.bytes(),
            None => 0,
        };
        held + c.order.as_ref().map_or(0, Buffer::bytes)
            + c.pieces.bytes()
            + c.cut.bytes()
            + c.arrived.bytes()
            + c.partial.bytes()
    }
}

impl Classes {
    /// O(rows) on the device; waits.
    fn build(device: &Device, csr: &DeviceCsr, pattern: &Pattern, features: &BitLayout) -> Result<Self> {
        let order = primitives::degree_order(device, csr)?.old_of_new;
        let rows = csr.rows;
        let counts = device.alloc::<u32>(rows)?;
        let ends = device.zeroed::<u32>(4)?;
        let mut build = ClassesParams {
            offsets: pattern.offsets.ptr(),
            order: order.ptr(),
            pieces: counts.ptr(),
            ends: ends.ptr(),
            piece: DevicePtr::NULL,
            cut: DevicePtr::NULL,
            limits: [select::PIECE, select::SHARED_ROW, select::PAIR_ROW, select::SHORT_ROW],
            rows: rows as u32,
            unused: 0,
        };
        // SAFETY: the arrays are as long as the matrix has rows.
        unsafe { elementwise(device, MODULE, "bits_classes_count", rows as u64, &build) }?;
        let (starts, total) = exclusive_scan_total(device, &counts)?;
        let found = ends.to_vec()?;
        let row_ends = [found[0], found[1], found[2], found[3]];
        let pieces = device.alloc::<[u32; 4]>(total as usize)?;
        let cut = device.alloc::<[u32; 4]>(row_ends[0] as usize)?;
        (build.pieces, build.piece, build.cut) = (starts.ptr(), pieces.ptr(), cut.ptr());
        // SAFETY: as above; as many pieces as were counted.
        unsafe { elementwise(device, MODULE, "bits_classes_fill", rows as u64, &build) }?;
        let overflow = || Error::from(Base::Overflow { what: "the partial counts of cut rows", dtype: DType::U64 });
        let columns = features.stride().checked_mul(32).ok_or_else(overflow)?;
        let partial = device.alloc_for::<u16>(pieces.len().checked_mul(columns).ok_or_else(overflow)?, "partial counts of cut rows")?;
        // Enough for slices of one word.
        let arrived = device.zeroed::<u32>(cut.len().checked_mul(features.stride()).ok_or_else(overflow)?)?;
        Ok(Self { order: Some(order), pieces, cut, arrived, partial, row_ends })
    }
}

fn aligned(x: &DeviceBits, epilogue: &Epilogue) -> bool {
    x.words().ptr().address().is_multiple_of(16) && epilogue.output.address().is_multiple_of(16)
}

/// Words of a lane and lanes of a line, or of a slice of it.
fn line_shape(stride: usize, aligned: bool) -> (u32, u32) {
    match (stride, aligned) {
        (1, _) => (1, 1),
        (2, true) => (2, 1),
        (4, true) => (4, 1),
        (8, true) => (4, 2),
        (12 | 16, true) => (4, 4),
        (s, true) if s.is_multiple_of(4) => (4, 8),
        (s, true) if s.is_multiple_of(2) => (2, 8),
        _ => (1, 8),
    }
}

/// Planes that hold twice a count, an offset above every sum, and every threshold.
fn plane_count(largest: u32) -> Result<u32> {
    if largest < 1 << 30 {
        return Ok(u32::BITS - (largest + 1).leading_zeros() + 1);
    }
    let (found, allowed) = (f64::from(largest), "below 2^30 where columns have thresholds");
    Err(Base::Parameter { parameter: "the largest sum of signs", found, allowed }.into())
}

fn by_rows(operand: &'static str, layout: &BitLayout) -> Result<()> {
    let (expected, found) = (Packing::Rows, layout.packing());
    if found == expected { Ok(()) } else { Err(host_error(bitgraph_bittensor::Error::Packed { operand, expected, found })) }
}

fn signs_only(operand: &'static str, bits: &DeviceBits) -> Result<()> {
    let (expected, found) = (Levels::Signs, bits.levels());
    if found == expected { Ok(()) } else { Err(Error::Levels { operation: NAME, operand, expected, found }) }
}

fn same_layout(operand: &'static str, expected: &BitLayout, found: &BitLayout) -> Result<()> {
    by_rows("sums'", found)?;
    expect(NAME, operand, expected.nrows() as u64, found.nrows() as u64)?;
    expect(NAME, operand, expected.ncols() as u64, found.ncols() as u64)?;
    if expected == found {
        return Ok(());
    }
    Err(host_error(bitgraph_bittensor::Error::Padded { expected: expected.padding(), found: found.padding() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fill_lanes() {
        let shapes = [1, 2, 3, 4, 6, 8, 12, 16, 19, 32].map(|s| line_shape(s, true));
        assert_eq!(shapes, [(1, 1), (2, 1), (1, 8), (4, 1), (2, 8), (4, 2), (4, 4), (4, 4), (1, 8), (4, 8)]);
        assert_eq!(line_shape(8, false), (1, 8));
    }

    #[test]
    fn planes_hold_what_is_compared() {
        for largest in [0u32, 1, 2, 3, 4, 7, 8, 1000, (1 << 30) - 1] {
            let offset = 1u64 << (plane_count(largest).unwrap() - 1);
            // The threshold above every sum, and the offset, are below twice the offset.
            assert!(offset > u64::from(largest) + 1, "{largest}");
        }
        assert!(plane_count(1 << 30).is_err());
    }
}
