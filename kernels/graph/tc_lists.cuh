// What the kernels that count triangles are given, and how lists are searched.
#pragma once
#include "common/memory.cuh"
#include "common/warp.cuh"
#include "tuning/tc.cuh"

namespace bg { namespace tc {
/// The oriented lists: `indices[offsets[v] .. offsets[v + 1]]` ascending, every edge in one of them.
struct ListsParams {
    const u32* offsets;
    const u32* indices;
    u64* total;     // what is counted is added here
    u32* ticket;    // zero: work is handed out by it
    u32 n;
    u32 entries;
};

/// Whether `value` is among `list[0 .. length]`, ascending.
BG_DEVICE bool contains(const u32* list, u32 length, u32 value) {
    u32 low = 0;
    while (length > 0) {
        u32 half = length >> 1;
        u32 seen = load_readonly(list + low + half);
        if (seen == value) return true;
        if (seen < value) {
            low += half + 1;
            length -= half + 1;
        } else {
            length = half;
        }
    }
    return false;
}

/// The row that entry `e` is in: the last whose offset is at most `e`. Rows may be empty.
BG_DEVICE u32 row_of(const u32* offsets, u32 n, u32 e) {
    u32 low = 0, high = n;
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if (load_readonly(offsets + middle) <= e) low = middle;
        else high = middle;
    }
    return low;
}

/// Adds up what the lanes of all warps counted.
BG_DEVICE void add_total(u64* total, u64 count) {
    count = butterfly_sum(count);
    if (lane() == 0 && count) atomicAdd(total, count);
}
/// No vertex.
constexpr u32 EMPTY = 0xffffffffu;

/// A set of vertices in shared memory that one warp owns: open addressing, `1 << bits` slots (at least 128), at most half filled.
struct WarpTable {
    u32* slots;
    u32 bits;

    BG_DEVICE u32 home(u32 v) const { return (v * 0x9E3779B1u) >> (32 - bits); }
    BG_DEVICE void clear() const {
        for (u32 i = lane(); i < (1u << bits) / 4; i += WARP) ((uint4*)slots)[i] = make_uint4(EMPTY, EMPTY, EMPTY, EMPTY);
    }
    BG_DEVICE void insert(u32 v) const {
        for (u32 slot = home(v); atomicCAS(slots + slot, EMPTY, v) != EMPTY;) slot = (slot + 1) & ((1u << bits) - 1);
    }
    /// Whether `v` is in it; `seen` is what its home holds.
    BG_DEVICE bool contains_past(u32 v, u32 seen) const {
        for (u32 slot = home(v); seen != v && seen != EMPTY;) {
            slot = (slot + 1) & ((1u << bits) - 1);
            seen = slots[slot];
        }
        return seen == v;
    }
    BG_DEVICE bool contains(u32 v) const { return contains_past(v, slots[home(v)]); }
};

/// Adds what the block's warps counted with one atomic; `scratch` holds 33 sums.
BG_DEVICE void add_block_total(u64* total, u64 count, u64* scratch) {
    count = block_sum(count, scratch);
    if (threadIdx.x == 0 && count) atomicAdd(total, count);
}
}}  // namespace bg::tc
