// The steps of an epilogue over neighbours of a row in registers, where all operands are floats that lie as the elements do.
#pragma once
#include "tensor/epilogue.cuh"
#include "tensor/vectors.cuh"

namespace bg {
/// Rows of a matrix that a thread has at once: `first`, and every `step`-th after it. Those beyond the last are the last one once more, which is
/// read and not stored.
struct RowsOf {
    u64 first, last;
    u32 step;
    BG_DEVICE u64 operator[](u32 r) const { return r == 0 ? first : min_of(first + r * step, last); }
    BG_DEVICE bool has(u32 r) const { return first + r * step <= last; }
};

/// Calls `f` with every row's and every neighbour's number.
template <u32 R, u32 N, class F> BG_DEVICE void each_neighbour(const F& f) {
#pragma unroll
    for (u32 r = 0; r < R; r++)
#pragma unroll
        for (u32 i = 0; i < N; i++) f(r, i);
}

/// Takes neighbours of R rows through one of the steps that the host lists for this kernel. What is read for all rows is on its way at once.
/// SCALES: a summand may have a factor for each column.
template <bool SCALES, u32 R, u32 N> BG_DEVICE void vector_step(const TensorStep& s, const RowsOf& rows, u32 column, f32 (&x)[R][N]) {
    const f32 p = (f32)s.p;
    f32 z[R][N];
    const auto load = [&] {
#pragma unroll
        for (u32 r = 0; r < R; r++) load_floats<N>(s.other, rows[r], column, z[r]);
    };
    switch (s.kind) {
        case STEP_SCALE_ROWS: {
            f32 d[R];
#pragma unroll
            for (u32 r = 0; r < R; r++) d[r] = scale_of<f32>(s.other, rows[r]);
            each_neighbour<R, N>([&](u32 r, u32 i) { x[r][i] *= d[r]; });
            break;
        }
        case STEP_SCALE_COLUMNS: each_neighbour<R, N>([&](u32 r, u32 i) { x[r][i] *= real_at<f32>(s.other.data, column + i); }); break;
        case STEP_SCALE: each_neighbour<R, N>([&](u32 r, u32 i) { x[r][i] *= p; }); break;
        case STEP_BIAS: each_neighbour<R, N>([&](u32 r, u32 i) { x[r][i] += real_at<f32>(s.other.data, column + i); }); break;
        case STEP_ADD:
            load();
            if (SCALES && s.second) each_neighbour<R, N>([&](u32 r, u32 i) { z[r][i] *= real_at<f32>(s.second, column + i); });
            each_neighbour<R, N>([&](u32 r, u32 i) { x[r][i] += p * z[r][i]; });
            break;
        case STEP_MULTIPLY:
            load();
            each_neighbour<R, N>([&](u32 r, u32 i) { x[r][i] *= z[r][i]; });
            break;
        case STEP_ACTIVATION: each_neighbour<R, N>([&](u32 r, u32 i) { x[r][i] = activate(s.activation, p, x[r][i]); }); break;
        case STEP_ACTIVATION_GRADIENT:
            load();
            each_neighbour<R, N>([&](u32 r, u32 i) { x[r][i] *= derivative(s.activation, p, z[r][i]); });
            break;
        default: {  // STEP_DROPOUT
            uint4 words = make_uint4(0, 0, 0, 0);
            const u32 draw = moved(s.draw, (const Moment*)s.second);
            each_neighbour<R, N>([&](u32 r, u32 i) {
                if (i % 4 == 0) words = philox(s.seed, draw, rows[r], (column + i) / 4);
                // Not a product: what is dropped is zero, be it infinite or no number.
                x[r][i] = philox_word(words, i) >= s.threshold ? x[r][i] * p : 0.0f;
            });
            break;
        }
    }
}

/// Takes neighbours of R rows through all steps, and stores those of rows that there are.
template <bool SCALES = true, u32 R, u32 N>
BG_DEVICE void finish_vectors(const TensorEpilogue& epilogue, const TensorOut& y, const RowsOf& rows, u32 column, f32 (&x)[R][N]) {
    for (u32 k = 0; k < epilogue.count; k++) vector_step<SCALES>(epilogue.steps[k], rows, column, x);
#pragma unroll
    for (u32 r = 0; r < R; r++) {
        if (r == 0 || rows.has(r)) store_floats<N>(y, rows.first + r * rows.step, column, x[r]);
    }
}
}  // namespace bg
