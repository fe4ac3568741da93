//! Which places a matrix mask selects, and the write-back rule.

use super::rows::{RowSink, Typed, build};
use crate::Cpu;
use crate::matrix::CpuMatrix;
use bitgraph_backend::ops::MatrixMask;
use bitgraph_backend::{Accumulate, Error};
use bitgraph_sparse::{BitVector, Csr, Stored, Values};

/// A mask over a matrix, asked entry by entry.
pub(super) enum MaskView {
    /// The positions that hold an entry, or a non-zero one.
    Lists { csr: Csr, complement: bool },
    /// Some rows of some columns.
    Region { rows: BitVector, columns: BitVector },
}

impl MaskView {
    /// The selection of a mask.
    pub(super) fn of(mask: MatrixMask<'_, Cpu>) -> Self {
        let MatrixMask { matrix, mode } = mask;
        let csr = matrix.to_csr();
        let csr = match matrix.values() {
            Some(values) if !mode.structural => {
                let start: Vec<usize> = (0..csr.nrows()).map(|i| csr.offsets().get(i)).collect();
                let keep = |r: u32, c: u32| {
                    let row = csr.row(r as usize);
                    row.binary_search(&c).is_ok_and(|k| values.get_f64(start[r as usize] + k) != 0.0)
                };
                csr.filter_with_positions(keep).0
            }
            _ => csr,
        };
        Self::Lists { csr, complement: mode.complement }
    }
    /// The places of some rows and some columns.
    pub(super) fn region((rows, columns): (usize, usize), row_list: &[u32], column_list: &[u32]) -> Self {
        let marked = |len, list: &[u32]| {
            let mut bits = BitVector::zeros(len);
            list.iter().for_each(|&i| bits.set(i as usize, true));
            bits
        };
        Self::Region { rows: marked(rows, row_list), columns: marked(columns, column_list) }
    }
    /// The columns that are selected in a row, where they are listed: not those of a complement.
    pub(super) fn columns(&self, row: usize) -> Option<&[u32]> {
        match self {
            Self::Lists { csr, complement: false } => Some(csr.row(row)),
            _ => None,
        }
    }
    /// Whether a place may be written.
    pub(super) fn selects(&self, row: usize, column: u32) -> bool {
        match self {
            Self::Lists { csr, complement } => csr.row(row).binary_search(&column).is_ok() != *complement,
            Self::Region { rows, columns } => rows.get(row) && columns.get(column as usize),
        }
    }
}

/// Visits the union of two rows; an absent entry is `None`.
pub(super) fn merge<A: Copy, B: Copy>(a: (&[u32], &[A]), b: (&[u32], &[B]), mut f: impl FnMut(u32, Option<A>, Option<B>)) {
    let (mut i, mut j) = (0, 0);
    while i < a.0.len() || j < b.0.len() {
        let x = a.0.get(i).copied().unwrap_or(u32::MAX);
        let y = b.0.get(j).copied().unwrap_or(u32::MAX);
        let (left, right) = (x <= y && i < a.0.len(), y <= x && j < b.0.len());
        f(x.min(y), left.then(|| a.1[i]), right.then(|| b.1[j]));
        i += usize::from(left);
        j += usize::from(right);
    }
}

/// `C<mask, replace> = C accum T`, the last step of every operation; the output keeps its format, and stays a pattern if `T` is one and
/// nothing is accumulated.
pub(super) fn write_back<T: Stored, C: Accumulate<T>>(
    cpu: Cpu,
    c: &mut CpuMatrix,
    mask: Option<&MaskView>,
    accum: C,
    replace: bool,
    t: CpuMatrix,
) -> Result<(), Error> {
    let pattern = !C::ACTIVE && c.values().is_none() && t.values().is_none();
    if mask.is_none() && !C::ACTIVE {
        let ones = (t.values().is_none() && !pattern).then(|| Values::from_vec(vec![T::ONE; t.nvals()]));
        *c = match &ones {
            None if c.format() == t.format() => t,
            _ => CpuMatrix::new(&t.to_csr(), ones.as_ref().or(t.values()), c.format())?,
        };
        return Ok(());
    }
    let (old, now) = (Typed::<T>::of(c)?, Typed::<T>::of(&t)?);
    let fill = |(): &mut (), i: usize, sink: &mut RowSink<'_, T>| {
        merge(old.row(i), now.row(i), |column, before, now| {
            let value = if mask.is_none_or(|m| m.selects(i, column)) {
                match (before.filter(|_| C::ACTIVE), now) {
                    (Some(a), Some(b)) => Some(accum.merge(a, b)),
                    (a, b) => a.or(b),
                }
            } else {
                before.filter(|_| !replace)
            };
            if let Some(value) = value {
                sink.push(column, value);
            }
        });
    };
    let (rows, columns) = c.shape();
    *c = build(rows, columns, cpu.is_reference(), || (), fill)?.into_matrix(c.format(), pattern)?;
    Ok(())
}
