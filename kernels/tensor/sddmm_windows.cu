// Sampled dot products of one head of halves over blocks of rows that share columns: a warp takes a window of 16 rows, tile by tile of 16 columns, whose
// rows of features it reads once for all of them. A are the left rows, B the right ones; of the 16 x 16 products of a tile those that are entries are
// stored.
//
// A tile's columns ascend, so an entry's place is counted: those of its row that came before. Rows of features come through the first-level cache, which
// holds what the windows of a block share. Copied to shared memory for a block they took 1.1 times as long with 64 columns of a mesh, and 1.5 times with
// 128: no product reads them a second time, and a block waits for its last window (H200).
#include "common/mma_halves.cuh"
#include "tensor/sddmm_dot.cuh"

namespace bg {
/// WIDTH times 64 columns at most.
template <class T, u32 WIDTH> BG_DEVICE void sddmm_windows(const SddmmWindowsParams& params) {
    using namespace staged;
    const SddmmParams& p = params.dots;
    constexpr u32 PIECES = WIDTH * 2;
    const u32 g = lane() >> 2, t = lane() & 3u, index = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, block = index / WINDOWS, window = index % WINDOWS;
    if (block >= params.blocks.blocks) return;
    // Of a row's mask, rotated so that it is one of the first eight's: the places of a tile, and those before 2 t and before 2 t + 8.
    constexpr u32 PLACES = 0x7f807f80u;
    u32 before[2];
#pragma unroll
    for (u32 h = 0; h < 2; h++) before[h] = (0x7fffu ^ ((1u << (15 - t - 4 * h)) - 1)) * 0x10001u;
    const u32* const words = params.blocks.words + (u64)load_readonly(params.blocks.begins + block) * 4;
    const u32 tiles_at = load_readonly(words + TILES_AT);
    const u32 *tile = words + tiles_at + load_readonly(words + FIRST_TILES + window) * TILE_WORDS;
    const u32* const last = words + tiles_at + load_readonly(words + FIRST_TILES + window + 1) * TILE_WORDS;
    u32 own[PIECES][2][4], entry[2];
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        const u32 row = load_readonly(words + ROWS_AT + window * WINDOW_ROWS + g + 8 * r);
        entry[r] = row != NO_ROW ? load_readonly(p.rows.offsets + row) : 0;
#pragma unroll
        for (u32 c = 0; c < PIECES; c++) {
            const uint4 x = load_halves8(p.left, row, p.columns, 4 * c + t, row != NO_ROW && (4 * c + t) * 8 < p.columns);
            own[c][0][r] = x.x;
            own[c][0][2 + r] = x.y;
            own[c][1][r] = x.z;
            own[c][1][2 + r] = x.w;
        }
    }
    u32 places[2] = {0, 0}, columns[2] = {0, 0}, mask = 0;
    auto load_places = [&](const u32* at) {
#pragma unroll
        for (u32 h = 0; h < 2; h++) places[h] = at < last ? load_readonly((const u16*)at + g + 8 * h) : 0;
    };
    auto load_tile = [&](const u32* at) {
        if (at >= last) return;
#pragma unroll
        for (u32 h = 0; h < 2; h++) columns[h] = load_readonly(words + COLUMNS_AT + places[h]);
        mask = load_readonly(at + MASKS_AT + g);
    };
    load_places(tile);
    load_tile(tile);
    load_places(tile + TILE_WORDS);
    for (; tile < last; tile += TILE_WORDS) {
        uint4 x[2][PIECES];
#pragma unroll
        for (u32 h = 0; h < 2; h++)
#pragma unroll
            for (u32 c = 0; c < PIECES; c++) x[h][c] = load_halves8(p.right, columns[h], p.columns, 4 * c + t, (4 * c + t) * 8 < p.columns);
        const u32 own_mask = mask;
        load_tile(tile + TILE_WORDS);
        load_places(tile + 2 * TILE_WORDS);
        f32 dots[2][4] = {};
#pragma unroll
        for (u32 h = 0; h < 2; h++)
#pragma unroll
            for (u32 c = 0; c < PIECES; c++) {
                mma_16x8x16<T>(dots[h], own[c][0], x[h][c].x, x[h][c].y);
                mma_16x8x16<T>(dots[h], own[c][1], x[h][c].z, x[h][c].w);
            }
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            const u32 bits = __funnelshift_l(own_mask, own_mask, 8 * r);
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 from = entry[r] + (u32)__popc(bits & before[h]), here = bits << (t + 4 * h);
                const bool first = (here & 0x4000u) != 0, second = (here & 0x40000000u) != 0;
                if (first) store_dot<T>(p, from, 0, dots[h][2 * r]);
                if (second) store_dot<T>(p, from + first, 0, dots[h][2 * r + 1]);
            }
            entry[r] += (u32)__popc(bits & PLACES);
        }
        warp_sync();
    }
}
BG_KERNEL(sddmm_windows_f16_64, SddmmWindowsParams, 128, 6) { sddmm_windows<f16, 1>(p); }
BG_KERNEL(sddmm_windows_f16_128, SddmmWindowsParams, 128, 5) { sddmm_windows<f16, 2>(p); }
BG_KERNEL(sddmm_windows_bf16_64, SddmmWindowsParams, 128, 6) { sddmm_windows<bf16, 1>(p); }
BG_KERNEL(sddmm_windows_bf16_128, SddmmWindowsParams, 128, 5) { sddmm_windows<bf16, 2>(p); }
}  // namespace bg
