// Layers of a graph network over codes of few bits, in batches: every part of a graph, of up to 128 vertices, is in one block, which takes it
// through all layers. A part's pattern is a matrix of 128 x 128 bits, its features are planes along its vertices.
//
// A layer sums codes over neighbours by a product of bits for each plane, the highest first, whose sums double from plane to plane; levels of
// the sums are bytes. Their product with the weights is formed transposed, so that the bits of its levels lie along the vertices: planes
// again. A warp keeps its 16 vertices from layer to layer; only planes cross warps. The last layer gives the class of the largest product, the
// first of equal ones.
#pragma once
#include "common/async.cuh"
#include "common/memory.cuh"
#include "common/mma_bits.cuh"
#include "common/mma_bytes.cuh"

namespace bg {
/// Levels of sums that are not negative, or of products: round(x * scale) + zero, from 0 to highest. `scale` is a power of two down to 2^-23:
/// x below 2^23 is added to a float whose last place is 1, and one rounding, to even, gives the level in the last bits of another one.
struct BatchLevels {
    f32 scale;
    f32 shift;      // 1.5 * 2^23 - 2^23 * scale
    i32 zero;       // less the bits of 1.5 * 2^23; of sums over neighbours there is no zero
    u32 highest;
};

/// Of a layer.
struct BatchLayer {
    BatchLevels sums;
    BatchLevels products;   // nothing of the last one
};

/// Layers that there is room for.
constexpr u32 BATCH_LAYERS = 8;

struct BitsBatchesParams {
    const u32* adjacency;   // parts x 128 x 4 words
    const u32* features;    // parts x S planes x 128 columns x 4 words of 128 vertices
    const u32* first;       // 16 outputs x 128 inputs, a byte each
    const u32* middle;      // of each layer between: 16 x 16
    const u32* last;        // classes, rounded up to 16, x 16
    i32* classes;           // parts x vertices
    u64 stride;             // of them
    u32 parts;
    u32 vertices;           // of a part
    u32 columns;            // of the features, a multiple of 8
    u32 chunks;             // of 32 columns
    u32 between;            // layers between the first and the last
    u32 class_count;
    BatchLayer layers[8];   // BATCH_LAYERS
};

constexpr u32 BATCH_SIDE = 128, BATCH_HIDDEN = 16;
/// Words of a vertex's codes: four more than there are, so that the lanes of a product read different banks.
constexpr u32 BATCH_ROW = 36;

/// The bits of 2^23 as a float, which a sum is counted up from, and of 1.5 * 2^23.
constexpr u32 BATCH_BASE = 0x4b000000u, BATCH_MIDDLE = 0x4b400000u;

/// The level of a sum in the last byte; `at` is the sum counted up from BATCH_BASE.
BG_DEVICE u32 batch_sum_level(const BatchLevels& l, i32 at) {
    return min_of(__float_as_uint(fmaf(__uint_as_float((u32)at), l.scale, l.shift)), BATCH_MIDDLE + l.highest);
}
/// The level of a product counted up from BATCH_BASE.
BG_DEVICE u32 batch_level(const BatchLevels& l, i32 at) {
    const i32 level = (i32)__float_as_uint(fmaf(__uint_as_float((u32)at), l.scale, l.shift)) + l.zero;
    return min_of((u32)max_of(level, 0), l.highest);
}

template <u32 S> struct BatchBlock {
    static constexpr u32 PLANES = S * BATCH_SIDE * 4, HIDDEN = S * BATCH_HIDDEN * 4;
    const BitsBatchesParams& p;
    u32 *adjacency, *features, *hidden, *codes;
    u32 warp, warps, g, t;

    BG_DEVICE explicit BatchBlock(const BitsBatchesParams& params) : p(params) {
        adjacency = (u32*)shared_memory();                 // two sets
        features = adjacency + 2 * BATCH_SIDE * 4;         // two sets
        hidden = features + 2 * PLANES;                    // two sets
        codes = hidden + 2 * HIDDEN;                       // 128 x BATCH_ROW
        warp = threadIdx.x / WARP;
        warps = blockDim.x / WARP;
        g = lane() >> 2;
        t = lane() & 3u;
    }
    /// Starts to copy a part; a group of copies even where there is none.
    BG_DEVICE void load(u32 part, u32 set) {
        if (part < p.parts) {
            const u32* from = p.adjacency + (u64)part * BATCH_SIDE * 4;
            u32* to = adjacency + set * BATCH_SIDE * 4;
            for (u32 i = threadIdx.x; i < BATCH_SIDE; i += blockDim.x) copy_async16(to + i * 4, from + i * 4);
            from = p.features + (u64)part * PLANES;
            to = features + set * PLANES;
            for (u32 i = threadIdx.x; i < PLANES / 4; i += blockDim.x)
                if (i % BATCH_SIDE < p.columns) copy_async16(to + i * 4, from + i * 4);
        }
        commit_copies();
    }
    /// Levels of the sums over neighbours of the warp's vertices, to `codes`. `lines` are those of a plane, of which `columns` count.
    BG_DEVICE void aggregate(u32 row, u32 a0, u32 a1, const u32* planes, u32 lines, u32 columns, const BatchLevels& levels) {
        u8* to = (u8*)(codes + (row + g) * BATCH_ROW) + t * 2;
#pragma unroll 4
        for (u32 n = 0; n < columns / 8; n++) {
            i32 sum[4] = {0, 0, 0, 0};
#pragma unroll
            for (u32 plane = S; plane-- > 0;) {
#pragma unroll
                for (u32 i = 0; i < 4; i++) sum[i] = sum[i] + sum[i] + (plane == 0 ? (i32)BATCH_BASE : 0);
                mma_bits_half(sum, a0, a1, planes[(plane * lines + n * 8 + g) * 4 + t]);
            }
            u32 level[4];
#pragma unroll
            for (u32 i = 0; i < 4; i++) level[i] = batch_sum_level(levels, sum[i]);
            *(u16*)(to + n * 8) = (u16)__byte_perm(level[0], level[1], 0x0040);
            *(u16*)(to + n * 8 + 8 * BATCH_ROW * 4) = (u16)__byte_perm(level[2], level[3], 0x0040);
        }
    }
    /// Products that are counted up from where levels are found.
    BG_DEVICE static void fresh(i32 (&y)[2][4]) {
#pragma unroll
        for (u32 i = 0; i < 8; i++) y[i / 4][i % 4] = (i32)BATCH_BASE;
    }
    /// The planes of the levels of two products of 16 outputs by 8 vertices: lane 4 g + t has the outputs g and g + 8 of the vertices 2 t and
    /// 2 t + 1 of each.
    BG_DEVICE void pack(u32 row, const i32 (&product)[2][4], const BatchLevels& levels, u32* to) {
        u32 level[2][4];
#pragma unroll
        for (u32 n = 0; n < 2; n++)
#pragma unroll
            for (u32 i = 0; i < 4; i++) level[n][i] = batch_level(levels, product[n][i]);
#pragma unroll
        for (u32 plane = 0; plane < S; plane++) {
            u32 bits = 0;
#pragma unroll
            for (u32 n = 0; n < 2; n++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) bits |= (level[n][i] >> plane & 1u) << (n * 8 + (i >> 1) * 16 + (i & 1));
            bits <<= 2 * t;
            bits |= shuffle_xor(bits, 1u);
            bits |= shuffle_xor(bits, 2u);
            if (t < 2) ((u16*)to)[(plane * BATCH_HIDDEN + g + 8 * t) * 8 + row / 16] = (u16)(t ? bits >> 16 : bits);
        }
    }
    /// The classes of the warp's vertices, from their codes.
    BG_DEVICE void classify(u32 part, u32 row) {
        u32 best[4] = {0, 0, 0, 0};
        for (u32 base = 0; base < p.class_count; base += 16) {
            const u32 w0 = load_readonly(p.last + (base + g) * 4 + t), w1 = load_readonly(p.last + (base + g + 8) * 4 + t);
#pragma unroll
            for (u32 n = 0; n < 2; n++) {
                i32 y[4] = {0, 0, 0, 0};
                mma_bytes(y, w0, w1, 0, 0, codes[(row + n * 8 + g) * BATCH_ROW + t], 0);
#pragma unroll
                for (u32 i = 0; i < 4; i++) {
                    // The product, then how early the class is.
                    const u32 at = base + g + 8 * (i >> 1), value = at < p.class_count ? (u32)y[i] << 8 | (255 - at) : 0;
                    best[n * 2 + (i & 1)] = max_of(best[n * 2 + (i & 1)], value);
                }
            }
        }
#pragma unroll
        for (u32 s = 0; s < 4; s++) {
            for (u32 d = 4; d < WARP; d <<= 1) best[s] = max_of(best[s], shuffle_xor(best[s], d));
            const u32 vertex = row + (s >> 1) * 8 + t * 2 + (s & 1);
            if (g == 0 && vertex < p.vertices) p.classes[((u64)part * p.vertices + vertex) * p.stride] = (i32)(255 - (best[s] & 255));
        }
    }

    BG_DEVICE void run() {
        u32 w[16];
#pragma unroll
        for (u32 k = 0; k < 4; k++)
#pragma unroll
            for (u32 i = 0; i < 4; i++)
                w[4 * k + i] = load_readonly(p.first + (g + 8 * (i & 1)) * (BATCH_SIDE / 4) + k * 8 + t + 4 * (i >> 1));
        u32 middle0 = 0, middle1 = 0;
        if (p.between > 0) {
            middle0 = load_readonly(p.middle + g * 4 + t);
            middle1 = load_readonly(p.middle + g * 4 + t + 32);
        }
        // Columns that no product writes are read all the same.
        for (u32 i = threadIdx.x; i < BATCH_SIDE * BATCH_ROW; i += blockDim.x) codes[i] = 0;
        u32 set = 0;
        load(blockIdx.x, 0);
        for (u32 part = blockIdx.x; part < p.parts; part += gridDim.x, set ^= 1) {
            wait_copies();
            __syncthreads();
            load(part + gridDim.x, set ^ 1);
            const u32* pattern = adjacency + set * BATCH_SIDE * 4 + g * 4 + t;
            for (u32 row = warp * 16; row < BATCH_SIDE; row += warps * 16) {
                aggregate(row, pattern[row * 4], pattern[row * 4 + 32], features + set * PLANES, BATCH_SIDE, p.columns, p.layers[0].sums);
                warp_sync();
                i32 y[2][4];
                fresh(y);
#pragma unroll
                for (u32 n = 0; n < 2; n++) {
                    const u32* q = codes + (row + n * 8 + g) * BATCH_ROW + t;
#pragma unroll
                    for (u32 k = 0; k < 4; k++)
                        if (k < p.chunks) mma_bytes(y[n], w[4 * k], w[4 * k + 1], w[4 * k + 2], w[4 * k + 3], q[k * 8], q[k * 8 + 4]);
                }
                pack(row, y, p.layers[0].products, hidden);
            }
            for (u32 layer = 0; layer <= p.between; layer++) {
                __syncthreads();
                const u32* from = hidden + (layer & 1) * HIDDEN;
                const BatchLayer& levels = p.layers[layer + 1];
                for (u32 row = warp * 16; row < BATCH_SIDE; row += warps * 16) {
                    aggregate(row, pattern[row * 4], pattern[row * 4 + 32], from, BATCH_HIDDEN, BATCH_HIDDEN, levels.sums);
                    warp_sync();
                    if (layer == p.between) {
                        classify(part, row);
                    } else {
                        u32 w0 = middle0, w1 = middle1;
                        if (layer > 0) {
                            const u32* weights = p.middle + layer * BATCH_HIDDEN * 4 + g * 4 + t;
                            w0 = load_readonly(weights);
                            w1 = load_readonly(weights + 32);
                        }
                        i32 y[2][4];
                fresh(y);
#pragma unroll
                        for (u32 n = 0; n < 2; n++) mma_bytes(y[n], w0, w1, 0, 0, codes[(row + n * 8 + g) * BATCH_ROW + t], 0);
                        pack(row, y, levels.products, hidden + ((layer + 1) & 1) * HIDDEN);
                    }
                    warp_sync();
                }
            }
        }
    }
};

template <u32 S> BG_DEVICE void bits_batches(const BitsBatchesParams& p) {
    BatchBlock<S> block(p);
    block.run();
}
}  // namespace bg
