//! Commutative monoids: the additions of the semirings, and the reductions.

use crate::{DeviceMonoid, Scalar};
use std::fmt::Debug;

/// An associative, commutative operation with an identity; a zero-sized type. [`monoid!`](crate::monoid) defines one by its formulas.
pub trait Monoid<T: Scalar>: Copy + Default + Debug + Send + Sync + 'static {
    /// The name, as part of a kernel symbol.
    const NAME: &'static str;
    /// Whether any value is terminal, so that a kernel without one never tests for it.
    const HAS_TERMINAL: bool = false;
    /// The same formulas in CUDA C++; `None` if the monoid runs on the CPU only.
    const DEVICE: Option<DeviceMonoid> = None;
    /// The neutral element.
    fn identity() -> T;
    /// The operation.
    fn combine(a: T, b: T) -> T;
    /// The operation on values of the type that sums are formed in, so that a reduction of halves rounds once and not at every step.
    /// By default every step is rounded to `T`.
    #[inline(always)]
    fn combine_wide(a: T::Accumulator, b: T::Accumulator) -> T::Accumulator {
        Self::combine(T::narrow(a), T::narrow(b)).widen()
    }
    /// The values combined in their order, as by [`Monoid::fold_wide`], or up to a terminal value; `None` of none.
    #[inline]
    fn fold(values: impl Iterator<Item = T>) -> Option<T::Accumulator> {
        let mut values = values.map(T::widen);
        if !Self::HAS_TERMINAL {
            return Self::fold_wide(values);
        }
        let mut sum = values.next()?;
        while !Self::is_terminal(T::narrow(sum))
            && let Some(value) = values.next()
        {
            sum = Self::combine_wide(sum, value);
        }
        Some(sum)
    }
    /// The values combined in their order by [`Monoid::combine_wide`], runs of 16 in pairs of pairs; `None` of none.
    ///
    /// No value of `n` is in more than `16 + log2 n` operations. A sum of floats therefore errs by at most so many units of
    /// roundoff of the sum of magnitudes, where one value after the other would err by `n` of them.
    #[inline]
    fn fold_wide(mut values: impl Iterator<Item = T::Accumulator>) -> Option<T::Accumulator> {
        const RUN: usize = 16;
        let mut run = || values.by_ref().take(RUN).reduce(Self::combine_wide);
        let first = run()?;
        let Some(second) = run() else { return Some(first) };
        // The sums so far, of 1, 2, 4 runs and so on, as the digits of a binary counter: lower ones are of later values.
        let mut sums = [None; usize::BITS as usize];
        for run_sum in [first, second].into_iter().chain(std::iter::from_fn(run)) {
            let mut sum = run_sum;
            for digit in &mut sums {
                let Some(before) = digit.take() else {
                    *digit = Some(sum);
                    break;
                };
                sum = Self::combine_wide(before, sum);
            }
        }
        sums.into_iter().flatten().reduce(|later, before| Self::combine_wide(before, later))
    }
    /// Whether nothing combined with `value` can change it, so that a reduction may stop.
    #[inline(always)]
    fn is_terminal(value: T) -> bool {
        let _ = value;
        false
    }
}

/// Defines a [`Monoid`] by formulas, for CPU and GPU alike; it is a [`BinaryOp`](crate::BinaryOp) too, for accumulation.
///
/// After the name comes the type of the values, or `for<T> T` for every element type. `terminal` says when nothing can change a
/// value any more, so that sums may stop there; leave it out if there is no such value.
///
/// ```
/// use bitgraph_semiring::{Monoid, monoid};
///
/// monoid! {
///     /// The magnitude that is largest, at most 100.
///     pub struct Loudest: f32;
///     identity { 0 }
///     combine(a, b) { a.abs().max(b.abs()).min(100) }
///     terminal(a) { a == 100 }
/// }
/// assert_eq!(Loudest::fold([3.0, -7.0, 2.0].into_iter()), Some(7.0));
/// ```
#[macro_export]
macro_rules! monoid {
    ($(#[$meta:meta])* $vis:vis struct $name:ident : for<$t:ident> $value:ty ; $($body:tt)*) => {
        $crate::monoid! { @define [$(#[$meta])* $vis struct $name] [<$t: $crate::Scalar>] $value; $($body)* }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident : $value:ty ; $($body:tt)*) => {
        $crate::monoid! { @define [$(#[$meta])* $vis struct $name] [] $value; $($body)* }
    };
    (@define [$(#[$meta:meta])* $vis:vis struct $name:ident] [$($generics:tt)*] $value:ty; $(name = $text:literal;)?
        identity { $($i:tt)+ } combine($pa:ident, $pb:ident) { $($c:tt)+ } $(terminal($pt:ident) { $($s:tt)+ })?) => {
        $crate::__operands!(combine $pa $pb);
        $( $crate::__operands!(terminal $pt); )?
        $(#[$meta])*
        #[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
        $vis struct $name;
        #[allow(unused_variables, unused_parens)]
        impl $($generics)* $crate::Monoid<$value> for $name {
            const NAME: &'static str = $crate::__name!($name $($text)?);
            const HAS_TERMINAL: bool = {
                let terminal: ::core::option::Option<&str> = $crate::__optional!($( $crate::__formula!(@cpp $($s)+) )?);
                terminal.is_some()
            };
            const DEVICE: ::core::option::Option<$crate::DeviceMonoid> =
                $crate::formula_of::<$value, $value, <$value as $crate::Scalar>::Accumulator, $value, _>($crate::DeviceMonoid {
                    combine: $crate::__formula!(@cpp $($c)+),
                    identity: $crate::__formula!(@cpp $($i)+),
                    terminal: $crate::__optional!($( $crate::__formula!(@cpp $($s)+) )?),
                });
            #[inline(always)]
            fn identity() -> $value {
                $crate::Outcome::<$value>::value($crate::__formula!(@rust [] $($i)+))
            }
            #[inline(always)]
            fn combine($pa: $value, $pb: $value) -> $value {
                $crate::Scalar::narrow(<Self as $crate::Monoid<$value>>::combine_wide($crate::Scalar::widen($pa), $crate::Scalar::widen($pb)))
            }
            #[inline(always)]
            fn combine_wide(
                $pa: <$value as $crate::Scalar>::Accumulator,
                $pb: <$value as $crate::Scalar>::Accumulator,
            ) -> <$value as $crate::Scalar>::Accumulator {
                let ($pa, $pb) = ($crate::Number($pa), $crate::Number($pb));
                $crate::Outcome::<<$value as $crate::Scalar>::Accumulator>::value($crate::__formula!(@rust [] $($c)+))
            }
            $(
                #[inline(always)]
                fn is_terminal($pt: $value) -> bool {
                    let $pt = $crate::Number($pt);
                    $crate::__formula!(@rust [] $($s)+)
                }
            )?
        }
        impl $crate::Operator for $name {
            const NAME: &'static str = $crate::__name!($name $($text)?);
            const DEVICE: ::core::option::Option<&'static str> = ::core::option::Option::Some($crate::__formula!(@cpp $($c)+));
            const FORMULA: bool = true;
        }
        impl $($generics)* $crate::BinaryOp<$value> for $name {
            #[inline(always)]
            fn apply(&self, a: $value, b: $value) -> $value {
                <Self as $crate::Monoid<$value>>::combine(a, b)
            }
        }
    };
}

monoid! {
    /// Addition.
    pub struct Plus: for<T> T;
    name = "plus";
    identity { 0 }
    combine(a, b) { a + b }
}
monoid! {
    /// Multiplication.
    pub struct Times: for<T> T;
    name = "times";
    identity { 1 }
    combine(a, b) { a * b }
}
monoid! {
    /// Minimum; the smallest value is terminal.
    pub struct Min: for<T> T;
    name = "min";
    identity { MAX }
    combine(a, b) { a.min(b) }
    terminal(a) { a == MIN }
}
monoid! {
    /// Maximum; the largest value is terminal.
    pub struct Max: for<T> T;
    name = "max";
    identity { MIN }
    combine(a, b) { a.max(b) }
    terminal(a) { a == MAX }
}
monoid! {
    /// Whichever value comes first, the one of the smallest column: deterministic, and terminal at once. Its identity is what nothing
    /// makes, and not neutral: it is never combined with a value.
    pub struct Any: for<T> T;
    name = "any";
    identity { 0 }
    combine(a, b) { a }
    terminal(a) { true }
}
monoid! {
    /// Logical or of non-zero values; one is terminal (another value that is not zero becomes one).
    pub struct Lor: for<T> T;
    name = "lor";
    identity { 0 }
    combine(a, b) { a != 0 || b != 0 }
    terminal(a) { a == 1 }
}
monoid! {
    /// Logical and of non-zero values; false is terminal.
    pub struct Land: for<T> T;
    name = "land";
    identity { 1 }
    combine(a, b) { a != 0 && b != 0 }
    terminal(a) { a == 0 }
}
monoid! {
    /// Logical exclusive or of non-zero values.
    pub struct Lxor: for<T> T;
    name = "lxor";
    identity { 0 }
    combine(a, b) { (a != 0) != (b != 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laws<M: Monoid<i32>>(values: &[i32]) {
        for &a in values {
            assert_eq!(M::combine(M::identity(), a), a, "{} identity", M::NAME);
            for &b in values {
                assert_eq!(M::combine(a, b), M::combine(b, a), "{} commutes", M::NAME);
                if M::is_terminal(a) {
                    assert_eq!(M::combine(a, b), a, "{} terminal", M::NAME);
                }
                for &c in values {
                    assert_eq!(M::combine(M::combine(a, b), c), M::combine(a, M::combine(b, c)), "{} associates", M::NAME);
                }
            }
        }
    }

    #[test]
    fn monoid_laws() {
        let values = [0, 1, -1, 7, 100, i32::MIN, i32::MAX];
        laws::<Plus>(&values);
        laws::<Times>(&values);
        laws::<Min>(&values);
        laws::<Max>(&values);
        laws::<Lor>(&[0, 1]);
        laws::<Land>(&[0, 1]);
        laws::<Lxor>(&[0, 1]);
    }

    #[test]
    fn long_sums_err_by_the_logarithm_of_their_length() {
        for n in [1usize, 15, 16, 17, 32, 33, 100, 10_000, 65_519, 1 << 20] {
            let found = <Plus as Monoid<f32>>::fold(std::iter::repeat_n(0.1, n)).unwrap();
            let (exact, operations) = (n as f64 * f64::from(0.1f32), 16.0 + (n as f64).log2());
            assert!((f64::from(found) - exact).abs() <= operations * f64::from(f32::EPSILON) / 2.0 * exact, "{n}: {found}");
            assert_eq!(<Any as Monoid<u32>>::fold(7..7 + n as u32), Some(7), "in their order");
            assert_eq!(<Plus as Monoid<u64>>::fold(0..n as u64), Some((n as u64 * (n as u64 - 1)) / 2));
        }
        assert_eq!(<Plus as Monoid<f32>>::fold(std::iter::empty()), None);
    }

    #[test]
    fn halves_are_combined_in_single_precision() {
        use half::{bf16, f16};
        fn reduced<T: Scalar, M: Monoid<T>>(value: f64, times: usize) -> Option<f64> {
            M::fold(std::iter::repeat_n(T::from_f64(value), times)).map(|sum| T::narrow(sum).to_f64())
        }
        assert_eq!((reduced::<f16, Plus>(1.0, 4096), reduced::<bf16, Plus>(1.0, 4096)), (Some(4096.0), Some(4096.0)));
        assert_eq!((reduced::<f16, Max>(3.0, 9), reduced::<bf16, Lor>(3.0, 9)), (Some(3.0), Some(1.0)));
        assert_eq!((reduced::<f16, Lor>(3.0, 1), reduced::<f32, Any>(3.0, 2)), (Some(3.0), Some(3.0)));
        assert_eq!((reduced::<i8, Plus>(100.0, 2), reduced::<f16, Plus>(1.0, 0)), (Some(-56.0), None));
        /// One of a user's own, which says nothing of wider types.
        #[derive(Clone, Copy, Default, Debug)]
        struct Own;
        impl Monoid<f16> for Own {
            const NAME: &'static str = "own";
            fn identity() -> f16 {
                f16::ZERO
            }
            fn combine(a: f16, b: f16) -> f16 {
                a + b
            }
        }
        // Every step is rounded to 11 bits: 2048 + 3 is 2052.
        let values = std::iter::repeat_n(f16::from_f64(128.0), 16).chain([f16::from_f64(3.0)]);
        assert_eq!(Own::fold(values).map(f64::from), Some(2052.0));
    }
}
