//! Attention over the entries of a matrix, forward, by the general kernels: one pass, no message and no score is stored.

use super::epilogue::{EpilogueParams, finished};
use super::instance::{self, Instance};
use super::params::{Target, View, most, name, neighbours, real_of};
use super::pattern::Seen;
use super::recorder::MomentParams;
use super::work::{LongRowsParams, RowWork, cells, merging};
use crate::device::{Device, DevicePtr, Kernel, parameters};
use crate::ops::source::element;
use crate::{Cuda, Result, primitives};
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::{AttentionOp, Score};
use bitgraph_tensor::{AnyMut, Dropout};
use bytemuck::Zeroable;

const MODULE: &str = "tensor/attention_general";

parameters! {
    pub(super) struct ScoreParams = "tensor/attention_score.cuh" "bg::AttentionScore" {
        pub first: View,
        pub second: View,
        pub vector: DevicePtr<u8>,
        pub number: f64,
        pub kind: u32,
        pub width: u32,
    }
    pub(super) struct DropoutParams = "tensor/attention_dropout.cuh" "bg::AttentionDropout" {
        seed: u64,
        factor: f64,
        threshold: u32,
        draw: u32,
        active: u32,
        reserved: u32,
        moment: DevicePtr<MomentParams>,
    }
    struct AttentionParams = "tensor/attention_general.cuh" "bg::AttentionParams" {
        work: RowWork,
        pieces: LongRowsParams,
        score: ScoreParams,
        dropout: DropoutParams,
        values: View,
        y: Target,
        lse: Target,
        epilogue: EpilogueParams,
    }
}

impl ScoreParams {
    pub fn of(op: &AttentionOp<Cuda>) -> Result<Self> {
        let (first, second, vector, number, kind) = match &op.score {
            Score::Additive { left, right, slope } => (left.any(), Some(right.any()), None, *slope, 0),
            Score::Edge(scores) => (scores.clone(), None, None, 0.0, 1),
            Score::AdditiveV2 { left, right, vector, slope } => (left.clone(), Some(right.clone()), Some(vector), *slope, 2),
            Score::Dot { query, key, factor } => (query.clone(), Some(key.clone()), None, *factor, 3),
            Score::Cosine { query, key, beta } => (query.clone(), Some(key.clone()), Some(beta), 0.0, 4),
        };
        let columns = first.shape().1;
        Ok(Self {
            first: View::any(&first),
            second: second.as_ref().map_or(View::NONE, View::any),
            vector: View::optional(vector).data,
            number,
            kind,
            width: u32::try_from(columns / op.heads).map_err(|_| primitives::too_large(columns as u64))?,
        })
    }
    /// Whether a score is a sum over columns, of features of the values' type.
    pub fn is_summed(&self) -> bool {
        self.kind >= 2
    }
    /// How many columns of the values and of what scores are sums over can be read at once.
    pub fn neighbours(&self, values: &View, dtype: DType, width: usize) -> u32 {
        let of_values = neighbours(values, dtype, width);
        if !self.is_summed() {
            return of_values;
        }
        [&self.first, &self.second].into_iter().fold(of_values, |n, x| n.min(neighbours(x, dtype, self.width as usize)))
    }
}
impl DropoutParams {
    /// Of a launch on this device.
    pub fn of(device: &Device, dropout: Option<&Dropout>) -> Self {
        let Some(d) = dropout else { return Self::zeroed() };
        let moment = device.moment();
        Self { seed: d.seed, factor: d.factor(), threshold: d.threshold(), draw: d.draw, active: 1, reserved: 0, moment }
    }
}

fn kernel(device: &Device, x: DType, n: u32, summed: bool) -> Result<Kernel<AttentionParams>> {
    let real = real_of(x);
    let kernel = |form: &str, n: u32| format!("attention_{form}_{}_{}_x{n}", name(x), name(real));
    let instances = |n: u32| {
        let types = format!("{}, {}, {n}", element(x), element(real));
        let of = |with: &str, form: &str| Instance::new(with, &types, &[kernel(form, n)]);
        [of("BG_ATTENTION_PLAIN", "plain"), of("BG_ATTENTION_SUMMED", "summed")]
    };
    let wanted = kernel(if summed { "summed" } else { "plain" }, n);
    instance::kernel(device, MODULE, &wanted, || [most(x), 1].into_iter().flat_map(instances).collect())
}

/// Attention with any scores.
pub(super) fn general(cuda: &Cuda, op: &AttentionOp<Cuda>, y: &AnyMut<'_, Cuda>, lse: Option<AnyMut<'_, Cuda>>) -> Result<()> {
    let (device, rows, columns) = (cuda.device(), op.matrix.shape().0, op.values.shape().1);
    if rows == 0 || (columns == 0 && lse.is_none()) {
        return Ok(());
    }
    let (seen, values, score) = (Seen::of(op.matrix.raw(), false)?, View::any(&op.values), ScoreParams::of(op)?);
    let (x, real) = (op.values.dtype(), real_of(op.values.dtype()));
    let n = score.neighbours(&values, x, columns / op.heads);
    let mut work = RowWork::rows(&seen, columns, op.heads, n)?;
    // Without columns nothing is kept of a piece.
    let cut = columns > 0 && !seen.long.is_empty();
    if !cut {
        work.limit = u32::MAX;
    }
    let lse = lse.as_ref().map_or(Target::none(), |lse| Target::of(lse, 1));
    let kernel = kernel(device, x, n, score.is_summed())?;
    finished(cuda, &op.epilogue, (real, n), y, |epilogue, y| {
        let dropout = DropoutParams::of(device, op.dropout.as_ref());
        let mut params = AttentionParams { work, pieces: LongRowsParams::none(), score, dropout, values, y, lse, epilogue };
        // SAFETY: operands fit each other (`bitgraph_tensor::ops` checks that), and none shares an element with an output.
        unsafe { device.launch(&kernel, work.shape(device)?, &params) }?;
        if !cut {
            return Ok(());
        }
        // A maximum, a sum, and a weighted sum.
        let bytes = 3 * real.bytes();
        let cells = cells(device, &seen, columns, bytes)?;
        params.pieces = seen.long.params(&cells, columns)?;
        params.work = work.pieces(&seen);
        // SAFETY: as above; there is a cell for each piece and column.
        unsafe { device.launch(&kernel, params.work.shape(device)?, &params) }?;
        let merge = device.kernel(MODULE, &format!("attention_merge_{}", name(real)))?;
        // SAFETY: as above.
        unsafe { device.launch(&merge, merging(device, &params.pieces, bytes as u32)?, &params) }
    })
}
