// The scores of attention: additive, GATv2, dot product, cosine, or values that are there.
#pragma once
#include "tensor/attention_dropout.cuh"
#include "tensor/softmax.cuh"
#include "tensor/sddmm_general.cuh"

namespace bg {
enum ScoreKind : u32 {
    SCORE_ADDITIVE = 0,  // leaky(left(i, head) + right(j, head)), both of the real type
    SCORE_EDGE = 1,      // values of entries and heads
    SCORE_LEAKY = 2,     // vector . leaky(left(i) + right(j)) over the head's columns
    SCORE_DOT = 3,       // factor * query(i) . key(j)
    SCORE_COSINE = 4,    // beta * cos(query(i), key(j))
};

struct AttentionScore {
    TensorView first;    // of rows: left, query; or the values of entries
    TensorView second;   // of columns: right, key
    const void* vector;  // of the real type: GATv2's vector, or the one beta
    f64 number;          // slope, or factor
    u32 kind;
    u32 width;           // columns of a head of both
};

/// The norm of a vector is taken as this or more.
constexpr f64 NORM_FLOOR = 1e-12;
/// From a sum of squares.
template <class R> BG_DEVICE R norm_of(R squares) {
    const R norm = root(squares);
    return norm > (R)NORM_FLOOR ? norm : norm != norm ? norm : (R)NORM_FLOOR;
}

/// Scores of a kind that needs no sum over columns.
template <class R> BG_DEVICE R plain_score(const AttentionScore& s, u32 row, u32 column, u64 position, u32 head) {
    if (s.kind == SCORE_EDGE) return load_as<R>(s.first, position, head);
    const R z = load_readonly((const R*)s.first.data + row * s.first.stride + head) +
                load_readonly((const R*)s.second.data + column * s.second.stride + head);
    return activate(LEAKY_RELU, (R)s.number, z);
}

/// What the lanes of a group have of the sums of a score.
template <class R> struct ScoreSums {
    R dot = 0, own = 0, other = 0;  // for a cosine the squares of both as well

    /// The columns of one lane, N at a time.
    template <class T, u32 N> BG_DEVICE void take(const AttentionScore& s, u32 row, u32 column, u32 head, u32 sub, u32 group) {
        const T* first = (const T*)s.first.data + row * s.first.stride + head * s.width;
        const T* second = (const T*)s.second.data + column * s.second.stride + head * s.width;
        for (u32 c = sub * N; c < s.width; c += group * N) {
            const Pack<T, N> a = load_pack<T, N>(first + c), b = load_pack<T, N>(second + c);
#pragma unroll
            for (u32 i = 0; i < N; i++) {
                const R x = (R)widen(a.e[i]), y = (R)widen(b.e[i]);
                if (s.kind == SCORE_LEAKY) {
                    dot += load_readonly((const R*)s.vector + head * s.width + c + i) * activate(LEAKY_RELU, (R)s.number, x + y);
                } else {
                    dot += x * y;
                    if (s.kind == SCORE_COSINE) {
                        own += x * x;
                        other += y * y;
                    }
                }
            }
        }
    }
    /// Adds up the lanes of every group; all lanes of the warp take part.
    BG_DEVICE void meet(const AttentionScore& s, u32 group) {
        dot = group_sum(dot, group);
        if (s.kind != SCORE_COSINE) return;
        own = group_sum(own, group);
        other = group_sum(other, group);
    }
    BG_DEVICE R cosine() const { return dot / norm_of(own) / norm_of(other); }
    BG_DEVICE R score(const AttentionScore& s) const {
        if (s.kind == SCORE_DOT) return (R)s.number * dot;
        return s.kind == SCORE_COSINE ? load_readonly((const R*)s.vector) * cosine() : dot;
    }
};
}  // namespace bg
