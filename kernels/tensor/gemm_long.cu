// Dense products of a tall matrix with a small one by tensor cores: of up to 64 or 128 columns, and of sums of up to as many terms.
#include "tensor/gemm_long.cuh"

BG_KERNEL(gemm_long_f32_64_64, bg::GemmLongParams, 384, 1) { bg::LongRows<f32, 8, 64>(p).run(); }
BG_KERNEL(gemm_long_f32_64_128, bg::GemmLongParams, 384, 1) { bg::LongRows<f32, 8, 128>(p).run(); }
BG_KERNEL(gemm_long_f32_128_64, bg::GemmLongParams, 384, 1) { bg::LongRows<f32, 16, 64>(p).run(); }
BG_KERNEL(gemm_long_f32_128_128, bg::GemmLongParams, 384, 1) { bg::LongRows<f32, 16, 128>(p).run(); }
BG_KERNEL(gemm_long_f16_64_128, bg::GemmLongParams, 256, 2) { bg::LongRows<bg::f16, 8, 128>(p).run(); }
BG_KERNEL(gemm_long_f16_128_128, bg::GemmLongParams, 256, 2) { bg::LongRows<bg::f16, 16, 128>(p).run(); }
BG_KERNEL(gemm_long_bf16_64_128, bg::GemmLongParams, 256, 2) { bg::LongRows<bg::bf16, 8, 128>(p).run(); }
BG_KERNEL(gemm_long_bf16_128_128, bg::GemmLongParams, 256, 2) { bg::LongRows<bg::bf16, 16, 128>(p).run(); }
