// Elements of dense matrices: where they are, read in the type that is computed in and stored from it, several at a time where they lie so.
//
// Element types are ElementType: f16, bf16, f32, f64, i8, u8, i16 and i32. The type of what is read most is a parameter of a kernel, since
// the loop over entries depends on it; the types of everything else are known at run time only, which costs a branch that no two lanes
// take differently.
#pragma once
#include "common/convert.cuh"
#include "common/semiring.cuh"

namespace bg {
/// Columns of a row that one lane works on at once.
constexpr u32 LANE_COLUMNS = 8;

/// Rows of elements: the first element, the elements from a row's beginning to the next one's, and their type.
struct TensorView {
    const void* data;
    u64 stride;
    u32 dtype, reserved;
};
/// Rows of elements to write.
struct TensorOut {
    void* data;
    u64 stride;
    u32 dtype;
    u32 packed;  // whether as many neighbours as a lane reads at once can be stored at once
};

/// What scales and epilogues over sums of type S are computed in.
template <class S> struct RealOf { typedef f32 type; };
template <> struct RealOf<f64> { typedef f64 type; };
template <class S> using Real = typename RealOf<S>::type;

/// Calls `f` with an element of the type that a code stands for.
template <class F> BG_DEVICE void with_element(u32 dtype, const F& f) {
    switch (dtype) {
        case F16: f(f16{}); break;
        case BF16: f(bf16{}); break;
        case F32: f((f32)0); break;
        case F64: f((f64)0); break;
        case I8: f((i8)0); break;
        case U8: f((u8)0); break;
        case I16: f((i16)0); break;
        default: f((i32)0); break;
    }
}
/// Element `at` of a matrix of a type known at run time, as an S.
template <class S> BG_DEVICE S load_as(const void* data, u32 dtype, u64 at) {
    switch (dtype) {
        case F16: return (S)load_entry<f16>(data, at);
        case BF16: return (S)load_entry<bf16>(data, at);
        case F32: return (S)load_entry<f32>(data, at);
        case F64: return (S)load_entry<f64>(data, at);
        case I8: return (S)load_entry<i8>(data, at);
        case U8: return (S)load_entry<u8>(data, at);
        case I16: return (S)load_entry<i16>(data, at);
        default: return (S)load_entry<i32>(data, at);
    }
}
template <class S> BG_DEVICE S load_as(const TensorView& v, u64 row, u64 column) { return load_as<S>(v.data, v.dtype, row * v.stride + column); }

BG_DEVICE f32 round_even(f32 x) { return ::rintf(x); }
BG_DEVICE f64 round_even(f64 x) { return ::rint(x); }
/// A number as it is stored: rounded once, ties to even; integers saturate, and a NaN is 0 there.
template <class U, class X> BG_DEVICE U stored_as(X x) {
    if constexpr (same_type<U, f16>::value || same_type<U, bf16>::value) {
        if constexpr (same_type<X, f32>::value) return Narrow<U>::of(x);
        else return Narrow<U>::of(to_odd((f64)x));
    } else if constexpr (Limits<U>::FLOAT) {
        return (U)x;
    } else if constexpr (Limits<X>::FLOAT) {
        return convert<U>(round_even(x));
    } else {
        return convert<U>(x);
    }
}
/// Stores one element.
template <class X> BG_DEVICE void store_as(const TensorOut& out, u64 row, u64 column, X x) {
    with_element(out.dtype, [&](auto element) {
        typedef decltype(element) U;
        ((U*)out.data)[row * out.stride + column] = stored_as<U>(x);
    });
}

/// Neighbouring elements. Those of 16 bytes, and of 8 and 4, are read at once.
template <class T, u32 N> struct alignas(sizeof(T) * N) Pack { T e[N]; };

template <u32 BYTES> struct WordOf { typedef uint4 type; };
template <> struct WordOf<1> { typedef u8 type; };
template <> struct WordOf<2> { typedef u16 type; };
template <> struct WordOf<4> { typedef u32 type; };
template <> struct WordOf<8> { typedef uint2 type; };

/// Elements that a lane reads at once of a matrix whose rows are aligned for it.
template <class T> struct Most { static constexpr u32 value = sizeof(T) > 2 ? 16 / sizeof(T) : LANE_COLUMNS; };

template <class T, u32 N> BG_DEVICE Pack<T, N> load_pack(const T* p) {
    typedef typename WordOf<sizeof(T) * N>::type Word;
    Pack<T, N> pack;
    *(Word*)&pack = load_readonly((const Word*)p);
    return pack;
}
/// Stores N neighbours, in words of up to 16 bytes.
template <class U, u32 N, class X> BG_DEVICE void store_pack(U* p, const X* x) {
    constexpr u32 BYTES = sizeof(U) * N, WORD = BYTES < 16 ? BYTES : 16;
    typedef typename WordOf<WORD>::type Word;
    Pack<U, WORD / sizeof(U)> pack;
#pragma unroll
    for (u32 w = 0; w < BYTES / WORD; w++) {
#pragma unroll
        for (u32 i = 0; i < WORD / sizeof(U); i++) pack.e[i] = stored_as<U>(x[w * (WORD / sizeof(U)) + i]);
        ((Word*)p)[w] = *(const Word*)&pack;
    }
}

/// The columns of a lane: groups of N neighbours, `step` apart.
template <u32 N> struct LaneColumns {
    static constexpr u32 PACK = N, PACKS = LANE_COLUMNS / N;
    u32 first, end;
    u32 step, packs;  // packs: those of which any lane of the group has a column

    BG_DEVICE u32 column(u32 i) const { return first + i / N * step + i % N; }
    BG_DEVICE bool active(u32 i) const { return column(i) < end; }
};
/// One column.
struct OneColumn {
    static constexpr u32 PACK = 1, PACKS = 1;
    u32 at;
    BG_DEVICE u32 column(u32) const { return at; }
    BG_DEVICE bool active(u32) const { return true; }
};

/// Stores packs of what a lane has of a row, if their type is one of the usual ones.
template <class U, u32 N, class X> BG_DEVICE void store_packs(U* row, const LaneColumns<N>& columns, const X (&x)[LANE_COLUMNS]) {
#pragma unroll
    for (u32 j = 0; j < LANE_COLUMNS / N; j++) {
        if (columns.active(j * N)) store_pack<U, N>(row + columns.column(j * N), x + j * N);
    }
}
/// Stores what a lane has of a row.
template <class C, class X, u32 M> BG_DEVICE void store_columns(const TensorOut& out, u64 row, const C& columns, const X (&x)[M]) {
    const u64 start = row * out.stride;
    if constexpr (C::PACK > 1) {
        if (out.packed && out.dtype == F32) return store_packs((f32*)out.data + start, columns, x);
        if (out.packed && out.dtype == F16) return store_packs((f16*)out.data + start, columns, x);
        if (out.packed && out.dtype == BF16) return store_packs((bf16*)out.data + start, columns, x);
    }
    // Not unrolled: eight types times eight elements are more code than everything else. The elements go through memory for it.
    X y[M];
#pragma unroll
    for (u32 i = 0; i < M; i++) y[i] = x[i];
#pragma unroll 1
    for (u32 i = 0; i < M; i++) {
        if (columns.active(i)) store_as(out, row, columns.column(i), y[i]);
    }
}

/// a + b * c; of integers the one that wraps, which C++ defines without sign only.
template <class S> BG_DEVICE S add_product(S a, S b, S c) {
    if constexpr (Limits<S>::FLOAT) return a + b * c;
    else return (S)((u32)a + (u32)b * (u32)c);
}
template <class S> BG_DEVICE S add(S a, S b) {
    if constexpr (Limits<S>::FLOAT) return a + b;
    else return (S)((u32)a + (u32)b);
}
template <class S> BG_DEVICE S product(S a, S b) {
    if constexpr (Limits<S>::FLOAT) return a * b;
    else return (S)((u32)a * (u32)b);
}
/// The element of a column vector of reals, 1 without one.
template <class R> BG_DEVICE R scale_of(const TensorView& d, u64 i) { return d.data ? load_readonly((const R*)d.data + i * d.stride) : (R)1; }

BG_DEVICE f32 exponential(f32 x) { return ::expf(x); }
BG_DEVICE f64 exponential(f64 x) { return ::exp(x); }
BG_DEVICE f32 exponential_less_1(f32 x) { return ::expm1f(x); }
BG_DEVICE f64 exponential_less_1(f64 x) { return ::expm1(x); }
BG_DEVICE f32 logarithm(f32 x) { return ::logf(x); }
BG_DEVICE f64 logarithm(f64 x) { return ::log(x); }
BG_DEVICE f32 root(f32 x) { return ::sqrtf(x); }
BG_DEVICE f64 root(f64 x) { return ::sqrt(x); }
}  // namespace bg
