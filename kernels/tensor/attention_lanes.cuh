// Rows held by lanes: LANES lanes, PARTS vectors of VECTOR columns each, part after part, and sums over the columns of a head.
#pragma once
#include "tensor/attention_vector.cuh"
#include "common/warp.cuh"

namespace bg {
/// The sums of N numbers over groups of LANES lanes: lane l of a group gets that of number l / (LANES / N). A number and a lane at once halve
/// what is left of both, so that N sums take about as many shuffles as N numbers, not as N butterflies.
template <u32 LANES, u32 N> BG_DEVICE f32 sums_apart(f32 (&x)[N]) {
#pragma unroll
    for (u32 half = N / 2; half; half >>= 1) {
        const u32 d = half * (LANES / N);
        const bool upper = (lane() & d) != 0;
#pragma unroll
        for (u32 i = 0; i < half; i++) {
            const f32 own = upper ? x[i + half] : x[i], other = upper ? x[i] : x[i + half];
            x[i] = own + shuffle_xor(other, d);
        }
    }
#pragma unroll
    for (u32 d = LANES / N / 2; d; d >>= 1) x[0] += shuffle_xor(x[0], d);
    return x[0];
}

/// Where a lane's vectors lie, and whose head they are. A vector lies in one head.
template <u32 VECTOR, u32 LANES, u32 PARTS> struct LaneColumns {
    u32 column[PARTS], head[PARTS];
    bool valid[PARTS], first[PARTS];  // whether it is a vector of the row; whether its head begins there
    u32 heads, together;              // lanes of a head that a butterfly can sum, 0 if it cannot
    BG_DEVICE LaneColumns(u32 columns, u32 head_count, u32 head_columns) {
        heads = head_count;
        const u32 lanes = head_columns / VECTOR;
        together = head_columns % VECTOR == 0 && (lanes & (lanes - 1)) == 0 && lanes <= LANES ? lanes : 0;
#pragma unroll
        for (u32 k = 0; k < PARTS; k++) {
            column[k] = (k * LANES + lane() % LANES) * VECTOR;
            valid[k] = column[k] < columns;
            head[k] = valid[k] ? column[k] / head_columns : head_count - 1;
            first[k] = valid[k] && column[k] % head_columns == 0;
        }
    }
    /// The vectors of a row; zeros unless `wanted`.
    template <class T> BG_DEVICE void load(f32 (&x)[PARTS][VECTOR], const T* row, bool wanted) const {
#pragma unroll
        for (u32 k = 0; k < PARTS; k++) {
            if (wanted && valid[k]) {
                load_features<T>(x[k], row + column[k]);
            } else {
#pragma unroll
                for (u32 i = 0; i < VECTOR; i++) x[k][i] = 0;
            }
        }
    }
    /// Sums over all lanes of each part's head, in every lane of it; all lanes of the warp call it.
    BG_DEVICE void sum_heads(f32 (&x)[PARTS]) const {
        if (heads == 1) {
            f32 sum = 0;
#pragma unroll
            for (u32 k = 0; k < PARTS; k++) sum += x[k];
#pragma unroll
            for (u32 d = LANES / 2; d; d >>= 1) sum += shuffle_xor(sum, d);
#pragma unroll
            for (u32 k = 0; k < PARTS; k++) x[k] = sum;
        } else if (together) {
            // Rolled up: the copies of this in a kernel are many, and of code that does not fit in its cache.
#pragma unroll 1
            for (u32 d = together / 2; d; d >>= 1)
#pragma unroll
                for (u32 k = 0; k < PARTS; k++) x[k] += shuffle_xor(x[k], d);
        } else {
            f32 own[PARTS];
#pragma unroll
            for (u32 k = 0; k < PARTS; k++) {
                own[k] = valid[k] ? x[k] : 0.0f;
                x[k] = 0;
            }
#pragma unroll 1
            for (u32 h = 0; h < heads; h++) {
                f32 sum = 0;
#pragma unroll
                for (u32 k = 0; k < PARTS; k++) sum += head[k] == h ? own[k] : 0.0f;
#pragma unroll
                for (u32 d = LANES / 2; d; d >>= 1) sum += shuffle_xor(sum, d);
#pragma unroll
                for (u32 k = 0; k < PARTS; k++) x[k] = head[k] == h ? sum : x[k];
            }
        }
    }
};
}  // namespace bg
