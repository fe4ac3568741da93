//! The backward pass of attention by the general kernels.
//!
//! The softmax and its gradient are formed for every entry and head, and kept: two or three numbers each, no message. From there gradients
//! are products of the matrix, or its transpose, with these as values, so that every sum has a fixed order.

use super::attention::{DropoutParams, ScoreParams};
use super::columns::{Term, sums};
use super::epilogue::EpilogueParams;
use super::instance::{self, Instance};
use super::params::{Target, View, most, name, neighbours, real_of};
use super::pattern::{Seen, entry_rows};
use super::sddmm::{group, shape};
use super::softmax::{gradient, scratch};
use super::spmm::{SpmmParams, over_rows, reduce_entries, weighted};
use super::work::RowWork;
use crate::device::{Buffer, Device, DevicePtr, Kernel, Parameters, parameters};
use crate::ops::source::element;
use crate::{Cuda, Result, primitives};
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::{AttentionGradients, AttentionOp, Reduce, Score};
use bitgraph_tensor::{Any, AnyMut, Reals};
use bytemuck::Zeroable;

const MODULE: &str = "tensor/attention_backward_general";

parameters! {
    struct EntriesParams = "tensor/attention_backward_general.cuh" "bg::AttentionEntriesParams" {
        score: ScoreParams,
        dropout: DropoutParams,
        values: View,
        dy: View,
        lse: View,
        rows: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        softmax: DevicePtr<u8>,
        weights: DevicePtr<u8>,
        gradients: DevicePtr<u8>,
        products: DevicePtr<u8>,
        entries: u64,
        heads: u32,
        width: u32,
        group: u32,
        dy_packed: u32,
    }
    struct CosineRowsParams = "tensor/attention_backward_general.cuh" "bg::CosineRowsParams" {
        x: View,
        products: View,
        sums: View,
        dx: Target,
        beta: DevicePtr<u8>,
        rows: u64,
        heads: u32,
        width: u32,
        group: u32,
        reserved: u32,
    }
    struct LeakyRowsParams = "tensor/attention_backward_general.cuh" "bg::LeakyRowsParams" {
        sums: SpmmParams,
        own: View,
        vector: DevicePtr<u8>,
        slope: f64,
    }
}

/// One of the kernels that a type of values has, which read `n` elements at a time.
fn kernel<P: Parameters>(device: &Device, form: &str, x: DType, n: u32) -> Result<Kernel<P>> {
    let real = real_of(x);
    let kernel = |form: &str, n: u32| format!("{form}_{}_{}_x{n}", name(x), name(real));
    let instance = |n: u32| {
        let names = ["entries_plain", "entries_summed", "cosine_gradient", "leaky_rows"].map(|form| kernel(form, n));
        Instance::new("BG_ATTENTION_ENTRIES", &format!("{}, {}, {n}", element(x), element(real)), &names)
    };
    instance::kernel(device, MODULE, &kernel(form, n), || [most(x), 1].map(instance).into())
}

/// What is kept of every entry and head.
struct Entries<'a> {
    cuda: &'a Cuda,
    op: &'a AttentionOp<Cuda>,
    real: DType,
    /// The softmax after dropout.
    weights: View,
    /// The gradients of the scores, or what has been made of them.
    gradients: View,
    params: EntriesParams,
    /// What the views are of.
    _arrays: [Buffer<u8>; 3],
}

impl<'a> Entries<'a> {
    fn new(cuda: &'a Cuda, op: &'a AttentionOp<Cuda>, lse: &Reals<Cuda>, dy: &Any<Cuda>) -> Result<Self> {
        let (device, matrix, heads) = (cuda.device(), op.matrix.raw(), op.heads);
        let (x, real, entries) = (op.values.dtype(), real_of(op.values.dtype()), op.matrix.nvals());
        let new = || scratch(cuda, entries, heads, real);
        let (softmax, gradients) = (new()?, new()?);
        let weights = if op.dropout.is_some() { new()? } else { softmax.clone() };
        let view = |array: &Buffer<u8>| Target::scratch(array.ptr(), heads, real, 1);
        let (score, values, dy_view) = (ScoreParams::of(op)?, View::any(&op.values), View::any(dy));
        let width = op.values.shape().1 / heads;
        let n = score.neighbours(&values, x, width);
        let counted = |n: usize| u32::try_from(n).map_err(|_| primitives::too_large(n as u64));
        let width = counted(width)?;
        let params = EntriesParams {
            score,
            dropout: DropoutParams::of(device, op.dropout.as_ref()),
            values,
            dy: dy_view,
            lse: View::reals(lse),
            rows: entry_rows(matrix)?.ptr(),
            indices: matrix.lists()?.indices.ptr(),
            softmax: softmax.ptr(),
            weights: weights.ptr(),
            gradients: gradients.ptr(),
            products: DevicePtr::NULL,
            entries: entries as u64,
            heads: counted(heads)?,
            width,
            group: group(width.max(if score.is_summed() { score.width } else { 0 }), n),
            dy_packed: u32::from(dy.dtype() == x && (n == 1 || neighbours(&dy_view, x, width as usize) == n)),
        };
        let (p, dp) = (view(&softmax), view(&gradients));
        let this =
            Self { cuda, op, real, weights: view(&weights).view(), gradients: dp.view(), params, _arrays: [softmax, gradients, weights] };
        let form = if score.is_summed() { "entries_summed" } else { "entries_plain" };
        this.run(&kernel(device, form, x, n)?, &params)?;
        gradient(cuda, matrix, [p.view(), dp.view()], (heads, real), dp)?;
        Ok(this)
    }
    /// Launches a kernel whose groups of lanes have an entry and head each.
    fn run(&self, kernel: &Kernel<EntriesParams>, params: &EntriesParams) -> Result<()> {
        let values = params.entries.checked_mul(u64::from(params.heads)).ok_or_else(|| primitives::too_large(params.entries))?;
        if values == 0 {
            return Ok(());
        }
        let device = self.cuda.device();
        // SAFETY: operands fit each other (`bitgraph_tensor::ops` checks that); the arrays have a number for each entry and head.
        unsafe { device.launch(kernel, shape(device, values, params.group)?, params) }
    }
    fn seen(&self, transposed: bool) -> Result<Seen<'_>> {
        Seen::of(self.op.matrix.raw(), transposed)
    }
    fn target(&self, out: &AnyMut<'_, Cuda>) -> Target {
        Target::of(out, super::params::LANE_COLUMNS)
    }
    /// The sums of features over rows, or columns, weighted by the gradients.
    fn weighted(&self, transposed: bool, x: &Any<Cuda>, factor: f64, y: Target) -> Result<()> {
        let weights = (self.gradients, self.op.heads, self.real);
        weighted(self.cuda, &self.seen(transposed)?, x, weights, (EpilogueParams::scale(factor), y))
    }
    /// The sums of values of entries over rows, or columns.
    fn reduced(&self, transposed: bool, values: &View, y: Target) -> Result<()> {
        reduce_entries(self.cuda, &self.seen(transposed)?, values, (self.op.heads, self.real), Reduce::Sum, y)
    }

    fn additive(&self, first: Option<AnyMut<'_, Cuda>>, second: Option<AnyMut<'_, Cuda>>) -> Result<()> {
        let params = EntriesParams { group: 1, ..self.params };
        self.run(&self.cuda.device().kernel(MODULE, &format!("additive_gradient_{}", name(self.real)))?, &params)?;
        for (out, transposed) in [(first, false), (second, true)] {
            if let Some(out) = out {
                self.reduced(transposed, &self.gradients, self.target(&out))?;
            }
        }
        Ok(())
    }
    /// GATv2's sums over rows, or columns: of gradients, or without `vector` of the values under it.
    fn leaky(&self, transposed: bool, [own, other]: [&Any<Cuda>; 2], vector: DevicePtr<u8>, slope: f64, y: Target) -> Result<()> {
        let (seen, columns, heads, x) = (self.seen(transposed)?, own.shape().1, self.op.heads, own.dtype());
        if seen.csr.rows == 0 || columns == 0 {
            return Ok(());
        }
        let (own, other, width) = (View::any(own), View::any(other), columns / heads);
        let n = neighbours(&own, x, width).min(neighbours(&other, x, width));
        let sums = SpmmParams {
            work: RowWork::rows(&seen, columns, 1, n)?,
            x: other,
            edges: self.gradients,
            head_width: if heads > 1 { width as u32 } else { 0 },
            y,
            ..SpmmParams::zeroed()
        };
        let device = self.cuda.device();
        let kernel = kernel::<LeakyRowsParams>(device, "leaky_rows", x, n)?;
        over_rows(device, &seen, (false, self.real), sums, |sums| {
            let params = LeakyRowsParams { sums: *sums, own, vector, slope };
            // SAFETY: both sides have rows of the matrix's shape; where there are pieces, there is a cell for each and each column.
            unsafe { device.launch(&kernel, sums.work.shape(device)?, &params) }
        })
    }
    /// The gradient of a side of cosines.
    fn cosine_side(&self, transposed: bool, [own, other]: [&Any<Cuda>; 2], products: &View, dx: &AnyMut<'_, Cuda>) -> Result<()> {
        let ((rows, columns), heads, real, device) = (own.shape(), self.op.heads, self.real, self.cuda.device());
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        let (all, reduced) = (scratch(self.cuda, rows, columns, real)?, scratch(self.cuda, rows, heads, real)?);
        let (all, reduced) = (Target::scratch(all.ptr(), columns, real, 1), Target::scratch(reduced.ptr(), heads, real, 1));
        self.weighted(transposed, other, 1.0, all)?;
        self.reduced(transposed, products, reduced)?;
        let width = self.params.score.width;
        let params = CosineRowsParams {
            x: View::any(own),
            products: reduced.view(),
            sums: all.view(),
            dx: Target::of(dx, 1),
            beta: self.params.score.vector,
            rows: rows as u64,
            heads: heads as u32,
            width,
            group: group(width, 1),
            reserved: 0,
        };
        let kernel = device.kernel(MODULE, &format!("cosine_rows_{}", name(real)))?;
        // SAFETY: all have the rows, columns and heads that are named.
        unsafe { device.launch(&kernel, shape(device, params.rows * heads as u64, params.group)?, &params) }
    }
}

/// All gradients that are wanted.
pub(super) fn general(
    cuda: &Cuda,
    op: &AttentionOp<Cuda>,
    lse: &Reals<Cuda>,
    dy: &Any<Cuda>,
    gradients: AttentionGradients<'_, Cuda>,
) -> Result<()> {
    let entries = Entries::new(cuda, op, lse, dy)?;
    let AttentionGradients { values, first, second, parameter } = gradients;
    if let Some(out) = values {
        let weights = (entries.weights, op.heads, entries.real);
        weighted(cuda, &entries.seen(true)?, dy, weights, (EpilogueParams::none(), entries.target(&out)))?;
    }
    match &op.score {
        Score::Edge(_) => first.map_or(Ok(()), |out| {
            let shape = (op.matrix.nvals(), op.heads);
            super::map::steps(cuda, &entries.gradients, entries.real, shape, EpilogueParams::none(), Target::of(&out, 1))
        }),
        Score::Additive { .. } => entries.additive(first, second),
        Score::Dot { query, key, factor } => {
            first.map_or(Ok(()), |out| entries.weighted(false, key, *factor, entries.target(&out)))?;
            second.map_or(Ok(()), |out| entries.weighted(true, query, *factor, entries.target(&out)))
        }
        Score::AdditiveV2 { left, right, slope, .. } => {
            let vector = entries.params.score.vector;
            first.map_or(Ok(()), |out| entries.leaky(false, [left, right], vector, *slope, entries.target(&out)))?;
            second.map_or(Ok(()), |out| entries.leaky(true, [right, left], vector, *slope, entries.target(&out)))?;
            let Some(out) = parameter else { return Ok(()) };
            let ((rows, columns), real) = (left.shape(), entries.real);
            let by_rows = scratch(cuda, rows, columns, real)?;
            let by_rows = Target::scratch(by_rows.ptr(), columns, real, 1);
            entries.leaky(false, [left, right], DevicePtr::NULL, *slope, by_rows)?;
            sums(cuda, &by_rows.view(), (rows, columns), Term::Value, (real, 1.0), Target::of(&out, 1))
        }
        Score::Cosine { query, key, .. } => {
            let (x, real, count) = (op.values.dtype(), entries.real, op.matrix.nvals());
            let products = scratch(cuda, count, op.heads, real)?;
            let params = EntriesParams { products: products.ptr(), ..entries.params };
            let n = params.score.neighbours(&params.values, x, params.width as usize);
            entries.run(&kernel(cuda.device(), "cosine_gradient", x, n)?, &params)?;
            let products = Target::scratch(products.ptr(), op.heads, real, 1);
            first.map_or(Ok(()), |out| entries.cosine_side(false, [query, key], &products.view(), &out))?;
            second.map_or(Ok(()), |out| entries.cosine_side(true, [key, query], &products.view(), &out))?;
            let Some(out) = parameter else { return Ok(()) };
            // One number for all heads.
            let column = Target { stride: 1, ..products };
            sums(cuda, &column.view(), (count * op.heads, 1), Term::Value, (real, 1.0), Target::of(&out, 1))
        }
    }
}
