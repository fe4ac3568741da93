// Sums of signs from a window of lines, for few and for more entries of a row, and how rows become diagonals.
#include "tensor/bits_window.cuh"

namespace bg {
BG_KERNEL(bits_window_2x3, BitsWindowParams, 1024, 1) { bits_from_window<2, 3>(p); }
BG_KERNEL(bits_window_2x5, BitsWindowParams, 1024, 1) { bits_from_window<2, 5>(p); }
BG_KERNEL(bits_window_4x3, BitsWindowParams, 1024, 1) { bits_from_window<4, 3>(p); }
BG_KERNEL(bits_window_4x5, BitsWindowParams, 1024, 1) { bits_from_window<4, 5>(p); }

struct BitsDiagonals {
    const u32* offsets;
    const u32* indices;
    u32* counts;         // of each slice, rounded up to 4; after a scan: the first of them
    u32* limits;         // the largest count; how far before and behind its own place a row names lines
    uint2* diagonals;
    u8* degrees;
    u32 rows;
    u32 window;
    u32 bytes;           // of a line's part
    u32 with_self;
};

/// The diagonals of a slice, ascending, the rows' own lines among them; all lanes call it together.
template <class F> BG_DEVICE void each_diagonal(const BitsDiagonals& p, u32 slice, F f) {
    constexpr u32 NONE = 0xffffffffu, MIDDLE = 0x80000000u;
    const u32 row = slice * WARP + lane();
    const bool is_row = row < p.rows;
    u32 at = is_row ? load_readonly(p.offsets + row) : 0;
    const u32 end = is_row ? load_readonly(p.offsets + row + 1) : 0;
    bool own = is_row && p.with_self;
    auto next = [&] { return at < end ? load_readonly(p.indices + at) - row + MIDDLE : NONE; };
    for (u32 distance = next();;) {
        const u32 nearest = min_of(distance, own ? MIDDLE : NONE), smallest = warp_min(nearest);
        if (smallest == NONE) break;
        f((i32)(smallest - MIDDLE), ballot(nearest == smallest));
        if (nearest != smallest) continue;
        if (own && smallest == MIDDLE) own = false;
        else at++, distance = next();
    }
}

/// A warp for each slice.
BG_KERNEL(bits_diagonals_count, BitsDiagonals, 256, 4) {
    const u32 warps = blockDim.x / WARP;
    for (u32 slice = blockIdx.x * warps + threadIdx.x / WARP; slice * WARP < p.rows; slice += gridDim.x * warps) {
        u32 count = 0, below = 0, above = 0;
        each_diagonal(p, slice, [&](i32 distance, u32) {
            count++;
            below = max_of(below, distance < 0 ? (u32)-distance : 0u);
            above = max_of(above, distance > 0 ? (u32)distance : 0u);
        });
        count = (count + 3) & ~3u;
        if (lane() == 0) {
            p.counts[slice] = count;
            reduce_max(p.limits, count);
            reduce_max(p.limits + 1, below);
            reduce_max(p.limits + 2, above);
        }
    }
}

BG_KERNEL(bits_diagonals_fill, BitsDiagonals, 256, 4) {
    const u32 warps = blockDim.x / WARP;
    for (u32 slice = blockIdx.x * warps + threadIdx.x / WARP; slice * WARP < p.rows; slice += gridDim.x * warps) {
        u32 at = p.counts[slice];
        const u32 end = p.counts[slice + 1], row = slice * WARP + lane();
        each_diagonal(p, slice, [&](i32 distance, u32 rows) {
            const u32 around = distance < 0 ? p.window - (u32)-distance : (u32)distance;
            if (lane() == 0) p.diagonals[at] = make_uint2(around * p.bytes, rows);
            at++;
        });
        if (lane() == 0)
            for (; at < end; at++) p.diagonals[at] = make_uint2(0, 0);
        if (row < p.rows) p.degrees[row] = (u8)(load_readonly(p.offsets + row + 1) - load_readonly(p.offsets + row) + p.with_self);
    }
}
}  // namespace bg
