// Sums of rows of signs, for lines of one, two or four words a lane, and the thresholds and classes that they go by.
#include "tensor/bits_aggregate.cuh"

namespace bg {
BG_KERNEL(bits_aggregate_1x1, BitsAggregateParams, 256, 4) { bits_aggregate<1, 1, false>(p); }
BG_KERNEL(bits_aggregate_1x8, BitsAggregateParams, 256, 4) { bits_aggregate<1, 8, false>(p); }
BG_KERNEL(bits_aggregate_2x1, BitsAggregateParams, 256, 4) { bits_aggregate<2, 1, false>(p); }
BG_KERNEL(bits_aggregate_2x8, BitsAggregateParams, 256, 4) { bits_aggregate<2, 8, false>(p); }
BG_KERNEL(bits_aggregate_4x1, BitsAggregateParams, 256, 2) { bits_aggregate<4, 1, false>(p); }
BG_KERNEL(bits_aggregate_4x2, BitsAggregateParams, 256, 2) { bits_aggregate<4, 2, false>(p); }
BG_KERNEL(bits_aggregate_4x4, BitsAggregateParams, 256, 2) { bits_aggregate<4, 4, false>(p); }
BG_KERNEL(bits_aggregate_4x8, BitsAggregateParams, 256, 2) { bits_aggregate<4, 8, false>(p); }

// Signs alone, of fewer registers, for matrices that have enough rows to use more resident blocks.
BG_KERNEL(bits_signs_4x1, BitsAggregateParams, 256, 3) { bits_aggregate<4, 1, true>(p); }
BG_KERNEL(bits_signs_4x2, BitsAggregateParams, 256, 3) { bits_aggregate<4, 2, true>(p); }
BG_KERNEL(bits_signs_4x4, BitsAggregateParams, 256, 3) { bits_aggregate<4, 4, true>(p); }
BG_KERNEL(bits_signs_4x8, BitsAggregateParams, 256, 3) { bits_aggregate<4, 8, true>(p); }

struct BitsThresholds {
    const i32* thresholds;
    i32* clamped;     // to what sums can be, and one beyond
    u32* planes;      // `plane_count` of `stride` words each
    u32 columns;
    u32 stride;
    u32 plane_count;
    u32 offset;       // a power of two; the planes hold the threshold and this
    i32 largest;      // sum that there can be
    u32 unused;
};

/// A warp for each word of columns.
BG_KERNEL(bits_thresholds, BitsThresholds, 256, 4) {
    const u32 warps = blockDim.x / WARP;
    for (u32 word = blockIdx.x * warps + threadIdx.x / WARP; word < p.stride; word += gridDim.x * warps) {
        const u32 column = word * 32 + lane();
        i32 threshold = 0;
        if (column < p.columns) {
            // Every sum is at least the smallest, and none is above the largest.
            threshold = min_of(max_of(load_readonly(p.thresholds + column), -p.largest), p.largest + 1);
            p.clamped[column] = threshold;
        }
        const u32 number = (u32)threshold + p.offset;
        for (u32 plane = 0; plane < p.plane_count; plane++) {
            const u32 bits = ballot((number >> plane & 1u) != 0);
            if (lane() == 0) p.planes[(u64)plane * p.stride + word] = bits;
        }
    }
}

struct BitsClasses {
    const u32* offsets;
    const u32* order;   // rows, longest first
    u32* pieces;        // by place: pieces of the row; 0 unless it is cut. After a scan: the first of them
    u32* ends;          // rows of more entries than each limit
    uint4* piece;
    uint4* cut;
    u32 limits[4];      // entries of a piece, and of rows of the last three classes
    u32 rows;
    u32 unused;
};

BG_KERNEL(bits_classes_count, BitsClasses, 256, 4) {
    for (u32 base = blockIdx.x * blockDim.x; base < p.rows; base += gridDim.x * blockDim.x) {
        const u32 place = base + threadIdx.x;
        u32 length = 0;
        if (place < p.rows) {
            const u32 row = p.order[place];
            length = p.offsets[row + 1] - p.offsets[row];
            p.pieces[place] = length > bits::PIECE ? ceil_div(length, bits::PIECE) : 0;
        }
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            const u32 longer = ballot(length > p.limits[i]);
            if (lane() == 0 && longer) reduce_add(p.ends + i, (u32)__popc(longer));
        }
    }
}

BG_KERNEL(bits_classes_fill, BitsClasses, 256, 4) {
    for (u32 place = blockIdx.x * blockDim.x + threadIdx.x; place < p.rows; place += gridDim.x * blockDim.x) {
        const u32 first = p.pieces[place], count = p.pieces[place + 1] - first;
        if (count == 0) continue;
        const u32 row = p.order[place], begin = p.offsets[row], length = p.offsets[row + 1] - begin;
        for (u32 k = 0; k < count; k++) {
            const u32 from = k * bits::PIECE;
            p.piece[first + k] = make_uint4(row, begin + from, begin + min_of(from + bits::PIECE, length), place);
        }
        p.cut[place] = make_uint4(first, count, length, row);
    }
}
}  // namespace bg
