//! Dot products of rows of two feature matrices, sampled at the entries of a sparse matrix: one launch a run.
//!
//! Variants: vectors of 16 bytes, tensor cores for halves of several heads and for halves of rows that share columns, and element by element for every other width; `select` chooses.

mod select;
#[cfg(test)]
mod tests;

use super::attention::layout::{Products, RowTasks, RowTasksParams};
use super::attention::staged::windows;
use super::spmm::staged::{RowBlocks, RowBlocksParams, WINDOWS};
use super::{Feature, address, expect_len, head_width, is_aligned, launch_warps, launch_warps_within, most_blocks};
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::matrix::CudaMatrix;
use crate::{DeviceCsr, Result};
use half::{bf16, f16};
pub(in crate::tensor) use select::Form;
use std::marker::PhantomData;

parameters! {
    struct SddmmParams = "tensor/sddmm_dot.cuh" "bg::SddmmParams" {
        rows: RowTasksParams,
        left: DevicePtr<u8>,
        right: DevicePtr<u8>,
        output: DevicePtr<u8>,
        columns: u32,
        heads: u32,
        head_columns: u32,
        in_f32: u32,
        factor: f32,
        side_bits: u32,
    }
    struct WindowsParams = "tensor/sddmm_dot.cuh" "bg::SddmmWindowsParams" {
        blocks: RowBlocksParams,
        dots: SddmmParams,
    }
}

const WINDOWS_MODULE: &str = "tensor/sddmm_windows";

/// What sampled products of features `T` are stored as: `f32`, or the features' type.
pub trait Product<T: Feature>: Feature {}
impl Product<f32> for f32 {}
impl Product<f16> for f32 {}
impl Product<bf16> for f32 {}
impl Product<f16> for f16 {}
impl Product<bf16> for bf16 {}

/// A matrix laid out for sampled dot products of features of one type and width.
#[derive(Clone, Debug)]
pub struct SddmmLayout<T> {
    device: Device,
    tasks: RowTasks,
    columns: usize,
    heads: usize,
    form: Form,
    /// Windows of rows that share columns, and the columns of their kernel: what runs instead of the form.
    windows: Option<(RowBlocks, usize)>,
    /// Logarithm of the groups of lanes that share a row.
    side_bits: u32,
    /// Blocks of a launch at most.
    most_blocks: u32,
    element: PhantomData<fn() -> T>,
}

impl<T: Feature> SddmmLayout<T> {
    /// Lays out a matrix for features of `columns` columns in `heads` equal heads. None if its offsets are 64 bits wide. A sort of the
    /// rows on the device; waits.
    ///
    /// # Errors
    /// Heads that do not divide the columns; out of memory.
    pub fn build(device: &Device, csr: &DeviceCsr, columns: usize, heads: usize) -> Result<Option<Self>> {
        let form = Form::of::<T>(columns, heads, head_width(columns, heads)?);
        Self::with_form(device, csr, columns, heads, form, (form.enough(), Products::Many))
    }
    /// As [`SddmmLayout::build`], of a matrix: one of few products is waited for nowhere.
    pub(in crate::tensor) fn of(matrix: &CudaMatrix, columns: usize, heads: usize) -> Result<Option<Self>> {
        let form = Form::of::<T>(columns, heads, head_width(columns, heads)?);
        let enough = (form.enough(), Products::of(matrix));
        Self::with_form(&matrix.device, matrix.lists()?, columns, heads, form, enough)
    }
    fn with_form(
        device: &Device,
        csr: &DeviceCsr,
        columns: usize,
        heads: usize,
        form: Form,
        (enough, products): (u64, Products),
    ) -> Result<Option<Self>> {
        let form = if is_aligned(&csr.indices) { form } else { Form::Plain };
        let warps = csr.rows as u64 * u64::from(form.lanes()) / 32;
        let brief = form.brief::<T>(heads).filter(|_| warps >= enough);
        let tasks = RowTasks::of_form(device, csr, brief, (form, form.cut(heads, enough)), products)?;
        let Some((form, tasks)) = tasks else { return Ok(None) };
        let (module, kernel) = form.kernel::<T>();
        let most_blocks = most_blocks::<SddmmParams>(device, module, &kernel, form.turns())?;
        let side_bits = tasks.side_bits(form.lanes(), enough);
        let windows = if form == Form::Plain { None } else { windows::<T>(device, csr, (columns, heads), (enough, products))? };
        Ok(Some(Self { device: device.clone(), tasks, columns, heads, form, windows, side_bits, most_blocks, element: PhantomData }))
    }
    /// `output(k, h) = factor * left(i) . right(j)` over the columns of head `h`, for the `k`-th entry `(i, j)` in CSR order. `left` is rows x
    /// columns, `right` the matrix's columns x columns, `output` entries x heads. Sums are of `f32`. O(entries * columns); returns before
    /// it is done.
    ///
    /// On tensor cores an infinity in `right` makes the products of all heads of its entries NaN, not of its own head alone.
    ///
    /// # Errors
    /// Arrays of other lengths; the driver's.
    pub fn run<O: Product<T>>(&self, left: &Buffer<T>, right: &Buffer<T>, factor: f32, output: &Buffer<O>) -> Result<()> {
        let (name, tasks) = ("sddmm", &self.tasks);
        expect_len(name, "the left features", tasks.rows, self.columns, left.len())?;
        expect_len(name, "the right features", tasks.columns, self.columns, right.len())?;
        expect_len(name, "the products", tasks.entries, self.heads, output.len())?;
        if tasks.entries == 0 {
            return Ok(());
        }
        let form = if is_aligned(left) && is_aligned(right) { self.form } else { Form::Plain };
        let (module, kernel) = form.kernel::<T>();
        let (side_bits, most_blocks) = if form == self.form { (self.side_bits, self.most_blocks) } else { (0, u32::MAX) };
        let parameters = SddmmParams {
            rows: tasks.parameters,
            left: address(left),
            right: address(right),
            output: address(output),
            columns: self.columns as u32,
            heads: self.heads as u32,
            head_columns: (self.columns / self.heads) as u32,
            in_f32: u32::from(size_of::<O>() == 4),
            factor,
            side_bits,
        };
        if let Some((blocks, width)) = self.windows.as_ref().filter(|_| form == self.form) {
            let (warps, kernel) = (blocks.count() * WINDOWS, windows_kernel::<T>(*width));
            let parameters = WindowsParams { blocks: blocks.parameters(), dots: parameters };
            // SAFETY: the blocks were made for this matrix, and the arrays have the lengths that it and the widths ask for.
            return unsafe { launch_warps(&self.device, WINDOWS_MODULE, &kernel, warps, &parameters) };
        }
        // SAFETY: the tasks were made for this matrix, and the arrays have the lengths that it and the widths ask for.
        unsafe { launch_warps_within(&self.device, module, &kernel, (tasks.warps(form.lanes() << side_bits)?, most_blocks), &parameters) }
    }
    /// Which form runs, and how the rows are cut.
    #[must_use]
    pub fn explain(&self) -> String {
        if let Some((blocks, width)) = &self.windows {
            return format!("{}; {}", windows_kernel::<T>(*width), blocks.explain());
        }
        format!("{}; {}", self.form.kernel::<T>().1, self.tasks.explain())
    }
    /// Bytes beyond the matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tasks.bytes() + self.windows.as_ref().map_or(0, |(blocks, _)| blocks.bytes())
    }
}

fn windows_kernel<T: Feature>(width: usize) -> String {
    format!("sddmm_windows_{}_{width}", T::NAME)
}
