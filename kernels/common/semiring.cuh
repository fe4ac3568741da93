// Operators and semirings on the device. The built-in operators are codes that one kernel per type switches over, since such kernels
// wait for memory anyway; everything else is a struct written from an operator's expressions when it is first used.
//
// A semiring is a struct of static functions over types A (matrix values), X (vector values), Acc and Out:
//   multiply(a, x), multiply_pattern(x), add(a, b), identity(), terminal(acc), finish(acc), and the constants
//   ANY (the first product in column order is the sum), TERMINAL (terminal() may be true), IGNORES_X (x need not be loaded).
// It inherits Functions<Value<Acc>>, which its expressions call.
#pragma once
#include "common/dtype.cuh"

namespace bg {
/// What expressions may call: all in the type V.
template <class V> struct Functions {
    /// The smaller; a NaN loses against a number.
    BG_DEVICE static V bg_min(V a, V b) { return (b < a || a != a) ? b : a; }
    /// The greater; a NaN loses against a number.
    BG_DEVICE static V bg_max(V a, V b) { return (a < b || a != a) ? b : a; }
    BG_DEVICE static bool is_negative(V a) {
        if constexpr (Limits<V>::SIGNED) return a < (V)0;
        else return false;
    }
    BG_DEVICE static V bg_least() { return Limits<V>::least(); }
    BG_DEVICE static V bg_greatest() { return Limits<V>::greatest(); }
    /// The sum in which the extreme values absorb and integers saturate.
    BG_DEVICE static V bg_plus_saturating(V a, V b) {
        if constexpr (same_type<V, bool>::value) {
            return a || b;
        } else if constexpr (Limits<V>::FLOAT) {
            return a + b;
        } else {
            const V most = bg_greatest(), least = bg_least();
            if (a == most || b == most) return most;
            if (Limits<V>::SIGNED && (a == least || b == least)) return least;
            if (b > 0 && a > (V)(most - b)) return most;
            if (is_negative(b) && a < (V)(least - b)) return least;
            return (V)(a + b);
        }
    }
    /// A sum that wraps: signed overflow is undefined in C++, so it is formed without sign.
    BG_DEVICE static V wrapping_plus(V a, V b) {
        if constexpr (sizeof(V) == 8 && !Limits<V>::FLOAT) return (V)((u64)a + (u64)b);
        else if constexpr (same_type<V, i32>::value) return (V)((u32)a + (u32)b);
        else return (V)(a + b);
    }
    BG_DEVICE static V wrapping_minus(V a, V b) {
        if constexpr (sizeof(V) == 8 && !Limits<V>::FLOAT) return (V)((u64)a - (u64)b);
        else if constexpr (same_type<V, i32>::value) return (V)((u32)a - (u32)b);
        else return (V)(a - b);
    }
    BG_DEVICE static V wrapping_times(V a, V b) {
        if constexpr (sizeof(V) == 8 && !Limits<V>::FLOAT) return (V)((u64)a * (u64)b);
        else if constexpr (same_type<V, i32>::value) return (V)((u32)a * (u32)b);
        else if constexpr (sizeof(V) == 2) return (V)((u32)a * (u32)b);
        else return (V)(a * b);
    }
};

/// The built-in binary operators; the monoids are the first eight.
enum BinaryCode : u32 { PLUS, TIMES, MIN, MAX, ANY_OF, LOR, LAND, LXOR, FIRST, SECOND, MINUS, NOT_EQUAL };

/// A built-in binary operator in the type V, by its code.
template <class V> BG_DEVICE V binary_by_code(u32 code, V a, V b) {
    typedef Functions<V> F;
    switch (code) {
        case PLUS: return F::wrapping_plus(a, b);
        case TIMES: return F::wrapping_times(a, b);
        case MIN: return F::bg_min(a, b);
        case MAX: return F::bg_max(a, b);
        case LOR: return (V)(a != 0 || b != 0);
        case LAND: return (V)(a != 0 && b != 0);
        case LXOR: return (V)((a != 0) != (b != 0));
        case SECOND: return b;
        case MINUS: return F::wrapping_minus(a, b);
        case NOT_EQUAL: return (V)(a != b);
        default: return a;
    }
}
/// The identity of a built-in monoid.
template <class V> BG_DEVICE V identity_by_code(u32 code) {
    switch (code) {
        case MIN: return Functions<V>::bg_greatest();
        case MAX: return Functions<V>::bg_least();
        case TIMES:
        case LAND: return (V)1;
        default: return (V)0;
    }
}

/// The built-in unary operators, and from FILTERS on the tests that keep an entry or drop it.
enum UnaryCode : u32 { IDENTITY, INVERSE, ABSOLUTE, ONE, SCALE, SHIFT, FILTERS, TRIL = FILTERS, TRIU, OFF_DIAGONAL, NON_ZERO, ABOVE, EXISTS };

/// A built-in unary operator in the type V; `p0` is its parameter.
template <class V> BG_DEVICE V unary_by_code(u32 code, V a, V p0) {
    typedef Functions<V> F;
    switch (code) {
        case INVERSE: return F::wrapping_minus((V)0, a);
        case ABSOLUTE: return F::is_negative(a) ? F::wrapping_minus((V)0, a) : a;
        case ONE: return (V)1;
        case SCALE: return F::wrapping_times(a, p0);
        case SHIFT: return F::wrapping_plus(a, p0);
        default: return a;
    }
}
/// A built-in test of an entry; `bits` holds its parameter, `p0` the same as a value.
template <class V> BG_DEVICE bool test_by_code(u32 code, V a, u32 row, u32 column, V p0, u64 bits) {
    switch (code) {
        case TRIL: return (i64)column - (i64)row <= (i64)bits;
        case TRIU: return (i64)column - (i64)row >= (i64)bits;
        case OFF_DIAGONAL: return row != column;
        case NON_ZERO: return a != (V)0;
        case ABOVE: return a > p0;
        default: return true;
    }
}
}  // namespace bg
