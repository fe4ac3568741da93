// The general forms of attention that are compiled ahead: of the usual types. Those of others are compiled at their first use.
#include "tensor/attention_general.cuh"

BG_KERNEL(attention_merge_f32, bg::AttentionParams, 256, 2) { bg::attention_merge<f32>(p); }
BG_KERNEL(attention_merge_f64, bg::AttentionParams, 256, 2) { bg::attention_merge<f64>(p); }

BG_ATTENTION_PLAIN(f32, f32, 4, attention_plain_f32_f32_x4)
BG_ATTENTION_PLAIN(f32, f32, 1, attention_plain_f32_f32_x1)
BG_ATTENTION_SUMMED(f32, f32, 4, attention_summed_f32_f32_x4)
BG_ATTENTION_SUMMED(f32, f32, 1, attention_summed_f32_f32_x1)

BG_ATTENTION_PLAIN(bg::f16, f32, 8, attention_plain_f16_f32_x8)
BG_ATTENTION_PLAIN(bg::f16, f32, 1, attention_plain_f16_f32_x1)
BG_ATTENTION_SUMMED(bg::f16, f32, 8, attention_summed_f16_f32_x8)
BG_ATTENTION_SUMMED(bg::f16, f32, 1, attention_summed_f16_f32_x1)

BG_ATTENTION_PLAIN(bg::bf16, f32, 8, attention_plain_bf16_f32_x8)
BG_ATTENTION_PLAIN(bg::bf16, f32, 1, attention_plain_bf16_f32_x1)
BG_ATTENTION_SUMMED(bg::bf16, f32, 8, attention_summed_bf16_f32_x8)
BG_ATTENTION_SUMMED(bg::bf16, f32, 1, attention_summed_bf16_f32_x1)
