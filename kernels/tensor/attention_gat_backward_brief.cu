// The middle launch of the backward pass of additive attention of one head over f32, where rows of the transposed matrix have 32 entries at most:
// LANES lanes hold the values of a row and the sums of their gradient. A lane works out the scalars of its own entries, which have been asked
// for with the row before, and passes the weights on; the dots of several entries are summed together.
#include "tensor/attention_gat_backward.cuh"
#include "tensor/attention_lanes.cuh"
#include "tensor/rows_brief.cuh"

namespace bg {
template <u32 LANES> BG_DEVICE void gat_backward_brief(const GatBackwardParams& p) {
    constexpr u32 VECTOR = 4, HELD = WARP / LANES;
    const u32 me = lane() % LANES, group = lane() - me, column = me * VECTOR;
    const bool active = column < p.columns;
    const f32 *values = (const f32*)p.values + column, *gradient = (const f32*)p.gradient + column;
    BriefRows<LANES> rows(p.rows);
    float4 scalars[HELD];
    uint4 own;
    u32 positions[HELD];
    f32 right;
    auto load_scalars = [&](u32 row, const BriefRow<LANES>& of) {
        const bool in = row < p.rows.row_count;
        right = in ? load_readonly(p.right + row) : 0.0f;
        own = in && active ? load_vector<f32, VECTOR>(values + (u64)row * p.columns) : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (u32 h = 0; h < HELD; h++) {
            scalars[h] = of.has(h) ? load_readonly(p.packed + of.columns[h]) : make_float4(0, 0, 0, 0);
            positions[h] = p.dropout.active && of.has(h) ? load_readonly(p.positions + of.entry(h)) : 0;
        }
    };
    load_scalars(rows.row, rows.now);
    while (rows.goes_on(p.rows)) {
        uint4 x[BRIEF_DEEP];
        load_named(x, rows.now, 0, 0, gradient, p.columns, active);
        const BriefRow<LANES> asked = rows.ask(p.rows);
        // Rounded as the other score is: scores that cancel each other give zero, on whose side the slope changes.
        const f32 own_right = rounded_product(right, LOG2_E);
        const uint4 mine = own;
        f32 z[HELD], probabilities[HELD], kept[HELD], products[HELD], dots[HELD];
#pragma unroll
        for (u32 h = 0; h < HELD; h++) {
            z[h] = own_right + scalars[h].x;
            probabilities[h] = rows.now.has(h) ? gat_probability(scalars[h], z[h], p.slope) : 0.0f;
            kept[h] = p.dropout.active && rows.now.has(h) ? p.dropout.kept<f32>(positions[h], 0) : 1.0f;
            products[h] = scalars[h].z;
            dots[h] = 0;
        }
        load_scalars(rows.row + rows.groups, rows.next);
        warp_sync();
        f32 sums[VECTOR] = {}, right_sum = 0;
#pragma unroll
        for (u32 h = 0; h < HELD; h++) {
            const f32 weight = probabilities[h] * kept[h];
#pragma unroll
            for (u32 j = 0; j < LANES; j += BRIEF_DEEP) {
                if (!goes_to(rows.now, h, j)) break;
                if (h + j > 0) load_named(x, rows.now, h, j, gradient, p.columns, active);
                f32 found[BRIEF_DEEP];
#pragma unroll
                for (u32 u = 0; u < BRIEF_DEEP; u++) {
                    const f32 w = shuffle(weight, group + j + u);
                    found[u] = 0;
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) {
                        found[u] += element<f32>(mine, i) * element<f32>(x[u], i);
                        sums[i] += w * element<f32>(x[u], i);
                    }
                }
                const f32 dot = sums_apart<LANES>(found);
                // Each to the lane whose entry it is.
                const u32 at = me - j;
                const f32 given = shuffle(dot, group + at % BRIEF_DEEP * (LANES / BRIEF_DEEP));
                if (at < BRIEF_DEEP) dots[h] = given;
            }
        }
#pragma unroll
        for (u32 h = 0; h < HELD; h++) {
            if (!rows.now.has(h)) continue;
            const f32 d_score = gat_d_score(make_float4(0, 0, products[h], 0), z[h], p.slope, probabilities[h], dots[h], kept[h]);
            right_sum += d_score;
            p.d_scores[rows.now.entry(h)] = d_score;
        }
        warp_sync();
#pragma unroll
        for (u32 d = LANES / 2; d; d >>= 1) right_sum += shuffle_xor(right_sum, d);
        if (active && rows.row < p.rows.row_count) {
            store_features<f32>((f32*)p.d_values + ((u64)rows.row * p.columns + column), sums);
            if (me == 0) p.d_right[rows.row] = right_sum;
        }
        rows.go(asked);
    }
}
BG_KERNEL(attention_gat_backward_brief_f32_32, GatBackwardParams, 128, 5) { gat_backward_brief<8>(p); }
BG_KERNEL(attention_gat_backward_brief_f32_64, GatBackwardParams, 128, 6) { gat_backward_brief<16>(p); }
BG_KERNEL(attention_gat_backward_brief_f32_128, GatBackwardParams, 128, 7) { gat_backward_brief<32>(p); }
}  // namespace bg
