// Additive attention of one head over rows of 32 entries at most: LANES lanes take a row and hold the sums of its columns, VECTOR columns each.
// A lane works out the scores of its own entries, which have been asked for with the row before, and passes the powers on.
#include "tensor/attention_gat.cuh"
#include "tensor/rows_brief.cuh"

namespace bg {
/// The score of no entry.
BG_DEVICE f32 no_entry() { return -__uint_as_float(0x7f800000u); }

template <class T, u32 VECTOR, u32 LANES> BG_DEVICE void gat_brief(const GatParams& p) {
    constexpr u32 HELD = WARP / LANES;
    const u32 me = lane() % LANES, group = lane() - me, column = me * VECTOR;
    const T* values = (const T*)p.values + column;
    const bool active = column < p.columns;
    BriefRows<LANES> rows(p.rows);
    f32 left, right[HELD];
    auto load_scores = [&](u32 row, const BriefRow<LANES>& of) {
        left = row < p.rows.row_count ? load_readonly(p.left + row) : 0.0f;
#pragma unroll
        for (u32 h = 0; h < HELD; h++) right[h] = of.has(h) ? load_readonly(p.right + of.columns[h]) : no_entry();
    };
    load_scores(rows.row, rows.now);
    while (rows.goes_on(p.rows)) {
        uint4 found[BRIEF_DEEP];
        load_named(found, rows.now, 0, 0, values, p.columns, active);
        const BriefRow<LANES> asked = rows.ask(p.rows);
        const f32 own_left = left * LOG2_E;
        f32 weights[HELD], most = NO_SCORE, total = 0, sums[VECTOR] = {};
#pragma unroll
        for (u32 h = 0; h < HELD; h++) {
            weights[h] = rows.now.has(h) ? gat_score(own_left, right[h], p.slope) : no_entry();
            most = fmaxf(most, weights[h]);
        }
        load_scores(rows.row + rows.groups, rows.next);
#pragma unroll
        for (u32 d = LANES / 2; d; d >>= 1) most = fmaxf(most, shuffle_xor(most, d));
#pragma unroll
        for (u32 h = 0; h < HELD; h++) {
            weights[h] = exp2_of(weights[h] - most);
            total += weights[h];
        }
#pragma unroll
        for (u32 d = LANES / 2; d; d >>= 1) total += shuffle_xor(total, d);
        if (p.dropout.active) {
#pragma unroll
            for (u32 h = 0; h < HELD; h++)
                if (rows.now.has(h)) weights[h] *= p.dropout.kept<f32>(rows.now.entry(h), 0);
        }
        warp_sync();
#pragma unroll
        for (u32 h = 0; h < HELD; h++) {
#pragma unroll
            for (u32 j = 0; j < LANES; j += BRIEF_DEEP) {
                if (!goes_to(rows.now, h, j)) break;
                if (h + j > 0) load_named(found, rows.now, h, j, values, p.columns, active);
#pragma unroll
                for (u32 u = 0; u < BRIEF_DEEP; u++) {
                    const f32 weight = shuffle(weights[h], group + j + u);
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) sums[i] += weight * element<T>(found[u], i);
                }
            }
        }
        if (active && rows.row < p.rows.row_count) {
            const f32 inverse = total == 0 ? 0.0f : 1.0f / total;
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) sums[i] *= inverse;
            if (p.end.bias || p.end.activation != END_NONE) {
#pragma unroll
                for (u32 i = 0; i < VECTOR; i++) sums[i] = end_of(p.end, column + i, sums[i]);
            }
            store_features<T>((T*)p.output + ((u64)rows.row * p.columns + column), sums);
            if (me == 0 && p.lse) p.lse[rows.row] = (most + log2_of(total)) * LN_2;
        }
        rows.go(asked);
    }
}
BG_KERNEL(attention_gat_brief_f16_8, GatParams, 128, 8) { gat_brief<f16, 8, 8>(p); }
BG_KERNEL(attention_gat_brief_f16_16, GatParams, 128, 8) { gat_brief<f16, 8, 16>(p); }
BG_KERNEL(attention_gat_brief_f16_32, GatParams, 128, 8) { gat_brief<f16, 8, 32>(p); }
BG_KERNEL(attention_gat_brief_bf16_8, GatParams, 128, 8) { gat_brief<bf16, 8, 8>(p); }
BG_KERNEL(attention_gat_brief_bf16_16, GatParams, 128, 8) { gat_brief<bf16, 8, 16>(p); }
BG_KERNEL(attention_gat_brief_bf16_32, GatParams, 128, 8) { gat_brief<bf16, 8, 32>(p); }
BG_KERNEL(attention_gat_brief_f32_8, GatParams, 128, 8) { gat_brief<f32, 4, 8>(p); }
BG_KERNEL(attention_gat_brief_f32_16, GatParams, 128, 8) { gat_brief<f32, 4, 16>(p); }
BG_KERNEL(attention_gat_brief_f32_32, GatParams, 128, 8) { gat_brief<f32, 4, 32>(p); }
}  // namespace bg
