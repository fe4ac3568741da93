//! Products: matrix with vector, matrix with matrix, Kronecker.

use super::{MimicMask, MimicMatrix, MimicVector};
use bitgraph_semiring::{BinaryOp, Scalar, Semiring};

/// The sum of products over the pairs where both have an entry, in ascending order; `None` if there is no such pair.
fn dot<S: Semiring>(pairs: impl Iterator<Item = (Option<S::A>, Option<S::X>)>) -> Option<S::Acc> {
    let mut sum: Option<S::Acc> = None;
    for (a, x) in pairs {
        if let (Some(a), Some(x)) = (a, x) {
            let product = S::multiply(a, x);
            sum = Some(match sum {
                Some(s) => S::add(s, product),
                None => product,
            });
        }
    }
    sum
}

/// `A u`. The product takes the matrix value first; a row vector times a matrix is the transpose times it.
///
/// # Panics
/// If the shapes do not fit.
#[must_use]
pub fn mxv<S: Semiring>(_semiring: S, a: &MimicMatrix<S::A>, u: &MimicVector<S::X>) -> MimicVector<S::Out> {
    assert_eq!(a.columns, u.len(), "columns of the matrix and length of the vector");
    let row = |i: usize| dot::<S>((0..a.columns).map(|j| (a.get(i, j), u.0[j]))).map(S::finish);
    MimicVector((0..a.rows).map(row).collect())
}

/// The entries of `A B` before they are finished.
fn sums<S: Semiring>(a: &MimicMatrix<S::A>, b: &MimicMatrix<S::X>) -> Vec<Option<S::Acc>> {
    assert_eq!(a.columns, b.rows, "inner dimensions");
    let place = |k: usize| dot::<S>((0..a.columns).map(|l| (a.get(k / b.columns, l), b.get(l, k % b.columns))));
    (0..a.rows * b.columns).map(place).collect()
}

/// `A B`.
///
/// # Panics
/// If the shapes do not fit.
#[must_use]
pub fn mxm<S: Semiring>(_semiring: S, a: &MimicMatrix<S::A>, b: &MimicMatrix<S::X>) -> MimicMatrix<S::Out> {
    let entries = sums::<S>(a, b).into_iter().map(|sum| sum.map(S::finish)).collect();
    MimicMatrix { rows: a.rows, columns: b.columns, entries }
}

/// The sum of the entries of `A B` that the mask selects, row by row; the identity of the addition if there are none.
///
/// # Panics
/// If the shapes do not fit.
#[must_use]
pub fn mxm_reduce<S: Semiring>(mask: Option<&MimicMask>, _semiring: S, a: &MimicMatrix<S::A>, b: &MimicMatrix<S::X>) -> S::Out {
    let t = sums::<S>(a, b);
    assert!(mask.is_none_or(|m| m.0.len() == t.len()), "shape of the mask");
    let selected = t.into_iter().enumerate().filter(|(k, _)| mask.is_none_or(|m| m.0[*k])).filter_map(|(_, sum)| sum);
    S::finish(selected.reduce(S::add).unwrap_or_else(S::zero))
}

/// The Kronecker product: entry (i p + k, j q + l) is `op(A(i, j), B(k, l))` for B of p x q.
#[must_use]
pub fn kronecker<T: Scalar, Op: BinaryOp<T>>(op: Op, a: &MimicMatrix<T>, b: &MimicMatrix<T>) -> MimicMatrix<T> {
    MimicMatrix::from_fn(a.rows * b.rows, a.columns * b.columns, |i, j| {
        let (x, y) = (a.get(i / b.rows, j / b.columns)?, b.get(i % b.rows, j % b.columns)?);
        Some(op.apply(x, y))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_semiring::{AnySecond, LorLand, MinPlus, Minus, PlusPair, PlusTimes, Times};
    use bitgraph_sparse::MaskMode;

    //     | 1 2 - |
    // A = | - - 3 |
    fn a() -> MimicMatrix<i32> {
        MimicMatrix::from_entries(2, 3, &[(0, 0, 1), (0, 1, 2), (1, 2, 3)])
    }

    #[test]
    fn matrix_vector() {
        let u = MimicVector(vec![Some(10), Some(20), None]);
        assert_eq!(mxv(PlusTimes::<i32>::new(), &a(), &u).0, [Some(50), None]);
        assert_eq!(mxv(MinPlus::<i32>::new(), &a(), &u).0, [Some(11), None]);
        assert_eq!(mxv(AnySecond::<i32>::new(), &a(), &MimicVector::full(&[5, 6, 7])).0, [Some(5), Some(7)]);
        let t = mxv(PlusTimes::<i32>::new(), &a().transposed(), &MimicVector::full(&[1, 10]));
        assert_eq!(t.0, [Some(1), Some(2), Some(30)]);
    }

    #[test]
    fn an_explicit_zero_is_an_entry() {
        let a = MimicMatrix::from_entries(1, 1, &[(0, 0, false)]);
        assert_eq!(mxv(LorLand::<bool>::new(), &a, &MimicVector(vec![Some(true)])).0, [Some(false)]);
    }

    #[test]
    fn matrix_matrix() {
        // A A^T = | 5 - |
        //         | - 9 |
        let (ring, t) = (PlusTimes::<i32>::new(), a().transposed());
        assert_eq!(mxm(ring, &a(), &t).entries, [Some(5), None, None, Some(9)]);
        assert_eq!(mxm_reduce(None, ring, &a(), &t), 14);
        let mask = MimicMatrix::from_entries(2, 2, &[(0, 0, 1)]).mask(MaskMode::STRUCTURE_COMPLEMENT);
        assert_eq!(mxm_reduce(Some(&mask), ring, &a(), &t), 9);
        // The triangle: L L^T at L is one.
        let l = MimicMatrix::from_entries(3, 3, &[(1, 0, 1u64), (2, 0, 1), (2, 1, 1)]);
        assert_eq!(mxm_reduce(Some(&l.mask(MaskMode::STRUCTURE)), PlusPair::<u64>::new(), &l, &l.transposed()), 1);
        assert_eq!(mxm_reduce(None, MinPlus::<u64>::new(), &MimicMatrix::empty(2, 3), &l), u64::MAX);
    }

    #[test]
    fn kronecker_products() {
        let b = MimicMatrix::from_entries(1, 2, &[(0, 0, 5), (0, 1, 7)]);
        let c = kronecker(Times, &a(), &b);
        assert_eq!(c.entries[..6], [Some(5), Some(7), Some(10), Some(14), None, None]);
        assert_eq!(c.entries[6..], [None, None, None, None, Some(15), Some(21)]);
        assert_eq!(kronecker(Minus, &a(), &b).get(0, 1), Some(-6));
    }
}
