//! The semiring contract, and the macro that defines one.

use crate::{DeviceExpr, Monoid, Scalar};
use std::fmt::Debug;

/// A semiring: a zero-sized type that says how a row of a matrix meets a vector.
///
/// `y(i) = finish( add over j of multiply(A(i, j), x(j)) )`. For a pattern matrix, which stores no values, the product is
/// [`Semiring::multiply_pattern`]: every entry counts as the implicit 1.
///
/// A user defines one by [`semiring!`](crate::semiring), or by implementing this trait; on the CPU it is monomorphised into the same
/// kernels as the built-in ones. [`Semiring::DEVICE`] carries the same formula for a GPU.
pub trait Semiring: Copy + Default + Debug + Send + Sync + 'static {
    /// The type of the matrix values.
    type A: Scalar;
    /// The type of the vector values, or of the second matrix.
    type X: Scalar;
    /// The type in which products are summed.
    type Acc: Scalar;
    /// The type of the result.
    type Out: Scalar;
    /// The additive monoid.
    type Add: Monoid<Self::Acc>;
    /// The name, as part of kernel symbols and error messages.
    const NAME: &'static str;
    /// The same formula in CUDA C++; `None` if the semiring runs on the CPU only. Its sums are those of the monoid's own device form.
    const DEVICE: Option<DeviceExpr> = None;
    /// Whether the product ignores the vector's value, so that a kernel need not load it.
    const IGNORES_X: bool = false;

    /// The product of a matrix value and a vector value.
    fn multiply(a: Self::A, x: Self::X) -> Self::Acc;
    /// The product with the implicit 1 of a pattern matrix.
    #[inline(always)]
    fn multiply_pattern(x: Self::X) -> Self::Acc {
        Self::multiply(Self::A::ONE, x)
    }
    /// From the accumulator to the output.
    fn finish(acc: Self::Acc) -> Self::Out;

    /// The additive identity.
    #[inline(always)]
    fn zero() -> Self::Acc {
        <Self::Add as Monoid<Self::Acc>>::identity()
    }
    /// The additive operation.
    #[inline(always)]
    fn add(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        <Self::Add as Monoid<Self::Acc>>::combine(a, b)
    }
    /// Whether a sum may stop at `acc`.
    #[inline(always)]
    fn is_terminal(acc: Self::Acc) -> bool {
        <Self::Add as Monoid<Self::Acc>>::HAS_TERMINAL && <Self::Add as Monoid<Self::Acc>>::is_terminal(acc)
    }
}

/// What a semiring over vectors of `X` is called by: itself, or the bare name of a built-in one, `MinPlus`, which takes the vector's type.
pub trait Over<X>: Copy {
    /// The semiring.
    type Semiring: Semiring<X = X>;
}
impl<S: Semiring> Over<S::X> for S {
    type Semiring = S;
}

/// A built-in semiring before its type is known; `S` is that semiring over nothing.
#[derive(Clone, Copy, Debug)]
pub struct Name<S>(pub(crate) std::marker::PhantomData<fn() -> S>);

/// Defines a [`Semiring`] by a formula, for CPU and GPU alike.
///
/// After the name come the types of the matrix values and of the vector, then that of the result; between them, that in which
/// products are formed and summed, where it is another (`f32, f32 => f64 => f32`). By default it is the result's
/// [`Accumulator`](crate::Scalar::Accumulator). `finish` is what becomes of a sum; by default the nearest value of the result's type.
///
/// ```
/// use bitgraph_semiring::{Plus, Semiring, semiring};
///
/// semiring! {
///     /// The Euclidean distance of a row and the vector, at the row's entries.
///     pub struct Distance: f32, f32 => f64 => f32;
///     add = Plus;
///     multiply(a, x) { (a - x) * (a - x) }
///     finish(acc) { acc.sqrt() }
/// }
/// let sum = Distance::add(Distance::multiply(1.0, 4.0), Distance::multiply(6.0, 2.0));
/// assert_eq!(Distance::finish(sum), 5.0);
/// assert_eq!(Distance::DEVICE.unwrap().multiply, "(num(a) - num(x)) * (num(a) - num(x))");
/// ```
///
/// What a formula may hold is a small part of Rust: names, literals, `MIN` and `MAX`, `+ - * /`, comparisons, `&& || !`,
/// parentheses, `if` with `else`, and the methods `min`, `max`, `abs`, `saturating_add`, and of floats `sqrt`, `exp`, `ln` and `ln_1p`.
/// All of it is computed in the type of the sums, in Rust and in C++ alike. Anything else does not compile:
/// ```compile_fail
/// bitgraph_semiring::semiring! {
///     struct Power: f32, f32 => f32;
///     add = bitgraph_semiring::Plus;
///     multiply(a, x) { a.powf(x) }
/// }
/// ```
#[macro_export]
macro_rules! semiring {
    ($(#[$meta:meta])* $vis:vis struct $name:ident $(<$t:ident>)? : $a:ty, $x:ty => $out:ty ; $($body:tt)*) => {
        $crate::semiring! { @define [$(#[$meta])* $vis struct $name $(<$t>)?] ($a, $x, <$out as $crate::Scalar>::Accumulator, $out) $($body)* }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident $(<$t:ident>)? : $a:ty, $x:ty => $acc:ty => $out:ty ; $($body:tt)*) => {
        $crate::semiring! { @define [$(#[$meta])* $vis struct $name $(<$t>)?] ($a, $x, $acc, $out) $($body)* }
    };
    (@define $head:tt $types:tt $(name = $text:literal;)? add = $add:ty; multiply($($operands:ident),*) { $($m:tt)+ }) => {
        $crate::semiring! { @define $head $types $(name = $text;)? add = $add; multiply($($operands),*) { $($m)+ } finish(acc) { acc } }
    };
    (@define [$(#[$meta:meta])* $vis:vis struct $name:ident <$t:ident>] $types:tt $($body:tt)*) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default)]
        $vis struct $name<$t> {
            element: ::core::marker::PhantomData<fn() -> $t>,
        }
        impl<$t> $name<$t> {
            /// The semiring as a value, for calls that take it as an argument.
            #[must_use]
            pub const fn new() -> Self {
                Self { element: ::core::marker::PhantomData }
            }
        }
        impl<$t> ::core::fmt::Debug for $name<$t> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
        $crate::semiring! { @implement $name [<$t>] $types $($body)* }
    };
    (@define [$(#[$meta:meta])* $vis:vis struct $name:ident] $types:tt $($body:tt)*) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, Debug)]
        $vis struct $name;
        $crate::semiring! { @implement $name [] $types $($body)* }
    };
    (@implement $name:ident [$(<$t:ident>)?] ($a:ty, $x:ty, $acc:ty, $out:ty)
        $(name = $text:literal;)? add = $add:ty; multiply($pa:ident, $px:ident) { $($m:tt)+ } finish($pacc:ident) { $($f:tt)+ }) => {
        $crate::__operands!(multiply $pa $px);
        #[allow(unused_variables, unused_parens)]
        impl $(<$t: $crate::Scalar>)? $crate::Semiring for $name $(<$t>)? {
            type A = $a;
            type X = $x;
            type Acc = $acc;
            type Out = $out;
            type Add = $add;
            const NAME: &'static str = $crate::__name!($name $($text)?);
            const DEVICE: ::core::option::Option<$crate::DeviceExpr> = $crate::formula_of::<$a, $x, $acc, $out, _>($crate::DeviceExpr {
                multiply: $crate::__formula!(@cpp $($m)+),
                multiply_pattern: $crate::__formula!(@pattern $($m)+),
                finish: $crate::__formula!(@cpp $($f)+),
            });
            const IGNORES_X: bool = !$crate::mentions($crate::__formula!(@cpp $($m)+), b'x');
            #[inline(always)]
            fn multiply($pa: $a, $px: $x) -> $acc {
                let ($pa, $px) = ($crate::Number::<$acc>::of($pa), $crate::Number::<$acc>::of($px));
                $crate::Outcome::<$acc>::value($crate::__formula!(@rust [] $($m)+))
            }
            #[inline(always)]
            fn finish($pacc: $acc) -> $out {
                let $pacc = $crate::Number::<$acc>($pacc);
                $crate::Scalar::cast($crate::Outcome::<$acc>::value($crate::__formula!(@rust [] $($f)+)))
            }
        }
    };
}
