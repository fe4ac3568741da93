// Compressed rows on the device: degrees, sort keys, the rows of all entries, relabelling and transposing (with the radix sort),
// the oriented half.
//
// Invariant: results have rows in ascending order of columns where the input has.
#include "formats/rows.cuh"
#include "tuning/formats.cuh"

namespace bg {
struct DegreesParams {
    RowOffsets offsets;
    const u32* order;  // null, or the row to look at for each place
    u32* degrees;
    u32* keys;         // null, or the complement of the degree below 2^bits: ascending keys are descending degrees
    u32 bits;
    u32 unused;
};
struct RowsParams {
    RowOffsets offsets;
    u64 nnz;
    u32* rows;
};
struct RelabelParams {
    RowOffsets offsets;      // of the input
    RowOffsets new_offsets;  // of the result
    const u32* indices;
    const u32* new_of_old;   // of columns
    const u32* old_of_new;   // of rows
    u64 nnz;
    u32* keys;               // the new column of each entry, entries in the order of new rows
    void* payload;           // the new row (u32), or row << 32 | old position (u64)
    u32 positions;
    u32 unused;
};
struct SplitParams {
    const u64* pairs;
    u32* high;  // null: not wanted
    u32* low;   // null: not wanted
    u64 n;
};
struct PairsParams {
    const u32* rows;
    const u32* columns;
    u64* pairs;   // row << 32 | column of each entry, then those of the transpose
    u32* flags;   // second pass: whether a sorted pair differs from the one before
    u64 n;        // entries; second pass: pairs
};
struct BoundsParams {
    const u32* sorted;
    void* offsets;  // offsets[r] = number of keys below r, for r in 0..=rows
    u64 n;
    u32 rows;
    u32 wide;
};
struct OrientParams {
    RowOffsets offsets;
    const u32* indices;
    u32* counts;            // of the kept entries of each row
    u32* starts;            // where they start within the row
    RowOffsets new_offsets;
    u32* new_indices;
    u32* new_positions;     // null, or where each kept entry was
    u64 kept;
    u32 lower;              // keep j < i rather than j > i
    u32 unused;
};

BG_DEVICE u64 first_entry() { return (u64)blockIdx.x * (blockDim.x * ROW_ITEMS); }
/// The entry that `entry_rows` gives the row of.
BG_DEVICE u64 own_entry(u64 start, u32 i) { return start + threadIdx.x / WARP * (ROW_ITEMS * WARP) + i * WARP + lane(); }
}  // namespace bg
using namespace bg;

BG_KERNEL(csr_degrees, DegreesParams, 256, 4) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.offsets.rows; i += gridDim.x * blockDim.x) {
        u32 row = p.order ? p.order[i] : i;
        u32 degree = (u32)(p.offsets.at((u64)row + 1) - p.offsets.at(row));
        if (p.degrees) p.degrees[i] = degree;
        if (p.keys) p.keys[i] = (u32)((1ull << p.bits) - 1) - degree;
    }
}

BG_KERNEL(csr_rows, RowsParams, 256, 4) {
    u32 row[ROW_ITEMS];
    u64 start = first_entry();
    entry_rows<ROW_ITEMS>(p.offsets, p.nnz, start, row, shared_memory());
    for (u32 i = 0; i < ROW_ITEMS; i++) {
        u64 k = own_entry(start, i);
        if (k < p.nnz) p.rows[k] = row[i];
    }
}

BG_KERNEL(csr_relabel, RelabelParams, 256, 4) {
    u32 row[ROW_ITEMS];
    u64 start = first_entry();
    entry_rows<ROW_ITEMS>(p.new_offsets, p.nnz, start, row, shared_memory());
    for (u32 i = 0; i < ROW_ITEMS; i++) {
        u64 k = own_entry(start, i);
        if (k >= p.nnz) continue;
        u32 old_row = p.old_of_new ? load_readonly(p.old_of_new + row[i]) : row[i];
        u64 old = p.offsets.at(old_row) + (k - p.new_offsets.at(row[i]));
        u32 column = load_readonly(p.indices + old);
        p.keys[k] = p.new_of_old ? load_readonly(p.new_of_old + column) : column;
        if (p.positions) {
            ((u64*)p.payload)[k] = (u64)row[i] << 32 | (u32)old;
        } else {
            ((u32*)p.payload)[k] = row[i];
        }
    }
}

BG_KERNEL(split_u64, SplitParams, 256, 4) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += (u64)gridDim.x * blockDim.x) {
        u64 pair = load_stream(p.pairs + i);
        if (p.high) p.high[i] = (u32)(pair >> 32);
        if (p.low) p.low[i] = (u32)pair;
    }
}

BG_KERNEL(pairs_both_ways, PairsParams, 256, 4) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += (u64)gridDim.x * blockDim.x) {
        u32 row = p.rows[i], column = p.columns[i];
        p.pairs[i] = (u64)row << 32 | column;
        p.pairs[p.n + i] = (u64)column << 32 | row;
    }
}
BG_KERNEL(pairs_distinct, PairsParams, 256, 4) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += (u64)gridDim.x * blockDim.x) {
        p.flags[i] = i == 0 || p.pairs[i] != p.pairs[i - 1];
    }
}

/// Where each row starts among sorted keys, by binary search; rows that no key names cost no more than others.
BG_KERNEL(csr_bounds, BoundsParams, 256, 4) {
    for (u64 r = (u64)blockIdx.x * blockDim.x + threadIdx.x; r <= p.rows; r += (u64)gridDim.x * blockDim.x) {
        u64 low = 0, high = p.n;
        while (low < high) {
            u64 middle = low + (high - low) / 2;
            if (load_readonly(p.sorted + middle) < r) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (p.wide) {
            ((u64*)p.offsets)[r] = low;
        } else {
            ((u32*)p.offsets)[r] = (u32)low;
        }
    }
}

/// How many entries of each row lie on the kept side of the diagonal, by binary search.
BG_KERNEL(orient_count, OrientParams, 256, 4) {
    for (u32 r = blockIdx.x * blockDim.x + threadIdx.x; r < p.offsets.rows; r += gridDim.x * blockDim.x) {
        u64 start = p.offsets.at(r), low = start, high = p.offsets.at((u64)r + 1), end = high;
        // The first entry at (lower) or past (upper) the diagonal.
        while (low < high) {
            u64 middle = low + (high - low) / 2;
            u32 column = load_readonly(p.indices + middle);
            if (p.lower ? column < r : column <= r) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        p.counts[r] = (u32)(p.lower ? low - start : end - low);
        if (p.starts) p.starts[r] = p.lower ? 0 : (u32)(low - start);
    }
}

BG_KERNEL(orient_fill, OrientParams, 256, 4) {
    u32 row[ROW_ITEMS];
    u64 start = first_entry();
    entry_rows<ROW_ITEMS>(p.new_offsets, p.kept, start, row, shared_memory());
    for (u32 i = 0; i < ROW_ITEMS; i++) {
        u64 k = own_entry(start, i);
        if (k >= p.kept) continue;
        u64 old = p.offsets.at(row[i]) + load_readonly(p.starts + row[i]) + (k - p.new_offsets.at(row[i]));
        p.new_indices[k] = load_readonly(p.indices + old);
        if (p.new_positions) p.new_positions[k] = (u32)old;
    }
}
