// The signs of a product of many short lines, by groups of four warps whose tensor cores read tiles from shared memory (Hopper): a block keeps its
// columns of the second operand there, and the lines of the first stream by. One plane of each, lines of 512 or of 1024 bits at most.
#pragma once
#include "common/wgmma_bits.cuh"
#include "tensor/bits_product.cuh"

namespace bg {
constexpr u32 WIDE_SIGNS_ROWS = 64, WIDE_SIGNS_STAGE = WIDE_SIGNS_ROWS * 128;

/// One group with N columns, and every so many tiles of rows; lines of 256 STEPS bits at most.
template <u32 N, u32 STEPS, u32 STAGES> BG_DEVICE void bits_signs_wide(const BitsProductParams& p) {
    constexpr u32 WORDS = N / 32, KEPT = WORDS / 4, PIECES = STEPS * 2;
    static_assert(KEPT == 2, "a lane writes two words");
    static_assert(PIECES == 4 || PIECES == 8, "whole groups of four lanes count a line");
    u8* shared = (u8*)(((u64)shared_memory() + 1023) & ~(u64)1023);
    u8* right = shared + STAGES * WIDE_SIGNS_STAGE;
    u32* base = (u32*)(right + N * 128);
    const u32 column_tile = blockIdx.x % p.column_tiles, walkers = gridDim.x / p.column_tiles, column0 = column_tile * N;
    const u32 t = lane() & 3u, line = threadIdx.x / WARP * 16 + (lane() >> 2);
    for (u32 k = threadIdx.x; k < N * PIECES; k += blockDim.x) {
        const u32 column = column0 + k / PIECES, piece = k % PIECES;
        const bool wanted = column < p.columns && piece * 4 < p.words;
        copy_async16_or_zero(right + swizzled(k / PIECES, piece), wanted ? p.b + (u64)column * p.b_stride + piece * 4 : p.b, wanted);
    }
    // A number without the ones of the AND and of a's line, and with the threshold taken away: what is not below 0 is +1. Two of them in a word,
    // of columns 8 apart, each with ZERO added, so that nothing is carried between them and bit 14 says that a number is not below 0.
    constexpr i32 ZERO = 1 << 14;
    auto base_of = [&](u32 column) {
        const bool within = column < p.columns;
        const i32 ones = p.factor_b && within ? (i32)load_readonly(p.ones_b + column) : 0;
        const i32 lowest = p.thresholds && within ? load_readonly(p.thresholds + column) : 0;
        // Beyond every sum of 1024 bits.
        return (u32)(p.constant - p.factor_b * ones - min_of(max_of(lowest, -2048), 2048) + ZERO);
    };
    for (u32 k = threadIdx.x; k < N / 2; k += blockDim.x) {
        const u32 column = column0 + k / 8 * 16 + (k & 7u);
        base[k] = base_of(column) | base_of(column + 8) << 16;
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
    const bool pairs = ((p.out_stride | (u32)((u64)p.output / 4)) & 1u) == 0;
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
        const u32 taken[2] = {p.factor_a * (ones & 0xffffu) * 0x10001u, p.factor_a * (ones >> 16) * 0x10001u}, factor = (u32)p.factor;
        u32 words[2][WORDS];
#pragma unroll
        for (u32 w = 0; w < WORDS; w++) {
            // Bit 6 of byte q is the sign of column 8 q + 2 t + i of the word's.
            u32 signs[2][2], pair[2][2][2];
#pragma unroll
            for (u32 u = 0; u < 2; u++) {
                const uint2 from = *(const uint2*)(base + (w * 2 + u) * 8 + 2 * t);
#pragma unroll
                for (u32 h = 0; h < 2; h++)
#pragma unroll
                    for (u32 i = 0; i < 2; i++) {
                        const u32 at = (w * 2 + u) * 8 + 2 * h + i;
                        pair[h][i][u] = (u32)sums[at] * factor + ((u32)sums[at + 4] * (factor << 16) + (i ? from.y : from.x)) - taken[h];
                    }
            }
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
#pragma unroll
                for (u32 i = 0; i < 2; i++) signs[h][i] = __byte_perm(pair[h][i][0], pair[h][i][1], 0x7531);
                const u32 both = (signs[h][0] >> 1 & 0x20202020u) | (signs[h][1] & 0x40404040u);
                words[h][w] = __funnelshift_l(both, both, 2 * t + 27);
            }
        }
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            // Each of the four lanes of a row ends with a quarter of its words.
#pragma unroll
            for (u32 span = 2, count = WORDS / 2; span > 0; span /= 2, count /= 2)
#pragma unroll
                for (u32 w = 0; w < count; w++) {
                    const bool upper = (t & span) != 0;
                    const u32 other = shuffle_xor(upper ? words[h][w] : words[h][w + count], span);
                    words[h][w] = (upper ? words[h][w + count] : words[h][w]) | other;
                }
            const u32 row = tile * WIDE_SIGNS_ROWS + line + h * 8, first = column0 / 32 + t * KEPT;
            if (row >= p.rows) continue;
            u32* to = (u32*)p.output + ((u64)row * p.out_stride + first);
#pragma unroll
            for (u32 w = 0; w < KEPT; w++) {
                const u32 turned = p.flips && first + w < p.out_stride ? load_readonly(p.flips + first + w) : 0;
                words[h][w] = (words[h][w] ^ turned) & bits_within(p.columns, first + w);
            }
            if (pairs && first < p.out_stride) {
                *(uint2*)to = make_uint2(words[h][0], words[h][1]);
            } else {
#pragma unroll
                for (u32 w = 0; w < KEPT; w++)
                    if (first + w < p.out_stride) to[w] = words[h][w];
            }
        }
    }
    wait_copies();
}
}  // namespace bg
