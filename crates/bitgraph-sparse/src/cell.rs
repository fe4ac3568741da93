//! What an entry carries while rows are built: nothing, or a value. Sums are exact, or said to be impossible.
//!
//! Invariant: `Wide` is a type of the same kind that holds every value of this one, and its own `Wide`.

use crate::Values;
use crate::buffer::cast_vec;
use bitgraph_semiring::{DType, Scalar};
use half::{bf16, f16};

/// What goes with an entry.
pub(crate) trait Cell: Copy + Default + Send + Sync + 'static {
    /// What is moved in its place: a value's bits, so that one program moves all values of a size.
    type Bits: Copy + Default + Send + Sync;
    /// The type of this kind that holds most.
    type Wide: Cell<Wide = Self::Wide>;
    /// Its name; none for nothing.
    const DTYPE: Option<DType>;
    /// The same value in the wide type.
    fn wide(self) -> Self::Wide;
    /// The sum of several values; none if it does not fit.
    fn sum(group: &[Self]) -> Option<Self>;
    /// The smaller of both.
    fn smallest(self, other: Self) -> Self;
    /// The greater of both.
    fn largest(self, other: Self) -> Self;
    /// The negated value; none if it does not fit.
    fn negated(self) -> Option<Self>;
    /// All of them as bits, in the same memory.
    fn to_bits(all: Vec<Self>) -> Vec<Self::Bits>;
    /// Back.
    fn from_bits(all: Vec<Self::Bits>) -> Vec<Self>;
    /// All of them as values of a matrix.
    fn values(all: Vec<Self>) -> Option<Values>;
}

impl Cell for () {
    type Bits = ();
    type Wide = ();
    const DTYPE: Option<DType> = None;
    fn wide(self) {}
    fn sum(_: &[()]) -> Option<()> {
        Some(())
    }
    fn smallest(self, (): ()) {}
    fn largest(self, (): ()) {}
    fn negated(self) -> Option<()> {
        Some(())
    }
    fn to_bits(all: Vec<()>) -> Vec<()> {
        all
    }
    fn from_bits(all: Vec<()>) -> Vec<()> {
        all
    }
    fn values(_: Vec<()>) -> Option<Values> {
        None
    }
}

macro_rules! cell {
    ($($t:ty => $bits:ty, $to_bits:expr, $from_bits:expr; $wide:ty, $to_wide:expr; $sum:expr; $negated:expr;)*) => { $(
        impl Cell for $t {
            type Bits = $bits;
            type Wide = $wide;
            const DTYPE: Option<DType> = Some(<$t as Scalar>::DTYPE);
            fn wide(self) -> $wide {
                $to_wide(self)
            }
            fn sum(group: &[$t]) -> Option<$t> {
                $sum(group)
            }
            fn smallest(self, other: $t) -> $t {
                self.min_of(other)
            }
            fn largest(self, other: $t) -> $t {
                self.max_of(other)
            }
            fn negated(self) -> Option<$t> {
                $negated(self)
            }
            fn to_bits(all: Vec<$t>) -> Vec<$bits> {
                $to_bits(all)
            }
            fn from_bits(all: Vec<$bits>) -> Vec<$t> {
                $from_bits(all)
            }
            fn values(all: Vec<$t>) -> Option<Values> {
                Some(Values::from_vec(all))
            }
        }
    )* };
}

/// The sum of whole numbers, which 128 bits always hold.
fn exact<T: Copy + TryFrom<i128>>(group: &[T]) -> Option<T>
where
    i128: From<T>,
{
    T::try_from(group.iter().map(|&x| i128::from(x)).sum()).ok()
}

/// The sum of floats, formed in their accumulator type; infinite only if one of them is.
fn rounded<T: Scalar>(group: &[T]) -> Option<T> {
    let sum = T::narrow(group[1..].iter().fold(group[0].widen(), |sum, x| sum.plus(x.widen())));
    (sum.to_f64().is_finite() || group.iter().any(|x| !x.to_f64().is_finite())).then_some(sum)
}

/// The negated float.
fn minus<T: Scalar>(x: T) -> Option<T> {
    Some(T::ZERO.minus(x))
}

// Not every byte is a truth value: those keep their type.
cell! {
    bool => bool, |all| all, |all| all; bool, |x| x; |group: &[bool]| Some(group.contains(&true)); Some;
    i8 => u8, cast_vec, cast_vec; i64, i64::from; exact; i8::checked_neg;
    i16 => u16, cast_vec, cast_vec; i64, i64::from; exact; i16::checked_neg;
    i32 => u32, cast_vec, cast_vec; i64, i64::from; exact; i32::checked_neg;
    i64 => u64, cast_vec, cast_vec; i64, |x| x; exact; i64::checked_neg;
    u8 => u8, cast_vec, cast_vec; u64, u64::from; exact; u8::checked_neg;
    u16 => u16, cast_vec, cast_vec; u64, u64::from; exact; u16::checked_neg;
    u32 => u32, cast_vec, cast_vec; u64, u64::from; exact; u32::checked_neg;
    u64 => u64, cast_vec, cast_vec; u64, |x| x; exact; u64::checked_neg;
    f16 => u16, cast_vec, cast_vec; f64, f64::from; rounded; minus;
    bf16 => u16, cast_vec, cast_vec; f64, f64::from; rounded; minus;
    f32 => u32, cast_vec, cast_vec; f64, f64::from; rounded; minus;
    f64 => u64, cast_vec, cast_vec; f64, |x| x; rounded; minus;
}

/// Runs `$body` with `$v` bound to the values as a vector of their own type, or of nothing if there are none.
macro_rules! with_cells {
    ($values:expr, $len:expr, $v:ident => $body:expr) => {
        with_cells!(@ $values, $len, $v => $body, Bool I8 I16 I32 I64 U8 U16 U32 U64 F16 Bf16 F32 F64)
    };
    (@ $values:expr, $len:expr, $v:ident => $body:expr, $($variant:ident)*) => {
        match $values {
            None => {
                // Elements without size: no memory behind them.
                let $v: Vec<()> = vec![(); $len];
                $body
            }
            $( Some($crate::Values::$variant(buffer)) => {
                let $v = buffer.into_vec();
                $body
            } )*
        }
    };
}
pub(crate) use with_cells;
