// Sampled dot products without tensor cores: LANES lanes hold a left row in registers and take the row's entries, or a piece of them, four in
// flight; by 16 bytes, and any type element by element. Where there are few rows, several groups of lanes share one.
//
// The longest rows come first, and rows of equal length side by side, so that the groups of a warp end together.
#include "tensor/attention_vector.cuh"
#include "tensor/sddmm_dot.cuh"

namespace bg {
/// Sums of SUMS values over LANES neighbouring lanes: a butterfly that halves the values as it halves the lanes. Afterwards a lane holds
/// the sum of value `summed_value()`.
template <u32 LANES, u32 SUMS> BG_DEVICE f32 butterfly_sums(f32 (&values)[SUMS]) {
    u32 count = SUMS;
#pragma unroll
    for (u32 d = LANES / 2; d; d >>= 1) {
        const bool upper = (lane() & d) != 0;
        if (count > 1) {
            count >>= 1;
#pragma unroll
            for (u32 i = 0; i < SUMS / 2; i++)
                if (i < count) {
                    const f32 given = shuffle_xor(upper ? values[i] : values[i + count], d);
                    values[i] = (upper ? values[i + count] : values[i]) + given;
                }
        } else {
            values[0] += shuffle_xor(values[0], d);
        }
    }
    return values[0];
}

/// PARTS vectors of a lane at a time, all columns in one go unless MANY. A dot product is of `p.head_columns` columns.
template <class T, u32 VECTOR, u32 LANES, u32 PARTS, bool MANY> BG_DEVICE void sddmm_rows(const SddmmParams& p) {
    constexpr u32 DEEP = 4;
    static_assert(LANES >= DEEP, "every value has a lane to end up in");
    const u32 sides = 1u << p.side_bits, group = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, index = group >> p.side_bits;
    const u32 l = lane() % LANES, side = group & (sides - 1);
    RowTask task{0, 0, 0, 0, false};
    if (index < p.rows.task_count) task = row_task(p.rows, index);
    const T *left = (const T*)p.left, *right = (const T*)p.right;
    // A warp may have several rows; lanes of one have one.
    const u32 rows = LANES == WARP ? task.count : 1u;
    for (u32 row = task.row; row < task.row + rows; row++)
    for (u32 head = 0; head < p.heads; head++) {
        const u32 from = head * p.head_columns;
        const u32 begin = LANES == WARP ? first_entry(p.rows, task, row) : task.begin, end = LANES == WARP ? end_entry(p.rows, task, row) : task.end;
        f32 own[PARTS][VECTOR];
        auto load_own = [&](u32 first) {
#pragma unroll
            for (u32 k = 0; k < PARTS; k++) {
                const u32 column = first + (k * LANES + l) * VECTOR;
                if (column < p.head_columns && begin < end) {
                    load_features<T>(own[k], left + ((u64)row * p.columns + from + column));
                } else {
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) own[k][i] = 0;
                }
            }
        };
        u32 next[DEEP];
        auto load_next = [&](u32 base) {
#pragma unroll
            for (u32 j = 0; j < DEEP; j++) next[j] = base + j < end ? load_readonly(p.rows.indices + base + j) : 0;
        };
        u32 base = begin + side * DEEP;
        load_next(base);
        if constexpr (!MANY) load_own(0);
        for (; any(base < end); base += sides * DEEP) {
            u32 columns[DEEP];
            f32 dots[DEEP];
#pragma unroll
            for (u32 j = 0; j < DEEP; j++) {
                columns[j] = next[j];
                dots[j] = 0;
            }
            for (u32 first = 0; first < (MANY ? p.head_columns : 1u); first += PARTS * LANES * VECTOR) {
                if constexpr (MANY) load_own(first);
                uint4 x[DEEP][PARTS];
#pragma unroll
                for (u32 j = 0; j < DEEP; j++)
#pragma unroll
                    for (u32 k = 0; k < PARTS; k++) {
                        const u32 column = first + (k * LANES + l) * VECTOR;
                        x[j][k] = make_uint4(0, 0, 0, 0);
                        if (column < p.head_columns && base + j < end)
                            x[j][k] = load_vector<T, VECTOR>(right + ((u64)columns[j] * p.columns + from + column));
                    }
                if (first == 0) load_next(base + sides * DEEP);
#pragma unroll
                for (u32 j = 0; j < DEEP; j++)
#pragma unroll
                    for (u32 k = 0; k < PARTS; k++)
#pragma unroll
                        for (u32 i = 0; i < VECTOR; i++) dots[j] += own[k][i] * element<T>(x[j][k], i);
            }
            const f32 dot = butterfly_sums<LANES>(dots);
            // The butterfly leaves value j in lanes j * LANES / DEEP and following.
            const u32 entry = base + l / (LANES / DEEP);
            if (l % (LANES / DEEP) == 0 && entry < end) store_dot<T>(p, entry, head, dot);
        }
    }
}
BG_KERNEL(sddmm_rows_f16_64, SddmmParams, 128, 8) { sddmm_rows<f16, 8, 8, 1, false>(p); }
BG_KERNEL(sddmm_rows_f16_128, SddmmParams, 128, 6) { sddmm_rows<f16, 8, 8, 2, false>(p); }
BG_KERNEL(sddmm_rows_f16_any, SddmmParams, 128, 6) { sddmm_rows<f16, 8, 8, 2, true>(p); }
BG_KERNEL(sddmm_rows_bf16_64, SddmmParams, 128, 8) { sddmm_rows<bf16, 8, 8, 1, false>(p); }
BG_KERNEL(sddmm_rows_bf16_128, SddmmParams, 128, 6) { sddmm_rows<bf16, 8, 8, 2, false>(p); }
BG_KERNEL(sddmm_rows_bf16_any, SddmmParams, 128, 6) { sddmm_rows<bf16, 8, 8, 2, true>(p); }
BG_KERNEL(sddmm_rows_f32_32, SddmmParams, 128, 8) { sddmm_rows<f32, 4, 8, 1, false>(p); }
BG_KERNEL(sddmm_rows_f32_64, SddmmParams, 128, 6) { sddmm_rows<f32, 4, 8, 2, false>(p); }
BG_KERNEL(sddmm_rows_f32_128, SddmmParams, 128, 4) { sddmm_rows<f32, 4, 8, 4, false>(p); }
BG_KERNEL(sddmm_rows_f32_any, SddmmParams, 128, 4) { sddmm_rows<f32, 4, 8, 4, true>(p); }
BG_KERNEL(sddmm_plain_f16, SddmmParams, 128, 6) { sddmm_rows<f16, 1, 32, 2, true>(p); }
BG_KERNEL(sddmm_plain_bf16, SddmmParams, 128, 6) { sddmm_rows<bf16, 1, 32, 2, true>(p); }
BG_KERNEL(sddmm_plain_f32, SddmmParams, 128, 6) { sddmm_rows<f32, 1, 32, 2, true>(p); }
}  // namespace bg
