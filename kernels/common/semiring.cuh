// Operators and semirings on the device. The built-in operators are codes that one kernel per type switches over (common/builtin.cuh), since
// such kernels wait for memory anyway; everything else is a struct written from an operator's expressions when it is first used.
//
// A semiring is a struct of static functions over types A (matrix values), X (vector values), Acc and Out:
//   multiply(a, x), multiply_pattern(x), add(a, b), identity(), terminal(a), finish(acc), and the constants
//   ANY (the first product in column order is the sum), TERMINAL (terminal() may be true), IGNORES_X (x need not be loaded).
// It inherits Functions<Value<Acc>>, which its expressions call.
//
// An expression that was made of a formula has every operand as num(a) and every literal as lit(1): numbers whose operations are those of
// Number in crates/bitgraph-semiring, src/number.rs, in the type that the formula is computed in.
#pragma once
#include "common/dtype.cuh"

namespace bg {
/// The nearest value of another type; NaN is zero in integers.
template <class To, class From> BG_DEVICE To convert(From v) {
    if constexpr (same_type<To, From>::value) {
        return v;
    } else if constexpr (same_type<To, bool>::value) {
        return v != (From)0;
    } else if constexpr (Limits<To>::FLOAT || same_type<From, bool>::value) {
        return (To)v;
    } else if constexpr (Limits<From>::FLOAT) {
        // An extreme value is a power of two in From, or is rounded to one.
        if (!(v == v)) return (To)0;
        if (v <= (From)Limits<To>::smallest()) return Limits<To>::smallest();
        if (v >= (From)Limits<To>::largest()) return Limits<To>::largest();
        return (To)v;
    } else {
        const To smallest = Limits<To>::smallest(), largest = Limits<To>::largest();
        if constexpr (Limits<From>::SIGNED) {
            if (v < 0) return !Limits<To>::SIGNED || (i64)v < (i64)smallest ? smallest : (To)v;
        }
        return (u64)v > (u64)largest ? largest : (To)v;
    }
}

/// Literals of a formula: numbers of whatever type they meet. Whole ones have a type of their own, since compilers do not convert a
/// constant from floating point in advance.
struct Whole {
    i32 value;
    template <class U> BG_DEVICE explicit operator U() const { return convert<U>(value); }
};
struct Fraction {
    f64 value;
    BG_DEVICE explicit Fraction(f64 value) : value(value) {}
    BG_DEVICE Fraction(Whole whole) : value(whole.value) {}
    template <class U> BG_DEVICE explicit operator U() const { return convert<U>(value); }
};

template <class V> struct Functions;

/// An operand of a formula.
template <class V> struct Num {
    V v;
    BG_DEVICE explicit Num(V value) : v(value) {}
    BG_DEVICE Num(Whole literal) : v(convert<V>(literal.value)) {}
    BG_DEVICE Num(Fraction literal) : v(convert<V>(literal.value)) {}
    template <class U> BG_DEVICE explicit operator U() const { return convert<U>(v); }

    BG_DEVICE friend Num operator+(Num a, Num b) { return Num(Functions<V>::wrapping_plus(a.v, b.v)); }
    BG_DEVICE friend Num operator-(Num a, Num b) { return Num(Functions<V>::wrapping_minus(a.v, b.v)); }
    BG_DEVICE friend Num operator*(Num a, Num b) { return Num(Functions<V>::wrapping_times(a.v, b.v)); }
    BG_DEVICE friend Num operator/(Num a, Num b) { return Num(Functions<V>::quotient(a.v, b.v)); }
    BG_DEVICE friend Num operator-(Num a) { return Num(Functions<V>::wrapping_minus((V)0, a.v)); }
    BG_DEVICE friend bool operator<(Num a, Num b) { return a.v < b.v; }
    BG_DEVICE friend bool operator<=(Num a, Num b) { return a.v <= b.v; }
    BG_DEVICE friend bool operator>(Num a, Num b) { return a.v > b.v; }
    BG_DEVICE friend bool operator>=(Num a, Num b) { return a.v >= b.v; }
    BG_DEVICE friend bool operator==(Num a, Num b) { return a.v == b.v; }
    BG_DEVICE friend bool operator!=(Num a, Num b) { return a.v != b.v; }

    BG_DEVICE Num min(Num b) const { return Num(Functions<V>::bg_min(v, b.v)); }
    BG_DEVICE Num max(Num b) const { return Num(Functions<V>::bg_max(v, b.v)); }
    BG_DEVICE Num abs() const { return Functions<V>::is_negative(v) ? -*this : *this; }
    BG_DEVICE Num saturating_add(Num b) const { return Num(Functions<V>::bg_plus_saturating(v, b.v)); }
    BG_DEVICE Num sqrt() const { return Num(Functions<V>::root(v)); }
    BG_DEVICE Num exp() const { return Num(Functions<V>::exponential(v)); }
    BG_DEVICE Num ln() const { return Num(Functions<V>::logarithm(v)); }
    BG_DEVICE Num ln_1p() const { return Num(Functions<V>::logarithm_1p(v)); }
};

/// What expressions may call: all in the type V.
template <class V> struct Functions {
    /// An operand of a formula, in the type that it is computed in.
    template <class U> BG_DEVICE static Num<V> num(U value) { return Num<V>((V)value); }
    BG_DEVICE static Whole lit(i32 value) { return Whole{value}; }
    BG_DEVICE static Fraction lit(f64 value) { return Fraction(value); }
    /// The smaller; a NaN loses against a number.
    BG_DEVICE static V bg_min(V a, V b) { return (b < a || a != a) ? b : a; }
    /// The greater; a NaN loses against a number.
    BG_DEVICE static V bg_max(V a, V b) { return (a < b || a != a) ? b : a; }
    BG_DEVICE static bool is_negative(V a) {
        if constexpr (Limits<V>::SIGNED) return a < (V)0;
        else return false;
    }
    BG_DEVICE static V bg_min_value() { return Limits<V>::smallest(); }
    BG_DEVICE static V bg_max_value() { return Limits<V>::largest(); }
    /// The sum in which the extreme values absorb and integers saturate.
    BG_DEVICE static V bg_plus_saturating(V a, V b) {
        if constexpr (same_type<V, bool>::value) {
            return a || b;
        } else if constexpr (Limits<V>::FLOAT) {
            return a + b;
        } else {
            const V most = bg_max_value(), smallest = bg_min_value();
            if (a == most || b == most) return most;
            if (Limits<V>::SIGNED && (a == smallest || b == smallest)) return smallest;
            if (b > 0 && a > (V)(most - b)) return most;
            if (is_negative(b) && a < (V)(smallest - b)) return smallest;
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
    /// Of integers by zero: zero.
    BG_DEVICE static V quotient(V a, V b) {
        if constexpr (Limits<V>::FLOAT) {
            return a / b;
        } else {
            if (b == (V)0) return (V)0;
            if (Limits<V>::SIGNED && b == (V)-1) return wrapping_minus((V)0, a);
            return (V)(a / b);
        }
    }
    BG_DEVICE static V root(V a) {
        if constexpr (same_type<V, f32>::value) return ::sqrtf(a);
        else return ::sqrt(a);
    }
    BG_DEVICE static V exponential(V a) {
        if constexpr (same_type<V, f32>::value) return ::expf(a);
        else return ::exp(a);
    }
    BG_DEVICE static V logarithm(V a) {
        if constexpr (same_type<V, f32>::value) return ::logf(a);
        else return ::log(a);
    }
    BG_DEVICE static V logarithm_1p(V a) {
        if constexpr (same_type<V, f32>::value) return ::log1pf(a);
        else return ::log1p(a);
    }
};

/// What the expression of a test calls: operands of formulas are in their own types.
template <class V> struct TestFunctions : Functions<V> {
    template <class U> BG_DEVICE static Num<U> num(U value) { return Num<U>(value); }
};
}  // namespace bg
