// Attention by two rows of features of one head, over rows in the order of their lengths: tensor/attention_pair_groups.cuh.
//
// Entries in flight and blocks of a multiprocessor are measured (H200): four and 24 warps where registers allow it, else two and 28 or 32, which cosines
// and rows of a whole warp are .8 to 1.0 of the time with.
#include "tensor/attention_pair_groups.cuh"

namespace bg {
BG_KERNEL(attention_dot_rows_f16_64, PairParams, 128, 6) { pair_groups<DOT_SCORE, f16, 8, 8, false, 4>(p); }
BG_KERNEL(attention_dot_rows_f16_128, PairParams, 128, 6) { pair_groups<DOT_SCORE, f16, 8, 16, false, 4>(p); }
BG_KERNEL(attention_dot_rows_f16_256, PairParams, 128, 7) { pair_groups<DOT_SCORE, f16, 8, 32, false, 2>(p); }
BG_KERNEL(attention_dot_rows_bf16_64, PairParams, 128, 6) { pair_groups<DOT_SCORE, bf16, 8, 8, false, 4>(p); }
BG_KERNEL(attention_dot_rows_bf16_128, PairParams, 128, 6) { pair_groups<DOT_SCORE, bf16, 8, 16, false, 4>(p); }
BG_KERNEL(attention_dot_rows_bf16_256, PairParams, 128, 7) { pair_groups<DOT_SCORE, bf16, 8, 32, false, 2>(p); }
BG_KERNEL(attention_dot_rows_f32_64, PairParams, 128, 6) { pair_groups<DOT_SCORE, f32, 4, 16, false, 4>(p); }
BG_KERNEL(attention_dot_rows_f32_128, PairParams, 128, 8) { pair_groups<DOT_SCORE, f32, 4, 32, false, 2>(p); }
BG_KERNEL(attention_cosine_rows_f16_64, PairParams, 128, 7) { pair_groups<COSINE_SCORE, f16, 8, 8, false, 2>(p); }
BG_KERNEL(attention_cosine_rows_f16_128, PairParams, 128, 7) { pair_groups<COSINE_SCORE, f16, 8, 16, false, 2>(p); }
BG_KERNEL(attention_cosine_rows_f16_256, PairParams, 128, 7) { pair_groups<COSINE_SCORE, f16, 8, 32, false, 2>(p); }
BG_KERNEL(attention_cosine_rows_bf16_64, PairParams, 128, 7) { pair_groups<COSINE_SCORE, bf16, 8, 8, false, 2>(p); }
BG_KERNEL(attention_cosine_rows_bf16_128, PairParams, 128, 7) { pair_groups<COSINE_SCORE, bf16, 8, 16, false, 2>(p); }
BG_KERNEL(attention_cosine_rows_bf16_256, PairParams, 128, 7) { pair_groups<COSINE_SCORE, bf16, 8, 32, false, 2>(p); }
BG_KERNEL(attention_cosine_rows_f32_64, PairParams, 128, 7) { pair_groups<COSINE_SCORE, f32, 4, 16, false, 2>(p); }
BG_KERNEL(attention_cosine_rows_f32_128, PairParams, 128, 8) { pair_groups<COSINE_SCORE, f32, 4, 32, false, 2>(p); }
BG_KERNEL(attention_sum_rows_f16_64, PairParams, 128, 6) { pair_groups<SUM_SCORE, f16, 8, 8, false, 4>(p); }
BG_KERNEL(attention_sum_rows_f16_128, PairParams, 128, 6) { pair_groups<SUM_SCORE, f16, 8, 16, false, 4>(p); }
BG_KERNEL(attention_sum_rows_f16_256, PairParams, 128, 7) { pair_groups<SUM_SCORE, f16, 8, 32, false, 2>(p); }
BG_KERNEL(attention_sum_rows_bf16_64, PairParams, 128, 6) { pair_groups<SUM_SCORE, bf16, 8, 8, false, 4>(p); }
BG_KERNEL(attention_sum_rows_bf16_128, PairParams, 128, 6) { pair_groups<SUM_SCORE, bf16, 8, 16, false, 4>(p); }
BG_KERNEL(attention_sum_rows_bf16_256, PairParams, 128, 7) { pair_groups<SUM_SCORE, bf16, 8, 32, false, 2>(p); }
BG_KERNEL(attention_sum_rows_f32_64, PairParams, 128, 6) { pair_groups<SUM_SCORE, f32, 4, 16, false, 4>(p); }
BG_KERNEL(attention_sum_rows_f32_128, PairParams, 128, 7) { pair_groups<SUM_SCORE, f32, 4, 32, false, 2>(p); }
}  // namespace bg
