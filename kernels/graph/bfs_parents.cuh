// Parents from levels: the smallest in-neighbour of the level before.
#pragma once
#include "common/memory.cuh"
#include "common/warp.cuh"
#include "tuning/bfs.cuh"

namespace bg {
/// Writes the parents of all vertices. Rows of `in_indices` ascend, so the first hit is the smallest. All threads of the grid call it.
BG_DEVICE void smallest_parents(const u32* in_offsets, const u32* in_indices, const i32* levels, u32* parents, u32 source, u32 nodes) {
    const u32 threads = gridDim.x * blockDim.x, l = lane();
    for (u32 base = (blockIdx.x * blockDim.x + threadIdx.x) & ~31u; base < nodes; base += threads) {
        u32 v = base + l, at = 0, end = 0, parent = FULL;
        i32 level = v < nodes ? load_l2(levels + v) : -1;
        // The source is somewhere in the rows of its neighbours, which may be long.
        if (level == 0 || level == 1) parent = source;
        if (level > 1) {
            at = load_readonly(in_offsets + v);
            end = load_readonly(in_offsets + v + 1);
            u32 stop = min_of(end, at + PARENT_ALONE);
            while (at < stop && parent == FULL) {
                u32 u[4];
                i32 found[4];
#pragma unroll
                for (u32 j = 0; j < 4; j++) u[j] = load_readonly(in_indices + min_of(at + j, stop - 1));
#pragma unroll
                for (u32 j = 0; j < 4; j++) found[j] = load_l2(levels + u[j]);
#pragma unroll
                for (u32 j = 0; j < 4; j++) {
                    if (found[3 - j] == level - 1) parent = u[3 - j];
                }
                at += 4;
            }
        }
        for (u32 rest = ballot(parent == FULL && at < end); rest; rest &= rest - 1) {
            u32 from = __ffs(rest) - 1, x = shuffle(at, from), stop = shuffle(end, from);
            i32 wanted = shuffle(level, from) - 1;
            for (bool found = false; x < stop && !found; x += PARENT_AHEAD * WARP) {
                u32 u[PARENT_AHEAD];
                i32 other[PARENT_AHEAD];
#pragma unroll
                for (u32 j = 0; j < PARENT_AHEAD; j++) u[j] = load_readonly(in_indices + min_of(x + j * WARP + l, stop - 1));
#pragma unroll
                for (u32 j = 0; j < PARENT_AHEAD; j++) other[j] = load_l2(levels + u[j]);
#pragma unroll
                for (u32 j = 0; j < PARENT_AHEAD; j++) {
                    u32 hits = ballot(other[j] == wanted);
                    if (hits && !found) {
                        u32 first = shuffle(u[j], __ffs(hits) - 1);
                        if (l == from) parent = first;
                        found = true;
                    }
                }
            }
        }
        if (v < nodes) parents[v] = parent;
    }
}
}  // namespace bg
