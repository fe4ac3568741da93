//! `ndarray`: vectors are moved or borrowed, dense matrices gathered and spread.

use crate::{Csr, Error, Offsets, Result, Stored, Values, Vector};
use bitgraph_semiring::Scalar;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

/// A full vector. Moves the array if it is contiguous; `bool`s are packed.
///
/// ```
/// use bitgraph_sparse::Vector;
/// let v: Vector<f32> = ndarray::array![1.0, 2.0].into();
/// assert_eq!(v.get(1), Some(2.0));
/// ```
impl<T: Stored> From<Array1<T>> for Vector<T> {
    fn from(array: Array1<T>) -> Self {
        let len = array.len();
        if !array.is_standard_layout() {
            return Vector::from_vec(array.to_vec());
        }
        let (mut raw, offset) = array.into_raw_vec_and_offset();
        let offset = offset.unwrap_or(0);
        raw.truncate(offset + len);
        if offset > 0 {
            raw.drain(..offset);
        }
        Vector::from_vec(raw)
    }
}

impl<T: Stored<Store = Vec<T>>> Vector<T> {
    /// The values as an array view, borrowed. Values at absent positions are unspecified.
    #[must_use]
    pub fn as_array_view(&self) -> ArrayView1<'_, T> {
        ArrayView1::from(&self.store()[..])
    }
    /// The values as an array, `missing` where there is no entry. Moves the values.
    #[must_use]
    pub fn into_array(self, missing: T) -> Array1<T> {
        let (mut values, present) = self.into_parts();
        if let Some(present) = present {
            values.iter_mut().zip(present.iter()).filter(|(_, p)| !p).for_each(|(v, _)| *v = missing);
        }
        Array1::from_vec(values)
    }
}

impl Csr {
    /// The entries of a dense matrix that are not zero, and their values. O(rows x columns).
    ///
    /// ```
    /// let (a, v) = bitgraph_sparse::Csr::from_dense(ndarray::array![[0, 5], [7, 0]].view()).unwrap();
    /// assert_eq!((a.row(0), a.row(1), v.expect::<i32>().unwrap()), (&[1][..], &[0][..], &[5, 7][..]));
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`] for dimensions past 32 bits.
    pub fn from_dense<T: Scalar>(dense: ArrayView2<'_, T>) -> Result<(Self, Values)> {
        let (rows, columns) = dense.dim();
        Csr::ids(rows as u64, columns as u64)?;
        let (mut offsets, mut indices, mut values) = (Vec::with_capacity(rows + 1), Vec::new(), Vec::new());
        offsets.push(0);
        for row in dense.rows() {
            for (column, &value) in row.iter().enumerate().filter(|(_, v)| **v != T::ZERO) {
                indices.push(column as u32);
                values.push(value);
            }
            offsets.push(indices.len());
        }
        Ok((Csr::from_valid(rows, columns, Offsets::from_usizes(&offsets), indices.into()), Values::from_vec(values)))
    }

    /// The dense matrix: values converted to `T`, or ones for a pattern; zeros elsewhere.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of values than entries, [`Error::OutOfMemory`].
    pub fn to_dense<T: Scalar>(&self, values: Option<&Values>) -> Result<Array2<T>> {
        let (rows, columns) = (self.nrows(), self.ncols());
        if let Some(v) = values.filter(|v| v.len() != self.nnz()) {
            return Err(Error::Length { array: "values", expected: self.nnz() as u64, found: v.len() as u64 });
        }
        let wanted = (rows as u128 * columns as u128 * size_of::<T>() as u128).min(u64::MAX.into()) as u64;
        let full = || Error::OutOfMemory { wanted, what: "a dense matrix" };
        let cells = rows.checked_mul(columns).ok_or_else(full)?;
        let mut flat: Vec<T> = Vec::new();
        flat.try_reserve_exact(cells).map_err(|_| full())?;
        flat.resize(cells, T::ZERO);
        let places = (0..rows).flat_map(|i| self.row(i).iter().map(move |&c| i * columns + c as usize));
        match values {
            None => places.for_each(|p| flat[p] = T::ONE),
            Some(values) => {
                let values = values.cast::<T>();
                for (&value, place) in values.expect::<T>()?.iter().zip(places) {
                    flat[place] = value;
                }
            }
        }
        Array2::from_shape_vec((rows, columns), flat).map_err(|_| full())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BitVector;
    use ndarray::{array, s};

    #[test]
    fn vectors() {
        let a = Array1::from_vec(vec![1i32, 2, 3, 4]);
        let start = a.as_ptr();
        let v = Vector::from(a.clone());
        assert_eq!(v.as_array_view(), a);
        let moved = Vector::from(a);
        assert_eq!(moved.store().as_ptr(), start);
        assert_eq!(Vector::from(array![1i32, 2, 3, 4].slice(s![1..;2]).to_owned()).to_vec_or(0), [2, 4]);
        assert_eq!(Vector::from(array![1i32, 2, 3, 4].slice_move(s![1..3])).to_vec_or(0), [2, 3]);
        assert_eq!(Vector::from(array![1i32, 2, 3].slice_move(s![..;-1])).to_vec_or(0), [3, 2, 1]);
        let mut holes = moved;
        holes.set_present(Some(BitVector::from_bools(&[true, false, true, true])));
        assert_eq!(holes.into_array(-1), array![1, -1, 3, 4]);
        assert_eq!(Vector::from(array![true, false]).nvals(), 2);
    }

    #[test]
    fn matrices() {
        let dense = array![[0.0f64, 1.5, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, -1.0]];
        let (a, v) = Csr::from_dense(dense.view()).unwrap();
        assert_eq!(a.to_dense::<f64>(Some(&v)).unwrap(), dense);
        assert_eq!(a.to_dense::<u8>(None).unwrap(), array![[0, 1, 0], [0, 0, 0], [1, 0, 1]]);
        let (t, _) = Csr::from_dense(dense.t()).unwrap();
        assert_eq!(t, a.transpose());
        assert!(a.to_dense::<f64>(Some(&Values::from_vec(vec![1.0f64]))).is_err());
        assert!(Csr::empty(1 << 31, 1 << 31).unwrap().to_dense::<f64>(None).is_err());
        assert_eq!(Csr::from_dense(Array2::<i32>::zeros((0, 3)).view()).unwrap().0.ncols(), 3);
    }
}
