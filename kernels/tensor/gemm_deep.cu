// Dense products of long sums by tensor cores, in tiles of up to 64 or 128 rows and columns.
#include "tensor/gemm_deep.cuh"

BG_KERNEL(gemm_deep_64_64, bg::GemmDeepParams, 128, 3) { bg::DeepTile<2, 2, 1>::all(p); }
BG_KERNEL(gemm_deep_64_128, bg::GemmDeepParams, 256, 1) { bg::DeepTile<2, 4, 1>::all(p); }
BG_KERNEL(gemm_deep_128_64, bg::GemmDeepParams, 256, 1) { bg::DeepTile<4, 2, 1>::all(p); }
BG_KERNEL(gemm_deep_128_128, bg::GemmDeepParams, 256, 1) { bg::DeepTile<2, 4, 2>::all(p); }
BG_KERNEL(gemm_deep_merge, bg::GemmDeepParams, 256, 2) { bg::gemm_deep_merge(p); }
