// What the epochs of graph attention in one launch are told besides what those of any model are, and attention over a segment of a list.
//
// With p the softmax over a node's list, k the factor of dropout, y = sum of p k x and dy its gradient: sums over the entries of positive
// score alone stand for the gradients of scores. For a row they are d_left = (1 - slope) (dy . y+ - (dy . y) p+), where y+ and p+ are the
// parts of y and of the sum of p that such entries make; for the node that is listened to d_right = x . (slope v + (1 - slope) v+) less the
// sum of leaky' p (dy . y), where v = sum of p k dy and v+ is its part. So no entry needs a product of two rows, and both passes are one loop.
//
// Scores are multiplied by the logarithm of e to base 2, so that powers are of 2.
#pragma once
#include "tensor/attention_gat.cuh"
#include "tensor/epochs_trainer.cuh"

namespace bg {
/// What a block owns and where its lists begin, in words from its own first one. Rows are those of the first product and of the hidden layer:
/// first those of the step, then those that are scored alone, which have places of their own in the tables.
struct GatBlock {
    u64 offset;              // of the block's words
    u32 words;
    u32 rows_begin, rows;    // of the first product
    u32 scored_rows_begin, scored_rows;
    u32 hidden_begin, hidden;
    u32 scored_hidden_begin, scored_hidden;
    u32 attention_begin;     // the first entry of `attention` among those of dropout
    EpochsColumns columns;
    EpochsLists forward;     // rows of the features
    u32 forward_trained;     // segments of the step
    EpochsLists attention;   // the rows that a hidden row hears from; without ids
    u32 attention_trained;
    u32 attention_owners;    // for each segment, the place of the hidden row's own product
    EpochsLists hearers;     // the hidden rows of the step that hear from a row; ids are of entries of dropout
    u32 hearer_owners;       // for each segment, which of the block's rows
    u32 hidden_of;           // of the rows: their place among hidden ones, all ones for none
    u32 own_rows;            // of the hidden rows: the place of their own product
    u32 nodes;               // of the hidden rows
    u32 pair_count;
    u32 pairs;               // GatPair
    u32 pair_ends;           // the pairs of each hidden row
    u32 names;               // hidden rows that training nodes and scored nodes hear from
    u32 outputs;             // scored nodes
    u32 scored;              // GatScored
};

/// A training node next to a hidden row: its logits are worked out for each row that it hears from, which saves a barrier.
struct GatPair {
    u32 first, count;       // of its names
    u32 label;              // and OWN, for the one that counts its loss
    u32 entry;              // its first entry among those of dropout
    u32 self;               // its place among hidden rows
    u32 at;                 // which of its names the row is
    u32 row;                // the block's row
    u32 unused;
};
/// A node whose logits are scored.
struct GatScored {
    u32 first, count;       // of its names
    u32 label;              // and the part << 30
    u32 self;
};

/// Where a block's arrays are in its memory, in words.
struct GatLayout {
    u32 block;               // GatBlock
    u32 head_of;             // the head of each column
    u32 own, right, d_left, d_right;
    u32 hidden, slopes, attended, plus, lse, share;
    u32 last, d_last, d_last_left, d_last_right;
    u32 d_pairs;
    u32 words;               // all of it
};

struct GatEpochsParams {
    EpochsParams run;
    const GatBlock* blocks;
    const u32* positions;    // of the entries of attention that dropout takes from: the hidden layer's, then the last one's
    u32* kept;               // two sets: a bit for each head
    u64 position_count;
    u64 hidden_positions;    // those of the hidden layer
    f32* rows;               // rows x C: products of the features
    f32* left;               // rows x heads, to a power of two
    f32* right;
    f32* products;           // hidden rows x D
    f32* last_left;          // hidden rows x last heads
    f32* last_right;
    f32* scalars;            // hidden rows of the step x heads x 4: left, logarithm of the sum of powers, dy . y, gradient of left
    f32* hidden_gradients;   // hidden rows of the step x C
    f32* gradients;          // rows of the step x C
    u32 heads, head_bits, head_columns;
    u32 last_heads, last_columns;    // D: heads times classes, to a power of two
    f32 slope, alpha;                // of LeakyReLU, of ELU
    u32 attention_thresholds[2];
    f32 attention_factors[2];
    u32 unused;
    GatLayout layout;
};

/// Columns of the last layer at most: of a lane two, for each of which it has four words.
constexpr u32 GAT_LAST = EPOCHS_WARP_WORDS / 4;

/// Sums of the rows of a segment by the weights of their heads, and of those with a positive one; a weight below zero stands for its
/// magnitude. Lane l of a group has columns 4 l ..
template <u32 C>
BG_DEVICE void gat_rows(u32 count, const u32* names, const f32* table, const f32* weights, u32 head_bits, const u32* head_of, float4& sum,
                        float4& plus) {
    constexpr u32 LANES = C / 4, GROUPS = WARP / LANES, AHEAD = 4;
    const u32 column = lane() % LANES * 4, group = lane() / LANES;
    const uint4 heads = ((const uint4*)head_of)[column / 4];
    sum = plus = make_float4(0, 0, 0, 0);
    for (u32 base = 0; base < count; base += GROUPS * AHEAD) {
        float4 x[AHEAD];
#pragma unroll
        for (u32 u = 0; u < AHEAD; u++) {
            const u32 name = names[min_of(base + group + u * GROUPS, count - 1)];
            x[u] = load_l2((const float4*)(table + (u64)name * C + column));
        }
#pragma unroll
        for (u32 u = 0; u < AHEAD; u++) {
            const u32 i = base + group + u * GROUPS;
            if (i >= count) continue;
            const f32* w = weights + (i << head_bits);
            const f32 a = w[heads.x], b = w[heads.y], c = w[heads.z], d = w[heads.w];
            sum.x += fabsf(a) * x[u].x;
            sum.y += fabsf(b) * x[u].y;
            sum.z += fabsf(c) * x[u].z;
            sum.w += fabsf(d) * x[u].w;
            plus.x += fmaxf(a, 0.0f) * x[u].x;
            plus.y += fmaxf(b, 0.0f) * x[u].y;
            plus.z += fmaxf(c, 0.0f) * x[u].z;
            plus.w += fmaxf(d, 0.0f) * x[u].w;
        }
    }
    epochs_merge<C>(sum);
    epochs_merge<C>(plus);
}

/// What the last layer's attention of a node leaves in the words of a warp: for each column of a lane the sum, its part of positive scores, the
/// logarithm of the sum of powers and their share of positive scores.
struct GatLast {
    f32* words;
    BG_DEVICE f32& at(u32 base, u32 field) const { return words[(base * 4 / WARP + field) * WARP + lane()]; }
    BG_DEVICE f32& y(u32 base) const { return at(base, 0); }
    BG_DEVICE f32& plus(u32 base) const { return at(base, 1); }
    BG_DEVICE f32& lse(u32 base) const { return at(base, 2); }
    BG_DEVICE f32& share(u32 base) const { return at(base, 3); }
};

/// The names of a node, and the bits of dropout of its entries; null for none.
struct GatNames {
    const u32* names;
    u32 count, self;
    const u32* kept;
};

/// The sum over heads, of the class of this lane, in every group of so many lanes as there are classes; columns `span` apart are of one lane.
BG_DEVICE f32 gat_last(const GatEpochsParams& p, const GatNames& of, u32 shift, u32 span, const GatLast& last) {
    constexpr u32 AHEAD = 8;
    const u32 columns = p.last_columns, group = lane() / span, groups = WARP / span;
    f32 logit = 0;
#pragma unroll 1
    for (u32 first = 0; first < columns; first += WARP) {
        const u32 d = first + (lane() & (span - 1)), head = min_of(d, columns - 1) >> shift;
        const bool there = d < columns;
        const f32 left = load_l2(p.last_left + (u64)of.self * p.last_heads + head);
        f32 most = NO_SCORE, powers = 0, plus_powers = 0, sum = 0, plus = 0;
        for (u32 base = group; base < of.count; base += groups * AHEAD) {
            f32 z[AHEAD], x[AHEAD];
            f32 next = most;
#pragma unroll
            for (u32 u = 0; u < AHEAD; u++) {
                const u32 i = min_of(base + u * groups, of.count - 1);
                const u64 name = of.names[i];
                z[u] = left + load_l2(p.last_right + name * p.last_heads + head);
                x[u] = there ? load_l2(p.products + name * columns + d) : 0.0f;
                if (of.kept) x[u] = load_l2(of.kept + i) >> head & 1 ? x[u] * p.attention_factors[1] : 0.0f;
            }
#pragma unroll
            for (u32 u = 0; u < AHEAD; u++) next = fmaxf(next, leaky(z[u], p.slope));
            const f32 scale = exp2_of(most - next);
            most = next;
            powers *= scale;
            plus_powers *= scale;
            sum *= scale;
            plus *= scale;
#pragma unroll
            for (u32 u = 0; u < AHEAD; u++) {
                if (base + u * groups >= of.count) continue;
                const f32 power = exp2_of(leaky(z[u], p.slope) - most), term = power * x[u];
                powers += power;
                sum += term;
                plus_powers += z[u] > 0 ? power : 0.0f;
                plus += z[u] > 0 ? term : 0.0f;
            }
        }
        warp_sync();
        for (u32 across = span; across < WARP; across <<= 1) {
            const f32 other = shuffle_xor(most, across), next = fmaxf(most, other);
            const f32 scale = exp2_of(most - next), other_scale = exp2_of(other - next);
            most = next;
            powers = powers * scale + shuffle_xor(powers, across) * other_scale;
            plus_powers = plus_powers * scale + shuffle_xor(plus_powers, across) * other_scale;
            sum = sum * scale + shuffle_xor(sum, across) * other_scale;
            plus = plus * scale + shuffle_xor(plus, across) * other_scale;
        }
        const f32 inverse = 1.0f / powers;
        last.y(first) = sum * inverse;
        last.plus(first) = plus * inverse;
        last.lse(first) = most + log2_of(powers);
        last.share(first) = plus_powers * inverse;
        logit += there ? sum * inverse : 0.0f;
    }
    warp_sync();
    for (u32 d = 1u << shift; d < span; d <<= 1) logit += shuffle_xor(logit, d);
    return logit / p.last_heads;
}
}  // namespace bg
