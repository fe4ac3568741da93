// Products of halves by blocks of rows that share columns: a block's rows of features are copied into shared memory once, 128 bytes of each,
// and tensor cores add them: the result of a window of 16 rows is its mask of 16 x 16 places times 16 rows of features, tile by tile.
//
// The mask's entries are 2, of which one bit is set in either type, and sums are halved at the end: both are exact. A zero of the mask
// times an infinity is no number, so a row whose sums are not finite is added up once more, entry by entry: sums of finite halves are finite,
// therefore only rows of windows that stage what is not finite are.
//
// Tensor cores cut off their sums' last bits instead of rounding them. A row has 64 entries at most here, so the error stays below that of
// the half that is stored, or of the halves that features of f32 were rounded to.
#include "common/mma_halves.cuh"
#include "tensor/spmm_staged_copies.cuh"

namespace bg {
constexpr u32 STAGED_THREADS = staged::WINDOWS * WARP;

/// A slice of a row, entry by entry: two columns for each lane of a warp.
template <class T, bool ROUNDED> BG_DEVICE void exact_row(const StagedParams& p, u32 row, u32 first_column) {
    const u32 column = first_column + 2 * lane(), begin = load_readonly(p.offsets + row), end = load_readonly(p.offsets + row + 1);
    if (column >= p.operands.columns) return;
    f32 sums[2] = {0, 0};
    for (u32 e = begin; e < end; e++) {
        const u32 pair = load_readonly((const u32*)((const u16*)p.operands.features + ((u64)load_readonly(p.indices + e) * p.operands.columns + column)));
        sums[0] += low_half<T>(pair);
        sums[1] += high_half<T>(pair);
    }
    if constexpr (ROUNDED) settle<2>(p.operands, p.indices, column, begin, end, sums);
    finish<T, 2, true>(p.operands, row, column, row_factor(p.operands, row, end - begin), sums);
}

/// Stores rows g (HIGH 0) or g + 8 (HIGH 1) of a window's slice.
template <class T, u32 HIGH, bool ROUNDED> BG_DEVICE void store_window(const StagedParams& p, u32 row, u32 first_column, const f32 (&sums)[8][4]) {
    const SpmmOperands& o = p.operands;
    const u32 t = lane() & 3u;
    // Anything finite times zero is zero.
    f32 probe = 0;
#pragma unroll
    for (u32 q = 0; q < 8; q++)
        if (first_column + q * 8 < o.columns) probe += sums[q][2 * HIGH] * 0.0f + sums[q][2 * HIGH + 1] * 0.0f;
    const bool finite = probe == 0;
    u32 wrong = ballot(!finite && row != staged::NO_ROW);
    const bool stored = row != staged::NO_ROW && (wrong >> (lane() & 28u) & 15u) == 0;
    f32 factor = 0.5f;
    const f32 unscale = ROUNDED ? load_readonly(o.unscale) : 1.0f;
    if (stored) factor *= row_factor(o, row, o.mean ? load_readonly(p.offsets + row + 1) - load_readonly(p.offsets + row) : 0);
    const bool plain = !ROUNDED && !o.bias && !o.addend && !o.relu && !o.wide_output;
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        u32 words[4];
        if (plain) {
#pragma unroll
            for (u32 i = 0; i < 4; i++) words[i] = pack_pair<T>(sums[half * 4 + i][2 * HIGH] * factor, sums[half * 4 + i][2 * HIGH + 1] * factor);
        } else {
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                const u32 q = half * 4 + i, column = first_column + q * 8 + 2 * t;
                f32 y[2];
#pragma unroll
                for (u32 k = 0; k < 2; k++) y[k] = ROUNDED ? sums[q][2 * HIGH + k] * unscale * factor : sums[q][2 * HIGH + k] * factor;
                if (stored && column < o.columns) add_other<T, 2, true>(o, (u64)row * o.columns + column, column, y);
#pragma unroll
                for (u32 k = 0; k < 2; k++) {
                    if (o.bias && column < o.columns) y[k] += load_readonly(o.bias + column + k);
                    if (o.relu) y[k] = y[k] < 0 ? 0.0f : y[k];
                }
                if ((ROUNDED || o.wide_output) && stored && column < o.columns) *(float2*)((f32*)o.output + ((u64)row * o.columns + column)) = make_float2(y[0], y[1]);
                words[i] = pack_pair<T>(y[0], y[1]);
            }
        }
        if (ROUNDED || o.wide_output) continue;
        transpose_quad(words);
        const u32 column = first_column + (half * 4 + t) * 8;
        if (stored && column < o.columns)
            *(uint4*)((u16*)o.output + ((u64)row * o.columns + column)) = make_uint4(words[0], words[1], words[2], words[3]);
    }
    while (wrong) {
        const u32 source = (u32)__ffs(wrong) - 1;
        wrong &= ~(15u << (source & 28u));
        exact_row<T, ROUNDED>(p, shuffle(row, source), first_column);
        warp_sync();
    }
}

/// ROUNDED: the features are copies of f32, and so is the result.
template <class T, u32 BUFFERS, bool ROUNDED = false> BG_DEVICE void spmm_staged(const StagedParams& p) {
    using namespace staged;
    // A row's pieces change places with its number, so that eight rows that are loaded together lie in all banks.
    StagedCopies<T, BUFFERS, STAGED_THREADS, true> copies(p);
    const u32 g = lane() >> 2, t = lane() & 3u;
    copies.start();
    for (u32 k = 0; k < copies.count; k++) {
        copies.arrive(k);
        const u32 *own = copies.record(k), window = threadIdx.x / WARP, first_column = copies.first_column();
        const u8* from = copies.rows_of(k);
        f32 sums[8][4];
#pragma unroll
        for (u32 q = 0; q < 8; q++) sums[q][0] = sums[q][1] = sums[q][2] = sums[q][3] = 0;
        const u32* tile = own + own[TILES_AT] + own[FIRST_TILES + window] * TILE_WORDS;
        const u32* last = own + own[TILES_AT] + own[FIRST_TILES + window + 1] * TILE_WORDS;
#pragma unroll 2
        for (; tile < last; tile += TILE_WORDS) {
            const u32 place = ((const u16*)tile)[lane() & 15u], mask = tile[MASKS_AT + g], swizzle = (place & 7u) ^ lane() >> 4;
            const u32 a[4] = {__funnelshift_l(mask, mask, t) & 0x40004000u, __funnelshift_l(mask, mask, t + 8) & 0x40004000u,
                              __funnelshift_l(mask, mask, t + 4) & 0x40004000u, __funnelshift_l(mask, mask, t + 12) & 0x40004000u};
            const u8* row = from + place * SLICE_BYTES;
#pragma unroll
            for (u32 q = 0; q < 4; q++) {
                u32 b[4];
                load_matrices_transposed(b, row + ((swizzle ^ 2 * q) << 4));
                mma_16x8x16<T>(sums[2 * q], a, b[0], b[1]);
                mma_16x8x16<T>(sums[2 * q + 1], a, b[2], b[3]);
            }
        }
        store_window<T, 0, ROUNDED>(p, own[ROWS_AT + window * WINDOW_ROWS + g], first_column, sums);
        store_window<T, 1, ROUNDED>(p, own[ROWS_AT + window * WINDOW_ROWS + g + 8], first_column, sums);
        copies.leave(k);
    }
}
BG_KERNEL(spmm_staged_f16_1, StagedParams, STAGED_THREADS, 5) { spmm_staged<f16, 1>(p); }
BG_KERNEL(spmm_staged_f16_2, StagedParams, STAGED_THREADS, 5) { spmm_staged<f16, 2>(p); }
BG_KERNEL(spmm_staged_bf16_1, StagedParams, STAGED_THREADS, 5) { spmm_staged<bf16, 1>(p); }
BG_KERNEL(spmm_staged_bf16_2, StagedParams, STAGED_THREADS, 5) { spmm_staged<bf16, 2>(p); }
BG_KERNEL(spmm_staged_rounded_1, StagedParams, STAGED_THREADS, 5) { spmm_staged<f16, 1, true>(p); }
BG_KERNEL(spmm_staged_rounded_2, StagedParams, STAGED_THREADS, 5) { spmm_staged<f16, 2, true>(p); }
}  // namespace bg
