// The element types on the device: how each is stored, the type it is computed in, and its extreme values.
//
// Halves are stored in 16 bits and computed in f32. A vector of bool is packed bits, a matrix's bool values take a byte each; both
// are loaded as bool. The arithmetic itself is that of crates/bitgraph-semiring, src/scalar.rs.
#pragma once
#include "common/memory.cuh"

namespace bg {
/// IEEE half precision, as stored.
struct f16 { u16 bits; };
/// The upper half of an f32, as stored.
struct bf16 { u16 bits; };

/// The type that a stored type is computed in.
template <class T> struct ComputedIn { typedef T type; };
template <> struct ComputedIn<f16> { typedef f32 type; };
template <> struct ComputedIn<bf16> { typedef f32 type; };
template <class T> using Value = typename ComputedIn<T>::type;

#ifdef BITGRAPH_HOST
inline f32 half_to_float(u16 h) {
    u32 sign = (u32)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 0x3ffu;
    if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) {
        f32 tiny = (f32)fraction * (1.0f / 16777216.0f);
        return sign ? -tiny : tiny;
    }
    return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
}
inline u16 float_to_half(f32 value) {
    u32 x = __float_as_uint(value), sign = x >> 16 & 0x8000u, magnitude = x & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (u16)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
    if (magnitude >= 0x47800000u) return (u16)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {
        // Below the normal numbers: the FPU rounds to a multiple of 2^-24.
        f32 scaled = __uint_as_float(magnitude) + 0.5f;
        return (u16)(sign | (__float_as_uint(scaled) - 0x3f000000u));
    }
    u32 rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u;
    return (u16)(sign | rounded >> 13);
}
#else
BG_DEVICE f32 half_to_float(u16 h) {
    f32 value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(h));
    return value;
}
BG_DEVICE u16 float_to_half(f32 value) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(value));
    return h;
}
#endif

/// From storage to the type computed in: exact.
template <class T> BG_DEVICE T widen(T value) { return value; }
BG_DEVICE f32 widen(f16 value) { return half_to_float(value.bits); }
BG_DEVICE f32 widen(bf16 value) { return __uint_as_float((u32)value.bits << 16); }

/// To storage, rounded to nearest, ties to even.
template <class T> struct Narrow {
    BG_DEVICE static T of(T value) { return value; }
};
template <> struct Narrow<f16> {
    BG_DEVICE static f16 of(f32 value) { return f16{float_to_half(value)}; }
};
template <> struct Narrow<bf16> {
    BG_DEVICE static bf16 of(f32 value) {
        u32 x = __float_as_uint(value);
        if (value != value) return bf16{(u16)(x >> 16 | 0x40u)};
        return bf16{(u16)((x + 0x7fffu + (x >> 16 & 1u)) >> 16)};
    }
};

/// The smallest and the largest value: infinities for floats.
template <class V> struct Limits {
    static constexpr bool FLOAT = false, SIGNED = (V)-1 < (V)1;
    // All integers: the sign bit alone, or no bit at all; and its complement.
    BG_DEVICE static V smallest() { return SIGNED ? (V)((u64)1 << (8 * sizeof(V) - 1)) : (V)0; }
    BG_DEVICE static V largest() { return (V)~smallest(); }
};
template <> struct Limits<bool> {
    static constexpr bool FLOAT = false, SIGNED = false;
    BG_DEVICE static bool smallest() { return false; }
    BG_DEVICE static bool largest() { return true; }
};
template <> struct Limits<f32> {
    static constexpr bool FLOAT = true, SIGNED = true;
    BG_DEVICE static f32 smallest() { return __uint_as_float(0xff800000u); }
    BG_DEVICE static f32 largest() { return __uint_as_float(0x7f800000u); }
};
template <> struct Limits<f64> {
    static constexpr bool FLOAT = true, SIGNED = true;
    BG_DEVICE static f64 smallest() { return __longlong_as_double((i64)0xfff0000000000000ull); }
    BG_DEVICE static f64 largest() { return __longlong_as_double((i64)0x7ff0000000000000ull); }
};

/// A value of type T whose bytes are the low ones of `bits`: how the host passes constants.
template <class T> BG_DEVICE Value<T> from_bits(u64 bits) { return widen(*(const T*)&bits); }
template <> BG_DEVICE bool from_bits<bool>(u64 bits) { return bits != 0; }

/// Bit `i` of packed words.
BG_DEVICE bool bit(const u32* words, u64 i) { return load_readonly(words + (i >> 5)) >> (i & 31) & 1u; }

/// A value that no thread writes during the kernel.
template <class T> BG_DEVICE Value<T> load_value(const T* p) {
    if constexpr (same_type<T, f16>::value || same_type<T, bf16>::value) return widen(T{load_readonly((const u16*)p)});
    else if constexpr (same_type<T, bool>::value) return load_readonly((const u8*)p) != 0;
    else return load_readonly(p);
}
/// Element `i` of a vector: of packed bits if T is bool.
template <class T> BG_DEVICE Value<T> load_element(const void* values, u64 i) { return load_value((const T*)values + i); }
template <> BG_DEVICE bool load_element<bool>(const void* values, u64 i) { return bit((const u32*)values, i); }
/// Element `i` of an array of matrix values: a byte each if T is bool.
template <class T> BG_DEVICE Value<T> load_entry(const void* values, u64 i) { return load_value((const T*)values + i); }
template <> BG_DEVICE bool load_entry<bool>(const void* values, u64 i) { return load_value((const bool*)values + i); }
}  // namespace bg
