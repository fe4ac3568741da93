// The elements of a dense matrix through an epilogue whose operands are floats that lie as the elements do: a thread takes neighbours of a row
// and keeps them in registers through all steps.
#include "tensor/epilogue.cuh"
#include "tensor/vectors.cuh"

namespace bg {
struct MapVectorsParams {
    TensorView x;
    TensorOut y;
    TensorEpilogue epilogue;
    u32 packs;      // of the matrix
    u32 row_packs;  // of a row
};

/// Calls `f` with every neighbour's number.
template <u32 N, class F> BG_DEVICE void each_neighbour(const F& f) {
#pragma unroll
    for (u32 i = 0; i < N; i++) f(i);
}

/// Takes neighbours through one of the steps that the host lists for this kernel.
template <u32 N> BG_DEVICE void vector_step(const TensorStep& s, u64 row, u32 column, f32 (&x)[N]) {
    const f32 p = (f32)s.p;
    f32 z[N];
    switch (s.kind) {
        case STEP_SCALE_ROWS: {
            const f32 d = scale_of<f32>(s.other, row);
            each_neighbour<N>([&](u32 i) { x[i] *= d; });
            break;
        }
        case STEP_SCALE_COLUMNS: each_neighbour<N>([&](u32 i) { x[i] *= real_at<f32>(s.other.data, column + i); }); break;
        case STEP_SCALE: each_neighbour<N>([&](u32 i) { x[i] *= p; }); break;
        case STEP_BIAS: each_neighbour<N>([&](u32 i) { x[i] += real_at<f32>(s.other.data, column + i); }); break;
        case STEP_ADD:
            load_floats<N>(s.other, row, column, z);
            each_neighbour<N>([&](u32 i) { x[i] += p * z[i]; });
            break;
        case STEP_MULTIPLY:
            load_floats<N>(s.other, row, column, z);
            each_neighbour<N>([&](u32 i) { x[i] *= z[i]; });
            break;
        case STEP_ACTIVATION: each_neighbour<N>([&](u32 i) { x[i] = activate(s.activation, p, x[i]); }); break;
        case STEP_ACTIVATION_GRADIENT:
            load_floats<N>(s.other, row, column, z);
            each_neighbour<N>([&](u32 i) { x[i] *= derivative(s.activation, p, z[i]); });
            break;
        default: {  // STEP_DROPOUT
            uint4 words = make_uint4(0, 0, 0, 0);
            each_neighbour<N>([&](u32 i) {
                if (i % 4 == 0) words = philox(s.seed, s.draw, row, (column + i) / 4);
                // Not a product: what is dropped is zero, be it infinite or no number.
                x[i] = philox_word(words, i) >= s.threshold ? x[i] * p : 0.0f;
            });
            break;
        }
    }
}

template <u32 N> BG_DEVICE void map_vectors(const MapVectorsParams& p) {
    const u32 pack = blockIdx.x * blockDim.x + threadIdx.x;
    if (pack >= p.packs) return;
    const u64 row = pack / p.row_packs;
    const u32 column = pack % p.row_packs * N;
    f32 x[N];
    load_floats<N>(p.x, row, column, x);
    for (u32 k = 0; k < p.epilogue.count; k++) vector_step<N>(p.epilogue.steps[k], row, column, x);
    store_floats<N>(p.y, row, column, x);
}
}  // namespace bg

BG_KERNEL(map_vectors_4, bg::MapVectorsParams, 256, 6) { bg::map_vectors<4>(p); }
BG_KERNEL(map_vectors_8, bg::MapVectorsParams, 256, 4) { bg::map_vectors<8>(p); }
