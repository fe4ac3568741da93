// The elements of a dense matrix through an epilogue, which without steps converts them.
#include "tensor/dense.cuh"
#include "tensor/epilogue.cuh"

namespace bg {
struct MapParams {
    DenseWork work;
    TensorView x;
    TensorOut y;
    TensorEpilogue epilogue;
};

/// Elements of a type known at run time, one at a time.
template <class R> BG_DEVICE void map_any(const MapParams& p) {
    const DenseTask<1> task(p.work);
    if (!task.valid) return;
    R x[LANE_COLUMNS];
    load_columns_as(p.x, task.row, task.columns, x);
    finish(p.epilogue, task.row, task.columns, x);
    store_columns(p.y, task.row, task.columns, x);
}
/// Elements that lie so that several can be read at once.
template <class T, u32 N> BG_DEVICE void map_packs(const MapParams& p) {
    const DenseTask<N> task(p.work);
    if (!task.valid) return;
    f32 x[LANE_COLUMNS];
    load_columns<T>(p.x, task.row, task.columns, x);
    finish(p.epilogue, task.row, task.columns, x);
    store_columns(p.y, task.row, task.columns, x);
}
}  // namespace bg

BG_KERNEL(map_f32, bg::MapParams, 256, 2) { bg::map_any<f32>(p); }
BG_KERNEL(map_f64, bg::MapParams, 256, 2) { bg::map_any<f64>(p); }
BG_KERNEL(map_f32_x4, bg::MapParams, 256, 2) { bg::map_packs<f32, 4>(p); }
BG_KERNEL(map_f16_x8, bg::MapParams, 256, 2) { bg::map_packs<bg::f16, 8>(p); }
BG_KERNEL(map_bf16_x8, bg::MapParams, 256, 2) { bg::map_packs<bg::bf16, 8>(p); }
