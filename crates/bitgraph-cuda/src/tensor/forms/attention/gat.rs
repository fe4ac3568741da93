//! Additive attention: GAT.
//!
//! Source: Veličković et al., Graph Attention Networks, 2018. The softmax is formed as sums come in, by the largest score so far (Milakov and
//! Gimelshein, Online normalizer calculation for softmax, 2018).

use super::layout::{Cut, Products, RowTasks, RowTasksParams, WARPS_ENOUGH};
use super::select::Form;
use super::staged::{Pass, Staged};
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::matrix::CudaMatrix;
use crate::tensor::attention::DropoutParams;
use crate::tensor::forms::spmm::staged::RowBlocksParams;
use crate::tensor::forms::{Feature, address, expect_len, head_width, is_aligned, launch_warps_within, most_blocks};
use crate::{DeviceCsr, Result};
use bitgraph_backend::Error as Base;
use bitgraph_semiring::DType;
use bitgraph_tensor::Dropout;
use std::marker::PhantomData;

parameters! {
    pub(super) struct EndParams = "tensor/attention_end.cuh" "bg::AttentionEnd" {
        bias: DevicePtr<f32>,
        activation: u32,
        slope: f32,
    }
    struct GatParams = "tensor/attention_gat.cuh" "bg::GatParams" {
        rows: RowTasksParams,
        left: DevicePtr<f32>,
        right: DevicePtr<f32>,
        values: DevicePtr<u8>,
        output: DevicePtr<u8>,
        lse: DevicePtr<f32>,
        partial: DevicePtr<f32>,
        columns: u32,
        heads: u32,
        head_columns: u32,
        side_bits: u32,
        slope: f32,
        unused: u32,
        end: EndParams,
        dropout: DropoutParams,
    }
    struct StagedParams = "tensor/attention_gat_staged.cu" "bg::GatStagedParams" {
        blocks: RowBlocksParams,
        gat: GatParams,
    }
}

const STAGED: &str = "attention_gat_staged";

/// What is done to the sums of a row before they are rounded and stored: the end of a layer. Nothing by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttentionEnd<'a> {
    /// What is added: one for each column.
    pub bias: Option<&'a Buffer<f32>>,
    /// What becomes of numbers below 0.
    pub activation: Option<EndActivation>,
}

/// An activation: numbers above 0, and what is none, stay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EndActivation {
    /// `slope * x` below 0; with a slope of 0 a threshold.
    Leaky(f32),
    /// `alpha * (exp(x) - 1)` below 0.
    Elu(f32),
}

impl AttentionEnd<'_> {
    pub(super) fn parameters(&self, columns: usize) -> Result<EndParams> {
        self.bias.map_or(Ok(()), |bias| expect_len("attention", "the bias", 1, columns, bias.len()))?;
        let (activation, slope) = match self.activation {
            None => (0, 0.0),
            Some(EndActivation::Leaky(slope)) => (1, slope),
            Some(EndActivation::Elu(alpha)) => (2, alpha),
        };
        Ok(EndParams { bias: self.bias.map_or(DevicePtr::NULL, Buffer::ptr), activation, slope })
    }
}

/// The operands of additive attention.
#[derive(Clone, Copy, Debug)]
pub struct GatInput<'a, T> {
    /// Rows x heads.
    pub left: &'a Buffer<f32>,
    /// The matrix's columns x heads.
    pub right: &'a Buffer<f32>,
    /// The matrix's columns x columns.
    pub values: &'a Buffer<T>,
    /// The slope of LeakyReLU, 0 or more.
    pub slope: f32,
    /// What drops weights, by an entry's position in the matrix and the head.
    pub dropout: Option<Dropout>,
}

/// Numbers that the pieces of rows need room for; `partial_size` in the kernels.
pub(super) fn partial_len(tasks: &RowTasks, columns: usize, heads: usize) -> Result<usize> {
    let size = heads.checked_mul(2).and_then(|h| h.checked_add(columns)?.checked_next_multiple_of(4));
    let size = size.and_then(|s| s.checked_mul(tasks.parameters.piece_count as usize));
    size.ok_or_else(|| Base::Overflow { what: "the number of sums of pieces of rows", dtype: DType::U64 }.into())
}

/// A matrix laid out for additive attention over values of one type and width. One run at a time: runs share the memory for pieces of rows,
/// so they are ordered by the layout's stream.
#[derive(Clone, Debug)]
pub struct GatLayout<T> {
    device: Device,
    tasks: RowTasks,
    columns: usize,
    heads: usize,
    form: Form,
    /// What runs instead of the form where nothing is dropped.
    staged: Option<Staged>,
    /// Logarithm of the groups of lanes that share a row.
    side_bits: u32,
    /// Blocks of a launch at most.
    pub(super) most_blocks: u32,
    partial: Buffer<f32>,
    element: PhantomData<fn() -> T>,
}

impl<T: Feature> GatLayout<T> {
    /// Lays out a matrix for values of `columns` columns in `heads` equal heads. None if its offsets are 64 bits wide. A sort of the
    /// rows on the device; waits.
    ///
    /// # Errors
    /// Heads that do not divide the columns; out of memory.
    pub fn build(device: &Device, csr: &DeviceCsr, columns: usize, heads: usize) -> Result<Option<Self>> {
        let form = Form::of::<T>(columns, head_width(columns, heads)?);
        Self::with_form(device, csr, columns, heads, form, (WARPS_ENOUGH, Products::Many))
    }
    /// As [`GatLayout::build`], of a matrix: one of few products is waited for nowhere.
    pub(in crate::tensor) fn of(matrix: &CudaMatrix, columns: usize, heads: usize) -> Result<Option<Self>> {
        let form = Form::of::<T>(columns, head_width(columns, heads)?);
        Self::with_form(&matrix.device, matrix.lists()?, columns, heads, form, (WARPS_ENOUGH, Products::of(matrix)))
    }
    pub(super) fn with_form(
        device: &Device,
        csr: &DeviceCsr,
        columns: usize,
        heads: usize,
        form: Form,
        enough: (u64, Products),
    ) -> Result<Option<Self>> {
        let Some(rows) = Self::in_rows(device, csr, columns, heads, form, enough)? else { return Ok(None) };
        let staged = Staged::build::<T>(device, csr, (columns, heads), Pass::Forward, enough)?;
        Ok(Some(Self { staged, ..rows }))
    }
    /// As [`GatLayout::with_form`], without blocks.
    pub(super) fn in_rows(
        device: &Device,
        csr: &DeviceCsr,
        columns: usize,
        heads: usize,
        form: Form,
        (enough, products): (u64, Products),
    ) -> Result<Option<Self>> {
        let warps = csr.rows as u64 * u64::from(form.lanes()) / 32;
        let brief = form.brief::<T>(columns, heads).filter(|_| warps >= enough);
        let cut = Cut::ByLength { piece: form.piece::<T>(csr.nnz, columns) };
        let Some((form, tasks)) = RowTasks::of_form(device, csr, brief, (form, cut), products)? else { return Ok(None) };
        let (module, kernel) = form.kernel::<T>(heads);
        let most_blocks = most_blocks::<GatParams>(device, module, &kernel, form.turns::<T>())?;
        let side_bits = tasks.side_bits(form.lanes(), enough);
        let partial = device.alloc_for(partial_len(&tasks, columns, heads)?, "sums of pieces of rows")?;
        let (device, staged) = (device.clone(), None);
        Ok(Some(Self { device, tasks, columns, heads, form, staged, side_bits, most_blocks, partial, element: PhantomData }))
    }
    /// `output(i) = sum over the entries (i, j) of p(i, j) values(j)`, head by head, `p` the softmax of `leaky(left(i) + right(j))` over the
    /// entries of row `i`; 0 for a row without entries. `lse`, if wanted, gets the logarithm of the sum of the exponentials of the scores,
    /// rows x heads: minus infinity for a row without entries. O(entries * columns), one launch; returns before it is done.
    ///
    /// # Errors
    /// Arrays of other lengths; a slope below 0; the driver's.
    pub fn forward(&self, input: GatInput<'_, T>, output: &Buffer<T>, lse: Option<&Buffer<f32>>) -> Result<()> {
        self.layer(input, &AttentionEnd::default(), output, lse)
    }
    /// As [`GatLayout::forward`], with the end of a layer.
    ///
    /// # Errors
    /// As [`GatLayout::forward`].
    pub fn layer(&self, input: GatInput<'_, T>, end: &AttentionEnd<'_>, output: &Buffer<T>, lse: Option<&Buffer<f32>>) -> Result<()> {
        let (name, tasks) = ("attention", &self.tasks);
        expect_len(name, "the left scores", tasks.rows, self.heads, input.left.len())?;
        expect_len(name, "the right scores", tasks.columns, self.heads, input.right.len())?;
        expect_len(name, "the values", tasks.columns, self.columns, input.values.len())?;
        expect_len(name, "the result", tasks.rows, self.columns, output.len())?;
        lse.map_or(Ok(()), |lse| expect_len(name, "the sums of the softmax", tasks.rows, self.heads, lse.len()))?;
        if input.slope.is_nan() || input.slope < 0.0 {
            let found = f64::from(input.slope);
            return Err(Base::Parameter { parameter: "the slope of LeakyReLU", found, allowed: "0 or more" }.into());
        }
        let (form, most_blocks) =
            if is_aligned(input.values) && is_aligned(output) { (self.form, self.most_blocks) } else { (Form::Plain, u32::MAX) };
        let side_bits = if form == Form::Plain { 0 } else { self.side_bits };
        let warps = tasks.warps(form.lanes() << side_bits)?;
        let parameters = GatParams {
            rows: tasks.parameters,
            left: input.left.ptr(),
            right: input.right.ptr(),
            values: address(input.values),
            output: address(output),
            lse: lse.map_or(DevicePtr::NULL, Buffer::ptr),
            partial: self.partial.ptr(),
            columns: self.columns as u32,
            heads: self.heads as u32,
            head_columns: (self.columns / self.heads) as u32,
            side_bits,
            slope: input.slope,
            unused: 0,
            end: end.parameters(self.columns)?,
            dropout: DropoutParams::of(&self.device, input.dropout.as_ref()),
        };
        if let Some(staged) = self.staged.as_ref().filter(|_| form == self.form && input.dropout.is_none()) {
            let parameters = StagedParams { blocks: staged.parameters(), gat: parameters };
            // SAFETY: the blocks were made for this matrix, and the arrays have the lengths that it and the widths ask for.
            return unsafe { staged.launch::<T, _>(&self.device, STAGED, &parameters) };
        }
        let (module, kernel) = form.kernel::<T>(self.heads);
        // SAFETY: the tasks were made for this matrix, and the arrays have the lengths that it and the widths ask for.
        unsafe { launch_warps_within(&self.device, module, &kernel, (warps, most_blocks), &parameters) }
    }
    pub(super) fn tasks(&self) -> &RowTasks {
        &self.tasks
    }
    /// Columns and heads.
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.columns, self.heads)
    }
    /// Which form runs, and how the rows are cut.
    #[must_use]
    pub fn explain(&self) -> String {
        let staged = self.staged.as_ref().map_or(String::new(), |staged| format!("{}; with dropout ", staged.explain::<T>(STAGED)));
        format!(
            "{staged}{}; {}, {} groups of lanes for each",
            self.form.kernel::<T>(self.heads).1,
            self.tasks.explain(),
            1 << self.side_bits
        )
    }
    /// Bytes beyond the matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tasks.bytes() + self.partial.bytes() + self.staged.as_ref().map_or(0, Staged::bytes)
    }
}
