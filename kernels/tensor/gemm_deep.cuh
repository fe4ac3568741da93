// Dense products whose sums are long and whose sides are narrow, as in the gradient of a layer's weight over many nodes: A^T B of f32 by tensor
// cores, each number as two (see mma_tf32.cuh).
//
// A block has a tile of the product and a part of the terms, which go through shared memory in stages; a lane reads 16 bytes of a term of
// either side, so that its rows and columns are neighbours. A second launch adds the parts, in their order.
//
// A sum that is no finite number is formed once more from the numbers as they are: a number that is infinite is not two numbers.
#pragma once
#include "common/async.cuh"
#include "common/mma_tf32.cuh"
#include "tensor/types.cuh"

namespace bg {
struct GemmDeepParams {
    TensorView a, b;  // of f32, a row for each term: those of `a` are rows of the product, those of `b` its columns
    TensorOut y;
    f32* partials;    // of parts, rows and columns
    u64 length;       // of a sum
    u64 part;         // terms of a part
    u32 rows;         // as the columns, a multiple of 4
    u32 columns;
    u32 tiles;        // of the columns
    u32 all_tiles;
    u32 parts, reserved;
};

/// Terms of a stage, the stages, and what the distance of terms in one is longer than they: the lanes of a load then read different banks.
constexpr u32 DEEP_TERMS = 16, DEEP_STAGES = 4, DEEP_GAP = 8;
/// Terms after which sums leave the tensor cores' accumulators, which round towards zero.
constexpr u32 DEEP_SETTLED = 128;
/// Threads that add parts up.
constexpr u32 DEEP_MERGERS = 256;

/// A tile of DOWN x ACROSS warps, of 32 QUADS rows and 32 columns each.
template <u32 DOWN, u32 ACROSS, u32 QUADS> struct DeepTile {
    static constexpr u32 ROWS = 32 * QUADS * DOWN, COLUMNS = 32 * ACROSS;
    static constexpr u32 PITCH_A = ROWS + DEEP_GAP, PITCH_B = COLUMNS + DEEP_GAP, STAGE = DEEP_TERMS * (PITCH_A + PITCH_B);
    typedef f32 Sums[2 * QUADS][4][4];
    const GemmDeepParams& p;
    f32* shared;
    u64 begin, end;           // terms
    u32 first_row, first_column, g, t, own_row, own_column;

    /// What warp `warp` of a whole block does.
    BG_DEVICE DeepTile(const GemmDeepParams& params, u32 warp) : p(params), shared((f32*)shared_memory()), g(lane() >> 2), t(lane() & 3u) {
        const u32 tile = blockIdx.x % p.all_tiles;
        begin = blockIdx.x / p.all_tiles * p.part;
        end = min_of(begin + p.part, p.length);
        first_row = tile / p.tiles * ROWS;
        first_column = tile % p.tiles * COLUMNS;
        own_row = warp / ACROSS * 32 * QUADS;
        own_column = warp % ACROSS * 32;
    }
    /// Begins to copy WIDTH neighbours of every term of a stage; those beyond the matrix are zeros.
    template <u32 WIDTH, u32 PITCH> BG_DEVICE void copy_side(const TensorView& x, u64 k, u32 first, u32 width, f32* to) const {
        constexpr u32 PACKS = WIDTH / 4;
#pragma unroll
        for (u32 i = threadIdx.x; i < DEEP_TERMS * PACKS; i += blockDim.x) {
            const u32 term = i / PACKS, at = i % PACKS * 4;
            const bool wanted = k + term < end && first + at < width;
            const f32* from = (const f32*)x.data + (wanted ? (k + term) * x.stride + first + at : 0);
            copy_async16_or_zero(to + term * PITCH + at, from, wanted);
        }
    }
    BG_DEVICE void copy(u64 step) const {
        const u64 k = begin + step * DEEP_TERMS;
        f32* to = shared + step % DEEP_STAGES * STAGE;
        if (k < end) {
            copy_side<ROWS, PITCH_A>(p.a, k, first_row, p.rows, to);
            copy_side<COLUMNS, PITCH_B>(p.b, k, first_column, p.columns, to + DEEP_TERMS * PITCH_A);
        }
        commit_copies();
    }
    /// Four numbers of a term.
    struct Four {
        f32 x[4];
        BG_DEVICE explicit Four(const f32* from) {
            const float4 four = *(const float4*)from;
            x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
        }
    };
    /// Adds the products of a stage. Of a step of 8 terms a lane has t and t + 4; row g of tile (q, h) of the tensor cores is row
    /// 32 q + 4 g + 2 h of the warp, row g + 8 the one after it, and column c of tile i is column 4 c + i.
    BG_DEVICE void multiply(const f32* stage, Sums& sums) const {
#pragma unroll
        for (u32 k = 0; k < DEEP_TERMS; k += 8) {
            const f32* a = stage + (k + t) * PITCH_A + own_row + 4 * g;
            const f32* b = stage + DEEP_TERMS * PITCH_A + (k + t) * PITCH_B + own_column + 4 * g;
            const Four first(b), second(b + 4 * PITCH_B);
            uint4 right[4];
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                split_tf32(first.x[i], right[i].x, right[i].z);
                split_tf32(second.x[i], right[i].y, right[i].w);
            }
#pragma unroll
            for (u32 q = 0; q < QUADS; q++) {
                const Four near(a + 32 * q), far(a + 4 * PITCH_A + 32 * q);
#pragma unroll
                for (u32 h = 0; h < 2; h++) {
                    u32 high[4], low[4];
#pragma unroll
                    for (u32 i = 0; i < 2; i++) {
                        split_tf32(near.x[2 * h + i], high[i], low[i]);
                        split_tf32(far.x[2 * h + i], high[2 + i], low[2 + i]);
                    }
#pragma unroll
                    for (u32 term = 0; term < SPLIT_TERMS; term++)
#pragma unroll
                        for (u32 i = 0; i < 4; i++) mma_split(sums[2 * q + h][i], high, low, right[i], term);
                }
            }
        }
    }
    /// Takes sums over.
    static BG_DEVICE void settle(Sums& sums, Sums& totals) {
#pragma unroll
        for (u32 tile = 0; tile < 2 * QUADS; tile++)
#pragma unroll
            for (u32 i = 0; i < 4; i++)
#pragma unroll
                for (u32 d = 0; d < 4; d++) {
                    totals[tile][i][d] += sums[tile][i][d];
                    sums[tile][i][d] = 0;
                }
    }
    BG_DEVICE f32 plain(u32 row, u32 column) const {
        f32 sum = 0;
#pragma unroll 1
        for (u64 k = begin; k < end; k++) sum += ((const f32*)p.a.data)[k * p.a.stride + row] * ((const f32*)p.b.data)[k * p.b.stride + column];
        return sum;
    }
    BG_DEVICE void store(const Sums& totals) const {
        f32* to = p.partials + (u64)(blockIdx.x / p.all_tiles) * p.rows * p.columns;
#pragma unroll
        for (u32 tile = 0; tile < 2 * QUADS; tile++)
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                const u32 row = first_row + own_row + tile / 2 * 32 + 4 * g + tile % 2 * 2 + i;
#pragma unroll
                for (u32 half = 0; half < 2; half++) {
                    const u32 column = first_column + own_column + 8 * t + 4 * half;
                    if (row >= p.rows || column >= p.columns) continue;
                    f32 x[4];
#pragma unroll
                    for (u32 j = 0; j < 4; j++) {
                        x[j] = totals[tile][j][2 * i + half];
                        if (!(x[j] - x[j] == 0.0f)) x[j] = plain(row, column + j);
                    }
                    *(float4*)(to + (u64)row * p.columns + column) = make_float4(x[0], x[1], x[2], x[3]);
                }
            }
    }
    BG_DEVICE void run() const {
        Sums sums = {}, totals = {};
        const u64 steps = begin < end ? ceil_div(end - begin, (u64)DEEP_TERMS) : 0;
#pragma unroll
        for (u32 step = 0; step + 1 < DEEP_STAGES; step++) copy(step);
        for (u64 step = 0; step < steps; step++) {
            wait_copies_but<DEEP_STAGES - 2>();
            // The stage is there, and the one before it is no longer read.
            __syncthreads();
            copy(step + DEEP_STAGES - 1);
            multiply(shared + step % DEEP_STAGES * STAGE, sums);
            if ((step + 1) % (DEEP_SETTLED / DEEP_TERMS) == 0) settle(sums, totals);
        }
        settle(sums, totals);
        store(totals);
    }
    /// The work of a block.
    static BG_DEVICE void all(const GemmDeepParams& p) {
        const u32 warp = threadIdx.x / WARP;
#ifdef BITGRAPH_HOST
        // A block may have fewer warps there.
        for (u32 own = warp; own < DOWN * ACROSS; own += blockDim.x / WARP) {
            DeepTile(p, own).run();
            __syncthreads();
        }
#else
        DeepTile(p, warp).run();
#endif
    }
};

/// A warp's lanes have an element each, and the warps of a block the parts in turns.
BG_DEVICE void gemm_deep_merge(const GemmDeepParams& p) {
    f32* shared = (f32*)shared_memory();
    const u32 all = p.rows * p.columns, at = blockIdx.x * WARP + lane(), warps = blockDim.x / WARP;
    f32 sum = 0;
    if (at < all) {
#pragma unroll 8
        for (u32 part = threadIdx.x / WARP; part < p.parts; part += warps) sum += load_l2(p.partials + (u64)part * all + at);
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= WARP || at >= all) return;
    for (u32 w = 1; w < warps; w++) sum += shared[w * WARP + lane()];
    store_as(p.y, at / p.columns, at % p.columns, sum);
}
}  // namespace bg
