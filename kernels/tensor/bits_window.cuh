// Sums of signs of matrices whose rows name lines near each other, and near their own: a window of lines slides through shared memory. A
// block takes rows in their order, and a part of the words of their lines; lines to come are copied while it counts. 32 rows are a slice, a
// lane for each, and what they name are diagonals: a distance from the row, and the rows that have it. One diagonal is up to 32 entries, and
// its lines lie side by side.
#pragma once
#include "common/async.cuh"
#include "tensor/bits_aggregate.cuh"

namespace bg {
struct BitsWindowParams {
    BitsEpilogue epilogue;    // of signs
    const u32* features;
    const u32* slices;        // the first diagonal of each slice, a multiple of 4
    const uint2* diagonals;   // bytes from a row's line on, around the window; the rows that have it
    const u8* degrees;        // of rows
    u32 rows;
    u32 lines;                // of the features
    u32 below;                // how far before a row the first line is that it names
    u32 above;                // and how far behind it the last
    u32 window;               // lines in shared memory, even
    u32 parts;                // of a line's words
    u32 block_rows;           // a multiple of 32
    u32 unused;
};

/// VECTOR words at a place of shared memory.
template <u32 VECTOR> BG_DEVICE void shared_words(u32 (&x)[VECTOR], const u8* p) {
    if constexpr (VECTOR == 2) {
        const uint2 v = *(const uint2*)p;
        x[0] = v.x, x[1] = v.y;
    } else {
        const uint4 v = *(const uint4*)p;
        x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
    }
}

/// Counts of at most 2^PLANES - 1, of VECTOR words a lane.
template <u32 VECTOR, u32 PLANES> BG_DEVICE void bits_from_window(const BitsWindowParams& p) {
    constexpr u32 BYTES = VECTOR * 4, MOST = bits::WINDOW_DIAGONALS, PAIR = 16 / BYTES;
    const u32 step = blockDim.x;
    u8* shared = shared_memory();
    const u32 part = blockIdx.x % p.parts, begin = blockIdx.x / p.parts * p.block_rows, end = min_of(p.rows, begin + p.block_rows);
    if (begin >= end) return;
    // The first lines of the window follow its last ones again, so that 32 lines side by side always are.
    const u32 size = p.window * BYTES, zero = size + WARP * BYTES, warp = threadIdx.x / WARP, bit = 1u << lane();
    uint2* mine = (uint2*)(shared + zero + 16) + warp * MOST;
    if (threadIdx.x < 4) ((u32*)(shared + zero))[threadIdx.x] = 0;
    const u32 first = (begin > p.below ? begin - p.below : 0) & ~1u;
    u32 done = first, done_at = 0;
    auto around = [&](u32 x) { return min_of(x, x - size); };
    auto copy_to = [&](u32 limit) {
        limit = min_of(limit + 1 & ~1u, p.lines);
        u32 at = around(done_at + threadIdx.x * 16);
        for (u32 line = done + threadIdx.x * PAIR; line < limit; line += step * PAIR, at = around(at + step * 16)) {
            const u32* from = p.features + ((u64)line * p.epilogue.stride + part * VECTOR);
            for (u32 to = at; to < zero; to += size) {
                if (PAIR == 1 || line + 1 < p.lines) copy_async16(shared + to, from);
                else *(uint2*)(shared + to) = load_readonly((const uint2*)from);
            }
        }
        commit_copies();
        if (limit <= done) return;
        done_at = around(done_at + (limit - done) * BYTES);
        done = limit;
    };
    copy_to(min_of(begin + step, end) + p.above);
    u32 slice = begin / WARP + warp, count = 0;
    uint2 found[MOST / WARP];
    auto load_slice = [&](u32 at) {
        count = 0;
        if (at * WARP >= end) return;
        const u32 from = load_readonly(p.slices + at);
        count = load_readonly(p.slices + at + 1) - from;
#pragma unroll
        for (u32 i = 0; i < MOST / WARP; i++)
            if (i * WARP + lane() < count) found[i] = load_readonly(p.diagonals + from + i * WARP + lane());
    };
    load_slice(slice);
    // Of the warp's first row.
    u32 place = (begin - first + warp * WARP) % p.window * BYTES;
    const u32 own = lane() * BYTES;
    for (u32 base = begin; base < end; base += step, slice += step / WARP) {
        wait_copies();
        __syncthreads();
        if (base + step < end) copy_to(min_of(base + 2 * step, end) + p.above);
        const u32 row = base + threadIdx.x, diagonals = count;
#pragma unroll
        for (u32 i = 0; i < MOST / WARP; i++)
            if (i * WARP + lane() < count) mine[i * WARP + lane()] = make_uint2(around(place + found[i].x), found[i].y);
        warp_sync();
        load_slice(slice + step / WARP);
        u32 degree = row < end ? load_readonly(p.degrees + row) : 0;
        u32 c[VECTOR][PLANES];
#pragma unroll
        for (u32 v = 0; v < VECTOR; v++)
#pragma unroll
            for (u32 i = 0; i < PLANES; i++) c[v][i] = 0;
        auto count_some = [&](u32 at, auto number) {
            constexpr u32 BLOCK = decltype(number)::value;
            u32 lines[BLOCK][VECTOR];
#pragma unroll
            for (u32 j = 0; j < BLOCK; j += 2) {
                const uint4 two = *(const uint4*)(mine + at + j);
                shared_words<VECTOR>(lines[j], shared + (two.y & bit ? two.x + own : zero));
                shared_words<VECTOR>(lines[j + 1], shared + (two.w & bit ? two.z + own : zero));
            }
#pragma unroll
            for (u32 v = 0; v < VECTOR; v++) {
                u32 words[BLOCK];
#pragma unroll
                for (u32 j = 0; j < BLOCK; j++) words[j] = lines[j][v];
                count_words<PLANES>(c[v], words);
            }
        };
        u32 at = 0;
        if constexpr (PLANES > 3)
            for (; at + 8 <= diagonals; at += 8) count_some(at, Number<8>{});
        for (; at < diagonals; at += 4) count_some(at, Number<4>{});
        if (row < end) {
            u32 signs[VECTOR];
#pragma unroll
            for (u32 v = 0; v < VECTOR; v++) signs[v] = signs_of(p.epilogue, c[v], degree, part * VECTOR + v);
            store_words<VECTOR>((u32*)p.epilogue.output + ((u64)row * p.epilogue.stride + part * VECTOR), signs);
        }
        warp_sync();
        place = around(place + step * BYTES);
    }
}
}  // namespace bg
