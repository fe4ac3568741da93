// Sampled dot products without tensor cores: LANES lanes hold a left row in registers and take the row's entries, 32 / LANES entries side by
// side and four of each in flight; f32 by 16 bytes, and any type element by element.
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
    constexpr u32 DEEP = 4, SIDE = WARP / LANES;
    static_assert(LANES >= DEEP, "every value has a lane to end up in");
    const u32 index = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (index >= p.rows.task_count) return;
    const RowTask task = row_task(p.rows, index);
    const u32 l = lane() % LANES, side = lane() / LANES;
    const T *left = (const T*)p.left, *right = (const T*)p.right;
    for (u32 row = task.row; row < task.row + task.count; row++) {
        const u32 begin = first_entry(p.rows, task, row), end = end_entry(p.rows, task, row);
        for (u32 head = 0; head < p.heads; head++) {
            const u32 from = head * p.head_columns;
            f32 own[PARTS][VECTOR];
            auto load_own = [&](u32 first) {
#pragma unroll
                for (u32 k = 0; k < PARTS; k++) {
                    const u32 column = first + (k * LANES + l) * VECTOR;
                    if (column < p.head_columns) {
                        load_features<T>(own[k], left + ((u64)row * p.columns + from + column));
                    } else {
#pragma unroll
                        for (u32 i = 0; i < VECTOR; i++) own[k][i] = 0;
                    }
                }
            };
            if constexpr (!MANY) load_own(0);
            for (u32 base = begin; base < end; base += DEEP * SIDE) {
                u32 columns[DEEP];
                f32 dots[DEEP];
#pragma unroll
                for (u32 j = 0; j < DEEP; j++) {
                    const u32 entry = base + side * DEEP + j;
                    columns[j] = entry < end ? load_readonly(p.rows.indices + entry) : 0;
                    dots[j] = 0;
                }
                for (u32 first = 0; first < (MANY ? p.head_columns : 1u); first += PARTS * LANES * VECTOR) {
                    if constexpr (MANY) load_own(first);
                    f32 x[DEEP][PARTS][VECTOR];
#pragma unroll
                    for (u32 j = 0; j < DEEP; j++)
#pragma unroll
                        for (u32 k = 0; k < PARTS; k++) {
                            const u32 column = first + (k * LANES + l) * VECTOR;
                            if (column < p.head_columns && base + side * DEEP + j < end) {
                                load_features<T>(x[j][k], right + ((u64)columns[j] * p.columns + from + column));
                            } else {
#pragma unroll
                                for (u32 i = 0; i < VECTOR; i++) x[j][k][i] = 0;
                            }
                        }
#pragma unroll
                    for (u32 j = 0; j < DEEP; j++)
#pragma unroll
                        for (u32 k = 0; k < PARTS; k++)
#pragma unroll
                            for (u32 i = 0; i < VECTOR; i++) dots[j] += own[k][i] * x[j][k][i];
                }
                const f32 dot = butterfly_sums<LANES>(dots);
                // The butterfly leaves value j in lanes j * LANES / DEEP and following.
                const u32 entry = base + side * DEEP + l / (LANES / DEEP);
                if (l % (LANES / DEEP) == 0 && entry < end) store_dot<T>(p, entry, head, dot);
            }
        }
    }
}
BG_KERNEL(sddmm_rows_f32_32, SddmmParams, 128, 8) { sddmm_rows<f32, 4, 8, 1, false>(p); }
BG_KERNEL(sddmm_rows_f32_64, SddmmParams, 128, 8) { sddmm_rows<f32, 4, 8, 2, false>(p); }
BG_KERNEL(sddmm_rows_f32_128, SddmmParams, 128, 8) { sddmm_rows<f32, 4, 16, 2, false>(p); }
BG_KERNEL(sddmm_rows_f32_any, SddmmParams, 128, 8) { sddmm_rows<f32, 4, 16, 2, true>(p); }
BG_KERNEL(sddmm_plain_f16, SddmmParams, 128, 8) { sddmm_rows<f16, 1, 32, 2, true>(p); }
BG_KERNEL(sddmm_plain_bf16, SddmmParams, 128, 8) { sddmm_rows<bf16, 1, 32, 2, true>(p); }
BG_KERNEL(sddmm_plain_f32, SddmmParams, 128, 8) { sddmm_rows<f32, 1, 32, 2, true>(p); }
}  // namespace bg
