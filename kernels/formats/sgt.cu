// Compressed rows to windows of rows with condensed columns (Sparse Graph Translation), and to the blocks of a tensor core.
//
// A window's distinct columns are found in one of two ways. Few entries: a block sorts their columns in shared memory, counts through
// the distinct ones, and each entry searches its own. Many: a block marks the columns in a bitmap in shared memory, counts its way through it,
// and reads the number of each entry's column off it; where the bitmap would not cover all columns, part by part, or, of many parts, by
// sorting as long as the entries fit in its place. Both collect the columns
// where the window's entries start; a scan of the counts gives their places, and a copy closes the gaps.
//
// Invariant: the arrays are those of `bitgraph-sgt`, whatever the block size and the order of blocks.
#include "formats/rows.cuh"
#include "tuning/formats.cuh"

namespace bg {
/// Rows of a window at most.
constexpr u32 MOST_WINDOW_ROWS = 256;

struct SgtParams {
    RowOffsets offsets;   // where the entries of rows start
    RowOffsets bases;     // entries of the windows before; used if there is an order
    const u32* indices;
    const u32* order;     // null, or the row at each place
    u32* sizes;           // for the number of entries of each window
    u32* collected;       // the distinct columns of each window, where its entries start
    u32* counts;          // how many there are
    u32* edge_to_col;
    u32* heavy;           // windows of too many entries: [0] their number, [1] how many are taken, from [4] on themselves
    u32 rows;
    u32 columns;
    u32 height;
    u32 windows;
    u32 capacity;         // entries that are sorted, a power of two
    u32 bitmap;           // columns that the bitmap covers, a multiple of 64
    u32 still_sorted;     // entries up to which a block with a bitmap sorts in its place
    u32 unused;
};

struct SgtGatherParams {
    RowOffsets offsets;
    RowOffsets bases;
    RowOffsets places;    // where the columns of a window go
    const u32* collected;
    u32* columns;
    u64 n;
    u32 ordered;
    u32 height;
};

struct SgtBlocksParams {
    RowOffsets offsets;
    RowOffsets places;    // where the distinct columns of a window are
    RowOffsets blocks;    // where its blocks go
    const u32* order;
    const u32* columns;
    const u32* edge_to_col;
    u32* counts;          // for the blocks of each window
    u32* block_columns;
    u32* masks;           // zeroed
    u32 rows;
    u32 height;
    u32 width;
    u32 windows;
    u32 by_columns;       // whether a column's rows are neighbours in a mask
    u32 unused;
};

/// The rows of a window in shared memory.
struct WindowRows {
    u64 starts[MOST_WINDOW_ROWS], ends[MOST_WINDOW_ROWS];  // their entries, or those within the bitmap
    u32 flat[MOST_WINDOW_ROWS + 4];                        // exclusive prefix sums of their numbers, and the sum
    u32 base[36];                                          // scratch of scans
    u32 number;
    u32 padding;
};

BG_DEVICE u32 row_at(const u32* order, u32 place) { return order ? load_readonly(order + place) : place; }

/// Prefix sums of the rows' numbers of entries, by the first warp.
BG_DEVICE void flatten(WindowRows* s, u32 rows) {
    if (threadIdx.x >= WARP) return;
    u32 carry = 0;
    for (u32 first = 0; first < rows; first += WARP) {
        u32 r = first + lane(), own = r < rows ? (u32)(s->ends[r] - s->starts[r]) : 0, inclusive = scan_inclusive(own);
        if (r < rows) s->flat[r] = carry + inclusive - own;
        carry += shuffle(inclusive, WARP - 1);
    }
    if (lane() == 0) s->flat[rows] = carry;
}

/// Where entry `k` of the rows is.
BG_DEVICE u64 entry_at(const WindowRows* s, u32 rows, u32 k) {
    u32 low = 0, high = rows;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if (s->flat[middle] <= k) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return s->starts[low] + (k - s->flat[low]);
}

/// Sorts `n` keys, a power of two of them, by a bitonic network. A warp's pairs of a short stride are its own.
BG_DEVICE void sort_keys(u32* keys, u32 n) {
    for (u32 size = 2; size <= n; size *= 2) {
        for (u32 stride = size / 2; stride; stride /= 2) {
            for (u32 i = threadIdx.x; i < n / 2; i += blockDim.x) {
                u32 a = 2 * i - (i & (stride - 1)), b = a + stride, x = keys[a], y = keys[b];
                if ((x > y) == ((a & size) == 0)) {
                    keys[a] = y;
                    keys[b] = x;
                }
            }
            if (stride > WARP || (stride == 1 && size > WARP)) {
                __syncthreads();
            } else {
                warp_sync();
            }
        }
    }
    __syncthreads();
}

/// Translates window `w` of at most `capacity` entries, from `low` on, by sorting; `keys` has room for twice as many.
BG_DEVICE void translate_sorting(const SgtParams& p, WindowRows* s, u32* keys, u32 capacity, u32 w, u64 low, u32 entries) {
    u32* distinct = keys + capacity;
    u32 place = w * p.height, rows = min_of(p.height, p.rows - place), padded = 2;
    while (padded < entries) padded *= 2;
    if (p.order) {
        for (u32 r = threadIdx.x; r < rows; r += blockDim.x) {
            u64 row = row_at(p.order, place + r);
            s->starts[r] = p.offsets.at(row);
            s->ends[r] = p.offsets.at(row + 1);
        }
        __syncthreads();
        flatten(s, rows);
        __syncthreads();
    }
    auto at = [&](u32 k) { return p.order ? entry_at(s, rows, k) : low + k; };
    for (u32 k = threadIdx.x; k < padded; k += blockDim.x) keys[k] = k < entries ? load_readonly(p.indices + at(k)) : ~0u;
    __syncthreads();
    sort_keys(keys, padded);
    u32 found = 0;
    for (u32 first = 0; first < entries; first += blockDim.x) {
        u32 k = first + threadIdx.x, total;
        u32 fresh = k < entries && (k == 0 || keys[k] != keys[k - 1]);
        u32 rank = found + block_scan_exclusive(fresh, s->base, total);
        if (fresh) {
            distinct[rank] = keys[k];
            p.collected[low + rank] = keys[k];
        }
        found += total;
    }
    if (threadIdx.x == 0) p.counts[w] = found;
    __syncthreads();
    for (u32 k = threadIdx.x; k < entries; k += blockDim.x) {
        u64 e = at(k);
        u32 column = load_readonly(p.indices + e), from = 0, until = found;
        while (until - from > 1) {
            u32 middle = (from + until) / 2;
            if (distinct[middle] <= column) {
                from = middle;
            } else {
                until = middle;
            }
        }
        p.edge_to_col[e] = from;
    }
}

BG_DEVICE void translate_few(const SgtParams& p) {
    WindowRows* s = (WindowRows*)shared_memory();
    u32 w = blockIdx.x, place = w * p.height, rows = min_of(p.height, p.rows - place);
    u64 low = p.order ? p.bases.at(w) : p.offsets.at(place);
    u64 high = p.order ? p.bases.at((u64)w + 1) : p.offsets.at((u64)place + rows);
    if (high - low <= p.capacity) {
        translate_sorting(p, s, (u32*)(s + 1), p.capacity, w, low, (u32)(high - low));
    } else if (threadIdx.x == 0) {
        p.heavy[4 + atomicAdd(p.heavy, 1u)] = w;
    }
}

BG_DEVICE void translate_many(const SgtParams& p) {
    WindowRows* s = (WindowRows*)shared_memory();
    u64* marks = (u64*)(s + 1);
    u32 words = p.bitmap / 64;
    u32* before = (u32*)(marks + words);
    u32 heavy = load_volatile(p.heavy);
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) s->number = atomicAdd(p.heavy + 1, 1u);
        __syncthreads();
        if (s->number >= heavy) break;
        u32 w = p.heavy[4 + s->number], place = w * p.height, rows = min_of(p.height, p.rows - place), found = 0;
        u64 low = p.order ? p.bases.at(w) : p.offsets.at(place);
        u64 high = p.order ? p.bases.at((u64)w + 1) : p.offsets.at((u64)place + rows);
        if (high - low <= p.still_sorted) {
            translate_sorting(p, s, (u32*)marks, p.still_sorted, w, low, (u32)(high - low));
            continue;
        }
        for (u32 r = threadIdx.x; r < rows; r += blockDim.x) s->ends[r] = p.offsets.at(row_at(p.order, place + r));
        for (u64 left = 0; left < p.columns; left += p.bitmap) {
            __syncthreads();
            for (u32 r = threadIdx.x; r < rows; r += blockDim.x) {
                u64 start = s->ends[r], end = p.offsets.at((u64)row_at(p.order, place + r) + 1);
                if (left + p.bitmap < p.columns) end = first_not_below(p.indices, start, end, left + p.bitmap);
                s->starts[r] = start;
                s->ends[r] = end;
            }
            for (u32 i = threadIdx.x; i < words; i += blockDim.x) marks[i] = 0;
            __syncthreads();
            flatten(s, rows);
            __syncthreads();
            u32 entries = s->flat[rows];
            for (u32 k = threadIdx.x; k < entries; k += blockDim.x) {
                u32 bit = load_readonly(p.indices + entry_at(s, rows, k)) - (u32)left;
                atomicOr((u32*)marks + (bit >> 5), 1u << (bit & 31));
            }
            __syncthreads();
            u32 first = found;
            for (u32 start = 0; start < words; start += blockDim.x) {
                u32 i = start + threadIdx.x, total, own = i < words ? (u32)__popcll(marks[i]) : 0;
                u32 rank = found + block_scan_exclusive(own, s->base, total);
                if (i < words) {
                    before[i] = rank;
                    for (u64 bits = marks[i]; bits; bits &= bits - 1) {
                        p.collected[low + rank++] = (u32)left + i * 64 + (u32)__ffsll((i64)bits) - 1;
                    }
                }
                found += total;
            }
            __syncthreads();
            if (found == first) continue;
            for (u32 k = threadIdx.x; k < entries; k += blockDim.x) {
                u64 e = entry_at(s, rows, k);
                u32 bit = load_readonly(p.indices + e) - (u32)left;
                p.edge_to_col[e] = before[bit >> 6] + (u32)__popcll(marks[bit >> 6] & ((1ull << (bit & 63)) - 1));
            }
        }
        if (threadIdx.x == 0) p.counts[w] = found;
    }
}

/// A block for each window: its columns, the last one repeated, and a bit for each entry.
BG_DEVICE void fill_blocks(const SgtBlocksParams& p) {
    u32 w = blockIdx.x, place = w * p.height, rows = min_of(p.height, p.rows - place);
    u64 from = p.places.at(w), first = p.blocks.at(w);
    u64 columns = p.places.at((u64)w + 1) - from, slots = (p.blocks.at((u64)w + 1) - first) * p.width;
    for (u64 i = threadIdx.x; i < slots; i += blockDim.x) {
        p.block_columns[first * p.width + i] = load_readonly(p.columns + from + min_of(i, columns - 1));
    }
    u32 words = p.height * p.width / 32;
    for (u32 r = threadIdx.x / WARP; r < rows; r += blockDim.x / WARP) {
        u64 row = row_at(p.order, place + r), end = p.offsets.at(row + 1);
        for (u64 k = p.offsets.at(row) + lane(); k < end; k += WARP) {
            u32 c = load_readonly(p.edge_to_col + k), block = c / p.width, slot = c - block * p.width;
            u32 bit = p.by_columns ? slot * p.height + r : r * p.width + slot;
            reduce_or(p.masks + (first + block) * words + bit / 32, 1u << (bit & 31));
        }
    }
}
}  // namespace bg
using namespace bg;

BG_KERNEL(sgt_sizes, SgtParams, 256, 4) {
    // A warp for each window.
    u32 w = (u32)(((u64)blockIdx.x * blockDim.x + threadIdx.x) / WARP), sum = 0;
    for (u32 r = lane(); w < p.windows && r < min_of(p.height, p.rows - w * p.height); r += WARP) {
        u64 row = row_at(p.order, w * p.height + r);
        sum += (u32)(p.offsets.at(row + 1) - p.offsets.at(row));
    }
    sum = warp_sum(sum);
    if (lane() == 0 && w < p.windows) p.sizes[w] = sum;
}
BG_KERNEL(sgt_light, SgtParams, 256, 4) { translate_few(p); }
BG_KERNEL(sgt_heavy, SgtParams, 1024, 1) { translate_many(p); }
BG_KERNEL(sgt_gather, SgtGatherParams, 256, 4) {
    u32 window[TILE_ITEMS];
    u64 start = (u64)blockIdx.x * (blockDim.x * TILE_ITEMS);
    entry_rows<TILE_ITEMS>(p.places, p.n, start, window, shared_memory());
    for (u32 i = 0; i < TILE_ITEMS; i++) {
        u64 k = start + threadIdx.x / WARP * (TILE_ITEMS * WARP) + i * WARP + lane();
        if (k >= p.n) continue;
        u64 base = p.ordered ? p.bases.at(window[i]) : p.offsets.at((u64)window[i] * p.height);
        p.columns[k] = load_stream(p.collected + base + (k - p.places.at(window[i])));
    }
}
BG_KERNEL(sgt_count_blocks, SgtBlocksParams, 256, 4) {
    u64 threads = (u64)gridDim.x * blockDim.x;
    for (u64 w = (u64)blockIdx.x * blockDim.x + threadIdx.x; w < p.windows; w += threads) {
        p.counts[w] = ((u32)(p.places.at(w + 1) - p.places.at(w)) + p.width - 1) / p.width;
    }
}
BG_KERNEL(sgt_fill, SgtBlocksParams, 256, 4) { fill_blocks(p); }
