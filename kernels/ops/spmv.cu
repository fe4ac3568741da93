// Matrix times dense vector over (plus, times), or (plus, second) for a pattern: one launch each.
//
// rows       any matrix, rows by class or in natural order (ops/row_bins.cuh)
// diagonals  meshes and blocks: slices of 32 rows as {column - row, which rows}, so that 32 rows share an index and neighbouring lanes
//            read neighbouring x; the values of an entry, if any, are 32 in a row, zero where there is none
//
// Sums have a fixed order: results repeat bit for bit.
#include "ops/row_bins.cuh"
#include "tuning/spmv.cuh"

namespace bg {
struct SpmvRowsParams {
    RowBins bins;
    const void* values;  // in the order of the indices; null: a pattern
    const void* x;
    void* y;
    void* pieces;        // per chunk of a cut row
};

template <class T, bool VALUES> BG_DEVICE void spmv_rows(const SpmvRowsParams& p) {
    const T *x = (const T*)p.x, *values = (const T*)p.values;
    T* y = (T*)p.y;
    const u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    auto gather = [&](u32 column, u32 arc) {
        T v = load_readonly(x + column);
        if constexpr (VALUES) v *= load_readonly(values + arc);
        return v;
    };
    auto finish = [&](u32 row, T sum) { y[row] = sum; };
    sweep_rows<T>(p.bins, thread / WARP, threads / WARP, (T*)p.pieces, gather, finish);
    if (p.bins.rows)
        for (u32 i = p.bins.ends[3] + thread; i < p.bins.row_count; i += threads) y[p.bins.rows[i]] = T(0);
}
BG_KERNEL(spmv_rows_pattern_f32, SpmvRowsParams, 256, 4) { spmv_rows<f32, false>(p); }
BG_KERNEL(spmv_rows_values_f32, SpmvRowsParams, 256, 4) { spmv_rows<f32, true>(p); }
BG_KERNEL(spmv_rows_pattern_f64, SpmvRowsParams, 256, 4) { spmv_rows<f64, false>(p); }
BG_KERNEL(spmv_rows_values_f64, SpmvRowsParams, 256, 4) { spmv_rows<f64, true>(p); }

/// Columns by how often they are named, so that the entries of x that are read most lie together.
struct SpmvColumnsParams {
    const u32* indices;
    u32* counts;          // by column; then keys, rising with falling counts
    u32* columns;         // numbers, to be sorted with the keys
    u32* most;            // the largest count
    const u32* order;     // old column of each new one
    const f32* x;
    f32* ordered;
    u32 entries;
    u32 count;            // columns
};
BG_KERNEL(spmv_columns_count, SpmvColumnsParams, 256, 4) {
    for (u32 e = blockIdx.x * blockDim.x + threadIdx.x; e < p.entries; e += gridDim.x * blockDim.x) atomicAdd(p.counts + p.indices[e], 1u);
}
BG_KERNEL(spmv_columns_most, SpmvColumnsParams, 256, 4) {
    u32 most = 0;
    for (u32 c = blockIdx.x * blockDim.x + threadIdx.x; c < p.count; c += gridDim.x * blockDim.x) most = max_of(most, p.counts[c]);
    __syncwarp();
    most = warp_max(most);
    if (lane() == 0) atomicMax(p.most, most);
}
BG_KERNEL(spmv_columns_keys, SpmvColumnsParams, 256, 4) {
    for (u32 c = blockIdx.x * blockDim.x + threadIdx.x; c < p.count; c += gridDim.x * blockDim.x) {
        p.counts[c] = *p.most - p.counts[c];
        p.columns[c] = c;
    }
}
BG_KERNEL(spmv_columns_order, SpmvColumnsParams, 256, 4) {
    for (u32 c = blockIdx.x * blockDim.x + threadIdx.x; c < p.count; c += gridDim.x * blockDim.x) p.ordered[c] = load_readonly(p.x + load_readonly(p.order + c));
}

/// A diagonal of a slice: its column less its row, and its rows.
struct SpmvDiagonalsParams {
    const u32* offsets;    // of the rows; only where the layout is built
    const u32* indices;
    const f32* values;     // likewise, null for a pattern
    u32* starts;           // where each slice begins; first its number of entries
    uint2* diagonals;
    f32* slots;            // 32 for each diagonal; null for a pattern
    const f32* x;
    f32* y;
    u32 rows;
    u32 slices;
};

/// Walks the diagonals of a slice in ascending order; a lane a row, whose columns ascend. `visit(delta, rows, first arc)`.
template <class Visit> BG_DEVICE void walk_diagonals(const SpmvDiagonalsParams& p, u32 slice, Visit visit) {
    u32 row = slice * WARP + lane(), at = 0, end = 0;
    if (row < p.rows) {
        at = p.offsets[row];
        end = p.offsets[row + 1];
    }
    // Differences are compared as unsigned numbers: 2^31 is added, and columns and rows are below that.
    const u32 none = 0xffffffffu, bias = 0x80000000u - row;
    u32 next = at < end ? load_readonly(p.indices + at) + bias : none;
    for (;;) {
        u32 smallest = warp_min(next);
        if (smallest == none) break;
        bool own = next == smallest;
        visit(smallest - 0x80000000u, ballot(own), own, at);
        if (own) {
            at++;
            next = at < end ? load_readonly(p.indices + at) + bias : none;
        }
    }
}

BG_KERNEL(spmv_diagonals_count, SpmvDiagonalsParams, 256, 4) {
    u32 slice = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP, count = 0;
    if (slice >= p.slices) return;
    walk_diagonals(p, slice, [&](u32, u32, bool, u32) { count++; });
    if (lane() == 0) p.starts[slice] = count;
}
BG_KERNEL(spmv_diagonals_fill, SpmvDiagonalsParams, 256, 4) {
    u32 slice = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    if (slice >= p.slices) return;
    u64 to = p.starts[slice];
    walk_diagonals(p, slice, [&](u32 delta, u32 rows, bool own, u32 arc) {
        if (lane() == 0) p.diagonals[to] = make_uint2(delta, rows);
        if (p.slots) p.slots[to * WARP + lane()] = own ? p.values[arc] : 0.0f;
        to++;
    });
}

/// A warp a slice.
template <bool VALUES> BG_DEVICE void spmv_diagonals(const SpmvDiagonalsParams& p) {
    const u32 slice = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    if (slice >= p.slices) return;
    const u32 row = slice * WARP + lane(), from = load_readonly(p.starts + slice), to = load_readonly(p.starts + slice + 1);
    auto term = [&](uint2 d, u32 k) {
        f32 v = 0;
        if (d.y >> lane() & 1u) {
            v = load_readonly(p.x + (row + d.x));
            if constexpr (VALUES) v *= load_stream(p.slots + ((u64)k * WARP + lane()));
        }
        return v;
    };
    f32 s0 = 0, s1 = 0;
    u32 k = from;
    for (; k + 4 <= to; k += 4) {
        uint2 a = load_readonly(p.diagonals + k), b = load_readonly(p.diagonals + k + 1);
        uint2 c = load_readonly(p.diagonals + k + 2), d = load_readonly(p.diagonals + k + 3);
        f32 va = term(a, k), vb = term(b, k + 1), vc = term(c, k + 2), vd = term(d, k + 3);
        s0 += va + vb;
        s1 += vc + vd;
    }
    for (; k < to; k++) s0 += term(load_readonly(p.diagonals + k), k);
    if (row < p.rows) p.y[row] = s0 + s1;
}
BG_KERNEL(spmv_diagonals_pattern, SpmvDiagonalsParams, 256, 6) { spmv_diagonals<false>(p); }
BG_KERNEL(spmv_diagonals_values, SpmvDiagonalsParams, 256, 6) { spmv_diagonals<true>(p); }

/// Few diagonals: a warp takes four slices, so that there are loads enough in flight; a lane fetches a diagonal, all get it by shuffles.
BG_KERNEL(spmv_diagonals_few, SpmvDiagonalsParams, 256, 4) {
    constexpr u32 SLICES = 4, AHEAD = 5;
    const u32 first = (blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP) * SLICES;
    if (first >= p.slices) return;
    u32 bound = load_readonly(p.starts + min_of(first + min_of(lane(), SLICES), p.slices)), begin[SLICES], most = 0;
    f32 sums[SLICES];
#pragma unroll
    for (u32 m = 0; m < SLICES; m++) {
        begin[m] = shuffle(bound, m);
        most = max_of(most, shuffle(bound, m + 1) - begin[m]);
        sums[m] = 0;
    }
    for (u32 chunk = 0; chunk < most; chunk += WARP) {
        uint2 own[SLICES];
#pragma unroll
        for (u32 m = 0; m < SLICES; m++) {
            u32 end = shuffle(bound, m + 1), k = begin[m] + chunk + lane();
            own[m] = k < end ? load_readonly(p.diagonals + k) : make_uint2(0, 0);
        }
        const u32 count = min_of(most - chunk, WARP);
        for (u32 k = 0; k < count; k += AHEAD) {
            f32 v[SLICES * AHEAD];
#pragma unroll
            for (u32 m = 0; m < SLICES; m++)
#pragma unroll
                for (u32 j = 0; j < AHEAD; j++) {
                    u32 source = (k + j) & 31u, delta = shuffle(own[m].x, source), rows = shuffle(own[m].y, source);
                    v[m * AHEAD + j] = 0;
                    if (k + j < count && (rows >> lane() & 1u)) v[m * AHEAD + j] = load_readonly(p.x + ((first + m) * WARP + lane() + delta));
                }
#pragma unroll
            for (u32 m = 0; m < SLICES; m++)
#pragma unroll
                for (u32 j = 0; j < AHEAD; j++) sums[m] += v[m * AHEAD + j];
        }
    }
#pragma unroll
    for (u32 m = 0; m < SLICES; m++) {
        u32 row = (first + m) * WARP + lane();
        if (row < p.rows) p.y[row] = sums[m];
    }
}
}  // namespace bg
