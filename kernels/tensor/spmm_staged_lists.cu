// Products by blocks of rows that share columns, of any type and with values: a block's rows of features are copied into shared memory once,
// 128 bytes of each, and eight lanes add a row's entries from there, in their order.
#include "tensor/spmm_staged_copies.cuh"

namespace bg {
/// A row's entries, from shared memory. `from` is the lane's piece of the first row of features there.
template <class T, bool WEIGHTED>
BG_DEVICE void add_list(const StagedParams& p, const u32* columns, const uint2* places, const u8* from, u32 row, u32 length, f32 (&sums)[PerLane<T>::value]) {
    constexpr u32 VECTOR = PerLane<T>::value;
    const u32 first = WEIGHTED ? load_readonly(p.offsets + row) : 0;
    for (u32 e = 0; e < length; e += 4) {
        const uint2 four = places[e / 4];
        const u32 place[4] = {four.x & 0xffffu, four.x >> 16, four.y & 0xffffu, four.y >> 16};
        uint4 x[4];
        f32 weights[4];
        // Places past the last entry are 0: there is such a row.
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            x[j] = *(const uint4*)(from + place[j] * staged::SLICE_BYTES);
            weights[j] = WEIGHTED && e + j < length ? entry_weight<T>(p.operands, first + e + j, columns[place[j]]) : 1.0f;
        }
#pragma unroll
        for (u32 j = 0; j < 4; j++)
            if (e + j < length) add_raw<T, VECTOR, WEIGHTED>(sums, x[j], weights[j]);
    }
}

template <class T, u32 BUFFERS, bool WEIGHTED> BG_DEVICE void spmm_staged_lists(const StagedParams& p) {
    using namespace staged;
    constexpr u32 VECTOR = PerLane<T>::value;
    StagedCopies<T, BUFFERS, LIST_THREADS, false> copies(p);
    copies.start();
    for (u32 k = 0; k < copies.count; k++) {
        copies.arrive(k);
        const u32 *own = copies.record(k), *spans = own + own[TILES_AT], column = copies.first_column() + (threadIdx.x & 7u) * VECTOR;
        const u8* from = copies.rows_of(k) + (threadIdx.x & 7u) * 16;
        for (u32 r = threadIdx.x / 8; r < BLOCK_ROWS; r += LIST_THREADS / 8) {
            const u32 row = own[ROWS_AT + r], span = spans[r], length = span & 0xffffu;
            if (row == NO_ROW || column >= p.operands.columns) continue;
            f32 sums[VECTOR];
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) sums[i] = 0;
            add_list<T, WEIGHTED>(p, own + COLUMNS_AT, (const uint2*)(spans + BLOCK_ROWS) + (span >> 16), from, row, length, sums);
            finish<T, VECTOR, true>(p.operands, row, column, row_factor(p.operands, row, length), sums);
        }
        copies.leave(k);
    }
}
BG_KERNEL(spmm_staged_lists_f32_1, StagedParams, staged::LIST_THREADS, 4) { spmm_staged_lists<f32, 1, false>(p); }
BG_KERNEL(spmm_staged_lists_f32_2, StagedParams, staged::LIST_THREADS, 4) { spmm_staged_lists<f32, 2, false>(p); }
BG_KERNEL(spmm_staged_weighted_f32_1, StagedParams, staged::LIST_THREADS, 4) { spmm_staged_lists<f32, 1, true>(p); }
BG_KERNEL(spmm_staged_weighted_f32_2, StagedParams, staged::LIST_THREADS, 4) { spmm_staged_lists<f32, 2, true>(p); }
BG_KERNEL(spmm_staged_weighted_f16_1, StagedParams, staged::LIST_THREADS, 4) { spmm_staged_lists<f16, 1, true>(p); }
BG_KERNEL(spmm_staged_weighted_f16_2, StagedParams, staged::LIST_THREADS, 4) { spmm_staged_lists<f16, 2, true>(p); }
BG_KERNEL(spmm_staged_weighted_bf16_1, StagedParams, staged::LIST_THREADS, 4) { spmm_staged_lists<bf16, 1, true>(p); }
BG_KERNEL(spmm_staged_weighted_bf16_2, StagedParams, staged::LIST_THREADS, 4) { spmm_staged_lists<bf16, 2, true>(p); }
}  // namespace bg
