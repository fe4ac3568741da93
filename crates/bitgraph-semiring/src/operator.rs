//! Element-wise operators: small plain values, never closures, because a closure cannot cross to a device.
//!
//! Invariant: an operator is `Copy` data; a zero-sized one is the special case, thresholds and factors are fields, which are element
//! types and cross to a device as [`Parameters`].

use crate::{DeviceOperator, Float, Parameter, Parameters, Scalar};
use std::marker::PhantomData;

/// What all operators share: plain data whose fields can be copied to a device.
pub trait Operator: Copy + Send + Sync + 'static {
    /// The name, as part of kernel symbols.
    const NAME: &'static str;
    /// The operator in CUDA C++, in terms of `a`, `b` and its fields; `None` if it runs on the CPU only.
    const DEVICE: Option<&'static str> = None;
    /// Whether [`Operator::DEVICE`] was made of a formula, whose arithmetic is that of the built-in types: a device refuses it for
    /// others. One that is written by hand is in terms of the type that is stored.
    const FORMULA: bool = false;

    /// The fields, for the expression.
    fn parameters(&self) -> Parameters {
        [None; 4]
    }
    /// The operator as a device sees it.
    fn device(&self) -> DeviceOperator {
        DeviceOperator { name: Self::NAME, expression: Self::DEVICE, formula: Self::FORMULA, parameters: self.parameters() }
    }
}

/// `c = op(a, b)`, for `ewise_add`, `ewise_mult` and accumulation.
pub trait BinaryOp<T: Scalar>: Operator {
    /// Applies the operator.
    fn apply(&self, a: T, b: T) -> T;
}

/// `c = op(a)`, for `apply`.
pub trait UnaryOp<T: Scalar>: Operator {
    /// The output type.
    type Out: Scalar;
    /// Applies the operator.
    fn apply(&self, a: T) -> Self::Out;
}

/// Whether to keep an entry, by its place and its value, for `select`.
pub trait SelectOp<T: Scalar>: Operator {
    /// Whether the entry at (`row`, `column`) stays. A vector's entry has column 0.
    fn keep(&self, row: u32, column: u32, value: T) -> bool;
}

/// Defines a [`BinaryOp`] by a formula, for CPU and GPU alike: `apply(a, b) { .. }`, after the type of operands and result.
///
/// Up to four fields, of element types, may be named in the formula; it is computed in the accumulator of the operands' type. As for
/// all of these macros `for<T> T` stands for every element type, and [`semiring!`](crate::semiring) says what a formula may hold.
///
/// ```
/// use bitgraph_semiring::{BinaryOp, binary_op};
///
/// binary_op! {
///     /// Moves the first value towards the second one.
///     pub struct Towards { share: f32 }: f32;
///     apply(a, b) { a + (b - a) * share }
/// }
/// assert_eq!(Towards { share: 0.25 }.apply(1.0, 3.0), 1.5);
/// ```
#[macro_export]
macro_rules! binary_op {
    ($($tokens:tt)*) => { $crate::__operator! { binary $($tokens)* } };
}

/// Defines a [`UnaryOp`] by a formula, for CPU and GPU alike: `apply(a) { .. }`, after the types of operand and result.
/// Fields are as in [`binary_op!`](crate::binary_op).
///
/// ```
/// use bitgraph_semiring::{UnaryOp, unary_op};
///
/// unary_op! {
///     /// The value within bounds.
///     pub struct Clamp { low: f64, high: f64 }: f64 => f64;
///     apply(a) { if a < low { low } else if a > high { high } else { a } }
/// }
/// assert_eq!(Clamp { low: 0.0, high: 1.0 }.apply(1.5), 1.0);
/// ```
#[macro_export]
macro_rules! unary_op {
    ($($tokens:tt)*) => { $crate::__operator! { unary $($tokens)* } };
}

/// Defines a [`SelectOp`] by a formula, for CPU and GPU alike: `keep(row, column, a) { .. }`, after the type of the entries. Row and column
/// are `i64`; fields, as in [`binary_op!`](crate::binary_op), and the entry's value are of their own types.
///
/// ```
/// use bitgraph_semiring::{SelectOp, select_op};
///
/// select_op! {
///     /// Within a band around the diagonal.
///     pub struct Band { width: i64 }: for<T> T;
///     keep(row, column, a) { (column - row).abs() <= width }
/// }
/// assert!(Band { width: 2 }.keep(7, 5, 0.5f32));
/// ```
#[macro_export]
macro_rules! select_op {
    ($($tokens:tt)*) => { $crate::__operator! { select $($tokens)* } };
}

/// What the three macros share: the struct, then the generics of its impl, then the impls of the kind.
#[doc(hidden)]
#[macro_export]
macro_rules! __operator {
    ($kind:ident $(#[$meta:meta])* $vis:vis struct $name:ident $(<$g:ident>)? { $($(#[$about:meta])* $field:ident : $type:ty),+ $(,)? } : $($rest:tt)+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, Debug, PartialEq)]
        $vis struct $name $(<$g>)? {
            $( #[doc = concat!("What the formula calls `", stringify!($field), "`.")] $(#[$about])* pub $field: $type ),+
        }
        $crate::__operator! { @generics $kind $name [$(<$g>)?] ({ $($field),+ } $($field)+) $($rest)+ }
    };
    ($kind:ident $(#[$meta:meta])* $vis:vis struct $name:ident $(<$g:ident>)? ($(#[$about:meta])* $field:ident : $type:ty) : $($rest:tt)+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, Debug, PartialEq)]
        $vis struct $name $(<$g>)? (#[doc = concat!("What the formula calls `", stringify!($field), "`.")] $(#[$about])* pub $type);
        $crate::__operator! { @generics $kind $name [$(<$g>)?] ((0: $field) $field) $($rest)+ }
    };
    ($kind:ident $(#[$meta:meta])* $vis:vis struct $name:ident : $($rest:tt)+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, Debug, PartialEq)]
        $vis struct $name;
        $crate::__operator! { @generics $kind $name [] ({}) $($rest)+ }
    };
    (@generics $kind:ident $name:ident [] $fields:tt for<$t:ident> $($rest:tt)+) => {
        $crate::__operator! { @$kind $name [] [$t] $fields $($rest)+ }
    };
    (@generics $kind:ident $name:ident [] $fields:tt $($rest:tt)+) => {
        $crate::__operator! { @$kind $name [] [] $fields $($rest)+ }
    };
    (@generics $kind:ident $name:ident [<$g:ident>] $fields:tt $($rest:tt)+) => {
        $crate::__operator! { @$kind $name [$g] [$g] $fields $($rest)+ }
    };
    (@binary $name:ident [$($g:ident)?] [$($t:ident)?] $fields:tt
        $value:ty; $(name = $text:literal;)? apply($($operand:ident),*) { $($f:tt)+ }) => {
        $crate::__operands!(apply $($operand)*);
        $crate::__operator! { @form $name [$($g)?] $fields [$($text)?] $($f)+ }
        #[allow(unused_variables, unused_parens)]
        impl $(<$t: $crate::Scalar>)? $crate::BinaryOp<$value> for $name $(<$g>)? {
            #[inline(always)]
            fn apply(&self, $($operand: $value),*) -> $value {
                $crate::__operator!(@bind self (<$value as $crate::Scalar>::Accumulator) $fields;
                    $( let $operand = $crate::Number::<<$value as $crate::Scalar>::Accumulator>::of($operand); )*
                    $crate::Scalar::narrow($crate::Outcome::<<$value as $crate::Scalar>::Accumulator>::value($crate::__formula!(@rust [] $($f)+))))
            }
        }
    };
    (@unary $name:ident [$($g:ident)?] [$($t:ident)?] $fields:tt
        $value:ty => $out:ty; $(name = $text:literal;)? apply($($operand:ident),*) { $($f:tt)+ }) => {
        $crate::__operands!(apply $($operand)*);
        $crate::__operator! { @form $name [$($g)?] $fields [$($text)?] $($f)+ }
        #[allow(unused_variables, unused_parens)]
        impl $(<$t: $crate::Scalar>)? $crate::UnaryOp<$value> for $name $(<$g>)? {
            type Out = $out;
            #[inline(always)]
            fn apply(&self, $($operand: $value),*) -> $out {
                $crate::__operator!(@bind self (<$value as $crate::Scalar>::Accumulator) $fields;
                    $( let $operand = $crate::Number::<<$value as $crate::Scalar>::Accumulator>::of($operand); )*
                    $crate::Scalar::cast($crate::Outcome::<<$value as $crate::Scalar>::Accumulator>::value($crate::__formula!(@rust [] $($f)+))))
            }
        }
    };
    (@select $name:ident [$($g:ident)?] [$($t:ident)?] $fields:tt
        $value:ty; $(name = $text:literal;)? keep($row:ident, $column:ident, $a:ident) { $($f:tt)+ }) => {
        $crate::__operands!(keep $row $column $a);
        $crate::__operator! { @form $name [$($g)?] $fields [$($text)?] $($f)+ }
        #[allow(unused_variables, unused_parens)]
        impl $(<$t: $crate::Scalar>)? $crate::SelectOp<$value> for $name $(<$g>)? {
            #[inline(always)]
            fn keep(&self, $row: u32, $column: u32, $a: $value) -> bool {
                $crate::__operator!(@bind self () $fields;
                    let ($row, $column, $a) = ($crate::Number::<i64>::of($row), $crate::Number::<i64>::of($column), $crate::Number($a));
                    $crate::__formula!(@rust [] $($f)+))
            }
        }
    };
    // The fields under their own names, as numbers: of the type given, or of their own.
    (@bind $self:ident $number:tt ($pattern:tt $($field:ident)*); $($body:tt)+) => {{
        $crate::__operator!(@open $self $pattern);
        $( $crate::__operator!(@number $field $number); )*
        $($body)+
    }};
    (@open $self:ident {}) => {};
    (@open $self:ident { $($field:ident),+ }) => { let Self { $($field),+ } = *$self; };
    (@open $self:ident (0: $field:ident)) => { let Self($field) = *$self; };
    (@number $field:ident ($number:ty)) => { let $field = $crate::Number::<$number>::of($field); };
    (@number $field:ident ()) => { let $field = $crate::Number($field); };
    (@form $name:ident [$($g:ident)?] ($pattern:tt $($field:ident)*) [$($text:literal)?] $($f:tt)+) => {
        impl $(<$g: $crate::Scalar>)? $crate::Operator for $name $(<$g>)? {
            const NAME: &'static str = $crate::__name!($name $($text)?);
            const DEVICE: ::core::option::Option<&'static str> = ::core::option::Option::Some($crate::__formula!(@cpp $($f)+));
            const FORMULA: bool = true;
            fn parameters(&self) -> $crate::Parameters {
                $crate::__operator!(@open self $pattern);
                $crate::parameters([$( $crate::Parameter::of($field).named(stringify!($field)) ),*])
            }
        }
    };
}

binary_op! {
    /// The first operand.
    pub struct First: for<T> T;
    name = "first";
    apply(a, b) { a }
}
binary_op! {
    /// The second operand: as an accumulator, the new value replaces the old one.
    pub struct Second: for<T> T;
    name = "second";
    apply(a, b) { b }
}
binary_op! {
    /// The difference.
    pub struct Minus: for<T> T;
    name = "minus";
    apply(a, b) { a - b }
}
binary_op! {
    /// One where the operands differ, zero where they are equal.
    pub struct NotEqual: for<T> T;
    name = "not_equal";
    apply(a, b) { a != b }
}
unary_op! {
    /// The operand itself.
    pub struct Identity: for<T> T => T;
    name = "identity";
    apply(a) { a }
}
unary_op! {
    /// Zero minus the operand.
    pub struct AdditiveInverse: for<T> T => T;
    name = "ainv";
    apply(a) { -a }
}
unary_op! {
    /// The magnitude.
    pub struct Absolute: for<T> T => T;
    name = "abs";
    apply(a) { a.abs() }
}
unary_op! {
    /// The constant one: the pattern of a matrix or vector.
    pub struct One: for<T> T => T;
    name = "one";
    apply(a) { 1 }
}
unary_op! {
    /// Whether the operand is not zero, as `bool`.
    pub struct IfNonZero: for<T> T => bool;
    name = "if_non_zero";
    apply(a) { a != 0 }
}
unary_op! {
    /// The operand times a constant: damping.
    pub struct Scale<T>(factor: T): T => T;
    name = "scale";
    apply(a) { a * factor }
}
unary_op! {
    /// The operand plus a constant: teleportation.
    pub struct Shift<T>(distance: T): T => T;
    name = "shift";
    apply(a) { a + distance }
}
/// A constant divided by the operand in double precision, as a float type: a share of it for each of so many.
#[derive(Clone, Copy, Debug)]
pub struct Quotient<T> {
    dividend: f64,
    result: PhantomData<fn() -> T>,
}
impl<T> Quotient<T> {
    /// With this dividend.
    #[must_use]
    pub const fn of(dividend: f64) -> Self {
        Self { dividend, result: PhantomData }
    }
}
impl<T: Float> Operator for Quotient<T> {
    const NAME: &'static str = "quotient";
    const DEVICE: Option<&'static str> = Some("p0 / (double)a");
    fn parameters(&self) -> Parameters {
        crate::parameters([Parameter::of(self.dividend)])
    }
}
impl<T: Float, U: Scalar> UnaryOp<U> for Quotient<T> {
    type Out = T;
    #[inline(always)]
    fn apply(&self, a: U) -> T {
        T::from_f64(self.dividend / a.to_f64())
    }
}
select_op! {
    /// On or below a diagonal: `column - row <= diagonal`, 0 being the main one.
    pub struct Tril { diagonal: i64 }: for<T> T;
    name = "tril";
    keep(row, column, a) { column - row <= diagonal }
}
select_op! {
    /// On or above a diagonal: `column - row >= diagonal`, 0 being the main one.
    pub struct Triu { diagonal: i64 }: for<T> T;
    name = "triu";
    keep(row, column, a) { column - row >= diagonal }
}
select_op! {
    /// Off the main diagonal: without loops.
    pub struct OffDiagonal: for<T> T;
    name = "offdiag";
    keep(row, column, a) { row != column }
}
select_op! {
    /// Values that are not zero: drops explicit zeros.
    pub struct ValueNonZero: for<T> T;
    name = "value_non_zero";
    keep(row, column, a) { a != 0 }
}
select_op! {
    /// Values above a threshold.
    pub struct ValueAbove<T>(threshold: T): T;
    name = "value_above";
    keep(row, column, a) { a > threshold }
}
select_op! {
    /// Values below a threshold.
    pub struct ValueBelow<T>(threshold: T): T;
    name = "value_below";
    keep(row, column, a) { a < threshold }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators() {
        assert_eq!(BinaryOp::<i32>::apply(&Minus, 3, 5), -2);
        assert_eq!(BinaryOp::<i32>::apply(&Second, 3, 5), 5);
        assert_eq!((BinaryOp::<u8>::apply(&NotEqual, 3, 3), UnaryOp::<i8>::apply(&AdditiveInverse, 3)), (0, -3));
        assert_eq!(UnaryOp::apply(&Scale(0.5f32), 8.0), 4.0);
        assert!(UnaryOp::<f32>::apply(&IfNonZero, f32::NAN));
        assert!(SelectOp::<bool>::keep(&Tril { diagonal: -1 }, 3, 2, true));
        assert!(!SelectOp::<bool>::keep(&Tril { diagonal: -1 }, 3, 3, true));
        assert!(!SelectOp::<bool>::keep(&OffDiagonal, 3, 3, true));
        assert!(SelectOp::keep(&ValueAbove(2u8), 0, 0, 3));
        assert!(SelectOp::keep(&ValueBelow(2u8), 0, 0, 1) && !SelectOp::keep(&ValueBelow(2u8), 0, 0, 2));
        assert_eq!(UnaryOp::<u64>::apply(&Quotient::<f32>::of(1.0), 4), 0.25);
    }

    unary_op! {
        /// Two fields.
        struct Beyond { limit: i32, less: f64 }: f64 => i32;
        apply(a) { if a > limit { a - limit - less } else { 0.5 } }
    }

    #[test]
    fn fields_have_their_names() {
        let op = Beyond { limit: 50, less: 0.25 };
        assert_eq!((op.apply(52.5), op.apply(1.0)), (2, 0));
        let names = op.parameters().map(|p| p.and_then(|p| p.name));
        assert_eq!(names, [Some("limit"), Some("less"), None, None]);
        assert_eq!(Beyond::DEVICE, Some("((num(a) > num(limit)) ? (num(a) - num(limit) - num(less)) : (lit(0.5)))"));
        assert_eq!(Scale(2u8).parameters()[0].map(|p| p.name), Some(Some("factor")));
    }
}
