// How the rows of an inference over signs are shared out: what a warp knows of its rows, and how 8 lanes count and add together.
#pragma once
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
/// Rows by their numbers, in 16 bits where those do.
template <class N> struct GcnNames;
template <> struct GcnNames<u16> {
    static constexpr u32 NONE = 0xffffu;
    BG_DEVICE static u32 name(const void* p, u64 i) { return load_readonly((const u16*)p + i); }
    /// A row and its number of neighbours.
    typedef u32 Row;
    BG_DEVICE static Row no_row() { return NONE; }
    BG_DEVICE static Row row(const void* p, u64 i) { return load_readonly((const u32*)p + i); }
    BG_DEVICE static u32 number(Row row) { return row & 0xffffu; }
    BG_DEVICE static u32 degree(Row row) { return row >> 16; }
};
template <> struct GcnNames<u32> {
    static constexpr u32 NONE = 0xffffffffu;
    BG_DEVICE static u32 name(const void* p, u64 i) { return load_readonly((const u32*)p + i); }
    typedef uint2 Row;
    BG_DEVICE static Row no_row() { return make_uint2(NONE, 0); }
    BG_DEVICE static Row row(const void* p, u64 i) { return load_readonly((const uint2*)p + i); }
    BG_DEVICE static u32 number(Row row) { return row.x; }
    BG_DEVICE static u32 degree(Row row) { return row.y; }
};

/// Counts the ones of the columns of 8 lines of 64 bits, a line each lane of 8: lane l counts columns l, l + 8, .. l + 56, a byte each.
BG_DEVICE void gcn_count(u32 low, u32 high, u32& sum_low, u32& sum_high) {
    const u32 l = lane() & 7u, first = lane() & 24u;
#pragma unroll
    for (u32 j = 0; j < 8; j++) {
        const u32 x = shuffle(low, first + j), y = shuffle(high, first + j);
        sum_low += (x >> l) & 0x01010101u;
        sum_high += (y >> l) & 0x01010101u;
    }
}
template <class V> BG_DEVICE V gcn_over_groups(V x) {
    x += shuffle_xor(x, 8u);
    return x + shuffle_xor(x, 16u);
}
BG_DEVICE u32 gcn_or8(u32 x) {
    x |= shuffle_xor(x, 1u);
    x |= shuffle_xor(x, 2u);
    return x | shuffle_xor(x, 4u);
}
BG_DEVICE f32 gcn_sum8(f32 x) {
    x += shuffle_xor(x, 1u);
    x += shuffle_xor(x, 2u);
    return x + shuffle_xor(x, 4u);
}

/// A warp's rows.
template <class Names> struct GcnTask {
    u32 name;                  // this lane's neighbour
    typename Names::Row own_row;  // of this lane's group
    u32 segment;
    u32 cut_row;               // words in shared memory, and segments << 16
    f32 own;                   // the row's D
    bool there;                // the task, not the neighbour

    BG_DEVICE u32 row() const { return Names::number(own_row); }
    BG_DEVICE u32 degree() const { return Names::degree(own_row); }
    BG_DEVICE bool cut() const { return segment > 1; }
};
}  // namespace bg
