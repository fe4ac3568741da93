//! The built-in semirings. `T` is the storage type; halves are summed in `f32`.

use crate::{Any, Lor, Max, Min, Monoid, Name, Over, Plus, Scalar, Semiring, semiring};
use std::marker::PhantomData;

semiring! {
    /// Or of ands: reachability. `BFS`.
    pub struct LorLand<T>: T, T => T;
    name = "lor_land";
    add = Lor;
    multiply(a, x) { a != 0 && x != 0 }
}
semiring! {
    /// Sum of products: the arithmetic semiring. `PageRank`.
    pub struct PlusTimes<T>: T, T => T;
    name = "plus_times";
    add = Plus;
    multiply(a, x) { a * x }
}
semiring! {
    /// Minimum of sums: shortest paths. The largest value is infinity and absorbs.
    pub struct MinPlus<T>: T, T => T;
    name = "min_plus";
    add = Min;
    multiply(a, x) { a.saturating_add(x) }
}
semiring! {
    /// Maximum of sums: critical paths. The smallest value is minus infinity and absorbs; of unsigned types it is 0, a path of no length.
    pub struct MaxPlus<T>: T, T => T;
    name = "max_plus";
    add = Max;
    multiply(a, x) { a.saturating_add(x) }
}
semiring! {
    /// Minimum of products.
    pub struct MinTimes<T>: T, T => T;
    name = "min_times";
    add = Min;
    multiply(a, x) { a * x }
}
semiring! {
    /// Maximum of products.
    pub struct MaxTimes<T>: T, T => T;
    name = "max_times";
    add = Max;
    multiply(a, x) { a * x }
}
semiring! {
    /// Minimum of the matrix values.
    pub struct MinFirst<T>: T, T => T;
    name = "min_first";
    add = Min;
    multiply(a, x) { a }
}
semiring! {
    /// Minimum of the vector values: connected components.
    pub struct MinSecond<T>: T, T => T;
    name = "min_second";
    add = Min;
    multiply(a, x) { x }
}
semiring! {
    /// Maximum of minima: widest paths.
    pub struct MaxMin<T>: T, T => T;
    name = "max_min";
    add = Max;
    multiply(a, x) { a.min(x) }
}
semiring! {
    /// Count of the meeting entries: triangle counting.
    pub struct PlusPair<T>: T, T => T;
    name = "plus_pair";
    add = Plus;
    multiply(a, x) { 1 }
}
semiring! {
    /// Sum of the matrix values.
    pub struct PlusFirst<T>: T, T => T;
    name = "plus_first";
    add = Plus;
    multiply(a, x) { a }
}
semiring! {
    /// Sum of the vector values: an unweighted neighbourhood sum.
    pub struct PlusSecond<T>: T, T => T;
    name = "plus_second";
    add = Plus;
    multiply(a, x) { x }
}
semiring! {
    /// Any of the vector values, that of the smallest column: parents of a search.
    pub struct AnySecond<T>: T, T => T;
    name = "any_second";
    add = Any;
    multiply(a, x) { x }
}
semiring! {
    /// Whether anything meets.
    pub struct AnyPair<T>: T, T => T;
    name = "any_pair";
    add = Any;
    multiply(a, x) { 1 }
}

macro_rules! named {
    ($($name:ident)*) => { $(
        #[doc = concat!("The semiring [`struct@", stringify!($name), "`] over the type of the vector that it meets.")]
        #[allow(non_upper_case_globals)]
        pub const $name: Name<$name<()>> = Name(PhantomData);
        impl<T: Scalar> Over<T> for Name<$name<()>> {
            type Semiring = $name<T>;
        }
    )* };
}
named!(LorLand PlusTimes MinPlus MaxPlus MinTimes MaxTimes MinFirst MinSecond MaxMin PlusPair PlusFirst PlusSecond AnySecond AnyPair);

/// The name of the built-in semiring that `S` is: itself, or one of a user's own with the same formulas over one built-in type. A backend
/// that has kernels of its own for a built-in semiring runs them for both. Known at compile time, so that asking costs nothing.
#[must_use]
pub const fn builtin_name<S: Semiring>() -> Option<&'static str> {
    const { known::<S>() }
}

const fn known<S: Semiring>() -> Option<&'static str> {
    let (Some(form), Some(sum)) = (S::DEVICE, <S::Add as Monoid<S::Acc>>::DEVICE) else { return None };
    // Of one type, and summed as it is. Formulas do not depend on the type, so that those of any will do.
    let t = S::A::DTYPE as u8;
    let acc = <<S::A as Scalar>::Accumulator as Scalar>::DTYPE as u8;
    if S::X::DTYPE as u8 != t || S::Out::DTYPE as u8 != t || S::Acc::DTYPE as u8 != acc {
        return None;
    }
    macro_rules! first {
        ($($semiring:ident)*) => { $(
            if let (Some(f), Some(s)) = ($semiring::<f32>::DEVICE, <<$semiring<f32> as Semiring>::Add as Monoid<f32>>::DEVICE)
                && same(form.multiply, f.multiply)
                && same(form.multiply_pattern, f.multiply_pattern)
                && same(form.finish, f.finish)
                && same(sum.combine, s.combine)
                && same(sum.identity, s.identity)
            {
                return Some($semiring::<f32>::NAME);
            }
        )* };
    }
    first!(LorLand PlusTimes MinPlus MaxPlus MinTimes MaxTimes MinFirst MinSecond MaxMin PlusPair PlusFirst PlusSecond AnySecond AnyPair);
    None
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

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

    semiring! {
        /// The same formula as (plus, times).
        struct Own: f64, f64 => f64;
        add = Plus;
        multiply(a, x) { a * x }
    }
    semiring! {
        /// Summed in another type.
        struct Wide: f32, f32 => f64 => f32;
        add = Plus;
        multiply(a, x) { a * x }
    }

    #[test]
    fn the_same_formula_is_the_same_semiring() {
        assert_eq!((builtin_name::<Own>(), builtin_name::<PlusTimes<f16>>()), (Some("plus_times"), Some("plus_times")));
        assert_eq!((builtin_name::<AnySecond<u8>>(), builtin_name::<MaxMin<i64>>()), (Some("any_second"), Some("max_min")));
        assert_eq!(builtin_name::<Wide>(), None);
        assert_eq!((Own::NAME, PlusTimes::<u8>::IGNORES_X, PlusPair::<u8>::IGNORES_X), ("Own", false, true));
    }

    #[test]
    fn patterns_count_as_ones() {
        assert_eq!((MinPlus::<u8>::multiply_pattern(7), PlusTimes::<i32>::multiply_pattern(7)), (8, 7));
        assert_eq!(MinPlus::<u8>::DEVICE.unwrap().multiply_pattern, "num(1).saturating_add(num(x))");
    }
}
