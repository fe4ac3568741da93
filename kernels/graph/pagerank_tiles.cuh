// The layout of PageRank with the operand in shared memory: what a block keeps, and its sweep over it.
//
// Positions are vertices, perhaps dealt anew; `part` positions in a row belong to an owner, who makes their scores. The blocks form
// groups x columns: block (g, c) holds the x of column c (groups x part positions) and the rows of the owners c' groups + g for all
// columns c', so that it has one partial sum of each for every other block of its group. With one column there are no partial
// sums, and x may be a window around the own positions (natural order, `halo` to both sides).
//
// A block's entries are 16-bit places in its x. A slice is 32 lanes, 2^t of them at a row, each with 4 `quads` entries and 2 more if
// `half` is set; lanes that have fewer read a zero behind x.
#pragma once
#include "common/exchange.cuh"
#include "graph/pagerank.cuh"
#include "tuning/pagerank.cuh"

namespace bg {
constexpr u32 NO_VERTEX = 0xffffffffu;
/// An entry not yet given.
constexpr u16 NO_ENTRY = 0xffff;

/// What a block has; its data are the descriptors of the slices, their entries, and the rows that they are of.
struct RankTile {
    u32 x_from, x_count;      // positions in shared memory, multiples of 4
    u32 own_from, own_count;  // positions whose scores it makes, multiples of 4
    u32 slices;
    u32 entries_at, ids_at;   // in words of its data
    u32 words;                // of its data, a multiple of 4
    u32 data_at;              // in units of 4 words
    u32 folds_at, folds;      // of rows cut into pieces
    u32 inner_from, inner;    // slices of a window that read own positions alone
    u32 reserved;
};

/// A slice: entries from word x on; y = its first row id (16 bits), quads (12), half (1), t (3).
BG_DEVICE u32 slice_quads(uint2 d) { return d.y >> 16 & 0xfffu; }
BG_DEVICE u32 slice_half(uint2 d) { return d.y >> 28 & 1u; }
BG_DEVICE u32 slice_shift(uint2 d) { return d.y >> 29; }
BG_DEVICE u32 slice_words(u32 quads, u32 half) { return quads * 64 + half * 32; }
/// Where the entry of a lane and step is, in 16-bit units from the slice's first.
BG_DEVICE u32 entry_place(u32 quads, u32 lane, u32 step) {
    return step < 4 * quads ? ((step >> 2) * 32 + lane) * 4 + (step & 3) : quads * 128 + lane * 2 + (step - 4 * quads);
}

template <bool RESIDENT, class T> BG_DEVICE T tile_load(const T* p) {
    if constexpr (RESIDENT) return *p;
    else return load_readonly(p);
}

/// The sum of the entries of a lane: `quads` times four of them from `entries` on, and two more if `half`.
template <bool RESIDENT> BG_DEVICE f32 lane_sum(const u32* entries, const f32* x, u32 quads, bool half) {
    const uint2* q = (const uint2*)entries + lane();
    f32 s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    auto add = [&](uint2 v) {
        s0 += x[v.x & 0xffffu];
        s1 += x[v.x >> 16];
        s2 += x[v.y & 0xffffu];
        s3 += x[v.y >> 16];
    };
    u32 i = 0;
    for (; i + 4 <= quads; i += 4) {
        uint2 a = tile_load<RESIDENT>(q + i * 32), b = tile_load<RESIDENT>(q + i * 32 + 32);
        uint2 c = tile_load<RESIDENT>(q + i * 32 + 64), e = tile_load<RESIDENT>(q + i * 32 + 96);
        add(a);
        add(b);
        add(c);
        add(e);
    }
    if (quads & 2) {
        uint2 a = tile_load<RESIDENT>(q + i * 32), b = tile_load<RESIDENT>(q + i * 32 + 32);
        add(a);
        add(b);
        i += 2;
    }
    if (quads & 1) add(tile_load<RESIDENT>(q + i * 32));
    if (half) {
        u32 v = tile_load<RESIDENT>(entries + quads * 64 + lane());
        s0 += x[v & 0xffffu];
        s1 += x[v >> 16];
    }
    return (s0 + s1) + (s2 + s3);
}
/// The slice that a warp takes in a turn: back and forth, because slices are sorted.
BG_DEVICE u32 slice_of_turn(u32 turn, u32 warp, u32 warps) { return turn * warps + (turn & 1 ? warps - 1 - warp : warp); }

/// Sums of rows, each given to `emit(row, sum)` by one lane as soon as it is there: `count` slices, from number `skip_at` on `skip`
/// further.
template <bool RESIDENT, class Emit>
BG_DEVICE void sweep_slices(const u32* data, const RankTile& tile, const f32* x, u32 count, u32 skip_at, u32 skip, const Emit& emit) {
    const u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    const uint2* descriptors = (const uint2*)data;
    const u32* entries = data + tile.entries_at;
    const u16* ids = (const u16*)(data + tile.ids_at);
    for (u32 turn = 0;; turn++) {
        u32 s = slice_of_turn(turn, warp, warps);
        if (s >= count) break;
        if (s >= skip_at) s += skip;
        uint2 d = tile_load<RESIDENT>(descriptors + s);
        const u32 t = slice_shift(d);
        f32 y = lane_sum<RESIDENT>(entries + d.x, x, slice_quads(d), slice_half(d));
        __syncwarp();
        for (u32 m = (1u << t) >> 1; m; m >>= 1) y += shuffle_xor(y, m);
        if ((lane() & ((1u << t) - 1)) == 0) emit((u32)tile_load<RESIDENT>(ids + (d.y & 0xffffu) + (lane() >> t)), y);
    }
}

/// The first entries of a slice on their way, while the slice before is summed.
struct SliceAhead {
    uint2 descriptor, quads[4];
    u32 half, id;
};
BG_DEVICE void fetch_ahead(SliceAhead& a, const u32* entries, const u16* ids) {
    const uint2* q = (const uint2*)(entries + a.descriptor.x) + lane();
    const u32 quads = slice_quads(a.descriptor);
#pragma unroll
    for (u32 k = 0; k < 4; k++)
        if (k < quads) a.quads[k] = load_stream(q + k * 32);
    if (slice_half(a.descriptor)) a.half = load_stream(entries + a.descriptor.x + quads * 64 + lane());
    a.id = load_readonly(ids + (a.descriptor.y & 0xffffu) + (lane() >> slice_shift(a.descriptor)));
}

/// As sweep_slices, added to `sums`, by `warps` warps, with the data read from far: a slice ahead. Every sum belongs to one slice, but for
/// sum `no_row`, which lanes without a row name and no thread reads: where races are checked for, they leave it.
BG_DEVICE void sweep_slices_far(const u32* data, const RankTile& tile, const f32* x, f32* sums, u32 no_row, u32 warp, u32 warps) {
    if (warp >= tile.slices) return;
    const uint2* descriptors = (const uint2*)data;
    const u32* entries = data + tile.entries_at;
    const u16* ids = (const u16*)(data + tile.ids_at);
    auto slice_of = [&](u32 turn) { return slice_of_turn(turn, warp, warps); };
    SliceAhead now = {}, next = {};
    uint2 after = make_uint2(0, 0);
    now.descriptor = load_readonly(descriptors + slice_of(0));
    if (slice_of(1) < tile.slices) after = load_readonly(descriptors + slice_of(1));
    fetch_ahead(now, entries, ids);
    for (u32 turn = 0;; turn++) {
        const bool more = slice_of(turn + 1) < tile.slices;
        if (more) {
            next.descriptor = after;
            fetch_ahead(next, entries, ids);
            if (slice_of(turn + 2) < tile.slices) after = load_readonly(descriptors + slice_of(turn + 2));
        }
        const u32 quads = slice_quads(now.descriptor), t = slice_shift(now.descriptor);
        f32 s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        auto add = [&](uint2 v) {
            s0 += x[v.x & 0xffffu];
            s1 += x[v.x >> 16];
            s2 += x[v.y & 0xffffu];
            s3 += x[v.y >> 16];
        };
#pragma unroll
        for (u32 k = 0; k < 4; k++)
            if (k < quads) add(now.quads[k]);
        if (quads > 4) {
            const uint2* q = (const uint2*)(entries + now.descriptor.x) + lane();
            u32 i = 4;
            for (; i + 4 <= quads; i += 4) {
                uint2 a = load_stream(q + i * 32), b = load_stream(q + i * 32 + 32), c = load_stream(q + i * 32 + 64), e = load_stream(q + i * 32 + 96);
                add(a);
                add(b);
                add(c);
                add(e);
            }
            for (; i < quads; i++) add(load_stream(q + i * 32));
        }
        if (slice_half(now.descriptor)) {
            s0 += x[now.half & 0xffffu];
            s1 += x[now.half >> 16];
        }
        f32 y = (s0 + s1) + (s2 + s3);
        __syncwarp();
        for (u32 m = (1u << t) >> 1; m; m >>= 1) y += shuffle_xor(y, m);
#ifdef BITGRAPH_CHECKED
        const bool named = now.id != no_row;
#else
        const bool named = true;
#endif
        if ((lane() & ((1u << t) - 1)) == 0 && named) sums[now.id] += y;
        if (!more) break;
        now = next;
    }
}
}  // namespace bg
