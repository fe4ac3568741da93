// Batches over codes of up to 1, 2, 4 and 8 bits.
#include "tensor/bits_batches.cuh"

namespace bg {
BG_KERNEL(bits_batches_1, BitsBatchesParams, 256, 4) { bits_batches<1>(p); }
BG_KERNEL(bits_batches_2, BitsBatchesParams, 256, 4) { bits_batches<2>(p); }
BG_KERNEL(bits_batches_4, BitsBatchesParams, 256, 4) { bits_batches<4>(p); }
BG_KERNEL(bits_batches_8, BitsBatchesParams, 256, 4) { bits_batches<8>(p); }
}  // namespace bg
