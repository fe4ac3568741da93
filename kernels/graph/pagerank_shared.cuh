// PageRank with the operand in shared memory: what its kernels are given.
#pragma once
#include "graph/pagerank_tiles.cuh"

namespace bg {
struct SharedRankParams {
    GridState* state;
    HostLink link;
    RankResult* result;
    const RankTile* tiles;
    const u32* data;
    const f32* inverse;     // by position
    const u32* vertex;      // by position; null: natural
    const u32* isolated;    // vertices without a position
    const u32* readers;     // of a cluster, by position: a bit for every block that has arcs from there
    f32* shares[2];         // by position, tagged
    f32* partials[2];       // of the grid: per group, receiving and sending column, tagged
    f32* scores;
    f64 damping;
    f64 tolerance;
    u32 max_iterations;     // at least 1
    u32 vertices;
    u32 lost;               // vertices without arcs, if their scores are spread
    u32 isolated_count;
    u32 share_rounds[2];    // of the tags
    u32 partial_rounds[2];
    u32 columns, groups, part, halo;
    u32 positions;
    u32 x_room;             // entries of x, then come 32 zeros
    u32 sum_room;           // sums of rows, a multiple of 4
    u32 own_room;           // a multiple of 4
    u32 early;              // windows whose slices hold all rows, none of them inside
    u32 samples;            // threads that wait first; 0: all, each for its first
};

/// Bytes of shared memory before x, where each kernel keeps its flags and sums; of a block or a cluster.
constexpr u32 RANK_HEADER = 640;
constexpr u32 SMALL_HEADER = 768;
}  // namespace bg
