// The adjacency of the vertices of largest degree among themselves, as bits. In degree order a vertex is heavier the smaller its number, so
// the hubs are 0 .. hubs, and row v of the matrix has a bit for each vertex before v.
//
// Invariant: rows are packed, each as many words of 128 bits as its bits need; bits from v on are 0.
#pragma once
#include "graph/tc_lists.cuh"
#include "tuning/tc.cuh"

namespace bg { namespace tc {
struct HubsParams {
    const u32* offsets;   // oriented lists in degree order: of smaller numbers, ascending
    const u32* indices;
    const u32* order;     // vertices by the length of their lists, longest first
    uint4* matrix;
    u32* high_starts;     // hubs + 1, in words of 8 entries: where the entries of each hub from `low` on are listed
    u16* high;            // them, 16 bits each, filled up with `hubs`
    u64* total;
    u32* ticket;          // zero
    u32 hubs;             // a multiple of QUAD
    u32 wide;             // so many of `order` are asked by whole rows, all with lists longer than NARROW_LIST among them
    u32 narrow;           // and so many longer than FEW_LIST
    u32 few;              // and so many of at least two entries
    u32 n;
    u32 low;              // a multiple of QUAD: whole rows are read up to here, and entries from here on; at least `hubs`: all whole
};
/// Entries of 16 bits in a word of 128.
constexpr u32 PACKED = 8;

/// Where row `v` starts, in words of 128 bits: the sum of ceil(x / 128) over x < v.
BG_DEVICE u32 row_start(u32 v) {
    if (v == 0) return 0;
    u32 whole = (v - 1) / QUAD, rest = (v - 1) % QUAD;
    return (whole + 1) * (QUAD / 2 * whole + rest);
}
BG_DEVICE u32 row_quads(u32 v) { return (v + QUAD - 1) / QUAD; }

BG_DEVICE u32 bits_in_both(uint4 a, uint4 b) {
    return (u32)(__popc(a.x & b.x) + __popc(a.y & b.y) + __popc(a.z & b.z) + __popc(a.w & b.w));
}

/// How many of eight packed numbers are in the bitmap.
BG_DEVICE u32 listed_in(uint4 packed, const u32* bitmap) {
    const u32 pairs[4] = {packed.x, packed.y, packed.z, packed.w};
    u32 count = 0;
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        u32 a = pairs[k] & 0xffffu, b = pairs[k] >> 16;
        count += (bitmap[a >> 5] >> (a & 31) & 1) + (bitmap[b >> 5] >> (b & 31) & 1);
    }
    return count;
}

/// Whether hubs `v` and `w < v` are neighbours.
BG_DEVICE u32 adjacent(const uint4* matrix, u32 v, u32 w) {
    const u32* row = (const u32*)(matrix + row_start(v));
    return load_readonly(row + (w >> 5)) >> (w & 31) & 1;
}
}}  // namespace bg::tc
