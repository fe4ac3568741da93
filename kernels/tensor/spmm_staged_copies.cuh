// How blocks of rows that share columns are worked on: a block of threads takes slices of blocks one after the other, and copies the rows of
// features that a slice needs into shared memory while others, or it itself, add up.
#pragma once
#include "tensor/copies_ahead.cuh"
#include "tensor/spmm.cuh"
#include "tensor/spmm_staged.cuh"

namespace bg {
struct StagedParams {
    SpmmOperands operands;
    const u32* offsets;
    const u32* indices;
    const u32* words;   // the blocks
    const u32* begins;  // where each begins and the last ends, in 16 bytes
    u32 blocks;
    u32 slices;         // of 128 bytes
    u32 capacity;       // columns of a block at most
    u32 most_words;     // of a block
};

/// Items that a block of threads takes, one after the other: a slice of a block of rows each. Divides once.
struct StagedItems {
    u32 block, slice, block_step, slice_step, slices;
    BG_DEVICE explicit StagedItems(const StagedParams& p)
        : block(blockIdx.x / p.slices), slice(blockIdx.x % p.slices), block_step(gridDim.x / p.slices), slice_step(gridDim.x % p.slices), slices(p.slices) {}
    BG_DEVICE void next() {
        block += block_step;
        slice += slice_step;
        if (slice >= slices) {
            slice -= slices;
            block++;
        }
    }
};

/// The copies of a block of threads. SWIZZLED: the 16 bytes of piece i of row r lie at i ^ r % 8.
template <class T, u32 BUFFERS, u32 THREADS, bool SWIZZLED>
struct StagedCopies : CopiesAhead<StagedCopies<T, BUFFERS, THREADS, SWIZZLED>, BUFFERS, THREADS> {
    static constexpr u32 PIECE = PerLane<T>::value, SLICE = 8 * PIECE;
    const StagedParams& p;
    u8* rows;
    StagedItems looked, copied, added;

    BG_DEVICE explicit StagedCopies(const StagedParams& p)
        : CopiesAhead<StagedCopies, BUFFERS, THREADS>(shared_memory() + (u64)BUFFERS * p.capacity * staged::SLICE_BYTES), p(p), rows(shared_memory()), looked(p), copied(p), added(p) {
        const u32 items = p.blocks * p.slices;
        this->count = blockIdx.x < items ? ceil_div(items - blockIdx.x, gridDim.x) : 0;
    }
    /// The rows of features of item k.
    BG_DEVICE const u8* rows_of(u32 k) const { return rows + (u64)(k % BUFFERS) * p.capacity * staged::SLICE_BYTES; }
    /// The first column of the features of the item that is added, once for each item.
    BG_DEVICE u32 first_column() {
        const u32 slice = added.slice;
        added.next();
        return slice * SLICE;
    }
    BG_DEVICE void look_up(u32 k) {
        if (k >= this->count) return;
        this->begin = load_readonly(p.begins + looked.block);
        this->end = load_readonly(p.begins + looked.block + 1);
        looked.next();
    }
    BG_DEVICE void copy_rows(u32 k) {
        if (k >= this->count) return;
        const u32* from = this->record(k);
        const u32 first = threadIdx.x / 8, piece = threadIdx.x & 7u, at = copied.slice * SLICE + piece * PIECE, columns = from[staged::COLUMN_COUNT];
        copied.next();
        if (at >= p.operands.columns) return;
        u8* to = rows + (u64)(k % BUFFERS) * p.capacity * staged::SLICE_BYTES + first * staged::SLICE_BYTES + ((SWIZZLED ? piece ^ (first & 7u) : piece) << 4);
        const T* x = (const T*)p.operands.features + at;
        from += staged::COLUMNS_AT;
#pragma unroll 4
        for (u32 i = first; i < columns; i += THREADS / 8, to += THREADS / 8 * staged::SLICE_BYTES)
            copy_async16(to, x + (u64)from[i] * p.operands.columns);
    }
};
}  // namespace bg
