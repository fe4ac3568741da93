// The built-in operators by their codes. Written by a test of crates/bitgraph-cuda (src/ops/listed.rs) from the formulas of the
// operators; do not edit.
#pragma once
#include "common/semiring.cuh"

namespace bg {
/// The code of the monoid that takes the first value.
constexpr u32 ANY_OF = 4;

template <class V> struct Builtin : Functions<V> {
    using Functions<V>::num;
    using Functions<V>::lit;
    using Functions<V>::bg_min_value;
    using Functions<V>::bg_max_value;
    /// A binary operator.
    BG_DEVICE static V binary(u32 code, V a, V b) {
        switch (code) {
            case 0: return (V)(num(a) + num(b));  // plus
            case 1: return (V)(num(a) * num(b));  // times
            case 2: return (V)(num(a).min(num(b)));  // min
            case 3: return (V)(num(a).max(num(b)));  // max
            case 4: return (V)(num(a));  // any
            case 5: return (V)(num(a) != lit(0) || num(b) != lit(0));  // lor
            case 6: return (V)(num(a) != lit(0) && num(b) != lit(0));  // land
            case 7: return (V)((num(a) != lit(0)) != (num(b) != lit(0)));  // lxor
            case 8: return (V)(num(a));  // first
            case 9: return (V)(num(b));  // second
            case 10: return (V)(num(a) - num(b));  // minus
            case 11: return (V)(num(a) != num(b));  // not_equal
            default: return a;
        }
    }
    /// The identity of a monoid.
    BG_DEVICE static V identity(u32 code) {
        switch (code) {
            case 0: return (V)(lit(0));
            case 1: return (V)(lit(1));
            case 2: return (V)(num(bg_max_value()));
            case 3: return (V)(num(bg_min_value()));
            case 4: return (V)(lit(0));
            case 5: return (V)(lit(0));
            case 6: return (V)(lit(1));
            case 7: return (V)(lit(0));
            default: return (V)0;
        }
    }
    /// A unary operator; `p0` is its field.
    BG_DEVICE static V unary(u32 code, V a, V p0) {
        const auto factor = p0;
        const auto distance = p0;
        switch (code) {
            case 0: return (V)(num(a));  // identity
            case 1: return (V)( - num(a));  // ainv
            case 2: return (V)(num(a).abs());  // abs
            case 3: return (V)(lit(1));  // one
            case 4: return (V)(num(a) * num(factor));  // scale
            case 5: return (V)(num(a) + num(distance));  // shift
            default: return a;
        }
    }
};

template <class V> struct BuiltinTests : TestFunctions<V> {
    using TestFunctions<V>::num;
    using TestFunctions<V>::lit;
    /// A test of an entry; `bits` holds its field, `p0` the same as a value.
    BG_DEVICE static bool keep(u32 code, V a, i64 row, i64 column, V p0, i64 bits) {
        const auto threshold = p0;
        const auto diagonal = bits;
        switch (code) {
            case 6: return (num(column) - num(row) <= num(diagonal));  // tril
            case 7: return (num(column) - num(row) >= num(diagonal));  // triu
            case 8: return (num(row) != num(column));  // offdiag
            case 9: return (num(a) != lit(0));  // value_non_zero
            case 10: return (num(a) > num(threshold));  // value_above
            case 11: return (true);  // exists
            default: return true;
        }
    }
};
}  // namespace bg
