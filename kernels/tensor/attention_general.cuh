// Attention over the entries of rows in one pass, in general: a softmax that is rescaled when a larger score comes, over any scores, widths,
// heads and element types. No message and no score is stored; long rows go in pieces.
//
// Source of the rescaling: Milakov, Gimelshein: Online normalizer calculation for softmax, 2018.
#pragma once
#include "tensor/attention_score.cuh"
#include "tensor/rows.cuh"

namespace bg {
struct AttentionParams {
    RowWork work;        // blocks of columns are heads
    LongRows pieces;
    AttentionScore score;
    AttentionDropout dropout;
    TensorView values;
    TensorOut y;
    TensorOut lse;       // of rows and heads; null if it is not wanted
    TensorEpilogue epilogue;
};

/// A column's weighted sum over some entries, and what it is to be divided by.
template <class R> struct AttentionCell : SoftmaxCell<R> {
    R weighted = (R)0;

    BG_DEVICE void merge(const AttentionCell& other) {
        R own_factor, other_factor;
        this->meet(other.maximum, own_factor, other_factor);
        this->sum = this->sum * own_factor + other.sum * other_factor;
        weighted = weighted * own_factor + other.weighted * other_factor;
    }
};

BG_DEVICE bool is_empty_row(const AttentionParams& p, u32 row) {
    return row_offset(p.work.offsets, p.work.wide, row + 1) == row_offset(p.work.offsets, p.work.wide, row);
}
template <class R> BG_DEVICE void store_lse(const AttentionParams& p, u32 row, u32 head, R maximum, R sum) {
    if (p.lse.data) store_as(p.lse, row, head, is_empty_row(p, row) ? Limits<R>::smallest() : maximum + logarithm(sum));
}

/// Every row and head, or piece and head. With SUMMED scores are sums over columns, which the lanes of a group form together, N at a time.
template <class T, class R, u32 N, bool SUMMED> BG_DEVICE void attention_rows(const AttentionParams& p) {
    constexpr u32 PACKS = LANE_COLUMNS / N, AHEAD = PACKS > 2 ? 2 : 4;
    const RowTask<N> task(p.work);
    const LaneColumns<N>& columns = task.columns;
    const T* values = (const T*)p.values.data;
    const u32 head = task.block, sub = lane() % p.work.group;
    SoftmaxCell<R> softmax;
    R weighted[LANE_COLUMNS] = {};
    // All lanes of a warp go as many turns as its longest row needs, since they form sums together.
    const u32 turn = AHEAD * p.work.split, turns = warp_max((u32)ceil_div<u64>(task.end - task.begin, turn));
    for (u32 t = 0; t < turns; t++) {
        u32 column[AHEAD];
        bool there[AHEAD];
        R score[AHEAD];
        Pack<T, N> x[AHEAD][PACKS];
#pragma unroll
        for (u32 a = 0; a < AHEAD; a++) {
            const u64 k = task.begin + task.part + (u64)t * turn + a * p.work.split;
            there[a] = k < task.end;
            column[a] = there[a] ? load_readonly(p.work.indices + k) : 0;
        }
#pragma unroll
        for (u32 a = 0; a < AHEAD; a++) {
            if (!there[a]) continue;
            const T* row = values + column[a] * p.values.stride;
#pragma unroll
            for (u32 j = 0; j < PACKS; j++) {
                if (j < columns.packs && columns.active(j * N)) x[a][j] = load_pack<T, N>(row + columns.column(j * N));
            }
        }
        R most = softmax.maximum;
        bool any = false;
#pragma unroll
        for (u32 a = 0; a < AHEAD; a++) {
            const u64 k = task.begin + task.part + (u64)t * turn + a * p.work.split;
            if constexpr (SUMMED) {
                ScoreSums<R> sums;
                if (there[a]) sums.template take<T, N>(p.score, task.row, column[a], head, sub, p.work.group);
                warp_sync();
                sums.meet(p.score, p.work.group);
                score[a] = sums.score(p.score);
            } else if (there[a]) {
                score[a] = plain_score<R>(p.score, task.row, column[a], k, head);
            }
            // A score of negative infinity adds nothing.
            there[a] = there[a] && score[a] != Limits<R>::smallest();
            any = any || there[a];
            if (there[a] && score[a] > most) most = score[a];
        }
        if (!any) continue;
        const R factor = exponential(softmax.maximum - most);
        softmax.maximum = most;
        softmax.sum *= factor;
#pragma unroll
        for (u32 i = 0; i < LANE_COLUMNS; i++) weighted[i] *= factor;
#pragma unroll
        for (u32 a = 0; a < AHEAD; a++) {
            if (!there[a]) continue;
            const u64 k = task.begin + task.part + (u64)t * turn + a * p.work.split;
            const R share = exponential(score[a] - most), weight = share * p.dropout.kept<R>(k, head);
            softmax.sum += share;
#pragma unroll
            for (u32 j = 0; j < PACKS; j++) {
                if (j >= columns.packs || !columns.active(j * N)) continue;
#pragma unroll
                for (u32 i = 0; i < N; i++) weighted[j * N + i] += weight * (R)widen(x[a][j].e[i]);
            }
        }
    }
    warp_sync();
    for (u32 d = task.high(p.work) / 2; d >= task.low(p.work); d /= 2) {
        const SoftmaxCell<R> other = softmax.of_lane(d);
        R own_factor, other_factor;
        softmax.meet(other.maximum, own_factor, other_factor);
        softmax.sum = softmax.sum * own_factor + other.sum * other_factor;
#pragma unroll
        for (u32 i = 0; i < LANE_COLUMNS; i++) weighted[i] = weighted[i] * own_factor + shuffle_xor(weighted[i], d) * other_factor;
    }
    if (!task.valid || task.part != 0) return;
    if (p.work.pieces) {
        AttentionCell<R>* to = (AttentionCell<R>*)p.pieces.cells + task.unit * p.work.columns;
#pragma unroll
        for (u32 i = 0; i < LANE_COLUMNS; i++) {
            if (!columns.active(i)) continue;
            AttentionCell<R> cell;
            cell.maximum = softmax.maximum;
            cell.sum = softmax.sum;
            cell.weighted = weighted[i];
            to[columns.column(i)] = cell;
        }
        return;
    }
    if (sub == 0 && task.tile == 0) store_lse(p, task.row, head, softmax.maximum, softmax.sum);
    const bool empty = task.begin == task.end;
#pragma unroll
    for (u32 i = 0; i < LANE_COLUMNS; i++) weighted[i] = empty ? (R)0 : weighted[i] / softmax.sum;
    finish(p.epilogue, task.row, columns, weighted);
    store_columns(p.y, task.row, columns, weighted);
}

/// The rows that came in pieces.
template <class R> BG_DEVICE void attention_merge(const AttentionParams& p) {
    const u32 width = p.work.columns / p.work.blocks;
    merge_pieces<AttentionCell<R>>(
        p.pieces, p.work.columns, [](AttentionCell<R>& into, const AttentionCell<R>& from) { into.merge(from); },
        [&](u32 row, u32 column, const AttentionCell<R>& cell) {
            if (column % width == 0) store_lse(p, row, column / width, cell.maximum, cell.sum);
            R y[1] = {cell.weighted / cell.sum};
            finish(p.epilogue, row, OneColumn{column}, y);
            store_columns(p.y, row, OneColumn{column}, y);
        });
}
}  // namespace bg

#define BG_ATTENTION_PLAIN(T, R, N, name) \
    BG_KERNEL(name, bg::AttentionParams, 256, 2) { bg::attention_rows<T, R, N, false>(p); }
#define BG_ATTENTION_SUMMED(T, R, N, name) \
    BG_KERNEL(name, bg::AttentionParams, 256, 2) { bg::attention_rows<T, R, N, true>(p); }
