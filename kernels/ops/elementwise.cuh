// Element-wise operations, reductions and row reductions. Each is a template over the stored type and an operator: the built-in
// operators share one kernel per type (ops/elementwise.cu), one of a user's own is instantiated when it is first used.
//
// All results are the same from run to run on one device: no atomics, and sums in an order that depends on the sizes alone.
#pragma once
#include "ops/operand.cuh"

namespace bg {
/// What an operator is given beside its operands: the code of a built-in one, and up to four parameters.
struct Arguments {
    u32 code, reserved;
    u64 p[4];
};

/// Where two operands are combined.
enum Combination : u32 {
    INTERSECTION = 0,  // where both have an entry
    UNION = 1,         // an entry of one alone is taken as it is
    OVERRIDE = 2,      // v, present or not, wherever its index is not NONE; u elsewhere
    FOLD = 3,          // u, then each v of the position's list in turn
};

struct BinaryParams {
    u64 n;
    Operand u, v, old;
    Mask mask;
    Target out;
    const u32* list;  // FOLD: position i takes elements index[list[i]] .. index[list[i + 1] - 1] of v
    u64 combination;
    Arguments arguments;
};

/// The operators that are codes.
template <class T> struct BuiltinBinary {
    typedef Value<T> V;
    BG_DEVICE static V apply(const Arguments& arguments, V a, V b) { return binary_by_code<V>(arguments.code, a, b); }
};

template <class T, class Op> BG_DEVICE void binary(const BinaryParams& p) {
    typedef Value<T> V;
    for_positions(p.n, [&](u64 i, bool inside) {
        V a = V(), b = V();
        bool has = inside && fetch<T>(p.u, i, a);
        if (p.combination == FOLD) {
            Operand element = p.v;
            for (u32 k = inside ? p.list[i] : 0, end = inside ? p.list[i + 1] : 0; k < end; k++) {
                if (!fetch<T>(element, k, b)) continue;
                a = has ? Op::apply(p.arguments, a, b) : b;
                has = true;
            }
        } else {
            bool other = inside && fetch<T>(p.v, i, b);
            if (p.combination == OVERRIDE) {
                if (inside && load_readonly(p.v.index + i) != NONE) {
                    a = b;
                    has = other;
                }
            } else if (has && other) {
                a = Op::apply(p.arguments, a, b);
            } else if (p.combination == UNION) {
                if (other) a = b;
                has = has || other;
            } else {
                has = false;
            }
        }
        write_positions<T>(p.out, p.mask, p.old, i, inside, has, a);
    });
}

struct ApplyParams {
    u64 n;
    Operand u, old;
    Mask mask;
    Target out;
    const u32* rows;     // the place of each entry of a matrix; null for a vector, whose entries have column 0
    const u32* columns;
    u32* flags;          // if not null, a tested entry is written here as 0 or 1 instead of to `out`
    Arguments arguments;
};

template <class T> struct BuiltinUnary {
    typedef Value<T> V;
    BG_DEVICE static V apply(const Arguments& arguments, V a) { return unary_by_code<V>(arguments.code, a, from_bits<T>(arguments.p[0])); }
};
template <class T> struct BuiltinTest {
    typedef Value<T> V;
    BG_DEVICE static bool keep(const Arguments& arguments, V a, u32 row, u32 column) {
        return test_by_code<V>(arguments.code, a, row, column, from_bits<T>(arguments.p[0]), arguments.p[0]);
    }
};

/// `out = op(u)`, of another type perhaps.
template <class T, class Out, class Op> BG_DEVICE void apply(const ApplyParams& p) {
    for_positions(p.n, [&](u64 i, bool inside) {
        Value<T> a = Value<T>();
        bool has = inside && fetch<T>(p.u, i, a);
        Value<Out> result = Value<Out>();
        if (has) result = (Value<Out>)Op::apply(p.arguments, a);
        write_positions<Out>(p.out, p.mask, p.old, i, inside, has, result);
    });
}

/// The entries of u that the operator keeps.
template <class T, class Op> BG_DEVICE void filter(const ApplyParams& p) {
    for_positions(p.n, [&](u64 i, bool inside) {
        Value<T> a = Value<T>();
        bool has = inside && fetch<T>(p.u, i, a);
        has = has && Op::keep(p.arguments, a, p.rows ? p.rows[i] : (u32)i, p.columns ? p.columns[i] : 0);
        if (p.flags) {
            if (inside) p.flags[i] = has;
        } else {
            write_positions<T>(p.out, p.mask, p.old, i, inside, has, a);
        }
    });
}

/// Whether each entry of u passes a test, as bool.
template <class T, class Op> BG_DEVICE void test(const ApplyParams& p) {
    for_positions(p.n, [&](u64 i, bool inside) {
        Value<T> a = Value<T>();
        bool has = inside && fetch<T>(p.u, i, a);
        bool result = has && Op::keep(p.arguments, a, (u32)i, 0);
        write_positions<bool>(p.out, p.mask, p.old, i, inside, has, result);
    });
}

/// A sum so far, and the position of its first term: NOWHERE if it has none.
struct Partial {
    u64 value;
    u64 where;
};
constexpr u64 NOWHERE = ~0ull;

template <class V> BG_DEVICE u64 to_word(V value) {
    u64 bits = 0;
    *(V*)&bits = value;
    return bits;
}
template <class V> BG_DEVICE V of_word(u64 bits) { return *(V*)&bits; }

/// Adds the sum (b, there) to (a, where). ANY_OF takes the one that starts first.
template <class V> BG_DEVICE void merge_partial(u32 code, V& a, u64& where, V b, u64 there) {
    if (there == NOWHERE) return;
    if (where == NOWHERE) a = b;
    else if (code == ANY_OF) a = there < where ? b : a;
    else a = binary_by_code<V>(code, a, b);
    where = min_of(where, there);
}
template <class V> BG_DEVICE void merge_lanes(u32 code, V& a, u64& where) {
    for (u32 d = 16; d; d >>= 1) {
        V b = shuffle_xor(a, d);
        u64 there = shuffle_xor(where, d);
        // The same operand order in both lanes, so that all end with the same sum.
        if (lane() & d) {
            V upper = a;
            u64 upper_where = where;
            a = b;
            where = there;
            merge_partial(code, a, where, upper, upper_where);
        } else {
            merge_partial(code, a, where, b, there);
        }
    }
}

struct ReduceParams {
    u64 n;
    Operand u;
    Target out;         // of one position
    Partial* partials;  // one for each block of the first kernel
    u64 blocks;
    Arguments arguments;
};

/// The sum of a block's sums, in its first warp.
template <class V> BG_DEVICE void merge_block(u32 code, V& sum, u64& where) {
    Partial* parts = (Partial*)shared_memory();
    merge_lanes(code, sum, where);
    if (lane() == 0) parts[threadIdx.x / WARP] = Partial{to_word(sum), where};
    __syncthreads();
    if (threadIdx.x < WARP) {
        bool there = threadIdx.x < blockDim.x / WARP;
        sum = there ? of_word<V>(parts[threadIdx.x].value) : V();
        where = there ? parts[threadIdx.x].where : NOWHERE;
        merge_lanes(code, sum, where);
    }
}

/// What a whole vector is combined in: in single precision a long sum would err by its length in units of roundoff.
template <class T> struct ReductionOf { typedef Value<T> Type; };
template <> struct ReductionOf<f32> { typedef f64 Type; };
template <class T> using Reduction = typename ReductionOf<T>::Type;

/// First step: one sum for each block.
template <class T> BG_DEVICE void reduce(const ReduceParams& p) {
    typedef Reduction<T> V;
    u32 code = p.arguments.code;
    V sum = V();
    u64 where = NOWHERE;
    for_positions(p.n, [&](u64 i, bool inside) {
        Value<T> a = Value<T>();
        if (inside && fetch<T>(p.u, i, a)) merge_partial<V>(code, sum, where, (V)a, i);
    });
    merge_block(code, sum, where);
    if (threadIdx.x == 0) p.partials[blockIdx.x] = Partial{to_word(sum), where};
}
/// Second step, of one block: the sum of the sums; the identity if there is none.
template <class T> BG_DEVICE void reduce_finish(const ReduceParams& p) {
    typedef Reduction<T> V;
    u32 code = p.arguments.code;
    V sum = V();
    u64 where = NOWHERE;
    for (u64 k = threadIdx.x; k < p.blocks; k += blockDim.x) {
        Partial part = p.partials[k];
        merge_partial<V>(code, sum, where, of_word<V>(part.value), part.where);
    }
    merge_block(code, sum, where);
    if (threadIdx.x < WARP) store_positions<T>(p.out, lane(), lane() == 0, true, (Value<T>)(where == NOWHERE ? identity_by_code<V>(code) : sum));
}

struct RowReduceParams {
    u64 rows;
    const void* offsets;
    u64 wide;  // whether offsets are of 64 bits
    Operand u;  // the values of the entries, in their order
    Operand old;
    Mask mask;
    Target out;
    Arguments arguments;
};

/// The entries of each row combined; a row without entries has no result.
template <class T> BG_DEVICE void row_reduce(const RowReduceParams& p) {
    typedef Value<T> V;
    u32 code = p.arguments.code;
    auto offset = [&](u64 i) -> u64 { return p.wide ? ((const u64*)p.offsets)[i] : ((const u32*)p.offsets)[i]; };
    for_positions(p.rows, [&](u64 i, bool inside) {
        u64 begin = inside ? offset(i) : 0, end = inside ? offset(i + 1) : 0;
        V result = V();
        bool has = false;
        for (u32 r = 0; r < WARP; r++) {
            u64 first = shuffle(begin, r), last = shuffle(end, r);
            if (first == last) continue;
            V sum = V(), a = V();
            u64 where = NOWHERE;
            for (u64 k = first + lane(); k < last; k += WARP) {
                if (fetch<T>(p.u, k, a)) merge_partial<V>(code, sum, where, a, k);
            }
            merge_lanes(code, sum, where);
            if (lane() == r) {
                result = sum;
                has = where != NOWHERE;
            }
        }
        write_positions<T>(p.out, p.mask, p.old, i, inside, has, result);
    });
}
}  // namespace bg
