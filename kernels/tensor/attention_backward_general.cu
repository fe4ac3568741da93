// The kernels of attention's general backward pass that are compiled ahead: of the usual types. Those of others are compiled at their first
// use.
#include "tensor/attention_backward_general.cuh"

BG_KERNEL(additive_gradient_f32, bg::AttentionEntriesParams, 256, 2) { bg::additive_gradient<f32>(p); }
BG_KERNEL(additive_gradient_f64, bg::AttentionEntriesParams, 256, 2) { bg::additive_gradient<f64>(p); }
BG_KERNEL(cosine_rows_f32, bg::CosineRowsParams, 256, 2) { bg::cosine_rows<f32>(p); }
BG_KERNEL(cosine_rows_f64, bg::CosineRowsParams, 256, 2) { bg::cosine_rows<f64>(p); }

BG_ATTENTION_ENTRIES(f32, f32, 4, entries_plain_f32_f32_x4, entries_summed_f32_f32_x4, cosine_gradient_f32_f32_x4, leaky_rows_f32_f32_x4)
BG_ATTENTION_ENTRIES(f32, f32, 1, entries_plain_f32_f32_x1, entries_summed_f32_f32_x1, cosine_gradient_f32_f32_x1, leaky_rows_f32_f32_x1)
BG_ATTENTION_ENTRIES(bg::f16, f32, 8, entries_plain_f16_f32_x8, entries_summed_f16_f32_x8, cosine_gradient_f16_f32_x8, leaky_rows_f16_f32_x8)
BG_ATTENTION_ENTRIES(bg::f16, f32, 1, entries_plain_f16_f32_x1, entries_summed_f16_f32_x1, cosine_gradient_f16_f32_x1, leaky_rows_f16_f32_x1)
BG_ATTENTION_ENTRIES(bg::bf16, f32, 8, entries_plain_bf16_f32_x8, entries_summed_bf16_f32_x8, cosine_gradient_bf16_f32_x8, leaky_rows_bf16_f32_x8)
BG_ATTENTION_ENTRIES(bg::bf16, f32, 1, entries_plain_bf16_f32_x1, entries_summed_bf16_f32_x1, cosine_gradient_bf16_f32_x1, leaky_rows_bf16_f32_x1)
