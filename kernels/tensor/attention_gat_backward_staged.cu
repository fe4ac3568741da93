// The middle and the last launch of the backward pass of additive attention of one head over blocks of rows that share columns, of halves: a warp takes a
// window of 16 rows of the transposed matrix, tile by tile of 16 columns, whose gradients lie in shared memory.
//
// First product: A are the values of the window's rows, B the gradients; D, a row by a column, are the dots of entries, of which those that there are
// become probabilities. They lie as the operand A of the second product is to, by the same gradients. So a gradient is copied once for a block.
//
// The gradients of scores are summed over the rows of a window where they are, so a tile leaves 16 sums and not a number for each entry: sum s of a
// tile lies where word s of the tile does. The last launch adds up those of a row of the matrix, by a list of their places.
//
// An infinity or NaN in a gradient makes the values' gradients of the whole window NaN: it meets the zeros of other rows.
#include "tensor/attention_gat_backward.cuh"
#include "tensor/attention_staged.cuh"

namespace bg {
struct GatBackwardStagedParams {
    RowBlocks blocks;            // of the transposed matrix
    GatBackwardParams backward;  // d_scores: the sums of tiles
};

/// Sums over the rows of a window of what lanes have for four columns of a tile: of column `summed_column()`, in lanes that `sums_column()`.
BG_DEVICE f32 column_sum(const f32 (&x)[4]) {
    const bool far = lane() & 16u, odd = lane() & 8u;
    const f32 first = (far ? x[2] : x[0]) + shuffle_xor(far ? x[0] : x[2], 16), second = (far ? x[3] : x[1]) + shuffle_xor(far ? x[1] : x[3], 16);
    const f32 sum = (odd ? second : first) + shuffle_xor(odd ? first : second, 8);
    return sum + shuffle_xor(sum, 4);
}
BG_DEVICE bool sums_column() { return (lane() & 4u) == 0; }
BG_DEVICE u32 summed_column() { return (lane() >> 4) * 8 + (lane() & 3u) * 2 + (lane() >> 3 & 1u); }

template <class T, u32 WIDTH, u32 BUFFERS> BG_DEVICE void gat_backward_staged(const GatBackwardStagedParams& params) {
    const GatBackwardParams& p = params.backward;
    BlockCopies<WIDTH, BUFFERS, float4> copies(params.blocks, p.gradient, p.packed, p.columns);
    constexpr u32 ROW = copies.ROW;
    constexpr f32 UNSCALE = 1.0f / PROBABILITY_SCALE;
    const u32 t = lane() & 3u;
    copies.start();
    for (u32 k = 0; k < copies.count; k++) {
        const u32* const words = copies.record(k);
        const BlockWindow window(words);
        const u64 begin = (u64)load_readonly(params.blocks.begins + copies.block(k)) * 4;
        u32 own[WIDTH * 4][4];
        f32 right[2], right_sums[2] = {0, 0}, sums[WIDTH * 8][4];
        // Asked for before the copies are waited for.
        WindowRows<WIDTH> values(p.values, p.columns, window);
#pragma unroll
        for (u32 r = 0; r < 2; r++) right[r] = window.rows[r] != staged::NO_ROW ? load_readonly(p.right + window.rows[r]) : 0.0f;
        copies.arrive(k);
        values.arrange(own);
        // Rounded as the other score is: scores that cancel each other give zero, on whose side the slope changes.
#pragma unroll
        for (u32 r = 0; r < 2; r++) right[r] = rounded_product(right[r], LOG2_E);
        const float4* const scalars = copies.scalars_of(k);
#pragma unroll
        for (u32 q = 0; q < WIDTH * 8; q++) sums[q][0] = sums[q][1] = sums[q][2] = sums[q][3] = 0;
        f32* tile_sums = p.d_scores + begin + (u64)(window.first - words) + summed_column();
        for (const u32* at = window.first; at < window.last; at += staged::TILE_WORDS, tile_sums += staged::TILE_WORDS) {
            const BlockTile tile(at);
            const TileRows<ROW> rows(copies.rows_of(k), at);
            f32 dots[2][4] = {};
            dot_tile<T, WIDTH>(dots, own, rows);
            u32 weights[4];
            f32 column_sums[4];
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                f32 probabilities[2][2];
#pragma unroll
                for (u32 i = 0; i < 2; i++) {
                    const float4 row = scalars[tile.places[2 * h + i]];
                    column_sums[2 * h + i] = 0;
#pragma unroll
                    for (u32 r = 0; r < 2; r++) {
                        const f32 z = right[r] + row.x, factor = z > 0 ? 1.0f : p.slope, probability = exp2_of(z * factor + (PROBABILITY_BITS - row.y));
                        const f32 d_score = probability * factor * (dots[h][2 * r + i] - row.z);
                        const bool has = tile.has(r, h, i);
                        probabilities[r][i] = has ? probability : 0.0f;
                        right_sums[r] += has ? d_score : 0.0f;
                        column_sums[2 * h + i] += has ? d_score : 0.0f;
                    }
                }
#pragma unroll
                for (u32 r = 0; r < 2; r++) weights[2 * h + r] = pack_pair<T>(probabilities[r][0], probabilities[r][1]);
            }
            add_tile<T, WIDTH>(sums, weights, rows);
            const f32 sum = column_sum(column_sums) * UNSCALE;
            if (sums_column()) *tile_sums = sum;
        }
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            const u32 row = window.rows[r];
#pragma unroll
            for (u32 d = 1; d < 4; d <<= 1) right_sums[r] += shuffle_xor(right_sums[r], d);
            if (t == 0 && row != staged::NO_ROW) p.d_right[row] = right_sums[r] * UNSCALE;
#pragma unroll
            for (u32 half = 0; half < WIDTH * 2; half++) {
                u32 stored[4];
#pragma unroll
                for (u32 i = 0; i < 4; i++) stored[i] = pack_pair<T>(sums[half * 4 + i][2 * r] * UNSCALE, sums[half * 4 + i][2 * r + 1] * UNSCALE);
                transpose_quad(stored);
                const u32 column = (half * 4 + t) * 8;
                if (row != staged::NO_ROW && column < p.columns)
                    *(uint4*)((u16*)p.d_values + ((u64)row * p.columns + column)) = make_uint4(stored[0], stored[1], stored[2], stored[3]);
            }
        }
        copies.leave(k);
    }
}
BG_KERNEL(attention_gat_backward_staged_f16_64_1, GatBackwardStagedParams, 128, 4) { gat_backward_staged<f16, 1, 1>(p); }
BG_KERNEL(attention_gat_backward_staged_f16_64_2, GatBackwardStagedParams, 128, 4) { gat_backward_staged<f16, 1, 2>(p); }
BG_KERNEL(attention_gat_backward_staged_f16_128_1, GatBackwardStagedParams, 128, 3) { gat_backward_staged<f16, 2, 1>(p); }
BG_KERNEL(attention_gat_backward_staged_f16_128_2, GatBackwardStagedParams, 128, 3) { gat_backward_staged<f16, 2, 2>(p); }
BG_KERNEL(attention_gat_backward_staged_bf16_64_1, GatBackwardStagedParams, 128, 4) { gat_backward_staged<bf16, 1, 1>(p); }
BG_KERNEL(attention_gat_backward_staged_bf16_64_2, GatBackwardStagedParams, 128, 4) { gat_backward_staged<bf16, 1, 2>(p); }
BG_KERNEL(attention_gat_backward_staged_bf16_128_1, GatBackwardStagedParams, 128, 3) { gat_backward_staged<bf16, 2, 1>(p); }
BG_KERNEL(attention_gat_backward_staged_bf16_128_2, GatBackwardStagedParams, 128, 3) { gat_backward_staged<bf16, 2, 2>(p); }

struct TileColumns {
    RowBlocks blocks;
    u32* columns;  // for each word of the blocks, which the caller has filled: of word s of a tile, the column of the tile's place s if it has one
};
/// A warp for each block.
BG_KERNEL(attention_gat_backward_staged_columns, TileColumns, 128, 8) {
    using namespace staged;
    for (u32 block = (blockIdx.x * blockDim.x + threadIdx.x) / WARP; block < p.blocks.blocks; block += gridDim.x * blockDim.x / WARP) {
        const u64 begin = (u64)load_readonly(p.blocks.begins + block) * 4;
        const u32* words = p.blocks.words + begin;
        const u32 tiles_at = words[TILES_AT], places = words[FIRST_TILES + WINDOWS] * TILE_COLUMNS;
        for (u32 i = lane(); i < places; i += WARP) {
            const u32 at = tiles_at + i / TILE_COLUMNS * TILE_WORDS, place = i % TILE_COLUMNS;
            u32 mask = 0;
#pragma unroll
            for (u32 r = 0; r < 8; r++) mask |= words[at + MASKS_AT + r];
            if (mask & (mask_bit(0, place) | mask_bit(8, place))) p.columns[begin + at + place] = words[COLUMNS_AT + ((const u16*)(words + at))[place]];
        }
    }
}

struct TileSums {
    const u32* offsets;  // of each row of the matrix in `places`
    const u32* places;   // of the sums of its tiles
    const f32* sums;
    f32* d_left;
    u32 rows;
    u32 unused;
};
/// Two lanes a row.
BG_KERNEL(attention_gat_backward_staged_left, TileSums, 128, 8) {
    constexpr u32 LANES = 2;
    for (u32 base = (blockIdx.x * blockDim.x + threadIdx.x) / WARP * (WARP / LANES); base < p.rows; base += gridDim.x * blockDim.x / LANES) {
        const u32 row = base + lane() / LANES;
        f32 sum = 0;
        if (row < p.rows) {
            const u32 end = load_readonly(p.offsets + row + 1);
            for (u32 i = load_readonly(p.offsets + row) + lane() % LANES; i < end; i += LANES) sum += load_readonly(p.sums + load_readonly(p.places + i));
        }
        warp_sync();
        sum += shuffle_xor(sum, 1);
        if (row < p.rows && lane() % LANES == 0) p.d_left[row] = sum;
    }
}
}  // namespace bg
