// Reductions over the entries of every row: how warps share rows, columns and entries out, and how what belongs together is merged.
//
// A lane has up to LANE_COLUMNS columns of a row. A group of lanes has a row's columns, or a tile of them where there are more; several
// groups may share a row's entries, which they take in turns. Rows of very many entries are cut into pieces, a group's each, whose
// results go through memory and are merged by a kernel of their own. Every order of merging depends on the matrix and the number of
// columns alone, so results repeat.
#pragma once
#include "common/warp.cuh"
#include "tensor/types.cuh"

namespace bg {
/// A part of the entries of a long row.
struct RowPiece {
    u64 begin, end;
    u32 row;
    u32 last;  // whether the row ends with it
};

/// The rows of a pattern, and how they are shared out.
struct RowWork {
    const void* offsets;
    const u32* indices;
    const u32* positions;  // where each entry is in the order of the matrix's CSR form; null: in this order
    const RowPiece* pieces;  // not null: these instead of rows
    u64 units;               // rows, or pieces
    u32 columns;             // of the result
    u32 wide;                // offsets of 64 bits
    u32 limit;               // entries above which a row comes in pieces
    u32 group;               // lanes that have a row's columns: a power of two
    u32 split;               // groups that share a row's entries: a power of two; group * split is at most 32
    u32 blocks;              // equal blocks of columns that are worked on apart: heads
    u32 tiles;               // tiles of columns of a block
    u32 reserved;
};

BG_DEVICE u64 row_offset(const void* offsets, u32 wide, u64 i) {
    return wide ? load_readonly((const u64*)offsets + i) : load_readonly((const u32*)offsets + i);
}

/// What a lane works on.
template <u32 N> struct RowTask {
    u64 unit, begin, end;
    u32 row, block, tile;
    bool valid;  // whether there is such a row, to be worked on here
    bool last;   // whether the row's entries end with these
    u32 part;    // which of the groups of a row
    LaneColumns<N> columns;

    BG_DEVICE explicit RowTask(const RowWork& w) {
        const u32 lanes = w.group * w.split, sub = lane() % w.group;
        const u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / WARP, all = (u64)w.blocks * w.tiles;
        const u32 piece = (u32)(warp % all);
        unit = warp / all * (WARP / lanes) + lane() / lanes;
        part = lane() % lanes / w.group;
        block = piece / w.tiles;
        tile = piece % w.tiles;
        begin = end = 0;
        row = 0;
        last = true;
        valid = unit < w.units;
        if (valid && w.pieces) {
            const RowPiece& p = w.pieces[unit];
            begin = p.begin;
            end = p.end;
            row = p.row;
            last = p.last != 0;
        } else if (valid) {
            row = (u32)unit;
            begin = row_offset(w.offsets, w.wide, unit);
            end = row_offset(w.offsets, w.wide, unit + 1);
            if (end - begin > w.limit) {
                valid = false;
                end = begin;
            }
        }
        const u32 width = w.columns / w.blocks, start = tile * w.group * LANE_COLUMNS;
        columns.step = w.group * N;
        columns.first = block * width + start + sub * N;
        columns.end = (block + 1) * width;
        columns.packs = min_of(LANE_COLUMNS / N, ceil_div(width - start, columns.step));
    }
    /// The bits of a lane's number that tell the groups of a row apart: from the first to below the second.
    BG_DEVICE static u32 low(const RowWork& w) { return w.group; }
    BG_DEVICE static u32 high(const RowWork& w) { return w.group * w.split; }
};

/// The position of an entry in the order of the matrix's CSR form.
BG_DEVICE u64 position_of(const RowWork& w, u64 k) { return w.positions ? load_readonly(w.positions + k) : k; }

/// The results of pieces: a cell for each piece and column.
struct LongRows {
    const u32* rows;
    const u32* first_piece;  // of each row, and the number of pieces
    void* cells;
    u32 count;               // rows
    u32 tiles;               // of 32 columns
};

/// Merges the pieces of each long row, 32 columns to a block, by `merge(into, from)`, and calls `store(row, column, cell)`.
template <class Cell, class M, class F> BG_DEVICE void merge_pieces(const LongRows& w, u32 columns, const M& merge, const F& store) {
    Cell* shared = (Cell*)shared_memory();
    const u32 which = blockIdx.x / w.tiles, parts = blockDim.x / WARP, part = threadIdx.x / WARP;
    const u32 column = blockIdx.x % w.tiles * WARP + lane();
    const u32 row = w.rows[which], end = w.first_piece[which + 1];
    Cell cell;
    if (column < columns) {
        for (u64 i = w.first_piece[which] + part; i < end; i += parts) merge(cell, ((const Cell*)w.cells)[(u64)i * columns + column]);
    }
    shared[threadIdx.x] = cell;
    __syncthreads();
    if (part != 0 || column >= columns) return;
    for (u32 i = 1; i < parts; i++) merge(cell, shared[i * WARP + lane()]);
    store(row, column, cell);
}
}  // namespace bg
