// Dense products of bits and of codes by groups of four warps, whose tensor cores read tiles from shared memory (Hopper): half as fast again as
// products from registers. The steps are those of `tensor/bits_product.cuh`, of 1024 bits each.
//
// Planes of the second operand lie beside each other as columns of one tile, 8 columns of each in turn, so that a tile of the first is read once
// for all of them; a thread then holds all planes of its columns, and weighs them when it is done. Where their number is not that of a kernel, a
// tile has one plane, and pairs of planes follow each other by descending weight.
#pragma once
#include "common/wgmma_bits.cuh"
#include "tensor/bits_product.cuh"

namespace bg {
constexpr u32 WIDE_STEP_BITS = 1024, GROUP_ROWS = 64;

/// A block of GROUPS groups, each with 64 rows, all with the same N tile columns: N / PLANES columns of the product. With several PLANES the walk
/// is over the planes of `a` alone. ONE_LINE: there is one plane of `a` then, and no map: the walk is along a line, which begins sooner.
template <u32 PLANES, u32 GROUPS, u32 N, u32 STAGES, bool ONE_LINE> BG_DEVICE void bits_product_wide(const BitsProductParams& p) {
    constexpr u32 ROWS = GROUPS * GROUP_ROWS, STAGE = (ROWS + N) * 128, PASS = GROUPS * 16, LEFT = ROWS / PASS, RIGHT = (N + PASS - 1) / PASS;
    static_assert(PASS % 8 == 0 && N % (8 * PLANES) == 0, "lines that a thread copies differ by whole exchanges; planes by whole columns");
    u8* shared = (u8*)(((u64)shared_memory() + 1023) & ~(u64)1023);
    const u32 row_tile = blockIdx.x / p.column_tiles, column_tile = blockIdx.x - row_tile * p.column_tiles, group = threadIdx.x / 128;
    const u32 row0 = row_tile * ROWS, column0 = column_tile * (N / PLANES), piece = threadIdx.x & 7u, line0 = threadIdx.x / 8;
    // Where the lines that this thread copies begin, in 16 bytes. What a line past the end is does not matter: its sums are not written.
    u32 left[LEFT], right[RIGHT];
#pragma unroll
    for (u32 i = 0; i < LEFT; i++) left[i] = (u32)((u64)min_of(row0 + line0 + i * PASS, p.rows - 1) * (p.a_stride / 4));
#pragma unroll
    for (u32 i = 0; i < RIGHT; i++) {
        const u32 line = line0 + i * PASS, column = min_of(column0 + line / (8 * PLANES) * 8 + (line & 7u), p.columns - 1);
        right[i] = (u32)(line / 8 % PLANES * (p.b_plane / 4) + (u64)column * (p.b_stride / 4));
    }
    const u32 place = swizzled(line0, piece);
    auto copy = [&](const BitsWalk& w, u32 stage) {
        const u32 chunk = w.part * (WIDE_STEP_BITS / 128) + piece;
        const bool wanted = chunk * 4 < p.words;
        const uint4* a = (const uint4*)(wanted ? p.a + w.a_plane * p.a_plane : p.a) + (wanted ? chunk : 0);
        const uint4* b = (const uint4*)(wanted ? p.b + (w.weight - w.a_plane) * p.b_plane : p.b) + (wanted ? chunk : 0);
        u8* to = shared + stage * STAGE + place;
#pragma unroll
        for (u32 i = 0; i < LEFT; i++) copy_async16_or_zero(to + i * PASS * 128, a + left[i], wanted);
#pragma unroll
        for (u32 i = 0; i < RIGHT; i++)
            if (N % PASS == 0 || line0 + i * PASS < N) copy_async16_or_zero(to + (ROWS + i * PASS) * 128, b + right[i], wanted);
    };
    i32 sums[N / 2];
#pragma unroll
    for (u32 i = 0; i < N / 2; i++) sums[i] = 0;
    keep_registers(sums);
    BitsWalk ahead;
    if constexpr (ONE_LINE) {
        const u32 parts = ceil_div(p.words, WIDE_STEP_BITS / 32);
        ahead = BitsWalk{0, 0, 0, parts, 0, 0, parts == 0};
    } else {
        ahead = begin_walk(p, row_tile * GROUPS, GROUPS, WIDE_STEP_BITS);
    }
    BitsWalk now = ahead;
    auto go_on = [&](BitsWalk& w) {
        if constexpr (ONE_LINE) w.done = ++w.part == w.parts;
        else walk_past(p, w, WIDE_STEP_BITS);
    };
    auto fetch = [&](u32 stage) {
        if (!ahead.done) {
            copy(ahead, stage);
            go_on(ahead);
        }
        commit_copies();
    };
    // The tensor cores may still read the last stage but one when the next one is copied: two stages stay behind.
    for (u32 stage = 0; stage + 2 < STAGES; stage++) fetch(stage);
    u32 stage = 0, weight = ONE_LINE ? 0 : p.a_planes + p.b_planes - 2;
    while (!now.done) {
        if (weight != now.weight) {
#pragma unroll
            for (u32 i = 0; i < N / 2; i++) sums[i] = (i32)((u32)sums[i] << (weight - now.weight));
            weight = now.weight;
        }
        keep_registers(sums);
        do {
            wait_copies_but<STAGES - 3>();
            publish_shared();
            __syncthreads();
            const u8* tile = shared + stage * STAGE;
            const u64 a = tile_of(tile + group * GROUP_ROWS * 128), b = tile_of(tile + ROWS * 128);
            wgmma_begin();
#pragma unroll
            for (u32 k = 0; k < WIDE_STEP_BITS; k += 256) wgmma_bits<N>(sums, tile_further(a, k), tile_further(b, k));
            wgmma_commit();
            fetch(stage < 2 ? stage + STAGES - 2 : stage - 2);
            wgmma_wait<1>();
            stage = stage + 1 == STAGES ? 0 : stage + 1;
            go_on(now);
        } while (!now.done && now.weight == weight);
        wgmma_wait<0>();
        keep_registers(sums);
    }
    wait_copies();
    const u32 row = row0 + group * GROUP_ROWS + (threadIdx.x / WARP & 3u) * 16 + (lane() >> 2);
#pragma unroll
    for (u32 j = 0; j < N / 8 / PLANES; j++) {
        const u32 column = column0 + j * 8 + (lane() & 3u) * 2;
        if (column >= p.columns) break;
        const bool both = column + 1 < p.columns;
        const i32 first = p.factor_b ? (i32)load_readonly(p.ones_b + column) : 0, second = p.factor_b && both ? (i32)load_readonly(p.ones_b + column + 1) : 0;
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            if (row + h * 8 >= p.rows) break;
            u32 found[2] = {0, 0};
#pragma unroll
            for (u32 plane = 0; plane < PLANES; plane++)
#pragma unroll
                for (u32 i = 0; i < 2; i++) found[i] += (u32)sums[(j * PLANES + plane) * 4 + h * 2 + i] << plane;
            i32* to = (i32*)p.output + ((u64)(row + h * 8) * p.columns + column);
            const i32 x = product_of(p, (i32)(found[0] << weight), 0, first), y = product_of(p, (i32)(found[1] << weight), 0, second);
            if ((p.columns & 1u) == 0) {
                *(int2*)to = make_int2(x, y);
            } else {
                to[0] = x;
                if (both) to[1] = y;
            }
        }
    }
}
}  // namespace bg
