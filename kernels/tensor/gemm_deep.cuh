// Dense products whose sums are long and whose sides are narrow, as in the gradient of a layer's weight over many nodes: A^T B of f32 by tensor
// cores, each number as two (see mma_tf32.cuh).
//
// A block has a tile of the product and a part of the terms, which go through shared memory in stages. Groups of warps multiply where the device
// has that (Hopper), 1.4 times as fast as warps do: the right side is split and turned round in shared memory for them, while the products of
// the stage before go on. A second launch adds the parts, in their order.
//
// The sums of the right side's columns are formed by the way, where they are wanted: of the gradient of a layer's result they are that of its
// bias. In a part they are one more row.
//
// A sum that is no finite number is formed once more from the numbers as they are: a number that is infinite is not two numbers.
#pragma once
#include "common/async.cuh"
#include "common/wgmma_tf32.cuh"
#include "tensor/types.cuh"

namespace bg {
struct GemmDeepParams {
    TensorView a, b;  // of f32, a row for each term: those of `a` are rows of the product, those of `b` its columns
    TensorOut y;
    TensorOut sums;   // of the right side's columns, of one row; null: not wanted
    f32* partials;    // of parts, rows and columns
    u64 length;       // of a sum
    u64 part;         // terms of a part
    u32 rows;         // as the columns, a multiple of 4
    u32 columns;
    u32 tiles;        // of the columns
    u32 all_tiles;
    u32 parts, reserved;
};

/// Terms of a stage, the stages, those of a block that has a multiprocessor of Hopper to itself, and what the distance of terms in one is longer than
/// they: the lanes of a load then read different banks.
constexpr u32 DEEP_TERMS = 16, DEEP_STAGES = 4, DEEP_MANY_STAGES = 8, DEEP_GAP = 8;
/// Terms after which sums leave the tensor cores' accumulators, which round towards zero.
constexpr u32 DEEP_SETTLED = 128, DEEP_TOGETHER = DEEP_SETTLED / DEEP_TERMS;
/// Threads that add parts up.
constexpr u32 DEEP_MERGERS = 1024;

/// Rows of a part's sums.
BG_DEVICE u32 part_rows(const GemmDeepParams& p) { return p.rows + (p.sums.data ? 1 : 0); }

/// Terms of a part as they come through shared memory in STAGES places, ROWS and COLUMNS of either side.
template <u32 ROWS, u32 COLUMNS, u32 STAGES> struct DeepStages {
    static constexpr u32 PITCH_A = ROWS + DEEP_GAP, PITCH_B = COLUMNS + DEEP_GAP, STAGE = DEEP_TERMS * (PITCH_A + PITCH_B);
    const GemmDeepParams& p;
    f32* shared;
    u64 begin, end;  // terms
    u32 first_row, first_column;

    BG_DEVICE explicit DeepStages(const GemmDeepParams& params) : p(params), shared((f32*)shared_memory()) {
        const u32 tile = blockIdx.x % p.all_tiles;
        begin = blockIdx.x / p.all_tiles * p.part;
        end = min_of(begin + p.part, p.length);
        first_row = tile / p.tiles * ROWS;
        first_column = tile % p.tiles * COLUMNS;
    }
    /// Stages: as many as are settled together, the last ones with zeros.
    BG_DEVICE u64 count() const { return begin < end ? ceil_div(end - begin, (u64)DEEP_SETTLED) * DEEP_TOGETHER : 0; }
    BG_DEVICE const f32* left(u64 stage) const { return shared + stage % STAGES * STAGE; }
    BG_DEVICE const f32* right(u64 stage) const { return left(stage) + DEEP_TERMS * PITCH_A; }
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
    BG_DEVICE void copy(u64 stage) const {
        const u64 k = begin + stage * DEEP_TERMS;
        f32* to = shared + stage % STAGES * STAGE;
        if (stage < count()) {
            copy_side<ROWS, PITCH_A>(p.a, k, first_row, p.rows, to);
            copy_side<COLUMNS, PITCH_B>(p.b, k, first_column, p.columns, to + DEEP_TERMS * PITCH_A);
        }
        commit_copies();
    }
    BG_DEVICE void start() const {
#pragma unroll
        for (u32 stage = 0; stage + 1 < STAGES; stage++) copy(stage);
    }
    /// A stage is there after it, and the one before it is no longer read: its place takes another.
    BG_DEVICE void next(u64 stage) const {
        wait_copies_but<STAGES - 2>();
        __syncthreads();
        copy(stage + STAGES - 1);
    }
    BG_DEVICE f32 plain(u32 row, u32 column) const {
        f32 sum = 0;
#pragma unroll 1
        for (u64 k = begin; k < end; k++) sum += ((const f32*)p.a.data)[k * p.a.stride + row] * ((const f32*)p.b.data)[k * p.b.stride + column];
        return sum;
    }
    /// Where the part's sums of a row and a column go.
    BG_DEVICE f32* place(u32 row, u32 column) const {
        return p.partials + ((u64)(blockIdx.x / p.all_tiles) * part_rows(p) + row) * p.columns + column;
    }
    /// Whether the block forms the sums of its columns of the right side.
    BG_DEVICE bool sums_columns() const { return p.sums.data && first_row == 0; }
    /// Stores COUNT neighbours of a row of the part's sums, where they are within the product.
    template <u32 COUNT> BG_DEVICE void store(u32 row, u32 column, f32 (&x)[COUNT]) const {
        row += first_row, column += first_column;
        if (row >= p.rows || column >= p.columns) return;
        f32* to = place(row, column);
#pragma unroll
        for (u32 j = 0; j < COUNT; j++)
            if (!(x[j] - x[j] == 0.0f)) x[j] = plain(row, column + j);
#pragma unroll
        for (u32 j = 0; j < COUNT; j += 2) *(float2*)(to + j) = make_float2(x[j], x[j + 1]);
    }
};

/// Takes sums over.
template <u32 TILES> BG_DEVICE void settle(f32 (&sums)[TILES][4], f32 (&totals)[TILES][4]) {
#pragma unroll
    for (u32 tile = 0; tile < TILES; tile++)
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            totals[tile][i] += sums[tile][i];
            sums[tile][i] = 0;
        }
}

/// A tile by DOWN x ACROSS warps, of 32 QUADS rows and 32 columns each.
template <u32 DOWN, u32 ACROSS, u32 QUADS> struct DeepWarps {
    typedef DeepStages<32 * QUADS * DOWN, 32 * ACROSS, DEEP_STAGES> Stages;
    typedef f32 Sums[8 * QUADS][4];
    const Stages stages;
    u32 g, t, own_row, own_column;

    /// What warp `warp` of a whole block does.
    BG_DEVICE DeepWarps(const GemmDeepParams& p, u32 warp) : stages(p), g(lane() >> 2), t(lane() & 3u) {
        own_row = warp / ACROSS * 32 * QUADS;
        own_column = warp % ACROSS * 32;
    }
    /// Four numbers of a term.
    struct Four {
        f32 x[4];
        BG_DEVICE explicit Four(const f32* from) {
            const float4 four = *(const float4*)from;
            x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
        }
    };
    /// Adds the products of a stage. Of a step of 8 terms a lane has t and t + 4; row g of tiles (q, h) of the tensor cores is row
    /// 32 q + 4 g + 2 h of the warp, row g + 8 the one after it, and column c of tile i is column 4 c + i.
    BG_DEVICE void multiply(u64 stage, Sums& sums) const {
#pragma unroll
        for (u32 k = 0; k < DEEP_TERMS; k += 8) {
            const f32* a = stages.left(stage) + (k + t) * Stages::PITCH_A + own_row + 4 * g;
            const f32* b = stages.right(stage) + (k + t) * Stages::PITCH_B + own_column + 4 * g;
            const Four first(b), second(b + 4 * Stages::PITCH_B);
            uint4 right[4];
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                split_tf32_whole(first.x[i], right[i].x, right[i].z);
                split_tf32_whole(second.x[i], right[i].y, right[i].w);
            }
#pragma unroll
            for (u32 q = 0; q < QUADS; q++) {
                const Four near(a + 32 * q), far(a + 4 * Stages::PITCH_A + 32 * q);
#pragma unroll
                for (u32 h = 0; h < 2; h++) {
                    u32 high[4], low[4];
#pragma unroll
                    for (u32 i = 0; i < 2; i++) {
                        split_tf32_whole(near.x[2 * h + i], high[i], low[i]);
                        split_tf32_whole(far.x[2 * h + i], high[2 + i], low[2 + i]);
                    }
#pragma unroll
                    for (u32 term = 0; term < SPLIT_TERMS; term++)
#pragma unroll
                        for (u32 i = 0; i < 4; i++) mma_split(sums[(2 * q + h) * 4 + i], high, low, right[i], term);
                }
            }
        }
    }
    BG_DEVICE void run() const {
        Sums sums = {}, totals = {};
        f32 column_sum = 0;  // of the lane's column among the warp's
        const bool sums_columns = stages.sums_columns() && own_row == 0;
        const u64 count = stages.count();
        stages.start();
        for (u64 stage = 0; stage < count; stage++) {
            stages.next(stage);
            multiply(stage, sums);
            if (sums_columns) {
#pragma unroll
                for (u32 k = 0; k < DEEP_TERMS; k++) column_sum += stages.right(stage)[k * Stages::PITCH_B + own_column + lane()];
            }
            if ((stage + 1) % DEEP_TOGETHER == 0) settle(sums, totals);
        }
        const u32 column = stages.first_column + own_column + lane();
        if (sums_columns && column < stages.p.columns) *stages.place(stages.p.rows, column) = column_sum;
#pragma unroll
        for (u32 tile = 0; tile < 2 * QUADS; tile++)
#pragma unroll
            for (u32 i = 0; i < 2; i++)
#pragma unroll
                for (u32 half = 0; half < 2; half++) {
                    f32 x[4];
#pragma unroll
                    for (u32 j = 0; j < 4; j++) x[j] = totals[tile * 4 + j][2 * i + half];
                    stages.store(own_row + tile / 2 * 32 + 4 * g + tile % 2 * 2 + i, own_column + 8 * t + 4 * half, x);
                }
    }
    /// The work of a block.
    static BG_DEVICE void all(const GemmDeepParams& p) {
        const u32 warp = threadIdx.x / WARP;
#ifdef BITGRAPH_HOST
        // A block may have fewer warps there.
        for (u32 own = warp; own < DOWN * ACROSS; own += blockDim.x / WARP) {
            DeepWarps(p, own).run();
            __syncthreads();
        }
#else
        DeepWarps(p, warp).run();
#endif
    }
};

/// A tile of 8 TILES columns by GROUPS groups of four warps, of 64 rows each.
template <u32 GROUPS, u32 TILES> struct DeepGroups {
    static constexpr u32 COLUMNS = 8 * TILES, STAGES = GROUPS * TILES == 32 ? DEEP_MANY_STAGES : DEEP_STAGES;
    typedef DeepStages<64 * GROUPS, COLUMNS, STAGES> Stages;
    /// Words of the upper parts of a step's right side, and of a stage of both parts.
    static constexpr u32 STEP = 8 * COLUMNS, SPLIT = DEEP_TERMS / 8 * 2 * STEP;
    /// What a lane has of a stage's left side.
    typedef u32 Left[DEEP_TERMS / 8][4];
    const Stages stages;
    u32* turned;  // the right sides of two stages, as wgmma_tf32.cuh has them
    u32 g, t, own_row;

    BG_DEVICE explicit DeepGroups(const GemmDeepParams& p) : stages(p), g(lane() >> 2), t(lane() & 3u) {
        turned = (u32*)(stages.shared + STAGES * Stages::STAGE);
        own_row = threadIdx.x / WARP * 16;
    }
    /// Splits the right side of a stage: a thread takes four terms of a column at a time, which is the same column every time; its sum goes on.
    BG_DEVICE void turn(u64 stage, u32* to, f32& column_sum) const {
        static_assert(128 * GROUPS % COLUMNS == 0, "a thread has one column");
        const f32* from = stages.right(stage);
#pragma unroll
        for (u32 i = threadIdx.x; i < COLUMNS * DEEP_TERMS / 4; i += blockDim.x) {
            const u32 column = i % COLUMNS, four = i / COLUMNS;
            uint4 high, low;
            const f32* at_first = from + 4 * four * Stages::PITCH_B + column;
            const f32 x[4] = {at_first[0], at_first[Stages::PITCH_B], at_first[2 * Stages::PITCH_B], at_first[3 * Stages::PITCH_B]};
            split_tf32_whole(x[0], high.x, low.x);
            split_tf32_whole(x[1], high.y, low.y);
            split_tf32_whole(x[2], high.z, low.z);
            split_tf32_whole(x[3], high.w, low.w);
            column_sum += (x[0] + x[1]) + (x[2] + x[3]);
            u32* at = to + four / 2 * 2 * STEP + column / 8 * 64 + four % 2 * 32 + column % 8 * 4;
            *(uint4*)at = high;
            *(uint4*)(at + STEP) = low;
        }
    }
    /// Row g of the tensor cores is row 2 g of the warp, row g + 8 the one after it.
    BG_DEVICE void read(u64 stage, Left& high, Left& low) const {
#pragma unroll
        for (u32 step = 0; step < DEEP_TERMS / 8; step++) {
            const f32* a = stages.left(stage) + (8 * step + t) * Stages::PITCH_A + own_row + 2 * g;
            const float2 near = *(const float2*)a, far = *(const float2*)(a + 4 * Stages::PITCH_A);
            split_tf32_whole(near.x, high[step][0], low[step][0]);
            split_tf32_whole(near.y, high[step][1], low[step][1]);
            split_tf32_whole(far.x, high[step][2], low[step][2]);
            split_tf32_whole(far.y, high[step][3], low[step][3]);
        }
    }
    /// The sums of the block's columns, of what its threads have, where the right sides were.
    BG_DEVICE void store_columns(f32 column_sum) const {
        f32* found = (f32*)turned;
        __syncthreads();
        found[threadIdx.x] = column_sum;
        __syncthreads();
        const u32 column = stages.first_column + threadIdx.x;
        if (threadIdx.x >= COLUMNS || column >= stages.p.columns) return;
        f32 sum = 0;
        for (u32 i = threadIdx.x; i < blockDim.x; i += COLUMNS) sum += found[i];
        *stages.place(stages.p.rows, column) = sum;
    }
    BG_DEVICE void multiply(u64 stage, u32* to, Left& high, Left& low, f32 (&sums)[TILES][4], f32& column_sum) const {
        // The products of the last stage but one have read what this one overwrites; those of the last one go on.
        wgmma_wait<1>();
        stages.next(stage);
        turn(stage, to, column_sum);
        read(stage, high, low);
        publish_shared();
        __syncthreads();
        wgmma_begin();
#pragma unroll
        for (u32 step = 0; step < DEEP_TERMS / 8; step++) {
            const u64 upper = pieces_of(to + 2 * step * STEP), lower = pieces_of(to + (2 * step + 1) * STEP);
            wgmma_tf32<TILES>(sums, low[step], upper);
            wgmma_tf32<TILES>(sums, high[step], lower);
            wgmma_tf32<TILES>(sums, high[step], upper);
        }
        wgmma_commit();
    }
    BG_DEVICE void run() const {
        f32 totals[TILES][4] = {};
        Left high[2], low[2];
        f32 column_sum = 0;
        const u64 count = stages.count();
        stages.start();
#pragma unroll 1
        for (u64 stage = 0; stage < count; stage += DEEP_TOGETHER) {
            f32 sums[TILES][4] = {};
#pragma unroll
            for (u32 i = 0; i < DEEP_TOGETHER; i++) multiply(stage + i, turned + i % 2 * SPLIT, high[i % 2], low[i % 2], sums, column_sum);
            wgmma_wait<0>();
            keep_registers(sums);
            settle(sums, totals);
        }
#pragma unroll
        for (u32 tile = 0; tile < TILES; tile++)
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                f32 x[2] = {totals[tile][2 * i], totals[tile][2 * i + 1]};
                stages.store(own_row + 2 * g + i, 8 * tile + 2 * t, x);
            }
        if (stages.sums_columns()) store_columns(column_sum);
    }
};

/// A tile by groups of warps where there are such products, else by as many warps.
template <u32 GROUPS, u32 TILES, class Warps> BG_DEVICE void gemm_deep(const GemmDeepParams& p) {
    if constexpr (HAS_WGMMA) DeepGroups<GROUPS, TILES>(p).run();
    else Warps::all(p);
}

/// A warp's lanes have an element each, and the warps of a block the parts in turns.
BG_DEVICE void gemm_deep_merge(const GemmDeepParams& p) {
    f32* shared = (f32*)shared_memory();
    const u32 all = part_rows(p) * p.columns, at = blockIdx.x * WARP + lane(), warps = blockDim.x / WARP;
    f32 sum = 0;
    if (at < all) {
#pragma unroll 8
        for (u32 part = threadIdx.x / WARP; part < p.parts; part += warps) sum += load_l2(p.partials + (u64)part * all + at);
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= WARP || at >= all) return;
    for (u32 w = 1; w < warps; w++) sum += shared[w * WARP + lane()];
    const u32 row = at / p.columns;
    if (row < p.rows) store_as(p.y, row, at % p.columns, sum);
    else store_as(p.sums, 0, at % p.columns, sum);
}
}  // namespace bg
