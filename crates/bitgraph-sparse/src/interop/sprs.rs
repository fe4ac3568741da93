//! `sprs`: its compressed matrices with `u32` indices have the very arrays of a [`Csr`] and its values; they are moved or borrowed.

use crate::{Buffer, Csr, Error, OffsetInt, Offsets, Result, Values, with_offsets};
use bitgraph_semiring::Scalar;
use sprs::{CsMatI, CsMatViewI, SpIndex};
use std::any::Any;

/// Moves a vector that is one of `T` already.
fn moved<S: 'static, T: 'static>(v: Vec<S>) -> Result<Vec<T>, Vec<S>> {
    let mut slot = Some(v);
    let any: &mut dyn Any = &mut slot;
    match any.downcast_mut::<Option<Vec<T>>>().and_then(Option::take) {
        Some(same) => Ok(same),
        None => Err(slot.unwrap_or_default()),
    }
}

impl Csr {
    /// The pattern and the values of a matrix of `sprs`. Indices of type `u32` and offsets of type `u32` or `u64` are moved, as the
    /// values are; others are copied. A matrix stored by columns is transposed. Stored zeros stay entries.
    ///
    /// ```
    /// let m = sprs::CsMatI::<f32, u32>::eye(3);
    /// let (a, v) = bitgraph_sparse::Csr::from_sprs(m).unwrap();
    /// assert_eq!((a.nnz(), v.len()), (3, 3));
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`] for ids past 32 bits, or whatever invariant does not hold.
    pub fn from_sprs<N: Scalar, I: SpIndex + 'static, P: SpIndex + 'static>(matrix: CsMatI<N, I, P>) -> Result<(Self, Values)> {
        let by_row = matrix.is_csr();
        let (rows, columns) = matrix.shape();
        Csr::ids(rows as u64, columns as u64)?;
        let (major, minor) = if by_row { (rows, columns) } else { (columns, rows) };
        let (offsets, indices, values) = matrix.into_raw_storage();
        let offsets = match moved::<P, u32>(offsets) {
            Ok(narrow) => Offsets::U32(narrow.into()),
            Err(other) => match moved::<P, u64>(other) {
                Ok(wide) => Offsets::U64(wide.into()),
                Err(other) => Offsets::from_usizes(&other.iter().map(|o| o.index()).collect::<Vec<_>>()),
            },
        };
        let indices = match moved::<I, u32>(indices) {
            Ok(same) => same,
            // Ids are below the dimensions, which fit.
            Err(other) => other.iter().map(|i| i.index() as u32).collect(),
        };
        let csr = Csr::new(major, minor, offsets, indices.into())?;
        if values.len() != csr.nnz() {
            return Err(Error::Length { array: "values", expected: csr.nnz() as u64, found: values.len() as u64 });
        }
        let values = Values::from_vec(values);
        if by_row {
            return Ok((csr, values));
        }
        Ok(csr.transpose_with(&values))
    }

    /// A matrix of `sprs` that borrows the pattern and `values`.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of values than entries, [`Error::Invalid`] for offsets of 64 bits: use
    /// [`Csr::to_sprs`].
    pub fn as_sprs<'a, N>(&'a self, values: &'a [N]) -> Result<CsMatViewI<'a, N, u32>> {
        self.check_values(values.len())?;
        let offsets = self.offsets().as_u32().ok_or(Error::Invalid { array: "offsets", position: 0, what: "they are of 64 bits" })?;
        CsMatViewI::try_new((self.nrows(), self.ncols()), offsets, self.indices(), values).map_err(|_| Error::Invalid {
            array: "indices",
            position: 0,
            what: "not accepted by sprs",
        })
    }

    /// A matrix of `sprs` with these values. The arrays are moved if they are not shared, copied otherwise.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of values than entries, [`Error::Invalid`] for offsets of 64 bits: use
    /// [`Csr::to_sprs`].
    pub fn into_sprs<N>(self, values: Vec<N>) -> Result<CsMatI<N, u32>> {
        self.check_values(values.len())?;
        let shape = (self.nrows(), self.ncols());
        let indices: Buffer<u32> = self.indices_buffer().clone();
        let offsets: Buffer<u32> = match self.offsets() {
            Offsets::U32(narrow) => narrow.clone(),
            Offsets::U64(_) => return Err(Error::Invalid { array: "offsets", position: 0, what: "they are of 64 bits; use to_sprs" }),
        };
        drop(self);
        CsMatI::try_new(shape, offsets.into_vec(), indices.into_vec(), values).map_err(|_| Error::Invalid {
            array: "indices",
            position: 0,
            what: "not accepted by sprs",
        })
    }

    /// A matrix of `sprs` with offsets of the machine's width, which any number of entries fits. Copies.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of values than entries.
    pub fn to_sprs<N>(&self, values: Vec<N>) -> Result<CsMatI<N, u32, usize>> {
        self.check_values(values.len())?;
        let offsets = with_offsets!(self.offsets(), o => o.iter().map(|&x| OffsetInt::index(x)).collect::<Vec<usize>>());
        CsMatI::try_new((self.nrows(), self.ncols()), offsets, self.indices().to_vec(), values).map_err(|_| Error::Invalid {
            array: "indices",
            position: 0,
            what: "not accepted by sprs",
        })
    }

    fn check_values(&self, found: usize) -> Result<()> {
        if found == self.nnz() {
            return Ok(());
        }
        Err(Error::Length { array: "values", expected: self.nnz() as u64, found: found as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coo, Duplicates};

    fn example() -> (Csr, Vec<f32>) {
        let mut coo = Coo::pattern(3, 4, vec![0, 2, 2, 1], vec![3, 0, 1, 3]);
        coo.values = Some(vec![1.0f32, 2.0, 3.0, 4.0].into());
        let (a, v) = coo.into_csr(Duplicates::First).unwrap();
        (a, v.unwrap().expect::<f32>().unwrap().to_vec())
    }

    #[test]
    fn there_and_back() {
        let (a, v) = example();
        let view = a.as_sprs(&v).unwrap();
        assert_eq!((view.get(2, 1), view.get(0, 0)), (Some(&3.0), None));
        let start = a.indices().as_ptr();
        let m = a.clone().into_sprs(v.clone()).unwrap();
        let (b, w) = Csr::from_sprs(m).unwrap();
        assert_eq!((&b, w.expect::<f32>().unwrap()), (&a, &v[..]));
        drop(a);
        let only = example().0;
        let at = only.indices().as_ptr();
        let m = only.into_sprs(v.clone()).unwrap();
        assert!(m.indices().as_ptr() == at && at != start, "moved, not copied");
        let (back, _) = Csr::from_sprs(m).unwrap();
        assert_eq!(back.indices().as_ptr(), at);
        let wide = back.to_sprs(v.clone()).unwrap();
        let by_column = wide.to_other_storage();
        assert!(by_column.is_csc());
        let (c, w) = Csr::from_sprs(by_column).unwrap();
        assert_eq!((c, w.expect::<f32>().unwrap()), (back.clone(), &v[..]));
        assert!(back.as_sprs(&v[1..]).is_err());
        let (e, _) = Csr::from_sprs(CsMatI::<f64, usize>::zero((0, 5))).unwrap();
        assert_eq!((e.nrows(), e.ncols()), (0, 5));
    }
}
