// The general dense products that are compiled ahead: of the usual types. Those of others are compiled at their first use.
#include "tensor/gemm_general.cuh"

BG_KERNEL(gemm_merge_f32, bg::GemmParams, 256, 2) { bg::gemm_merge<f32>(p); }
BG_KERNEL(gemm_merge_f64, bg::GemmParams, 256, 2) { bg::gemm_merge<f64>(p); }
BG_KERNEL(gemm_merge_i32, bg::GemmParams, 256, 2) { bg::gemm_merge<i32>(p); }
BG_GEMM(f32, f32, gemm_f32_f32)
BG_GEMM(bg::f16, f32, gemm_f16_f32)
BG_GEMM(bg::bf16, f32, gemm_bf16_f32)
BG_GEMM(f64, f64, gemm_f64_f64)
