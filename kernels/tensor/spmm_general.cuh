// Sparse matrix times dense features in general: any element type, any edge, sums and choices, heads, both directions, any epilogue.
//
// The form that every combination has; where a graph's shape and a width have a faster one, that is a kernel of its own.
#pragma once
#include "tensor/epilogue.cuh"
#include "tensor/rows.cuh"

namespace bg {
enum SpmmFlag : u32 {
    SPMM_MEAN = 1,      // sums are divided by the number of entries
    SPMM_MINIMUM = 2,   // of choices
    SPMM_OWN = 4,       // every row has one more entry on the diagonal
    SPMM_BY_ENTRY = 8,  // the features of an entry are those at its position, not at its column
    SPMM_DIRECT = 16,   // whole sums are stored as they are: nothing is done to them
};

struct SpmmParams {
    RowWork work;
    TensorView x;
    TensorView edges;         // a value for each position and head; null: 1
    TensorView row_scale;     // of the real type; null: 1
    TensorView column_scale;
    TensorView taken;         // of i32, of the backward pass of a choice: only features whose row chose this row count
    TensorOut y;
    i32* chosen;              // where the columns that were chosen go; may be null
    u64 chosen_stride;
    f64 own;
    LongRows pieces;          // where the results of pieces are
    u32 head_width;           // columns of a head
    u32 batch;                // entries of a batch of discretised sums
    u32 flags, reserved;
    TensorEpilogue epilogue;
};

/// No column.
constexpr u32 NO_COLUMN = 0xffffffffu;

/// A sum over some entries.
template <class S> struct SumCell {
    typedef S Number;
    S value = (S)0;

    BG_DEVICE void take(S weight, S x, u32, bool) { value = add_product(value, weight, x); }
    BG_DEVICE void merge(const SumCell& other, bool) { value = add(value, other.value); }
    BG_DEVICE SumCell of_lane(u32 mask) const {
        SumCell other;
        other.value = shuffle_xor(value, mask);
        return other;
    }
};
/// A choice among some entries: the extreme message, the smallest column among equals; a NaN loses against a number.
template <class S> struct ChoiceCell {
    typedef S Number;
    S value = (S)0;
    u32 column = NO_COLUMN;

    BG_DEVICE void take(S weight, S x, u32 from, bool minimum) { merge(ChoiceCell{product(weight, x), from}, minimum); }
    BG_DEVICE void merge(const ChoiceCell& other, bool minimum) {
        if (other.column == NO_COLUMN) return;
        const bool better = minimum ? other.value < value : other.value > value, nan = value != value, other_nan = other.value != other.value;
        const bool tie = other.value == value || (nan && other_nan);
        if (column == NO_COLUMN || better || (nan && !other_nan) || (tie && other.column < column)) *this = other;
    }
    BG_DEVICE ChoiceCell of_lane(u32 mask) const {
        ChoiceCell other;
        other.value = shuffle_xor(value, mask);
        other.column = shuffle_xor(column, mask);
        return other;
    }
};

/// What a row's sum is multiplied by: its scale, and one over the number of entries for a mean.
template <class R> BG_DEVICE R row_factor(const SpmmParams& p, u64 row) { return scale_of<R>(p.row_scale, row); }
template <class R> BG_DEVICE R row_count(const SpmmParams& p, u64 row) {
    const u64 entries = row_offset(p.work.offsets, p.work.wide, row + 1) - row_offset(p.work.offsets, p.work.wide, row);
    const u64 count = entries + (p.flags & SPMM_OWN ? 1 : 0);
    return (R)(count ? count : 1);
}

/// Stores a row's results: scaled, through the epilogue, rounded once.
template <class Cell, class C, u32 M> BG_DEVICE void store_row(const SpmmParams& p, u64 row, const C& columns, const Cell (&cells)[M]) {
    typedef typename Cell::Number S;
    typedef Real<S> R;
    if constexpr (!same_type<Cell, SumCell<S>>::value) {
        if (p.chosen) {
#pragma unroll
            for (u32 i = 0; i < M; i++) {
                if (columns.active(i)) p.chosen[row * p.chosen_stride + columns.column(i)] = (i32)cells[i].column;
            }
        }
    }
    if constexpr (same_type<S, i32>::value) {
        if (p.flags & SPMM_DIRECT) {
            S x[M];
#pragma unroll
            for (u32 i = 0; i < M; i++) x[i] = cells[i].value;
            return store_columns(p.y, row, columns, x);
        }
    }
    const R factor = row_factor<R>(p, row), count = p.flags & SPMM_MEAN ? row_count<R>(p, row) : (R)1;
    R x[M];
#pragma unroll
    for (u32 i = 0; i < M; i++) x[i] = (R)cells[i].value / count * factor;
    finish(p.epilogue, row, columns, x);
    store_columns(p.y, row, columns, x);
}

/// Stores what a lane has of a row; of a piece it is kept for the merge.
template <class Cell, u32 N> BG_DEVICE void store_cells(const SpmmParams& p, const RowTask<N>& task, const Cell (&cells)[LANE_COLUMNS]) {
    if (!p.work.pieces) return store_row(p, task.row, task.columns, cells);
    Cell* to = (Cell*)p.pieces.cells + task.unit * p.work.columns;
#pragma unroll
    for (u32 i = 0; i < LANE_COLUMNS; i++) {
        if (task.columns.active(i)) to[task.columns.column(i)] = cells[i];
    }
}

/// The weight of an entry for the columns of a head. Its values are of the features' type, or of those of sums and scales.
template <class T, class S> BG_DEVICE S edge_weight(const SpmmParams& p, u64 position, u32 head, S scale) {
    if (!p.edges.data) return scale;
    const u64 at = position * p.edges.stride + head;
    S value;
    if (p.edges.dtype == F32) value = (S)load_entry<f32>(p.edges.data, at);
    else if (p.edges.dtype == F64) value = (S)load_entry<f64>(p.edges.data, at);
    else if (p.edges.dtype == I32) value = (S)load_entry<i32>(p.edges.data, at);
    else value = (S)load_entry<T>(p.edges.data, at);
    return product(scale, value);
}

/// Every row, or every piece of the long ones: the messages of its entries, reduced in `Cell`s. Features come N at a time. With TAKEN the
/// features are the gradients of rows, of which those count that chose this row. Edge values may be of type E.
template <class Cell, class T, class E, u32 N, bool TAKEN> BG_DEVICE void spmm_rows(const SpmmParams& p) {
    typedef typename Cell::Number S;
    constexpr u32 PACKS = LANE_COLUMNS / N, AHEAD = PACKS > 2 ? 2 : 4;
    const RowTask<N> task(p.work);
    const LaneColumns<N>& columns = task.columns;
    const T* features = (const T*)p.x.data;
    const bool minimum = (p.flags & SPMM_MINIMUM) != 0;
    // A pack lies within a head.
    u32 head[PACKS];
#pragma unroll
    for (u32 j = 0; j < PACKS; j++) head[j] = p.head_width ? columns.column(j * N) / p.head_width : 0;
    Cell cells[LANE_COLUMNS];
    for (u64 k = task.begin + task.part; k < task.end; k += AHEAD * p.work.split) {
        // All loads of a turn are issued before the first message waits for one. Past the end the last entry is read again.
        u32 column[AHEAD];
        u64 position[AHEAD];
        bool there[AHEAD];
        Pack<T, N> x[AHEAD][PACKS];
#pragma unroll
        for (u32 a = 0; a < AHEAD; a++) {
            u64 at = k + a * p.work.split;
            there[a] = at < task.end;
            at = there[a] ? at : task.end - 1;
            column[a] = load_readonly(p.work.indices + at);
            position[a] = position_of(p.work, at);
        }
#pragma unroll
        for (u32 a = 0; a < AHEAD; a++) {
            const T* row = features + (p.flags & SPMM_BY_ENTRY ? position[a] : (u64)column[a]) * p.x.stride;
#pragma unroll
            for (u32 j = 0; j < PACKS; j++) {
                if (j < columns.packs && columns.active(j * N)) x[a][j] = load_pack<T, N>(row + columns.column(j * N));
            }
        }
#pragma unroll
        for (u32 a = 0; a < AHEAD; a++) {
            if (!there[a]) continue;
            const S scale = (S)scale_of<Real<S>>(p.column_scale, column[a]);
            S weight = p.head_width ? (S)0 : edge_weight<E>(p, position[a], 0, scale);
#pragma unroll
            for (u32 j = 0; j < PACKS; j++) {
                if (j >= columns.packs || !columns.active(j * N)) continue;
                if (p.head_width) weight = edge_weight<E>(p, position[a], head[j], scale);
#pragma unroll
                for (u32 i = 0; i < N; i++) {
                    if constexpr (TAKEN) {
                        const i32* taken = (const i32*)p.taken.data + (u64)column[a] * p.taken.stride;
                        if (load_readonly(taken + columns.column(j * N + i)) != (i32)task.row) continue;
                    }
                    cells[j * N + i].take(weight, (S)widen(x[a][j].e[i]), column[a], minimum);
                }
            }
        }
    }
    if (p.flags & SPMM_OWN && task.valid && task.last && task.part == 0) {
        const S weight = product((S)p.own, (S)scale_of<Real<S>>(p.column_scale, task.row));
#pragma unroll
        for (u32 j = 0; j < PACKS; j++) {
            if (!columns.active(j * N)) continue;
            const Pack<T, N> x = load_pack<T, N>(features + (u64)task.row * p.x.stride + columns.column(j * N));
#pragma unroll
            for (u32 i = 0; i < N; i++) cells[j * N + i].take(weight, (S)widen(x.e[i]), task.row, minimum);
        }
    }
    warp_sync();
    for (u32 d = task.high(p.work) / 2; d >= task.low(p.work); d /= 2) {
#pragma unroll
        for (u32 i = 0; i < LANE_COLUMNS; i++) cells[i].merge(cells[i].of_lane(d), minimum);
    }
    if (task.valid && task.part == 0) store_cells(p, task, cells);
}

/// The rows that came in pieces.
template <class Cell> BG_DEVICE void spmm_merge(const SpmmParams& p) {
    const bool minimum = (p.flags & SPMM_MINIMUM) != 0;
    merge_pieces<Cell>(
        p.pieces, p.work.columns, [&](Cell& into, const Cell& from) { into.merge(from, minimum); },
        [&](u32 row, u32 column, const Cell& cell) {
            const Cell cells[1] = {cell};
            store_row(p, row, OneColumn{column}, cells);
        });
}

/// Sums in the features' own half type, batch by batch: each batch's sum is multiplied by the row's factor before it is added to the row's
/// total, and every product and sum is rounded. One lane for each column, the entries in their order.
template <class T> BG_DEVICE void spmm_discretised(const SpmmParams& p) {
    const RowTask<1> task(p.work);
    const auto rounded = [](f32 x) { return widen(Narrow<T>::of(x)); };
    const T* features = (const T*)p.x.data;
    if (!task.valid) return;
    const f32 mean = p.flags & SPMM_MEAN ? 1.0f / row_count<f32>(p, task.row) : 1.0f, factor = mean * row_factor<f32>(p, task.row);
    SumCell<f32> totals[LANE_COLUMNS];
    f32 sums[LANE_COLUMNS] = {};
    const u64 entries = task.end - task.begin, messages = entries + (p.flags & SPMM_OWN ? 1 : 0);
    for (u64 k = 0; k < messages; k++) {
        const bool own = k == entries;
        const u32 column = own ? task.row : load_readonly(p.work.indices + task.begin + k);
        const u64 position = own ? 0 : position_of(p.work, task.begin + k);
        const f32 scale = scale_of<f32>(p.column_scale, column);
        const bool full = (k + 1) % p.batch == 0 || k + 1 == messages;
#pragma unroll
        for (u32 i = 0; i < LANE_COLUMNS; i++) {
            if (!task.columns.active(i)) continue;
            const u32 c = task.columns.column(i);
            const f32 weight = own ? (f32)p.own * scale : edge_weight<T>(p, position, p.head_width ? c / p.head_width : 0, scale);
            sums[i] = rounded(sums[i] + rounded(weight * widen(T{load_readonly((const u16*)features + (u64)column * p.x.stride + c)})));
            if (!full) continue;
            totals[i].value = rounded(totals[i].value + rounded(sums[i] * factor));
            sums[i] = 0;
        }
    }
    f32 x[LANE_COLUMNS];
#pragma unroll
    for (u32 i = 0; i < LANE_COLUMNS; i++) x[i] = totals[i].value;
    finish(p.epilogue, task.row, task.columns, x);
    store_columns(p.y, task.row, task.columns, x);
}
}  // namespace bg

/// The kernels over features of type T with results in S, which read N elements at a time.
#define BG_SPMM_SUM(T, S, N, name) \
    BG_KERNEL(name, bg::SpmmParams, 256, 2) { bg::spmm_rows<bg::SumCell<S>, T, T, N, false>(p); }
#define BG_SPMM_CHOICE(T, S, N, name) \
    BG_KERNEL(name, bg::SpmmParams, 256, 2) { bg::spmm_rows<bg::ChoiceCell<S>, T, T, N, false>(p); }
#define BG_SPMM_TAKEN(T, S, E, name) \
    BG_KERNEL(name, bg::SpmmParams, 256, 2) { bg::spmm_rows<bg::SumCell<S>, T, E, 1, true>(p); }
#define BG_SPMM_DISCRETISED(T, name) \
    BG_KERNEL(name, bg::SpmmParams, 256, 2) { bg::spmm_discretised<T>(p); }
/// The kernels that merge pieces.
#define BG_SPMM_MERGE(S, sum, choice)                                                           \
    BG_KERNEL(sum, bg::SpmmParams, 256, 2) { bg::spmm_merge<bg::SumCell<S>>(p); }               \
    BG_KERNEL(choice, bg::SpmmParams, 256, 2) { bg::spmm_merge<bg::ChoiceCell<S>>(p); }
