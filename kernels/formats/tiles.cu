// Compressed rows to the tile formats, and tile counts.
#include "formats/tiles.cuh"
#include "tuning/formats.cuh"
using namespace bg;

BG_KERNEL(tiles_light_4, TileParams, 256, 5) { tiles_light<2, false>(p); }
BG_KERNEL(tiles_light_8, TileParams, 256, 5) { tiles_light<3, false>(p); }
BG_KERNEL(tiles_light_16, TileParams, 256, 5) { tiles_light<4, false>(p); }
BG_KERNEL(tiles_light_32, TileParams, 256, 5) { tiles_light<5, false>(p); }
BG_KERNEL(tiles_light_hybrid, TileParams, 256, 5) { tiles_light<3, true>(p); }
BG_KERNEL(tiles_heavy_4, TileParams, 512, 2) { tiles_heavy<2, false>(p); }
BG_KERNEL(tiles_heavy_8, TileParams, 512, 2) { tiles_heavy<3, false>(p); }
BG_KERNEL(tiles_heavy_16, TileParams, 512, 2) { tiles_heavy<4, false>(p); }
BG_KERNEL(tiles_heavy_32, TileParams, 512, 2) { tiles_heavy<5, false>(p); }
BG_KERNEL(tiles_heavy_hybrid, TileParams, 512, 2) { tiles_heavy<3, true>(p); }

namespace bg {
struct GatherTilesParams {
    RowOffsets bands;    // where a tile row's tiles are: where its entries start
    RowOffsets places;   // where they go
    const u32* columns;
    const void* words;
    u32* new_columns;
    void* new_words;
    u64 tiles;
};

/// Closes the gaps between the tile rows.
template <class T> BG_DEVICE void tiles_gather(const GatherTilesParams& p) {
    u32 row[TILE_ITEMS];
    u64 start = (u64)blockIdx.x * (blockDim.x * TILE_ITEMS);
    entry_rows<TILE_ITEMS>(p.places, p.tiles, start, row, shared_memory());
    for (u32 i = 0; i < TILE_ITEMS; i++) {
        u64 k = start + threadIdx.x / WARP * (TILE_ITEMS * WARP) + i * WARP + lane();
        if (k >= p.tiles) continue;
        u64 from = p.bands.at(row[i]) + (k - p.places.at(row[i]));
        p.new_columns[k] = load_stream(p.columns + from);
        ((T*)p.new_words)[k] = load_stream((const T*)p.words + from);
    }
}
}  // namespace bg
BG_KERNEL(tiles_gather_4, GatherTilesParams, 256, 4) { tiles_gather<u16>(p); }
BG_KERNEL(tiles_gather_8, GatherTilesParams, 256, 4) { tiles_gather<u64>(p); }
