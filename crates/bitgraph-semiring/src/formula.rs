//! The language of formulas: one list of tokens, of which both the Rust and the CUDA C++ form of an operator are made.
//!
//! A formula is a Rust expression of names, literals (`1`, `0.5`), `MIN` and `MAX`, `+ - * /`, comparisons, `&& || !`, parentheses,
//! `if .. { .. } else { .. }`, and the methods `min`, `max`, `abs`, `saturating_add`, and of floats `sqrt`, `exp`, `ln`, `ln_1p`. Anything
//! else is a compile error that says so. A formula that gives a `bool` means one or zero.
//!
//! Invariant: in Rust operands are [`Number`](crate::Number)s, in C++ they are `bg::Num`s of the same type, whose operations are the same.

use crate::Scalar;

/// A formula in Rust (`@rust`), or as text in C++ (`@cpp`, and `@pattern` with 1 for `a`).
#[doc(hidden)]
#[macro_export]
macro_rules! __formula {
    // Rust: literals and constants become numbers; all else is as it was written.
    (@rust [$($out:tt)*]) => { $($out)* };
    (@rust [$($out:tt)*] () $($rest:tt)*) => { $crate::__formula!(@rust [$($out)* ()] $($rest)*) };
    (@rust [$($out:tt)*] ($($inner:tt)*) $($rest:tt)*) => {
        $crate::__formula!(@rust [$($out)* ($crate::__formula!(@rust [] $($inner)*))] $($rest)*)
    };
    (@rust [$($out:tt)*] {$($inner:tt)*} $($rest:tt)*) => {
        $crate::__formula!(@rust [$($out)* { $crate::__formula!(@rust [] $($inner)*) }] $($rest)*)
    };
    (@rust [$($out:tt)*] MIN $($rest:tt)*) => { $crate::__formula!(@rust [$($out)* $crate::Number::smallest()] $($rest)*) };
    (@rust [$($out:tt)*] MAX $($rest:tt)*) => { $crate::__formula!(@rust [$($out)* $crate::Number::largest()] $($rest)*) };
    (@rust [$($out:tt)*] true $($rest:tt)*) => { $crate::__formula!(@rust [$($out)* true] $($rest)*) };
    (@rust [$($out:tt)*] false $($rest:tt)*) => { $crate::__formula!(@rust [$($out)* false] $($rest)*) };
    (@rust [$($out:tt)*] - $($rest:tt)*) => { $crate::__formula!(@rust [$($out)* -] $($rest)*) };
    (@rust [$($out:tt)*] $literal:literal $($rest:tt)*) => {
        $crate::__formula!(@rust [$($out)* $crate::Number::literal($literal)] $($rest)*)
    };
    (@rust [$($out:tt)*] $token:tt $($rest:tt)*) => { $crate::__formula!(@rust [$($out)* $token] $($rest)*) };

    // C++. `$form` is `cpp` or `pattern`.
    (@$form:ident) => { "" };
    (@$form:ident ($($inner:tt)*) $($rest:tt)*) => {
        concat!("(", $crate::__formula!(@$form $($inner)*), ")", $crate::__formula!(@$form $($rest)*))
    };
    (@$form:ident if $($rest:tt)*) => { $crate::__formula!(@if $form [] $($rest)*) };
    (@if $form:ident [$($condition:tt)*] { $($yes:tt)* } else { $($no:tt)* }) => {
        concat!("((", $crate::__formula!(@$form $($condition)*), ") ? (", $crate::__formula!(@$form $($yes)*), ") : (",
            $crate::__formula!(@$form $($no)*), "))")
    };
    (@if $form:ident [$($condition:tt)*] { $($yes:tt)* } else if $($no:tt)*) => {
        concat!("((", $crate::__formula!(@$form $($condition)*), ") ? (", $crate::__formula!(@$form $($yes)*), ") : ",
            $crate::__formula!(@if $form [] $($no)*), ")")
    };
    (@if $form:ident [$($condition:tt)*] { $($yes:tt)* } $($rest:tt)*) => {
        compile_error!("in a formula an `if` has an `else`, and what follows both is outside of parentheses around them: `(if c { a } else { b }) + x`")
    };
    (@if $form:ident [$($condition:tt)*] $token:tt $($rest:tt)*) => { $crate::__formula!(@if $form [$($condition)* $token] $($rest)*) };
    (@$form:ident + $($rest:tt)*) => { concat!(" + ", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident - $($rest:tt)*) => { concat!(" - ", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident * $($rest:tt)*) => { concat!(" * ", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident / $($rest:tt)*) => { concat!(" / ", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident < $($rest:tt)*) => { concat!(" < ", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident <= $($rest:tt)*) => { concat!(" <= ", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident > $($rest:tt)*) => { concat!(" > ", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident >= $($rest:tt)*) => { concat!(" >= ", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident == $($rest:tt)*) => { concat!(" == ", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident != $($rest:tt)*) => { concat!(" != ", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident && $($rest:tt)*) => { concat!(" && ", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident || $($rest:tt)*) => { concat!(" || ", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident ! $($rest:tt)*) => { concat!("!", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident . min $($rest:tt)*) => { concat!(".min", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident . max $($rest:tt)*) => { concat!(".max", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident . abs $($rest:tt)*) => { concat!(".abs", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident . saturating_add $($rest:tt)*) => { concat!(".saturating_add", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident . sqrt $($rest:tt)*) => { concat!(".sqrt", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident . exp $($rest:tt)*) => { concat!(".exp", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident . ln $($rest:tt)*) => { concat!(".ln", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident . ln_1p $($rest:tt)*) => { concat!(".ln_1p", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident . $method:tt $($rest:tt)*) => {
        compile_error!(concat!("a formula has no method `", stringify!($method), "`; there are: min, max, abs, saturating_add, and of floats sqrt, exp, ln, ln_1p"))
    };
    (@$form:ident MIN $($rest:tt)*) => { concat!("num(bg_min_value())", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident MAX $($rest:tt)*) => { concat!("num(bg_max_value())", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident true $($rest:tt)*) => { concat!("true", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident false $($rest:tt)*) => { concat!("false", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident $function:ident ($($arguments:tt)*) $($rest:tt)*) => {
        compile_error!(concat!("a formula calls no function, as `", stringify!($function), "`; a method is meant perhaps: `a.min(x)`"))
    };
    (@pattern a $($rest:tt)*) => { concat!("num(1)", $crate::__formula!(@pattern $($rest)*)) };
    (@$form:ident $name:ident $($rest:tt)*) => { concat!("num(", stringify!($name), ")", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident $literal:literal $($rest:tt)*) => { concat!("lit(", stringify!($literal), ")", $crate::__formula!(@$form $($rest)*)) };
    (@$form:ident $token:tt $($rest:tt)*) => {
        compile_error!(concat!("`", stringify!($token), "` is not part of a formula, which has names, literals, MIN, MAX, + - * /, comparisons, && || !, parentheses, if and else, and methods"))
    };
}

/// Refuses operands by other names than those that the C++ form has.
#[doc(hidden)]
#[macro_export]
macro_rules! __operands {
    (multiply a x) => {};
    (finish acc) => {};
    (combine a b) => {};
    (terminal a) => {};
    (apply a) => {};
    (apply a b) => {};
    (keep row column a) => {};
    ($method:ident $($operand:ident)*) => {
        compile_error!(concat!(
            "`",
            stringify!($method),
            "` is one of: multiply(a, x), finish(acc); combine(a, b), terminal(a); ",
            "apply(a) of a unary, apply(a, b) of a binary operator; keep(row, column, a)"
        ));
    };
}

/// The name of an operator: its own, or that of its type.
#[doc(hidden)]
#[macro_export]
macro_rules! __name {
    ($name:ident) => {
        stringify!($name)
    };
    ($name:ident $text:literal) => {
        $text
    };
}

/// A value that may be missing.
#[doc(hidden)]
#[macro_export]
macro_rules! __optional {
    () => {
        ::core::option::Option::None
    };
    ($value:expr) => {
        ::core::option::Option::Some($value)
    };
}

/// The device form that a formula over these types has: none if one of them is not built in.
#[doc(hidden)]
#[must_use]
pub const fn formula_of<A: Scalar, X: Scalar, Acc: Scalar, Out: Scalar, F: Copy>(form: F) -> Option<F> {
    if A::BUILTIN && X::BUILTIN && Acc::BUILTIN && Out::BUILTIN { Some(form) } else { None }
}

/// Whether the text of a formula names an operand.
#[doc(hidden)]
#[must_use]
pub const fn mentions(text: &str, name: u8) -> bool {
    let (text, mut i) = (text.as_bytes(), 0);
    while i + 5 < text.len() {
        if text[i] == b'n'
            && text[i + 1] == b'u'
            && text[i + 2] == b'm'
            && text[i + 3] == b'('
            && text[i + 4] == name
            && text[i + 5] == b')'
        {
            return true;
        }
        i += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::Number;

    #[test]
    fn both_forms_are_of_the_same_tokens() {
        let (a, x) = (Number(3.0f64), Number(-2.0));
        let value: Number<f64> = __formula!(@rust [] (a - x).abs() * 0.5 + if a < x { MIN } else if a == 3 { x.max(1) } else { -a });
        assert_eq!(value.0, 3.5);
        assert_eq!(__formula!(@cpp (a - x).abs() * 0.5), "(num(a) - num(x)).abs() * lit(0.5)");
        assert_eq!(
            __formula!(@cpp if a < x && !(x != 1) { MIN } else if a == 3 { x.max(1) } else { -a }),
            "((num(a) < num(x) && !(num(x) != lit(1))) ? (num(bg_min_value())) : ((num(a) == lit(3)) ? (num(x).max(lit(1))) : ( - num(a))))"
        );
        assert_eq!(__formula!(@pattern a * x + b), "num(1) * num(x) + num(b)");
    }

    #[test]
    fn operands_that_are_named() {
        assert!(super::mentions("lit(1) + num(x)", b'x') && !super::mentions("num(a) + max", b'x') && !super::mentions("num(xx)", b'x'));
    }
}
