//! Features in the form that models of few bits read them in, made once on the host.

use crate::data::{Features, Result};

/// Mean and variance (biased) of every column. O(elements).
fn moments(values: &[f32], columns: usize) -> (Vec<f64>, Vec<f64>) {
    let rows = (values.len() / columns.max(1)).max(1) as f64;
    let (mut mean, mut variance) = (vec![0.0f64; columns], vec![0.0f64; columns]);
    let every = || values.iter().enumerate().map(|(k, &v)| (k % columns, f64::from(v)));
    every().for_each(|(c, v)| mean[c] += v / rows);
    every().for_each(|(c, v)| variance[c] += (v - mean[c]).powi(2) / rows);
    (mean, variance)
}

/// +1 where a feature is above the mean of its column, -1 elsewhere: what BitGNN's `bin` reads. O(elements).
///
/// # Errors
/// None for features that were made.
pub fn column_signs(features: &Features) -> Result<Features> {
    let (rows, columns) = features.shape();
    let mut values = features.to_dense();
    let (mean, _) = moments(&values, columns);
    values.iter_mut().enumerate().for_each(|(k, v)| *v = if f64::from(*v) > mean[k % columns] { 1.0 } else { -1.0 });
    Features::dense(rows, columns, values)
}

/// Features of mean 0 and variance 1 in each column as their signs times the mean magnitude of each row: what Bi-GCN reads. O(elements).
///
/// # Errors
/// None for features that were made.
pub fn scaled_signs(features: &Features) -> Result<Features> {
    let (rows, columns) = features.shape();
    let mut values = features.to_dense();
    let (mean, variance) = moments(&values, columns);
    for row in values.chunks_mut(columns.max(1)) {
        let normal = |c: usize, v: f32| (f64::from(v) - mean[c]) / (variance[c] + 1e-5).sqrt();
        let size = row.iter().enumerate().map(|(c, &v)| normal(c, v).abs()).sum::<f64>() / columns as f64;
        row.iter_mut().enumerate().for_each(|(c, v)| *v = if normal(c, *v) >= 0.0 { size as f32 } else { -size as f32 });
    }
    Features::dense(rows, columns, values)
}

/// Steps that are tried, from the largest that covers all values down to a fiftieth of it.
const TRIED: u32 = 40;

/// Features of 0 or more as whole numbers below `2^bits`, and the step that they are multiples of: of 40 steps that with the smallest squared
/// error over the elements that are not zero. Zeros stay, so that sparse features do. Values below 0 become 0. O(stored values).
///
/// # Errors
/// None for features that were made.
pub fn few_levels(features: &Features, bits: u32) -> Result<(Features, f64)> {
    let most = f64::from(u32::MAX >> (32 - bits.clamp(1, 16)));
    let values = features.values();
    let largest = values.iter().fold(0.0f64, |m, &v| m.max(f64::from(v)));
    if largest == 0.0 {
        return Ok((features.clone(), 1.0));
    }
    let level = |v: f32, step: f64| (f64::from(v) / step).round_ties_even().clamp(0.0, most);
    let error = |step: f64| values.iter().filter(|v| **v != 0.0).map(|&v| (level(v, step) * step - f64::from(v)).powi(2)).sum::<f64>();
    let step_of = |k: u32| largest / most * 50f64.powf(-f64::from(k) / f64::from(TRIED - 1));
    let best = (0..TRIED).map(|k| (error(step_of(k)), step_of(k))).min_by(|a, b| a.0.total_cmp(&b.0));
    let step = best.map_or(largest / most, |(_, step)| step);
    let levels: Vec<f32> = values.iter().map(|&v| level(v, step) as f32).collect();
    let made = match features.pattern() {
        Some(pattern) => Features::sparse(pattern.clone(), levels)?,
        None => Features::dense(features.shape().0, features.shape().1, levels)?,
    };
    Ok((made, step))
}
