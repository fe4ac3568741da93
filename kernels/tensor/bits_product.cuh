// Dense products of bits and of codes of few bits: the ones of the AND of two lines, for each pair of planes, weighted by both. Pairs are taken
// by descending weight, and what there is so far is doubled when the weight halves, so that one set of sums serves any number of planes. Signs
// become products of bits by a correction of rank 1.
//
// Both operands are lines of bits along the dimension that is summed over, each of whole 16 bytes. What lies past their ends is taken for 0.
#pragma once
#include "common/async.cuh"
#include "common/mma_bits.cuh"
#include "tensor/bits_counters.cuh"
#include "tuning/bits.cuh"

namespace bg {
struct BitsProductParams {
    const u32* a;            // a_planes planes of rows lines
    const u32* b;            // b_planes planes of columns lines
    const u32* ones_b;       // ones of each line of b; null where factor_b is 0
    const u32* map;          // a bit for each tile of TILE_ROWS lines x MAP_BITS bits of a that holds a 1; null: all are looked at
    const i32* thresholds;   // for each column: the smallest number whose sign is +1; null: 0
    const u32* flips;        // words of columns whose sign is turned; null: none
    void* output;            // rows x columns of i32, or lines of signs
    u64 a_plane;             // words of a plane
    u64 b_plane;
    u32 a_planes;
    u32 b_planes;
    u32 rows;
    u32 columns;
    u32 words;               // of a line that hold something
    u32 a_stride;            // words of a line
    u32 b_stride;
    u32 map_stride;
    u32 out_stride;          // of lines of signs
    u32 row_tiles;
    u32 column_tiles;
    i32 factor;              // of the ones of ANDs
    i32 factor_a;            // what is taken away for each one of a's line
    i32 factor_b;            // and of b's
    i32 constant;
    u32 unused;
};

/// A walk through a product's steps: pairs of planes by descending weight, and the parts of their lines in turn. Parts in which `a` has no 1 are
/// left out.
struct BitsWalk {
    u32 weight, a_plane, part, parts;
    u32 map_row, map_end;  // rows of tiles that the walk is for
    bool done;
};
/// Whether the part where it stands may hold a 1.
BG_DEVICE bool part_counts(const BitsProductParams& p, const BitsWalk& w, u32 step_bits) {
    if (!p.map) return true;
    const u32 tile = w.part * step_bits / bits::MAP_BITS;
    u32 found = 0;
    for (u32 row = w.map_row; row < w.map_end; row++) found |= load_readonly(p.map + ((u64)row * p.map_stride + tile / 32));
    return found >> (tile & 31u) & 1u;
}
/// Goes on to the next part that counts, from where it stands.
BG_DEVICE void walk_on(const BitsProductParams& p, BitsWalk& w, u32 step_bits) {
    while (!w.done) {
        if (w.part < w.parts) {
            if (part_counts(p, w, step_bits)) return;
            w.part++;
            continue;
        }
        w.part = 0;
        // The next pair of the same weight, or the first of the next lower one.
        if (w.a_plane + 1 < p.a_planes && w.a_plane < w.weight) {
            w.a_plane++;
        } else if (w.weight == 0) {
            w.done = true;
        } else {
            w.weight--;
            w.a_plane = w.weight < p.b_planes ? 0 : w.weight - p.b_planes + 1;
        }
    }
}
/// Leaves the part where it stands; within a line of which all parts count, by little more than an addition.
BG_DEVICE void walk_past(const BitsProductParams& p, BitsWalk& w, u32 step_bits) {
    w.part++;
    if (p.map || w.part >= w.parts) walk_on(p, w, step_bits);
}
/// The walk of `count` rows of tiles from `first` on.
BG_DEVICE BitsWalk begin_walk(const BitsProductParams& p, u32 first, u32 count, u32 step_bits) {
    const u32 parts = (p.words * 32 + step_bits - 1) / step_bits, tiles = ceil_div(p.rows, bits::TILE_ROWS);
    BitsWalk w = {p.a_planes + p.b_planes - 2, p.a_planes - 1, 0, parts, first, min_of(first + count, tiles), parts == 0};
    walk_on(p, w, step_bits);
    return w;
}

/// A number from the ones of ANDs and of both lines.
BG_DEVICE i32 product_of(const BitsProductParams& p, i32 found, i32 ones_a, i32 ones_b) {
    return p.factor * found - p.factor_a * ones_a - p.factor_b * ones_b + p.constant;
}

constexpr u32 STEP_BYTES = bits::STEP_BITS / 8, STAGE_BYTES = (bits::TILE_ROWS + bits::TILE_COLUMNS) * STEP_BYTES;

/// A block of four warps, two by two, each with 32 rows and 64 columns. COUNT: the ones of a's lines matter; SIGNS: of the output.
template <bool COUNT, bool SIGNS> BG_DEVICE void bits_product(const BitsProductParams& p) {
    using namespace bits;
    constexpr u32 M = 2, N = 8, CHUNKS = (TILE_ROWS + TILE_COLUMNS) * STEP_BYTES / 16;
    u8* shared = shared_memory();
    const u32 row_tile = blockIdx.x / p.column_tiles, column_tile = blockIdx.x - row_tile * p.column_tiles;
    const u32 row0 = row_tile * TILE_ROWS, column0 = column_tile * TILE_COLUMNS;
    const u32 warp = threadIdx.x / WARP, g = lane() >> 2, t = lane() & 3u, warp_row = (warp & 1u) * 32, warp_column = (warp >> 1) * 64;
    auto copy = [&](const BitsWalk& w, u32 stage) {
        const u32* a = p.a + w.a_plane * p.a_plane;
        const u32* b = p.b + (w.weight - w.a_plane) * p.b_plane;
        for (u32 chunk = threadIdx.x; chunk < CHUNKS; chunk += blockDim.x) {
            const u32 line = chunk / (STEP_BYTES / 16), word = w.part * (STEP_BITS / 32) + chunk % (STEP_BYTES / 16) * 4;
            const bool left = line < TILE_ROWS;
            const u32 at = left ? row0 + line : column0 + (line - TILE_ROWS);
            const bool wanted = at < (left ? p.rows : p.columns) && word < p.words;
            const u32* from = left ? a + (u64)at * p.a_stride : b + (u64)at * p.b_stride;
            copy_async16_or_zero(shared + stage * STAGE_BYTES + chunk * 16, wanted ? from + word : p.a, wanted);
        }
    };
    i32 sums[M][N][4];
    u32 ones[M][2];
#pragma unroll
    for (u32 m = 0; m < M; m++) {
        ones[m][0] = ones[m][1] = 0;
#pragma unroll
        for (u32 n = 0; n < N; n++) sums[m][n][0] = sums[m][n][1] = sums[m][n][2] = sums[m][n][3] = 0;
    }
    BitsWalk ahead = begin_walk(p, row_tile, 1, STEP_BITS), now = ahead;
    auto fetch = [&](u32 stage) {
        if (!ahead.done) {
            copy(ahead, stage);
            walk_past(p, ahead, STEP_BITS);
        }
        commit_copies();
    };
    for (u32 stage = 0; stage + 1 < STAGES; stage++) fetch(stage);
    u32 weight = p.a_planes + p.b_planes - 2;
    auto halve_weight = [&](u32 to) {
        if (weight == to) return;
#pragma unroll
        for (u32 m = 0; m < M; m++)
#pragma unroll
            for (u32 n = 0; n < N; n++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) sums[m][n][i] = (i32)((u32)sums[m][n][i] << (weight - to));
        weight = to;
    };
    for (u32 step = 0; !now.done; step++) {
        wait_copies_but<STAGES - 2>();
        __syncthreads();
        fetch((step + STAGES - 1) % STAGES);
        halve_weight(now.weight);
        const u8* stage = shared + step % STAGES * STAGE_BYTES;
        const uint4* a = (const uint4*)(stage + (warp_row + g) * STEP_BYTES) + t;
        const uint4* b = (const uint4*)(stage + (TILE_ROWS + warp_column + g) * STEP_BYTES) + t;
        constexpr u32 LINE = STEP_BYTES / 16;
        uint4 left[M][2];
#pragma unroll
        for (u32 m = 0; m < M; m++) {
            left[m][0] = a[m * 16 * LINE];
            left[m][1] = a[(m * 16 + 8) * LINE];
            if constexpr (COUNT) {
                ones[m][0] += __popc(left[m][0].x) + __popc(left[m][0].y) + __popc(left[m][0].z) + __popc(left[m][0].w);
                ones[m][1] += __popc(left[m][1].x) + __popc(left[m][1].y) + __popc(left[m][1].z) + __popc(left[m][1].w);
            }
        }
#pragma unroll
        for (u32 n = 0; n < N; n++) {
            const uint4 right = b[n * 8 * LINE];
#pragma unroll
            for (u32 m = 0; m < M; m++)
                mma_bits(sums[m][n], left[m][0].x, left[m][1].x, left[m][0].y, left[m][1].y, right.x, right.y);
#pragma unroll
            for (u32 m = 0; m < M; m++)
                mma_bits(sums[m][n], left[m][0].z, left[m][1].z, left[m][0].w, left[m][1].w, right.z, right.w);
        }
        walk_past(p, now, STEP_BITS);
    }
    halve_weight(0);
    wait_copies();
    if constexpr (COUNT) {
#pragma unroll
        for (u32 m = 0; m < M; m++)
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                ones[m][h] += shuffle_xor(ones[m][h], 1);
                ones[m][h] += shuffle_xor(ones[m][h], 2);
            }
    }
#pragma unroll
    for (u32 m = 0; m < M; m++)
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            const u32 row = row0 + warp_row + m * 16 + h * 8 + g;
            u32 signs[2] = {0, 0};
#pragma unroll
            for (u32 n = 0; n < N; n++) {
                const u32 column = column0 + warp_column + n * 8 + 2 * t;
                i32 found[2];
#pragma unroll
                for (u32 i = 0; i < 2; i++) {
                    const bool within = column + i < p.columns;
                    const i32 ones_b = p.factor_b && within ? (i32)load_readonly(p.ones_b + column + i) : 0;
                    found[i] = product_of(p, sums[m][n][2 * h + i], COUNT ? (i32)ones[m][h] : 0, ones_b);
                    if constexpr (SIGNS) {
                        const i32 lowest = p.thresholds && within ? load_readonly(p.thresholds + column + i) : 0;
                        signs[n / 4] |= (u32)(found[i] >= lowest) << (n % 4 * 8 + 2 * t + i);
                    }
                }
                if constexpr (!SIGNS) {
                    if (row < p.rows && column < p.columns) {
                        i32* to = (i32*)p.output + ((u64)row * p.columns + column);
                        if ((p.columns & 1u) == 0) {
                            *(int2*)to = make_int2(found[0], found[1]);
                        } else {
                            to[0] = found[0];
                            if (column + 1 < p.columns) to[1] = found[1];
                        }
                    }
                }
            }
            if constexpr (SIGNS) {
#pragma unroll
                for (u32 w = 0; w < 2; w++) {
                    signs[w] |= shuffle_xor(signs[w], 1);
                    signs[w] |= shuffle_xor(signs[w], 2);
                    const u32 word = (column0 + warp_column) / 32 + w;
                    if (t == w && row < p.rows && word < p.out_stride) {
                        const u32 turned = p.flips ? load_readonly(p.flips + word) : 0;
                        ((u32*)p.output)[(u64)row * p.out_stride + word] = (signs[w] ^ turned) & bits_within(p.columns, word);
                    }
                }
            }
        }
}
}  // namespace bg
