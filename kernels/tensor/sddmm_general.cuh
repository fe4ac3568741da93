// A value for each entry of a pattern, of a row of the left and a row of the right features.
//
// Entries are shared out evenly whatever their rows: a group of lanes has an entry and head.
#pragma once
#include "common/warp.cuh"
#include "tensor/epilogue.cuh"

namespace bg {
struct SddmmParams {
    const u32* rows;      // of every entry
    const u32* indices;
    TensorView left, right;
    TensorView edges;     // null: 1
    TensorView row_scale;
    TensorView column_scale;
    TensorOut out;
    f64 factor;
    f64 parameter;        // of the activation
    u64 entries;
    u32 heads;            // values of an entry
    u32 width;            // columns of a head
    u32 group;            // lanes of a value: a power of two, at most 32
    u32 edge_heads;       // 1, or as many as heads
    u32 activation;
    u32 multiply;         // whether pairs are products, not sums
    u32 direct, reserved; // whether whole numbers are stored as they are
};

/// An entry and head for each group of lanes.
struct EntryTask {
    u64 entry;
    u32 head, sub;
    bool valid;
    BG_DEVICE EntryTask(u64 entries, u32 heads, u32 group) {
        const u64 unit = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / group;
        sub = threadIdx.x % group;
        valid = unit < entries * heads;
        entry = valid ? heads == 1 ? unit : unit / heads : 0;
        head = valid && heads > 1 ? (u32)(unit % heads) : 0;
    }
};

/// The sum over the lanes of a group.
template <class S> BG_DEVICE S group_sum(S x, u32 group) {
    for (u32 d = group / 2; d; d /= 2) x = add(x, shuffle_xor(x, d));
    return x;
}

/// Scales, the entry's value, the activation, and the store.
template <class R> BG_DEVICE void store_entry(const SddmmParams& p, u64 entry, u32 head, u32 row, u32 column, R x) {
    R factor = (R)p.factor * (p.row_scale.data ? load_as<R>(p.row_scale, row, 0) : (R)1);
    if (p.column_scale.data) factor *= load_as<R>(p.column_scale, column, 0);
    if (p.edges.data) factor *= load_as<R>(p.edges, entry, p.edge_heads == 1 ? 0 : head);
    store_as(p.out, entry, head, activate(p.activation, (R)p.parameter, factor * x));
}

/// Dot products of blocks of columns, read N at a time.
template <class T, class S, u32 N> BG_DEVICE void sddmm_dot(const SddmmParams& p) {
    const EntryTask task(p.entries, p.heads, p.group);
    u32 row = 0, column = 0;
    S sum = 0;
    if (task.valid) {
        row = load_readonly(p.rows + task.entry);
        column = load_readonly(p.indices + task.entry);
        const T* left = (const T*)p.left.data + row * p.left.stride + task.head * p.width;
        const T* right = (const T*)p.right.data + column * p.right.stride + task.head * p.width;
#pragma unroll 2
        for (u32 c = task.sub * N; c < p.width; c += p.group * N) {
            const Pack<T, N> a = load_pack<T, N>(left + c), b = load_pack<T, N>(right + c);
#pragma unroll
            for (u32 i = 0; i < N; i++) sum = add_product(sum, (S)widen(a.e[i]), (S)widen(b.e[i]));
        }
    }
    warp_sync();
    sum = group_sum(sum, p.group);
    if (!task.valid || task.sub != 0) return;
    if constexpr (same_type<S, i32>::value) {
        if (p.direct) return store_as(p.out, task.entry, task.head, sum);
    }
    store_entry(p, task.entry, task.head, row, column, (Real<S>)sum);
}

/// Sums or products column by column, in a type that holds every element: a thread for each value.
template <class R> BG_DEVICE void sddmm_pairs(const SddmmParams& p) {
    const EntryTask task(p.entries, p.heads, 1);
    if (!task.valid) return;
    const u32 row = load_readonly(p.rows + task.entry), column = load_readonly(p.indices + task.entry);
    const R a = load_as<R>(p.left, row, task.head), b = load_as<R>(p.right, column, task.head);
    store_entry(p, task.entry, task.head, row, column, p.multiply ? a * b : a + b);
}
}  // namespace bg

#define BG_SDDMM_DOT(T, S, N, name) \
    BG_KERNEL(name, bg::SddmmParams, 256, 2) { bg::sddmm_dot<T, S, N>(p); }
