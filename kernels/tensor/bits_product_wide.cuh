// Dense products of bits and of codes by groups of four warps, whose tensor cores read tiles from shared memory (Hopper): half as fast again as
// products from registers. The steps are those of `tensor/bits_product.cuh`, of 1024 bits each.
#pragma once
#include "common/wgmma_bits.cuh"
#include "tensor/bits_product.cuh"

namespace bg {
constexpr u32 WIDE_STEP_BITS = 1024, GROUP_ROWS = 64;

/// A block of groups, each with 64 rows, all with the same N columns.
template <u32 N, u32 STAGES> BG_DEVICE void bits_product_wide(const BitsProductParams& p) {
    const u32 groups = blockDim.x / 128, group = threadIdx.x / 128, tile_rows = groups * GROUP_ROWS, lines = tile_rows + N;
    u8* shared = (u8*)(((u64)shared_memory() + 1023) & ~(u64)1023);
    const u32 row_tile = blockIdx.x / p.column_tiles, column_tile = blockIdx.x - row_tile * p.column_tiles;
    const u32 row0 = row_tile * tile_rows, column0 = column_tile * N, piece = threadIdx.x & 7u;
    auto copy = [&](const BitsWalk& w, u32 stage) {
        const u32* a = p.a + w.a_plane * p.a_plane;
        const u32* b = p.b + (w.weight - w.a_plane) * p.b_plane;
        const u32 word = w.part * (WIDE_STEP_BITS / 32) + piece * 4;
        u8* to = shared + stage * lines * 128;
        for (u32 line = threadIdx.x / 8; line < lines; line += blockDim.x / 8) {
            const bool left = line < tile_rows;
            const u32 at = left ? row0 + line : column0 + (line - tile_rows);
            const bool wanted = at < (left ? p.rows : p.columns) && word < p.words;
            const u32* from = left ? a + (u64)at * p.a_stride : b + (u64)at * p.b_stride;
            copy_async16_or_zero(to + swizzled(line, piece), wanted ? from + word : p.a, wanted);
        }
    };
    i32 sums[N / 2];
#pragma unroll
    for (u32 i = 0; i < N / 2; i++) sums[i] = 0;
    keep_registers(sums);
    BitsWalk ahead = begin_walk(p, row_tile * groups, groups, WIDE_STEP_BITS), now = ahead;
    auto fetch = [&](u32 stage) {
        if (!ahead.done) {
            copy(ahead, stage);
            ahead.part++;
            walk_on(p, ahead, WIDE_STEP_BITS);
        }
        commit_copies();
    };
    // The tensor cores may still read the last stage but one when the next one is copied: two stages stay behind.
    for (u32 stage = 0; stage + 2 < STAGES; stage++) fetch(stage);
    u32 step = 0, weight = p.a_planes + p.b_planes - 2;
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
            const u8* tile = shared + step % STAGES * lines * 128;
            const u64 a = tile_of(tile + group * GROUP_ROWS * 128), b = tile_of(tile + tile_rows * 128);
            wgmma_begin();
#pragma unroll
            for (u32 k = 0; k < WIDE_STEP_BITS; k += 256) wgmma_bits<N>(sums, tile_further(a, k), tile_further(b, k));
            wgmma_commit();
            fetch((step + STAGES - 2) % STAGES);
            wgmma_wait<1>();
            step++;
            now.part++;
            walk_on(p, now, WIDE_STEP_BITS);
        } while (!now.done && now.weight == weight);
        wgmma_wait<0>();
        keep_registers(sums);
    }
    wait_copies();
    const u32 row = row0 + group * GROUP_ROWS + (threadIdx.x / WARP & 3u) * 16 + (lane() >> 2);
#pragma unroll
    for (u32 j = 0; j < N / 8; j++) {
        const u32 column = column0 + j * 8 + (lane() & 3u) * 2;
        if (column >= p.columns) break;
        const bool both = column + 1 < p.columns;
        const i32 first = p.factor_b ? (i32)load_readonly(p.ones_b + column) : 0, second = p.factor_b && both ? (i32)load_readonly(p.ones_b + column + 1) : 0;
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            if (row + h * 8 >= p.rows) break;
            i32* to = (i32*)p.output + ((u64)(row + h * 8) * p.columns + column);
            const i32 x = product_of(p, (i32)((u32)sums[j * 4 + h * 2] << weight), 0, first);
            const i32 y = product_of(p, (i32)((u32)sums[j * 4 + h * 2 + 1] << weight), 0, second);
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
