// Products of small matrices: everything that lanes need of a row lies in records of 64 bytes, so that a result waits for two loads that
// depend on each other, and not for three. The parts of a row that has more entries than a record lie in one block and meet in shared
// memory; where a row has more entries than a block's records hold, its parts take the rest from the matrix.
#pragma once
#include "tensor/spmm.cuh"

namespace bg {
/// As it is stored; a record of zeros is no row's.
struct SpmmRecord {
    u32 row;
    u32 shape;  // entries, the row's parts << 8, which of them this is << 16, whether the row has more << 31
    u32 columns[spmm::RECORD_ENTRIES];
};
constexpr u32 RECORD_MORE = 0x80000000u;

struct SpmmRecordsParams {
    SpmmOperands operands;
    const u32* offsets;
    const u32* indices;
    const uint4* records;  // four for each
    u32 record_count;      // a multiple of those of a block
    u32 unused;
};

/// VECTOR elements of a row of features for each of LANES lanes, which are all of the row's. Values of entries are not taken.
template <class T, u32 LANES, bool WEIGHTED> BG_DEVICE void spmm_records(const SpmmRecordsParams& p) {
    constexpr u32 VECTOR = PerLane<T>::value, SLICE = VECTOR * LANES;
    f32* shared = (f32*)shared_memory();
    const u32 group = threadIdx.x / LANES, l = threadIdx.x % LANES, index = blockIdx.x * (blockDim.x / LANES) + group;
    const u32 column = l * VECTOR, width = p.operands.columns;
    uint4 words[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) words[i] = load_readonly(p.records + (u64)index * 4 + i);
    const u32 columns[spmm::RECORD_ENTRIES] = {words[0].z, words[0].w, words[1].x, words[1].y, words[1].z, words[1].w, words[2].x,
                                               words[2].y, words[2].z, words[2].w, words[3].x, words[3].y, words[3].z, words[3].w};
    const u32 row = words[0].x, count = words[0].y & 255u, parts = words[0].y >> 8 & 255u, part = words[0].y >> 16 & 255u;
    const bool active = column < width;
    const T* x = (const T*)p.operands.features + column;
    uint4 rows[spmm::RECORD_ENTRIES];
    f32 weights[spmm::RECORD_ENTRIES];
#pragma unroll
    for (u32 i = 0; i < spmm::RECORD_ENTRIES; i++)
        rows[i] = active && i < count ? load_raw<T, VECTOR>(x + (u64)columns[i] * width) : make_uint4(0, 0, 0, 0);
    if constexpr (WEIGHTED) {
#pragma unroll
        for (u32 i = 0; i < spmm::RECORD_ENTRIES; i++)
            weights[i] = i < count ? load_readonly(p.operands.scale_columns + columns[i]) : 0.0f;
    }
    f32 sums[VECTOR];
#pragma unroll
    for (u32 i = 0; i < VECTOR; i++) sums[i] = 0;
#pragma unroll
    for (u32 i = 0; i < spmm::RECORD_ENTRIES; i++) add_raw<T, VECTOR, WEIGHTED>(sums, rows[i], WEIGHTED ? weights[i] : 1.0f);
    if (words[0].y & RECORD_MORE && active) {
        const u32 end = load_readonly(p.offsets + row + 1);
        for (u32 e = load_readonly(p.offsets + row) + parts * spmm::RECORD_ENTRIES + part; e < end; e += parts) {
            const u32 j = load_readonly(p.indices + e);
            const f32 weight = WEIGHTED ? load_readonly(p.operands.scale_columns + j) : 1.0f;
            add_raw<T, VECTOR, WEIGHTED>(sums, load_raw<T, VECTOR>(x + (u64)j * width), weight);
        }
    }
    if (parts > 1) {
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) shared[group * SLICE + column + i] = sums[i];
    }
    __syncthreads();
    if (parts == 0 || part > 0 || !active) return;
    for (u32 k = 1; k < parts; k++) {
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) sums[i] += shared[(group + k) * SLICE + column + i];
    }
    u32 length = 0;
    if (p.operands.mean) length = load_readonly(p.offsets + row + 1) - load_readonly(p.offsets + row);
    finish<T, VECTOR, true>(p.operands, row, column, row_factor(p.operands, row, length), sums);
}
}  // namespace bg
