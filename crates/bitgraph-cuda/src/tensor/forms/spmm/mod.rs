//! Products of a sparse matrix with dense features, laid out once for many runs: one launch a run.
//!
//! Forms: rows in their order; blocks of rows that share columns, on tensor cores or entry by entry; tasks by length, whose pieces of a long row meet; records
//! for matrices that a device holds at once. `select` chooses. `rounded` takes features of `f32` through copies of halves.
//!
//! Invariant: every form gives the same bits on every run, and an infinity or a NaN stays in the rows that have an entry for it.

mod blocks;
mod cells;
mod records;
mod rounded;
mod select;
pub(in crate::tensor::forms) mod staged;
mod tasks;
#[cfg(test)]
mod tests;

pub use crate::forced::{SpmmForm, SpmmPlan};
pub(in crate::tensor) use rounded::RoundedLayout;

use super::sddmm::Product;
use super::{Feature, address, expect_len, is_aligned, is_half};
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::spmv::Pattern;
use crate::{DeviceCsr, Result, primitives};
use bitgraph_backend::Error as Base;
use records::Records;
pub(in crate::tensor::forms) use select::{FULL_SLICES, SHORT_ROWS};
use select::{MOST_SHARE, Stats};
use staged::Staged;
use std::marker::PhantomData;
use tasks::Tasks;

parameters! {
    /// What a run names, as every form takes it.
    struct Operands = "tensor/spmm.cuh" "bg::SpmmOperands" {
        features: DevicePtr<u8>,
        output: DevicePtr<u8>,
        values: DevicePtr<u8>,
        scale_columns: DevicePtr<f32>,
        scale_rows: DevicePtr<f32>,
        bias: DevicePtr<f32>,
        addend: DevicePtr<u8>,
        addend_scale: DevicePtr<f32>,
        exact: DevicePtr<f32>,
        unscale: DevicePtr<f32>,
        columns: u32,
        narrow_values: u32,
        wide_output: u32,
        mean: u32,
        relu: u32,
        narrow_addend: u32,
        bare: u32,
        unused: u32,
    }
}

/// Numbers beside the features: values of the entries of a matrix, in CSR order, or a matrix that is added to the sums.
#[derive(Clone, Copy, Debug)]
pub enum Floats<'a, T> {
    /// In single precision.
    Single(&'a Buffer<f32>),
    /// Of the features' type.
    Narrow(&'a Buffer<T>),
}

impl<T: Feature> Floats<'_, T> {
    /// How many there are, and where.
    fn place(self) -> (usize, DevicePtr<u8>) {
        match self {
            Self::Single(v) => (v.len(), address(v)),
            Self::Narrow(v) => (v.len(), address(v)),
        }
    }
    fn is_aligned(self) -> bool {
        match self {
            Self::Single(v) => is_aligned(v),
            Self::Narrow(v) => is_aligned(v),
        }
    }
}

/// One product: row `i` of the result is `r(i)` times the sum over the entries `(i, j)` of `e(i, j) c(j) x(j)`, plus row `i` of the addend times its
/// scale, plus the bias, and 0 for what is below, if `relu`. Sums and what follows are of `f32`; the result is rounded once.
#[derive(Clone, Copy, Debug)]
pub struct SpmmInput<'a, T> {
    /// `x`: matrix columns x feature columns, row after row without gaps.
    pub features: &'a Buffer<T>,
    /// `e`; 1 where there are none. Only of a layout that was made for them.
    pub values: Option<Floats<'a, T>>,
    /// `c`, one for each column of the matrix.
    pub scale_columns: Option<&'a Buffer<f32>>,
    /// `r`, one for each row.
    pub scale_rows: Option<&'a Buffer<f32>>,
    /// Whether `r(i)` is divided by the number of entries of row `i`.
    pub mean: bool,
    /// Of the result's shape, without gaps; no element is one of the result's.
    pub addend: Option<Floats<'a, T>>,
    /// What the addend is multiplied by, one for each column of the features; 1 without.
    pub addend_scale: Option<&'a Buffer<f32>>,
    /// One for each column of the features.
    pub bias: Option<&'a Buffer<f32>>,
    /// Whether what is below 0 becomes 0.
    pub relu: bool,
}

impl<'a, T> SpmmInput<'a, T> {
    /// The plain sums of rows of features.
    #[must_use]
    pub fn of(features: &'a Buffer<T>) -> Self {
        Self {
            features,
            values: None,
            scale_columns: None,
            scale_rows: None,
            mean: false,
            addend: None,
            addend_scale: None,
            bias: None,
            relu: false,
        }
    }
    /// Whether nothing is done with the sums.
    fn ends_with_sums(&self) -> bool {
        self.scale_rows.is_none() && self.addend.is_none() && self.bias.is_none() && !self.mean && !self.relu
    }
    fn is_weighted(&self) -> bool {
        self.values.is_some() || self.scale_columns.is_some()
    }
}

/// What multiplies the features of an entry, and what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terms {
    /// Features alone.
    Plain,
    /// Values of entries, or scales of columns.
    Weighted,
    /// Copies of features of `f32`, which hold the scales of columns.
    Rounded,
}

#[derive(Clone, Debug)]
enum Layout {
    Tasks(Tasks),
    Records(Records),
    Staged(Box<Staged>, u32),
}

/// A matrix laid out for products with features of one type and width. A clone shares the memory; runs of clones are ordered by the device's
/// stream.
#[derive(Clone, Debug)]
pub struct SpmmLayout<T> {
    device: Device,
    plan: SpmmPlan,
    layout: Layout,
    rows: usize,
    columns: usize,
    entries: usize,
    width: usize,
    valued: bool,
    element: PhantomData<fn() -> T>,
}

const NAME: &str = "spmm";

impl<T: Feature> SpmmLayout<T> {
    /// Lays out a matrix for features of `width` columns; `valued` if products will have values of entries. None if its offsets are 64 bits
    /// wide. On the device: a sort of the rows, by length or by place, and one of the entries of blocks; waits.
    ///
    /// # Errors
    /// A width of 0 or of 2^30 and more; out of memory.
    pub fn build(device: &Device, csr: &DeviceCsr, width: usize, valued: bool) -> Result<Option<Self>> {
        check_width(width)?;
        let stats = Stats::of(device, csr)?;
        let mut plan = SpmmPlan::choose::<T>(device.properties().sms, &stats, width, valued);
        if matches!(plan.form, SpmmForm::Staged { .. }) && !is_half::<T>() && stats.share_in_order(csr)? < MOST_SHARE {
            plan.form = SpmmForm::Rows;
        }
        Self::with_plan(device, csr, width, valued, plan)
    }
    /// As [`SpmmLayout::build`], by a plan of the caller's. What a plan asks for and the matrix or the width does not allow is left out:
    /// [`SpmmLayout::plan`] tells.
    ///
    /// # Errors
    /// As [`SpmmLayout::build`].
    pub fn with_plan(device: &Device, csr: &DeviceCsr, width: usize, valued: bool, plan: SpmmPlan) -> Result<Option<Self>> {
        check_width(width)?;
        let Some(pattern) = Pattern::of(csr) else { return Ok(None) };
        let mut plan = plan.allowed::<T>(width, valued, csr.rows == csr.columns);
        let layout = match plan.form {
            SpmmForm::Staged { buffers } => {
                let short = csr.rows > 0 && Stats::of(device, csr)?.longest <= staged::LONGEST;
                let blocks = if short { staged::build(device, &pattern, staged::Content::of::<T>(), MOST_SHARE)? } else { None };
                match blocks.filter(|blocks| blocks.fits(device, buffers)) {
                    Some(blocks) => Layout::Staged(Box::new(blocks), buffers),
                    None => {
                        plan.form = SpmmForm::Rows;
                        Layout::Tasks(Tasks::natural(pattern))
                    }
                }
            }
            SpmmForm::Records => Layout::Records(Records::build(device, csr, &pattern, plan.lanes)?),
            SpmmForm::Rows => Layout::Tasks(Tasks::natural(pattern)),
            SpmmForm::Tasks { piece } => Layout::Tasks(Tasks::build(device, csr, &pattern, piece, width, plan.lanes)?),
        };
        let (rows, columns, entries) = (csr.rows, csr.columns, csr.nnz);
        Ok(Some(Self { device: device.clone(), plan, layout, rows, columns, entries, width, valued, element: PhantomData }))
    }
    /// Lays out a matrix of few products, whose rows have `longest` entries at most, if that is known. Nothing is asked of the device: at most one
    /// pass over the rows, which cuts long ones; waits for nothing.
    ///
    /// # Errors
    /// As [`SpmmLayout::build`].
    pub fn short_lived(device: &Device, csr: &DeviceCsr, width: usize, valued: bool, longest: Option<u32>) -> Result<Option<Self>> {
        check_width(width)?;
        let plan = SpmmPlan::short_lived::<T>(device.properties().sms, (csr.rows, csr.nnz), width, longest);
        Self::in_order(device, csr, width, valued, plan)
    }
    /// Rows, or tasks, in their order, by a plan of one of both.
    fn in_order(device: &Device, csr: &DeviceCsr, width: usize, valued: bool, plan: SpmmPlan) -> Result<Option<Self>> {
        let Some(pattern) = Pattern::of(csr) else { return Ok(None) };
        let (rows, columns, entries) = (csr.rows, csr.columns, csr.nnz);
        let plan = plan.allowed::<T>(width, valued, rows == columns);
        let tasks = match plan.form {
            SpmmForm::Tasks { piece } => Tasks::cut(device, pattern, piece, width, plan.lanes)?,
            _ => Tasks::natural(pattern),
        };
        let layout = Layout::Tasks(tasks);
        Ok(Some(Self { device: device.clone(), plan, layout, rows, columns, entries, width, valued, element: PhantomData }))
    }
    /// `output = A x`, and what the input says beside; `output` is rows x columns of the features, in their type or in `f32`, and overlaps
    /// nothing that is read. One launch. O(entries * width); returns before it is done.
    ///
    /// # Errors
    /// Arrays of other lengths; values that the layout was not made for; the driver's.
    pub fn run<O: Product<T>>(&self, input: &SpmmInput<'_, T>, output: &Buffer<O>) -> Result<()> {
        let operands = self.operands(input, output)?;
        let vectors = is_aligned(input.features) && is_aligned(output) && input.addend.is_none_or(|z| z.is_aligned());
        self.launch(operands, if input.is_weighted() { Terms::Weighted } else { Terms::Plain }, vectors)
    }
    /// The operands of a run over features of type `X`, checked.
    fn operands<X: Feature, O: Feature>(&self, input: &SpmmInput<'_, X>, output: &Buffer<O>) -> Result<Operands> {
        expect_len(NAME, "the features", self.columns, self.width, input.features.len())?;
        expect_len(NAME, "the output", self.rows, self.width, output.len())?;
        let optional = |operand, wanted: usize, found: Option<&Buffer<f32>>| match found {
            Some(array) => expect_len(NAME, operand, wanted, 1, array.len()),
            None => Ok(()),
        };
        optional("the scales of columns", self.columns, input.scale_columns)?;
        optional("the scales of rows", self.rows, input.scale_rows)?;
        optional("the bias", self.width, input.bias)?;
        optional("the scales of the addend", self.width, input.addend_scale)?;
        let values = match input.values {
            None => DevicePtr::NULL,
            Some(given) => {
                let (found, at) = given.place();
                expect_len(NAME, "the values of entries", if self.valued { self.entries } else { 0 }, 1, found)?;
                at
            }
        };
        let addend = match input.addend {
            None => DevicePtr::NULL,
            Some(given) => {
                let (found, at) = given.place();
                expect_len(NAME, "the addend", self.rows, self.width, found)?;
                at
            }
        };
        let pointer = |array: Option<&Buffer<f32>>| array.map_or(DevicePtr::NULL, Buffer::ptr);
        Ok(Operands {
            features: address(input.features),
            output: address(output),
            values,
            scale_columns: pointer(input.scale_columns),
            scale_rows: pointer(input.scale_rows),
            bias: pointer(input.bias),
            addend,
            addend_scale: pointer(input.addend_scale),
            exact: DevicePtr::NULL,
            unscale: DevicePtr::NULL,
            columns: self.width as u32,
            narrow_values: u32::from(matches!(input.values, Some(Floats::Narrow(_)))),
            wide_output: u32::from(size_of::<O>() == 4),
            mean: u32::from(input.mean),
            relu: u32::from(input.relu),
            narrow_addend: u32::from(matches!(input.addend, Some(Floats::Narrow(_)))),
            bare: u32::from(input.ends_with_sums()),
            unused: 0,
        })
    }
    /// `vectors`: whether features and output are aligned to 16 bytes.
    fn launch(&self, operands: Operands, terms: Terms, vectors: bool) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        match &self.layout {
            Layout::Records(records) if vectors => records.run::<T>(&self.device, self.plan.lanes, operands),
            Layout::Records(records) => records.rows().run::<T>(&self.device, self.plan.plain(), operands, Terms::Weighted),
            Layout::Staged(blocks, buffers) => {
                if vectors && terms != Terms::Weighted {
                    return blocks.run::<T>(&self.device, *buffers, operands, terms);
                }
                let plan = if vectors { self.plan } else { self.plan.plain() };
                blocks.rows().run::<T>(&self.device, plan, operands, terms)
            }
            Layout::Tasks(tasks) => {
                let plan = if vectors { self.plan } else { self.plan.plain() };
                tasks.run::<T>(&self.device, plan, operands, terms)
            }
        }
    }
    /// What runs.
    #[must_use]
    pub fn plan(&self) -> SpmmPlan {
        self.plan
    }
    /// Which form runs, and how the rows are cut.
    #[must_use]
    pub fn explain(&self) -> String {
        let layout = match &self.layout {
            Layout::Tasks(tasks) => tasks.explain(),
            Layout::Records(records) => records.explain(),
            Layout::Staged(blocks, _) => blocks.explain(),
        };
        format!("{}; {layout}", self.plan)
    }
    /// Bytes beyond the matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.layout {
            Layout::Tasks(tasks) => tasks.bytes(),
            Layout::Records(records) => records.bytes(),
            Layout::Staged(blocks, _) => blocks.bytes(),
        }
    }
}

/// A row of features has fewer bytes than 2^32, so that kernels multiply its number by 32 bits.
const MOST_COLUMNS: u32 = 1 << 30;

fn check_width(width: usize) -> Result<()> {
    if width > 0 && u32::try_from(width).is_ok_and(|w| w < MOST_COLUMNS) {
        return Ok(());
    }
    let (found, allowed) = (width as f64, "from 1 to 2^30 - 1");
    Err(Base::Parameter { parameter: "the number of columns of the features", found, allowed }.into())
}

/// Threads of a block of all forms.
fn block(device: &Device) -> u32 {
    primitives::threads(device, primitives::THREADS)
}
