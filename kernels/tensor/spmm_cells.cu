// An order of rows in which rows that share columns are close, for meshes and grids: the vertices fall into cells about seeds, and cells
// follow each other by the numbers of their seeds.
//
// Seeds are the vertices whose hash is the smallest within `radius` steps; every other vertex joins the seed that it reaches in the fewest
// steps, the smallest among equals. Rounds of one launch each, from one array to another: the result depends on nothing but the matrix.
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
struct CellsParams {
    const u32* offsets;
    const u32* indices;
    const u32* before;  // a word for each vertex; null in the first round
    u32* after;
    u32* count;         // seeds
    u32 rows;
    u32 unused;
};
constexpr u32 NO_CELL = 0xffffffffu;

/// One to one.
BG_DEVICE u32 vertex_hash(u32 v) {
    v = (v ^ v >> 16) * 0x7feb352du;
    v = (v ^ v >> 15) * 0x846ca68bu;
    return v ^ v >> 16;
}

/// The smallest hash one step further. Counts the vertices whose own is the smallest.
BG_KERNEL(spmm_cells_spread, CellsParams, 256, 8) {
    for (u32 base = blockIdx.x * blockDim.x; base < p.rows; base += gridDim.x * blockDim.x) {
        const u32 row = base + threadIdx.x;
        bool seed = false;
        if (row < p.rows) {
            const u32 own = vertex_hash(row);
            u32 smallest = p.before ? p.before[row] : own;
            for (u32 e = p.offsets[row], end = p.offsets[row + 1]; e < end; e++) {
                const u32 j = load_readonly(p.indices + e);
                smallest = min_of(smallest, p.before ? load_readonly(p.before + j) : vertex_hash(j));
            }
            p.after[row] = smallest;
            seed = smallest == own;
        }
        const u32 seeds = ballot(seed);
        if (lane() == 0 && seeds) reduce_add(p.count, (u32)__popc(seeds));
    }
}

/// From smallest hashes to cells that hold their seeds alone.
BG_KERNEL(spmm_cells_seed, CellsParams, 256, 8) {
    for (u32 row = blockIdx.x * blockDim.x + threadIdx.x; row < p.rows; row += gridDim.x * blockDim.x)
        p.after[row] = p.before[row] == vertex_hash(row) ? row : NO_CELL;
}

/// Vertices without a cell join the smallest that a neighbour has.
BG_KERNEL(spmm_cells_grow, CellsParams, 256, 8) {
    for (u32 row = blockIdx.x * blockDim.x + threadIdx.x; row < p.rows; row += gridDim.x * blockDim.x) {
        u32 cell = p.before[row];
        if (cell == NO_CELL) {
            for (u32 e = p.offsets[row], end = p.offsets[row + 1]; e < end; e++) cell = min_of(cell, load_readonly(p.before + load_readonly(p.indices + e)));
        }
        p.after[row] = cell;
    }
}

/// A vertex that no seed reaches is a cell of its own.
BG_KERNEL(spmm_cells_finish, CellsParams, 256, 8) {
    for (u32 row = blockIdx.x * blockDim.x + threadIdx.x; row < p.rows; row += gridDim.x * blockDim.x)
        p.after[row] = p.before[row] == NO_CELL ? row : p.before[row];
}
}  // namespace bg
