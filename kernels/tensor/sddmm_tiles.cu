// Sampled dot products of halves on tensor cores: a warp holds the left rows of a window as the operand B, a column for each pair of a row
// and a head, and takes 16 entries at a time as the operand A: their right rows, read once, of which nothing is rearranged and no sum
// crosses lanes. Of the 16 x 8 products an entry keeps those of its own row.
//
// An infinity in a right row makes the products of all heads of its entries NaN, not those of its own head alone: it meets the zeros that
// stand for other heads. Other entries do not see it.
#include "common/mma_halves.cuh"
#include "tensor/sddmm_dot.cuh"

namespace bg {
/// A column of the operand B: the entries that it is for, and its head.
struct DotSlot {
    u32 from, to, head;
};

/// BLOCKS pieces of 32 columns at a time; all columns in one go unless MANY.
template <class T, u32 BLOCKS, bool MANY> BG_DEVICE void sddmm_tiles(const SddmmParams& p) {
    const u32 index = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (index >= p.rows.task_count) return;
    const RowTask task = row_task(p.rows, index);
    const u32 g = lane() >> 2, t = lane() & 3u, pieces = p.columns / 8, head_pieces = p.head_columns / 8;
    // Slot g is row g / heads of the task and head g % heads.
    const u32 row = task.row + g / p.heads;
    const bool active = g < task.count * p.heads;
    DotSlot slot{task.begin, task.begin, g % p.heads};
    if (active) {
        slot.from = first_entry(p.rows, task, row);
        slot.to = end_entry(p.rows, task, row);
    }
    DotSlot kept[2];
#pragma unroll
    for (u32 j = 0; j < 2; j++) {
        kept[j].from = shuffle(slot.from, 4 * (2 * t + j));
        kept[j].to = shuffle(slot.to, 4 * (2 * t + j));
        kept[j].head = shuffle(slot.head, 4 * (2 * t + j));
    }
    uint4 own[BLOCKS];
    auto load_own = [&](u32 first) {
#pragma unroll
        for (u32 b = 0; b < BLOCKS; b++) {
            const u32 piece = first + 4 * b + t;
            own[b] = load_halves8(p.left, row, p.columns, piece, active && piece < pieces && piece / head_pieces == slot.head);
        }
    };
    if constexpr (!MANY) load_own(0);
    u32 base = task.begin & ~1u;
    uint2 next = base < task.end ? load_columns2(p.rows.indices, base + 2 * g, p.rows.entry_count) : make_uint2(0, 0);
    for (; base < task.end; base += 16) {
        const u32 entry = base + 2 * g;
        const uint2 column = next;
        if (base + 16 < task.end) next = load_columns2(p.rows.indices, entry + 16, p.rows.entry_count);
        const bool in0 = entry >= task.begin && entry < task.end, in1 = entry + 1 < task.end;
        f32 dots[4] = {0, 0, 0, 0};
        for (u32 first = 0; first < (MANY ? pieces : 1u); first += 4 * BLOCKS) {
            if constexpr (MANY) load_own(first);
            uint4 x[BLOCKS], y[BLOCKS];
#pragma unroll
            for (u32 b = 0; b < BLOCKS; b++) {
                const u32 piece = first + 4 * b + t;
                x[b] = load_halves8(p.right, column.x, p.columns, piece, in0 && piece < pieces);
                y[b] = load_halves8(p.right, column.y, p.columns, piece, in1 && piece < pieces);
            }
#pragma unroll
            for (u32 b = 0; b < BLOCKS; b++) {
                mma_16x8x16<T>(dots, {x[b].x, y[b].x, x[b].y, y[b].y}, own[b].x, own[b].y);
                mma_16x8x16<T>(dots, {x[b].z, y[b].z, x[b].w, y[b].w}, own[b].z, own[b].w);
            }
        }
#pragma unroll
        for (u32 j = 0; j < 2; j++) {
            if (entry >= kept[j].from && entry < kept[j].to) store_dot<T>(p, entry, kept[j].head, dots[j]);
            if (entry + 1 >= kept[j].from && entry + 1 < kept[j].to) store_dot<T>(p, entry + 1, kept[j].head, dots[2 + j]);
        }
    }
}
BG_KERNEL(sddmm_tiles_f16_64, SddmmParams, 128, 8) { sddmm_tiles<f16, 2, false>(p); }
BG_KERNEL(sddmm_tiles_f16_128, SddmmParams, 128, 6) { sddmm_tiles<f16, 4, false>(p); }
BG_KERNEL(sddmm_tiles_f16_any, SddmmParams, 128, 6) { sddmm_tiles<f16, 4, true>(p); }
BG_KERNEL(sddmm_tiles_bf16_64, SddmmParams, 128, 8) { sddmm_tiles<bf16, 2, false>(p); }
BG_KERNEL(sddmm_tiles_bf16_128, SddmmParams, 128, 6) { sddmm_tiles<bf16, 4, false>(p); }
BG_KERNEL(sddmm_tiles_bf16_any, SddmmParams, 128, 6) { sddmm_tiles<bf16, 4, true>(p); }
}  // namespace bg
