// The backward pass of attention in general. What belongs to an entry and head is formed first, by a group of lanes each: the softmax from
// what the forward pass left, and its gradient. The gradients of rows and columns are products with these as the entries' values, most of
// them those of tensor/spmm_general.cuh; here is what is particular to a score.
#pragma once
#include "tensor/attention_score.cuh"
#include "tensor/spmm_general.cuh"

namespace bg {
struct AttentionEntriesParams {
    AttentionScore score;
    AttentionDropout dropout;
    TensorView values;
    TensorView dy;
    TensorView lse;        // of rows and heads, of the real type
    const u32* rows;       // of every entry
    const u32* indices;
    void* softmax;         // of entries and heads, of the real type, as are the next two
    void* weights;         // the softmax after dropout; may be the softmax
    void* gradients;       // in: of the softmax; where scores are differentiated: of the scores
    void* products;        // of a cosine: the gradient of the score times the cosine
    u64 entries;
    u32 heads;
    u32 width;             // columns of a head of the values
    u32 group;             // lanes of an entry and head
    u32 dy_packed;         // whether dy is of the values' type and aligned as they are
};

/// The sum over a lane's columns of dy(i) . values(j).
template <class T, class R, u32 N> BG_DEVICE R message_gradient(const AttentionEntriesParams& p, u32 row, u32 column, const EntryTask& task) {
    const T* values = (const T*)p.values.data + column * p.values.stride + task.head * p.width;
    R sum = 0;
    for (u32 c = task.sub * N; c < p.width; c += p.group * N) {
        const Pack<T, N> x = load_pack<T, N>(values + c);
        if (p.dy_packed) {
            const Pack<T, N> y = load_pack<T, N>((const T*)p.dy.data + row * p.dy.stride + task.head * p.width + c);
#pragma unroll
            for (u32 i = 0; i < N; i++) sum += (R)widen(x.e[i]) * (R)widen(y.e[i]);
        } else {
#pragma unroll
            for (u32 i = 0; i < N; i++) sum += (R)widen(x.e[i]) * load_as<R>(p.dy, row, task.head * p.width + c + i);
        }
    }
    return sum;
}

/// The softmax of every entry and head, and its gradient.
template <class T, class R, u32 N, bool SUMMED> BG_DEVICE void attention_entries(const AttentionEntriesParams& p) {
    const EntryTask task(p.entries, p.heads, p.group);
    u32 row = 0, column = 0;
    R score = 0, gradient = 0;
    ScoreSums<R> sums;
    if (task.valid) {
        row = load_readonly(p.rows + task.entry);
        column = load_readonly(p.indices + task.entry);
        gradient = message_gradient<T, R, N>(p, row, column, task);
        if constexpr (SUMMED) sums.template take<T, N>(p.score, row, column, task.head, task.sub, p.group);
        else score = plain_score<R>(p.score, row, column, task.entry, task.head);
    }
    warp_sync();
    gradient = group_sum(gradient, p.group);
    if constexpr (SUMMED) {
        sums.meet(p.score, p.group);
        score = sums.score(p.score);
    }
    if (!task.valid || task.sub != 0) return;
    const u64 at = task.entry * p.heads + task.head;
    const R softmax = exponential(score - load_as<R>(p.lse, row, task.head)), kept = p.dropout.kept<R>(task.entry, task.head);
    ((R*)p.softmax)[at] = softmax;
    ((R*)p.weights)[at] = softmax * kept;
    ((R*)p.gradients)[at] = gradient * kept;
}

/// From the gradient of the score to that of what is under LeakyReLU.
template <class R> BG_DEVICE void additive_gradient(const AttentionEntriesParams& p) {
    const EntryTask task(p.entries, p.heads, 1);
    if (!task.valid) return;
    const u32 row = load_readonly(p.rows + task.entry), column = load_readonly(p.indices + task.entry);
    const R value = plain_score<R>(p.score, row, column, task.entry, task.head);
    ((R*)p.gradients)[task.entry * p.heads + task.head] *= derivative(LEAKY_RELU, (R)p.score.number, value);
}

/// From the gradient ds of a cosine's score: beta ds / (|query| |key|), and ds times the cosine.
template <class T, class R, u32 N> BG_DEVICE void cosine_gradient(const AttentionEntriesParams& p) {
    const EntryTask task(p.entries, p.heads, p.group);
    ScoreSums<R> sums;
    if (task.valid) {
        const u32 row = load_readonly(p.rows + task.entry), column = load_readonly(p.indices + task.entry);
        sums.template take<T, N>(p.score, row, column, task.head, task.sub, p.group);
    }
    warp_sync();
    sums.meet(p.score, p.group);
    if (!task.valid || task.sub != 0) return;
    const u64 at = task.entry * p.heads + task.head;
    const R ds = ((const R*)p.gradients)[at], beta = load_readonly((const R*)p.score.vector);
    ((R*)p.products)[at] = ds * sums.cosine();
    ((R*)p.gradients)[at] = beta * ds / norm_of(sums.own) / norm_of(sums.other);
}

struct CosineRowsParams {
    TensorView x;         // the queries, or the keys
    TensorView products;  // the sums of the gradients times the cosines, of rows and heads
    TensorView sums;      // of the other side's vectors, weighted; of the gradient's shape
    TensorOut dx;
    const void* beta;
    u64 rows;
    u32 heads;
    u32 width;            // columns of a head
    u32 group, reserved;
};
/// The gradient of a side of cosines: the weighted sum of the others, less what changes the norm alone. Below the floor the norm is a constant.
template <class R> BG_DEVICE void cosine_rows(const CosineRowsParams& p) {
    const EntryTask task(p.rows, p.heads, p.group);
    R squares = 0;
    if (task.valid) {
        for (u32 c = task.sub; c < p.width; c += p.group) {
            const R x = load_as<R>(p.x, task.entry, task.head * p.width + c);
            squares += x * x;
        }
    }
    warp_sync();
    squares = group_sum(squares, p.group);
    if (!task.valid) return;
    const R norm = norm_of(squares), beta = load_readonly((const R*)p.beta);
    const R factor = norm > (R)NORM_FLOOR ? beta * load_as<R>(p.products, task.entry, task.head) / norm / norm : (R)0;
    for (u32 c = task.sub; c < p.width; c += p.group) {
        const u32 column = task.head * p.width + c;
        store_as(p.dx, task.entry, column, load_as<R>(p.sums, task.entry, column) - factor * load_as<R>(p.x, task.entry, column));
    }
}

struct LeakyRowsParams {
    SpmmParams sums;     // x: the features of the entries' other side; edges: the gradients of the scores
    TensorView own;      // the features of this side
    const void* vector;  // null: the sums are of the values under the vector, not of their gradients
    f64 slope;
};
/// GATv2: the sums over the entries of rows of ds vector leaky'(own + other), or of ds leaky(own + other).
template <class T, class R, u32 N> BG_DEVICE void leaky_rows(const LeakyRowsParams& params) {
    const SpmmParams& p = params.sums;
    constexpr u32 PACKS = LANE_COLUMNS / N, AHEAD = PACKS > 2 ? 2 : 4;
    const RowTask<N> task(p.work);
    const LaneColumns<N>& columns = task.columns;
    R own[LANE_COLUMNS];
    u32 head[PACKS];
#pragma unroll
    for (u32 j = 0; j < PACKS; j++) {
        head[j] = p.head_width ? columns.column(j * N) / p.head_width : 0;
        if (!task.valid || !columns.active(j * N)) continue;
        const T* row = (const T*)params.own.data + task.row * params.own.stride;
        const Pack<T, N> pack = load_pack<T, N>(row + columns.column(j * N));
#pragma unroll
        for (u32 i = 0; i < N; i++) own[j * N + i] = (R)widen(pack.e[i]);
    }
    SumCell<R> cells[LANE_COLUMNS];
    for (u64 k = task.begin + task.part; k < task.end; k += AHEAD * p.work.split) {
        u64 position[AHEAD];
        Pack<T, N> x[AHEAD][PACKS];
#pragma unroll
        for (u32 a = 0; a < AHEAD; a++) {
            const u64 at = min_of(k + a * p.work.split, task.end - 1);
            position[a] = position_of(p.work, at);
            const T* row = (const T*)p.x.data + load_readonly(p.work.indices + at) * p.x.stride;
#pragma unroll
            for (u32 j = 0; j < PACKS; j++) {
                if (j < columns.packs && columns.active(j * N)) x[a][j] = load_pack<T, N>(row + columns.column(j * N));
            }
        }
#pragma unroll
        for (u32 a = 0; a < AHEAD; a++) {
            if (k + a * p.work.split >= task.end) continue;
#pragma unroll
            for (u32 j = 0; j < PACKS; j++) {
                if (j >= columns.packs || !columns.active(j * N)) continue;
                const R ds = load_readonly((const R*)p.edges.data + position[a] * p.edges.stride + head[j]);
#pragma unroll
                for (u32 i = 0; i < N; i++) {
                    const R value = activate(LEAKY_RELU, (R)params.slope, own[j * N + i] + (R)widen(x[a][j].e[i]));
                    const R factor = params.vector ? derivative(LEAKY_RELU, (R)params.slope, value) : value;
                    cells[j * N + i].value += ds * factor;
                }
            }
        }
    }
    warp_sync();
    for (u32 d = task.high(p.work) / 2; d >= task.low(p.work); d /= 2) {
#pragma unroll
        for (u32 i = 0; i < LANE_COLUMNS; i++) cells[i].merge(cells[i].of_lane(d), false);
    }
    if (!task.valid || task.part != 0) return;
    if (params.vector) {
#pragma unroll
        for (u32 i = 0; i < LANE_COLUMNS; i++) {
            if (columns.active(i)) cells[i].value *= real_at<R>(params.vector, columns.column(i));
        }
    }
    store_cells(p, task, cells);
}
}  // namespace bg

#define BG_ATTENTION_ENTRIES(T, R, N, plain, summed, cosine, leaky)                                       \
    BG_KERNEL(plain, bg::AttentionEntriesParams, 256, 2) { bg::attention_entries<T, R, N, false>(p); }    \
    BG_KERNEL(summed, bg::AttentionEntriesParams, 256, 2) { bg::attention_entries<T, R, N, true>(p); }    \
    BG_KERNEL(cosine, bg::AttentionEntriesParams, 256, 2) { bg::cosine_gradient<T, R, N>(p); }            \
    BG_KERNEL(leaky, bg::LeakyRowsParams, 256, 2) { bg::leaky_rows<T, R, N>(p); }
