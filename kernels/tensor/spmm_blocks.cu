// Rows shared out to blocks of 64 that share many columns, and within a block to windows of 16, for meshes and grids: a warp grows the blocks of
// a cell, one row after the other: whichever unassigned row has the most neighbours in the block so far and the fewest that are unassigned, the first
// to be met among equals. A block begins at the row with the fewest unassigned neighbours, so that what is left of a cell stays in one piece.
// Windows grow within their block likewise; where rows are short, by the columns that rows share, since neighbours share none on a grid.
//
// The last block of a cell may have fewer rows than 64, or the next cell's first fills it up. A cell has one warp, so the result depends on nothing
// but the matrix.
#include "common/memory.cuh"
#include "common/warp.cuh"
#include "tensor/spmm_staged.cuh"

namespace bg {
struct BlocksParams {
    const u32* offsets;
    const u32* indices;
    const u32* cells;   // of each row: the number of a row
    const u32* sizes;   // of each cell: its rows
    const u32* firsts;  // where each cell's rows begin in `members`
    const u32* begins;  // of each cell: its first block; null: the next cell fills up the last
    const u32* members;
    u32* states;        // a word for each row
    u32* order;         // the rows of the blocks, 64 each; staged::NO_ROW where there is none. When counting: blocks of each cell
    u32 rows;
    u32 by_columns;     // whether windows grow by the columns that rows share
};

/// State of a row: neighbours in its cell that are unassigned, its place among the candidates or in the block plus 1, and whether it is assigned.
constexpr u32 PLACE_SHIFT = 16, PLACE_MASK = 0x7fffu << PLACE_SHIFT, ASSIGNED = 0x80000000u, FREE_MASK = 0xffffu;
/// Candidates of a block at most; more are not looked at.
constexpr u32 CANDIDATES = 1024;

/// Blocks of each cell, from the number of its rows.
BG_KERNEL(spmm_blocks_count, BlocksParams, 256, 8) {
    for (u32 cell = blockIdx.x * blockDim.x + threadIdx.x; cell < p.rows; cell += gridDim.x * blockDim.x)
        p.order[cell] = ceil_div(p.sizes[cell], staged::BLOCK_ROWS);
}

/// Unassigned neighbours of each row: those of its cell.
BG_KERNEL(spmm_blocks_start, BlocksParams, 256, 8) {
    for (u32 row = blockIdx.x * blockDim.x + threadIdx.x; row < p.rows; row += gridDim.x * blockDim.x) {
        const u32 cell = p.cells[row];
        u32 neighbours = 0;
        for (u32 e = p.offsets[row], end = p.offsets[row + 1]; e < end; e++) {
            const u32 j = load_readonly(p.indices + e);
            neighbours += j != row && load_readonly(p.cells + j) == cell;
        }
        p.states[row] = neighbours;
    }
}

/// A warp's shared memory.
struct BlockGrowth {
    u64 adjacent[staged::BLOCK_ROWS];  // rows of the block, a bit each
    u32 rows[staged::BLOCK_ROWS];
    u32 candidates[CANDIDATES];
    u32 keys[CANDIDATES];              // scores, then the earliest first; 0: taken
};

/// What a row's unassigned neighbours take off its score, of which two are a neighbour's in the block. Steps of four: where rows have few
/// neighbours, those that are unassigned say little. Columns that a block owns for each row on `mesh:50x50x80`: 3.8, and 4.3 without; on a grid
/// 1.55, and 1.67 without steps.
BG_DEVICE u32 free_cost(u32 state) { return state & FREE_MASK & ~3u; }
/// One unassigned neighbour fewer. A row that is named by more rows than it names may run out.
BG_DEVICE u32 one_fewer(u32 state) { return state & FREE_MASK ? state - 1 : state; }
/// Above what is taken off.
constexpr u32 SCORE_BASE = 128;

/// Writes the block's rows, window by window; `filled` rows of another cell lie before them. By columns: the row with the most neighbours that rows
/// of the window have, and the fewest others; neighbours outside the block are not seen. Tiles of 16 columns that a window has by neighbours and by
/// columns: on a grid 2.8 and 2.2, on a grid of triangles 3.0 and 3.0, on `mesh:50x50x80` 6.6 and 7.8.
BG_DEVICE void write_windows(const BlockGrowth& s, u32 count, u32 filled, bool by_columns, u32* order) {
    const u64 own[2] = {s.adjacent[lane()], s.adjacent[lane() + WARP]};
    u64 left = count == 64 ? ~0ull : (1ull << count) - 1, window = 0;  // rows of the window, or the columns that they have
    for (u32 i = 0; i < count; i++) {
        if ((filled + i) % staged::WINDOW_ROWS == 0) window = 0;
        u32 best = 0;
        auto look = [&](u64 from) {
#pragma unroll
            for (u32 k = 0; k < 2; k++) {
                const u32 row = lane() + k * WARP;
                if (!(left >> row & 1u)) continue;
                const u32 near = (u32)__popcll(own[k] & from), open = (u32)__popcll(own[k] & left);
                if (from && near == 0) continue;
                const u32 cost = by_columns ? (u32)__popcll(own[k]) - near : free_cost(open);
                const u32 score = from ? SCORE_BASE + 2 * near - cost : SCORE_BASE - open;
                best = max_of(best, score << 8 | (63 - row));
            }
            best = warp_max(best);
        };
        if (window) look(window);
        if (!best) look(0);
        const u32 row = 63 - (best & 63u);
        left &= ~(1ull << row);
        const u64 low = shuffle(own[0], row & 31u), high = shuffle(own[1], row & 31u);
        window |= !by_columns ? 1ull << row : row < WARP ? low : high;
        if (lane() == 0) order[i] = s.rows[row];
    }
}

/// The blocks of a cell.
BG_DEVICE void grow_blocks(const BlocksParams& p, BlockGrowth& s, u32 cell) {
    const u32 size = p.sizes[cell];
    const u32* members = p.members + p.firsts[cell];
    u64 at = p.begins ? (u64)p.begins[cell] * staged::BLOCK_ROWS : p.firsts[cell];
    for (u32 left = size; left;) {
        u32 count = 0, candidates = 0;
        s.adjacent[lane()] = s.adjacent[lane() + WARP] = 0;
        warp_sync();
        const u32 filled = (u32)(at % staged::BLOCK_ROWS), wanted = min_of(left, staged::BLOCK_ROWS - filled);
        while (count < wanted) {
            u32 best = 0;
            for (u32 i = lane(); i < candidates; i += WARP) best = max_of(best, s.keys[i]);
            best = warp_max(best);
            u32 row;
            if (best) {
                const u32 place = 0xffffu - (best & 0xffffu);
                row = s.candidates[place];
                warp_sync();
                if (lane() == 0) s.keys[place] = 0;
            } else {
                // The fewest unassigned neighbours, the first among equals.
                u32 fewest = FREE_MASK + 1, first = 0;
                for (u32 i = lane(); i < size; i += WARP) {
                    const u32 state = p.states[members[i]];
                    if ((state & (ASSIGNED | PLACE_MASK)) || (state & FREE_MASK) >= fewest) continue;
                    fewest = state & FREE_MASK;
                    first = i;
                }
                const u32 minimum = warp_min(fewest);
                row = members[warp_min(fewest == minimum ? first : 0xffffffffu)];
            }
            const u32 own = count++;
            if (lane() == 0) {
                s.rows[own] = row;
                p.states[row] = ASSIGNED | (own + 1) << PLACE_SHIFT;
            }
            warp_sync();
            const u32 begin = p.offsets[row], end = p.offsets[row + 1];
            for (u32 base = begin; base < end; base += WARP) {
                const u32 e = base + lane(), j = e < end ? p.indices[e] : row;
                const bool inside = j != row && p.cells[j] == cell;
                const u32 state = inside ? p.states[j] : 0, place = (state & PLACE_MASK) >> PLACE_SHIFT;
                const bool open = inside && !(state & ASSIGNED);
                const bool fresh = open && place == 0;
                const u32 found = ballot(fresh), at = candidates + (u32)__popc(found & ((1u << lane()) - 1));
                if (inside && (state & ASSIGNED) && place) {
                    atomicOr((unsigned long long*)&s.adjacent[place - 1], 1ull << own);
                    atomicOr((unsigned long long*)&s.adjacent[own], 1ull << (place - 1));
                }
                if (fresh && at < CANDIDATES) {
                    s.candidates[at] = j;
                    s.keys[at] = (SCORE_BASE + 2 - free_cost(one_fewer(state))) << 16 | (0xffffu - at);
                    p.states[j] = one_fewer(state) | (at + 1) << PLACE_SHIFT;
                } else if (open) {
                    if (place) s.keys[place - 1] += (2 + free_cost(state) - free_cost(one_fewer(state))) << 16;
                    p.states[j] = one_fewer(state);
                }
                candidates = min_of(candidates + (u32)__popc(found), CANDIDATES);
                warp_sync();
            }
        }
        left -= count;
        write_windows(s, count, filled, p.by_columns != 0, p.order + at);
        at += count;
        for (u32 i = lane(); i < candidates; i += WARP)
            if (s.keys[i]) p.states[s.candidates[i]] &= ~PLACE_MASK;
        for (u32 i = lane(); i < count; i += WARP) p.states[s.rows[i]] = ASSIGNED;
        warp_sync();
    }
}
BG_KERNEL(spmm_blocks_grow, BlocksParams, 32, 16) {
    BlockGrowth& s = *(BlockGrowth*)shared_memory();
    for (u32 base = blockIdx.x * WARP; base < p.rows; base += gridDim.x * WARP) {
        // Few rows are cells.
        for (u32 cells = ballot(base + lane() < p.rows && p.sizes[base + lane()] != 0); cells; cells &= cells - 1)
            grow_blocks(p, s, base + (u32)__ffs(cells) - 1);
    }
}
}  // namespace bg
