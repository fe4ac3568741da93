//! Commutative monoids: the additions of the semirings, and the reductions.

use crate::Scalar;
use std::fmt::Debug;

/// An associative, commutative operation with an identity; a zero-sized type.
pub trait Monoid<T: Scalar>: Copy + Default + Debug + Send + Sync + 'static {
    /// The name, as part of a kernel symbol.
    const NAME: &'static str;
    /// Whether any value is terminal, so that a kernel without one never tests for it.
    const HAS_TERMINAL: bool = false;
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
    /// The values combined in their order, as by [`Monoid::fold_wide`]; `None` of none.
    #[inline]
    fn fold(values: impl Iterator<Item = T>) -> Option<T::Accumulator> {
        Self::fold_wide(values.map(T::widen))
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

macro_rules! monoid {
    ($(#[$doc:meta])* $name:ident $text:literal, $identity:expr, $combine:expr $(, $terminal:expr)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
        pub struct $name;
        impl<T: Scalar> Monoid<T> for $name {
            const NAME: &'static str = $text;
            $( const HAS_TERMINAL: bool = { let _ = stringify!($terminal); true }; )?
            #[inline(always)]
            fn identity() -> T { $identity }
            #[inline(always)]
            fn combine(a: T, b: T) -> T { let f: fn(T, T) -> T = $combine; f(a, b) }
            #[inline(always)]
            fn combine_wide(a: T::Accumulator, b: T::Accumulator) -> T::Accumulator {
                <Self as Monoid<T::Accumulator>>::combine(a, b)
            }
            $(
                #[inline(always)]
                fn is_terminal(value: T) -> bool { let f: fn(T) -> bool = $terminal; f(value) }
            )?
        }
    };
}

monoid!(/// Addition.
    Plus "plus", T::ZERO, |a, b| a.plus(b));
monoid!(/// Multiplication.
    Times "times", T::ONE, |a, b| a.times(b));
monoid!(/// Minimum; the least value is terminal.
    Min "min", T::GREATEST, |a, b| a.least_of(b), |v| v == T::LEAST);
monoid!(/// Maximum; the greatest value is terminal.
    Max "max", T::LEAST, |a, b| a.greatest_of(b), |v| v == T::GREATEST);
monoid!(/// Whichever value comes first, the one of the smallest column: deterministic, and terminal at once. Its identity is what nothing makes,
/// and not neutral: it is never combined with a value.
    Any "any", T::ZERO, |a, _| a, |_| true);

/// Logical or of non-zero values; true is terminal.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Lor;
/// Logical and of non-zero values; false is terminal.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Land;
/// Logical exclusive or of non-zero values.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Lxor;

fn truth<T: Scalar>(value: bool) -> T {
    if value { T::ONE } else { T::ZERO }
}

impl<T: Scalar> Monoid<T> for Lor {
    const NAME: &'static str = "lor";
    const HAS_TERMINAL: bool = true;
    #[inline(always)]
    fn identity() -> T {
        T::ZERO
    }
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        truth(a.is_non_zero() | b.is_non_zero())
    }
    #[inline(always)]
    fn is_terminal(value: T) -> bool {
        value.is_non_zero()
    }
}
impl<T: Scalar> Monoid<T> for Land {
    const NAME: &'static str = "land";
    const HAS_TERMINAL: bool = true;
    #[inline(always)]
    fn identity() -> T {
        T::ONE
    }
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        truth(a.is_non_zero() & b.is_non_zero())
    }
    #[inline(always)]
    fn is_terminal(value: T) -> bool {
        !value.is_non_zero()
    }
}
impl<T: Scalar> Monoid<T> for Lxor {
    const NAME: &'static str = "lxor";
    #[inline(always)]
    fn identity() -> T {
        T::ZERO
    }
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        truth(a.is_non_zero() ^ b.is_non_zero())
    }
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
        for n in [1usize, 15, 16, 17, 32, 33, 100, 10_000, 1 << 20] {
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
