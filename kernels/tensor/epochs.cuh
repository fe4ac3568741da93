// What the epochs of a model of two layers in one launch are told, whatever its layers, and the parts of a phase that a warp does alone.
//
// Lists are made once: dropout takes entries away from them, which the warps find by a bit for each entry of the features. A list is cut
// into segments of one warp; a row's segments are summed in their order, so that every sum has a fixed order. Sums over blocks are of whole
// numbers.
#pragma once
#include "common/arrival.cuh"
#include "tensor/philox.cuh"
#include "tuning/epochs.cuh"

namespace bg {
/// Lists of a block, in words from its first one on: where each segment begins, the bits of the entries, the entries, and the segments of each
/// list.
struct EpochsLists {
    u32 tasks;      // segments
    u32 places;
    u32 ids;
    u32 entries;    // a place and a weight
    u32 ends;
};
/// The columns of the features that a block owns, with the rows of their weight.
struct EpochsColumns {
    EpochsLists lists;
    u32 begin, count;
    u32 features;   // the columns' numbers
};

/// The numbers of an epoch.
struct EpochStep {
    f32 rate, correction1, correction2;  // one over 1 - beta^step
    u32 draws[4];                        // of the features, the hidden layer, the attention of both layers
    u32 reserved;
};

/// What an epoch was like. Losses are sums in units of 1 / EPOCHS_UNIT.
struct EpochRecord {
    u64 loss, validation_loss;
    u32 train_right, validation_right, test_right;
    u32 flags;
};
constexpr u32 EPOCHS_ODD = 1;        // a number that is none, or out of range
constexpr u32 EPOCHS_CANCELLED = 2;

/// What came of a run.
struct EpochsOutcome {
    u32 epochs, best, flags, reserved;
};

struct EpochsParams {
    GridState* state;
    HostLink link;
    const u32* words;
    f32* arena;              // of each block, where its state is too large for shared memory; null
    u64 arena_words;
    const u32* entries;      // the entry of the features that a bit is of
    u32* bits;               // two sets
    u64 entry_count;
    const EpochStep* steps;
    EpochRecord* records;
    EpochsOutcome* outcome;
    f32* weights;            // two sets of columns x H
    u64* sums;               // three sets
    f32* parameters;         // read, and the best written
    const u64* small_places; // where the small parameters are in them; all ones for padding
    const f32* small_decays;
    u64 first_place;         // of the first weight
    u64 seed;
    u32 epochs, stale, selection, decoupled;
    u32 hidden_columns, classes, class_bits, columns;
    u32 input_threshold, hidden_threshold;
    f32 input_factor, hidden_factor;
    f32 share, validation_share;     // one over the number of nodes
    f32 beta1, beta2, epsilon;
    f32 first_decay;         // of the first weight
    u32 small;               // numbers of the small parameters: all but the first weight
    u32 most_columns;
    u32 parts;               // numbers that the segments of a block come to at most
    u32 staged;              // lists are copied to shared memory
};

/// Marks the pair of a training node that counts its loss.
constexpr u32 EPOCHS_OWN = 0x80000000u;

/// What sums over blocks are counted in, and what an addend is below.
constexpr f32 EPOCHS_UNIT = 1099511627776.0f;
constexpr f32 EPOCHS_LARGEST = 4096.0f;

BG_DEVICE u64 epochs_fixed(f32 x, u32& flags) {
    if (!(x < EPOCHS_LARGEST && x > -EPOCHS_LARGEST)) {
        flags |= EPOCHS_ODD;
        return 0;
    }
    return (u64)(i64)(x * EPOCHS_UNIT);
}
BG_DEVICE f32 epochs_value(u64 sum) { return (f32)(i64)sum * (1.0f / EPOCHS_UNIT); }

/// Keeps the entries of a segment that dropout leaves; how many there are. Depends on no weight.
BG_DEVICE u32 epochs_prepare(u32 begin, u32 end, const u32* ids, const uint2* entries, const u32* bits, uint2* kept) {
    u32 count = 0;
    warp_sync();
    for (u32 at = begin; at < end; at += WARP) {
        const u32 i = at + lane();
        bool keep = i < end;
        if (keep) {
            const u32 id = ids[i];
            keep = load_l2(bits + id / 32) >> (id & 31) & 1;
        }
        const u32 all = ballot(keep);
        if (keep) kept[count + __popc(all & ((1u << lane()) - 1))] = entries[i];
        count += __popc(all);
    }
    warp_sync();
    return count;
}

/// Adds a weighted row of four columns a lane.
BG_DEVICE void epochs_add(float4& sum, f32 w, const float4& x) {
    sum.x += w * x.x;
    sum.y += w * x.y;
    sum.z += w * x.z;
    sum.w += w * x.w;
}
/// The sum over the groups of lanes that hold the same columns.
template <u32 H> BG_DEVICE void epochs_merge(float4& sum) {
#pragma unroll
    for (u32 d = H / 4; d < WARP; d <<= 1) {
        sum.x += shuffle_xor(sum.x, d);
        sum.y += shuffle_xor(sum.y, d);
        sum.z += shuffle_xor(sum.z, d);
        sum.w += shuffle_xor(sum.w, d);
    }
}

/// The sum of weighted rows of a table, `entry(i)` naming row and weight; lane l of a group has columns 4 l ..
template <u32 H, bool CACHED, class Entry> BG_DEVICE float4 epochs_rows(u32 count, const f32* table, const Entry& entry) {
    constexpr u32 LANES = H / 4, GROUPS = WARP / LANES, AHEAD = 8;
    const u32 column = lane() % LANES * 4, group = lane() / LANES;
    float4 sum = make_float4(0, 0, 0, 0);
    for (u32 base = 0; base < count; base += GROUPS * AHEAD) {
        float4 x[AHEAD];
        f32 w[AHEAD];
#pragma unroll
        for (u32 u = 0; u < AHEAD; u++) {
            const u32 i = base + group + u * GROUPS;
            const uint2 e = entry(min_of(i, count - 1));
            w[u] = i < count ? __uint_as_float(e.y) : 0.0f;
            const float4* at = (const float4*)(table + (u64)e.x * H + column);
            x[u] = CACHED ? *at : load_l2(at);
        }
#pragma unroll
        for (u32 u = 0; u < AHEAD; u++) epochs_add(sum, w[u], x[u]);
    }
    epochs_merge<H>(sum);
    return sum;
}

/// The sum of rows of a table of 2^shift columns, so many of which a lane reads ahead; every group of so many lanes gets it.
template <u32 AHEAD = 8, class Name> BG_DEVICE f32 epochs_sum(u32 count, const f32* table, u32 shift, const Name& name) {
    const u32 groups = WARP >> shift, group = lane() >> shift, column = lane() & ((1u << shift) - 1);
    f32 sum = 0;
    for (u32 base = group; base < count; base += groups * AHEAD) {
        f32 x[AHEAD];
#pragma unroll
        for (u32 u = 0; u < AHEAD; u++) {
            const u32 i = base + u * groups;
            x[u] = i < count ? load_l2(table + ((u64)name(i) << shift) + column) : 0.0f;
        }
#pragma unroll
        for (u32 u = 0; u < AHEAD; u++) sum += x[u];
    }
    warp_sync();
    for (u32 d = 1u << shift; d < WARP; d <<= 1) sum += shuffle_xor(sum, d);
    return sum;
}

/// Softmax of logits, one a lane in every group.
struct EpochsSoftmax {
    f32 share;      // of this lane's class
    f32 loss;       // of the label
    bool right;     // the first of the largest is the label

    BG_DEVICE EpochsSoftmax(f32 logit, u32 label, u32 classes, u32 shift) {
        const u32 width = 1u << shift, column = lane() & (width - 1);
        const bool there = column < classes;
        f32 most = there ? logit : -3.0e38f;
        for (u32 d = 1; d < width; d <<= 1) {
            const f32 other = shuffle_xor(most, d);
            // A number that is none stays one.
            most = other > most || !(other == other) ? other : most;
        }
        const f32 power = there ? expf(logit - most) : 0.0f;
        f32 sum = power;
        u32 first = there && logit == most ? column : width;
        for (u32 d = 1; d < width; d <<= 1) {
            sum += shuffle_xor(sum, d);
            first = min_of(first, shuffle_xor(first, d));
        }
        share = power / sum;
        loss = logf(sum) - (shuffle(logit, label) - most);
        right = first == label;
    }
};
}  // namespace bg
