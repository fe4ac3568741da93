//! Extraction and assignment.

use super::{Accumulate, MimicMask, MimicMatrix, MimicVector, write};
use bitgraph_semiring::Scalar;

/// `u(indices)`: position `k` of the result is position `indices[k]` of `u`.
///
/// # Panics
/// If an index is out of range.
#[must_use]
pub fn extract<T: Scalar>(u: &MimicVector<T>, indices: &[u32]) -> MimicVector<T> {
    MimicVector(indices.iter().map(|&i| u.0[i as usize]).collect())
}

/// `A(rows, columns)`: place (i, j) of the result is place (`rows[i]`, `columns[j]`) of `A`.
///
/// # Panics
/// If an index is out of range.
#[must_use]
pub fn extract_matrix<T: Scalar>(a: &MimicMatrix<T>, rows: &[u32], columns: &[u32]) -> MimicMatrix<T> {
    MimicMatrix::from_fn(rows.len(), columns.len(), |i, j| a.get(rows[i] as usize, columns[j] as usize))
}

/// One entry assigned over another: merged or the only one with an accumulator, the new one, or none, without.
fn put<T: Scalar>(slot: &mut Option<T>, accum: Accumulate<'_, T>, new: Option<T>) {
    *slot = match (accum, *slot, new) {
        (Some(f), Some(old), Some(new)) => Some(f(old, new)),
        (Some(_), old, None) => old,
        (_, _, new) => new,
    };
}

/// `w<mask>(indices) = w(indices) accum u`: position `indices[k]` of `w` meets position `k` of `u`, in the order of `k`. The
/// mask is over all of `w`, and so is `replace`.
///
/// # Panics
/// If the shapes do not fit.
pub fn assign<T: Scalar>(
    w: &mut MimicVector<T>,
    mask: Option<&MimicMask>,
    accum: Accumulate<'_, T>,
    u: &MimicVector<T>,
    indices: &[u32],
    replace: bool,
) {
    assert_eq!(u.len(), indices.len(), "an index for every position");
    let mut z = w.0.clone();
    for (k, &i) in indices.iter().enumerate() {
        put(&mut z[i as usize], accum, u.0[k]);
    }
    write(&mut w.0, mask, None, &z, replace);
}

/// `C<mask>(rows, columns) = C(rows, columns) accum A`: place (`rows[i]`, `columns[j]`) of `C` meets place (i, j) of `A`. The
/// mask is over all of `C`, and so is `replace`.
///
/// # Panics
/// If the shapes do not fit.
pub fn assign_matrix<T: Scalar>(
    c: &mut MimicMatrix<T>,
    mask: Option<&MimicMask>,
    accum: Accumulate<'_, T>,
    a: &MimicMatrix<T>,
    (rows, columns): (&[u32], &[u32]),
    replace: bool,
) {
    assert_eq!((a.rows, a.columns), (rows.len(), columns.len()), "an index for every row and column");
    let mut z = c.clone();
    for (i, &r) in rows.iter().enumerate() {
        for (j, &k) in columns.iter().enumerate() {
            let mut entry = z.get(r as usize, k as usize);
            put(&mut entry, accum, a.get(i, j));
            z.set(r as usize, k as usize, entry);
        }
    }
    write(&mut c.entries, mask, None, &z.entries, replace);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mimic::accumulate;
    use bitgraph_semiring::Plus;

    #[test]
    fn extract_and_assign_vectors() {
        let u = MimicVector(vec![Some(1), None, Some(3)]);
        let w = extract(&u, &[2, 2, 1, 0]);
        assert_eq!(w.0, [Some(3), Some(3), None, Some(1)]);
        let plus = accumulate(Plus);
        // Position 1 meets nothing: without an accumulator it loses its entry, with one it keeps it.
        let mut x = w.clone();
        assign(&mut x, None, None, &u, &[3, 1, 0], false);
        assert_eq!(x.0, [Some(3), None, None, Some(1)]);
        let mut x = w.clone();
        assign(&mut x, None, Some(&plus), &u, &[3, 1, 0], false);
        assert_eq!(x.0, [Some(6), Some(3), None, Some(2)]);
        // The same index twice: all are merged with an accumulator, the last one stays without.
        let mut x = w.clone();
        assign(&mut x, None, Some(&plus), &MimicVector::full(&[10, 20]), &[2, 2], false);
        assert_eq!(x.0[2], Some(30));
        assign(&mut x, None, None, &MimicVector::full(&[10, 20]), &[2, 2], false);
        assert_eq!(x.0[2], Some(20));
        // Replace deletes what the mask does not select, inside the index list or not.
        let mask = MimicMask(vec![false, true, true, false]);
        let mut x = w;
        assign(&mut x, Some(&mask), None, &MimicVector::full(&[9, 9]), &[0, 1], true);
        assert_eq!(x.0, [None, Some(9), None, None]);
    }

    #[test]
    fn extract_and_assign_matrices() {
        let a = MimicMatrix::from_entries(2, 3, &[(0, 0, 1), (0, 2, 2), (1, 1, 3)]);
        let c = extract_matrix(&a, &[1, 0], &[1, 2]);
        assert_eq!(c.entries, [Some(3), None, None, Some(2)]);
        let mut d = a.clone();
        assign_matrix(&mut d, None, None, &c, (&[0, 1], &[0, 1]), false);
        assert_eq!(d.entries, [Some(3), None, Some(2), None, Some(2), None]);
        let plus = accumulate(Plus);
        let mut d = a.clone();
        assign_matrix(&mut d, None, Some(&plus), &c, (&[0, 1], &[0, 1]), false);
        assert_eq!(d.entries, [Some(4), None, Some(2), None, Some(5), None]);
        assert_eq!(a.transposed().entries, [Some(1), None, None, Some(3), Some(2), None]);
        let (csr, values) = a.to_csr();
        assert_eq!(MimicMatrix::from_csr(&csr, Some(&values)), a);
    }
}
