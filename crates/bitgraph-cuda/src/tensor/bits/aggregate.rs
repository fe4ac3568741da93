//! Sums of rows of signs over the neighbours of a vertex, as signs or as numbers: what `kernels/tensor/bits_aggregate.cuh` does.
//!
//! Invariant: a layout is of one matrix and of features of one layout; what is run is checked against both.

use super::gather::{Gathered, aligned};
use super::select::{self, AggregateForm, AggregatePlan, Stats};
use super::strips::{self, Strips};
use super::window::Window;
use super::{DeviceBits, expect, host_error};
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::primitives::elementwise;
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
pub(super) const SIGNS: u32 = 0;
const COUNTS: u32 = 5;

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
    gathered: Gathered,
    held: Option<Held>,
    features: BitLayout,
    results: BitLayout,
    /// Entries of the longest row, and one for its own line.
    largest: u32,
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
        let plan = match (&held, wanted.form) {
            (Some(Held::Window(_)), _) => AggregatePlan { form: AggregateForm::Window },
            (None, AggregateForm::Strips | AggregateForm::Window) => AggregatePlan::gathering(&stats),
            _ => wanted,
        };
        let gather = select::gather(&stats, features.stride());
        let gathered = Gathered::build(device, csr, pattern, gather, features, with_self)?;
        let largest = stats.longest.saturating_add(u32::from(with_self));
        Ok(Some(Self { device: device.clone(), plan, gathered, held, features: *features, results, largest }))
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
    /// column's threshold, or 0; so 0 is +1, as of a row without entries. One launch, two of more strips than multiprocessors. O(entries * words);
    /// returns before it is done.
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
    /// Signs; `launch`: how strips are launched, if not as is best.
    pub(super) fn run(&self, x: &DeviceBits, epilogue: Epilogue, launch: Option<strips::Launch>) -> Result<()> {
        let there = self.results.nrows() > 0 && self.results.ncols() > 0;
        match (&self.held, launch) {
            (Some(Held::Strips(strips)), Some(launch)) => strips.run_with(&self.device, x.words(), epilogue, launch),
            (Some(Held::Strips(strips)), None) if there => strips.run(&self.device, x.words(), epilogue),
            (Some(Held::Window(window)), _) if there && aligned(x, &epilogue) => window.run(&self.device, x.words(), epilogue),
            _ if !there => Ok(()),
            _ => match self.plan.form {
                AggregateForm::Rows { lanes } => self.gathered.run_rows(&self.device, x, epilogue, lanes),
                form => self.gathered.run(&self.device, x, epilogue, form == AggregateForm::Classes { many: true }),
            },
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
        if y.is_empty() { Ok(()) } else { self.gathered.run(&self.device, x, epilogue, false) }
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
        if y.is_empty() { Ok(()) } else { self.gathered.run(&self.device, x, epilogue, false) }
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
        let how = match &self.held {
            Some(Held::Strips(strips)) => strips.explain(),
            Some(Held::Window(window)) => window.explain(),
            None => self.gathered.explain(),
        };
        format!("{}; {how}", self.plan)
    }
    /// Bytes beyond the matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let held = match &self.held {
            Some(Held::Strips(strips)) => strips.bytes(),
            Some(Held::Window(window)) => window.bytes(),
            None => 0,
        };
        held + self.gathered.bytes()
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
    fn planes_hold_what_is_compared() {
        for largest in [0u32, 1, 2, 3, 4, 7, 8, 1000, (1 << 30) - 1] {
            let offset = 1u64 << (plane_count(largest).unwrap() - 1);
            // The threshold above every sum, and the offset, are below twice the offset.
            assert!(offset > u64::from(largest) + 1, "{largest}");
        }
        assert!(plane_count(1 << 30).is_err());
    }
}
