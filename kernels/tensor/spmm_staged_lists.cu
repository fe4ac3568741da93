// Products of f32 by blocks of rows that share columns: a block's rows of features are copied into shared memory once, 128 bytes of each, and
// eight lanes add a row's entries from there, in their order.
//
// Without values of entries: those of a block's rows lie apart in memory, and reading them costs more than the copies save.
#include "tensor/spmm_staged_copies.cuh"

// Threads of a block; the shim has no more than 128. No constant, of which host code reads one value alone.
#ifdef BITGRAPH_HOST
#define LIST_BLOCK 128
#else
#define LIST_BLOCK staged::LIST_THREADS
#endif

namespace bg {
template <u32 BUFFERS> BG_DEVICE void spmm_staged_lists(const StagedParams& p) {
    using namespace staged;
    constexpr u32 VECTOR = PerLane<f32>::value;
    StagedCopies<f32, BUFFERS, LIST_BLOCK, false> copies(p);
    copies.start();
    for (u32 k = 0; k < copies.count; k++) {
        copies.arrive(k);
        const u32 *own = copies.record(k), *spans = own + own[TILES_AT], column = copies.first_column() + (threadIdx.x & 7u) * VECTOR;
        const u8* from = copies.rows_of(k) + (threadIdx.x & 7u) * 16;
        for (u32 r = threadIdx.x / 8; r < BLOCK_ROWS; r += LIST_BLOCK / 8) {
            const u32 row = own[ROWS_AT + r], span = spans[r], length = span & 0xffffu;
            if (row == NO_ROW || column >= p.operands.columns) continue;
            f32 sums[VECTOR] = {0, 0, 0, 0};
            const uint2* places = (const uint2*)(spans + BLOCK_ROWS) + (span >> 16);
            for (u32 e = 0; e < length; e += 4) {
                const uint2 four = places[e / 4];
                const u32 place[4] = {four.x & 0xffffu, four.x >> 16, four.y & 0xffffu, four.y >> 16};
                uint4 x[4];
                // Places past the last entry are 0: there is such a row.
#pragma unroll
                for (u32 j = 0; j < 4; j++) x[j] = *(const uint4*)(from + place[j] * SLICE_BYTES);
#pragma unroll
                for (u32 j = 0; j < 4; j++)
                    if (e + j < length) add_raw<f32, VECTOR, false>(sums, x[j], 1.0f);
            }
            finish<f32, VECTOR, true>(p.operands, row, column, row_factor(p.operands, row, length), sums);
        }
        copies.leave(k);
    }
}
BG_KERNEL(spmm_staged_lists_f32_1, StagedParams, LIST_BLOCK, 4) { spmm_staged_lists<1>(p); }
BG_KERNEL(spmm_staged_lists_f32_2, StagedParams, LIST_BLOCK, 4) { spmm_staged_lists<2>(p); }
}  // namespace bg
