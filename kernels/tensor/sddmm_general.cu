// The general products sampled at entries that are compiled ahead: of the usual types. Those of others are compiled at their first use.
#include "tensor/sddmm_general.cuh"

BG_KERNEL(sddmm_pairs_f32, bg::SddmmParams, 256, 2) { bg::sddmm_pairs<f32>(p); }
BG_KERNEL(sddmm_pairs_f64, bg::SddmmParams, 256, 2) { bg::sddmm_pairs<f64>(p); }
BG_SDDMM_DOT(f32, f32, 4, sddmm_dot_f32_f32_x4)
BG_SDDMM_DOT(f32, f32, 1, sddmm_dot_f32_f32_x1)
BG_SDDMM_DOT(bg::f16, f32, 8, sddmm_dot_f16_f32_x8)
BG_SDDMM_DOT(bg::f16, f32, 1, sddmm_dot_f16_f32_x1)
BG_SDDMM_DOT(bg::bf16, f32, 8, sddmm_dot_bf16_f32_x8)
BG_SDDMM_DOT(bg::bf16, f32, 1, sddmm_dot_bf16_f32_x1)
