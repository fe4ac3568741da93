//! Row and column scales of a binary adjacency matrix, so that a normalised one needs no values: `diag(rows) A diag(columns)`.
//!
//! Invariant: scales are finite; there is one for each row, or column, or none at all, which counts as 1.

use bitgraph_b2sr::{B2sr4, Tile};
use bitgraph_sparse::{Buffer, Error, Result};
use rayon::prelude::*;

/// A normalisation that scales can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Normalization {
    /// `D^-1/2 A D^-1/2` of a graph convolution, with the degrees of rows on the left and of columns on the right.
    Symmetric,
    /// `D^-1 A`: the mean over the neighbours of a row.
    Row,
}

/// Scales of rows and columns. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scales {
    /// The bits of `f32` numbers, which is how containers hold them.
    pub rows: Option<Buffer<u32>>,
    pub columns: Option<Buffer<u32>>,
}

impl Scales {
    /// As bits, checked.
    pub(crate) fn new(shape: (usize, usize), rows: Option<&[f32]>, columns: Option<&[f32]>) -> Result<Self> {
        let bits = |scales: &[f32]| -> Buffer<u32> { scales.iter().map(|s| s.to_bits()).collect::<Vec<_>>().into() };
        Self::from_bits(shape, rows.map(bits), columns.map(bits))
    }
    /// From bits that come from outside.
    pub(crate) fn from_bits(shape: (usize, usize), rows: Option<Buffer<u32>>, columns: Option<Buffer<u32>>) -> Result<Self> {
        check("row_scales", rows.as_deref(), shape.0)?;
        check("column_scales", columns.as_deref(), shape.1)?;
        Ok(Self { rows, columns })
    }
    /// Those of a normalisation, by the degrees of the tiles' rows and columns; 0 where there is no neighbour.
    pub(crate) fn of(tiles: &B2sr4, how: Normalization) -> Self {
        let (rows, columns) = degrees(tiles);
        let inverse = |degree: &u32| if *degree == 0 { 0.0 } else { 1.0 / f64::from(*degree) };
        let bits = |degrees: &[u32], scale: &dyn Fn(f64) -> f64| -> Option<Buffer<u32>> {
            Some(degrees.iter().map(|d| (scale(inverse(d)) as f32).to_bits()).collect::<Vec<_>>().into())
        };
        match how {
            Normalization::Symmetric => Self { rows: bits(&rows, &f64::sqrt), columns: bits(&columns, &f64::sqrt) },
            Normalization::Row => Self { rows: bits(&rows, &|x| x), columns: None },
        }
    }
    pub(crate) fn transposed(&self) -> Self {
        Self { rows: self.columns.clone(), columns: self.rows.clone() }
    }
    pub(crate) fn bytes(&self) -> u64 {
        [&self.rows, &self.columns].into_iter().flatten().map(|s| 4 * s.len() as u64).sum()
    }
}

/// The entries of each row and of each column. O(tiles), parallel; memory 4 bytes a column for each of at most eight tasks.
fn degrees(tiles: &B2sr4) -> (Vec<u32>, Vec<u32>) {
    let mut rows = vec![0u32; tiles.nrows()];
    let block = tiles.tile_rows().div_ceil(rayon::current_num_threads().min(8)).max(1);
    let counted: Vec<Vec<u32>> = rows
        .par_chunks_mut(block * 4)
        .enumerate()
        .map(|(b, rows)| {
            let mut columns = vec![0u32; tiles.ncols()];
            for (t, rows) in rows.chunks_mut(4).enumerate() {
                for k in tiles.tile_range(b * block + t) {
                    tiles.tiles()[k].for_each(|r, c| {
                        rows[r] += 1;
                        columns[4 * tiles.tile_columns()[k] as usize + c as usize] += 1;
                    });
                }
            }
            columns
        })
        .collect();
    let mut columns = vec![0u32; tiles.ncols()];
    counted.iter().for_each(|part| columns.iter_mut().zip(part).for_each(|(sum, count)| *sum += count));
    (rows, columns)
}

fn check(array: &'static str, scales: Option<&[u32]>, expected: usize) -> Result<()> {
    let Some(scales) = scales else { return Ok(()) };
    if scales.len() != expected {
        return Err(Error::Length { array, expected: expected as u64, found: scales.len() as u64 });
    }
    match scales.iter().position(|&bits| !f32::from_bits(bits).is_finite()) {
        Some(k) => Err(Error::Invalid { array, position: k as u64, what: "a scale that is not finite" }),
        None => Ok(()),
    }
}
