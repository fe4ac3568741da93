// The signs of a product of many short lines, by groups of four warps whose tensor cores read tiles from shared memory (Hopper): a block keeps its
// columns of the second operand there, and the lines of the first stream by. One plane of each, lines of 512 or of 1024 bits at most.
#pragma once
#include "common/wgmma_bits.cuh"
#include "tensor/bits_product.cuh"

namespace bg {
constexpr u32 WIDE_SIGNS_ROWS = 64, WIDE_SIGNS_STAGE = WIDE_SIGNS_ROWS * 128;

/// One group with N columns, and every so many tiles of rows; lines of 256 STEPS bits at most.
template <u32 N, u32 STEPS, u32 STAGES> BG_DEVICE void bits_product_wide_signs(const BitsProductParams& p) {
    constexpr u32 WORDS = N / 32, KEPT = WORDS / 4, PIECES = STEPS * 2;
    static_assert(PIECES == 4 || PIECES == 8, "whole groups of four lanes count a line");
    u8* shared = (u8*)(((u64)shared_memory() + 1023) & ~(u64)1023);
    u8* right = shared + STAGES * WIDE_SIGNS_STAGE;
    i32* base = (i32*)(right + N * 128);
    const u32 column_tile = blockIdx.x % p.column_tiles, walkers = gridDim.x / p.column_tiles, column0 = column_tile * N;
    const u32 t = lane() & 3u, line = threadIdx.x / WARP * 16 + (lane() >> 2);
    for (u32 k = threadIdx.x; k < N * PIECES; k += blockDim.x) {
        const u32 column = column0 + k / PIECES, piece = k % PIECES;
        const bool wanted = column < p.columns && piece * 4 < p.words;
        copy_async16_or_zero(right + swizzled(k / PIECES, piece), wanted ? p.b + (u64)column * p.b_stride + piece * 4 : p.b, wanted);
    }
    // A number without the ones of the AND and of a's line, and with the threshold taken away: what is not below 0 is +1.
    for (u32 k = threadIdx.x; k < N; k += blockDim.x) {
        const u32 column = column0 + k;
        const bool within = column < p.columns;
        const i32 ones = p.factor_b && within ? (i32)load_readonly(p.ones_b + column) : 0;
        const i32 lowest = p.thresholds && within ? load_readonly(p.thresholds + column) : 0;
        // Far beyond every sum, and short enough for the upper bits of the difference to be its sign.
        base[k] = p.constant - p.factor_b * ones - min_of(max_of(lowest, -(1 << 20)), 1 << 20);
    }
    auto fetch = [&](u32 tile, u32 stage) {
        if (tile < p.row_tiles) {
            u8* to = shared + stage * WIDE_SIGNS_STAGE;
            const u32 piece = threadIdx.x % PIECES;
            const bool wanted = piece * 4 < p.words;
#pragma unroll
            for (u32 i = 0; i < WIDE_SIGNS_ROWS * PIECES / 128; i++) {
                const u32 l = threadIdx.x / PIECES + i * (128 / PIECES), row = min_of(tile * WIDE_SIGNS_ROWS + l, p.rows - 1);
                copy_async16_or_zero(to + swizzled(l, piece), wanted ? p.a + (u64)row * p.a_stride + piece * 4 : p.a, wanted);
            }
        }
        commit_copies();
    };
    u32 ahead = blockIdx.x / p.column_tiles;
    for (u32 stage = 0; stage + 1 < STAGES; stage++, ahead += walkers) fetch(ahead, stage);
    const u64 b = tile_of(right);
    u32 stage = 0;
    for (u32 tile = blockIdx.x / p.column_tiles; tile < p.row_tiles; tile += walkers, ahead += walkers) {
        wait_copies_but<STAGES - 2>();
        publish_shared();
        __syncthreads();
        i32 sums[N / 2];
        const u8* lines = shared + stage * WIDE_SIGNS_STAGE;
        const u64 a = tile_of(lines);
        wgmma_begin();
        wgmma_bits<N>(sums, a, b, false);
#pragma unroll
        for (u32 k = 1; k < STEPS; k++) wgmma_bits<N>(sums, tile_further(a, k * 256), tile_further(b, k * 256));
        wgmma_commit();
        fetch(ahead, stage == 0 ? STAGES - 1 : stage - 1);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        // The ones of both rows in one word.
        u32 ones = 0;
#pragma unroll
        for (u32 piece = t; piece < PIECES; piece += 4) {
            const uint4 upper = *(const uint4*)(lines + swizzled(line, piece)), lower = *(const uint4*)(lines + swizzled(line + 8, piece));
            ones += (u32)(__popc(upper.x) + __popc(upper.y) + __popc(upper.z) + __popc(upper.w)) |
                    (u32)(__popc(lower.x) + __popc(lower.y) + __popc(lower.z) + __popc(lower.w)) << 16;
        }
        ones += shuffle_xor(ones, 1);
        ones += shuffle_xor(ones, 2);
        wgmma_wait<0>();
        keep_registers(sums);
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            const i32 taken = p.factor_a * (i32)(h ? ones >> 16 : ones & 0xffffu);
            u32 words[WORDS];
#pragma unroll
            for (u32 w = 0; w < WORDS; w++) {
                u32 below = 0;
                // Seven bits of the second number, all of them its sign, and one of the first: bits 1 and 0 of a byte.
#pragma unroll
                for (u32 q = 4; q-- > 0;) {
                    const u32 n = w * 4 + q;
                    const int2 from = *(const int2*)(base + n * 8 + 2 * t);
                    below = __funnelshift_l((u32)(p.factor * sums[n * 4 + 2 * h + 1] + from.y - taken), below, 7);
                    below = __funnelshift_l((u32)(p.factor * sums[n * 4 + 2 * h] + from.x - taken), below, 1);
                }
                words[w] = (~below & 0x03030303u) << (2 * t);
            }
            // Each of the four lanes of a row ends with a quarter of its words.
#pragma unroll
            for (u32 span = 2, count = WORDS / 2; span > 0; span /= 2, count /= 2)
#pragma unroll
                for (u32 w = 0; w < count; w++) {
                    const bool upper = (t & span) != 0;
                    const u32 other = shuffle_xor(upper ? words[w] : words[w + count], span);
                    words[w] = (upper ? words[w + count] : words[w]) | other;
                }
            const u32 row = tile * WIDE_SIGNS_ROWS + line + h * 8, first = column0 / 32 + t * KEPT;
            if (row < p.rows)
#pragma unroll
                for (u32 w = 0; w < KEPT; w++)
                    if (first + w < p.out_stride) {
                        const u32 turned = p.flips ? load_readonly(p.flips + first + w) : 0;
                        ((u32*)p.output)[(u64)row * p.out_stride + first + w] = (words[w] ^ turned) & bits_within(p.columns, first + w);
                    }
        }
    }
    wait_copies();
}
}  // namespace bg
