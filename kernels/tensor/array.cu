// Elements as bytes: arrays of one value, and rows moved next to each other.
#include "common/memory.cuh"

namespace bg {
struct FillElementsParams {
    void* data;
    u64 n;
    u64 value;  // the element's bytes, the first of them lowest
    u32 bytes, reserved;
};
/// Copies rows that are `stride` elements apart to rows without gaps.
struct PackRowsParams {
    const void* from;
    void* to;
    u64 rows, columns, stride;
    u32 bytes, reserved;
};

template <class T> BG_DEVICE void fill_elements(const FillElementsParams& p) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += (u64)gridDim.x * blockDim.x) ((T*)p.data)[i] = (T)p.value;
}
template <class T> BG_DEVICE void pack_rows(const PackRowsParams& p) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.rows * p.columns; i += (u64)gridDim.x * blockDim.x) {
        ((T*)p.to)[i] = load_readonly((const T*)p.from + i / p.columns * p.stride + i % p.columns);
    }
}
}  // namespace bg

BG_KERNEL(tensor_fill, bg::FillElementsParams, 256, 4) {
    switch (p.bytes) {
        case 1: bg::fill_elements<u8>(p); break;
        case 2: bg::fill_elements<u16>(p); break;
        case 4: bg::fill_elements<u32>(p); break;
        default: bg::fill_elements<u64>(p); break;
    }
}
BG_KERNEL(tensor_pack, bg::PackRowsParams, 256, 4) {
    switch (p.bytes) {
        case 1: bg::pack_rows<u8>(p); break;
        case 2: bg::pack_rows<u16>(p); break;
        case 4: bg::pack_rows<u32>(p); break;
        default: bg::pack_rows<u64>(p); break;
    }
}
