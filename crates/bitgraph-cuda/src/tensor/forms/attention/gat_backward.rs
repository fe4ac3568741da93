//! The backward pass of additive attention: three launches, no stored message, no atomic sum of floats.
//!
//! Source of the formula for the sums over rows, by `dy . y` instead of a pass over the entries: Dao et al., FlashAttention, 2022.

use super::gat::{GatInput, GatLayout};
use super::layout::{Cut, Products, RowTasks, RowTasksParams, TASKS_ENOUGH};
use super::select::{Backward, Form};
use super::staged::StagedBackward;
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::matrix::CudaMatrix;
use crate::primitives::{invert, transpose_with_positions};
use crate::tensor::attention::DropoutParams;
use crate::tensor::forms::spmm::staged::RowBlocksParams;
use crate::tensor::forms::{Feature, address, expect_len, head_width, is_aligned, launch_warps, launch_warps_sharing, most_blocks};
use crate::{DeviceCsr, Result};
use bitgraph_backend::Error as Base;
use bitgraph_semiring::DType;

parameters! {
    struct PackParams = "tensor/attention_gat_backward.cu" "bg::GatPackParams" {
        output: DevicePtr<u8>,
        gradient: DevicePtr<u8>,
        left: DevicePtr<f32>,
        lse: DevicePtr<f32>,
        packed: DevicePtr<[f32; 4]>,
        rows: u32,
        columns: u32,
        heads: u32,
        head_columns: u32,
    }
    struct BackwardParams = "tensor/attention_gat_backward.cuh" "bg::GatBackwardParams" {
        rows: RowTasksParams,
        packed: DevicePtr<[f32; 4]>,
        right: DevicePtr<f32>,
        values: DevicePtr<u8>,
        gradient: DevicePtr<u8>,
        d_values: DevicePtr<u8>,
        d_right: DevicePtr<f32>,
        d_scores: DevicePtr<f32>,
        partial: DevicePtr<f32>,
        positions: DevicePtr<u32>,
        columns: u32,
        heads: u32,
        head_columns: u32,
        slope: f32,
        dropout: DropoutParams,
    }
    struct StagedParams = "tensor/attention_gat_backward_staged.cu" "bg::GatBackwardStagedParams" {
        blocks: RowBlocksParams,
        backward: BackwardParams,
    }
    struct LeftParams = "tensor/attention_gat_backward.cu" "bg::GatLeftParams" {
        rows: RowTasksParams,
        places: DevicePtr<u32>,
        d_scores: DevicePtr<f32>,
        d_left: DevicePtr<f32>,
        partial: DevicePtr<f32>,
        heads: u32,
        unused: u32,
    }
}

const STAGED: &str = "attention_gat_backward_staged";
/// What is allocated.
const SCORES: &str = "gradients of scores";
/// Pairs of a row and a head of a warp in the first launch.
const PACKED_BY_WARP: u64 = 16;
/// Lanes of a row in the last launch.
const LEFT_LANES: u32 = 8;

/// Where the gradients of additive attention go: each is overwritten.
#[derive(Clone, Copy, Debug)]
pub struct GatGradients<'a, T> {
    /// Of the left scores: rows x heads.
    pub left: &'a Buffer<f32>,
    /// Of the right scores: the matrix's columns x heads.
    pub right: &'a Buffer<f32>,
    /// Of the values: the matrix's columns x columns.
    pub values: &'a Buffer<T>,
}

/// What the forward pass left, and the gradient that comes in.
#[derive(Clone, Copy, Debug)]
pub struct AttentionGiven<'a, T> {
    /// The result of the forward pass, rows x columns; without it the forward pass runs again.
    pub output: Option<&'a Buffer<T>>,
    /// Logarithms of sums: rows x heads.
    pub lse: &'a Buffer<f32>,
    /// The gradient of the result: rows x columns.
    pub gradient: &'a Buffer<T>,
}

/// A matrix and its transpose laid out for the backward pass of additive attention. As for [`GatLayout`], one run at a time.
#[derive(Clone, Debug)]
pub struct GatBackwardLayout<T> {
    device: Device,
    forward: GatLayout<T>,
    transposed: RowTasks,
    form: Backward,
    /// What runs instead of the form where nothing is dropped.
    staged: Option<StagedBackward>,
    /// Blocks of the launch over the transposed matrix at most.
    pub(super) most_blocks: u32,
    /// For each entry its place in the transposed matrix, and the other way.
    places: Buffer<u32>,
    positions: Buffer<u32>,
    packed: Buffer<[f32; 4]>,
    /// None where blocks run: they need fewer.
    d_scores: Option<Buffer<f32>>,
    partial: Buffer<f32>,
    left_partial: Buffer<f32>,
}

impl<T: Feature> GatBackwardLayout<T> {
    /// Lays out a matrix for values of `columns` columns in `heads` equal heads; at most 256 columns, 128 of halves whose heads are multiples
    /// of 8 wide. None if its offsets are 64 bits wide. A transpose on the device; keeps 8 bytes an entry (4 more a head, or about 4 where rows
    /// share columns), and 16 a row and head; waits.
    ///
    /// # Errors
    /// Heads that do not divide the columns; more columns than a form holds; out of memory.
    pub fn build(device: &Device, csr: &DeviceCsr, columns: usize, heads: usize) -> Result<Option<Self>> {
        let head_columns = head_width(columns, heads)?;
        let form = Backward::of::<T>(columns, heads, head_columns)?;
        let forward = Form::of::<T>(columns, head_columns);
        Self::with_forms(device, csr, columns, heads, (forward, form), (TASKS_ENOUGH, Products::Many))
    }
    /// As [`GatBackwardLayout::build`], of a matrix whose transpose is there, with where each of its entries is in the matrix; one of few products
    /// is waited for nowhere.
    pub(in crate::tensor) fn build_with(
        matrix: &CudaMatrix,
        transposed: (&DeviceCsr, &Buffer<u32>),
        columns: usize,
        heads: usize,
    ) -> Result<Option<Self>> {
        let head_columns = head_width(columns, heads)?;
        let forms = (Form::of::<T>(columns, head_columns), Backward::of::<T>(columns, heads, head_columns)?);
        Self::over(&matrix.device, matrix.lists()?, transposed, (columns, heads), forms, (TASKS_ENOUGH, Products::of(matrix)))
    }
    pub(super) fn with_forms(
        device: &Device,
        csr: &DeviceCsr,
        columns: usize,
        heads: usize,
        forms: (Form, Backward),
        enough: (u64, Products),
    ) -> Result<Option<Self>> {
        if csr.offsets.as_u32().is_none() {
            return Ok(None);
        }
        let (transposed, positions) = transpose_with_positions(device, csr)?;
        Self::over(device, csr, (&transposed, &positions), (columns, heads), forms, enough)
    }
    fn over(
        device: &Device,
        csr: &DeviceCsr,
        (transposed, positions): (&DeviceCsr, &Buffer<u32>),
        (columns, heads): (usize, usize),
        (forward, form): (Form, Backward),
        (enough, products): (u64, Products),
    ) -> Result<Option<Self>> {
        let Some(forward) = GatLayout::<T>::in_rows(device, csr, columns, heads, forward, (enough, products))? else { return Ok(None) };
        let places = invert(device, positions)?;
        let cut = Cut::Windows { widest: form.window(heads), narrowest: 1, enough };
        let staged = StagedBackward::build::<T>(device, transposed, (columns, heads), (enough, products))?;
        let tasks = RowTasks::of_form(device, transposed, form.brief(heads), (form, cut), products.transposed())?;
        let Some((form, transposed)) = tasks else { return Ok(None) };
        let (module, kernel) = form.kernel::<T>(heads);
        let most_blocks = most_blocks::<BackwardParams>(device, module, &kernel, form.turns())?;
        let product = |what: &'static str, a: usize, b: usize| a.checked_mul(b).ok_or_else(|| Base::Overflow { what, dtype: DType::U64 });
        let size = columns.checked_add(heads).and_then(|s| s.checked_next_multiple_of(2));
        let size = size.ok_or(Base::Overflow { what: "the width of a piece", dtype: DType::U64 })?;
        let partial = product("the number of sums of pieces of rows", transposed.parameters.piece_count as usize, size)?;
        let left_partial = product("the number of sums of pieces of rows", forward.tasks().parameters.piece_count as usize, heads)?;
        let scores = product("the number of scores", csr.nnz, heads)?;
        Ok(Some(Self {
            device: device.clone(),
            packed: device.alloc_for(product("the number of scores", csr.rows, heads)?, "scalars of rows")?,
            d_scores: if staged.is_none() { Some(device.alloc_for(scores, SCORES)?) } else { None },
            partial: device.alloc_for(partial, "sums of pieces of rows")?,
            left_partial: device.alloc_for(left_partial, "sums of pieces of rows")?,
            forward,
            transposed,
            form,
            staged,
            most_blocks,
            places,
            positions: positions.clone(),
        }))
    }
    /// The gradients of the operands of [`GatLayout::forward`]. With `p` the softmax, `k` the factor of dropout and `z` the score before the
    /// activation: `ds = p (k dy(i) . values(j) - dy(i) . y(i))`, `dz = ds leaky'(z)`; `values(j)` gets the sum of `p k dy(i)`, `right(j)` that of `dz`, over the
    /// entries of column `j`; `left(i)` the sum of `dz` over those of row `i`. O(entries * columns), three launches; returns before it is
    /// done.
    ///
    /// On tensor cores an infinity or NaN in the gradient spreads to up to 8 neighbouring columns of the matrix, or to 16 that share rows.
    ///
    /// # Errors
    /// Arrays of other lengths; the driver's.
    pub fn backward(&self, input: GatInput<'_, T>, given: AttentionGiven<'_, T>, gradients: GatGradients<'_, T>) -> Result<()> {
        let (name, forward, transposed) = ("attention gradient", self.forward.tasks(), &self.transposed);
        let (columns, heads) = self.forward.shape();
        expect_len(name, "the left scores", forward.rows, heads, input.left.len())?;
        expect_len(name, "the right scores", forward.columns, heads, input.right.len())?;
        expect_len(name, "the values", forward.columns, columns, input.values.len())?;
        expect_len(name, "the sums of the softmax", forward.rows, heads, given.lse.len())?;
        expect_len(name, "the gradient of the result", forward.rows, columns, given.gradient.len())?;
        expect_len(name, "the gradient of the left scores", forward.rows, heads, gradients.left.len())?;
        expect_len(name, "the gradient of the right scores", forward.columns, heads, gradients.right.len())?;
        expect_len(name, "the gradient of the values", forward.columns, columns, gradients.values.len())?;
        given.output.map_or(Ok(()), |y| expect_len(name, "the result", forward.rows, columns, y.len()))?;
        let again = match given.output {
            Some(output) => output.clone(),
            None => {
                let output = self.device.alloc_for::<T>(forward.rows * columns, "the result of attention")?;
                self.forward.forward(input, &output, None)?;
                output
            }
        };
        let head_columns = (columns / heads) as u32;
        let aligned = [given.gradient, input.values, gradients.values, &again].into_iter().all(is_aligned);
        let wide = if aligned && (head_columns as usize).is_multiple_of(16 / size_of::<T>()) { "_wide" } else { "" };
        let pack = PackParams {
            output: address(&again),
            gradient: address(given.gradient),
            left: input.left.ptr(),
            lse: given.lse.ptr(),
            packed: self.packed.ptr(),
            rows: forward.rows as u32,
            columns: columns as u32,
            heads: heads as u32,
            head_columns,
        };
        let warps = (forward.rows as u64 * heads as u64).div_ceil(PACKED_BY_WARP);
        let warps = u32::try_from(warps).map_err(|_| crate::primitives::too_large(warps))?;
        let module = "tensor/attention_gat_backward";
        // SAFETY: the tasks were made for this matrix and its transpose, and the arrays have the lengths that they and the widths ask for.
        unsafe { launch_warps(&self.device, module, &format!("attention_gat_pack_{}{wide}", T::NAME), warps, &pack) }?;
        let staged = self.staged.as_ref().filter(|_| aligned && input.dropout.is_none());
        let d_scores = match (staged, &self.d_scores) {
            (Some(staged), _) => staged.sums.clone(),
            (None, Some(d_scores)) => d_scores.clone(),
            (None, None) => self.device.alloc_for(forward.entries * heads, SCORES)?,
        };
        let (form, most_blocks) = if aligned { (self.form, self.most_blocks) } else { (Backward::Plain, u32::MAX) };
        let (file, kernel) = form.kernel::<T>(heads);
        let warps = (transposed.warps(form.lanes())?, most_blocks);
        let middle = BackwardParams {
            rows: transposed.parameters,
            packed: self.packed.ptr(),
            right: input.right.ptr(),
            values: address(input.values),
            gradient: address(given.gradient),
            d_values: address(gradients.values),
            d_right: gradients.right.ptr(),
            d_scores: d_scores.ptr(),
            partial: self.partial.ptr(),
            positions: self.positions.ptr(),
            columns: columns as u32,
            heads: heads as u32,
            head_columns,
            slope: input.slope,
            dropout: DropoutParams::of(&self.device, input.dropout.as_ref()),
        };
        if let Some(staged) = staged {
            let parameters = StagedParams { blocks: staged.blocks.parameters(), backward: middle };
            // SAFETY: as above, of the blocks.
            unsafe { staged.blocks.launch::<T, _>(&self.device, STAGED, &parameters) }?;
            return staged.add_left(&self.device, gradients.left);
        }
        // SAFETY: as above.
        unsafe { launch_warps_sharing(&self.device, file, &kernel, warps, form.shared(heads), &middle) }?;
        let left = LeftParams {
            rows: forward.parameters,
            places: self.places.ptr(),
            d_scores: d_scores.ptr(),
            d_left: gradients.left.ptr(),
            partial: self.left_partial.ptr(),
            heads: heads as u32,
            unused: 0,
        };
        // SAFETY: as above.
        unsafe { launch_warps(&self.device, module, "attention_gat_left", forward.warps(LEFT_LANES)?, &left) }
    }
    /// Which form runs, and how the rows of the transpose are cut.
    #[must_use]
    pub fn explain(&self) -> String {
        let staged = self.staged.as_ref().map_or(String::new(), |staged| format!("{}; with dropout ", staged.blocks.explain::<T>(STAGED)));
        format!("{staged}{}; {}", self.form.kernel::<T>(self.forward.shape().1).1, self.transposed.explain())
    }
    /// Bytes beyond the matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let scores = self.d_scores.as_ref().map_or(0, Buffer::bytes) + self.staged.as_ref().map_or(0, StagedBackward::bytes);
        let arrays = self.places.bytes() + self.packed.bytes() + scores + self.partial.bytes() + self.left_partial.bytes();
        self.forward.bytes() + self.transposed.bytes() + self.transposed.pattern_bytes() + arrays
    }
}
