// Tiles, or tiles and a list, back to compressed rows: a warp for each row.
//
// Invariant: entries of a row come in ascending order of columns.
#include "formats/rows.cuh"

namespace bg {
struct UntileParams {
    RowOffsets places;        // of the tiles of tile rows
    const u32* columns;
    const void* words;
    RowOffsets list_offsets;  // without words: no list
    const u32* list;
    RowOffsets offsets;       // of the result; in the second pass
    u32* counts;              // first pass: entries of each row
    u32* indices;             // second pass
    u32 rows;
    u32 unused;
};

template <u32 SHIFT> BG_DEVICE u32 tile_row_bits(const void* words, u64 tile, u32 r) {
    if (SHIFT == 2) return (u32)load_readonly((const u16*)words + tile) >> (r * 4) & 15u;
    if (SHIFT == 3) return load_readonly((const u8*)words + tile * 8 + r);
    if (SHIFT == 4) return load_readonly((const u16*)words + tile * 16 + r);
    return load_readonly((const u32*)words + tile * 32 + r);
}

template <u32 SHIFT> BG_DEVICE void untile(const UntileParams& p) {
    constexpr u32 SIZE = 1u << SHIFT;
    u32 warps = gridDim.x * (blockDim.x / WARP);
    for (u64 row = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; row < p.rows; row += warps) {
        u64 first = p.places.at(row / SIZE), end = p.places.at(row / SIZE + 1);
        u64 list = 0, list_end = 0, out = 0;
        if (p.list_offsets.words) {
            list = p.list_offsets.at(row);
            list_end = p.list_offsets.at(row + 1);
        }
        if (p.indices) out = p.offsets.at(row);
        u64 all = p.indices ? p.offsets.at(row + 1) - out : 0;
        bool both = list < list_end && all > list_end - list;
        // Rows of both kinds: tiles first, at their places among all; the list fills the holes in order.
        if (both) {
            for (u64 k = lane(); k < all; k += WARP) p.indices[out + k] = ~0u;
        }
        warp_sync();
        u32 count = 0;
        for (u64 base = first; base < end; base += WARP) {
            u64 k = base + lane();
            u32 bits = k < end ? tile_row_bits<SHIFT>(p.words, k, (u32)(row % SIZE)) : 0;
            u32 own = (u32)__popc(bits), inclusive = scan_inclusive(own), before = count + inclusive - own;
            count += shuffle(inclusive, WARP - 1);
            if (!p.indices) continue;
            u32 column = k < end ? load_readonly(p.columns + k) << SHIFT : 0;
            u64 low = list, high = both && bits ? list_end : list;
            // Listed entries before this tile's: none lies within it.
            while (low < high) {
                u64 middle = low + (high - low) / 2;
                if (load_readonly(p.list + middle) < column) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            for (u64 place = out + before + (low - list); bits; bits &= bits - 1) p.indices[place++] = column + (u32)__ffs(bits) - 1;
        }
        if (p.counts && lane() == 0) p.counts[row] = count + (u32)(list_end - list);
        if (!p.indices || list == list_end) continue;
        warp_sync();
        u64 taken = 0;
        for (u64 base = 0; base < all; base += WARP) {
            bool hole = base + lane() < all && (!both || load_volatile(p.indices + out + base + lane()) == ~0u);
            u32 holes = ballot(hole);
            if (hole) p.indices[out + base + lane()] = load_readonly(p.list + list + taken + (u32)__popc(holes & ((1u << lane()) - 1)));
            taken += (u32)__popc(holes);
        }
    }
}
}  // namespace bg
BG_KERNEL(untile_4, bg::UntileParams, 256, 4) { bg::untile<2>(p); }
BG_KERNEL(untile_8, bg::UntileParams, 256, 4) { bg::untile<3>(p); }
BG_KERNEL(untile_16, bg::UntileParams, 256, 4) { bg::untile<4>(p); }
BG_KERNEL(untile_32, bg::UntileParams, 256, 4) { bg::untile<5>(p); }
