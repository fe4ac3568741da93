// The signs of a product of many short lines by few: each warp keeps its 64 columns of the second operand in registers, and the lines of the first
// stream by. One plane of each, lines of 512 bits at most.
#pragma once
#include "tensor/bits_product.cuh"

namespace bg {
constexpr u32 STREAM_ROWS = 64, STREAM_BYTES = 64, STREAM_COLUMNS = 256;

/// A block of four warps with 256 columns, and every so many tiles of rows.
BG_DEVICE void bits_product_stream(const BitsProductParams& p) {
    constexpr u32 N = 8, STAGES = bits::STREAM_STAGES, STAGE = STREAM_ROWS * STREAM_BYTES, CHUNKS = STREAM_ROWS * 4;
    u8* shared = shared_memory();
    const u32 column_tile = blockIdx.x % p.column_tiles, walkers = gridDim.x / p.column_tiles;
    const u32 g = lane() >> 2, t = lane() & 3u, column0 = column_tile * STREAM_COLUMNS + threadIdx.x / WARP * 64;
    uint4 right[N];
    // Without the ones of the AND and of a's line, and with the threshold taken away: what is not below 0 is +1.
    i32 base[N][2];
#pragma unroll
    for (u32 n = 0; n < N; n++) {
        const u32 line = column0 + n * 8 + g;
        right[n] = make_uint4(0, 0, 0, 0);
        if (line < p.columns && t * 4 < p.words) right[n] = load_readonly((const uint4*)(p.b + (u64)line * p.b_stride + t * 4));
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            const u32 column = column0 + n * 8 + 2 * t + i;
            const bool within = column < p.columns;
            const i32 ones = p.factor_b && within ? (i32)load_readonly(p.ones_b + column) : 0;
            const i32 lowest = p.thresholds && within ? load_readonly(p.thresholds + column) : 0;
            // Far beyond every sum, and short enough for the upper bits of the difference to be its sign.
            base[n][i] = p.constant - p.factor_b * ones - min_of(max_of(lowest, -(1 << 20)), 1 << 20);
        }
    }
    auto fetch = [&](u32 tile, u32 stage) {
        if (tile < p.row_tiles)
            for (u32 chunk = threadIdx.x; chunk < CHUNKS; chunk += blockDim.x) {
                const u32 row = tile * STREAM_ROWS + chunk / 4, word = chunk % 4 * 4;
                const bool wanted = row < p.rows && word < p.words;
                copy_async16_or_zero(shared + stage * STAGE + chunk * 16, wanted ? p.a + (u64)row * p.a_stride + word : p.a, wanted);
            }
        commit_copies();
    };
    u32 ahead = blockIdx.x / p.column_tiles;
    for (u32 stage = 0; stage + 1 < STAGES; stage++, ahead += walkers) fetch(ahead, stage);
    u32 stage = 0;
    for (u32 tile = blockIdx.x / p.column_tiles; tile < p.row_tiles; tile += walkers, ahead += walkers) {
        wait_copies_but<STAGES - 2>();
        __syncthreads();
        fetch(ahead, stage == 0 ? STAGES - 1 : stage - 1);
        const uint4* a = (const uint4*)(shared + stage * STAGE) + g * 4 + t;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
#pragma unroll
        for (u32 m = 0; m < STREAM_ROWS / 16; m++) {
            const uint4 upper = a[m * 64], lower = a[m * 64 + 32];
            i32 sums[N][4];
#pragma unroll
            for (u32 n = 0; n < N; n++) sums[n][0] = sums[n][1] = sums[n][2] = sums[n][3] = 0;
#pragma unroll
            for (u32 n = 0; n < N; n++) mma_bits(sums[n], upper.x, lower.x, upper.y, lower.y, right[n].x, right[n].y);
#pragma unroll
            for (u32 n = 0; n < N; n++) mma_bits(sums[n], upper.z, lower.z, upper.w, lower.w, right[n].z, right[n].w);
            // The ones of both rows in one word.
            u32 ones = (u32)(__popc(upper.x) + __popc(upper.y) + __popc(upper.z) + __popc(upper.w)) |
                       (u32)(__popc(lower.x) + __popc(lower.y) + __popc(lower.z) + __popc(lower.w)) << 16;
            ones += shuffle_xor(ones, 1);
            ones += shuffle_xor(ones, 2);
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const i32 taken = p.factor_a * (i32)(h ? ones >> 16 : ones & 0xffffu);
                const u32 row = tile * STREAM_ROWS + m * 16 + h * 8 + g;
#pragma unroll
                for (u32 w = 0; w < 2; w++) {
                    u32 below = 0;
                    // Seven bits of the second number, all of them its sign, and one of the first: bits 1 and 0 of a byte.
#pragma unroll
                    for (u32 q = 4; q-- > 0;) {
                        const u32 n = w * 4 + q;
                        below = __funnelshift_l((u32)(p.factor * sums[n][2 * h + 1] + base[n][1] - taken), below, 7);
                        below = __funnelshift_l((u32)(p.factor * sums[n][2 * h] + base[n][0] - taken), below, 1);
                    }
                    u32 signs = (~below & 0x03030303u) << (2 * t);
                    signs |= shuffle_xor(signs, 1);
                    signs |= shuffle_xor(signs, 2);
                    const u32 word = column0 / 32 + w;
                    if (t == w && row < p.rows && word < p.out_stride) {
                        const u32 turned = p.flips ? load_readonly(p.flips + word) : 0;
                        ((u32*)p.output)[(u64)row * p.out_stride + word] = (signs ^ turned) & bits_within(p.columns, word);
                    }
                }
            }
        }
    }
    wait_copies();
}
}  // namespace bg
