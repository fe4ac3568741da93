// Builds the blocks of kernels/tensor/spmm_staged.cuh, a thread block each: the entries of 64 rows, sorted by column in shared memory.
// Launched twice: for the sizes, and to write.
#include "common/memory.cuh"
#include "common/warp.cuh"
#include "tensor/spmm_staged.cuh"

namespace bg {
/// What a block's rows take their columns from: tiles, lists, or tiles whose columns ascend.
enum StagedContent : u32 { STAGED_TILES = 0, STAGED_LISTS = 1, STAGED_ASCENDING = 2 };
struct StagedBuild {
    const u32* offsets;
    const u32* indices;
    const u32* order;   // rows, blocks of 64 one after the other; NO_ROW where a block has fewer
    u32* sizes;         // of each block, in 16 bytes; after a scan: where it begins
    u32* words;         // null: sizes only
    u64* totals;        // columns of all blocks; the most of a block; the most words of a block
    u32* columns;       // of each block; null: not wanted
    u32 blocks;
    u32 content;        // as StagedContent
};
/// Blocks of more columns than `most` cut into two, of two windows each.
struct StagedSplit {
    const u32* columns;  // of each block
    u32* places;         // of each block: the blocks that it becomes; after a scan: the first of them
    const u32* order;
    u32* after;          // null: places only
    u32 blocks;
    u32 most;
};

/// A row's list of entries takes whole pieces of 4 places.
BG_DEVICE u32 list_pieces(u32 entries) { return ceil_div(entries, 4u); }

/// The lists of a block: spans of its rows and places of their entries. `columns` are the block's, in shared memory.
BG_DEVICE void write_lists(const StagedBuild& p, const u32* rows, const u32* starts, const u32* columns, u32 column_count, u32* out) {
    using namespace staged;
    u16* places = (u16*)(out + BLOCK_ROWS);
    for (u32 r = threadIdx.x / WARP; r < BLOCK_ROWS; r += blockDim.x / WARP) {
        const u32 length = starts[r + 1] - starts[r], from = length ? p.offsets[rows[r]] : 0;
        u32 before = 0;
        for (u32 i = lane(); i < r; i += WARP) before += list_pieces(starts[i + 1] - starts[i]);
        before = warp_sum(before);
        if (lane() == 0) out[r] = before << 16 | length;
        for (u32 e = lane(); e < list_pieces(length) * 4; e += WARP) {
            u32 low = 0;
            if (e < length) {
                const u32 wanted = p.indices[from + e];
                for (u32 high = column_count - 1; low < high;) {
                    const u32 middle = (low + high) / 2;
                    if (columns[middle] < wanted) low = middle + 1;
                    else high = middle;
                }
            }
            places[before * 4 + e] = (u16)low;
        }
    }
}

BG_KERNEL(spmm_staged_split, StagedSplit, 256, 8) {
    using namespace staged;
    const u32 stride = gridDim.x * blockDim.x;
    for (u32 block = blockIdx.x * blockDim.x + threadIdx.x; !p.after && block < p.blocks; block += stride) p.places[block] = p.columns[block] > p.most ? 2 : 1;
    if (!p.after) return;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.blocks * BLOCK_ROWS; i += stride) {
        const u32 block = i / BLOCK_ROWS, row = i % BLOCK_ROWS, half = BLOCK_ROWS / 2;
        u32* to = p.after + (u64)p.places[block] * BLOCK_ROWS + row;
        if (p.columns[block] <= p.most) {
            *to = p.order[i];
        } else {
            // The first half of this block and of the next one, whose others have no row.
            u32* const upper = row < half ? to : to + half;
            *upper = p.order[i];
            upper[half] = NO_ROW;
        }
    }
}

BG_KERNEL(spmm_staged_build, StagedBuild, 256, 2) {
    using namespace staged;
    u64* keys = (u64*)shared_memory();            // column << 6 | row in the block
    u32* tiles = (u32*)(keys + MOST_ENTRIES);     // MOST_TILES * TILE_WORDS; of lists: the block's columns
    u64* scratch = (u64*)(tiles + MOST_TILES * TILE_WORDS);
    u32* starts = (u32*)(scratch + 34);           // BLOCK_ROWS + 1
    u16* placed = (u16*)(starts + BLOCK_ROWS + 2);  // the columns of tiles, ascending: MOST_TILES * TILE_COLUMNS
    const u32* rows = p.order + (u64)blockIdx.x * BLOCK_ROWS;
    if (threadIdx.x == 0) {
        u32 sum = 0;
        for (u32 r = 0; r < BLOCK_ROWS; r++) {
            starts[r] = sum;
            if (rows[r] != NO_ROW) sum += p.offsets[rows[r] + 1] - p.offsets[rows[r]];
        }
        starts[BLOCK_ROWS] = sum;
    }
    for (u32 i = threadIdx.x; i < MOST_TILES * TILE_WORDS; i += blockDim.x) tiles[i] = 0;
    __syncthreads();
    const bool lists = p.content == STAGED_LISTS;
    const u32 entries = starts[BLOCK_ROWS];
    u32 padded = blockDim.x;
    while (padded < entries) padded *= 2;
    for (u32 r = threadIdx.x / WARP; r < BLOCK_ROWS; r += blockDim.x / WARP) {
        const u32 length = starts[r + 1] - starts[r], from = length ? p.offsets[rows[r]] : 0;
        for (u32 e = lane(); e < length; e += WARP) keys[starts[r] + e] = (u64)p.indices[from + e] << 6 | r;
    }
    for (u32 i = entries + threadIdx.x; i < padded; i += blockDim.x) keys[i] = ~0ull;
    __syncthreads();
    // Bitonic sort (Batcher, 1968).
    for (u32 size = 2; size <= padded; size *= 2)
        for (u32 stride = size / 2; stride; stride /= 2) {
            for (u32 i = threadIdx.x; i < padded / 2; i += blockDim.x) {
                const u32 low = i / stride * stride * 2 + i % stride, high = low + stride;
                const bool ascending = (low & size) == 0;
                const u64 a = keys[low], b = keys[high];
                if ((a > b) == ascending) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
            __syncthreads();
        }
    // Heads: where a column begins, and where one begins in a window. A thread takes neighbouring entries.
    const u32 each = padded / blockDim.x, from = threadIdx.x * each, to = min_of(from + each, entries);
    auto column_head = [&](u32 e) { return e == 0 || keys[e] >> 6 != keys[e - 1] >> 6; };
    auto window_head = [&](u32 e) { return e == 0 || keys[e] >> 4 != keys[e - 1] >> 4; };
    u64 columns = 0, places = 0;  // places: 16 bits for each window
    for (u32 e = from; e < to; e++) {
        columns += column_head(e);
        if (window_head(e)) places += 1ull << ((u32)(keys[e] >> 4) & 3u) * 16;
    }
    u64 column_total, place_total;
    u64 column = block_scan_exclusive(columns, scratch, column_total);
    u64 place = block_scan_exclusive(places, scratch, place_total);
    u32 first_tiles[WINDOWS + 1];
    first_tiles[0] = 0;
#pragma unroll
    for (u32 w = 0; w < WINDOWS; w++) first_tiles[w + 1] = first_tiles[w] + ceil_div((u32)(place_total >> w * 16) & 0xffffu, TILE_COLUMNS);
    const u32 column_count = (u32)column_total, tiles_at = COLUMNS_AT + ceil_div(column_count, 4u) * 4;
    u32 pieces = 0;
    for (u32 i = threadIdx.x; i < BLOCK_ROWS; i += blockDim.x) pieces += list_pieces(starts[i + 1] - starts[i]);
    pieces = block_sum(pieces, (u32*)scratch);
    const u32 size = tiles_at + (lists ? BLOCK_ROWS + ceil_div(pieces, 2u) * 4 : first_tiles[WINDOWS] * TILE_WORDS);
    if (!p.words) {
        if (threadIdx.x == 0) {
            p.sizes[blockIdx.x] = size / 4;
            if (p.columns) p.columns[blockIdx.x] = column_count;
            atomicAdd(p.totals, column_total);
            atomicMax(p.totals + 1, column_total);
            atomicMax(p.totals + 2, (u64)size);
        }
        return;
    }
    u32* out = p.words + (u64)p.sizes[blockIdx.x] * 4;
    auto window_of = [&](u32 e) { return (u32)(keys[e] >> 4) & 3u; };
    auto place_in = [&](u64 counts, u32 w) { return (u32)(counts >> w * 16) & 0xffffu; };
    // A window's columns in its tiles, ascending.
    u64 at = place;
    for (u32 e = from; e < to; e++) {
        if (column_head(e)) {
            if (lists) tiles[column] = (u32)(keys[e] >> 6);
            out[COLUMNS_AT + column++] = (u32)(keys[e] >> 6);
        }
        if (!window_head(e)) continue;
        const u32 w = window_of(e);
        placed[first_tiles[w] * TILE_COLUMNS + place_in(at, w)] = (u16)(column - 1);
        at += 1ull << w * 16;
    }
    __syncthreads();
    // Within a tile they change places: eight are loaded together, and columns whose numbers in the block agree in the last three bits lie in
    // the same banks, so of those every other one goes to the second eight.
    for (u32 e = from; e < to; e++) {
        if (lists || !window_head(e)) continue;
        const u32 w = window_of(e), own = place_in(place, w), base = own / TILE_COLUMNS * TILE_COLUMNS;
        const u32 filled = min_of(place_in(place_total, w) - base, TILE_COLUMNS);
        place += 1ull << w * 16;
        const u16* columns_of = placed + first_tiles[w] * TILE_COLUMNS + base;
        auto rank_key = [&](u32 i) { return ((u32)columns_of[i] & 7u) << 4 | i; };
        const u32 key = rank_key(own - base);
        u32 rank = 0;
        for (u32 i = 0; i < filled; i++) rank += rank_key(i) < key;
        const u32 slot = p.content == STAGED_ASCENDING ? own - base : (rank & 1) * 8 + rank / 2;
        u32* tile = tiles + (first_tiles[w] + own / TILE_COLUMNS) * TILE_WORDS;
        atomicOr(tile + slot / 2, (u32)columns_of[own - base] << (slot & 1) * 16);
        for (u32 m = e; m < entries && keys[m] >> 4 == keys[e] >> 4; m++) {
            const u32 row = (u32)keys[m] & 15u;
            atomicOr(tile + MASKS_AT + (row & 7u), mask_bit(row, slot));
        }
    }
    if (threadIdx.x < COLUMNS_AT) {
        u32 word = 0;
        if (threadIdx.x == COLUMN_COUNT) word = column_count;
        if (threadIdx.x == TILES_AT) word = tiles_at;
#pragma unroll
        for (u32 w = 0; w <= WINDOWS; w++)
            if (threadIdx.x == FIRST_TILES + w) word = first_tiles[w];
        if (threadIdx.x >= ROWS_AT) word = rows[threadIdx.x - ROWS_AT];
        out[threadIdx.x] = word;
    }
    for (u32 i = column_count + threadIdx.x; i < tiles_at - COLUMNS_AT; i += blockDim.x) out[COLUMNS_AT + i] = 0;
    __syncthreads();
    if (lists) write_lists(p, rows, starts, tiles, column_count, out + tiles_at);
    else
        for (u32 i = threadIdx.x; i < first_tiles[WINDOWS] * TILE_WORDS; i += blockDim.x) out[tiles_at + i] = tiles[i];
}
}  // namespace bg
