//! Features of `f32` at the error of tf32: copies of them as halves, which the forms for halves gather, with sums and a result of `f32`.
//!
//! Invariant: of every term the features are off by 2^-11 of an element or 2^-17 of the largest of their row, whatever the range of the matrix;
//! infinities and NaN are those of the features.

use super::select::{MOST_SHARE, Stats};
use super::{SpmmForm, SpmmInput, SpmmLayout, SpmmPlan, Terms};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::primitives::{THREADS, threads};
use crate::tensor::forms::is_aligned;
use crate::{DeviceCsr, Result};
use half::f16;

parameters! {
    struct RoundParams = "tensor/spmm_rounded.cu" "bg::SpmmRoundParams" {
        features: DevicePtr<f32>,
        scale_columns: DevicePtr<f32>,
        copies: DevicePtr<u16>,
        unscale: DevicePtr<f32>,
        rows: u32,
        columns: u32,
        lanes: u32,
        unused: u32,
    }
}

/// Lanes of a row of features in the product, at least.
const FEWEST_LANES: u32 = 8;
/// Blocks of the copying pass for each multiprocessor: what it holds at once, so that the sample is taken few times.
const BLOCKS: u32 = 6;
/// Columns that a lane of the copying pass takes at once.
const LANE_COLUMNS: usize = 8;

/// A matrix laid out for products with rounded features of one width.
#[derive(Clone, Debug)]
pub(in crate::tensor) struct RoundedLayout(SpmmLayout<f16>);

impl RoundedLayout {
    /// Lays out a matrix, by a plan of the caller's or the form's own. None where the width is not of whole vectors of halves, or where the
    /// features themselves are faster and there is no plan of the caller's.
    ///
    /// # Errors
    /// As [`SpmmLayout::build`].
    pub fn build(device: &Device, csr: &DeviceCsr, width: usize, forced: Option<SpmmPlan>) -> Result<Option<Self>> {
        if width == 0 || !width.is_multiple_of(LANE_COLUMNS) || csr.rows == 0 || csr.columns == 0 {
            return Ok(None);
        }
        let mut plan = match forced {
            Some(plan) => plan,
            None => {
                let stats = Stats::of(device, csr)?;
                let Some(plan) = SpmmPlan::rounded(device.properties().sms, &stats, width) else { return Ok(None) };
                // Where the features themselves take blocks, those are faster.
                if matches!(plan.form, SpmmForm::Staged { .. }) && stats.share_in_order(csr)? >= MOST_SHARE {
                    return Ok(None);
                }
                plan
            }
        };
        plan.lanes = plan.lanes.max(FEWEST_LANES);
        if plan.form == SpmmForm::Records {
            plan.form = SpmmForm::Rows;
        }
        Ok(SpmmLayout::with_plan(device, csr, width, false, plan)?.map(Self))
    }
    /// As [`SpmmLayout::run`], without values of entries. Two launches. Whether it ran: features and output have to be aligned to 16 bytes.
    ///
    /// # Errors
    /// As [`SpmmLayout::run`]; out of memory for the copies.
    pub fn run(&self, input: &SpmmInput<'_, f32>, output: &Buffer<f32>) -> Result<bool> {
        let (layout, device) = (&self.0, &self.0.device);
        let added = input.addend.is_none_or(|z| z.is_aligned());
        if input.values.is_some() || !added || !is_aligned(input.features) || !is_aligned(output) {
            return Ok(false);
        }
        let mut operands = layout.operands(input, output)?;
        let copies = device.alloc_for::<u16>(layout.columns * layout.width, "features as halves")?;
        let unscale = device.alloc::<f32>(1)?;
        let lanes = (layout.width / LANE_COLUMNS).next_power_of_two().min(32) as u32;
        let parameters = RoundParams {
            features: input.features.ptr(),
            scale_columns: operands.scale_columns,
            copies: copies.ptr(),
            unscale: unscale.ptr(),
            rows: layout.columns as u32,
            columns: layout.width as u32,
            lanes,
            unused: 0,
        };
        let block = threads(device, THREADS);
        let blocks = (layout.columns as u64 * u64::from(lanes)).div_ceil(u64::from(block));
        let grid = blocks.min(u64::from(device.properties().sms * BLOCKS)) as u32;
        let shape = Shape { grid, block, shared: block / 32 * 4, mode: Mode::Plain };
        // SAFETY: the copies are as many as the features, whose number has been compared with the matrix and the width.
        unsafe { device.launch(&device.kernel("tensor/spmm_rounded", "spmm_round")?, shape, &parameters) }?;
        (operands.features, operands.exact, operands.unscale) = (copies.ptr().cast(), input.features.ptr(), unscale.ptr());
        // What is of the features' type here is of `f32`.
        (operands.wide_output, operands.narrow_addend) = (1, 0);
        layout.launch(operands, Terms::Rounded, true)?;
        Ok(true)
    }
    /// Which form runs, and how the rows are cut.
    pub fn explain(&self) -> String {
        format!("copies as halves; {}", self.0.explain())
    }
    /// Bytes beyond the matrix.
    pub fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}
