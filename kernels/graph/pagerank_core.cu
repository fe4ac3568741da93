// PageRank of large skewed graphs, f32: the vertices of largest degree are a core, whose arcs among each other are tiles as in
// pagerank_tiles.cuh, several to a block, one sweep each; all other arcs are rows by class with positions for columns, gathered
// through the second-level cache. Some warps of a block sweep while the others gather; then all gather.
//
// Two barriers of the grid an iteration: before owners add up the sums of their rows, and before shares are read. Needs even
// teleport, and dangling vertices without arcs or dropped ones. Results repeat bit for bit.
#include "graph/pagerank_looks.cuh"
#include "graph/pagerank_tiles.cuh"
#include "ops/row_bins.cuh"

namespace bg {
struct CoreRankParams {
    GridState* state;
    HostLink link;
    RankResult* result;
    const RankTile* tiles;   // `sweeps` of a block
    const u32* data;
    const uint2* folds;
    RowBins cold;            // rows and columns are positions
    f32* pieces;
    const f32* inverse;      // by position
    const u32* vertex;       // by position
    const u32* isolated;     // vertices without a position
    f32* shares[2];          // by position
    f32* partials;           // per group, receiving and sending column
    f32* cold_sums;          // by position, of the core; zero where a row has no such arcs
    f32* scores;
    f64 damping;
    f64 tolerance;
    u32 max_iterations;      // at least 1
    u32 vertices;
    u32 lost;                // vertices without arcs, if their scores are spread
    u32 isolated_count;
    u32 columns, groups, sweeps, part;
    u32 core;                // positions of the core
    u32 positions;
    u32 x_room, sum_room;
    u32 cold_warps;          // warps of a block that do not sweep
    u32 reserved;
};
/// Bytes of shared memory before x.
constexpr u32 CORE_HEADER = 384;

BG_KERNEL(pagerank_core, CoreRankParams, 1024, 1) {
    u8* memory = shared_memory();
    Grid grid(p.state, p.link, memory);
    u32* next_task = (u32*)(memory + 16);
    u32* part_word = next_task + 1;
    const BlockTotal changes{(u64*)(memory + 32)};
    f32* x = (f32*)(memory + CORE_HEADER);
    f32* sums = x + p.x_room + 32;
    const u32 C = p.columns, group = blockIdx.x / C, column = blockIdx.x - group * C, part = p.part;
    const u32 own_from = (column * p.groups + group) * part, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const u32 sweepers = warps - p.cold_warps, sweeper_threads = sweepers * WARP, rows = C * part;
    const u32 tasks = listed_tasks(p.cold);
    const f32 d = (f32)p.damping, even = 1.0f / (f32)p.vertices;
    const bool watch = p.tolerance > 0.0 || p.max_iterations == 1;
    const f64 isolated = (f64)p.lost / p.vertices;
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    f64 mass = 1.0 - p.damping + p.damping * isolated, mass_before = 1.0;
    if (threadIdx.x < 32) x[p.x_room + threadIdx.x] = 0;
    if (threadIdx.x == 0) *next_task = *part_word = 0;
    ResidualLooks residuals(p.tolerance, p.max_iterations);
    if (thread == 0) p.result->residual = 0;
    __syncthreads();
    PartBarrier together(part_word, sweepers);

    for (u32 it = 0;; it++) {
        const bool last = it + 1 == p.max_iterations, measure = residuals.due(it);
        const f32 base = (f32)mass * even, unit = it ? 1.0f : even, scale = d * unit;
        const f32* now = it ? p.shares[(it - 1) & 1] : p.inverse;
        f32* next = p.shares[it & 1];
        f32 change = 0;
        auto settle = [&](u32 position, f32 y) {
            // Zero where there is no vertex.
            const f32 weight = magnitude(load_readonly(p.inverse + position)), share = weight * y;
            if (measure && weight > 0) change += change_of(share, unit * magnitude(load_l2(now + position)), weight);
            if (!last) next[position] = share;
            else if (weight > 0) p.scores[load_readonly(p.vertex + position)] = y;
        };

        if (warp < sweepers) {
            // Folding comes at the start of the next sweep, while no thread adds.
            auto fold = [&](const RankTile& tile) {
                for (u32 i = threadIdx.x; i < tile.folds; i += sweeper_threads) {
                    uint2 f = load_readonly(p.folds + tile.folds_at + i);
                    f32 sum = 0;
                    for (u32 k = 0; k < f.y >> 16; k++) {
                        f32* piece = sums + rows + 1 + (f.y & 0xffffu) + k;
                        sum += *piece;
                        *piece = 0;
                    }
                    sums[f.x] += sum;
                }
            };
            for (u32 i = threadIdx.x; i < p.sum_room; i += sweeper_threads) sums[i] = 0;
            for (u32 sweep = 0; sweep < p.sweeps; sweep++) {
                const RankTile tile = p.tiles[blockIdx.x * p.sweeps + sweep];
                if (sweep) fold(p.tiles[blockIdx.x * p.sweeps + sweep - 1]);
                const float4* from = (const float4*)(now + tile.x_from);
                for (u32 i = threadIdx.x; i < tile.x_count / 4; i += 4 * sweeper_threads) {
                    float4 v[4];
#pragma unroll
                    for (u32 k = 0; k < 4; k++) v[k] = load_l2(from + min_of(i + k * sweeper_threads, tile.x_count / 4 - 1));
#pragma unroll
                    for (u32 k = 0; k < 4; k++) {
                        u32 j = i + k * sweeper_threads;
                        if (j < tile.x_count / 4) ((float4*)x)[j] = make_float4(v[k].x * scale, v[k].y * scale, v[k].z * scale, v[k].w * scale);
                    }
                }
                together.wait();
                sweep_slices_far(p.data + (u64)tile.data_at * 4, tile, x, sums, rows, warp, sweepers);
                together.wait();
            }
            fold(p.tiles[blockIdx.x * p.sweeps + p.sweeps - 1]);
            together.wait();
            f32* partials = p.partials + (u64)group * C * C * part;
            for (u32 i = threadIdx.x; i < rows / 4; i += sweeper_threads) {
                u32 to = i / (part / 4), k = i - to * (part / 4);
                if (to != column) ((float4*)(partials + ((u64)to * C + column) * part))[k] = ((const float4*)sums)[i];
            }
        }
        {
            auto gather = [&](u32 position, u32) { return load_l2(now + position); };
            auto finish = [&](u32 position, f32 sum) {
                if (position < p.core) p.cold_sums[position] = scale * sum;
                else settle(position, base + scale * sum);
            };
            for (;;) {
                u32 turn = 0;
                if (lane() == 0) turn = atomicAdd(next_task, 1u);
                u32 task = shuffle(turn, 0) * gridDim.x + blockIdx.x;
                if (task >= tasks) break;
                listed_task<f32>(p.cold, task, p.pieces, gather, finish);
            }
        }
        if (grid.meet().stop) return;

        if (threadIdx.x == 0) *next_task = 0;
        const f32* inbox = p.partials + ((u64)group * C + column) * C * part;
        for (u32 i = threadIdx.x; i < part; i += blockDim.x) {
            f32 y = base + sums[column * part + i] + load_l2(p.cold_sums + own_from + i);
            for (u32 k = 0; k + 1 < C; k++) y += load_l2(inbox + (u64)(k + (k >= column)) * part + i);
            settle(own_from + i, y);
        }
        if (measure) changes.tell(change);
        // Vertices without a position move together with the mass.
        auto changed = [&] {
            const u64 sum = changes.sum();
            return thread == 0 ? sum + to_fixed(magnitude(mass - mass_before) * p.isolated_count / p.vertices) : sum;
        };
        if (last && !watch) {
            __syncthreads();
            if (threadIdx.x < WARP) {
                const u64 sum = changed();
                if (lane() == 0) atomicAdd(&p.result->residual, sum);
            }
        }
        bool done = last;
        if (watch || !last) {
            const Meeting met = grid.meet([&] {
                if (!measure) return;
                const u64 sum = changed();
                if (lane() == 0) grid.add_bc(sum);
            });
            if (met.stop) return;
            if (measure) {
                const f64 residual = from_fixed(met.bc());
                done = last || residual < p.tolerance;
                if (done && thread == 0) p.result->residual = met.bc();
                residuals.saw(it, residual);
            }
            grid.report(it + 1);
        }
        if (done) {
            if (!last) {
                for (u32 i = thread; i < p.positions; i += threads) {
                    const f32 weight = magnitude(load_readonly(p.inverse + i));
                    if (weight > 0) p.scores[load_readonly(p.vertex + i)] = load_l2(next + i) / weight;
                }
            }
            for (u32 i = thread; i < p.isolated_count; i += threads) p.scores[p.isolated[i]] = base;
            if (thread == 0) p.result->iterations = it + 1;
            return;
        }
        mass_before = mass;
        mass = 1.0 - p.damping + p.damping * isolated * mass;
    }
}
}  // namespace bg
