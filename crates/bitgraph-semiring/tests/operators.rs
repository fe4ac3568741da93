//! Operators on both sides of the values at which they change their mind.

use bitgraph_semiring::{Absolute, AdditiveInverse, BinaryOp, Minus, OffDiagonal, Scalar, SelectOp, Tril, Triu, UnaryOp};

#[test]
fn triangles_hold_their_diagonal() {
    for diagonal in [-3i64, -1, 0, 1, 2] {
        for row in 0..6u32 {
            for column in 0..6u32 {
                let along = i64::from(column) - i64::from(row);
                let place = format!("({row}, {column}), diagonal {diagonal}");
                assert_eq!(SelectOp::<i32>::keep(&Triu { diagonal }, row, column, 1), along >= diagonal, "upper, {place}");
                assert_eq!(SelectOp::<i32>::keep(&Tril { diagonal }, row, column, 1), along <= diagonal, "lower, {place}");
                assert_eq!(SelectOp::<i32>::keep(&OffDiagonal {}, row, column, 1), row != column, "{place}");
            }
        }
    }
    // The farthest places there are.
    assert!(SelectOp::<i32>::keep(&Triu { diagonal: i64::from(u32::MAX) }, 0, u32::MAX, 1));
    assert!(SelectOp::<i32>::keep(&Tril { diagonal: -i64::from(u32::MAX) }, u32::MAX, 0, 1));
}

#[test]
fn arithmetic_of_bool() {
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(a.minus(b), a != b, "{a} - {b}");
        assert_eq!(BinaryOp::<bool>::apply(&Minus, a, b), a != b, "{a} - {b}");
        assert_eq!(a.plus_saturating(b), a || b, "{a} + {b}");
        assert_eq!(a.times(b), a && b, "{a} * {b}");
        assert_eq!(a.min_of(b), a && b, "the smaller of {a} and {b}");
        assert_eq!(a.max_of(b), a || b, "the greater of {a} and {b}");
    }
}

#[test]
fn arithmetic_at_the_ends_of_integers() {
    assert_eq!((0u8.minus(1), i8::MIN.minus(1), u32::MAX.plus_saturating(1)), (255, 127, u32::MAX));
    assert_eq!((i64::MAX.plus_saturating(1), i64::MIN.plus_saturating(-1)), (i64::MAX, i64::MIN));
    assert_eq!((200u8.times(2), f64::NAN.min_of(1.0), 1.0.max_of(f64::NAN)), (144, 1.0, 1.0));
}

/// What has a sign loses it, whatever the type; the smallest integer has no magnitude of its type, and wraps.
#[test]
fn magnitudes_in_every_type() {
    fn signed<T: Scalar>() {
        for (value, magnitude) in [(-3.0, 3.0), (3.0, 3.0), (0.0, 0.0), (-127.0, 127.0)] {
            let found = UnaryOp::<T>::apply(&Absolute, T::from_f64(value));
            assert_eq!(found.to_f64(), magnitude, "{:?}: {value}", T::DTYPE);
            assert_eq!(UnaryOp::<T>::apply(&AdditiveInverse, T::from_f64(value)).to_f64(), -value, "{:?}: {value}", T::DTYPE);
        }
    }
    fn unsigned<T: Scalar>() {
        for value in [T::ZERO, T::ONE, T::largest()] {
            assert_eq!(UnaryOp::<T>::apply(&Absolute, value), value, "{:?}", T::DTYPE);
        }
    }
    signed::<i8>();
    signed::<i16>();
    signed::<i32>();
    signed::<i64>();
    signed::<half::f16>();
    signed::<half::bf16>();
    signed::<f32>();
    signed::<f64>();
    unsigned::<u8>();
    unsigned::<u16>();
    unsigned::<u32>();
    unsigned::<u64>();
    unsigned::<bool>();
    assert_eq!((UnaryOp::<i64>::apply(&Absolute, i64::MIN), UnaryOp::<i64>::apply(&Absolute, i64::MIN + 1)), (i64::MIN, i64::MAX));
}
