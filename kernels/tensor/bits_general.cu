// The general kernels of matrices of few bits: one of each, for every combination of types, steps, epilogues and results.
#include "tensor/bits_general.cuh"

BG_KERNEL(bits_pack_general, bg::BitsPackGeneral, 256, 4) { bg::bits_pack_any(p); }
BG_KERNEL(bits_unpack_general, bg::BitsUnpackGeneral, 256, 4) { bg::bits_unpack_any(p); }
BG_KERNEL(bits_means_general, bg::BitsMeansGeneral, 256, 4) { bg::bits_means_any(p); }
BG_KERNEL(bits_line_sums, bg::BitsLineSums, 256, 4) { bg::bits_line_sums_any(p); }
BG_KERNEL(bits_gemm_general, bg::BitsGemmGeneral, 256, 2) { bg::bits_gemm_any(p); }
BG_KERNEL(bits_spmm_general, bg::BitsSpmmGeneral, 256, 2) { bg::bits_spmm_any(p); }
BG_KERNEL(bits_fold, bg::BitsFold, 256, 2) { bg::bits_fold_any(p); }
