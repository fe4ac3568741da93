// PageRank, the general form: one cooperative launch, every row pulls over its incoming arcs, one barrier an iteration.
// Any graph, any numbering, f32 or f64, all of the config. Results repeat bit for bit.
#include "graph/pagerank.cuh"
#include "ops/row_bins.cuh"

namespace bg {
/// Per vertex: 1 / outdegree, or 0 for a dangling one.
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
        if (p.inverse32) p.inverse32[v] = d ? 1.0f / (f32)d : 0.0f;
        if (p.inverse64) p.inverse64[v] = d ? 1.0 / (f64)d : 0.0;
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
    u32 dangling;       // vertices nobody's arcs leave, isolated ones included
    u32 sources_end;    // in bins.rows: where those without incoming but with outgoing arcs end; then come the isolated
    u32 spread;         // whether dangling scores are spread
};

/// The teleport probability of a vertex.
template <class T> BG_DEVICE T teleport_of(const RankParams<T>& p, u32 v) { return p.teleport ? p.teleport[v] : T(1) / T(p.bins.row_count); }

template <class T> BG_DEVICE void pagerank(const RankParams<T>& p) {
    f64* scratch = (f64*)shared_memory();
    Grid grid(p.state, p.link, scratch + 34);
    RankSums sums(p.state);
    const u32 n = p.bins.row_count, threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    // Warps of all blocks take turns, so that the heavy tasks at the front are spread over the device.
    const u32 warps = threads / WARP, warp = threadIdx.x / WARP * gridDim.x + blockIdx.x;
    const u32 isolated_from = p.bins.rows ? p.sources_end : n;
    const bool watch = p.tolerance > 0.0 || p.max_iterations == 1, counts_lost = p.spread && p.dangling > n - isolated_from;
    const T d = (T)p.damping, even = T(1) / T(n);
    if (thread == 0) p.result->residual = 0;

    // With even teleport the first shares are a multiple of the inverse degrees: nothing to set up.
    f64 isolated = (f64)(n - isolated_from) / n, lost = p.spread ? (f64)p.dangling / n : 0.0;
    const T* now = p.inverse;
    T scale = d * even;
    if (p.teleport) {
        f64 dead = 0, unnamed = 0;
        for (u32 v = thread; v < n; v += threads) {
            T t = p.teleport[v], inverse = p.inverse[v];
            p.shares[1][v] = d * inverse * t;
            if (inverse == T(0)) unnamed += t;
        }
        for (u32 i = isolated_from + thread; i < n; i += threads) dead += p.teleport[p.bins.rows[i]];
        dead = block_sum(dead, scratch);
        unnamed = block_sum(unnamed, scratch);
        if (threadIdx.x == 0) {
            if (dead > 0) atomicAdd(sums.residual(2), to_fixed(dead));
            if (unnamed > 0) atomicAdd(sums.lost(2), to_fixed(unnamed));
        }
        if (grid.meet().stop) return;
        isolated = from_fixed(load_volatile(sums.residual(2)));
        lost = p.spread ? from_fixed(load_volatile(sums.lost(2))) : 0.0;
        now = p.shares[1];
        scale = T(1);
    }

    f64 mass_before = 1.0;
    for (u32 it = 0;; it++) {
        const bool last = it + 1 == p.max_iterations, measure = watch || last, keep = measure || it + 2 == p.max_iterations;
        const f64 mass = 1.0 - p.damping + p.damping * lost;
        const T m = (T)mass, base = m * even;
        T* next = p.shares[it & 1];
        f64 change = 0, gone = 0;
        auto gather = [&](u32 column, u32) { return now[column]; };
        auto finish = [&](u32 row, T sum) {
            T y = (p.teleport ? m * p.teleport[row] : base) + scale * sum;
            if (keep) {
                if (measure) change += magnitude(y - (it ? p.scores[row] : teleport_of(p, row)));
                p.scores[row] = y;
            }
            T inverse = p.inverse[row];
            next[row] = d * inverse * y;
            if (counts_lost && inverse == T(0)) gone += y;
        };
        sweep_rows<T>(p.bins, warp, warps, p.pieces, gather, finish);
        if (p.bins.rows)
            for (u32 i = p.bins.ends[3] + thread; i < isolated_from; i += threads) finish(p.bins.rows[i], T(0));
        if (measure) {
            change = block_sum(change, scratch);
            // The isolated move together with the mass: their part is added once.
            if (thread == 0) change += isolated * magnitude(mass - mass_before);
        }
        if (counts_lost) gone = block_sum(gone, scratch);
        mass_before = mass;
        bool done = last;
        if (last && !watch) {
            if (threadIdx.x == 0) atomicAdd(&p.result->residual, to_fixed(change));
        } else {
            if (threadIdx.x == 0) {
                if (measure) atomicAdd(sums.residual(it), to_fixed(change));
                if (counts_lost) atomicAdd(sums.lost(it), to_fixed(gone));
            }
            if (grid.meet().stop) return;
            if (counts_lost) lost = from_fixed(load_volatile(sums.lost(it))) + isolated * mass;
            else if (p.spread) lost = isolated * mass;
            if (measure) {
                u64 residual = load_volatile(sums.residual(it));
                done = last || from_fixed(residual) < p.tolerance;
                if (done && thread == 0) p.result->residual = residual;
            }
            if (thread == 0) *sums.residual(it + 2) = *sums.lost(it + 2) = 0;
            grid.report(it + 1);
        }
        if (done) {
            if (thread == 0) p.result->iterations = it + 1;
            for (u32 i = isolated_from + thread; i < n; i += threads) {
                u32 v = p.bins.rows[i];
                p.scores[v] = p.teleport ? m * p.teleport[v] : base;
            }
            return;
        }
        now = next;
        scale = T(1);
    }
}

BG_KERNEL(pagerank_f32, RankParams<f32>, 768, 2) { pagerank(p); }
BG_KERNEL(pagerank_f64, RankParams<f64>, 512, 2) { pagerank(p); }
}  // namespace bg
