// Sampled dot products of one head of halves without tensor cores, over rows of 32 entries at most: LANES lanes hold a left row, which was asked
// for with the row before, and take the row's entries four at a time.
#include "tensor/attention_lanes.cuh"
#include "tensor/rows_brief.cuh"
#include "tensor/sddmm_dot.cuh"

namespace bg {
template <class T, u32 VECTOR, u32 LANES> BG_DEVICE void sddmm_brief(const SddmmParams& p) {
    constexpr u32 HELD = WARP / LANES, APART = LANES / BRIEF_DEEP;
    const u32 me = lane() % LANES, column = me * VECTOR;
    const bool active = column < p.columns;
    const T *left = (const T*)p.left + column, *right = (const T*)p.right + column;
    BriefRows<LANES> rows(p.rows);
    uint4 own;
    auto load_own = [&](u32 row) {
        own = active && row < p.rows.row_count ? load_vector<T, VECTOR>(left + (u64)row * p.columns) : make_uint4(0, 0, 0, 0);
    };
    load_own(rows.row);
    while (rows.goes_on(p.rows)) {
        uint4 x[BRIEF_DEEP];
        load_named(x, rows.now, 0, 0, right, p.columns, active);
        const BriefRow<LANES> asked = rows.ask(p.rows);
        const uint4 mine = own;
        load_own(rows.row + rows.groups);
#pragma unroll
        for (u32 h = 0; h < HELD; h++) {
#pragma unroll
            for (u32 j = 0; j < LANES; j += BRIEF_DEEP) {
                if (!goes_to(rows.now, h, j)) break;
                if (h + j > 0) load_named(x, rows.now, h, j, right, p.columns, active);
                f32 dots[BRIEF_DEEP] = {};
#pragma unroll
                for (u32 u = 0; u < BRIEF_DEEP; u++)
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) dots[u] += element<T>(mine, i) * element<T>(x[u], i);
                const f32 dot = sums_apart<LANES>(dots);
                const u32 entry = rows.now.begin + h * LANES + j + me / APART;
                if (me % APART == 0 && entry < rows.now.end) store_dot<T>(p, entry, 0, dot);
                warp_sync();
            }
        }
        rows.go(asked);
    }
}
BG_KERNEL(sddmm_brief_f16_64, SddmmParams, 128, 8) { sddmm_brief<f16, 8, 8>(p); }
BG_KERNEL(sddmm_brief_bf16_64, SddmmParams, 128, 8) { sddmm_brief<bf16, 8, 8>(p); }
}  // namespace bg
