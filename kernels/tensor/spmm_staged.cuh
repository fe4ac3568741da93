// Blocks of rows that share columns: what a block is stored as. Four windows of 16 rows own the union of their columns; a slice of 128 bytes
// of each is copied into shared memory once, and the windows take their tiles of 16 columns from there.
//
// A block is words, a multiple of 4 of them: the header, its rows, its columns ascending (padded to a multiple of 4), then what its rows take.
// Tiles, window by window, of TILE_WORDS: places of 16 columns in the block's list, two in a word, then masks. Or lists: a word for each row,
// its entries and above them where its places begin, in 8 bytes; then the places of its entries in their order, two in a word.
#pragma once
#include "common/kernel.cuh"

namespace bg {
/// Blocks of rows of a matrix, as they lie on the device.
struct RowBlocks {
    const u32* words;   // the blocks
    const u32* begins;  // where each begins and the last ends, in 16 bytes
    u32 blocks;
    u32 capacity;       // columns of a block at most
    u32 most_words;     // of a block
    u32 unused;
};

namespace staged {
constexpr u32 WINDOWS = 4;
constexpr u32 WINDOW_ROWS = 16;
constexpr u32 BLOCK_ROWS = 64;
/// Bytes of a row of features that a block works on at once.
constexpr u32 SLICE_BYTES = 128;
/// Header: columns, where the tiles or lists begin, two unused, the first tile of each window and their end, three unused.
constexpr u32 COLUMN_COUNT = 0, TILES_AT = 1, FIRST_TILES = 4, ROWS_AT = 12, COLUMNS_AT = 76;
constexpr u32 TILE_COLUMNS = 16;
constexpr u32 TILE_WORDS = 16;
constexpr u32 MASKS_AT = 8;
/// Threads that work on lists.
constexpr u32 LIST_THREADS = 256;
/// In place of a row past the last.
constexpr u32 NO_ROW = 0xffffffffu;
/// Entries of a block at most.
constexpr u32 MOST_ENTRIES = 4096;
/// Tiles of a block at most: every window may have one that is not full.
constexpr u32 MOST_TILES = 260;

/// The bit of mask word `row % 8` for a row of a window and a place of a tile. Rotated left by t, and by 8 and 4 more, the word has at bits 14
/// and 30 the entries of an operand A: rows g and g + 8, places 2 t and 2 t + 1, and those 8 further.
BG_DEVICE u32 mask_bit(u32 row, u32 place) {
    return 1u << (((place & 1u ? 30u : 14u) - (row >= 8 ? 8u : 0u) - (place >> 1)) & 31u);
}
}}  // namespace bg::staged
