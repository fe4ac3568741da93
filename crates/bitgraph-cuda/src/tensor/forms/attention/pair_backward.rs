//! The backward pass of attention whose scores are formed of two rows: two launches, no stored message, no atomic sum of floats.
//!
//! Invariant: what the first launch leaves for the second one is two numbers of every entry and head, and of GATv2's sums a bit of every entry and
//! column; runs of clones share that memory, and are ordered by the layout's stream.

use super::gat_backward::AttentionGiven;
use super::layout::{Cut, Products, RowTasks, RowTasksParams, TASKS_ENOUGH};
use super::pair::{PairInput, PairLayout};
use super::select::Pair;
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::matrix::CudaMatrix;
use crate::tensor::attention::DropoutParams;
use crate::tensor::forms::{Feature, address, expect_len, is_aligned, launch_warps};
use crate::{DeviceCsr, Result};
use bitgraph_backend::Error as Base;
use bitgraph_kernels::constant;
use bitgraph_semiring::DType;

parameters! {
    struct PairBackwardParams = "tensor/attention_pair_backward.cuh" "bg::PairBackwardParams" {
        rows: RowTasksParams,
        query: DevicePtr<u8>,
        key: DevicePtr<u8>,
        values: DevicePtr<u8>,
        parameter: DevicePtr<f32>,
        output: DevicePtr<u8>,
        gradient: DevicePtr<u8>,
        lse: DevicePtr<f32>,
        positions: DevicePtr<u32>,
        entries: DevicePtr<[f32; 2]>,
        signs: DevicePtr<u8>,
        d_query: DevicePtr<u8>,
        d_key: DevicePtr<u8>,
        d_values: DevicePtr<u8>,
        parameter_sums: DevicePtr<f32>,
        partial: DevicePtr<f32>,
        columns: u32,
        heads: u32,
        head_columns: u32,
        cosine: u32,
        factor: f32,
        slope: f32,
        dropout: DropoutParams,
    }
}

/// Blocks of a multiprocessor at once of a first launch where each warp leaves sums of a parameter's gradient.
const SUMMING_BLOCKS: u32 = constant("tuning/attention.cuh", "PAIR_SUMMING_BLOCKS") as u32;
/// Warps of such a block.
const BLOCK_WARPS: u32 = 4;

/// Where the gradients of attention by two rows go: each is overwritten.
#[derive(Clone, Copy, Debug)]
pub struct PairGradients<'a, T> {
    /// Of the queries: rows x columns.
    pub query: Option<&'a Buffer<T>>,
    /// Of the keys: the matrix's columns x columns.
    pub key: Option<&'a Buffer<T>>,
    /// Of the values: the matrix's columns x columns.
    pub values: Option<&'a Buffer<T>>,
}

/// A matrix and its transpose laid out for the backward pass of attention by two rows. As for [`PairLayout`], one run at a time.
#[derive(Clone, Debug)]
pub struct PairBackwardLayout<T> {
    device: Device,
    forward: PairLayout<T>,
    width: u32,
    transposed: RowTasks,
    positions: Buffer<u32>,
    entries: Buffer<[f32; 2]>,
    partial: Buffer<f32>,
    parameter_sums: Buffer<f32>,
}

impl<T: Feature> PairBackwardLayout<T> {
    /// Lays out a matrix, whose transpose is there with where each of its entries is in the matrix, for features of `columns` columns in `heads`
    /// equal heads. None if its offsets are 64 bits wide, or heads are not of whole 16 bytes. Keeps 8 bytes an entry and head; waits.
    ///
    /// # Errors
    /// As [`PairLayout::build`].
    pub fn build(
        device: &Device,
        csr: &DeviceCsr,
        transposed: (&DeviceCsr, &Buffer<u32>),
        columns: usize,
        heads: usize,
    ) -> Result<Option<Self>> {
        Self::with_enough(device, csr, transposed, (columns, heads), (TASKS_ENOUGH, Products::Many))
    }
    /// As [`PairBackwardLayout::build`], of a matrix: one of few products is waited for nowhere.
    pub(in crate::tensor) fn of(
        matrix: &CudaMatrix,
        transposed: (&DeviceCsr, &Buffer<u32>),
        columns: usize,
        heads: usize,
    ) -> Result<Option<Self>> {
        let enough = (TASKS_ENOUGH, Products::of(matrix));
        Self::with_enough(&matrix.device, matrix.lists()?, transposed, (columns, heads), enough)
    }
    pub(super) fn with_enough(
        device: &Device,
        csr: &DeviceCsr,
        (transposed, positions): (&DeviceCsr, &Buffer<u32>),
        (columns, heads): (usize, usize),
        (enough, products): (u64, Products),
    ) -> Result<Option<Self>> {
        let Some(forward) = PairLayout::<T>::in_windows(device, csr, columns, heads, (enough, products))? else { return Ok(None) };
        let Pair::Rows(width) = forward.form() else { return Ok(None) };
        let cut = Cut::Windows { widest: forward.form().window(), narrowest: 1, enough };
        let Some(transposed) = RowTasks::build(device, transposed, cut, products.transposed())? else { return Ok(None) };
        let product = |what: &'static str, a: usize, b: usize| a.checked_mul(b).ok_or_else(|| Base::Overflow { what, dtype: DType::U64 });
        let pieces = forward.tasks().parameters.piece_count.max(2 * transposed.parameters.piece_count) as usize;
        let partial = product("the number of sums of pieces of rows", pieces, columns)?;
        let sums = product("the number of sums of warps", summing(device, forward.tasks()) as usize, columns)?;
        Ok(Some(Self {
            device: device.clone(),
            width,
            entries: device.alloc_for(product("the number of scores", csr.nnz, heads)?, "weights of entries")?,
            partial: device.alloc_for(partial, "sums of pieces of rows")?,
            parameter_sums: device.alloc_for(sums, "sums of warps")?,
            positions: positions.clone(),
            transposed,
            forward,
        }))
    }
    /// The gradients of the operands of [`PairLayout::forward`], as [`attention`](fn@bitgraph_tensor::ops::attention) defines them. Of a score with
    /// a parameter also sums whose total over the rows is the parameter's gradient, as many rows as [`Self::parameter_sums`] says. Whether it
    /// ran: every array has to be aligned to 16 bytes. O(entries * columns), two launches; returns before it is done.
    ///
    /// # Errors
    /// Arrays of other lengths; the driver's.
    pub fn backward(&self, input: PairInput<'_, T>, given: AttentionGiven<'_, T>, gradients: PairGradients<'_, T>) -> Result<bool> {
        let (name, forward, transposed) = ("attention gradient", self.forward.tasks(), &self.transposed);
        let (columns, heads) = self.forward.shape();
        let scored = self.forward.checked(name, &input)?;
        expect_len(name, "the sums of the softmax", forward.rows, heads, given.lse.len())?;
        expect_len(name, "the gradient of the result", forward.rows, columns, given.gradient.len())?;
        given.output.map_or(Ok(()), |y| expect_len(name, "the result", forward.rows, columns, y.len()))?;
        let wanted = |operand, rows: usize, found: Option<&Buffer<T>>| match found {
            Some(found) => expect_len(name, operand, rows, columns, found.len()).map(|()| (address(found), is_aligned(found))),
            None => Ok((DevicePtr::NULL, true)),
        };
        let (d_query, first) = wanted("the gradient of the queries", forward.rows, gradients.query)?;
        let (d_key, second) = wanted("the gradient of the keys", forward.columns, gradients.key)?;
        let (d_values, third) = wanted("the gradient of the values", forward.columns, gradients.values)?;
        let operands = [input.query, input.key, input.values, given.gradient].into_iter().chain(given.output);
        if !(first && second && third && operands.into_iter().all(is_aligned)) {
            return Ok(false);
        }
        let again = match given.output {
            Some(output) => output.clone(),
            None => {
                let output = self.device.alloc_for::<T>(forward.rows * columns, "the result of attention")?;
                self.forward.forward(input, &output, None)?;
                output
            }
        };
        let vectors = if scored.kind == "sum" { forward.entries * (columns * size_of::<T>() / 16) } else { 0 };
        let signs = self.device.alloc_for::<u8>(vectors, "signs of entries")?;
        let parameters = PairBackwardParams {
            rows: forward.parameters,
            query: address(input.query),
            key: address(input.key),
            values: address(input.values),
            parameter: scored.parameter,
            output: address(&again),
            gradient: address(given.gradient),
            lse: given.lse.ptr(),
            positions: self.positions.ptr(),
            entries: self.entries.ptr(),
            signs: signs.ptr(),
            d_query,
            d_key,
            d_values,
            parameter_sums: self.parameter_sums.ptr(),
            partial: self.partial.ptr(),
            columns: columns as u32,
            heads: heads as u32,
            head_columns: (columns / heads) as u32,
            cosine: u32::from(scored.kind == "cosine"),
            factor: scored.factor,
            slope: scored.slope,
            dropout: DropoutParams::of(&self.device, input.dropout.as_ref()),
        };
        let warps = if scored.kind == "dot" { forward.parameters.task_count } else { summing(&self.device, forward) };
        let kernel = format!("attention_{}_backward_{}_{}", scored.kind, T::NAME, self.width);
        // SAFETY: the tasks were made for this matrix and its transpose, the arrays have the lengths that they and the widths ask for, and there
        // are sums for every warp that leaves some.
        unsafe { launch_warps(&self.device, "tensor/attention_pair_backward_rows", &kernel, warps, &parameters) }?;
        let kind = if scored.kind == "sum" { "sum" } else { "product" };
        let kernel = format!("attention_{kind}_columns_{}_{}", T::NAME, self.width);
        let parameters = PairBackwardParams { rows: transposed.parameters, ..parameters };
        let warps = transposed.parameters.task_count;
        // SAFETY: as above; the first launch wrote two numbers of every entry and head.
        unsafe { launch_warps(&self.device, "tensor/attention_pair_backward_columns", &kernel, warps, &parameters) }?;
        Ok(true)
    }
    /// The sums that the last run left of the parameter's gradient, and how many rows they have: of GATv2's vector with its columns, of beta with
    /// one.
    #[must_use]
    pub fn parameter_sums(&self) -> (&Buffer<f32>, usize) {
        (&self.parameter_sums, summing(&self.device, self.forward.tasks()) as usize)
    }
    /// Which form runs, and how the rows of the transpose are cut.
    #[must_use]
    pub fn explain(&self) -> String {
        format!("attention_pair_backward_{}_{}; {}", T::NAME, self.width, self.transposed.explain())
    }
    /// Bytes beyond the matrix and its transpose.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let arrays = self.entries.bytes() + self.partial.bytes() + self.parameter_sums.bytes();
        self.forward.bytes() + self.transposed.bytes() + arrays
    }
}

/// Warps of a launch over tasks that leave sums, a multiple of a block's: those that fill the device twice, or as many as there are tasks.
fn summing(device: &Device, tasks: &RowTasks) -> u32 {
    tasks.parameters.task_count.min(2 * BLOCK_WARPS * SUMMING_BLOCKS * device.properties().sms).next_multiple_of(BLOCK_WARPS)
}
