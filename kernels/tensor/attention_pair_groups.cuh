// Attention whose scores are formed of two rows of features, over rows in the order of their lengths: LANES lanes take a row or a piece of one, and
// hold its query and the sums of its columns, VECTOR columns each. Where the keys are the values, they are read once. tensor/attention_pair.cu gives
// a row a whole warp, which is better where there are few.
//
// Rows side by side are of one length, so that the groups of a warp end together, and a warp works at twice or four times as many rows: dot products
// of halves, 128 columns, take .24 ms for .45 on kron:17 and .032 for .078 on p2p-Gnutella31 (H200). Groups of the shorter rows go on from row to
// row, and ask ahead: for the bounds of the row after the next, and for the first columns and the query of the next. Each block's rows follow each
// other: where a grid's rows were dealt out among all blocks in turn, what neighbouring rows share was read again (f32, 1.1 ms for .8).
//
// Of one head, the scores of DEEP entries are summed at once, and the lanes that get a score work out its power. Of several heads (HEADS) each lane
// works out those of its own head, whose vectors fill a power of two of lanes.
#pragma once
#include "tensor/attention_pair.cuh"

namespace bg {
/// A row of a group of lanes: its bounds, then a lane's first column and its vector of the query.
template <u32 LANES> struct PairRow {
    u32 row, begin, end, column;
    uint4 query;

    /// From task `last` on there are rows without entries.
    BG_DEVICE void load_bounds(const RowTasks& rows, u32 index, u32 last) {
        row = begin = end = 0;
        if (index >= last) return;
        const RowTask task = row_task(rows, index);
        row = task.row;
        begin = task.begin;
        end = task.end;
    }
    /// A row without entries needs no query.
    template <class T, u32 VECTOR> BG_DEVICE void load_start(const PairParams& p, u32 at, bool active) {
        const u32 mine = begin + at / VECTOR;
        column = mine < end ? load_readonly(p.rows.indices + mine) : 0;
        query = make_uint4(0, 0, 0, 0);
        if (active && begin < end) query = load_vector<T, VECTOR>((const T*)p.query + (u64)row * p.columns + at);
    }
};

/// A lane's place in its row, and the parts of a score that stay.
template <u32 SCORE, class T, u32 VECTOR, u32 LANES, bool HEADS> struct PairLane {
    u32 at, span, head;  // its first column; lanes of a head; its head
    bool active, leads;  // whether it has columns; whether its head begins there
    f32 weights[VECTOR], scale;

    BG_DEVICE explicit PairLane(const PairParams& p) {
        at = lane() % LANES * VECTOR;
        active = at < p.columns;
        span = HEADS ? p.head_columns / VECTOR : LANES;
        head = HEADS && active ? at / p.head_columns : 0;
        leads = active && (HEADS ? at % p.head_columns == 0 : at == 0);
        scale = LOG2_E * (SCORE == COSINE_SCORE ? load_readonly(p.parameter) : p.factor);
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) weights[i] = SCORE == SUM_SCORE && active ? load_readonly(p.parameter + at + i) * LOG2_E : 0.0f;
    }
    BG_DEVICE f32 head_sum(f32 x) const {
#pragma unroll
        for (u32 d = LANES / 2; d; d >>= 1)
            if (!HEADS || d < span) x += shuffle_xor(x, d);
        return x;
    }
    /// The lane's part of a score, and of the square of the key's length.
    BG_DEVICE void add_score(const PairParams& p, const f32 (&query)[VECTOR], const uint4& key, f32& score, f32& square) const {
        score = square = 0;
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) {
            const f32 x = element<T>(key, i);
            if (SCORE == SUM_SCORE) {
                score += weights[i] * leaky(query[i] + x, p.slope);
            } else {
                score += query[i] * x;
                square += x * x;
            }
        }
    }
    /// What multiplies the sum of a score's parts; of a cosine without the key's length.
    BG_DEVICE f32 factor(const f32 (&query)[VECTOR]) const {
        if (SCORE != COSINE_SCORE) return SCORE == DOT_SCORE ? scale : 1.0f;
        f32 square = 0;
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) square += query[i] * query[i];
        return scale * inverse_norm(head_sum(square));
    }
};

template <u32 SCORE, class T, u32 VECTOR, u32 LANES, bool HEADS, u32 DEEP> BG_DEVICE void pair_groups(const PairParams& p) {
    constexpr u32 EACH = LANES / DEEP;
    const f32 no_entry = -__uint_as_float(0x7f800000u);
    const u32 me = lane() % LANES, first = lane() - me, own = me / EACH, groups = blockDim.x / LANES;
    const u32 turns = blockIdx.x < p.single ? 1 : p.turns, begin = (blockIdx.x * turns - p.single * (turns - 1)) * groups;
    const u32 end = min_of(begin + groups * turns, p.rows.task_count);
    const bool same = p.key == p.values;
    const PairLane<SCORE, T, VECTOR, LANES, HEADS> place(p);
    const T *keys_at = (const T*)p.key + place.at, *values_at = (const T*)p.values + place.at;
    u32 index = begin + threadIdx.x / LANES;
    PairRow<LANES> now, next, later;
    now.load_bounds(p.rows, index, end);
    next.load_bounds(p.rows, index + groups, end);
    now.template load_start<T, VECTOR>(p, place.at, place.active);
    while (any(index < end)) {
        const bool piece = index < min_of(end, p.rows.piece_count);
        later.load_bounds(p.rows, index + 2 * groups, end);
        next.template load_start<T, VECTOR>(p, place.at, place.active);
        f32 query[VECTOR], sums[VECTOR] = {}, most = NO_SCORE, total = 0;
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) query[i] = element<T>(now.query, i);
        const f32 factor = place.factor(query);
        u32 ahead = now.column;
        for (u32 base = now.begin; any(base < now.end); base += LANES) {
            const u32 mine = ahead, count = base < now.end ? min_of(now.end - base, LANES) : 0, most_count = warp_max(count);
            if (base + LANES + me < now.end) ahead = load_readonly(p.rows.indices + base + LANES + me);
            const f32 drawn = !HEADS && p.dropout.active && me < count ? p.dropout.kept<f32>(base + me, 0) : 1.0f;
            for (u32 j = 0; j < most_count; j += DEEP) {
                uint4 keys[DEEP], values[DEEP];
                u32 columns[DEEP];
#pragma unroll
                for (u32 u = 0; u < DEEP; u++) {
                    columns[u] = shuffle(mine, first + j + u);
                    const bool in = place.active && j + u < count;
                    keys[u] = in ? load_vector<T, VECTOR>(keys_at + (u64)columns[u] * p.columns) : make_uint4(0, 0, 0, 0);
                }
                // Before the scores: values are as far away as keys.
#pragma unroll
                for (u32 u = 0; u < DEEP; u++) {
                    values[u] = keys[u];
                    if (!same && place.active && j + u < count) values[u] = load_vector<T, VECTOR>(values_at + (u64)columns[u] * p.columns);
                }
                f32 scores[DEEP], squares[DEEP], largest = most;
#pragma unroll
                for (u32 u = 0; u < DEEP; u++) place.add_score(p, query, keys[u], scores[u], squares[u]);
                if constexpr (HEADS) {
#pragma unroll
                    for (u32 u = 0; u < DEEP; u++) {
                        scores[u] = place.head_sum(scores[u]) * factor;
                        if (SCORE == COSINE_SCORE) scores[u] *= inverse_norm(place.head_sum(squares[u]));
                        if (j + u >= count) scores[u] = no_entry;
                        largest = fmaxf(largest, scores[u]);
                    }
                } else {
                    scores[0] = sums_apart<LANES, DEEP>(scores) * factor;
                    if (SCORE == COSINE_SCORE) scores[0] *= inverse_norm(sums_apart<LANES, DEEP>(squares));
                    if (j + own >= count) scores[0] = no_entry;
                    largest = fmaxf(largest, scores[0]);
#pragma unroll
                    for (u32 d = EACH; d < LANES; d <<= 1) largest = fmaxf(largest, shuffle_xor(largest, d));
                }
                const f32 less = exp2_of(most - largest);
                most = largest;
                total *= less;
#pragma unroll
                for (u32 i = 0; i < VECTOR; i++) sums[i] *= less;
#pragma unroll
                for (u32 u = 0; u < (HEADS ? DEEP : 1); u++) {
                    scores[u] = exp2_of(scores[u] - largest);
                    total += scores[u];
                    if (!p.dropout.active) continue;
                    if (!HEADS) scores[u] *= shuffle(drawn, first + j + own);
                    else if (j + u < count) scores[u] *= p.dropout.kept<f32>(base + j + u, place.head);
                }
#pragma unroll
                for (u32 u = 0; u < DEEP; u++) {
                    const f32 weight = HEADS ? scores[u] : shuffle(scores[0], first + u * EACH);
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) sums[i] += weight * element<T>(values[u], i);
                }
            }
        }
        if constexpr (!HEADS) {
#pragma unroll
            for (u32 d = EACH; d < LANES; d <<= 1) total += shuffle_xor(total, d);
        }
        if (index < end && place.active) {
            if (piece) {
                f32* const partial = p.partial + (u64)index * partial_size(p.columns, p.heads);
#pragma unroll
                for (u32 i = 0; i < VECTOR; i += 4) *(float4*)(partial + place.at + i) = make_float4(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]);
                if (place.leads) {
                    partial[p.columns + place.head] = total;
                    partial[p.columns + p.heads + place.head] = most;
                }
            } else {
                const f32 inverse = total == 0 ? 0.0f : 1.0f / total;
#pragma unroll
                for (u32 i = 0; i < VECTOR; i++) sums[i] = end_of(p.end, place.at + i, sums[i] * inverse);
                store_features<T>((T*)p.output + ((u64)now.row * p.columns + place.at), sums);
                if (place.leads && p.lse) p.lse[(u64)now.row * p.heads + place.head] = (most + log2_of(total)) * LN_2;
            }
        }
        warp_sync();
        if (any(piece)) {
            const RowTask task{now.row, 1, now.begin, now.end, piece};
            const RowPieces pieces = pieces_of(p.rows, task, index);
            const JoinedRow joined{p.partial, p.output, p.lse, p.columns, p.heads, p.head_columns};
            u32 ready = ballot(last_piece(p.rows, pieces, piece && me == 0));
            while (ready) {
                const u32 source = (u32)__ffs(ready) - 1;
                ready &= ready - 1;
                join_pieces<T, 4>(joined, p.end, shuffle(now.row, source), shuffle(pieces.first, source), shuffle(pieces.count, source));
            }
        }
        now = next;
        next = later;
        index += groups;
    }
}
}  // namespace bg
