// Dense products with a long side by tensor cores: a tall matrix times a small one of up to 64 and of up to 128 columns, and a tall one's transpose
// times another.
#include "tensor/gemm_long.cuh"

BG_KERNEL(gemm_long_f32_64, bg::GemmLongParams, 256, 1) { bg::LongRows<f32, 8>(p).run(); }
BG_KERNEL(gemm_long_f32_128, bg::GemmLongParams, 256, 1) { bg::LongRows<f32, 16>(p).run(); }
BG_KERNEL(gemm_long_f16_64, bg::GemmLongParams, 256, 2) { bg::LongRows<bg::f16, 8>(p).run(); }
BG_KERNEL(gemm_long_f16_128, bg::GemmLongParams, 256, 2) { bg::LongRows<bg::f16, 16>(p).run(); }
BG_KERNEL(gemm_long_bf16_64, bg::GemmLongParams, 256, 2) { bg::LongRows<bg::bf16, 8>(p).run(); }
BG_KERNEL(gemm_long_bf16_128, bg::GemmLongParams, 256, 2) { bg::LongRows<bg::bf16, 16>(p).run(); }
BG_KERNEL(gemm_long_columns, bg::GemmLongParams, 256, 1) { bg::LongColumns(p).run(); }
BG_KERNEL(gemm_long_merge, bg::GemmLongParams, 256, 2) { bg::long_merge(p); }
