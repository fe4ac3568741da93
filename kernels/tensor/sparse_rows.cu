// Rows of a sparse matrix by number, of which the device alone knows how many they are: where each starts among them, and then their entries.
#include "formats/lookback.cuh"
#include "formats/rows.cuh"

namespace bg {
/// Rows of a thread that finds where they start.
constexpr u32 SPARSE_ROWS_ITEMS = 4;

struct SparseRowsStartsParams {
    RowOffsets from;
    const u32* rows;    // numbers of rows of the matrix
    const u64* count;   // how many they are, in the lower half
    u32* starts;        // where each starts among them
    u64* entries;       // of all of them, below 2^31
    u64* status;        // a ticket and one status word for each block, zeroed
};
struct SparseRowsCopyParams {
    RowOffsets from;
    const u32* rows;
    const u32* starts;
    const u32* from_columns;
    const void* from_values;
    u32* offsets;
    u32* columns;
    void* values;
    u32 n, entries;     // rows, and entries of all of them
    u32 bytes;          // of a value
    u32 reserved;
};

/// A warp for each row.
template <class T> BG_DEVICE void copy_rows(const SparseRowsCopyParams& p) {
    u32 warps = blockDim.x / WARP;
    for (u32 k = blockIdx.x * warps + threadIdx.x / WARP; k < p.n; k += gridDim.x * warps) {
        u32 row = load_readonly(p.rows + k), start = load_readonly(p.starts + k);
        u64 begin = p.from.at(row);
        u32 length = (u32)(p.from.at((u64)row + 1) - begin);
        const u32* columns = p.from_columns + begin;
        const T* values = (const T*)p.from_values + begin;
#pragma unroll 4
        for (u32 e = lane(); e < length; e += WARP) {
            p.columns[start + e] = load_readonly(columns + e);
            ((T*)p.values)[start + e] = load_readonly(values + e);
        }
        if (lane() == 0) {
            p.offsets[k] = start;
            if (k + 1 == p.n) p.offsets[p.n] = p.entries;
        }
    }
}
}  // namespace bg
using namespace bg;

/// The lengths of the rows, summed in their order in one pass.
BG_KERNEL(sparse_rows_starts, SparseRowsStartsParams, 256, 4) {
    u64* scratch = (u64*)shared_memory();  // 33 sums of the block's scan, what comes before the block, a ticket
    u32 block = take_ticket((u32*)p.status, (u32*)(scratch + 34));
    u32 n = (u32)*p.count, piece = blockDim.x * SPARSE_ROWS_ITEMS;
    // Blocks past the end are not waited for: the grid is for as many rows as there may be.
    if (block && (u64)block * piece >= n) return;
    u32 first = block * piece + threadIdx.x * SPARSE_ROWS_ITEMS;
    u64 own[SPARSE_ROWS_ITEMS], sum = 0;
    for (u32 i = 0; i < SPARSE_ROWS_ITEMS; i++) {
        own[i] = 0;
        if (first + i >= n) continue;
        u32 row = load_readonly(p.rows + first + i);
        own[i] = p.from.at((u64)row + 1) - p.from.at(row);
        sum += own[i];
    }
    u64 total, within = block_scan_exclusive(sum, scratch, total);
    if (threadIdx.x < WARP) {
        u64 before = look_back(p.status + 1, block, total);
        if (threadIdx.x == 0) scratch[33] = before;
    }
    __syncthreads();
    within += scratch[33];
    if (threadIdx.x == 0 && (u64)(block + 1) * piece >= n) *p.entries = scratch[33] + total;
    for (u32 i = 0; i < SPARSE_ROWS_ITEMS; i++) {
        if (first + i < n) p.starts[first + i] = (u32)within;
        within += own[i];
    }
}

BG_KERNEL(sparse_rows_copy, SparseRowsCopyParams, 256, 4) {
    switch (p.bytes) {
        case 2: copy_rows<u16>(p); break;
        case 4: copy_rows<u32>(p); break;
        default: copy_rows<u64>(p); break;
    }
}
