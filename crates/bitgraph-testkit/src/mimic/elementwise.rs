//! Element-wise operations, selection and reduction.

use super::{MimicMatrix, MimicVector};
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
        ///
        /// # Panics
        /// If the shapes do not fit.
        #[must_use]
        pub fn $vector<T: Scalar, Op: BinaryOp<T>>(op: Op, u: &MimicVector<T>, v: &MimicVector<T>) -> MimicVector<T> {
            MimicVector($combine(op, &u.0, &v.0))
        }
        $(#[$doc])*
        ///
        /// # Panics
        /// If the shapes do not fit.
        #[must_use]
        pub fn $matrix<T: Scalar, Op: BinaryOp<T>>(op: Op, a: &MimicMatrix<T>, b: &MimicMatrix<T>) -> MimicMatrix<T> {
            assert_eq!((a.rows, a.columns), (b.rows, b.columns), "operands of one shape");
            MimicMatrix { entries: $combine(op, &a.entries, &b.entries), ..*a }
        }
    };
}
ewise!(/// Over the union of the entries: where only one operand has one, it is taken as it is.
    ewise_add, ewise_add_matrix, union);
ewise!(/// Over the intersection of the entries.
    ewise_mult, ewise_mult_matrix, intersection);

/// `op(u)`.
#[must_use]
pub fn apply<T: Scalar, Op: UnaryOp<T>>(op: Op, u: &MimicVector<T>) -> MimicVector<Op::Out> {
    MimicVector(u.0.iter().map(|e| e.map(|v| op.apply(v))).collect())
}

/// `op(A)`.
#[must_use]
pub fn apply_matrix<T: Scalar, Op: UnaryOp<T>>(op: Op, a: &MimicMatrix<T>) -> MimicMatrix<Op::Out> {
    MimicMatrix::from_fn(a.rows, a.columns, |i, j| a.get(i, j).map(|v| op.apply(v)))
}

/// The entries of `u` that `op` keeps; a vector's entry has column 0.
#[must_use]
pub fn select<T: Scalar, Op: SelectOp<T>>(op: Op, u: &MimicVector<T>) -> MimicVector<T> {
    MimicVector(u.0.iter().enumerate().map(|(i, e)| e.filter(|&v| op.keep(i as u32, 0, v))).collect())
}

/// The entries of `A` that `op` keeps.
#[must_use]
pub fn select_matrix<T: Scalar, Op: SelectOp<T>>(op: Op, a: &MimicMatrix<T>) -> MimicMatrix<T> {
    MimicMatrix::from_fn(a.rows, a.columns, |i, j| a.get(i, j).filter(|&v| op.keep(i as u32, j as u32, v)))
}

/// The entries combined by a monoid, in ascending order and in the type that sums are formed in; its identity if there are none.
pub fn reduce<T: Scalar, M: Monoid<T>>(_monoid: M, u: &MimicVector<T>) -> T {
    M::fold(u.0.iter().flatten().copied()).map_or_else(M::identity, T::narrow)
}

/// All entries combined by a monoid, row by row; its identity if there are none.
pub fn reduce_matrix<T: Scalar, M: Monoid<T>>(_monoid: M, a: &MimicMatrix<T>) -> T {
    M::fold(a.entries.iter().flatten().copied()).map_or_else(M::identity, T::narrow)
}

/// The entries of each row combined by a monoid; a row without entries has no result.
#[must_use]
pub fn reduce_rows<T: Scalar, M: Monoid<T>>(_monoid: M, a: &MimicMatrix<T>) -> MimicVector<T> {
    MimicVector((0..a.rows).map(|i| M::fold((0..a.columns).filter_map(|j| a.get(i, j))).map(T::narrow)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_semiring::{AdditiveInverse, IfNonZero, Min, Minus, OffDiagonal, Plus, Tril, ValueAbove};

    #[test]
    fn union_and_intersection() {
        let u = MimicVector(vec![Some(1), Some(2), None, None]);
        let v = MimicVector(vec![Some(10), None, Some(30), None]);
        // An entry of the second operand alone is taken as it is, not negated.
        assert_eq!(ewise_add(Minus, &u, &v).0, [Some(-9), Some(2), Some(30), None]);
        assert_eq!(ewise_mult(Minus, &u, &v).0, [Some(-9), None, None, None]);
        let a = MimicMatrix::from_entries(1, 2, &[(0, 0, 3), (0, 1, 4)]).transposed();
        assert_eq!(ewise_add_matrix(Plus, &a, &a).entries, [Some(6), Some(8)]);
        assert_eq!(ewise_mult_matrix(Minus, &a, &a), MimicMatrix { rows: 2, columns: 1, entries: vec![Some(0), Some(0)] });
    }

    #[test]
    fn apply_select_reduce() {
        let u = MimicVector(vec![Some(1), None, Some(0), Some(5)]);
        assert_eq!(apply(AdditiveInverse, &u).0, [Some(-1), None, Some(0), Some(-5)]);
        assert_eq!(apply(IfNonZero, &u).0, [Some(true), None, Some(false), Some(true)]);
        assert_eq!(select(ValueAbove(0), &u).0, [Some(1), None, None, Some(5)]);
        assert_eq!((reduce(Plus, &u), reduce(Min, &u), reduce(Min, &MimicVector::<i32>::empty(3))), (6, 0, i32::MAX));
        let a = MimicMatrix::from_entries(2, 2, &[(0, 0, 1), (0, 1, 2), (1, 1, 4)]);
        assert_eq!(select_matrix(OffDiagonal {}, &a).entries, [None, Some(2), None, None]);
        assert_eq!(select_matrix(Tril { diagonal: 0 }, &a.transposed()).entries, [Some(1), None, Some(2), Some(4)]);
        assert_eq!(apply_matrix(AdditiveInverse, &a).entries, [Some(-1), Some(-2), None, Some(-4)]);
        assert_eq!((reduce_rows(Plus, &a.transposed()).0, reduce_matrix(Plus, &a)), (vec![Some(1), Some(6)], 7));
    }
}
