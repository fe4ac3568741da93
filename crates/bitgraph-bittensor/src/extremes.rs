//! The range of elements: of all, of each row or of each column.
//!
//! Invariant: what is not finite is refused, and does not vanish in a minimum.

use crate::scales::not_finite;
use crate::{Result, View};
use bitgraph_sparse::Control;
use rayon::prelude::*;

/// What shares a range, and so a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Per {
    /// All elements.
    #[default]
    Tensor,
    /// Those of a row.
    Row,
    /// Those of a column.
    Column,
}

/// A minimum and a maximum; inverted where there are no elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extremes {
    pub low: f32,
    pub high: f32,
}

impl Extremes {
    /// Of no elements.
    pub(crate) const NONE: Self = Self { low: f32::INFINITY, high: f32::NEG_INFINITY };

    /// Of the elements of both.
    #[inline(always)]
    pub(crate) fn join(self, other: Self) -> Self {
        // Comparisons, which are one instruction each, instead of minima that look for what is not a number.
        Self {
            low: if other.low < self.low { other.low } else { self.low },
            high: if other.high > self.high { other.high } else { self.high },
        }
    }
    #[inline(always)]
    fn with(self, x: f32) -> Self {
        self.join(Self { low: x, high: x })
    }
}

/// Elements of a row that are looked at side by side.
const LANES: usize = 16;

/// Rows of a task.
const BAND: usize = 256;

/// The extremes of each row or column; of each of some bands of rows if `per` is the tensor. O(elements), parallel.
///
/// # Errors
/// [`Error::NotANumber`](crate::Error::NotANumber), [`Error::Infinite`](crate::Error::Infinite) or
/// [`Error::Cancelled`](crate::Error::Cancelled).
pub(crate) fn extremes<T: Copy + Sync + Into<f32>>(view: &View<'_, T>, per: Per, control: &Control) -> Result<Vec<Extremes>> {
    let (rows, columns) = (view.nrows(), view.ncols());
    let bands: Vec<(Vec<Extremes>, bool)> = (0..rows.div_ceil(BAND))
        .into_par_iter()
        .map(|k| {
            control.check()?;
            let band = k * BAND..((k + 1) * BAND).min(rows);
            let mut breach = false;
            let found = if per == Per::Column {
                let mut found = vec![Extremes::NONE; columns];
                for row in band {
                    for (extremes, &x) in found.iter_mut().zip(view.row(row)) {
                        let x: f32 = x.into();
                        *extremes = extremes.with(x);
                        breach |= !x.is_finite();
                    }
                }
                found
            } else {
                band.map(|row| of_row(view.row(row), &mut breach)).collect()
            };
            Ok((found, breach))
        })
        .collect::<Result<_>>()?;
    if bands.iter().any(|(_, breach)| *breach) {
        return Err(not_finite(view));
    }
    if per != Per::Column {
        return Ok(bands.into_iter().flat_map(|(found, _)| found).collect());
    }
    let mut all = vec![Extremes::NONE; columns];
    bands.iter().for_each(|(found, _)| all.iter_mut().zip(found).for_each(|(all, &extremes)| *all = all.join(extremes)));
    Ok(all)
}

fn of_row<T: Copy + Into<f32>>(row: &[T], breach: &mut bool) -> Extremes {
    let (mut lanes, mut breaches) = ([Extremes::NONE; LANES], [false; LANES]);
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for i in 0..LANES {
            let x: f32 = chunk[i].into();
            lanes[i] = lanes[i].with(x);
            breaches[i] |= !x.is_finite();
        }
    }
    for (i, &x) in rest.iter().enumerate() {
        let x: f32 = x.into();
        lanes[i] = lanes[i].with(x);
        breaches[i] |= !x.is_finite();
    }
    *breach |= breaches.contains(&true);
    lanes.into_iter().fold(Extremes::NONE, Extremes::join)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn of_everything_rows_and_columns() {
        let data: Vec<f32> = (0..300 * 37).map(|i| ((i * 7919) % 1009) as f32 - 500.0).collect();
        let view = View::new(&data, 300, 37).unwrap();
        let get = |per| extremes(&view, per, &Control::default()).unwrap();
        let plain = |elements: &mut dyn Iterator<Item = f32>| elements.fold(Extremes::NONE, |e, x| e.join(Extremes { low: x, high: x }));
        for (i, e) in get(Per::Row).into_iter().enumerate() {
            assert_eq!(e, plain(&mut view.row(i).iter().copied()));
        }
        for (j, e) in get(Per::Column).into_iter().enumerate() {
            assert_eq!(e, plain(&mut (0..300).map(|i| view.row(i)[j])));
        }
        let all = get(Per::Tensor).into_iter().fold(Extremes::NONE, Extremes::join);
        assert_eq!(all, Extremes { low: -500.0, high: 508.0 });
    }

    #[test]
    fn nothing_and_what_is_not_finite() {
        let control = Control::default();
        assert_eq!(extremes(&View::<f32>::new(&[], 0, 3).unwrap(), Per::Column, &control).unwrap(), [Extremes::NONE; 3]);
        assert_eq!(extremes(&View::<f32>::new(&[], 2, 0).unwrap(), Per::Row, &control).unwrap(), [Extremes::NONE; 2]);
        let mut data = vec![1.0f32; 600 * 20];
        for (place, value, error) in [
            (311 * 20 + 7, f32::INFINITY, Error::Infinite { row: 311, column: 7 }),
            (311 * 20 + 3, f32::NAN, Error::NotANumber { row: 311, column: 3 }),
            (299 * 20 + 19, f32::NEG_INFINITY, Error::Infinite { row: 299, column: 19 }),
        ] {
            data[place] = value;
            for per in [Per::Tensor, Per::Row, Per::Column] {
                assert_eq!(extremes(&View::new(&data, 600, 20).unwrap(), per, &control), Err(error.clone()));
            }
        }
    }
}
