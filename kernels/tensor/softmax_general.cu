// The softmax of values of entries over each row, head by head, and its backward pass.
//
// What belongs to a row is reduced first, long rows in pieces; then every entry is written by a thread of its own. Values are of types known
// at run time, computed in R.
#include "tensor/rows.cuh"
#include "tensor/sddmm_general.cuh"
#include "tensor/softmax.cuh"

namespace bg {
struct SoftmaxParams {
    RowWork work;        // columns are heads
    LongRows pieces;
    const u32* rows;     // of every entry
    TensorView x;        // scores, or the softmax in the backward pass
    TensorView dx;       // the gradient of the softmax
    TensorOut y;         // by entries
    void* maxima;        // of rows and heads
    void* sums;
    u64 entries;
};

/// The sum of products over some entries.
template <class R> struct DotCell {
    R sum = (R)0;
    BG_DEVICE void merge(const DotCell& other) { sum += other.sum; }
    BG_DEVICE DotCell of_lane(u32 mask) const {
        DotCell other;
        other.sum = shuffle_xor(sum, mask);
        return other;
    }
};

/// Reduces the entries of every row, or of every piece: `take(cell, position, head)`, then `store(row, head, cell)`.
template <class Cell, class F, class G> BG_DEVICE void reduce_entries(const SoftmaxParams& p, const F& take, const G& store) {
    const RowTask<1> task(p.work);
    Cell cells[LANE_COLUMNS];
    for (u64 k = task.begin + task.part; k < task.end; k += p.work.split) {
        const u64 position = position_of(p.work, k);
#pragma unroll
        for (u32 i = 0; i < LANE_COLUMNS; i++) {
            if (i < task.columns.packs && task.columns.active(i)) take(cells[i], position, task.columns.column(i));
        }
    }
    warp_sync();
    for (u32 d = task.high(p.work) / 2; d >= task.low(p.work); d /= 2) {
#pragma unroll
        for (u32 i = 0; i < LANE_COLUMNS; i++) {
            if (i < task.columns.packs) cells[i].merge(cells[i].of_lane(d));
        }
    }
    if (!task.valid || task.part != 0) return;
#pragma unroll
    for (u32 i = 0; i < LANE_COLUMNS; i++) {
        if (!task.columns.active(i)) continue;
        const u32 head = task.columns.column(i);
        if (p.work.pieces) ((Cell*)p.pieces.cells)[task.unit * p.work.columns + head] = cells[i];
        else store(task.row, head, cells[i]);
    }
}
template <class Cell, class G> BG_DEVICE void merge_entries(const SoftmaxParams& p, const G& store) {
    merge_pieces<Cell>(p.pieces, p.work.columns, [](Cell& into, const Cell& from) { into.merge(from); }, store);
}

template <class R> struct SoftmaxRows {
    const SoftmaxParams& p;
    BG_DEVICE void operator()(u32 row, u32 head, const SoftmaxCell<R>& cell) const {
        const u64 at = (u64)row * p.work.columns + head;
        ((R*)p.maxima)[at] = cell.maximum;
        ((R*)p.sums)[at] = cell.sum;
    }
    BG_DEVICE void operator()(u32 row, u32 head, const DotCell<R>& cell) const { ((R*)p.sums)[(u64)row * p.work.columns + head] = cell.sum; }
};

template <class R> BG_DEVICE void edge_softmax_rows(const SoftmaxParams& p) {
    reduce_entries<SoftmaxCell<R>>(p, [&](SoftmaxCell<R>& cell, u64 k, u32 head) { cell.take(load_as<R>(p.x, k, head)); }, SoftmaxRows<R>{p});
}
template <class R> BG_DEVICE void edge_dots_rows(const SoftmaxParams& p) {
    reduce_entries<DotCell<R>>(
        p, [&](DotCell<R>& cell, u64 k, u32 head) { cell.sum += load_as<R>(p.x, k, head) * load_as<R>(p.dx, k, head); }, SoftmaxRows<R>{p});
}

/// exp(score - maximum) / sum.
template <class R> BG_DEVICE void edge_softmax_entries(const SoftmaxParams& p) {
    const EntryTask task(p.entries, p.work.columns, 1);
    if (!task.valid) return;
    const u64 at = (u64)load_readonly(p.rows + task.entry) * p.work.columns + task.head;
    const R x = load_as<R>(p.x, task.entry, task.head) - load_readonly((const R*)p.maxima + at);
    store_as(p.y, task.entry, task.head, exponential(x) / load_readonly((const R*)p.sums + at));
}
/// p (dp - the sum of the row of p dp). The output may be where dp is.
template <class R> BG_DEVICE void edge_softmax_gradient(const SoftmaxParams& p) {
    const EntryTask task(p.entries, p.work.columns, 1);
    if (!task.valid) return;
    const R mean = load_readonly((const R*)p.sums + (u64)load_readonly(p.rows + task.entry) * p.work.columns + task.head);
    const R softmax = load_as<R>(p.x, task.entry, task.head);
    // Not by the read-only path, which what this kernel writes must not take.
    R gradient = 0;
    with_element(p.dx.dtype, [&](auto element) {
        typedef decltype(element) T;
        gradient = (R)widen(((const T*)p.dx.data)[task.entry * p.dx.stride + task.head]);
    });
    store_as(p.y, task.entry, task.head, softmax * (gradient - mean));
}
}  // namespace bg

#define BG_SOFTMAX(R, rows, merge, entries, dots, merge_dots, gradient)                                                               \
    BG_KERNEL(rows, bg::SoftmaxParams, 256, 2) { bg::edge_softmax_rows<R>(p); }                                                       \
    BG_KERNEL(merge, bg::SoftmaxParams, 256, 2) { bg::merge_entries<bg::SoftmaxCell<R>>(p, bg::SoftmaxRows<R>{p}); }                  \
    BG_KERNEL(entries, bg::SoftmaxParams, 256, 2) { bg::edge_softmax_entries<R>(p); }                                                 \
    BG_KERNEL(dots, bg::SoftmaxParams, 256, 2) { bg::edge_dots_rows<R>(p); }                                                          \
    BG_KERNEL(merge_dots, bg::SoftmaxParams, 256, 2) { bg::merge_entries<bg::DotCell<R>>(p, bg::SoftmaxRows<R>{p}); }                 \
    BG_KERNEL(gradient, bg::SoftmaxParams, 256, 2) { bg::edge_softmax_gradient<R>(p); }

BG_SOFTMAX(f32, softmax_rows_f32, softmax_merge_f32, softmax_entries_f32, softmax_dots_f32, softmax_dots_merge_f32, softmax_gradient_f32)
BG_SOFTMAX(f64, softmax_rows_f64, softmax_merge_f64, softmax_entries_f64, softmax_dots_f64, softmax_dots_merge_f64, softmax_gradient_f64)
