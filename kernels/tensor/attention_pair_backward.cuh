// What the two launches of the backward pass of attention by two rows share. With p the softmax, k the factor of dropout, s the score and dy
// the gradient of the result: ds = p (k dy(i) . values(j) - dy(i) . y(i)); dvalues(j) is the sum of p k dy(i) over the entries of column j.
//   dot products: dquery(i) = factor times the sum of ds key(j), dkey(j) that of ds query(i);
//   GATv2's sums: dquery(i) is the sum of ds vector leaky'(z), z = query(i) + key(j), dkey(j) likewise; dvector that of ds leaky(z);
//   cosines: with q and k of norm 1 and A(i) the sum of ds k(j), dquery(i) = beta / |query(i)| (A(i) - q (q . A(i))), dkey(j) likewise; dbeta is
//   the sum of q . A(i) over the rows.
//
// The first launch takes the rows of the matrix and leaves two numbers of every entry and head, and of GATv2's sums which columns of z are above
// 0, a bit each; the second one takes the rows of the transpose, for which they are weights and derivatives. No float is added atomically, so
// results repeat.
#pragma once
#include "tensor/attention_pair.cuh"

namespace bg {
struct PairBackwardParams {
    RowTasks rows;         // of the matrix in the first launch, of its transpose in the second
    const void* query;     // rows x columns
    const void* key;       // matrix columns x columns
    const void* values;    // matrix columns x columns
    const f32* parameter;  // of cosines: beta; of sums: the vector, of all columns; else null
    const void* output;    // y: rows x columns
    const void* gradient;  // dy: rows x columns
    const f32* lse;        // rows x heads
    const u32* positions;  // of each entry of the transpose in the matrix
    float2* entries;       // by entry of the matrix and head: p k, and what weighs the query, or the derivative, in the gradient of the key
    u8* signs;             // by entry of the matrix and vector of columns: the bits of columns where z is above 0; of sums alone
    void* d_query;         // null: not wanted, as are the next two
    void* d_key;
    void* d_values;
    f32* parameter_sums;   // for each warp of the first launch: of sums its columns, of cosines a number; else null
    f32* partial;          // for each piece: sums of columns; in the second launch those of the values after those of the keys
    u32 columns;
    u32 heads;
    u32 head_columns;
    u32 cosine;            // whether keys are of cosines
    f32 factor;
    f32 slope;
    AttentionDropout dropout;
};

/// What makes of the sums A of a vector the gradient of a cosine's side: beta / norm (A - x (x . A)), x being the vector of norm 1; the second
/// term is absent where the norm is at its floor. Leaves x . A in `products`.
template <u32 VECTOR, u32 LANES, u32 PARTS>
BG_DEVICE void cosine_side(const LaneColumns<VECTOR, LANES, PARTS>& lanes, f32 beta, const f32 (&x)[PARTS][VECTOR], f32 (&sums)[PARTS][VECTOR], f32 (&products)[PARTS]) {
    f32 squares[PARTS];
#pragma unroll
    for (u32 k = 0; k < PARTS; k++) {
        squares[k] = products[k] = 0;
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) {
            squares[k] += x[k][i] * x[k][i];
            products[k] += x[k][i] * sums[k][i];
        }
    }
    lanes.sum_heads(squares);
    lanes.sum_heads(products);
#pragma unroll
    for (u32 k = 0; k < PARTS; k++) {
        const f32 inverse = inverse_norm(squares[k]);
        products[k] *= inverse;
        // A NaN is no floor.
        const f32 along = inverse >= 1 / NORM_FLOOR ? 0.0f : products[k] * inverse;
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) sums[k][i] = beta * inverse * (sums[k][i] - along * x[k][i]);
    }
}

/// What lists have of entries SIDE apart from a position on.
template <u32 SIDE, u32 DEEP> BG_DEVICE void load_entries(const u32* from, u32 at, u32 end, u32 (&x)[DEEP]) {
#pragma unroll
    for (u32 u = 0; u < DEEP; u++) x[u] = at + u * SIDE < end ? load_readonly(from + at + u * SIDE) : 0;
}

/// The sums of groups of lanes that take entries side by side, in all of them.
template <u32 VECTOR, u32 LANES, u32 PARTS> BG_DEVICE void add_sides(f32 (&sums)[PARTS][VECTOR]) {
#pragma unroll
    for (u32 d = LANES; d < WARP; d <<= 1)
#pragma unroll
        for (u32 k = 0; k < PARTS; k++)
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) sums[k][i] += shuffle_xor(sums[k][i], d);
}
/// Stores the sums of a piece, of which the first group of lanes does.
template <u32 VECTOR, u32 LANES, u32 PARTS>
BG_DEVICE void store_piece(f32* to, const LaneColumns<VECTOR, LANES, PARTS>& lanes, const f32 (&sums)[PARTS][VECTOR]) {
    if (lane() >= LANES) return;
#pragma unroll
    for (u32 k = 0; k < PARTS; k++)
        if (lanes.valid[k]) {
#pragma unroll
            for (u32 i = 0; i < VECTOR; i += 4) *(float4*)(to + lanes.column[k] + i) = make_float4(sums[k][i], sums[k][i + 1], sums[k][i + 2], sums[k][i + 3]);
        }
}
/// Adds up the pieces of a row in their order, `size` numbers apart; in every group of lanes.
template <u32 VECTOR, u32 LANES, u32 PARTS>
BG_DEVICE void add_pieces(const f32* from, u32 size, u32 count, const LaneColumns<VECTOR, LANES, PARTS>& lanes, f32 (&sums)[PARTS][VECTOR]) {
#pragma unroll
    for (u32 k = 0; k < PARTS; k++) {
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) sums[k][i] = 0;
        if (!lanes.valid[k]) continue;
        for (u32 piece = 0; piece < count; piece++)
#pragma unroll
            for (u32 i = 0; i < VECTOR; i += 4) {
                const float4 four = load_l2((const float4*)(from + (u64)piece * size + lanes.column[k] + i));
                sums[k][i] += four.x;
                sums[k][i + 1] += four.y;
                sums[k][i + 2] += four.z;
                sums[k][i + 3] += four.w;
            }
    }
    warp_sync();
}
/// Stores a row of a gradient, if it is wanted; the first group of lanes does.
template <class T, u32 VECTOR, u32 LANES, u32 PARTS>
BG_DEVICE void store_gradient(void* to, u64 start, const LaneColumns<VECTOR, LANES, PARTS>& lanes, const f32 (&x)[PARTS][VECTOR]) {
    if (!to || lane() >= LANES) return;
#pragma unroll
    for (u32 k = 0; k < PARTS; k++)
        if (lanes.valid[k]) store_features<T>((T*)to + start + lanes.column[k], x[k]);
}
}  // namespace bg
