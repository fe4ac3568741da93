// Numbers of one element type as those of another, where the types are known at run time only. f64 holds every number of the other types
// but the integers of 64 bits.
#pragma once
#include "common/dtype.cuh"

namespace bg {
/// The element types, by the codes of the container.
enum ElementType : u32 { BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64 };

/// Entry `i` of an array of matrix values.
BG_DEVICE f64 load_number(const void* values, u32 type, u64 i) {
    switch (type) {
        case BOOL: return (f64)load_entry<bool>(values, i);
        case I8: return (f64)load_entry<i8>(values, i);
        case I16: return (f64)load_entry<i16>(values, i);
        case I32: return (f64)load_entry<i32>(values, i);
        case I64: return (f64)load_entry<i64>(values, i);
        case U8: return (f64)load_entry<u8>(values, i);
        case U16: return (f64)load_entry<u16>(values, i);
        case U32: return (f64)load_entry<u32>(values, i);
        case U64: return (f64)load_entry<u64>(values, i);
        case F16: return (f64)load_entry<f16>(values, i);
        case BF16: return (f64)load_entry<bf16>(values, i);
        case F32: return (f64)load_entry<f32>(values, i);
        default: return load_entry<f64>(values, i);
    }
}

/// Towards zero; the first or the last number of T past its ends, 0 for what is no number.
template <class T> BG_DEVICE T whole(f64 x) {
    if (!(x > (f64)Limits<T>::smallest())) return x != x ? (T)0 : Limits<T>::smallest();
    return x >= (f64)Limits<T>::largest() ? Limits<T>::largest() : (T)x;
}
/// A number to fewer bits by two roundings that give what one would: the first to an odd last bit where it is not exact.
BG_DEVICE f32 to_odd(f64 x) {
    f32 near = (f32)x;
    u32 bits = __float_as_uint(near);
    if ((f64)near == x || x != x || (bits & 0x7fffffffu) == 0x7f800000u) return near;
    f64 size = x < 0 ? -x : x, found = x < 0 ? -(f64)near : (f64)near;
    return __uint_as_float((found > size ? bits - 1 : bits) | 1u);
}

/// Sets entry `i` of an array of matrix values.
BG_DEVICE void store_number(void* values, u32 type, u64 i, f64 x) {
    switch (type) {
        case BOOL: ((u8*)values)[i] = x != 0; break;
        case I8: ((i8*)values)[i] = whole<i8>(x); break;
        case I16: ((i16*)values)[i] = whole<i16>(x); break;
        case I32: ((i32*)values)[i] = whole<i32>(x); break;
        case I64: ((i64*)values)[i] = whole<i64>(x); break;
        case U8: ((u8*)values)[i] = whole<u8>(x); break;
        case U16: ((u16*)values)[i] = whole<u16>(x); break;
        case U32: ((u32*)values)[i] = whole<u32>(x); break;
        case U64: ((u64*)values)[i] = whole<u64>(x); break;
        case F16: ((f16*)values)[i] = Narrow<f16>::of(to_odd(x)); break;
        case BF16: ((bf16*)values)[i] = Narrow<bf16>::of(to_odd(x)); break;
        case F32: ((f32*)values)[i] = (f32)x; break;
        default: ((f64*)values)[i] = x; break;
    }
}
}  // namespace bg
