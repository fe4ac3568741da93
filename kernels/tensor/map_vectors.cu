// The elements of a dense matrix through an epilogue whose operands are floats that lie as the elements do: a thread takes neighbours of a row
// and keeps them in registers through all steps.
#include "tensor/vector_steps.cuh"

namespace bg {
struct MapVectorsParams {
    TensorView x;
    TensorOut y;
    TensorEpilogue epilogue;
    u32 packs;      // of the matrix
    u32 row_packs;  // of a row
};

template <u32 N> BG_DEVICE void map_vectors(const MapVectorsParams& p) {
    const u32 pack = blockIdx.x * blockDim.x + threadIdx.x;
    if (pack >= p.packs) return;
    const u64 row = pack / p.row_packs;
    const u32 column = pack % p.row_packs * N;
    f32 x[1][N];
    load_floats<N>(p.x, row, column, x[0]);
    finish_vectors(p.epilogue, p.y, RowsOf{row, row, 0}, column, x);
}
}  // namespace bg

BG_KERNEL(map_vectors_4, bg::MapVectorsParams, 256, 6) { bg::map_vectors<4>(p); }
BG_KERNEL(map_vectors_8, bg::MapVectorsParams, 256, 4) { bg::map_vectors<8>(p); }
