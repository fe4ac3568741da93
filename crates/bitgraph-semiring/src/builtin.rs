//! The built-in semirings. `T` is the storage type; halves are summed in `f32`.

use crate::semiring::{Name, Over};
use crate::{Any, DeviceExpr, Lor, Max, Min, Plus, Scalar, Semiring};
use std::marker::PhantomData;

macro_rules! semiring {
    ($(#[$doc:meta])* $name:ident $text:literal $add:ident, $multiply:expr, $device:expr $(, ignores_x = $ignores:expr)?) => {
        $(#[$doc])*
        pub struct $name<T> {
            element: PhantomData<fn() -> T>,
        }
        $(#[$doc])*
        #[allow(non_upper_case_globals)]
        pub const $name: Name<$name<()>> = Name(PhantomData);
        impl<T: Scalar> Over<T> for Name<$name<()>> {
            type Semiring = $name<T>;
        }
        impl<T> $name<T> {
            /// The semiring as a value, for calls that take it as an argument.
            #[must_use]
            pub const fn new() -> Self { Self { element: PhantomData } }
        }
        impl<T> Clone for $name<T> { fn clone(&self) -> Self { *self } }
        impl<T> Copy for $name<T> {}
        impl<T> Default for $name<T> { fn default() -> Self { Self::new() } }
        impl<T> std::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str($text) }
        }
        impl<T: Scalar> Semiring for $name<T> {
            type A = T;
            type X = T;
            type Acc = T::Accumulator;
            type Out = T;
            type Add = $add;
            const NAME: &'static str = $text;
            const DEVICE: Option<DeviceExpr> = Some($device);
            $( const IGNORES_X: bool = $ignores; )?
            #[inline(always)]
            fn multiply(a: T, x: T) -> T::Accumulator { let f: fn(T, T) -> T::Accumulator = $multiply; f(a, x) }
            #[inline(always)]
            fn finish(acc: T::Accumulator) -> T { T::narrow(acc) }
        }
    };
}

const fn device(multiply: &'static str, pattern: &'static str, add: &'static str, identity: &'static str) -> DeviceExpr {
    DeviceExpr { multiply, multiply_pattern: pattern, add, identity, finish: "acc" }
}
const MIN: &str = "bg_min(a, b)";
const MAX: &str = "bg_max(a, b)";

semiring!(/// Or of ands: reachability. `BFS`.
    LorLand "lor_land" Lor, |a, x| if a.is_non_zero() && x.is_non_zero() { Scalar::ONE } else { Scalar::ZERO },
    device("(a != 0) && (x != 0)", "x != 0", "a || b", "0"));
semiring!(/// Sum of products: the arithmetic semiring. `PageRank`.
    PlusTimes "plus_times" Plus, |a, x| a.widen().times(x.widen()), device("a * x", "x", "a + b", "0"));
semiring!(/// Minimum of sums: shortest paths. The greatest value is infinity and absorbs.
    MinPlus "min_plus" Min, |a, x| a.widen().plus_saturating(x.widen()),
    device("bg_plus_saturating(a, x)", "bg_plus_saturating(1, x)", MIN, "bg_greatest()"));
semiring!(/// Maximum of sums: critical paths. The least value is minus infinity and absorbs; of unsigned types it is 0, a path of no length.
    MaxPlus "max_plus" Max, |a, x| a.widen().plus_saturating(x.widen()),
    device("bg_plus_saturating(a, x)", "bg_plus_saturating(1, x)", MAX, "bg_least()"));
semiring!(/// Minimum of products.
    MinTimes "min_times" Min, |a, x| a.widen().times(x.widen()), device("a * x", "x", MIN, "bg_greatest()"));
semiring!(/// Maximum of products.
    MaxTimes "max_times" Max, |a, x| a.widen().times(x.widen()), device("a * x", "x", MAX, "bg_least()"));
semiring!(/// Minimum of the matrix values.
    MinFirst "min_first" Min, |a, _| a.widen(), device("a", "1", MIN, "bg_greatest()"), ignores_x = true);
semiring!(/// Minimum of the vector values: connected components.
    MinSecond "min_second" Min, |_, x| x.widen(), device("x", "x", MIN, "bg_greatest()"));
semiring!(/// Maximum of minima: widest paths.
    MaxMin "max_min" Max, |a, x| a.least_of(x).widen(), device("bg_min(a, x)", "bg_min(1, x)", MAX, "bg_least()"));
semiring!(/// Count of the meeting entries: triangle counting.
    PlusPair "plus_pair" Plus, |_, _| Scalar::ONE, device("1", "1", "a + b", "0"), ignores_x = true);
semiring!(/// Sum of the matrix values.
    PlusFirst "plus_first" Plus, |a, _| a.widen(), device("a", "1", "a + b", "0"), ignores_x = true);
semiring!(/// Sum of the vector values: an unweighted neighbourhood sum.
    PlusSecond "plus_second" Plus, |_, x| x.widen(), device("x", "x", "a + b", "0"));
semiring!(/// Any of the vector values, that of the smallest column: parents of a search.
    AnySecond "any_second" Any, |_, x| x.widen(), device("x", "x", "a", "0"));
semiring!(/// Whether anything meets.
    AnyPair "any_pair" Any, |_, _| Scalar::ONE, device("1", "1", "a", "0"), ignores_x = true);

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn dot<S: Semiring>(a: &[S::A], x: &[S::X]) -> S::Out {
        let mut acc: Option<S::Acc> = None;
        for (&a, &x) in a.iter().zip(x) {
            let p = S::multiply(a, x);
            acc = Some(acc.map_or(p, |s| S::add(s, p)));
            if acc.is_some_and(S::is_terminal) {
                break;
            }
        }
        S::finish(acc.unwrap_or_else(S::zero))
    }

    #[test]
    fn every_semiring_on_one_row() {
        let (a, x) = ([2, 5, 3], [7, 1, 4]);
        assert_eq!(dot::<PlusTimes<i32>>(&a, &x), 31);
        assert_eq!(dot::<MinPlus<i32>>(&a, &x), 6);
        assert_eq!(dot::<MaxPlus<i32>>(&a, &x), 9);
        assert_eq!(dot::<MinTimes<i32>>(&a, &x), 5);
        assert_eq!(dot::<MaxTimes<i32>>(&a, &x), 14);
        assert_eq!(dot::<MinFirst<i32>>(&a, &x), 2);
        assert_eq!(dot::<MinSecond<i32>>(&a, &x), 1);
        assert_eq!(dot::<MaxMin<i32>>(&a, &x), 3);
        assert_eq!(dot::<PlusPair<i32>>(&a, &x), 3);
        assert_eq!(dot::<PlusFirst<i32>>(&a, &x), 10);
        assert_eq!(dot::<PlusSecond<i32>>(&a, &x), 12);
        assert_eq!(dot::<AnySecond<i32>>(&a, &x), 7);
        assert_eq!(dot::<AnyPair<i32>>(&a, &x), 1);
        assert!(dot::<LorLand<bool>>(&[true, false], &[true, true]));
        assert!(!dot::<LorLand<bool>>(&[true, false], &[false, true]));
    }

    #[test]
    fn half_precision_storage_sums_in_single() {
        let ones = vec![f16::ONE; 4096];
        assert_eq!(dot::<PlusTimes<f16>>(&ones, &ones).to_f64(), 4096.0);
        assert_eq!(PlusTimes::<f16>::multiply(f16::from_f32(60000.0), f16::from_f32(2.0)), 120_000.0f32);
    }

    #[test]
    fn infinity_absorbs_in_min_plus() {
        assert_eq!(MinPlus::<u32>::multiply(3, u32::MAX), u32::MAX);
        assert_eq!(MinPlus::<f32>::multiply(3.0, f32::INFINITY), f32::INFINITY);
    }
}
