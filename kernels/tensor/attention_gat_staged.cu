// Additive attention of one head over blocks of rows that share columns, of halves: a warp takes a window of 16 rows, tile by tile of 16 columns, twice:
// for the largest score of each row, and for the powers, which are the operand A of the product with the columns' values.
//
// The powers that are multiplied are rounded to halves, their sums are not. A power of zero times an infinity is no number, so a row whose sums are
// not finite is added up once more, entry by entry.
#include "tensor/attention_staged.cuh"
#include "tensor/attention_vector.cuh"

namespace bg {
struct GatStagedParams {
    RowBlocks blocks;
    GatParams gat;
};

/// A row, entry by entry: two columns of each 64 for each lane of a warp.
template <class T> BG_DEVICE void exact_attention(const GatParams& p, u32 row, f32 left, f32 most, f32 inverse) {
    const u32 begin = load_readonly(p.rows.offsets + row), end = load_readonly(p.rows.offsets + row + 1);
    for (u32 column = 2 * lane(); column < p.columns; column += 2 * WARP) {
        f32 sums[2] = {0, 0};
        for (u32 e = begin; e < end; e++) {
            const u32 j = load_readonly(p.rows.indices + e), pair = load_readonly((const u32*)((const u16*)p.values + ((u64)j * p.columns + column)));
            const f32 power = exp2_of(gat_score(left, load_readonly(p.right + j), p.slope) - most);
            sums[0] += power * widen(T{(u16)pair});
            sums[1] += power * widen(T{(u16)(pair >> 16)});
        }
        f32 y[2];
#pragma unroll
        for (u32 k = 0; k < 2; k++) y[k] = end_of(p.end, column + k, sums[k] * inverse);
        *(u32*)((u16*)p.output + ((u64)row * p.columns + column)) = pack_pair<T>(y[0], y[1]);
    }
}

template <class T, u32 WIDTH, u32 BUFFERS> BG_DEVICE void gat_staged(const GatStagedParams& params) {
    const GatParams& p = params.gat;
    BlockCopies<WIDTH, BUFFERS, f32> copies(params.blocks, p.values, p.right, p.columns);
    constexpr u32 ROW = copies.ROW;
    const u32 t = lane() & 3u;
    copies.start();
    for (u32 k = 0; k < copies.count; k++) {
        const BlockWindow window(copies.record(k));
        f32 left[2], most[2] = {NO_SCORE, NO_SCORE}, total[2] = {0, 0}, sums[WIDTH * 8][4];
#pragma unroll
        for (u32 r = 0; r < 2; r++) left[r] = window.rows[r] != staged::NO_ROW ? load_readonly(p.left + window.rows[r]) * LOG2_E : 0.0f;
        copies.arrive(k);
        const f32* const right = copies.scalars_of(k);
        // Scores grow with the right scores.
#pragma unroll 2
        for (const u32* at = window.first; at < window.last; at += staged::TILE_WORDS) {
            const BlockTile tile(at);
#pragma unroll
            for (u32 i = 0; i < 4; i++)
#pragma unroll
                for (u32 r = 0; r < 2; r++)
                    if (tile.has(r, i / 2, i % 2)) most[r] = fmaxf(most[r], right[tile.places[i]]);
        }
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
#pragma unroll
            for (u32 d = 1; d < 4; d <<= 1) most[r] = fmaxf(most[r], shuffle_xor(most[r], d));
            most[r] = gat_score(left[r], most[r], p.slope);
        }
#pragma unroll
        for (u32 q = 0; q < WIDTH * 8; q++) sums[q][0] = sums[q][1] = sums[q][2] = sums[q][3] = 0;
#pragma unroll 2
        for (const u32* at = window.first; at < window.last; at += staged::TILE_WORDS) {
            const BlockTile tile(at);
            u32 weights[4];
#pragma unroll
            for (u32 h = 0; h < 2; h++)
#pragma unroll
                for (u32 r = 0; r < 2; r++) {
                    f32 powers[2];
#pragma unroll
                    for (u32 i = 0; i < 2; i++) {
                        const f32 power = exp2_of(gat_score(left[r], right[tile.places[2 * h + i]], p.slope) - most[r]);
                        powers[i] = tile.has(r, h, i) ? power : 0.0f;
                        total[r] += powers[i];
                    }
                    weights[2 * h + r] = pack_pair<T>(powers[0] * PROBABILITY_SCALE, powers[1] * PROBABILITY_SCALE);
                }
            add_tile<T, WIDTH>(sums, weights, TileRows<ROW>(copies.rows_of(k), at));
        }
        const bool ends = p.end.bias || p.end.activation != END_NONE;
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            const u32 row = window.rows[r];
#pragma unroll
            for (u32 d = 1; d < 4; d <<= 1) total[r] += shuffle_xor(total[r], d);
            const f32 inverse = total[r] == 0 ? 0.0f : 1.0f / total[r], factor = inverse * (1.0f / PROBABILITY_SCALE);
            if (p.lse && t == 0 && row != staged::NO_ROW) p.lse[row] = (most[r] + log2_of(total[r])) * LN_2;
            // Anything finite times zero is zero.
            f32 probe = 0;
#pragma unroll
            for (u32 q = 0; q < WIDTH * 8; q++) probe += sums[q][2 * r] * 0.0f + sums[q][2 * r + 1] * 0.0f;
            u32 wrong = ballot(probe != 0 || probe != probe) & ballot(row != staged::NO_ROW);
            const bool stored = row != staged::NO_ROW && (wrong >> (lane() & 28u) & 15u) == 0;
#pragma unroll
            for (u32 q = 0; q < WIDTH * 8; q++) {
                sums[q][2 * r] *= factor;
                sums[q][2 * r + 1] *= factor;
            }
            // Apart from what is always done: the copies of this are many.
            if (ends) {
#pragma unroll
                for (u32 q = 0; q < WIDTH * 8; q++) {
                    const u32 column = q * 8 + 2 * t;
                    if (column >= p.columns) continue;
                    sums[q][2 * r] = end_of(p.end, column, sums[q][2 * r]);
                    sums[q][2 * r + 1] = end_of(p.end, column + 1, sums[q][2 * r + 1]);
                }
            }
#pragma unroll
            for (u32 half = 0; half < WIDTH * 2; half++) {
                u32 words[4];
#pragma unroll
                for (u32 i = 0; i < 4; i++) words[i] = pack_pair<T>(sums[half * 4 + i][2 * r], sums[half * 4 + i][2 * r + 1]);
                transpose_quad(words);
                const u32 column = (half * 4 + t) * 8;
                if (stored && column < p.columns)
                    *(uint4*)((u16*)p.output + ((u64)row * p.columns + column)) = make_uint4(words[0], words[1], words[2], words[3]);
            }
            while (wrong) {
                const u32 source = (u32)__ffs(wrong) - 1;
                wrong &= ~(15u << (source & 28u));
                exact_attention<T>(p, shuffle(row, source), shuffle(left[r], source), shuffle(most[r], source), shuffle(inverse, source));
                warp_sync();
            }
        }
        copies.leave(k);
    }
}
BG_KERNEL(attention_gat_staged_f16_64_1, GatStagedParams, 128, 5) { gat_staged<f16, 1, 1>(p); }
BG_KERNEL(attention_gat_staged_f16_64_2, GatStagedParams, 128, 5) { gat_staged<f16, 1, 2>(p); }
BG_KERNEL(attention_gat_staged_f16_128_1, GatStagedParams, 128, 3) { gat_staged<f16, 2, 1>(p); }
BG_KERNEL(attention_gat_staged_bf16_64_1, GatStagedParams, 128, 5) { gat_staged<bf16, 1, 1>(p); }
BG_KERNEL(attention_gat_staged_bf16_64_2, GatStagedParams, 128, 5) { gat_staged<bf16, 1, 2>(p); }
BG_KERNEL(attention_gat_staged_bf16_128_1, GatStagedParams, 128, 3) { gat_staged<bf16, 2, 1>(p); }
}  // namespace bg
