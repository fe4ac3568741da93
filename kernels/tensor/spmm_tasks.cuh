// Products by tasks: a task is a row, or a piece of a cut row; LANES lanes take it, 16 bytes of every row of features each, and several rows
// in flight. The longest rows come first, and tasks of equal length side by side, so that the lanes of a warp end together. Pieces of a row
// leave their sums in memory; whichever ends last adds them in their order, so the result does not depend on which it was.
#pragma once
#include "common/again.cuh"
#include "tensor/spmm.cuh"

namespace bg {
struct SpmmTasksParams {
    SpmmOperands operands;
    const u32* offsets;   // of rows in their natural order, where there are no tasks
    const u32* indices;
    const uint4* tasks;   // first entry, end, row, place of the row among the cut ones or NOT_CUT; zeros: none; null: each row in its order
    const uint4* cut;     // first task, pieces, entries, row
    u32* arrived;         // for each slice, by cut rows: pieces that are done; zeros between launches
    f32* partial;         // for each piece: its sums, `pitch` of them
    u32 task_count;
    u32 piece_count;      // tasks, the first of all, among which are all pieces of cut rows
    u32 cut_count;
    u32 pitch;            // columns, rounded up to a multiple of 4
    u32 slice_blocks;     // blocks of a slice of columns
    u32 unused;
};

constexpr u32 NOT_CUT = 0xffffffffu;

/// The sums of a cut row's slice, by a warp; all its lanes call it together.
template <class T, u32 SLICE, bool WHOLE> BG_DEVICE void join_pieces(const SpmmTasksParams& p, u32 place, u32 first_column) {
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
        if (lane() < ACROSS && column < end) finish<T, 4, WHOLE>(p.operands, row.w, column, factor, sums);
    }
}

/// A task that is a row, by its lanes.
template <class T, u32 VECTOR, u32 LOADS, bool WEIGHTED, bool ROUNDED> BG_DEVICE void whole_row(const SpmmTasksParams& p, u32 index, u32 column) {
    if (index >= p.task_count || column >= p.operands.columns) return;
    uint4 task;
    if (p.tasks) task = load_readonly(p.tasks + index);
    else task = make_uint4(load_readonly(p.offsets + index), load_readonly(p.offsets + index + 1), index, NOT_CUT);
    if (task.w != NOT_CUT) return;
    f32 sums[VECTOR];
#pragma unroll
    for (u32 i = 0; i < VECTOR; i++) sums[i] = 0;
    add_entries<T, VECTOR, LOADS, WEIGHTED>(p.operands, p.indices, (const T*)p.operands.features + column, task.x, task.y, sums);
    // Where the row begins is read again where it is wanted: in a register until now, it would keep a row of features from being in flight.
    auto begin = [&] { return p.tasks ? load_cached(&p.tasks[index].x) : load_cached(p.offsets + index); };
    if constexpr (ROUNDED) {
        if (!unscale_finite(p.operands, sums)) add_exact(p.operands, p.indices, column, begin(), task.y, sums);
    }
    const u32 length = p.operands.mean ? task.y - begin() : 0;
    finish<T, VECTOR, true>(p.operands, task.z, column, row_factor(p.operands, task.z, length), sums);
}

/// A task that may be a piece of a row, by its lanes; all lanes of the warp call it together. What a lane knows besides the entries is found again
/// after the sums: in registers meanwhile, it would keep rows of features from being in flight.
template <class T, u32 VECTOR, u32 LANES, u32 LOADS, bool WEIGHTED, bool ROUNDED>
BG_DEVICE void row_or_piece(const SpmmTasksParams& p, u32 first, u32 slice) {
    constexpr u32 SLICE = VECTOR * LANES;
    f32 sums[VECTOR];
#pragma unroll
    for (u32 i = 0; i < VECTOR; i++) sums[i] = 0;
    {
        const u32 index = first + threadIdx.x / LANES, column = slice * SLICE + threadIdx.x % LANES * VECTOR;
        if (index < p.task_count && column < p.operands.columns) {
            const uint2 range = load_readonly((const uint2*)(p.tasks + index));
            add_entries<T, VECTOR, LOADS, WEIGHTED>(p.operands, p.indices, (const T*)p.operands.features + column, range.x, range.y, sums);
        }
    }
    const u32 thread = thread_again(), index = first + thread / LANES, column = slice * SLICE + thread % LANES * VECTOR;
    uint4 task = make_uint4(0, 0, 0, 0);
    if (index < p.task_count) task = load_cached(p.tasks + index);
    // A piece has entries, so that neither a piece nor a row is all zeros.
    const bool valid = (task.y | task.w) != 0, active = valid && column < p.operands.columns, cut = valid && task.w != NOT_CUT;
    if (active) {
        if constexpr (ROUNDED) settle<VECTOR>(p.operands, p.indices, column, task.x, task.y, sums);
        if (!cut) {
            finish<T, VECTOR, true>(p.operands, task.z, column, row_factor(p.operands, task.z, task.y - task.x), sums);
        } else {
            f32* to = p.partial + ((u64)index * p.pitch + column);
            if constexpr (VECTOR == 1) {
                *to = sums[0];
            } else {
#pragma unroll
                for (u32 i = 0; i < VECTOR; i += 4) *(float4*)(to + i) = make_float4(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]);
            }
        }
    }
    fence_device();
    warp_sync();
    bool last = false;
    if (cut && thread % LANES == 0) {
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
        join_pieces<T, SLICE, (VECTOR > 1)>(p, shuffle(task.w, source), slice * SLICE);
    }
}

/// The slice of columns of the block, and its first task.
template <u32 LANES> BG_DEVICE uint2 slice_and_task(const SpmmTasksParams& p) {
    const u32 slice = blockIdx.x < p.slice_blocks ? 0 : blockIdx.x / p.slice_blocks;
    return make_uint2(slice, (blockIdx.x - slice * p.slice_blocks) * (blockDim.x / LANES));
}

/// VECTOR elements of a row for each of LANES lanes; VECTOR is 1 where rows are not of whole 16 bytes. ROUNDED: the features are copies of f32.
template <class T, u32 VECTOR, u32 LANES, u32 LOADS, bool WEIGHTED, bool ROUNDED = false> BG_DEVICE void spmm_tasks(const SpmmTasksParams& p) {
    const uint2 place = slice_and_task<LANES>(p);
    if (place.y >= p.piece_count)
        whole_row<T, VECTOR, LOADS, WEIGHTED, ROUNDED>(p, place.y + threadIdx.x / LANES, (place.x * LANES + threadIdx.x % LANES) * VECTOR);
    else row_or_piece<T, VECTOR, LANES, LOADS, WEIGHTED, ROUNDED>(p, place.y, place.x);
}

/// The same where no row is cut.
template <class T, u32 VECTOR, u32 LANES, u32 LOADS> BG_DEVICE void spmm_rows(const SpmmTasksParams& p) {
    const uint2 place = slice_and_task<LANES>(p);
    whole_row<T, VECTOR, LOADS, false, false>(p, place.y + threadIdx.x / LANES, (place.x * LANES + threadIdx.x % LANES) * VECTOR);
}
}  // namespace bg
