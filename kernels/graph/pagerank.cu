// PageRank, the general form: one cooperative launch, every row pulls over its incoming arcs, one barrier an iteration.
// Any graph, any numbering, f32 or f64, all of the config. Results repeat bit for bit.
#include "graph/pagerank.cuh"
#include "graph/pagerank_looks.cuh"
#include "ops/row_bins.cuh"

namespace bg {
/// Per vertex: 1 / outdegree, or -1 for a dangling one. The magnitude is the weight of its share.
struct InverseParams {
    const u32* offsets;  // of the outgoing arcs
    u32* degrees;        // null: not wanted
    f32* inverse32;      // null: not wanted
    f64* inverse64;
    u32 count;
    u32 reserved;
};

BG_KERNEL(pagerank_inverse, InverseParams, 256, 4) {
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.count; v += gridDim.x * blockDim.x) {
        u32 d = p.offsets[v + 1] - p.offsets[v];
        if (p.degrees) p.degrees[v] = d;
        if (p.inverse32) p.inverse32[v] = d ? 1.0f / (f32)d : -1.0f;
        if (p.inverse64) p.inverse64[v] = d ? 1.0 / (f64)d : -1.0;
    }
}

template <class T> struct RankParams {
    GridState* state;
    HostLink link;
    RankResult* result;
    RowBins bins;
    const T* inverse;
    const T* teleport;  // null: even
    T* shares[2];
    T* scores;
    T* pieces;          // per chunk of a cut row
    f64 damping;
    f64 tolerance;
    u32 max_iterations; // at least 1
    u32 dangling;       // vertices without out-arcs, isolated ones included
    u32 sources_end;    // in bins.rows: where those without incoming but with outgoing arcs end; then come the isolated
    u32 spread;         // whether dangling scores are spread
};

/// Shared memory: parts of two sums over the block, also the scratch of the first ones; then the barrier's.
template <class T> BG_DEVICE void pagerank(const RankParams<T>& p) {
    u64* parts = (u64*)shared_memory();
    f64* scratch = (f64*)parts;
    Grid grid(p.state, p.link, parts + 2 * WARP);
    const BlockTotal changes{parts}, losses{parts + WARP};
    RankSums sums(p.state);
    const u32 n = p.bins.row_count, threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    // Warps of all blocks take turns, so that the heavy tasks at the front are spread over the device.
    const u32 warps = threads / WARP, warp = threadIdx.x / WARP * gridDim.x + blockIdx.x;
    const u32 isolated_from = p.bins.rows ? p.sources_end : n;
    const bool watch = p.tolerance > 0.0 || p.max_iterations == 1, counts_lost = p.spread && p.dangling > n - isolated_from;
    const T d = (T)p.damping, even = T(1) / T(n);
    ResidualLooks residuals(p.tolerance, p.max_iterations);
    if (thread == 0) p.result->residual = 0;

    // With even teleport the first shares are a multiple of the inverse degrees: nothing to set up.
    f64 isolated = (f64)(n - isolated_from) / n, lost = p.spread ? (f64)p.dangling / n : 0.0;
    const T* now = p.inverse;
    T unit = even;
    if (p.teleport) {
        f64 dead = 0, unnamed = 0;
        for (u32 v = thread; v < n; v += threads) {
            T t = p.teleport[v], inverse = p.inverse[v];
            p.shares[1][v] = magnitude(inverse) * t;
            if (inverse < T(0)) unnamed += t;
        }
        for (u32 i = isolated_from + thread; i < n; i += threads) dead += p.teleport[p.bins.rows[i]];
        dead = block_sum(dead, scratch);
        unnamed = block_sum(unnamed, scratch);
        if (threadIdx.x == 0) {
            if (dead > 0) atomicAdd(sums.isolated(), to_fixed(dead));
            if (unnamed > 0) atomicAdd(sums.lost(2), to_fixed(unnamed));
        }
        if (grid.meet().stop) return;
        isolated = from_fixed(load_volatile(sums.isolated()));
        lost = p.spread ? from_fixed(load_volatile(sums.lost(2))) : 0.0;
        now = p.shares[1];
        unit = T(1);
    }

    f64 mass_before = 1.0;
    for (u32 it = 0;; it++) {
        const bool last = it + 1 == p.max_iterations, measure = residuals.due(it);
        const f64 mass = 1.0 - p.damping + p.damping * lost;
        const T m = (T)mass, base = m * even, scale = d * unit;
        T* next = p.shares[it & 1];
        f64 change = 0, gone = 0;
        auto gather = [&](u32 column, u32) { return now[column]; };
        auto finish = [&](u32 row, T sum) {
            const T inverse = p.inverse[row], weight = magnitude(inverse);
            const T y = (p.teleport ? m * p.teleport[row] : base) + scale * sum, share = weight * y;
            if (measure) change += change_of(share, unit * magnitude(now[row]), weight);
            if (last) p.scores[row] = y;
            else next[row] = share;
            if (counts_lost && inverse < T(0)) gone += y;
        };
        sweep_rows<T>(p.bins, warp, warps, p.pieces, gather, finish);
        if (p.bins.rows)
            for (u32 i = p.bins.ends[3] + thread; i < isolated_from; i += threads) finish(p.bins.rows[i], T(0));
        if (measure) changes.tell(change);
        if (counts_lost) losses.tell(gone);
        // The isolated move together with the mass: their part is added once.
        auto changed = [&] { return changes.sum() + (thread == 0 ? to_fixed(isolated * magnitude(mass - mass_before)) : 0); };
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
                if (measure) {
                    const u64 sum = changed();
                    if (lane() == 0) grid.add_bc(sum);
                }
                if (counts_lost) {
                    const u64 sum = losses.sum();
                    if (lane() == 0) atomicAdd(sums.lost(it), sum);
                }
            });
            if (met.stop) return;
            if (counts_lost) lost = from_fixed(load_volatile(sums.lost(it))) + isolated * mass;
            else if (p.spread) lost = isolated * mass;
            if (measure) {
                const f64 residual = from_fixed(met.bc());
                done = last || residual < p.tolerance;
                if (done && thread == 0) p.result->residual = met.bc();
                residuals.saw(it, residual);
            }
            if (thread == 0) *sums.lost(it + 2) = 0;
            grid.report(it + 1);
        }
        if (done) {
            if (thread == 0) p.result->iterations = it + 1;
            if (!last) {
                for (u32 i = thread; i < isolated_from; i += threads) {
                    u32 v = p.bins.rows ? p.bins.rows[i] : i;
                    p.scores[v] = next[v] / magnitude(p.inverse[v]);
                }
            }
            for (u32 i = isolated_from + thread; i < n; i += threads) {
                u32 v = p.bins.rows[i];
                p.scores[v] = p.teleport ? m * p.teleport[v] : base;
            }
            return;
        }
        mass_before = mass;
        now = next;
        unit = T(1);
    }
}

BG_KERNEL(pagerank_f32, RankParams<f32>, 768, 2) { pagerank(p); }
BG_KERNEL(pagerank_f64, RankParams<f64>, 512, 2) { pagerank(p); }
}  // namespace bg
