// Matrix times matrix over any semiring: the values of a sparse result, and the sum of a masked one.
//
// A sparse result is made by expansion: all products, sorted by place (ops/structure.cu, formats/sort.cu), then one thread sums each
// place's run. The sort is stable, so that products are added in the order of the inner index.
#pragma once
#include "ops/mxv.cuh"
#include "ops/rows.cuh"

namespace bg {
/// The product of an entry of a and one of b; the values of a pattern are 1.
template <class R>
BG_DEVICE Value<typename R::Acc> entry_product(const void* a_values, const void* b_values, u64 left, u64 right) {
    typedef Value<typename R::X> X;
    X x = b_values ? load_entry<typename R::X>(b_values, right) : (X)1;
    return a_values ? R::multiply(load_entry<typename R::A>(a_values, left), x) : R::multiply_pattern(x);
}

struct MxmSumParams {
    const u64* pairs;   // sorted by place
    const u32* starts;  // of each place's run
    u64 places, products;
    const void* a_values;
    const void* b_values;
    void* out;  // of the output's type, a bool in a byte
};
template <class R> BG_DEVICE void mxm_sum(const MxmSumParams& p) {
    typedef typename R::Out Out;
    for (u64 s = thread_index(); s < p.places; s += thread_count()) {
        u64 end = s + 1 < p.places ? p.starts[s + 1] : p.products;
        Sum<R> sum;
        for (u64 t = p.starts[s]; t < end && !sum.settled(); t++) {
            u64 pair = p.pairs[t];
            sum.take(entry_product<R>(p.a_values, p.b_values, pair >> 32, pair & 0xffffffffu), 0);
        }
        ((Out*)p.out)[s] = Narrow<Out>::of(R::finish(sum.value));
    }
}

/// A sum and the place of its first term in the order of rows, columns and inner index.
struct Total {
    u64 value;
    u64 place;
    u64 inner;  // NOWHERE if there is no term
};
struct MxmReduceParams {
    Rows a, b;  // b is transposed where the mask's entries are visited
    const void* a_values;
    const void* b_values;
    MatrixMask mask;
    Total* totals;  // one for each block
    u64 blocks;
    Target out;
    u32* found;    // for each entry of the mask, whether there is a product
    void* values;  // and its value
};

template <class R> struct Running {
    typedef Value<typename R::Acc> V;
    V value;
    u64 place, inner;
    BG_DEVICE Running() : value(R::identity()), place(NOWHERE), inner(NOWHERE) {}
    BG_DEVICE void take(V product, u64 at, u64 k) {
        if constexpr (R::ANY) {
            if (at < place || (at == place && k < inner)) {
                value = product;
                place = at;
                inner = k;
            }
        } else {
            value = R::add(value, product);
            place = 0;
            inner = 0;
        }
    }
    BG_DEVICE void merge(V other, u64 at, u64 k) {
        if (k != NOWHERE) take(other, at, k);
    }
    BG_DEVICE void merge_lanes() {
        for (u32 d = 16; d; d >>= 1) {
            V other = shuffle_xor(value, d);
            u64 at = shuffle_xor(place, d), k = shuffle_xor(inner, d);
            merge(other, at, k);
        }
    }
    /// The sum over the block, in its first warp.
    BG_DEVICE void merge_block() {
        Total* parts = (Total*)shared_memory();
        merge_lanes();
        if (lane() == 0) parts[threadIdx.x / WARP] = Total{to_word(value), place, inner};
        __syncthreads();
        if (threadIdx.x < WARP) {
            *this = Running();
            if (threadIdx.x < blockDim.x / WARP) {
                Total part = parts[threadIdx.x];
                merge(of_word<V>(part.value), part.place, part.inner);
            }
            merge_lanes();
        }
    }
    BG_DEVICE void store(Total* totals) {
        merge_block();
        if (threadIdx.x == 0) totals[blockIdx.x] = Total{to_word(value), place, inner};
    }
};

/// Calls `f(product, inner)` for every inner index of row i of a and row j of b, the lanes of a group taking the shorter row's entries
/// in turn and searching them in the longer.
template <class R, class F> BG_DEVICE void each_common(const MxmReduceParams& p, u32 i, u32 j, u32 slot, u32 group, F f) {
    u64 left = p.a.begin(i), left_end = p.a.end(i), right = p.b.begin(j), right_end = p.b.end(j);
    bool turn = left_end - left > right_end - right;
    const Rows& longer = turn ? p.a : p.b;
    const Rows& shorter = turn ? p.b : p.a;
    u64 from = turn ? left : right, to = turn ? left_end : right_end, end = turn ? right_end : left_end;
    for (u64 k = (turn ? right : left) + slot; k < end; k += group) {
        u32 inner = load_readonly(shorter.indices + k);
        u64 at = longer.lower_bound(from, to, inner);
        if (at >= to) break;
        from = at;
        if (load_readonly(longer.indices + at) == inner) f(entry_product<R>(p.a_values, p.b_values, turn ? at : k, turn ? k : at), inner);
    }
}

/// The entries of the mask: eight lanes search the entries of the shorter of two rows in the longer.
template <class R> BG_DEVICE void mxm_reduce_dots(const MxmReduceParams& p) {
    constexpr u32 GROUP = 8;
    Running<R> sum;
    u64 groups = thread_count() / GROUP;
    u32 slot = threadIdx.x % GROUP;
    for (u64 e = thread_index() / GROUP; e < p.mask.pattern.entries; e += groups) {
        if (p.mask.truth && !p.mask.truth[e]) continue;
        u32 i = p.mask.pattern.entry_rows[e], j = p.mask.pattern.indices[e];
        u64 place = (u64)i << 32 | j;
        each_common<R>(p, i, j, slot, GROUP, [&](auto product, u32 inner) { sum.take(product, place, inner); });
    }
    warp_sync();
    sum.store(p.totals);
}
/// The product at each entry of the mask, of eight lanes each: its value, and whether there is one.
template <class R> BG_DEVICE void mxm_entries(const MxmReduceParams& p) {
    typedef typename R::Out Out;
    constexpr u32 GROUP = 8;
    u32 slot = threadIdx.x % GROUP;
    u64 groups = thread_count() / GROUP;
    for (u64 e = thread_index() / GROUP; e - (lane() / GROUP) < p.mask.pattern.entries; e += groups) {
        Sum<R> sum;
        bool inside = e < p.mask.pattern.entries;
        if (inside && (!p.mask.truth || p.mask.truth[e])) {
            each_common<R>(p, p.mask.pattern.entry_rows[e], p.mask.pattern.indices[e], slot, GROUP, [&](auto product, u32 inner) { sum.take(product, inner); });
        }
        warp_sync();
        sum.merge_groups(1, GROUP);
        if (inside && slot == 0) {
            p.found[e] = sum.has;
            if (sum.has) ((Out*)p.values)[e] = Narrow<Out>::of(R::finish(sum.value));
        }
    }
}
/// All products, those that the mask leaves out passed over: a warp for each entry of a.
template <class R> BG_DEVICE void mxm_reduce_products(const MxmReduceParams& p) {
    Running<R> sum;
    for (u64 left = thread_index() / WARP; left < p.a.entries; left += thread_count() / WARP) {
        u32 i = p.a.entry_rows[left], k = p.a.indices[left];
        for (u64 right = p.b.begin(k) + lane(), end = p.b.end(k); right < end; right += WARP) {
            u32 j = load_readonly(p.b.indices + right);
            if (p.mask.selects(i, j)) sum.take(entry_product<R>(p.a_values, p.b_values, left, right), (u64)i << 32 | j, k);
        }
    }
    warp_sync();
    sum.store(p.totals);
}
/// One block: the sum of the blocks' sums.
template <class R> BG_DEVICE void mxm_reduce_finish(const MxmReduceParams& p) {
    typedef typename Running<R>::V V;
    Running<R> sum;
    for (u64 k = threadIdx.x; k < p.blocks; k += blockDim.x) {
        Total total = p.totals[k];
        sum.merge(of_word<V>(total.value), total.place, total.inner);
    }
    sum.merge_block();
    if (threadIdx.x < WARP) store_positions<typename R::Out>(p.out, lane(), lane() == 0, true, R::finish(sum.value));
}
}  // namespace bg

#define BG_MXM(R, sum, entries, dots, products, finish)                                            \
    BG_KERNEL(sum, bg::MxmSumParams, 256, 4) { bg::mxm_sum<R>(p); }                                \
    BG_KERNEL(entries, bg::MxmReduceParams, 256, 4) { bg::mxm_entries<R>(p); }                     \
    BG_KERNEL(dots, bg::MxmReduceParams, 256, 4) { bg::mxm_reduce_dots<R>(p); }                    \
    BG_KERNEL(products, bg::MxmReduceParams, 256, 4) { bg::mxm_reduce_products<R>(p); }            \
    BG_KERNEL(finish, bg::MxmReduceParams, 256, 1) { bg::mxm_reduce_finish<R>(p); }
