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
    BG_DEVICE static V apply(const Arguments& arguments, V a, V b) { return Builtin<V>::binary(arguments.code, a, b); }
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
    BG_DEVICE static V apply(const Arguments& arguments, V a) { return Builtin<V>::unary(arguments.code, a, from_bits<T>(arguments.p[0])); }
};
template <class T> struct BuiltinTest {
    typedef Value<T> V;
    BG_DEVICE static bool keep(const Arguments& arguments, V a, i64 row, i64 column) {
        return BuiltinTests<V>::keep(arguments.code, a, row, column, from_bits<T>(arguments.p[0]), (i64)arguments.p[0]);
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
    u64 place;
};
constexpr u64 NOWHERE = ~0ull;

template <class V> BG_DEVICE u64 to_word(V value) {
    u64 bits = 0;
    *(V*)&bits = value;
    return bits;
}
template <class V> BG_DEVICE V of_word(u64 bits) { return *(V*)&bits; }

/// The monoids that are codes. One is a struct of static functions: combine(arguments, a, b), identity(arguments), terminal(a), whether
/// takes_first(arguments) in the order of positions, and the constant TERMINAL (terminal() may be true).
template <class T, class Sum = Value<T>> struct BuiltinMonoid {
    typedef Sum V;
    static constexpr bool TERMINAL = false;
    BG_DEVICE static V combine(const Arguments& arguments, V a, V b) { return Builtin<V>::binary(arguments.code, a, b); }
    BG_DEVICE static V identity(const Arguments& arguments) { return Builtin<V>::identity(arguments.code); }
    BG_DEVICE static bool terminal(V) { return false; }
    BG_DEVICE static bool takes_first(const Arguments& arguments) { return arguments.code == ANY_OF; }
};

/// Adds the sum (b, there) to (a, where).
template <class M, class V> BG_DEVICE void merge_partial(const Arguments& arguments, V& a, u64& where, V b, u64 there) {
    if (there == NOWHERE) return;
    if (where == NOWHERE) a = b;
    else if (M::takes_first(arguments)) a = there < where ? b : a;
    else a = M::combine(arguments, a, b);
    where = min_of(where, there);
}
/// Whether nothing changes a sum any more.
template <class M, class V> BG_DEVICE bool settled(V sum, u64 where) {
    if constexpr (M::TERMINAL) return where != NOWHERE && M::terminal(sum);
    else return false;
}
template <class M, class V> BG_DEVICE void merge_lanes(const Arguments& arguments, V& a, u64& where) {
    for (u32 d = 16; d; d >>= 1) {
        V b = shuffle_xor(a, d);
        u64 there = shuffle_xor(where, d);
        // The same operand order in both lanes, so that all end with the same sum.
        if (lane() & d) {
            V upper = a;
            u64 upper_where = where;
            a = b;
            where = there;
            merge_partial<M>(arguments, a, where, upper, upper_where);
        } else {
            merge_partial<M>(arguments, a, where, b, there);
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
template <class M, class V> BG_DEVICE void merge_block(const Arguments& arguments, V& sum, u64& where) {
    Partial* parts = (Partial*)shared_memory();
    merge_lanes<M>(arguments, sum, where);
    if (lane() == 0) parts[threadIdx.x / WARP] = Partial{to_word(sum), where};
    __syncthreads();
    if (threadIdx.x < WARP) {
        bool there = threadIdx.x < blockDim.x / WARP;
        sum = there ? of_word<V>(parts[threadIdx.x].value) : V();
        where = there ? parts[threadIdx.x].place : NOWHERE;
        merge_lanes<M>(arguments, sum, where);
    }
}

/// What a whole vector is combined in: in single precision a long sum would err by its length in units of roundoff.
template <class T> struct ReductionOf { typedef Value<T> Type; };
template <> struct ReductionOf<f32> { typedef f64 Type; };
/// The built-in monoids of a whole vector.
template <class T> using BuiltinReduction = BuiltinMonoid<T, typename ReductionOf<T>::Type>;

/// First step: one sum for each block.
template <class T, class M> BG_DEVICE void reduce(const ReduceParams& p) {
    typedef typename M::V V;
    V sum = V();
    u64 where = NOWHERE;
    for_positions(p.n, [&](u64 i, bool inside) {
        Value<T> a = Value<T>();
        if (settled<M>(sum, where)) return;
        if (inside && fetch<T>(p.u, i, a)) merge_partial<M>(p.arguments, sum, where, (V)a, i);
    });
    merge_block<M>(p.arguments, sum, where);
    if (threadIdx.x == 0) p.partials[blockIdx.x] = Partial{to_word(sum), where};
}
/// Second step, of one block: the sum of the sums; the identity if there is none.
template <class T, class M> BG_DEVICE void reduce_finish(const ReduceParams& p) {
    typedef typename M::V V;
    V sum = V();
    u64 where = NOWHERE;
    for (u64 k = threadIdx.x; k < p.blocks; k += blockDim.x) {
        Partial part = p.partials[k];
        merge_partial<M>(p.arguments, sum, where, of_word<V>(part.value), part.place);
    }
    merge_block<M>(p.arguments, sum, where);
    if (threadIdx.x < WARP) store_positions<T>(p.out, lane(), lane() == 0, true, (Value<T>)(where == NOWHERE ? M::identity(p.arguments) : sum));
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
template <class T, class M> BG_DEVICE void row_reduce(const RowReduceParams& p) {
    typedef Value<T> V;
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
            for (u64 k = first + lane(); k < last && !settled<M>(sum, where); k += WARP) {
                if (fetch<T>(p.u, k, a)) merge_partial<M>(p.arguments, sum, where, a, k);
            }
            merge_lanes<M>(p.arguments, sum, where);
            if (lane() == r) {
                result = sum;
                has = where != NOWHERE;
            }
        }
        write_positions<T>(p.out, p.mask, p.old, i, inside, has, result);
    });
}
}  // namespace bg

/// The kernels that combine entries, all of them by the monoid All and rows by the monoid M, under the names given.
#define BG_FOLD(T, All, M, fold, fold_finish, fold_rows)                                                \
    BG_KERNEL(fold, bg::ReduceParams, 256, 4) { bg::reduce<T, All>(p); }                           \
    BG_KERNEL(fold_finish, bg::ReduceParams, 256, 1) { bg::reduce_finish<T, All>(p); }             \
    BG_KERNEL(fold_rows, bg::RowReduceParams, 256, 4) { bg::row_reduce<T, M>(p); }
