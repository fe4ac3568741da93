// Numbers measured, not derived: how products sampled at entries and attention are shared among warps. Host code that needs one reads it
// from here.
#pragma once
#include "common/kernel.cuh"

namespace bg { namespace attention {
// tensor/attention_tasks.cu
/// Entries of a window; a window with more is taken row by row.
constexpr u32 WINDOW_ENTRIES = 512;
/// Entries of a piece at most of rows in windows; a row with more is cut. Sums on tensor cores are flushed at the end of a piece, so that they do not drift.
constexpr u32 PIECE_ENTRIES = 256;

// tensor/attention_pair.cu
/// Entries of a side of a warp in flight at once, of vectors of 16 bytes.
constexpr u32 PAIRS_AHEAD = 4;

// tensor/attention_pair_groups.cuh
/// Blocks of a multiprocessor at once, by which it is reckoned how many times a launch fills the device.
constexpr u32 PAIR_BLOCKS = 6;
/// Times that blocks fill the device from which a group of lanes takes two rows of a kind, and four. Dot products of f16 over grid:1000x1000, 160
/// times: .56 ms with one, .47 with two or four; er100k, 8 times: .114, .115, .126 (64 columns); PubMed, 3 times: .019, .027, .044.
constexpr u32 FEW_WAVES = 8;
constexpr u32 MANY_WAVES = 32;

// tensor/attention_pair_backward_rows.cu
/// Blocks of a multiprocessor at once of the gradients of cosines and GATv2's sums, whose launch fills the device twice. With two entries of a group of
/// lanes in flight and the next two on their way, mesh:50x50x80 and er100k take .68 and .43 ms for .82 and .55 with four of both and four blocks (f16,
/// 128 columns, H200; f32 .90 and .61 for 1.16 and .94).
constexpr u32 PAIR_SUMMING_BLOCKS = 5;

// tensor/attention_gat_backward_tiles.cu
/// Steps of 16 entries that a warp has in shared memory.
constexpr u32 BACKWARD_STEPS = 2;
/// Threads of a block: of four warps one works alone at the end. kron:17 F=64 / 128 .211 / .324 ms with 128 threads, .202 / .303 with 64, .209 / .295
/// with 32; kron:16 .120 / .176, .114 / .163, .116 / .160; urand:300000:8 .236, .235, .241 of F=64; others alike (f16, all three launches, H200).
constexpr u32 BACKWARD_THREADS = 64;

// crates/bitgraph-cuda/src/tensor/forms/attention/layout.rs
/// Warps of lanes that take rows, below which several groups of lanes share a row: two are 1.3 times as fast as one on ca-AstroPh with 4900
/// warps, and .9 times on a mesh with 6750.
constexpr u32 WARPS_ENOUGH = 6000;
/// Logarithm of the rows of a part in which rows of even matrices are sorted by length: `urand:300000:8`, sampled products of f16, F=64 / 128,
/// .128 / .243 ms sorted as a whole, .111 / .230 in parts of 2^16. Smaller parts are slower on er100k (2^13: .061 for .058) and cage11.
constexpr u32 PART_BITS = 16;

// crates/bitgraph-cuda/src/tensor/forms/attention/select.rs
/// Entries of a piece that lanes take. Of 8 lanes the shortest is best (kron:17 f16 F=64 .078 ms, with 256 .082), and for sampled products. With
/// more lanes it is where all entries read PIECE_BYTES of features or less; twice and four times as long where they read more: a piece takes
/// as long as its entries, the whole as long as its bytes (kron:16 F=128, 470 MB: 256; kron:17 F=128, 950 MB: 512, 8 % before 128).
constexpr u32 SHORTEST_PIECE = 128;
constexpr u32 LONGEST_PIECE = 512;
constexpr u32 PIECE_BYTES = 250000000;
/// Groups of 16 lanes, or of 8, among which the entries of a small graph are shared, a quarter of them a piece at most: pieces of PubMed's rows have 32
/// entries and not 128, .0166 ms for .0261 (f16, 128 columns), email-Enron's 64, .0250 for .0305. Of a Kronecker graph of 200 thousand entries 32 are
/// 1.2 times as slow as 64, and as 128.
constexpr u32 PIECES_ENOUGH = 25000;
/// Blocks of halves that go on from row to row, for each that the device holds at once: with 4 of them mesh:50x50x80 takes .081 and .142 ms for
/// .087 and .168 (F=64 and 128), grids .94, shuffled graphs 1.00 to 1.03 of the time. Of f32 more than 1 take 1.1 to 1.2 times as long on grids.
constexpr u32 BRIEF_TURNS_HALVES = 4;

// crates/bitgraph-cuda/src/tensor/forms/attention/staged.rs
/// Percent of a column that blocks of rows own for each entry at most, where rows are short and where they are long. A grid has 39 and a triangulated one
/// 27; a mesh has 17, and 29 with 2 % of its edges drawn anew: then attention of 64 columns takes .067 ms for .037 by lanes, and its gradients .096 for .091.
constexpr u32 SHORT_SHARE = 50, LONG_SHARE = 25;
/// The same of sampled products, where rows are long or have 64 columns at most: a grid takes .092 ms by lanes and .101 by windows, a triangulated one .060
/// and .051; the mesh .038 and .037.
constexpr u32 NARROW_SHARE = 30;
/// Entries from which blocks pay, for each task that is enough: a mesh of 400 thousand takes .85 of the time, a grid of 100 thousand 1.1 times as long.
constexpr u32 BLOCK_ENTRIES = 64;

// crates/bitgraph-cuda/src/tensor/select.rs
/// Tasks below which windows are narrowed, so that there is a warp for every place on the device.
constexpr u32 TASKS_ENOUGH = 4096;
}}  // namespace bg::attention
