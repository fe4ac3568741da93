// Operands, masks and outputs of the operations on vectors, and on the value arrays of matrices.
//
// An entry is there if its presence bit is set; without presence bits all are. One warp owns 32 consecutive positions of an output,
// so that its words of bits are written by one lane and nothing is shared between warps.
#pragma once
#include "common/builtin.cuh"
#include "common/warp.cuh"

namespace bg {
/// An index that stands for no entry.
constexpr u32 NONE = 0xffffffffu;

BG_DEVICE u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
BG_DEVICE u64 thread_count() { return (u64)gridDim.x * blockDim.x; }

/// How the values of an operand are held.
enum Form : u32 {
    ELEMENTS = 0,  // as in a vector
    ENTRIES = 1,   // as in a matrix: a bool takes a byte
    CONSTANT = 2,  // the pointer itself is the bits of the one value
    SINGLE = 3,    // the one value, as in a matrix, is where the pointer says
};

/// A vector to read, or what it is made of.
struct Operand {
    const void* values;
    const u32* present;  // null if every position holds an entry
    const u32* index;    // position i is element index[i] of the array; null if it is element i
    u32 form, reserved;
};

/// Which positions may be written.
struct Mask {
    const u32* values;
    const u32* present;
    u32 flags, reserved;
};
enum MaskFlag : u32 { MASKED = 1, STRUCTURAL = 2, COMPLEMENT = 4, REPLACE = 8 };

/// A vector to write.
struct Target {
    void* values;
    u32* present;  // null if every position is known to get an entry
    u32 form, reserved;
};

/// The entry at position `i`, if there is one.
template <class T> BG_DEVICE bool fetch(const Operand& u, u64 i, Value<T>& value) {
    if (u.index) {
        u32 at = load_readonly(u.index + i);
        if (at == NONE) return false;
        i = at;
    }
    if (u.present && !bit(u.present, i)) return false;
    if (u.form == CONSTANT) value = from_bits<T>((u64)u.values);
    else if (u.form == ENTRIES) value = load_entry<T>(u.values, i);
    else if (u.form == SINGLE) value = load_entry<T>(u.values, 0);
    else value = load_element<T>(u.values, i);
    return true;
}

/// The positions 32 w .. 32 w + 31 that a mask selects.
BG_DEVICE u32 mask_word(const Mask& mask, u64 w) {
    if (!(mask.flags & MASKED)) return FULL;
    u32 word = mask.present ? load_readonly(mask.present + w) : FULL;
    if (!(mask.flags & STRUCTURAL)) word &= load_readonly(mask.values + w);
    return mask.flags & COMPLEMENT ? ~word : word;
}
/// Whether a mask selects position `i`.
BG_DEVICE bool mask_selects(const Mask& mask, u64 i) { return mask_word(mask, i >> 5) >> (i & 31) & 1u; }

/// Stores 32 positions from the lanes of a warp; `inside` is false past the end.
template <class T> BG_DEVICE void store_positions(const Target& out, u64 i, bool inside, bool has, Value<T> value) {
    has = has && inside;
    u32 there = ballot(has);
    if (out.present && lane() == 0) out.present[i >> 5] = there;
    if constexpr (same_type<T, bool>::value) {
        if (out.form == ELEMENTS) {
            u32 bits = ballot(has && value);
            if (lane() == 0) ((u32*)out.values)[i >> 5] = bits;
        } else if (has) {
            ((u8*)out.values)[i] = value;
        }
    } else if (has) {
        ((T*)out.values)[i] = Narrow<T>::of(value);
    }
}

/// `w<mask, replace> = t` for the 32 positions of a warp, `old` being w before.
template <class T>
BG_DEVICE void write_positions(const Target& out, const Mask& mask, const Operand& old, u64 i, bool inside, bool has, Value<T> value) {
    if (mask.flags & MASKED) {
        bool selected = inside && mask_selects(mask, i);
        if (!selected) {
            has = inside && !(mask.flags & REPLACE) && fetch<T>(old, i, value);
        }
    }
    store_positions<T>(out, i, inside, has, value);
}

/// Calls `f(i, inside)` for all positions below `n`, all 32 lanes of a warp together on consecutive ones from a multiple of 32.
template <class F> BG_DEVICE void for_positions(u64 n, F f) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i - lane() < n; i += stride) f(i, i < n);
}
}  // namespace bg
