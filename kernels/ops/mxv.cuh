// Matrix times vector over any semiring: what all formats share, and compressed rows.
//
// A product writes t(i) = sum over j of A(i, j) x(j) for the rows that the mask selects, and which rows have such a sum. Merging t
// with what the output held is a step of its own (ops/elementwise.cuh), so that a semiring is compiled once whatever the accumulator.
// Rows are summed by groups of lanes in an order that depends on the matrix alone: the same result in every run.
#pragma once
#include "ops/elementwise.cuh"

namespace bg {
/// A part of a row that one block sums.
struct Chunk {
    u64 begin, end;
    u32 row, reserved;
};

/// The parameters of every product kernel; each uses what it needs.
struct MxvParams {
    u64 rows;
    // Compressed rows. For tiles with values: where the values of each row start.
    const void* offsets;
    const u32* indices;
    const void* values;
    // Tiles.
    const void* tile_offsets;
    const u32* tile_columns;
    const void* tiles;
    // The vector, the mask and the result.
    const void* x;
    const u32* x_present;
    Mask mask;
    Target y;
    // A sum to start from, in the accumulator's type: the tiles' part of a hybrid; and where to leave such a sum.
    const void* carry;
    const u32* carry_present;
    void* raw;
    // Rows too long for a group of lanes: chunks of compressed rows, or rows of tiles.
    const Chunk* chunks;
    const u32* first_chunk;
    Partial* partials;
    const u32* long_rows;
    u32 long_count;
    u32 limit;   // entries, or tiles, above which a row is long
    u32 lanes;   // lanes for a row: a power of two, at most 16
    u32 wide;    // offsets of 64 bits
    u32 tile_wide, reserved;
};

BG_DEVICE u64 load_offset(const void* offsets, u32 wide, u64 i) {
    return wide ? load_readonly((const u64*)offsets + i) : load_readonly((const u32*)offsets + i);
}

/// The sum of a row so far. `where` tells the order of first terms, for semirings that take any of them: the smallest column.
template <class R> struct Sum {
    typedef Value<typename R::Acc> V;
    V value;
    u32 where;
    bool has;

    BG_DEVICE Sum() : value(R::identity()), where(NONE), has(false) {}
    BG_DEVICE void take(V product, u32 column) {
        if constexpr (R::ANY) {
            if (column < where) {
                value = product;
                where = column;
            }
        } else {
            value = R::add(value, product);
        }
        has = true;
    }
    BG_DEVICE void merge(V other, u32 there, bool there_is) {
        if (!there_is) return;
        take(other, there);
    }
    /// Whether further terms of larger columns change nothing.
    BG_DEVICE bool settled() const {
        if constexpr (R::ANY) return has;
        else if constexpr (R::TERMINAL) return has && R::terminal(value);
        else return false;
    }
    /// Adds up groups of lanes whose numbers differ in bits `from` to `below`.
    BG_DEVICE void merge_groups(u32 from, u32 below) {
        for (u32 d = below >> 1; d >= from; d >>= 1) {
            V other = shuffle_xor(value, d);
            u32 there = R::ANY ? shuffle_xor(where, d) : 0;
            bool there_is = shuffle_xor((u32)has, d) != 0;
            merge(other, there, there_is);
        }
    }
};

/// x at a column, if it is there.
template <class R> BG_DEVICE bool load_x(const MxvParams& p, u32 column, Value<typename R::X>& x) {
    if (p.x_present && !bit(p.x_present, column)) return false;
    if constexpr (!R::IGNORES_X) x = load_element<typename R::X>(p.x, column);
    return true;
}

/// The sum of entries first, first + step, ... below end.
template <class R, bool VALUES> BG_DEVICE void sum_entries(const MxvParams& p, Sum<R>& sum, u64 first, u64 end, u32 step) {
    typedef Value<typename R::X> X;
    typedef Value<typename R::A> A;
    constexpr u32 AHEAD = 4;
    for (u64 k = first; k < end; k += AHEAD * step) {
        // All loads of a turn are issued before the first sum waits for one. They are not conditional, which would order them: past
        // the end the last entry is loaded again.
        u32 column[AHEAD];
        X x[AHEAD];
        A a[AHEAD];
        bool there[AHEAD];
#pragma unroll
        for (u32 j = 0; j < AHEAD; j++) {
            u64 at = k + j * step;
            there[j] = at < end;
            at = there[j] ? at : end - 1;
            column[j] = load_readonly(p.indices + at);
            if constexpr (VALUES) a[j] = load_entry<typename R::A>(p.values, at);
        }
#pragma unroll
        for (u32 j = 0; j < AHEAD; j++) {
            if constexpr (!R::IGNORES_X) x[j] = load_element<typename R::X>(p.x, column[j]);
        }
        if (p.x_present) {
#pragma unroll
            for (u32 j = 0; j < AHEAD; j++) there[j] = bit(p.x_present, column[j]) && there[j];
        }
#pragma unroll
        for (u32 j = 0; j < AHEAD; j++) {
            if (!there[j]) continue;
            if constexpr (VALUES) sum.take(R::multiply(a[j], x[j]), column[j]);
            else sum.take(R::multiply_pattern(x[j]), column[j]);
        }
        if (sum.settled()) break;
    }
}

/// Adds the sum that a row starts from.
template <class R> BG_DEVICE void add_carry(const MxvParams& p, u64 row, Sum<R>& sum) {
    typedef typename Sum<R>::V V;
    if (p.carry && bit(p.carry_present, row)) sum.merge(load_value((const V*)p.carry + row), 0, true);
}

/// Bits of a block's rows, gathered in shared memory; 2 words for every 32 threads.
struct RowBits {
    u32* there;
    u32* truth;
    BG_DEVICE RowBits() : there((u32*)shared_memory()), truth(there + blockDim.x / WARP) {
        for (u32 i = threadIdx.x; i < blockDim.x / WARP * 2; i += blockDim.x) there[i] = 0;
        __syncthreads();
    }
};

/// Writes the results of a block that owns `count` rows (a multiple of 8) from `first`; the calling lane has row `first + local`, and
/// is the first of the row's lanes if `leader`. `size` neighbouring lanes are rows in a row.
template <class R> BG_DEVICE void store_rows(const MxvParams& p, RowBits& bits, u64 first, u32 count, u32 size, u32 local, bool leader, Sum<R> sum) {
    typedef typename R::Out Out;
    constexpr bool BOOL = same_type<Out, bool>::value;
    u64 row = first + local;
    u32 found = 0;
    if (leader && sum.has && row < p.rows) {
        found = 1;
        if (p.raw) {
            ((typename Sum<R>::V*)p.raw)[row] = sum.value;
        } else if constexpr (BOOL) {
            if (R::finish(sum.value)) found = 3;
        } else {
            ((Out*)p.y.values)[row] = Narrow<Out>::of(R::finish(sum.value));
        }
    }
    // The bits of a warp's rows side by side: lane q asks the leader of row q.
    u32 rows = WARP / p.lanes, q = lane();
    found = shuffle(found, (q / size * size * p.lanes + q % size) & 31u);
    u32 there = ballot(q < rows && found), truth = BOOL ? ballot(q < rows && (found & 2)) : 0;
    u32 base = threadIdx.x / WARP * rows;
    if (q == 0 && there) {
        atomicOr(&bits.there[base >> 5], there << (base & 31));
        if (BOOL && truth) atomicOr(&bits.truth[base >> 5], truth << (base & 31));
    }
    __syncthreads();
    // Whole words of the output are covered, since the grid is.
    u64 bytes = ceil_div<u64>(p.rows, 32) * 4;
    for (u32 i = threadIdx.x; i < count / 8; i += blockDim.x) {
        u64 at = first / 8 + i;
        if (at >= bytes) break;
        if (p.y.present) ((u8*)p.y.present)[at] = ((u8*)bits.there)[i];
        if (BOOL && !p.raw) ((u8*)p.y.values)[at] = ((u8*)bits.truth)[i];
    }
}

/// Writes the result of a long row over what the main kernel left there: nothing.
template <class R> BG_DEVICE void store_long_row(const MxvParams& p, u64 row, const Sum<R>& sum) {
    typedef typename R::Out Out;
    if (!sum.has) return;
    u32 flag = 1u << (row & 31);
    if (p.y.present) atomicOr(&p.y.present[row >> 5], flag);
    if (p.raw) {
        ((typename Sum<R>::V*)p.raw)[row] = sum.value;
    } else if constexpr (same_type<Out, bool>::value) {
        if (R::finish(sum.value)) atomicOr((u32*)p.y.values + (row >> 5), flag);
    } else {
        ((Out*)p.y.values)[row] = Narrow<Out>::of(R::finish(sum.value));
    }
}

/// Compressed rows: `lanes` lanes for each row. Rows over the limit are left out.
template <class R, bool VALUES> BG_DEVICE void mxv_csr(const MxvParams& p) {
    RowBits bits;
    u32 count = blockDim.x / p.lanes, local = threadIdx.x / p.lanes, slot = threadIdx.x % p.lanes;
    u64 first = (u64)blockIdx.x * count, row = first + local;
    Sum<R> sum;
    if (row < p.rows && mask_selects(p.mask, row)) {
        u64 begin = load_offset(p.offsets, p.wide, row), end = load_offset(p.offsets, p.wide, row + 1);
        if (end - begin <= p.limit) {
            sum_entries<R, VALUES>(p, sum, begin + slot, end, p.lanes);
            if (slot == 0) add_carry(p, row, sum);
        }
    }
    warp_sync();
    sum.merge_groups(1, p.lanes);
    store_rows(p, bits, first, count, 1, local, slot == 0, sum);
}

/// One block for each chunk of a long row.
template <class R> BG_DEVICE void mxv_chunk(const MxvParams& p) {
    typedef typename Sum<R>::V V;
    Chunk chunk = p.chunks[blockIdx.x];
    Sum<R> sum;
    if (mask_selects(p.mask, chunk.row)) {
        if (p.values) sum_entries<R, true>(p, sum, chunk.begin + threadIdx.x, chunk.end, blockDim.x);
        else sum_entries<R, false>(p, sum, chunk.begin + threadIdx.x, chunk.end, blockDim.x);
    }
    warp_sync();
    sum.merge_groups(1, WARP);
    Partial* parts = (Partial*)shared_memory();
    if (lane() == 0) parts[threadIdx.x / WARP] = Partial{to_word(sum.value), sum.has ? sum.where : NOWHERE};
    __syncthreads();
    if (threadIdx.x == 0) {
        Sum<R> total;
        for (u32 w = 0; w < blockDim.x / WARP; w++) total.merge(of_word<V>(parts[w].value), (u32)parts[w].place, parts[w].place != NOWHERE);
        p.partials[blockIdx.x] = Partial{to_word(total.value), total.has ? total.where : NOWHERE};
    }
}
/// One thread for each long row: its chunks in order.
template <class R> BG_DEVICE void mxv_finish(const MxvParams& p) {
    typedef typename Sum<R>::V V;
    u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= p.long_count) return;
    u32 row = p.long_rows[k];
    Sum<R> sum;
    for (u32 c = p.first_chunk[k]; c < p.first_chunk[k + 1]; c++) {
        Partial part = p.partials[c];
        sum.merge(of_word<V>(part.value), (u32)part.place, part.place != NOWHERE);
    }
    if (mask_selects(p.mask, row)) add_carry(p, row, sum);
    store_long_row(p, row, sum);
}
}  // namespace bg

/// The kernels over compressed rows of the semiring R, under the names given.
#define BG_MXV_CSR(R, name) \
    BG_KERNEL(name, bg::MxvParams, 256, 4) { bg::mxv_csr<R, false>(p); }
#define BG_MXV_CSR_VALUES(R, name) \
    BG_KERNEL(name, bg::MxvParams, 256, 4) { bg::mxv_csr<R, true>(p); }
#define BG_MXV_CSR_LONG(R, chunk, finish)                                   \
    BG_KERNEL(chunk, bg::MxvParams, 256, 4) { bg::mxv_chunk<R>(p); }        \
    BG_KERNEL(finish, bg::MxvParams, 128, 1) { bg::mxv_finish<R>(p); }
