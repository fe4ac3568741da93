// Attention by two rows of features of several heads, over rows in the order of their lengths: tensor/attention_pair_groups.cuh.
//
// Entries in flight and blocks of a multiprocessor are measured (H200): four and 24 warps where registers allow it, else two and 28 or 32, which cosines
// and rows of a whole warp are .8 to 1.0 of the time with.
#include "tensor/attention_pair_groups.cuh"

namespace bg {
BG_KERNEL(attention_dot_heads_f16_64, PairParams, 128, 6) { pair_groups<DOT_SCORE, f16, 8, 8, true, 4>(p); }
BG_KERNEL(attention_dot_heads_f16_128, PairParams, 128, 6) { pair_groups<DOT_SCORE, f16, 8, 16, true, 4>(p); }
BG_KERNEL(attention_dot_heads_f16_256, PairParams, 128, 7) { pair_groups<DOT_SCORE, f16, 8, 32, true, 2>(p); }
BG_KERNEL(attention_dot_heads_bf16_64, PairParams, 128, 6) { pair_groups<DOT_SCORE, bf16, 8, 8, true, 4>(p); }
BG_KERNEL(attention_dot_heads_bf16_128, PairParams, 128, 6) { pair_groups<DOT_SCORE, bf16, 8, 16, true, 4>(p); }
BG_KERNEL(attention_dot_heads_bf16_256, PairParams, 128, 7) { pair_groups<DOT_SCORE, bf16, 8, 32, true, 2>(p); }
BG_KERNEL(attention_dot_heads_f32_64, PairParams, 128, 6) { pair_groups<DOT_SCORE, f32, 4, 16, true, 4>(p); }
BG_KERNEL(attention_dot_heads_f32_128, PairParams, 128, 8) { pair_groups<DOT_SCORE, f32, 4, 32, true, 2>(p); }
BG_KERNEL(attention_cosine_heads_f16_64, PairParams, 128, 7) { pair_groups<COSINE_SCORE, f16, 8, 8, true, 2>(p); }
BG_KERNEL(attention_cosine_heads_f16_128, PairParams, 128, 7) { pair_groups<COSINE_SCORE, f16, 8, 16, true, 2>(p); }
BG_KERNEL(attention_cosine_heads_f16_256, PairParams, 128, 7) { pair_groups<COSINE_SCORE, f16, 8, 32, true, 2>(p); }
BG_KERNEL(attention_cosine_heads_bf16_64, PairParams, 128, 7) { pair_groups<COSINE_SCORE, bf16, 8, 8, true, 2>(p); }
BG_KERNEL(attention_cosine_heads_bf16_128, PairParams, 128, 7) { pair_groups<COSINE_SCORE, bf16, 8, 16, true, 2>(p); }
BG_KERNEL(attention_cosine_heads_bf16_256, PairParams, 128, 7) { pair_groups<COSINE_SCORE, bf16, 8, 32, true, 2>(p); }
BG_KERNEL(attention_cosine_heads_f32_64, PairParams, 128, 7) { pair_groups<COSINE_SCORE, f32, 4, 16, true, 2>(p); }
BG_KERNEL(attention_cosine_heads_f32_128, PairParams, 128, 8) { pair_groups<COSINE_SCORE, f32, 4, 32, true, 2>(p); }
BG_KERNEL(attention_sum_heads_f16_64, PairParams, 128, 5) { pair_groups<SUM_SCORE, f16, 8, 8, true, 4>(p); }
BG_KERNEL(attention_sum_heads_f16_128, PairParams, 128, 5) { pair_groups<SUM_SCORE, f16, 8, 16, true, 4>(p); }
BG_KERNEL(attention_sum_heads_f16_256, PairParams, 128, 7) { pair_groups<SUM_SCORE, f16, 8, 32, true, 2>(p); }
BG_KERNEL(attention_sum_heads_bf16_64, PairParams, 128, 5) { pair_groups<SUM_SCORE, bf16, 8, 8, true, 4>(p); }
BG_KERNEL(attention_sum_heads_bf16_128, PairParams, 128, 5) { pair_groups<SUM_SCORE, bf16, 8, 16, true, 4>(p); }
BG_KERNEL(attention_sum_heads_bf16_256, PairParams, 128, 7) { pair_groups<SUM_SCORE, bf16, 8, 32, true, 2>(p); }
BG_KERNEL(attention_sum_heads_f32_64, PairParams, 128, 5) { pair_groups<SUM_SCORE, f32, 4, 16, true, 4>(p); }
BG_KERNEL(attention_sum_heads_f32_128, PairParams, 128, 7) { pair_groups<SUM_SCORE, f32, 4, 32, true, 2>(p); }
}  // namespace bg
