// What all forms of sampled dot products share: for every entry (i, j) and head h, factor times the dot product of the head's columns of
// row i of the left and row j of the right features.
#pragma once
#include "tensor/attention_tasks.cuh"
#include "tensor/spmm_staged.cuh"

namespace bg {
struct SddmmParams {
    RowTasks rows;
    const void* left;   // rows x columns
    const void* right;  // matrix columns x columns
    void* output;       // entries x heads
    u32 columns;
    u32 heads;
    u32 head_columns;   // columns of a head
    u32 in_f32;         // whether the output is f32, and not of the features' type
    f32 factor;
    u32 side_bits;      // logarithm of the groups of lanes that share a row
};

/// Of blocks of rows that share columns.
struct SddmmWindowsParams {
    RowBlocks blocks;
    SddmmParams dots;
};

/// Stores the dot product of an entry and a head.
template <class T> BG_DEVICE void store_dot(const SddmmParams& p, u32 entry, u32 head, f32 dot) {
    const u64 place = (u64)entry * p.heads + head;
    dot *= p.factor;
    if (p.in_f32) ((f32*)p.output)[place] = dot;
    else ((T*)p.output)[place] = Narrow<T>::of(dot);
}
}  // namespace bg
