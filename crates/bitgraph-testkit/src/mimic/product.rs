//! Products: matrix with vector, vector with matrix, matrix with matrix, Kronecker.

use super::{Accumulate, Descriptor, MimicMask, MimicMatrix, MimicVector, write};
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

/// `w<mask> = w accum (A u)`.
///
/// # Panics
/// If the shapes do not fit.
pub fn mxv<S: Semiring>(
    w: &mut MimicVector<S::Out>,
    mask: Option<&MimicMask>,
    accum: Accumulate<'_, S::Out>,
    _semiring: S,
    a: &MimicMatrix<S::A>,
    u: &MimicVector<S::X>,
    descriptor: Descriptor,
) {
    let a = a.viewed(descriptor.transpose_a);
    assert_eq!(a.columns, u.len(), "columns of the matrix and length of the vector");
    let t: Vec<_> = (0..a.rows).map(|i| dot::<S>((0..a.columns).map(|j| (a.get(i, j), u.0[j]))).map(S::finish)).collect();
    write(&mut w.0, mask, accum, &t, descriptor.replace);
}

/// `w<mask> = w accum (u A)`; the product takes the matrix value first.
///
/// # Panics
/// If the shapes do not fit.
pub fn vxm<S: Semiring>(
    w: &mut MimicVector<S::Out>,
    mask: Option<&MimicMask>,
    accum: Accumulate<'_, S::Out>,
    _semiring: S,
    u: &MimicVector<S::X>,
    a: &MimicMatrix<S::A>,
    descriptor: Descriptor,
) {
    let a = a.viewed(descriptor.transpose_a);
    assert_eq!(a.rows, u.len(), "rows of the matrix and length of the vector");
    let t: Vec<_> = (0..a.columns).map(|j| dot::<S>((0..a.rows).map(|i| (a.get(i, j), u.0[i]))).map(S::finish)).collect();
    write(&mut w.0, mask, accum, &t, descriptor.replace);
}

/// The entries of `A B` before they are finished.
fn sums<S: Semiring>(a: &MimicMatrix<S::A>, b: &MimicMatrix<S::X>, descriptor: Descriptor) -> (usize, usize, Vec<Option<S::Acc>>) {
    let (a, b) = (a.viewed(descriptor.transpose_a), b.viewed(descriptor.transpose_b));
    assert_eq!(a.columns, b.rows, "inner dimensions");
    let place = |k: usize| dot::<S>((0..a.columns).map(|l| (a.get(k / b.columns, l), b.get(l, k % b.columns))));
    (a.rows, b.columns, (0..a.rows * b.columns).map(place).collect())
}

/// `C<mask> = C accum (A B)`.
///
/// # Panics
/// If the shapes do not fit.
pub fn mxm<S: Semiring>(
    c: &mut MimicMatrix<S::Out>,
    mask: Option<&MimicMask>,
    accum: Accumulate<'_, S::Out>,
    _semiring: S,
    a: &MimicMatrix<S::A>,
    b: &MimicMatrix<S::X>,
    descriptor: Descriptor,
) {
    let (rows, columns, t) = sums::<S>(a, b, descriptor);
    assert_eq!((c.rows, c.columns), (rows, columns), "shape of the output");
    let t: Vec<_> = t.into_iter().map(|sum| sum.map(S::finish)).collect();
    write(&mut c.entries, mask, accum, &t, descriptor.replace);
}

/// The sum of the entries of `A B` that the mask selects, row by row; the identity of the addition if there are none.
///
/// # Panics
/// If the shapes do not fit.
pub fn mxm_reduce<S: Semiring>(
    mask: Option<&MimicMask>,
    _semiring: S,
    a: &MimicMatrix<S::A>,
    b: &MimicMatrix<S::X>,
    descriptor: Descriptor,
) -> S::Out {
    let (_, _, t) = sums::<S>(a, b, descriptor);
    assert!(mask.is_none_or(|m| m.0.len() == t.len()), "shape of the mask");
    let selected = t.into_iter().enumerate().filter(|(k, _)| mask.is_none_or(|m| m.0[*k])).filter_map(|(_, sum)| sum);
    S::finish(selected.reduce(S::add).unwrap_or_else(S::zero))
}

/// `C<mask> = C accum (A kron B)`: entry (i p + k, j q + l) is `op(A(i, j), B(k, l))` for B of p x q.
///
/// # Panics
/// If the shapes do not fit.
pub fn kronecker<T: Scalar, Op: BinaryOp<T>>(
    c: &mut MimicMatrix<T>,
    mask: Option<&MimicMask>,
    accum: Accumulate<'_, T>,
    op: Op,
    a: &MimicMatrix<T>,
    b: &MimicMatrix<T>,
    descriptor: Descriptor,
) {
    let (a, b) = (a.viewed(descriptor.transpose_a), b.viewed(descriptor.transpose_b));
    let t = MimicMatrix::from_fn(a.rows * b.rows, a.columns * b.columns, |i, j| {
        let (x, y) = (a.get(i / b.rows, j / b.columns)?, b.get(i % b.rows, j % b.columns)?);
        Some(op.apply(x, y))
    });
    assert_eq!((c.rows, c.columns), (t.rows, t.columns), "shape of the output");
    write(&mut c.entries, mask, accum, &t.entries, descriptor.replace);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mimic::accumulate;
    use bitgraph_semiring::{AnySecond, LorLand, MinPlus, Minus, Plus, PlusPair, PlusTimes, Times};
    use bitgraph_sparse::MaskMode;

    //     | 1 2 - |
    // A = | - - 3 |
    fn a() -> MimicMatrix<i32> {
        MimicMatrix::from_entries(2, 3, &[(0, 0, 1), (0, 1, 2), (1, 2, 3)])
    }

    #[test]
    fn matrix_vector() {
        let u = MimicVector(vec![Some(10), Some(20), None]);
        let mut w = MimicVector(vec![Some(7), Some(8)]);
        mxv(&mut w, None, None, PlusTimes::<i32>::new(), &a(), &u, Descriptor::DEFAULT);
        assert_eq!(w.0, [Some(50), None]);
        let plus = accumulate(Plus);
        mxv(&mut w, None, Some(&plus), MinPlus::<i32>::new(), &a(), &u, Descriptor::DEFAULT);
        assert_eq!(w.0, [Some(61), None]);
        let mut w = MimicVector::empty(2);
        mxv(&mut w, None, None, AnySecond::<i32>::new(), &a(), &MimicVector::full(&[5, 6, 7]), Descriptor::DEFAULT);
        assert_eq!(w.0, [Some(5), Some(7)]);
        let mut t = MimicVector::empty(3);
        mxv(&mut t, None, None, PlusTimes::<i32>::new(), &a(), &MimicVector::full(&[1, 10]), Descriptor::TRANSPOSE_A);
        assert_eq!(t.0, [Some(1), Some(2), Some(30)]);
        let mut v = MimicVector::empty(3);
        vxm(&mut v, None, None, PlusTimes::<i32>::new(), &MimicVector::full(&[1, 10]), &a(), Descriptor::DEFAULT);
        assert_eq!(t, v);
    }

    #[test]
    fn an_explicit_zero_is_an_entry() {
        let mut w = MimicVector::empty(1);
        let a = MimicMatrix::from_entries(1, 1, &[(0, 0, false)]);
        mxv(&mut w, None, None, LorLand::<bool>::new(), &a, &MimicVector(vec![Some(true)]), Descriptor::DEFAULT);
        assert_eq!(w.0, [Some(false)]);
    }

    #[test]
    fn matrix_matrix() {
        // A A^T = | 5 - |
        //         | - 9 |
        let both = Descriptor { transpose_b: true, ..Descriptor::DEFAULT };
        let mut c = MimicMatrix::empty(2, 2);
        mxm(&mut c, None, None, PlusTimes::<i32>::new(), &a(), &a(), both);
        assert_eq!(c.entries, [Some(5), None, None, Some(9)]);
        assert_eq!(mxm_reduce(None, PlusTimes::<i32>::new(), &a(), &a(), both), 14);
        let mask = MimicMatrix::from_entries(2, 2, &[(0, 0, 1)]).mask(MaskMode::STRUCTURE_COMPLEMENT);
        assert_eq!(mxm_reduce(Some(&mask), PlusTimes::<i32>::new(), &a(), &a(), both), 9);
        // The triangle: L L^T at L is one.
        let l = MimicMatrix::from_entries(3, 3, &[(1, 0, 1u64), (2, 0, 1), (2, 1, 1)]);
        assert_eq!(mxm_reduce(Some(&l.mask(MaskMode::STRUCTURE)), PlusPair::<u64>::new(), &l, &l, both), 1);
        assert_eq!(mxm_reduce(None, MinPlus::<u64>::new(), &MimicMatrix::empty(2, 3), &l, Descriptor::DEFAULT), u64::MAX);
    }

    #[test]
    fn kronecker_products() {
        let b = MimicMatrix::from_entries(1, 2, &[(0, 0, 5), (0, 1, 7)]);
        let mut c = MimicMatrix::empty(2, 6);
        kronecker(&mut c, None, None, Times, &a(), &b, Descriptor::DEFAULT);
        assert_eq!(c.entries[..6], [Some(5), Some(7), Some(10), Some(14), None, None]);
        assert_eq!(c.entries[6..], [None, None, None, None, Some(15), Some(21)]);
        kronecker(&mut c, None, None, Minus, &a(), &b, Descriptor::DEFAULT);
        assert_eq!(c.get(0, 1), Some(-6));
    }
}
