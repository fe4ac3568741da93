//! Element types of a user's own: each wraps a built-in type, and is stored and sent to a device as that.
//!
//! Invariant: a wrapper and the type that it wraps have one layout, so that an array of one is an array of the other.
#![allow(unsafe_code)]

use half::{bf16, f16};
use std::mem::ManuallyDrop;

/// A type that is laid out as a built-in element type: itself, or the one that it wraps.
///
/// # Safety
/// `Self` has the size and the alignment of `Repr`, every value of one is a value of the other, and `Repr` is a built-in element type.
/// [`impl_scalar!`](crate::impl_scalar) checks all of that.
pub unsafe trait Transparent: Copy + 'static {
    /// The built-in type.
    type Repr: crate::Scalar;

    /// The value that is stored.
    #[inline(always)]
    fn peel(self) -> Self::Repr {
        Self::peel_slice(&[self])[0]
    }
    /// An array as what is stored.
    #[inline(always)]
    fn peel_slice(values: &[Self]) -> &[Self::Repr] {
        // SAFETY: the trait's promise: both types have one layout, and every value of one is a value of the other.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
    }
    /// What is stored as an array of this type.
    #[inline(always)]
    fn wrap_slice(values: &[Self::Repr]) -> &[Self] {
        // SAFETY: as in `peel_slice`.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
    }
    /// A vector as what is stored, in the same memory.
    #[must_use]
    fn peel_vec(values: Vec<Self>) -> Vec<Self::Repr> {
        let mut values = ManuallyDrop::new(values);
        // SAFETY: as in `peel_slice`; the memory was allocated for elements of the same size and alignment, and is given up here.
        unsafe { Vec::from_raw_parts(values.as_mut_ptr().cast(), values.len(), values.capacity()) }
    }
}

macro_rules! itself {
    ($($t:ty)*) => { $(
        // SAFETY: the type itself.
        unsafe impl Transparent for $t {
            type Repr = $t;
        }
    )* };
}
itself!(bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);

/// Makes an element type of a tuple struct that wraps a built-in number: `impl_scalar!(LogProbability as f32);`.
///
/// The arithmetic is what the type implements: `Add`, `Sub` and `Mul`, and of `num-traits` [`ConstZero`](num_traits::ConstZero) and
/// [`ConstOne`](num_traits::ConstOne) (with `Zero` and `One`), [`Bounded`](num_traits::Bounded) (the identities of `Min` and `Max`),
/// and [`NumCast`](num_traits::NumCast) with `ToPrimitive` (conversions). It must also be `Copy`, `PartialOrd`, `Debug` and `Default`.
///
/// Vectors and matrices of it are arrays of the type that it wraps, and its [`DType`](crate::DType) is that one's. Since its arithmetic
/// is in Rust alone, formulas over it run on the CPU; a device stores and moves it, and runs operators that are written for it by hand,
/// in terms of the type that it wraps.
///
/// ```
/// use bitgraph_semiring::{Scalar, Semiring, PlusTimes, impl_scalar};
/// use num_traits::{Bounded, ConstOne, ConstZero, NumCast, One, ToPrimitive, Zero};
/// use std::ops::{Add, Mul, Sub};
///
/// /// A count that stops at 255 instead of wrapping.
/// #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
/// struct Count(u8);
/// impl Add for Count { type Output = Self; fn add(self, other: Self) -> Self { Self(self.0.saturating_add(other.0)) } }
/// impl Sub for Count { type Output = Self; fn sub(self, other: Self) -> Self { Self(self.0.saturating_sub(other.0)) } }
/// impl Mul for Count { type Output = Self; fn mul(self, other: Self) -> Self { Self(self.0.saturating_mul(other.0)) } }
/// impl Zero for Count { fn zero() -> Self { Self(0) } fn is_zero(&self) -> bool { self.0 == 0 } }
/// impl One for Count { fn one() -> Self { Self(1) } }
/// impl ConstZero for Count { const ZERO: Self = Self(0); }
/// impl ConstOne for Count { const ONE: Self = Self(1); }
/// impl Bounded for Count { fn min_value() -> Self { Self(0) } fn max_value() -> Self { Self(255) } }
/// impl ToPrimitive for Count { fn to_i64(&self) -> Option<i64> { self.0.to_i64() } fn to_u64(&self) -> Option<u64> { self.0.to_u64() } }
/// impl NumCast for Count { fn from<T: ToPrimitive>(value: T) -> Option<Self> { value.to_u8().map(Self) } }
///
/// impl_scalar!(Count as u8);
/// assert_eq!(PlusTimes::<Count>::multiply(Count(100), Count(3)), Count(255));
/// assert_eq!((300.0f32).cast::<Count>(), Count::largest());
/// ```
///
/// A type that is not laid out as what it is said to be is refused:
/// ```compile_fail
/// #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
/// struct Two(u8, u8);
/// bitgraph_semiring::impl_scalar!(Two as u8);
/// ```
#[macro_export]
macro_rules! impl_scalar {
    ($t:ident as $repr:ty) => {
        const _: () = {
            assert!(
                ::core::mem::size_of::<$t>() == ::core::mem::size_of::<$repr>()
                    && ::core::mem::align_of::<$t>() == ::core::mem::align_of::<$repr>()
                    && ::core::mem::offset_of!($t, 0) == 0,
                concat!("`", stringify!($t), "` must wrap one `", stringify!($repr), "` and nothing else")
            );
            assert!(
                <$repr as $crate::Scalar>::BUILTIN && !matches!(<$repr as $crate::Scalar>::DTYPE, $crate::DType::Bool),
                concat!("`", stringify!($repr), "` is not a built-in type of numbers")
            );
            // One field, of the type that is said.
            let _: fn($t) -> $repr = |$t(field)| field;
        };
        // SAFETY: a struct of one field at offset 0 with the field's size and alignment, as is checked above.
        #[allow(unsafe_code)]
        unsafe impl $crate::Transparent for $t {
            type Repr = $repr;
        }
        impl $crate::Scalar for $t {
            type Accumulator = Self;
            const DTYPE: $crate::DType = <$repr as $crate::Scalar>::DTYPE;
            const ZERO: Self = <Self as $crate::num_traits::ConstZero>::ZERO;
            const ONE: Self = <Self as $crate::num_traits::ConstOne>::ONE;
            #[inline(always)]
            fn smallest() -> Self {
                <Self as $crate::num_traits::Bounded>::min_value()
            }
            #[inline(always)]
            fn largest() -> Self {
                <Self as $crate::num_traits::Bounded>::max_value()
            }
            #[inline(always)]
            fn plus(self, rhs: Self) -> Self {
                self + rhs
            }
            #[inline(always)]
            fn minus(self, rhs: Self) -> Self {
                self - rhs
            }
            #[inline(always)]
            fn times(self, rhs: Self) -> Self {
                self * rhs
            }
            #[inline(always)]
            fn wide(self) -> $crate::Wide {
                $crate::Wide::Float($crate::num_traits::ToPrimitive::to_f64(&self).unwrap_or(f64::NAN))
            }
            #[inline(always)]
            fn nearest(value: $crate::Wide) -> Self {
                use $crate::num_traits::NumCast;
                let (found, negative) = match value {
                    $crate::Wide::Signed(v) => (<Self as NumCast>::from(v), v < 0),
                    $crate::Wide::Unsigned(v) => (<Self as NumCast>::from(v), false),
                    $crate::Wide::Float(v) if v.is_nan() => (<Self as NumCast>::from(v).or(Some(<Self as $crate::Scalar>::ZERO)), false),
                    $crate::Wide::Float(v) => (<Self as NumCast>::from(v), v < 0.0),
                };
                found.unwrap_or_else(|| if negative { <Self as $crate::Scalar>::smallest() } else { <Self as $crate::Scalar>::largest() })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_types_wrap_themselves() {
        assert_eq!((f32::peel_slice(&[1.5, -0.5]), i8::wrap_slice(&[3]), true.peel()), (&[1.5, -0.5][..], &[3][..], true));
        let values = vec![1u64, 2, 3];
        let at = values.as_ptr();
        let stored = u64::peel_vec(values);
        assert_eq!((stored.as_ptr(), &stored[..]), (at, &[1, 2, 3][..]));
    }
}
