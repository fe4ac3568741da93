// Products by tasks: a task is a row, or a piece of a cut row; LANES lanes take it, 16 bytes of every row of features each, and several rows
// in flight. The longest rows come first, and tasks of equal length side by side, so that the lanes of a warp end together. Pieces of a row
// leave their sums in memory; whichever ends last adds them in their order, so the result does not depend on which it was.
#pragma once
#include "tensor/spmm.cuh"

namespace bg {
struct SpmmTasksParams {
    SpmmOperands operands;
    const u32* offsets;   // of rows in their natural order, where there are no tasks
    const u32* indices;
    const uint4* tasks;   // row, first entry, end, place of the row among the cut ones or NOT_CUT; zeros: none; null: each row in its order
    const uint4* cut;     // first task, pieces, entries, row
    u32* arrived;         // for each slice, by cut rows: pieces that are done; zeros between launches
    f32* partial;         // for each piece: its sums, `pitch` of them
    u32 task_count;
    u32 cut_count;
    u32 pitch;            // columns, rounded up to a multiple of 4
    u32 slice_blocks;     // blocks of a slice of columns
};

constexpr u32 NOT_CUT = 0xffffffffu;

/// The sums of a cut row's slice, by a warp; all its lanes call it together.
template <class T, u32 SLICE, bool WHOLE, bool ADDS> BG_DEVICE void join_pieces(const SpmmTasksParams& p, u32 place, u32 first_column) {
    constexpr u32 ACROSS = SLICE >= 4 * WARP ? WARP : SLICE / 4, SIDE = WARP / ACROSS;
    const uint4 row = load_readonly(p.cut + place);
    const f32 factor = row_factor(p.operands, row.w, row.z);
    const u32 end = min_of(first_column + SLICE, p.operands.columns);
    for (u32 base = first_column; base < end; base += ACROSS * 4) {
        const u32 column = base + lane() % ACROSS * 4;
        f32 sums[4] = {0, 0, 0, 0};
        if (column < end) {
            const f32* from = p.partial + ((u64)row.x * p.pitch + column);
            for (u32 k = lane() / ACROSS; k < row.y; k += SIDE * spmm::PARTIAL_LOADS) {
                float4 found[spmm::PARTIAL_LOADS];
#pragma unroll
                for (u32 j = 0; j < spmm::PARTIAL_LOADS; j++) {
                    found[j] = make_float4(0, 0, 0, 0);
                    if (k + j * SIDE < row.y) found[j] = load_l2((const float4*)(from + (u64)(k + j * SIDE) * p.pitch));
                }
#pragma unroll
                for (u32 j = 0; j < spmm::PARTIAL_LOADS; j++) {
                    sums[0] += found[j].x;
                    sums[1] += found[j].y;
                    sums[2] += found[j].z;
                    sums[3] += found[j].w;
                }
            }
        }
        warp_sync();
#pragma unroll
        for (u32 i = 0; i < 4; i++)
#pragma unroll
            for (u32 d = WARP / 2; d >= ACROSS; d >>= 1) sums[i] += shuffle_xor(sums[i], d);
        if (lane() < ACROSS && column < end) finish<T, 4, WHOLE, ADDS>(p.operands, row.w, column, factor, sums);
    }
}

/// VECTOR elements of a row for each of LANES lanes; VECTOR is 1 where rows are not of whole 16 bytes. ROUNDED: the features are copies of f32.
/// Of halves with neither weights nor copies there is no addend: registers for it would be too many for that many warps.
template <class T, u32 VECTOR, u32 LANES, u32 LOADS, bool WEIGHTED, bool ROUNDED = false> BG_DEVICE void spmm_tasks(const SpmmTasksParams& p) {
    constexpr u32 SLICE = VECTOR * LANES;
    constexpr bool ADDS = WEIGHTED || ROUNDED || sizeof(T) == 4;
    const u32 slice = blockIdx.x / p.slice_blocks, block = blockIdx.x - slice * p.slice_blocks;
    const u32 index = block * (blockDim.x / LANES) + threadIdx.x / LANES, l = threadIdx.x % LANES;
    const u32 column = slice * SLICE + l * VECTOR;
    uint4 task = make_uint4(0, 0, 0, 0);
    if (index < p.task_count) {
        if (p.tasks) task = load_readonly(p.tasks + index);
        else task = make_uint4(index, load_readonly(p.offsets + index), load_readonly(p.offsets + index + 1), NOT_CUT);
    }
    // A piece has entries, so that neither a piece nor a row is all zeros.
    const bool valid = (task.z | task.w) != 0;
    const bool active = valid && column < p.operands.columns, cut = valid && task.w != NOT_CUT;
    f32 sums[VECTOR];
#pragma unroll
    for (u32 i = 0; i < VECTOR; i++) sums[i] = 0;
    if (active) {
        add_entries<T, VECTOR, LOADS, WEIGHTED>(p.operands, p.indices, (const T*)p.operands.features + column, task.y, task.z, sums);
        if constexpr (ROUNDED) settle<VECTOR>(p.operands, p.indices, column, task.y, task.z, sums);
        if (!cut) finish<T, VECTOR, true, ADDS>(p.operands, task.x, column, row_factor(p.operands, task.x, task.z - task.y), sums);
    }
    // Cut rows come first: few warps of a launch have any.
    warp_sync();
    if (p.cut_count == 0 || !any(cut)) return;
    if (active && cut) {
        f32* to = p.partial + ((u64)index * p.pitch + column);
        if constexpr (VECTOR == 1) {
            *to = sums[0];
        } else {
#pragma unroll
            for (u32 i = 0; i < VECTOR; i += 4) *(float4*)(to + i) = make_float4(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]);
        }
    }
    fence_device();
    warp_sync();
    bool last = false;
    if (cut && l == 0) {
        u32* arrived = p.arrived + ((u64)slice * p.cut_count + task.w);
        last = atomicAdd(arrived, 1u) + 1 == load_readonly(&p.cut[task.w].y);
        if (last) *arrived = 0;
    }
    u32 ready = ballot(last);
    if (ready == 0) return;
    fence_device();
    while (ready) {
        const u32 source = (u32)__ffs(ready) - 1;
        ready &= ready - 1;
        join_pieces<T, SLICE, (VECTOR > 1), ADDS>(p, shuffle(task.w, source), slice * SLICE);
    }
}
}  // namespace bg
