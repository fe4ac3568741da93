// Layouts for products with dense features: tasks of rows in the order of their lengths or as the rows lie, and records.
#include "formats/lookback.cuh"
#include "tensor/spmm_records.cuh"
#include "tensor/spmm_tasks.cuh"

namespace bg {
struct SpmmBuild {
    const u32* offsets;
    const u32* indices;
    const u32* order;    // rows by descending length
    u32* counts;         // by place in the order: tasks, or records, of the row; after a scan: the first of them
    uint4* tasks;
    uint4* cut;
    u32* cut_count;
    SpmmRecord* records;
    u32 rows;
    u32 piece;           // entries of a task at most, a multiple of 8; or records of a row at most, a power of two
};

/// Tasks of rows as they lie. How many there are the host does not ask: it knows bounds.
struct SpmmCut {
    const u32* offsets;
    uint4* tasks;        // pieces of cut rows, then rows; zeroed
    uint4* cut;
    u64* status;         // a ticket and one status word for each block, zeroed
    u32 rows;
    u32 piece;           // entries of a task at most, a multiple of 8
    u32 pieces;          // pieces at most: where the rows begin that are not cut
    u32 unused;
};
/// The first bit of the second of two sums in one word of the look-back.
constexpr u32 CUT_ROWS = 31;

struct RowRange {
    u32 row, begin, length;
};
BG_DEVICE RowRange row_range(const SpmmBuild& p, u32 place) {
    const u32 row = p.order[place], begin = p.offsets[row];
    return RowRange{row, begin, p.offsets[row + 1] - begin};
}

/// Stores the pieces of a row, the first at `first`; `place` is that of the row among the cut ones. They are of equal length but for the last, in
/// whole loads.
BG_DEVICE void store_pieces(uint4* tasks, uint4* cut, const RowRange& r, u32 first, u32 pieces, u32 place) {
    const u32 length = ceil_div(ceil_div(r.length, pieces), spmm::DEEP_LOADS) * spmm::DEEP_LOADS;
    for (u32 k = 0; k < pieces; k++) {
        const u32 from = min_of(k * length, r.length), to = min_of(from + length, r.length);
        tasks[first + k] = make_uint4(r.begin + from, r.begin + to, r.row, pieces > 1 ? place : NOT_CUT);
    }
    if (pieces > 1) cut[place] = make_uint4(first, pieces, r.length, r.row);
}

BG_KERNEL(spmm_tasks_count, SpmmBuild, 256, 4) {
    for (u32 base = blockIdx.x * blockDim.x; base < p.rows; base += gridDim.x * blockDim.x) {
        const u32 place = base + threadIdx.x;
        u32 pieces = 0;
        if (place < p.rows) {
            pieces = max_of(ceil_div(row_range(p, place).length, p.piece), 1u);
            p.counts[place] = pieces;
        }
        const u32 cut = ballot(pieces > 1);
        if (lane() == 0 && cut) reduce_add(p.cut_count, (u32)__popc(cut));
    }
}

/// Rows of more than one piece are the first in the order.
BG_KERNEL(spmm_tasks_fill, SpmmBuild, 256, 4) {
    for (u32 place = blockIdx.x * blockDim.x + threadIdx.x; place < p.rows; place += gridDim.x * blockDim.x) {
        const RowRange r = row_range(p, place);
        const u32 first = p.counts[place], pieces = p.counts[place + 1] - first;
        store_pieces(p.tasks, p.cut, r, first, pieces, place);
    }
}

/// A thread for each row: in one pass its pieces find their places, by a running sum of pieces and of cut rows.
BG_KERNEL(spmm_tasks_cut, SpmmCut, 256, 4) {
    u64* scratch = (u64*)shared_memory();  // 33 sums of the block's scan, what comes before the block, a ticket
    const u32 block = take_ticket((u32*)p.status, (u32*)(scratch + 34));
    const u32 row = block * blockDim.x + threadIdx.x;
    RowRange r = {row, 0, 0};
    if (row < p.rows) {
        r.begin = load_readonly(p.offsets + row);
        r.length = load_readonly(p.offsets + row + 1) - r.begin;
    }
    const u32 pieces = max_of(ceil_div(r.length, p.piece), 1u);
    u64 total, within = block_scan_exclusive(pieces > 1 ? 1ull << CUT_ROWS | pieces : 0ull, scratch, total);
    if (threadIdx.x < WARP) {
        const u64 before = look_back(p.status + 1, block, total);
        if (threadIdx.x == 0) scratch[33] = before;
    }
    __syncthreads();
    within += scratch[33];
    if (row >= p.rows) return;
    const u32 place = (u32)(within >> CUT_ROWS);
    if (pieces > 1) store_pieces(p.tasks, p.cut, r, (u32)(within & ((1ull << CUT_ROWS) - 1)), pieces, place);
    else p.tasks[p.pieces + row - place] = make_uint4(r.begin, r.begin + r.length, row, NOT_CUT);
}

/// A power of two, so that rows in descending order never cross from one block to the next.
BG_KERNEL(spmm_records_count, SpmmBuild, 256, 4) {
    for (u32 place = blockIdx.x * blockDim.x + threadIdx.x; place < p.rows; place += gridDim.x * blockDim.x) {
        const u32 wanted = ceil_div(row_range(p, place).length, spmm::RECORD_ENTRIES);
        u32 parts = 1;
        while (parts < wanted && parts < p.piece) parts *= 2;
        p.counts[place] = parts;
    }
}

BG_KERNEL(spmm_records_fill, SpmmBuild, 256, 4) {
    for (u32 place = blockIdx.x * blockDim.x + threadIdx.x; place < p.rows; place += gridDim.x * blockDim.x) {
        const RowRange r = row_range(p, place);
        const u32 first = p.counts[place], parts = p.counts[place + 1] - first;
        const u32 more = r.length > parts * spmm::RECORD_ENTRIES ? RECORD_MORE : 0;
        for (u32 k = 0; k < parts; k++) {
            SpmmRecord* record = p.records + first + k;
            const u32 from = min_of(k * spmm::RECORD_ENTRIES, r.length), count = min_of(r.length - from, spmm::RECORD_ENTRIES);
            record->row = r.row;
            record->shape = count | parts << 8 | k << 16 | more;
            for (u32 i = 0; i < count; i++) record->columns[i] = p.indices[r.begin + from + i];
        }
    }
}
}  // namespace bg
