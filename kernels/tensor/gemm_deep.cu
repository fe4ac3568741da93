// Dense products of long sums by tensor cores, in tiles of up to 64 or 128 rows and columns.
#include "tensor/gemm_deep.cuh"

BG_KERNEL(gemm_deep_64_64, bg::GemmDeepParams, 128, 3) { bg::gemm_deep<1, 8, bg::DeepWarps<2, 2, 1>>(p); }
BG_KERNEL(gemm_deep_64_128, bg::GemmDeepParams, 128, 2) { bg::gemm_deep<1, 16, bg::DeepWarps<1, 4, 2>>(p); }
BG_KERNEL(gemm_deep_128_64, bg::GemmDeepParams, 256, 2) { bg::gemm_deep<2, 8, bg::DeepWarps<4, 2, 1>>(p); }
BG_KERNEL(gemm_deep_128_128, bg::GemmDeepParams, 256, 1) { bg::gemm_deep<2, 16, bg::DeepWarps<2, 4, 2>>(p); }
BG_KERNEL(gemm_deep_merge, bg::GemmDeepParams, 1024, 1) { bg::gemm_deep_merge(p); }
