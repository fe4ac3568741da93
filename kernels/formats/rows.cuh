// Which row each entry of compressed rows lies in, for kernels that share out entries rather than rows among the blocks.
//
// Invariant: offsets are non-decreasing from 0 to the number of entries; a row without entries owns none.
#pragma once
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
/// Row offsets of 32 or 64 bits; or those of bands of `1 << shift` rows each.
struct RowOffsets {
    const void* words;
    u32 wide;
    u32 rows;   // rows, or bands
    u32 shift;
    u32 last;   // rows of the matrix
    BG_DEVICE u64 at(u64 row) const {
        u64 i = min_of(row << shift, (u64)last);
        return wide ? load_readonly((const u64*)words + i) : load_readonly((const u32*)words + i);
    }
};

/// The last row that starts at or before `entry`, found by the whole warp, 32 probes at once. There must be a row.
BG_DEVICE u32 row_of_entry(const RowOffsets& offsets, u64 entry) {
    u32 low = 0, high = offsets.rows;  // offsets[low] <= entry < offsets[high], where offsets[rows] counts as infinite
    while (high - low > 1) {
        u32 step = (high - low + WARP - 1) / WARP;
        u64 probe = (u64)low + (u64)step * lane();
        u32 at_or_before = ballot(probe < high && offsets.at(probe) <= entry);
        u32 last = 31u - (u32)__clz(at_or_before | 1u);
        low += step * last;
        high = min_of(high, low + step);
    }
    return low;
}

/// The first place in [low, high) of an entry not below `column`.
BG_DEVICE u64 first_not_below(const u32* indices, u64 low, u64 high, u64 column) {
    while (low < high) {
        u64 middle = low + (high - low) / 2;
        if (load_readonly(indices + middle) < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/// Bytes of shared memory that `entry_rows` takes.
template <u32 ITEMS> BG_DEVICE u32 entry_rows_shared(u32 threads) { return (threads * ITEMS + 2 + 32) * 4; }

/// The rows of the block's `blockDim.x * ITEMS` entries from `start` on: `row[i]` is that of entry
/// `start + warp * ITEMS * 32 + i * 32 + lane`. Entries past `nnz` get some row. All threads call it; at least two warps.
template <u32 ITEMS> BG_DEVICE void entry_rows(const RowOffsets& offsets, u64 nnz, u64 start, u32 (&row)[ITEMS], void* shared) {
    u32* bounds = (u32*)shared;
    u32* carries = bounds + 2;
    u32* marks = carries + 32;
    u32 warp = threadIdx.x / WARP, warps = blockDim.x / WARP, piece = blockDim.x * ITEMS;
    u64 end = min_of(start + piece, nnz);
    for (u32 i = threadIdx.x; i < piece; i += blockDim.x) marks[i] = 0;
    if (warp < 2) {
        u32 found = row_of_entry(offsets, warp == 0 ? start : end - 1);
        if (lane() == 0) bounds[warp] = found;
    }
    __syncthreads();
    // A mark where a row starts; of rows that start together only the last has entries.
    u32 first = bounds[0], last = bounds[1];
    for (u32 r = first + 1 + threadIdx.x; r <= last; r += blockDim.x) atomicMax(&marks[offsets.at(r) - start], r - first);
    __syncthreads();
    u32 carry = 0, until = 0xffffffffu >> (31 - lane());
    bool idle = start + warp * (ITEMS * WARP) >= nnz;
    for (u32 i = 0; i < ITEMS; i++) {
        if (idle) break;
        u32 mark = marks[warp * (ITEMS * WARP) + i * WARP + lane()];
        u32 starts = ballot(mark != 0), own = starts & until;
        u32 found = shuffle(mark, own ? 31u - (u32)__clz(own) : 0);
        row[i] = own ? found : carry;
        u32 newest = shuffle(mark, starts ? 31u - (u32)__clz(starts) : 0);
        carry = starts ? newest : carry;
    }
    if (lane() == 0) carries[warp] = carry;
    __syncthreads();
    u32 before = 0;
    for (u32 w = 0; w < warps; w++) before = w < warp ? max_of(before, carries[w]) : before;
    for (u32 i = 0; i < ITEMS; i++) row[i] = first + max_of(idle ? 0 : row[i], before);
    __syncthreads();
}
}  // namespace bg
