//! Element-wise operations, selection and reduction.

use super::{Accumulate, Descriptor, MimicMask, MimicMatrix, MimicVector, write};
use bitgraph_semiring::{BinaryOp, Monoid, Scalar, SelectOp, UnaryOp};

/// Over the union: both entries combined, or the only one as it is.
fn union<T: Scalar, Op: BinaryOp<T>>(op: Op, u: &[Option<T>], v: &[Option<T>]) -> Vec<Option<T>> {
    assert_eq!(u.len(), v.len(), "operands of one shape");
    u.iter()
        .zip(v)
        .map(|(&a, &b)| match (a, b) {
            (Some(a), Some(b)) => Some(op.apply(a, b)),
            (a, b) => a.or(b),
        })
        .collect()
}

/// Over the intersection.
fn intersection<T: Scalar, Op: BinaryOp<T>>(op: Op, u: &[Option<T>], v: &[Option<T>]) -> Vec<Option<T>> {
    assert_eq!(u.len(), v.len(), "operands of one shape");
    u.iter().zip(v).map(|(&a, &b)| Some(op.apply(a?, b?))).collect()
}

macro_rules! ewise {
    ($(#[$doc:meta])* $vector:ident, $matrix:ident, $combine:ident) => {
        $(#[$doc])*
        /// For vectors: `w<mask> = w accum (u op v)`.
        ///
        /// # Panics
        /// If the shapes do not fit.
        pub fn $vector<T: Scalar, Op: BinaryOp<T>>(
            w: &mut MimicVector<T>,
            mask: Option<&MimicMask>,
            accum: Accumulate<'_, T>,
            op: Op,
            u: &MimicVector<T>,
            v: &MimicVector<T>,
            descriptor: Descriptor,
        ) {
            write(&mut w.0, mask, accum, &$combine(op, &u.0, &v.0), descriptor.replace);
        }
        $(#[$doc])*
        /// For matrices: `C<mask> = C accum (A op B)`.
        ///
        /// # Panics
        /// If the shapes do not fit.
        pub fn $matrix<T: Scalar, Op: BinaryOp<T>>(
            c: &mut MimicMatrix<T>,
            mask: Option<&MimicMask>,
            accum: Accumulate<'_, T>,
            op: Op,
            a: &MimicMatrix<T>,
            b: &MimicMatrix<T>,
            descriptor: Descriptor,
        ) {
            let (a, b) = (a.viewed(descriptor.transpose_a), b.viewed(descriptor.transpose_b));
            assert_eq!((a.rows, a.columns), (b.rows, b.columns), "operands of one shape");
            write(&mut c.entries, mask, accum, &$combine(op, &a.entries, &b.entries), descriptor.replace);
        }
    };
}
ewise!(/// Over the union of the entries: where only one operand has one, it is taken as it is.
    ewise_add, ewise_add_matrix, union);
ewise!(/// Over the intersection of the entries.
    ewise_mult, ewise_mult_matrix, intersection);

/// `w<mask> = w accum op(u)`.
///
/// # Panics
/// If the shapes do not fit.
pub fn apply<T: Scalar, Op: UnaryOp<T>>(
    w: &mut MimicVector<Op::Out>,
    mask: Option<&MimicMask>,
    accum: Accumulate<'_, Op::Out>,
    op: Op,
    u: &MimicVector<T>,
    descriptor: Descriptor,
) {
    let t: Vec<_> = u.0.iter().map(|e| e.map(|v| op.apply(v))).collect();
    write(&mut w.0, mask, accum, &t, descriptor.replace);
}

/// `C<mask> = C accum op(A)`.
///
/// # Panics
/// If the shapes do not fit.
pub fn apply_matrix<T: Scalar, Op: UnaryOp<T>>(
    c: &mut MimicMatrix<Op::Out>,
    mask: Option<&MimicMask>,
    accum: Accumulate<'_, Op::Out>,
    op: Op,
    a: &MimicMatrix<T>,
    descriptor: Descriptor,
) {
    let t: Vec<_> = a.viewed(descriptor.transpose_a).entries.iter().map(|e| e.map(|v| op.apply(v))).collect();
    write(&mut c.entries, mask, accum, &t, descriptor.replace);
}

/// `w<mask> = w accum` the entries of `u` that `op` keeps; a vector's entry has column 0.
///
/// # Panics
/// If the shapes do not fit.
pub fn select<T: Scalar, Op: SelectOp<T>>(
    w: &mut MimicVector<T>,
    mask: Option<&MimicMask>,
    accum: Accumulate<'_, T>,
    op: Op,
    u: &MimicVector<T>,
    descriptor: Descriptor,
) {
    let t: Vec<_> = u.0.iter().enumerate().map(|(i, e)| e.filter(|&v| op.keep(i as u32, 0, v))).collect();
    write(&mut w.0, mask, accum, &t, descriptor.replace);
}

/// `C<mask> = C accum` the entries of `A` that `op` keeps.
///
/// # Panics
/// If the shapes do not fit.
pub fn select_matrix<T: Scalar, Op: SelectOp<T>>(
    c: &mut MimicMatrix<T>,
    mask: Option<&MimicMask>,
    accum: Accumulate<'_, T>,
    op: Op,
    a: &MimicMatrix<T>,
    descriptor: Descriptor,
) {
    let a = a.viewed(descriptor.transpose_a);
    let t = MimicMatrix::from_fn(a.rows, a.columns, |i, j| a.get(i, j).filter(|&v| op.keep(i as u32, j as u32, v)));
    write(&mut c.entries, mask, accum, &t.entries, descriptor.replace);
}

/// The entries combined by a monoid, in ascending order and in the type that sums are formed in; its identity if there are none.
pub fn reduce<T: Scalar, M: Monoid<T>>(_monoid: M, u: &MimicVector<T>) -> T {
    M::fold(u.0.iter().flatten().copied()).map_or_else(M::identity, T::narrow)
}

/// All entries combined by a monoid, row by row; its identity if there are none.
pub fn reduce_matrix<T: Scalar, M: Monoid<T>>(_monoid: M, a: &MimicMatrix<T>) -> T {
    M::fold(a.entries.iter().flatten().copied()).map_or_else(M::identity, T::narrow)
}

/// `w<mask> = w accum` the entries of each row combined by a monoid; a row without entries has no result.
///
/// # Panics
/// If the shapes do not fit.
pub fn reduce_rows<T: Scalar, M: Monoid<T>>(
    w: &mut MimicVector<T>,
    mask: Option<&MimicMask>,
    accum: Accumulate<'_, T>,
    _monoid: M,
    a: &MimicMatrix<T>,
    descriptor: Descriptor,
) {
    let a = a.viewed(descriptor.transpose_a);
    let t: Vec<_> = (0..a.rows).map(|i| M::fold((0..a.columns).filter_map(|j| a.get(i, j))).map(T::narrow)).collect();
    write(&mut w.0, mask, accum, &t, descriptor.replace);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_semiring::{AdditiveInverse, IfNonZero, Min, Minus, OffDiagonal, Plus, Tril, ValueAbove};

    #[test]
    fn union_and_intersection() {
        let u = MimicVector(vec![Some(1), Some(2), None, None]);
        let v = MimicVector(vec![Some(10), None, Some(30), None]);
        let mut w = MimicVector::empty(4);
        ewise_add(&mut w, None, None, Minus, &u, &v, Descriptor::DEFAULT);
        // An entry of the second operand alone is taken as it is, not negated.
        assert_eq!(w.0, [Some(-9), Some(2), Some(30), None]);
        ewise_mult(&mut w, None, None, Minus, &u, &v, Descriptor::DEFAULT);
        assert_eq!(w.0, [Some(-9), None, None, None]);
        let a = MimicMatrix::from_entries(1, 2, &[(0, 0, 3), (0, 1, 4)]);
        let mut c = MimicMatrix::empty(2, 1);
        let d = Descriptor { transpose_a: true, transpose_b: true, replace: false };
        ewise_add_matrix(&mut c, None, None, Plus, &a, &a, d);
        assert_eq!(c.entries, [Some(6), Some(8)]);
        ewise_mult_matrix(&mut c, None, None, Minus, &a, &a, d);
        assert_eq!(c.entries, [Some(0), Some(0)]);
    }

    #[test]
    fn apply_select_reduce() {
        let u = MimicVector(vec![Some(1), None, Some(0), Some(5)]);
        let mut w = MimicVector::empty(4);
        apply(&mut w, None, None, AdditiveInverse, &u, Descriptor::DEFAULT);
        assert_eq!(w.0, [Some(-1), None, Some(0), Some(-5)]);
        let mut b = MimicVector::empty(4);
        apply(&mut b, None, None, IfNonZero, &u, Descriptor::DEFAULT);
        assert_eq!(b.0, [Some(true), None, Some(false), Some(true)]);
        select(&mut w, None, None, ValueAbove(0), &u, Descriptor::DEFAULT);
        assert_eq!(w.0, [Some(1), None, None, Some(5)]);
        assert_eq!((reduce(Plus, &u), reduce(Min, &u), reduce(Min, &MimicVector::<i32>::empty(3))), (6, 0, i32::MAX));
        let a = MimicMatrix::from_entries(2, 2, &[(0, 0, 1), (0, 1, 2), (1, 1, 4)]);
        let mut c = MimicMatrix::empty(2, 2);
        select_matrix(&mut c, None, None, OffDiagonal {}, &a, Descriptor::DEFAULT);
        assert_eq!(c.entries, [None, Some(2), None, None]);
        select_matrix(&mut c, None, None, Tril { diagonal: 0 }, &a, Descriptor::TRANSPOSE_A);
        assert_eq!(c.entries, [Some(1), None, Some(2), Some(4)]);
        apply_matrix(&mut c, None, None, AdditiveInverse, &a, Descriptor::TRANSPOSE_A);
        assert_eq!(c.entries, [Some(-1), None, Some(-2), Some(-4)]);
        let mut w = MimicVector::empty(2);
        reduce_rows(&mut w, None, None, Plus, &a, Descriptor::TRANSPOSE_A);
        assert_eq!((w.0, reduce_matrix(Plus, &a)), (vec![Some(1), Some(6)], 7));
    }
}
