//! Attention whose scores are formed of two rows of features: dot products (graph transformer), cosines (AGNN), sums (GATv2). Forward.
//!
//! Sources: Shi et al., Masked Label Prediction, 2021 (dot products); Thekumparampil et al., Attention-based Graph Neural Network, 2018; Brody,
//! Alon, Yahav, How Attentive are Graph Attention Networks?, 2022.

use super::gat::{AttentionEnd, EndParams, partial_len};
use super::layout::{Cut, PAIRS_ENOUGH, Products, RowTasks, RowTasksParams, shortened};
use super::select::{Order, Pair, Turns};
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::matrix::CudaMatrix;
use crate::primitives::{degrees, reduce, threads};
use crate::tensor::attention::DropoutParams;
use crate::tensor::forms::{Feature, THREADS, address, expect_len, head_width, is_aligned, launch_warps};
use crate::{DeviceCsr, Result, skew};
use bitgraph_backend::Error as Base;
use bitgraph_tensor::Dropout;
use std::marker::PhantomData;

parameters! {
    struct PairParams = "tensor/attention_pair.cuh" "bg::PairParams" {
        rows: RowTasksParams,
        query: DevicePtr<u8>,
        key: DevicePtr<u8>,
        values: DevicePtr<u8>,
        parameter: DevicePtr<f32>,
        output: DevicePtr<u8>,
        lse: DevicePtr<f32>,
        partial: DevicePtr<f32>,
        columns: u32,
        heads: u32,
        head_columns: u32,
        factor: f32,
        slope: f32,
        single: u32,
        turns: u32,
        unused: u32,
        end: EndParams,
        dropout: DropoutParams,
    }
}

/// The score of an entry (i, j) and a head, over the head's columns.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PairScore<'a> {
    /// `factor * query(i) . key(j)`.
    Dot {
        /// The factor, `1 / sqrt(width of a head)`.
        factor: f32,
    },
    /// `beta * cos(query(i), key(j))`, where a norm is taken as 1e-12 or more.
    Cosine {
        /// One element.
        beta: &'a Buffer<f32>,
    },
    /// `vector . leaky(query(i) + key(j))`.
    Sum {
        /// An element for each column.
        vector: &'a Buffer<f32>,
        /// The slope of LeakyReLU, 0 or more.
        slope: f32,
    },
}

const WARP: u32 = 32;

/// The operands of attention whose scores are formed of two rows.
#[derive(Clone, Copy, Debug)]
pub struct PairInput<'a, T> {
    /// How scores are formed.
    pub score: PairScore<'a>,
    /// Rows x columns.
    pub query: &'a Buffer<T>,
    /// The matrix's columns x columns.
    pub key: &'a Buffer<T>,
    /// The matrix's columns x columns; the same array as the keys is read once.
    pub values: &'a Buffer<T>,
    /// What drops weights, by an entry's position in the matrix and the head.
    pub dropout: Option<Dropout>,
}

/// A score as kernels take it.
pub(super) struct Scored {
    /// In kernel names.
    pub kind: &'static str,
    pub parameter: DevicePtr<f32>,
    pub factor: f32,
    pub slope: f32,
}

/// A matrix laid out for attention over features of one type and width. As for [`GatLayout`](super::GatLayout), one run at a time.
#[derive(Clone, Debug)]
pub struct PairLayout<T> {
    device: Device,
    tasks: RowTasks,
    columns: usize,
    heads: usize,
    form: Pair,
    order: Order,
    partial: Buffer<f32>,
    element: PhantomData<fn() -> T>,
}

impl<T: Feature> PairLayout<T> {
    /// Lays out a matrix for queries, keys and values of `columns` columns each, 256 at most, in `heads` equal heads. None if its offsets are
    /// 64 bits wide. A sort of the rows on the device; waits.
    ///
    /// # Errors
    /// Heads that do not divide the columns; more columns than a warp holds; out of memory.
    pub fn build(device: &Device, csr: &DeviceCsr, columns: usize, heads: usize) -> Result<Option<Self>> {
        Self::with_enough(device, csr, columns, heads, (PAIRS_ENOUGH, Products::Many))
    }
    /// As [`PairLayout::build`], of a matrix: one of few products is waited for nowhere.
    pub(in crate::tensor) fn of(matrix: &CudaMatrix, columns: usize, heads: usize) -> Result<Option<Self>> {
        Self::with_enough(&matrix.device, matrix.lists()?, columns, heads, (PAIRS_ENOUGH, Products::of(matrix)))
    }
    pub(super) fn with_enough(
        device: &Device,
        csr: &DeviceCsr,
        columns: usize,
        heads: usize,
        (enough, products): (u64, Products),
    ) -> Result<Option<Self>> {
        let form = Pair::of::<T>(columns, head_width(columns, heads)?)?;
        match form.groups::<T>(csr.rows, csr.nnz, (columns, heads), enough) {
            Some(lanes) if products == Products::Many => Self::by_length(device, csr, (columns, heads), (form, lanes), enough),
            _ => Self::in_windows(device, csr, columns, heads, (enough, products)),
        }
    }
    /// As [`PairLayout::with_enough`], rows in their order.
    pub(super) fn in_windows(
        device: &Device,
        csr: &DeviceCsr,
        columns: usize,
        heads: usize,
        (enough, products): (u64, Products),
    ) -> Result<Option<Self>> {
        let form = Pair::of::<T>(columns, head_width(columns, heads)?)?;
        let longest = match products {
            Products::Many => reduce(device, &degrees(device, csr)?)?.max,
            Products::Few(longest) => longest.unwrap_or(u32::MAX),
        };
        let narrowest = form.side_by_side::<T>(csr.rows, csr.nnz, longest, enough);
        let cut = Cut::Windows { widest: form.window(), narrowest, enough };
        let Some(tasks) = RowTasks::build(device, csr, cut, products)? else { return Ok(None) };
        let order = if narrowest > 1 { Order::SideBySide } else { Order::Windows };
        Self::over(device, tasks, (columns, heads), form, order).map(Some)
    }
    /// Rows in the order of their lengths, so many lanes for each.
    fn by_length(device: &Device, csr: &DeviceCsr, shape: (usize, usize), (form, lanes): (Pair, u32), enough: u64) -> Result<Option<Self>> {
        let longest = reduce(device, &degrees(device, csr)?)?.max;
        let piece = shortened(Pair::piece(lanes), csr.nnz, enough * u64::from(WARP / lanes));
        let Some(tasks) = RowTasks::build(device, csr, Cut::ByLength { piece }, Products::Many)? else { return Ok(None) };
        let skewed = skew::ratio(longest, csr.rows, csr.nnz) >= skew::SKEWED;
        let (threads, sms) = (threads(device, THREADS), device.properties().sms);
        let turns = Turns::of(tasks.parameters.task_count, tasks.parameters.piece_count, (lanes, skewed), (threads, sms));
        Self::over(device, tasks, shape, form, Order::ByLength(turns)).map(Some)
    }
    fn over(device: &Device, tasks: RowTasks, (columns, heads): (usize, usize), form: Pair, order: Order) -> Result<Self> {
        let partial = device.alloc_for(partial_len(&tasks, columns, heads)?, "sums of pieces of rows")?;
        Ok(Self { device: device.clone(), tasks, columns, heads, form, order, partial, element: PhantomData })
    }
    /// `output(i) = sum over the entries (i, j) of p(i, j) values(j)`, head by head, `p` the softmax of the scores over the entries of row `i`;
    /// 0 for a row without entries. `lse`, if wanted, gets the logarithm of the sum of the exponentials of the scores, rows x heads.
    /// O(entries * columns), one launch; returns before it is done.
    ///
    /// # Errors
    /// Arrays of other lengths; a slope below 0; the driver's.
    pub fn forward(&self, input: PairInput<'_, T>, output: &Buffer<T>, lse: Option<&Buffer<f32>>) -> Result<()> {
        self.layer(input, &AttentionEnd::default(), output, lse)
    }
    /// As [`PairLayout::forward`], with the end of a layer.
    ///
    /// # Errors
    /// As [`PairLayout::forward`].
    pub fn layer(&self, input: PairInput<'_, T>, end: &AttentionEnd<'_>, output: &Buffer<T>, lse: Option<&Buffer<f32>>) -> Result<()> {
        let (name, tasks) = ("attention", &self.tasks);
        let scored = self.checked(name, &input)?;
        expect_len(name, "the result", tasks.rows, self.columns, output.len())?;
        lse.map_or(Ok(()), |lse| expect_len(name, "the sums of the softmax", tasks.rows, self.heads, lse.len()))?;
        let aligned = [input.query, input.key, input.values, output].into_iter().all(is_aligned);
        let form = if aligned { self.form } else { Pair::Plain };
        let (module, kernel) = form.kernel::<T>(scored.kind, self.order, self.heads);
        let (count, threads) = (tasks.parameters.task_count, threads(&self.device, THREADS));
        let (warps, single, turns) = match (form, self.order) {
            (Pair::Rows(_), Order::ByLength(turns)) => (turns.blocks(count, threads) * (threads / WARP), turns.single, turns.turns),
            _ => (count, 0, 1),
        };
        let parameters = PairParams {
            rows: tasks.parameters,
            query: address(input.query),
            key: address(input.key),
            values: address(input.values),
            parameter: scored.parameter,
            output: address(output),
            lse: lse.map_or(DevicePtr::NULL, Buffer::ptr),
            partial: self.partial.ptr(),
            columns: self.columns as u32,
            heads: self.heads as u32,
            head_columns: (self.columns / self.heads) as u32,
            factor: scored.factor,
            slope: scored.slope,
            single,
            turns,
            unused: 0,
            end: end.parameters(self.columns)?,
            dropout: DropoutParams::of(&self.device, input.dropout.as_ref()),
        };
        // SAFETY: the tasks were made for this matrix, and the arrays have the lengths that it and the widths ask for.
        unsafe { launch_warps(&self.device, module, &kernel, warps, &parameters) }
    }
    /// Compares the operands with the matrix; the score.
    pub(super) fn checked(&self, name: &'static str, input: &PairInput<'_, T>) -> Result<Scored> {
        let tasks = &self.tasks;
        expect_len(name, "the queries", tasks.rows, self.columns, input.query.len())?;
        expect_len(name, "the keys", tasks.columns, self.columns, input.key.len())?;
        expect_len(name, "the values", tasks.columns, self.columns, input.values.len())?;
        let (kind, parameter, factor, slope) = match input.score {
            PairScore::Dot { factor } => ("dot", None, factor, 0.0),
            PairScore::Cosine { beta } => {
                expect_len(name, "beta", 1, 1, beta.len())?;
                ("cosine", Some(beta), 1.0, 0.0)
            }
            PairScore::Sum { vector, slope } => {
                expect_len(name, "the attention vector", 1, self.columns, vector.len())?;
                if slope.is_nan() || slope < 0.0 {
                    let found = f64::from(slope);
                    return Err(Base::Parameter { parameter: "the slope of LeakyReLU", found, allowed: "0 or more" }.into());
                }
                ("sum", Some(vector), 1.0, slope)
            }
        };
        Ok(Scored { kind, parameter: parameter.map_or(DevicePtr::NULL, Buffer::ptr), factor, slope })
    }
    pub(super) fn tasks(&self) -> &RowTasks {
        &self.tasks
    }
    pub(super) fn form(&self) -> Pair {
        self.form
    }
    /// Columns and heads.
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.columns, self.heads)
    }
    /// Which form runs, and how the rows are cut.
    #[must_use]
    pub fn explain(&self) -> String {
        format!("{}; {}", self.form.kernel::<T>("dot", self.order, self.heads).1, self.tasks.explain())
    }
    /// Bytes beyond the matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tasks.bytes() + self.partial.bytes()
    }
}
