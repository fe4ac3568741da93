// Lists the rows by class, each class ascending, and cuts the longest into chunks: counting, a scan by one block, placing.
#include "ops/row_bins.cuh"
#include "tuning/spmv.cuh"

namespace bg {
struct RowBinsBuild {
    const u32* offsets;
    const u32* named;   // per row: how often others name it (out-degree); null: as often as it has arcs
    u32* counts;        // per class, then per block; after the scan: where its rows begin
    u32* totals;        // where each class ends (ROW_CLASSES), the largest row, empty columns, chunks
    u32* rows;
    uint4* chunks;
    u32 row_count;
    u32 blocks;
};

BG_DEVICE u32 row_class(const RowBinsBuild& p, u32 row, u32& arcs, bool& unnamed) {
    arcs = p.offsets[row + 1] - p.offsets[row];
    unnamed = p.named ? p.named[row] == 0 : arcs == 0;
    if (arcs > CHUNK_ARCS) return 0;
    if (arcs > WARP_ROW_ARCS) return 1;
    if (arcs > EIGHT_ROW_ARCS) return 2;
    if (arcs > 0) return 3;
    return unnamed ? 5 : 4;
}

BG_KERNEL(row_bins_count, RowBinsBuild, 256, 4) {
    u32* counts = (u32*)shared_memory();  // the classes, the largest row, unnamed rows
    if (threadIdx.x < 8) counts[threadIdx.x] = 0;
    __syncthreads();
    u32 from = blockIdx.x * SPAN, to = min_of(from + SPAN, p.row_count), largest = 0, unnamed_rows = 0;
    for (u32 base = from + threadIdx.x / WARP * WARP; base < to; base += blockDim.x) {
        u32 row = base + lane(), arcs = 0, c = ROW_CLASSES;
        bool unnamed = false;
        if (row < to) c = row_class(p, row, arcs, unnamed);
        largest = max_of(largest, arcs);
        unnamed_rows += unnamed;
        for (u32 k = 0; k < ROW_CLASSES; k++) {
            u32 votes = ballot(c == k);
            if (lane() == 0 && votes) atomicAdd(counts + k, (u32)__popc(votes));
        }
    }
    largest = warp_max(largest);
    unnamed_rows = warp_sum(unnamed_rows);
    if (lane() == 0) {
        atomicMax(counts + 6, largest);
        atomicAdd(counts + 7, unnamed_rows);
    }
    __syncthreads();
    if (threadIdx.x < ROW_CLASSES) p.counts[threadIdx.x * p.blocks + blockIdx.x] = counts[threadIdx.x];
    if (threadIdx.x == 6) atomicMax(p.totals + 6, counts[6]);
    if (threadIdx.x == 7) atomicAdd(p.totals + 7, counts[7]);
}

BG_KERNEL(row_bins_scan, RowBinsBuild, 1024, 1) {
    u32* scratch = (u32*)shared_memory();
    u32 base = 0;
    for (u32 k = 0; k < ROW_CLASSES; k++) {
        for (u32 i = 0; i < p.blocks; i += blockDim.x) {
            u32 at = i + threadIdx.x, total = 0, own = at < p.blocks ? p.counts[k * p.blocks + at] : 0;
            u32 start = base + block_scan_exclusive(own, scratch, total);
            if (at < p.blocks) p.counts[k * p.blocks + at] = start;
            base += total;
            __syncthreads();
        }
        if (threadIdx.x == 0) p.totals[k] = base;
    }
}

BG_KERNEL(row_bins_place, RowBinsBuild, 32, 16) {
    // One warp a span, so that ranks need no barrier.
    u32 from = blockIdx.x * SPAN, to = min_of(from + SPAN, p.row_count), next = 0;
    if (lane() < ROW_CLASSES) next = p.counts[lane() * p.blocks + blockIdx.x];
    for (u32 base = from; base < to; base += WARP) {
        u32 row = base + lane(), arcs, c = ROW_CLASSES;
        bool unnamed;
        if (row < to) c = row_class(p, row, arcs, unnamed);
        for (u32 k = 0; k < ROW_CLASSES; k++) {
            u32 votes = ballot(c == k), start = shuffle(next, k);
            if (c == k) p.rows[start + (u32)__popc(votes & ((1u << lane()) - 1u))] = row;
            if (lane() == k) next += (u32)__popc(votes);
        }
    }
}

/// One block: the chunks of the cut rows, in their order.
BG_KERNEL(row_bins_cut, RowBinsBuild, 1024, 1) {
    u32* scratch = (u32*)shared_memory();
    u32 cut = p.totals[0], base = 0;
    for (u32 i = 0; i < cut; i += blockDim.x) {
        u32 place = i + threadIdx.x, begin = 0, arcs = 0, total = 0;
        if (place < cut) {
            u32 row = p.rows[place];
            begin = p.offsets[row];
            arcs = p.offsets[row + 1] - begin;
        }
        u32 count = ceil_div(arcs, CHUNK_ARCS), start = base + block_scan_exclusive(count, scratch, total);
        for (u32 k = 0; k < count; k++) {
            u32 at = k * CHUNK_ARCS;
            p.chunks[start + k] = make_uint4(place, begin + at, min_of(arcs - at, CHUNK_ARCS), start);
        }
        base += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) p.totals[8] = base;
}
}  // namespace bg
