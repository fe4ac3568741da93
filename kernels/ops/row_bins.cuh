// Sums over the arcs of every row, with as many lanes at a row as its length asks for.
//
// Either all rows take the same number of lanes, in their natural order (`rows` null), or they are listed by class: the longest
// cut into chunks of a warp each, then a warp, eight lanes and one lane a row. Sums have a fixed order, so results repeat.
#pragma once
#include "common/memory.cuh"
#include "common/warp.cuh"
#include "tuning/spmv.cuh"

namespace bg {
/// Classes of rows: cut, warp, eight lanes, one lane, no arcs but named by others, no arcs at all.
constexpr u32 ROW_CLASSES = 6;

struct RowBins {
    const u32* offsets;
    const u32* indices;
    const u32* rows;      // class by class, each ascending; null: natural order
    const uint4* chunks;  // {place in `rows`, first arc, arcs, place of the row's first chunk}
    u32* arrived;         // per cut row, zero between launches
    u32 chunk_count;
    u32 ends[4];          // where the first four classes end in `rows`
    u32 row_count;        // in all
    u32 lanes;            // of a row where `rows` is null
    u32 reserved;
};

/// The sum over arcs `begin..end` by LANES lanes, of which this is `sub`; in all of them. Four gathers in flight.
template <u32 LANES, class Sum, class Gather>
BG_DEVICE Sum lanes_sum(const u32* indices, u32 begin, u32 end, u32 sub, const Gather& gather) {
    Sum s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    u32 e = begin + sub;
    for (; e + 3 * LANES < end; e += 4 * LANES) {
        u32 i0 = load_readonly(indices + e), i1 = load_readonly(indices + e + LANES);
        u32 i2 = load_readonly(indices + e + 2 * LANES), i3 = load_readonly(indices + e + 3 * LANES);
        Sum v0 = gather(i0, e), v1 = gather(i1, e + LANES), v2 = gather(i2, e + 2 * LANES), v3 = gather(i3, e + 3 * LANES);
        s0 += v0;
        s1 += v1;
        s2 += v2;
        s3 += v3;
    }
    if (e < end) {
        // Up to three are left, asked for together as well.
        const bool second = e + LANES < end, third = e + 2 * LANES < end;
        u32 i0 = load_readonly(indices + e), i1 = 0, i2 = 0;
        if (second) i1 = load_readonly(indices + e + LANES);
        if (third) i2 = load_readonly(indices + e + 2 * LANES);
        Sum v0 = gather(i0, e), v1 = 0, v2 = 0;
        if (second) v1 = gather(i1, e + LANES);
        if (third) v2 = gather(i2, e + 2 * LANES);
        s0 += v0;
        s1 += v1;
        s2 += v2;
    }
    Sum s = (s0 + s1) + (s2 + s3);
    if constexpr (LANES > 1) {
        __syncwarp();
        for (u32 d = LANES / 2; d; d >>= 1) s += shuffle_xor(s, d);
    }
    return s;
}

/// One warp's task: 32 / LANES rows from place `first` on.
template <u32 LANES, class Sum, class Gather, class Finish>
BG_DEVICE void rows_task(const RowBins& b, u32 first, u32 end, const Gather& gather, Finish& finish) {
    u32 place = first + lane() / LANES, row = 0, from = 0, to = 0;
    bool valid = place < end;
    if (valid) {
        row = b.rows ? load_readonly(b.rows + place) : place;
        from = load_readonly(b.offsets + row);
        to = load_readonly(b.offsets + row + 1);
    }
    Sum s = lanes_sum<LANES, Sum>(b.indices, from, to, lane() % LANES, gather);
    if (valid && lane() % LANES == 0) finish(row, s);
}

/// A piece of a cut row. Whoever comes last adds the pieces in their order; `pieces` holds a sum per chunk.
template <class Sum, class Gather, class Finish>
BG_DEVICE void chunk_task(const RowBins& b, u32 chunk, Sum* pieces, const Gather& gather, Finish& finish) {
    uint4 c = load_readonly(b.chunks + chunk);
    Sum s = lanes_sum<WARP, Sum>(b.indices, c.y, c.y + c.z, lane(), gather);
    u32 row = load_readonly(b.rows + c.x);
    u32 arcs = load_readonly(b.offsets + row + 1) - load_readonly(b.offsets + row), count = ceil_div(arcs, CHUNK_ARCS);
    u32 before = 0;
    if (lane() == 0) {
        pieces[chunk] = s;
        fence_device();
        before = atomicAdd(b.arrived + c.x, 1u);
    }
    before = shuffle(before, 0);
    if (before + 1 != count) return;
    fence_device();
    Sum total = 0;
    for (u32 i = lane(); i < count; i += WARP) total += load_volatile(pieces + c.w + i);
    __syncwarp();
    total = butterfly_sum(total);
    if (lane() == 0) {
        b.arrived[c.x] = 0;
        finish(row, total);
    }
}

/// Tasks of listed rows, the longest rows first.
BG_DEVICE u32 listed_tasks(const RowBins& b) {
    return b.chunk_count + (b.ends[1] - b.ends[0]) + ceil_div(b.ends[2] - b.ends[1], 4u) + ceil_div(b.ends[3] - b.ends[2], 32u);
}
/// One warp does one of them.
template <class Sum, class Gather, class Finish>
BG_DEVICE void listed_task(const RowBins& b, u32 t, Sum* pieces, const Gather& gather, Finish& finish) {
    u32 chunks = b.chunk_count, wide = chunks + (b.ends[1] - b.ends[0]), eight = wide + ceil_div(b.ends[2] - b.ends[1], 4u);
    if (t < chunks) chunk_task(b, t, pieces, gather, finish);
    else if (t < wide) rows_task<32, Sum>(b, b.ends[0] + (t - chunks), b.ends[1], gather, finish);
    else if (t < eight) rows_task<8, Sum>(b, b.ends[1] + (t - wide) * 4, b.ends[2], gather, finish);
    else rows_task<1, Sum>(b, b.ends[2] + (t - eight) * 32, b.ends[3], gather, finish);
}

/// All rows that have arcs (all rows in natural order); `warp` of `warps` takes its share. `gather(column, arc)` is a term.
template <class Sum, class Gather, class Finish>
BG_DEVICE void sweep_rows(const RowBins& b, u32 warp, u32 warps, Sum* pieces, const Gather& gather, Finish& finish) {
    if (!b.rows) {
        u32 n = b.row_count;
        switch (b.lanes) {
            case 1: for (u32 i = warp * 32; i < n; i += warps * 32) rows_task<1, Sum>(b, i, n, gather, finish); break;
            case 4: for (u32 i = warp * 8; i < n; i += warps * 8) rows_task<4, Sum>(b, i, n, gather, finish); break;
            case 8: for (u32 i = warp * 4; i < n; i += warps * 4) rows_task<8, Sum>(b, i, n, gather, finish); break;
            default: for (u32 i = warp * 2; i < n; i += warps * 2) rows_task<16, Sum>(b, i, n, gather, finish); break;
        }
        return;
    }
    for (u32 t = warp, all = listed_tasks(b); t < all; t += warps) listed_task<Sum>(b, t, pieces, gather, finish);
}
}  // namespace bg
