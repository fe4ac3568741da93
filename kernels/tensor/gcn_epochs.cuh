// What the epochs of a graph convolution in one launch are told besides what those of any model are.
#pragma once
#include "tensor/epochs_trainer.cuh"

namespace bg {
/// Where a block's lists begin, in words from its own first one, and what it owns.
struct GcnBlock {
    u64 offset;             // of the block's words
    u32 words;
    u32 rows_begin;         // rows of the hidden layer
    u32 rows;
    EpochsLists forward;    // of rows
    EpochsColumns columns;
    u32 pair_count;
    u32 pairs;              // a training node that hears from a row: first name, names | label << 16 .., see GcnPair
    u32 names;              // the rows that it hears from
    u32 pair_ends;          // the pairs of each row
    u32 nodes;              // of the rows
    u32 scales;             // of the rows
};

/// A training node next to a row: its logits are worked out for each row that it hears from, which saves a barrier.
struct GcnPair {
    u32 first, count;       // of its names
    u32 label;              // and OWN, for the one that counts its loss
    f32 scale;
};

/// Lists of rows that are scored: begin[row] .. begin[row + 1] name rows of the layer before.
struct GcnLists {
    const u64* begin;
    const u32* names;
    const f32* scales;
    u64 rows;
};

struct GcnEpochsParams {
    EpochsParams run;
    const GcnBlock* blocks;
    f32* hidden;             // rows x CP: products with the second weight
    f32* gradients;          // rows x H
    GcnLists input;          // rows of the features, for scores: names are columns
    const f32* input_values;
    GcnLists middle;         // the long ones first, one for each of as many blocks
    GcnLists output;
    const u32* labels;       // of the rows of output: the class, and the part << 30
    f32* input_sums;         // rows x H
    f32* middle_sums;        // rows x CP
    u32 most_rows, most_pairs;
    u32 long_rows;           // of middle
    u32 reserved;
};
}  // namespace bg
