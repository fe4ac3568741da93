// Inference of a graph convolution of two layers over signs in one launch whose blocks are all resident.
//
// Three phases: X W1 (products of bits, or rows of W1 added up where X has few ones), the sums over neighbours of the first layer with the
// product by W2, the sums of the second layer. A warp has the same rows in both sums: it knows their neighbours before the first phase is over.
// A row of up to 8 neighbours is 8 lanes', one of up to 32 a warp's; a longer one is cut into segments of one block, whose parts are summed in
// their order in shared memory.
//
// What crosses blocks carries the launch's tag in spare bits, and who reads it looks at the tag: the meeting of all blocks between phases only
// says when looking is worth it.
#pragma once
#include "common/mma_bits.cuh"
#include "common/relaxed.cuh"
#include "tensor/bits_gcn_tasks.cuh"

namespace bg {
/// Hidden columns, and classes, that there is room for.
constexpr u32 GCN_HIDDEN = 64, GCN_CLASSES = 8;
/// Words in shared memory of a row that is cut: how many segments are done, of either layer; sums of signs. Then those of each segment:
/// sums of the second layer, and, of floats, of the first one and of its scales.
constexpr u32 GCN_CUT = 2 + GCN_HIDDEN, GCN_SEGMENT_SIGNS = GCN_CLASSES, GCN_SEGMENT_FLOATS = GCN_CLASSES + GCN_HIDDEN + 1;

struct BitsGcnParams {
    u32* arrived;            // of all launches so far
    u32* rounds;             // launches of each block so far
    const u32* features;     // rows x stride: bits
    const u16* lists;        // or rows x list_stride: the columns that are one; NO_NAME
    const u32* first;        // 64 x stride: the bits of W1's columns
    const uint2* first_rows; // inputs: the bits of its rows
    const i32* limits;       // 64; signs: what 4 ands - 2 ones is to reach; floats: ones of W1's columns
    const void* names;       // 32 of each task: of rows, none as all ones
    const void* rows;        // 4 of each task: row, and number of neighbours
    const u32* segments;     // of each task: 0 for four rows, 1 for one, else the cut row + 1 << 16 | the segment
    const u32* cuts;         // of each cut row: its words in shared memory, its segments << 16
    const f32* scales;       // of rows: D
    const f32* feature_scales;  // floats: of rows: D times the factor of the features
    const f32* scale_sums;   // floats: of rows: the sum of the neighbours' D
    const f32* first_scales; // floats: 64
    const f32* first_bias;   // floats: 64
    u32* hidden;             // signs: rows x 4: 16 bits and the tag; floats: rows x 32: two differences of 15 bits and a bit of tag
    u32* products;           // rows x product_words: a byte for a class, differences and a bit of tag; floats: then the row's factor
    f32* logits;
    u64 logits_stride;
    u32 nodes, inputs, stride, list_stride;
    u32 tiles, tasks;
    u32 hidden_columns, classes, product_words;
    u32 cut_words;           // of shared memory, all cut rows of a block
    uint2 second[8];         // the bits of W2's columns
    f32 second_scales[8], second_bias[8];
    f32 hidden_share;        // one over the hidden columns
    u32 reserved;
};

template <bool FLOATS, bool LISTS, class N> struct GcnInference {
    typedef GcnNames<N> Names;
    typedef GcnTask<Names> Task;
    /// Tasks of a warp whose neighbours wait in registers for the next phase.
    static constexpr u32 TASKS = 2;
    const BitsGcnParams& p;
    u32* cut_rows;   // shared
    f32* first_factors;  // shared, of floats: scales and biases of the first layer
    uint2* table;    // shared: rows of W1
    u32 warp, warps, l, group, g, t;
    u32 round, tag, tag_bit;

    BG_DEVICE explicit GcnInference(const BitsGcnParams& params) : p(params) {
        cut_rows = (u32*)shared_memory();
        first_factors = (f32*)(cut_rows + p.cut_words);
        table = (uint2*)(cut_rows + p.cut_words + (FLOATS ? 2 * GCN_HIDDEN : 0));
        warp = threadIdx.x / WARP;
        warps = blockDim.x / WARP;
        l = lane() & 7u;
        group = lane() >> 3;
        g = lane() >> 2;
        t = lane() & 3u;
        round = load_readonly(p.rounds + blockIdx.x) + 1;
        tag = round << 16;
        tag_bit = round & 1u;
    }
    BG_DEVICE Task task(u32 turn) const {
        Task a{Names::NONE, Names::no_row(), 0, 0, 0.0f, false};
        const u32 at = blockIdx.x + gridDim.x * (warp + warps * turn);
        if (at >= p.tasks) return a;
        a.there = true;
        a.name = Names::name(p.names, (u64)at * WARP + lane());
        a.own_row = Names::row(p.rows, (u64)at * 4 + group);
        a.segment = load_readonly(p.segments + at);
        // Before a phase that would wait for them.
        if (a.row() != Names::NONE) a.own = load_readonly(p.scales + a.row());
        if (a.cut()) a.cut_row = load_readonly(p.cuts + (a.segment >> 16) - 1);
        return a;
    }

    /// X W1 by products of bits: 16 rows by 16 columns a warp.
    BG_DEVICE void multiply() {
        constexpr u32 PARTS = 4;
        // Blocks have a multiple of 4 warps: a warp's part is always the same.
        int2 limits[2];
#pragma unroll
        for (u32 j = 0; j < 2; j++) limits[j] = load_readonly((const int2*)(p.limits + warp % PARTS * 16 + j * 8 + t * 2));
        for (u32 work = warp;; work += warps) {
            const u32 tile = blockIdx.x + gridDim.x * (work / PARTS), part = work % PARTS;
            if (tile >= p.tiles) break;
            // The last are the ones of the rows: their products with ones alone.
            i32 sums[3][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
            const u32* a = p.features + (u64)(tile * 16 + g) * p.stride + t * 4;
            const u32* b = p.first + (u64)(part * 16 + g) * p.stride + t * 4;
#pragma unroll 2
            for (u32 k = 0; k < p.stride; k += 16) {
                const uint4 a0 = load_readonly((const uint4*)(a + k)), a1 = load_readonly((const uint4*)(a + k + 8 * (u64)p.stride));
                const uint4 b0 = load_readonly((const uint4*)(b + k)), b1 = load_readonly((const uint4*)(b + k + 8 * (u64)p.stride));
                mma_bits(sums[0], a0.x, a1.x, a0.y, a1.y, b0.x, b0.y);
                mma_bits(sums[1], a0.x, a1.x, a0.y, a1.y, b1.x, b1.y);
                mma_bits(sums[2], a0.x, a1.x, a0.y, a1.y, FULL, FULL);
                mma_bits(sums[0], a0.z, a1.z, a0.w, a1.w, b0.z, b0.w);
                mma_bits(sums[1], a0.z, a1.z, a0.w, a1.w, b1.z, b1.w);
                mma_bits(sums[2], a0.z, a1.z, a0.w, a1.w, FULL, FULL);
            }
            const u32 row = tile * 16 + g;
            const i32 ones0 = sums[2][0], ones1 = sums[2][2];
            u32 bits = 0;
#pragma unroll
            for (u32 j = 0; j < 2; j++) {
                const u32 column = part * 16 + j * 8 + t * 2;
                const int2 limit = limits[j];
                if constexpr (FLOATS) {
                    const u32 d0 = (u32)(ones0 + limit.x - 2 * sums[j][0]), d1 = (u32)(ones0 + limit.y - 2 * sums[j][1]);
                    const u32 d2 = (u32)(ones1 + limit.x - 2 * sums[j][2]), d3 = (u32)(ones1 + limit.y - 2 * sums[j][3]);
                    store_relaxed(p.hidden + (u64)row * 32 + column / 2, (d0 << 1 | tag_bit) | (d1 << 1 | tag_bit) << 16);
                    store_relaxed(p.hidden + (u64)(row + 8) * 32 + column / 2, (d2 << 1 | tag_bit) | (d3 << 1 | tag_bit) << 16);
                } else {
                    const u32 at = j * 8 + t * 2;
                    bits |= ((u32)(4 * sums[j][0] - 2 * ones0 >= limit.x) | (u32)(4 * sums[j][1] - 2 * ones0 >= limit.y) << 1) << at;
                    bits |= ((u32)(4 * sums[j][2] - 2 * ones1 >= limit.x) | (u32)(4 * sums[j][3] - 2 * ones1 >= limit.y) << 1) << (at + 16);
                }
            }
            if constexpr (!FLOATS) {
                bits |= shuffle_xor(bits, 1u);
                bits |= shuffle_xor(bits, 2u);
                if (t == 0) store_relaxed(p.hidden + (u64)row * 4 + part, (bits & 0xffffu) | tag);
                if (t == 1) store_relaxed(p.hidden + (u64)(row + 8) * 4 + part, bits >> 16 | tag);
            }
        }
    }
    /// X W1 by the rows of W1 where X has a one: a row a warp. `ahead` are the first names of the first row.
    BG_DEVICE void add_up(const u32 (&ahead)[2]) {
        i32 limit[8];
#pragma unroll
        for (u32 k = 0; k < 8; k++) limit[k] = load_readonly(p.limits + k * 8 + l);
        for (u32 row = blockIdx.x + gridDim.x * warp, turn = 0; row < p.nodes; row += gridDim.x * warps, turn++) {
            u32 low = 0, high = 0;
            i32 ones = 0;
            for (u32 base = 0; base < p.list_stride; base += WARP) {
                u32 name = 0xffffu;
                if (turn == 0 && base < 2 * WARP) name = base == 0 ? ahead[0] : ahead[1];
                else if (base + lane() < p.list_stride) name = load_readonly(p.lists + (u64)row * p.list_stride + base + lane());
                uint2 x = make_uint2(0, 0);
                if (name != 0xffffu) x = table[name];
                ones += __popc(ballot(name != 0xffffu));
                gcn_count(x.x, x.y, low, high);
            }
            low = gcn_over_groups(low);
            high = gcn_over_groups(high);
            if constexpr (FLOATS) {
                if (lane() < 8) {
#pragma unroll
                    for (u32 k = 0; k < 8; k++) {
                        const u32 d = (u32)(ones + limit[k] - 2 * (i32)((k < 4 ? low : high) >> (8 * (k & 3)) & 255u));
                        store_relaxed((u16*)p.hidden + (u64)row * 64 + k * 8 + l, d << 1 | tag_bit);
                    }
                }
            } else {
                u32 bits_low = 0, bits_high = 0;
#pragma unroll
                for (u32 k = 0; k < 4; k++) {
                    bits_low |= (u32)(4 * (i32)(low >> (8 * k) & 255u) - 2 * ones >= limit[k]) << (8 * k);
                    bits_high |= (u32)(4 * (i32)(high >> (8 * k) & 255u) - 2 * ones >= limit[4 + k]) << (8 * k);
                }
                bits_low = gcn_or8(bits_low << l);
                bits_high = gcn_or8(bits_high << l);
                if (lane() == 0) {
                    const uint4 tagged =
                        make_uint4((bits_low & 0xffffu) | tag, bits_low >> 16 | tag, (bits_high & 0xffffu) | tag, bits_high >> 16 | tag);
                    store_relaxed4(p.hidden + (u64)row * 4, tagged);
                }
            }
        }
    }

    /// Whether this warp is the last of a cut row's, which then has all parts. `layer` 0 or 1.
    BG_DEVICE bool last_of(u32* words, u32 count, u32 layer) {
        fence_block();
        warp_sync();
        u32 before = 0;
        if (lane() == 0) before = atomicAdd(words + layer, 1u);
        if (shuffle(before, 0u) != count - 1) return false;
        fence_block();
        return true;
    }

    /// The first layer's line of a neighbour.
    BG_DEVICE uint4 line(u32 name) const { return load_relaxed4(p.hidden + (u64)name * 4); }

    /// Signs of the sums of signs, as two words for each group; false where another warp has the row.
    BG_DEVICE bool aggregate_signs(const Task& a, uint4 x, u32& low, u32& high) {
        u32 x_low = 0, x_high = 0;
        if (a.name != Names::NONE) {
            BoundedWait wait;
            while (((x.x ^ tag) | (x.y ^ tag) | (x.z ^ tag) | (x.w ^ tag)) >> 16) {
                wait.turn();
                x = line(a.name);
            }
            x_low = __byte_perm(x.x, x.y, 0x5410);
            x_high = __byte_perm(x.z, x.w, 0x5410);
        }
        warp_sync();
        u32 sum_low = 0, sum_high = 0;
        gcn_count(x_low, x_high, sum_low, sum_high);
        if (a.segment) {
            sum_low = gcn_over_groups(sum_low);
            sum_high = gcn_over_groups(sum_high);
        }
        if (a.cut()) {
            // Lane 8 g + l has column 8 g + l of either half.
            const u32 segments = a.cut_row >> 16;
            u32* words = cut_rows + (a.cut_row & 0xffffu);
            atomicAdd(words + 2 + lane(), sum_low >> (8 * group) & 255u);
            atomicAdd(words + 2 + WARP + lane(), sum_high >> (8 * group) & 255u);
            if (!last_of(words, segments, 0)) return false;
            low = ballot(2 * load_volatile(words + 2 + lane()) >= a.degree());
            high = ballot(2 * load_volatile(words + 2 + WARP + lane()) >= a.degree());
            return true;
        }
        // A byte of 128 or more: at least half of up to 32 neighbours.
        const u32 offset = (128 - (a.degree() + 1) / 2) * 0x01010101u;
        low = gcn_or8(((sum_low + offset) >> 7 & 0x01010101u) << l);
        high = gcn_or8(((sum_high + offset) >> 7 & 0x01010101u) << l);
        return true;
    }

    /// Signs of the sums of floats, and the mean magnitude of the row.
    BG_DEVICE bool aggregate_floats(const Task& a, u32& low, u32& high, f32& magnitude) {
        const f32 own = a.name != Names::NONE ? load_readonly(p.feature_scales + a.name) : 0.0f;
        f32 sum[8] = {0, 0, 0, 0, 0, 0, 0, 0}, scale = own;
        constexpr u32 AHEAD = 4;
        const u32 tags = tag_bit * 0x10001u;
#pragma unroll
        for (u32 base = 0; base < 8; base += AHEAD) {
            uint4 x[AHEAD];
            u32 name[AHEAD];
            f32 factor[AHEAD];
#pragma unroll
            for (u32 j = 0; j < AHEAD; j++) {
                name[j] = shuffle(a.name, (lane() & 24u) + base + j);
                factor[j] = shuffle(own, (lane() & 24u) + base + j);
            }
#pragma unroll
            for (u32 j = 0; j < AHEAD; j++) {
                x[j] = make_uint4(tags, tags, tags, tags);
                if (name[j] != Names::NONE) x[j] = load_relaxed4(p.hidden + (u64)name[j] * 32 + l * 4);
            }
#pragma unroll
            for (u32 j = 0; j < AHEAD; j++) {
                BoundedWait wait;
                while (((x[j].x ^ tags) | (x[j].y ^ tags) | (x[j].z ^ tags) | (x[j].w ^ tags)) & 0x10001u) {
                    wait.turn();
                    x[j] = load_relaxed4(p.hidden + (u64)name[j] * 32 + l * 4);
                }
                const u32 words[4] = {x[j].x, x[j].y, x[j].z, x[j].w};
#pragma unroll
                for (u32 k = 0; k < 4; k++) {
                    sum[2 * k] += factor[j] * (f32)((words[k] & 0xffffu) >> 1);
                    sum[2 * k + 1] += factor[j] * (f32)(words[k] >> 17);
                }
            }
        }
        warp_sync();
        scale = gcn_sum8(scale);
        if (a.segment) {
            scale = gcn_over_groups(scale);
#pragma unroll
            for (u32 k = 0; k < 8; k++) sum[k] = gcn_over_groups(sum[k]);
        }
        if (a.cut()) {
            const u32 segments = a.cut_row >> 16;
            u32* words = cut_rows + (a.cut_row & 0xffffu);
            f32* parts = (f32*)(words + GCN_CUT);
            f32* part = parts + (a.segment & 0xffffu) * GCN_SEGMENT_FLOATS + GCN_CLASSES;
            if (lane() < 8) {
#pragma unroll
                for (u32 k = 0; k < 8; k++) store_volatile(part + l * 8 + k, sum[k]);
                if (l == 0) store_volatile(part + GCN_HIDDEN, scale);
            }
            if (!last_of(words, segments, 0)) return false;
            scale = 0;
#pragma unroll
            for (u32 k = 0; k < 8; k++) sum[k] = 0;
            for (u32 s = 0; s < segments; s++) {
                part = parts + s * GCN_SEGMENT_FLOATS + GCN_CLASSES;
#pragma unroll
                for (u32 k = 0; k < 8; k++) sum[k] += load_volatile(part + l * 8 + k);
                scale += load_volatile(part + GCN_HIDDEN);
            }
        }
        const bool there = a.row() != Names::NONE;
        const f32 d = a.own, heard = there ? load_readonly(p.scale_sums + a.row()) : 0.0f;
        u32 bits = 0;
        f32 size = 0;
#pragma unroll
        for (u32 k = 0; k < 8; k++) {
            const f32 product = first_factors[l * 8 + k] * ((f32)p.inputs * scale - 2.0f * sum[k]);
            const f32 y = d * (product + first_factors[GCN_HIDDEN + l * 8 + k] * heard);
            bits |= (u32)(y >= 0.0f) << k;
            size += fabsf(y);
        }
        magnitude = gcn_sum8(size) * p.hidden_share * d;
        // Lane l has columns 8 l .. 8 l + 7.
        bits <<= 8 * (l & 3u);
        bits |= shuffle_xor(bits, 1u);
        bits |= shuffle_xor(bits, 2u);
        const u32 other = shuffle_xor(bits, 4u);
        low = l < 4 ? bits : other;
        high = l < 4 ? other : bits;
        return true;
    }

    /// The first layer's sums of a task, and their products with W2: a class each lane of 8.
    BG_DEVICE void first_layer(const Task& a, uint4 x) {
        u32 low, high;
        f32 magnitude = 0;
        bool has;
        if constexpr (FLOATS) has = aggregate_floats(a, low, high, magnitude);
        else has = aggregate_signs(a, x, low, high);
        if (!has || a.row() == Names::NONE || (a.segment && group != 0)) return;
        u32* to = p.products + (u64)a.row() * p.product_words;
        const u32 bytes = FLOATS ? GCN_CLASSES : p.product_words * 4;
        if (l < bytes) {
            const uint2 w = p.second[l];
            const u32 keep_low = p.hidden_columns >= 32 ? FULL : (1u << p.hidden_columns) - 1;
            const u32 keep_high = p.hidden_columns >= 64 ? FULL : p.hidden_columns > 32 ? (1u << (p.hidden_columns - 32)) - 1 : 0;
            const u32 differ = __popc((low ^ w.x) & keep_low) + __popc((high ^ w.y) & keep_high);
            store_relaxed((u8*)to + l, differ << 1 | tag_bit);
        }
        if constexpr (FLOATS) {
            if (l == 0) store_relaxed(to + 2, (__float_as_uint(magnitude) & ~1u) | tag_bit);
        }
    }

    /// The products of a neighbour: bytes of 8 classes, and the row's factor.
    BG_DEVICE uint4 product_of(u32 name) const {
        const u32* from = p.products + (u64)name * p.product_words;
        if constexpr (FLOATS) return load_relaxed4(from);
        const u32 tags = tag_bit * 0x01010101u;
        if (p.product_words == 1) return make_uint4(load_relaxed(from), tags, 0, 0);
        const uint2 both = load_relaxed2(from);
        return make_uint4(both.x, both.y, 0, 0);
    }

    /// The second layer's sums of a task: a class each lane of 8.
    BG_DEVICE void second_layer(const Task& a, uint4 x, f32 scale) {
        f32 sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (a.name != Names::NONE) {
            const u32 tags = tag_bit * 0x01010101u;
            BoundedWait wait;
            while ((((x.x ^ tags) | (x.y ^ tags)) & 0x01010101u) | (FLOATS ? (x.z ^ tag_bit) & 1u : 0u)) {
                wait.turn();
                x = product_of(a.name);
            }
            const f32 whole = (f32)p.hidden_columns, factor = FLOATS ? __uint_as_float(x.z & ~1u) : scale;
#pragma unroll
            for (u32 k = 0; k < 8; k++) {
                const f32 product = whole - (f32)((k < 4 ? x.x : x.y) >> (8 * (k & 3)) & 254u);
                // The bias meets D alone; the factor of floats holds it already.
                sum[k] = factor * (product * p.second_scales[k]) + scale * p.second_bias[k];
            }
        }
        warp_sync();
        // Each step halves the columns of a lane: lane l ends with column l.
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            const f32 given = l & 4u ? sum[k] : sum[k + 4], kept = l & 4u ? sum[k + 4] : sum[k];
            sum[k] = kept + shuffle_xor(given, 4u);
        }
#pragma unroll
        for (u32 k = 0; k < 2; k++) {
            const f32 given = l & 2u ? sum[k] : sum[k + 2], kept = l & 2u ? sum[k + 2] : sum[k];
            sum[k] = kept + shuffle_xor(given, 2u);
        }
        const f32 given = l & 1u ? sum[0] : sum[1], kept = l & 1u ? sum[1] : sum[0];
        f32 total = kept + shuffle_xor(given, 1u);
        if (a.segment) total = gcn_over_groups(total);
        if (a.cut()) {
            constexpr u32 PART = FLOATS ? GCN_SEGMENT_FLOATS : GCN_SEGMENT_SIGNS;
            const u32 segments = a.cut_row >> 16;
            u32* words = cut_rows + (a.cut_row & 0xffffu);
            f32* parts = (f32*)(words + GCN_CUT);
            if (lane() < 8) store_volatile(parts + (a.segment & 0xffffu) * PART + l, total);
            if (!last_of(words, segments, 1)) return;
            total = 0;
            for (u32 s = 0; s < segments; s++) total += load_volatile(parts + s * PART + l);
        }
        if (a.row() != Names::NONE && (!a.segment || group == 0) && l < p.classes)
            p.logits[(u64)a.row() * p.logits_stride + l] = a.own * total;
    }

    BG_DEVICE void run() {
        Task tasks[TASKS];
#pragma unroll
        for (u32 s = 0; s < TASKS; s++) tasks[s] = task(s);
        u32 ahead[2] = {0xffffu, 0xffffu};
        if constexpr (LISTS) {
            const u32 row = blockIdx.x + gridDim.x * warp;
            if (row < p.nodes) {
                const u16* list = p.lists + (u64)row * p.list_stride;
                if (lane() < p.list_stride) ahead[0] = load_readonly(list + lane());
                if (WARP + lane() < p.list_stride) ahead[1] = load_readonly(list + WARP + lane());
            }
            // Two rows at once; there is one more than inputs, if those are odd.
            const uint4* from = (const uint4*)p.first_rows;
            for (u32 i = threadIdx.x; i < (p.inputs + 1) / 2; i += blockDim.x) ((uint4*)table)[i] = load_readonly(from + i);
        }
        if constexpr (FLOATS) {
            for (u32 i = threadIdx.x; i < 2 * GCN_HIDDEN; i += blockDim.x)
                first_factors[i] = load_readonly(i < GCN_HIDDEN ? p.first_scales + i : p.first_bias + (i - GCN_HIDDEN));
        }
        for (u32 i = threadIdx.x; i < p.cut_words; i += blockDim.x) cut_rows[i] = 0;
        __syncthreads();
        if constexpr (LISTS) add_up(ahead);
        else multiply();
        meet_as_hint(p.arrived, (2 * round - 1) * gridDim.x);

        uint4 x[TASKS];
        if constexpr (!FLOATS) {
#pragma unroll
            for (u32 s = 0; s < TASKS; s++)
                if (tasks[s].name != Names::NONE) x[s] = line(tasks[s].name);
        }
#pragma unroll
        for (u32 s = 0; s < TASKS; s++)
            if (tasks[s].there) first_layer(tasks[s], x[s]);
        for (u32 turn = TASKS;; turn++) {
            const Task a = task(turn);
            if (!a.there) break;
            uint4 y = make_uint4(0, 0, 0, 0);
            if (!FLOATS && a.name != Names::NONE) y = line(a.name);
            first_layer(a, y);
        }
        f32 scales[TASKS];
#pragma unroll
        for (u32 s = 0; s < TASKS; s++) scales[s] = tasks[s].name != Names::NONE ? load_readonly(p.scales + tasks[s].name) : 0.0f;
        meet_as_hint(p.arrived, 2 * round * gridDim.x);

#pragma unroll
        for (u32 s = 0; s < TASKS; s++)
            if (tasks[s].name != Names::NONE) x[s] = product_of(tasks[s].name);
#pragma unroll
        for (u32 s = 0; s < TASKS; s++)
            if (tasks[s].there) second_layer(tasks[s], x[s], scales[s]);
        for (u32 turn = TASKS;; turn++) {
            const Task a = task(turn);
            if (!a.there) break;
            const bool heard = a.name != Names::NONE;
            second_layer(a, heard ? product_of(a.name) : make_uint4(0, 0, 0, 0), heard ? load_readonly(p.scales + a.name) : 0.0f);
        }
        if (threadIdx.x == 0) p.rounds[blockIdx.x] = round;
    }
};

template <bool FLOATS, bool LISTS, class N> BG_DEVICE void bits_gcn(const BitsGcnParams& p) {
    GcnInference<FLOATS, LISTS, N> inference(p);
    inference.run();
}
}  // namespace bg
