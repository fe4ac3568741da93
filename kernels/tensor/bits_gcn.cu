// Inference over signs in one launch: the first layer's sums of signs or of floats; the features as bits or as lists of ones; rows by numbers of
// 16 or 32 bits.
#include "tensor/bits_gcn.cuh"

namespace bg {
BG_KERNEL(bits_gcn_signs_bits_16, BitsGcnParams, 1024, 1) { bits_gcn<false, false, u16>(p); }
BG_KERNEL(bits_gcn_signs_bits_32, BitsGcnParams, 1024, 1) { bits_gcn<false, false, u32>(p); }
BG_KERNEL(bits_gcn_signs_lists_16, BitsGcnParams, 1024, 1) { bits_gcn<false, true, u16>(p); }
BG_KERNEL(bits_gcn_signs_lists_32, BitsGcnParams, 1024, 1) { bits_gcn<false, true, u32>(p); }
BG_KERNEL(bits_gcn_floats_bits_16, BitsGcnParams, 1024, 1) { bits_gcn<true, false, u16>(p); }
BG_KERNEL(bits_gcn_floats_bits_32, BitsGcnParams, 1024, 1) { bits_gcn<true, false, u32>(p); }
BG_KERNEL(bits_gcn_floats_lists_16, BitsGcnParams, 1024, 1) { bits_gcn<true, true, u16>(p); }
BG_KERNEL(bits_gcn_floats_lists_32, BitsGcnParams, 1024, 1) { bits_gcn<true, true, u32>(p); }
}  // namespace bg
