// The two parts of the hybrid, cut out of the collected tiles and the entries: a stream compaction each.
//
// Invariant: a tile is stored if its band keeps tiles and it holds enough entries; every entry outside stored tiles is listed.
#include "formats/lookback.cuh"
#include "formats/rows.cuh"
#include "tuning/formats.cuh"

namespace bg {
struct HybridTilesParams {
    RowOffsets bands;      // where a band's collected tiles are: where its entries start
    RowOffsets collected;  // the collected tiles counted on
    const u32* stored;     // tiles that each band keeps
    const u32* columns;
    const u64* words;
    u32* new_columns;
    u64* new_words;
    u64* state;            // zeroed: a ticket, then a status word for each block
    u64 tiles;             // collected
    u32 min_entries;
    u32 unused;
};
struct HybridListParams {
    RowOffsets offsets;    // of the entries
    RowOffsets places;     // of the stored tiles
    const u32* columns;    // of the stored tiles
    const u32* listed;     // entries left to the list, of each row
    const u32* indices;
    u32* new_indices;
    u64* state;
    u64 nnz;
};
BG_DEVICE u64* cut_shared() { return (u64*)shared_memory(); }
BG_DEVICE void* cut_rows_shared() { return shared_memory() + 40 * 8; }
BG_DEVICE u64 cut_own(u64 start, u32 i) { return start + threadIdx.x / WARP * (CUT_ITEMS * WARP) + i * WARP + lane(); }
}  // namespace bg
using namespace bg;

BG_KERNEL(hybrid_tiles, HybridTilesParams, 256, 4) {
    u64* shared = cut_shared();
    u32 block = take_ticket((u32*)p.state, (u32*)(shared + 36));
    u64 start = (u64)block * (blockDim.x * CUT_ITEMS);
    u32 row[CUT_ITEMS];
    entry_rows<CUT_ITEMS>(p.collected, p.tiles, start, row, cut_rows_shared());
    bool keep[CUT_ITEMS];
    u64 word[CUT_ITEMS], from[CUT_ITEMS], place[CUT_ITEMS];
    for (u32 i = 0; i < CUT_ITEMS; i++) {
        u64 k = cut_own(start, i);
        keep[i] = k < p.tiles && load_readonly(p.stored + row[i]) > 0;
        word[i] = 0;
        if (keep[i]) {
            from[i] = p.bands.at(row[i]) + (k - p.collected.at(row[i]));
            word[i] = load_stream(p.words + from[i]);
            keep[i] = (u32)__popcll(word[i]) >= p.min_entries;
        }
    }
    flag_places<CUT_ITEMS>(keep, place, p.state + 1, block, shared);
    for (u32 i = 0; i < CUT_ITEMS; i++) {
        if (!keep[i]) continue;
        p.new_columns[place[i]] = load_stream(p.columns + from[i]);
        p.new_words[place[i]] = word[i];
    }
}

BG_KERNEL(hybrid_list, HybridListParams, 256, 4) {
    u64* shared = cut_shared();
    u32 block = take_ticket((u32*)p.state, (u32*)(shared + 36));
    u64 start = (u64)block * (blockDim.x * CUT_ITEMS);
    u32 row[CUT_ITEMS], column[CUT_ITEMS];
    for (u32 i = 0; i < CUT_ITEMS; i++) column[i] = cut_own(start, i) < p.nnz ? load_stream(p.indices + cut_own(start, i)) : 0;
    entry_rows<CUT_ITEMS>(p.offsets, p.nnz, start, row, cut_rows_shared());
    bool keep[CUT_ITEMS];
    u64 place[CUT_ITEMS];
    for (u32 i = 0; i < CUT_ITEMS; i++) {
        keep[i] = cut_own(start, i) < p.nnz;
        if (!keep[i]) continue;
        u32 left = load_readonly(p.listed + row[i]);
        if (left == 0) {
            keep[i] = false;
        } else if (left < p.offsets.at((u64)row[i] + 1) - p.offsets.at(row[i])) {
            // A row of both kinds: is the entry's tile among the stored ones?
            u64 low = p.places.at(row[i] / 8), high = p.places.at((u64)row[i] / 8 + 1), end = high;
            while (low < high) {
                u64 middle = low + (high - low) / 2;
                if (load_readonly(p.columns + middle) < column[i] / 8) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            keep[i] = low == end || load_readonly(p.columns + low) != column[i] / 8;
        }
    }
    flag_places<CUT_ITEMS>(keep, place, p.state + 1, block, shared);
    for (u32 i = 0; i < CUT_ITEMS; i++) {
        if (keep[i]) p.new_indices[place[i]] = column[i];
    }
}
