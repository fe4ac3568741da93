//! Scales of sign matrices: one `f32` for each row or column, the mean magnitude of what the signs were taken from.
//!
//! Invariant: a scale is finite and not negative; sums are taken in `f64`, in an order that does not depend on the number of threads.

use crate::{Error, Packing, Result, View};
use bitgraph_sparse::{Buffer, Control};
use rayon::prelude::*;

/// What the levels of a sign matrix are multiplied with.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scales {
    /// Nothing: BitGNN's BIN.
    #[default]
    None,
    /// One scale for each row: SCL of activations.
    Rows(Buffer<f32>),
    /// One scale for each column: SCL of weights.
    Columns(Buffer<f32>),
}

impl Scales {
    /// Bytes of the array.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Rows(s) | Self::Columns(s) => 4 * s.len() as u64,
        }
    }
    /// The scale of an element.
    ///
    /// # Panics
    /// If there is none for its row or column.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> f32 {
        match self {
            Self::None => 1.0,
            Self::Rows(s) => s[row],
            Self::Columns(s) => s[column],
        }
    }
    /// The scales of the transpose.
    #[must_use]
    pub fn transposed(&self) -> Self {
        match self {
            Self::None => Self::None,
            Self::Rows(s) => Self::Columns(s.clone()),
            Self::Columns(s) => Self::Rows(s.clone()),
        }
    }
    /// Refuses scales that do not fit a shape, or are negative or not finite.
    pub(crate) fn check(&self, rows: usize, columns: usize) -> Result<()> {
        let (scales, expected) = match self {
            Self::None => return Ok(()),
            Self::Rows(s) => (s, rows),
            Self::Columns(s) => (s, columns),
        };
        if scales.len() != expected {
            return Err(Error::Length { array: "scales", expected: expected as u64, found: scales.len() as u64 });
        }
        match scales.iter().position(|s| !(s.is_finite() && *s >= 0.0)) {
            Some(k) => Err(Error::Invalid { array: "scales", position: k as u64, what: "a scale that is negative or not finite" }),
            None => Ok(()),
        }
    }
}

/// Which scales to find when signs are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scaling {
    /// None: BitGNN's BIN.
    #[default]
    None,
    /// The mean magnitude of each row (Bi-GCN's scale of activations).
    RowMeans,
    /// The mean magnitude of each column (Bi-GCN's scale of weights, a column for each output).
    ColumnMeans,
}

/// Rows that are summed before their sums are added to those of other rows.
const BAND: usize = 256;

/// The mean magnitudes that `scaling` asks for; 0 where there is nothing to take a mean of.
///
/// # Errors
/// [`Error::NotANumber`] or [`Error::Infinite`] for an element that has no finite magnitude, [`Error::Cancelled`].
pub(crate) fn means<T: Copy + Sync + Into<f32>>(view: &View<'_, T>, scaling: Scaling, control: &Control) -> Result<Scales> {
    let (rows, columns) = (view.nrows(), view.ncols());
    let mean = |sum: f64, count: usize| if count == 0 { 0.0 } else { (sum / count as f64) as f32 };
    let along = match scaling {
        Scaling::None => return Ok(Scales::None),
        Scaling::RowMeans => Packing::Rows,
        Scaling::ColumnMeans => Packing::Columns,
    };
    let bands: Vec<Vec<f64>> = (0..rows.div_ceil(BAND))
        .into_par_iter()
        .map(|k| {
            control.check()?;
            let band = k * BAND..((k + 1) * BAND).min(rows);
            let mut sums = vec![0.0f64; if along == Packing::Rows { band.len() } else { columns }];
            for (r, row) in band.enumerate() {
                let magnitudes = view.row(row).iter().map(|&x| f64::from(Into::<f32>::into(x)).abs());
                match along {
                    Packing::Rows => sums[r] = magnitudes.sum(),
                    Packing::Columns => sums.iter_mut().zip(magnitudes).for_each(|(sum, x)| *sum += x),
                }
            }
            Ok(sums)
        })
        .collect::<Result<_>>()?;
    // A sum of finite magnitudes is finite in `f64`, so that one look at the sums finds what is not.
    if bands.iter().flatten().any(|sum| !sum.is_finite()) {
        return Err(not_finite(view));
    }
    Ok(match along {
        Packing::Rows => Scales::Rows(bands.iter().flatten().map(|&sum| mean(sum, columns)).collect::<Vec<_>>().into()),
        Packing::Columns => {
            let mut sums = vec![0.0f64; columns];
            bands.iter().for_each(|band| sums.iter_mut().zip(band).for_each(|(sum, x)| *sum += x));
            Scales::Columns(sums.iter().map(|&sum| mean(sum, rows)).collect::<Vec<_>>().into())
        }
    })
}

/// The error of the first element that is not finite.
#[cold]
pub(crate) fn not_finite<T: Copy + Into<f32>>(view: &View<'_, T>) -> Error {
    let mut is_nan = false;
    let place = view.find(|&x| {
        let x: f32 = x.into();
        is_nan = x.is_nan();
        !x.is_finite()
    });
    let (row, column) = place.unwrap_or_default();
    if is_nan { Error::NotANumber { row, column } } else { Error::Infinite { row, column } }
}
