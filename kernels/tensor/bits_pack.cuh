// Numbers to signs and to planes of codes. A lane reads 16 bytes at a time where rows allow it, and the bits that lanes have of a plane meet in
// words by exchanges; else one element, and the warp's votes are a word. A code is found as on the host, by the same operations in the same order,
// so that it has the same bits.
#pragma once
#include "common/dtype.cuh"
#include "tensor/bits_counters.cuh"
#include "tuning/bits.cuh"

namespace bg {
struct BitsPackParams {
    const void* input;       // rows x columns, row after row without gaps
    u32* output;             // planes of `lines` lines of `stride` words
    const f32* thresholds;   // for each column; null: 0
    const float2* steps;     // scale and zero point: one, or one for each row or column; null: signs
    f32* scales;             // the mean magnitude of each row; null: none are found
    u64 plane;               // words of a plane
    u32 rows;
    u32 columns;
    u32 lines;               // with the padding
    u32 stride;
    u32 planes;
    u32 above;               // whether an element at its threshold is below it
    u32 step_kind;           // 0: one step; 1: of rows; 2: of columns
    u32 floor;               // whether positions are rounded down
    u32 top;                 // the largest code
    u32 unused;
};

/// The code of an element: its sign, or its step.
BG_DEVICE u32 bits_code(const BitsPackParams& p, f32 x, u32 row, u32 column) {
    if (!p.steps) {
        const f32 threshold = p.thresholds ? load_readonly(p.thresholds + column) : 0.0f;
        return p.above ? x > threshold : x >= threshold;
    }
    const float2 step = load_readonly(p.steps + (p.step_kind == 0 ? 0 : p.step_kind == 1 ? row : column));
    const f32 position = x / step.x + step.y, top = (f32)p.top;
    // What is no number has code 0.
    const f32 inside = position > 0.0f ? (position < top ? position : top) : 0.0f;
    return (u32)(i32)(p.floor ? inside : inside + 0.5f);
}

/// Lines of rows: PACK_WORDS words of a warp at a time, wherever their rows end.
template <class T> BG_DEVICE void bits_pack_rows(const BitsPackParams& p) {
    constexpr u32 WORDS = bits::PACK_WORDS;
    const u32 warps = blockDim.x / WARP;
    const u64 all = (u64)p.lines * p.stride, step = (u64)gridDim.x * warps * WORDS;
    for (u64 base = ((u64)blockIdx.x * warps + threadIdx.x / WARP) * WORDS; base < all; base += step) {
        u32 row = (u32)(base / p.stride), word = (u32)(base - (u64)row * p.stride), codes[WORDS];
        f32 x[WORDS];
        u32 rows[WORDS], columns[WORDS];
#pragma unroll
        for (u32 j = 0; j < WORDS; j++) {
            rows[j] = row, columns[j] = word * 32 + lane();
            const bool within = base + j < all && row < p.rows && columns[j] < p.columns;
            x[j] = within ? load_value((const T*)p.input + ((u64)row * p.columns + columns[j])) : 0.0f;
            if (++word == p.stride) word = 0, row++;
        }
#pragma unroll
        for (u32 j = 0; j < WORDS; j++) codes[j] = rows[j] < p.rows && columns[j] < p.columns ? bits_code(p, x[j], rows[j], columns[j]) : 0;
        for (u32 plane = 0; plane < p.planes; plane++) {
            u32 mine = 0;
#pragma unroll
            for (u32 j = 0; j < WORDS; j++) {
                const u32 found = ballot((codes[j] >> plane & 1u) != 0);
                if (lane() == j) mine = found;
            }
            if (lane() < WORDS && base + lane() < all) p.output[plane * p.plane + base + lane()] = mine;
        }
    }
}

/// Bit `plane` of four codes, a byte each, as the lower four bits: the multiplication takes each byte's bit to its place beyond the others.
BG_DEVICE u32 plane_of_four(u32 codes, u32 plane) { return ((codes >> plane & 0x01010101u) * 0x10204080u) >> 28; }

/// The same of rows whose length is a multiple of 16 bytes: each of the G lanes that hold a word's elements takes those of G words, and ends with
/// the whole of one.
template <class T, u32 PLANES> BG_DEVICE void bits_pack_vectors(const BitsPackParams& p) {
    constexpr u32 V = 16 / sizeof(T), G = 32 / V, GROUPS = 32 / G, BYTES = PLANES > 8 ? 2 : 1;
    const u32 warps = blockDim.x / WARP, m = lane() % G, q = lane() / G;
    const u64 all = (u64)p.lines * p.stride, filled = (u64)p.rows * p.stride, step = (u64)gridDim.x * warps * 32;
    // Where no row ends within a word, and all elements have one step, the matrix is one long row.
    const bool one_row = p.columns == p.stride * 32 && !p.thresholds && (!p.steps || p.step_kind == 0);
    for (u64 base = ((u64)blockIdx.x * warps + threadIdx.x / WARP) * 32; base < all; base += step) {
        uint4 loaded[G];
        u32 rows[G], columns[G];
        const u64 first_row = one_row ? 0 : base / p.stride;
        const u32 first_word = (u32)(base - first_row * p.stride);
#pragma unroll
        for (u32 j = 0; j < G; j++) {
            const u64 word = base + j * GROUPS + q;
            u64 at = word * G + m;
            rows[j] = columns[j] = 0;
            if (!one_row) {
                const u32 here = first_word + j * GROUPS + q, further = here / p.stride;
                rows[j] = (u32)first_row + further;
                columns[j] = (here - further * p.stride) * 32 + m * V;
                at = ((u64)rows[j] * p.columns + columns[j]) / V;
            }
            if (word >= filled || columns[j] >= p.columns) rows[j] = p.rows;
            loaded[j] = rows[j] < p.rows ? load_stream((const uint4*)p.input + at) : make_uint4(0, 0, 0, 0);
        }
        u32 codes[BYTES][G][V / 4];
#pragma unroll
        for (u32 j = 0; j < G; j++) {
            const T* x = (const T*)&loaded[j];
#pragma unroll
            for (u32 i = 0; i < V; i++) {
                const u32 code = rows[j] < p.rows ? bits_code(p, widen(x[i]), rows[j], columns[j] + i) : 0;
#pragma unroll
                for (u32 k = 0; k < BYTES; k++) codes[k][j][i / 4] = (code >> (k * 8) & 255u) << (i % 4 * 8) | (i % 4 ? codes[k][j][i / 4] : 0);
            }
        }
#pragma unroll
        for (u32 plane = 0; plane < PLANES; plane++) {
            if (plane >= p.planes) break;
            u32 words[G];
#pragma unroll
            for (u32 j = 0; j < G; j++) {
                words[j] = 0;
#pragma unroll
                for (u32 i = 0; i < V / 4; i++) words[j] |= plane_of_four(codes[plane / 8][j][i], plane % 8) << (m * V + i * 4);
            }
#pragma unroll
            for (u32 span = G / 2; span > 0; span /= 2)
#pragma unroll
                for (u32 j = 0; j < span; j++) {
                    const bool upper = (m & span) != 0;
                    const u32 other = shuffle_xor(upper ? words[j] : words[j + span], span);
                    words[j] = (upper ? words[j + span] : words[j]) | other;
                }
            const u64 word = base + m * GROUPS + q;
            if (word < all) p.output[plane * p.plane + word] = words[0];
        }
    }
}

/// Lines of columns: a warp takes 32 columns of 32 rows, a word of each column; the words of a block's warps follow each other in memory. Blocks
/// beside each other read the same rows.
template <class T, u32 PLANES> BG_DEVICE void bits_pack_columns(const BitsPackParams& p) {
    constexpr u32 BYTES = PLANES > 8 ? 2 : 1;
    const u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP, word_blocks = ceil_div(p.stride, warps), column_blocks = ceil_div(p.lines, 32u);
    u32* shared = (u32*)shared_memory();
    for (u64 block = blockIdx.x; block < (u64)word_blocks * column_blocks; block += gridDim.x) {
        const u32 word_block = (u32)(block / column_blocks), first_word = word_block * warps;
        const u32 first_column = (u32)(block - (u64)word_block * column_blocks) * 32, column = first_column + lane();
        const u32 row0 = (first_word + warp) * 32;
        f32 x[32];
#pragma unroll
        for (u32 j = 0; j < 32; j++) {
            const u32 row = row0 + j;
            x[j] = row < p.rows && column < p.columns ? load_value((const T*)p.input + ((u64)row * p.columns + column)) : 0.0f;
        }
        u32 words[PLANES];
#pragma unroll
        for (u32 i = 0; i < PLANES; i++) words[i] = 0;
#pragma unroll
        for (u32 r = 0; r < 32; r += 4) {
            u32 codes[BYTES];
#pragma unroll
            for (u32 k = 0; k < BYTES; k++) codes[k] = 0;
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 row = row0 + r + j, code = row < p.rows && column < p.columns ? bits_code(p, x[r + j], row, column) : 0;
#pragma unroll
                for (u32 k = 0; k < BYTES; k++) codes[k] |= (code >> (k * 8) & 255u) << (j * 8);
            }
#pragma unroll
            for (u32 i = 0; i < PLANES; i++) words[i] |= plane_of_four(codes[i / 8], i % 8) << r;
        }
#pragma unroll
        for (u32 i = 0; i < PLANES; i++) {
            if (i >= p.planes) break;
            // A word more between columns, so that lanes write to places in different banks.
            __syncthreads();
            shared[lane() * (warps + 1) + warp] = words[i];
            __syncthreads();
            for (u32 k = threadIdx.x; k < 32 * warps; k += blockDim.x) {
                const u32 line = first_column + k / warps, word = first_word + k % warps;
                if (line < p.lines && word < p.stride) p.output[i * p.plane + (u64)line * p.stride + word] = shared[k / warps * (warps + 1) + k % warps];
            }
        }
    }
}

/// The mean magnitude of each row, by a warp, in f64.
template <class T> BG_DEVICE void bits_row_means(const BitsPackParams& p) {
    const u32 warps = blockDim.x / WARP;
    for (u32 row = blockIdx.x * warps + threadIdx.x / WARP; row < p.rows; row += gridDim.x * warps) {
        f64 sum = 0;
        for (u32 column = lane(); column < p.columns; column += WARP) {
            const f64 x = (f64)load_value((const T*)p.input + ((u64)row * p.columns + column));
            sum += x < 0 ? -x : x;
        }
        sum = butterfly_sum(sum);
        if (lane() == 0) p.scales[row] = p.columns ? (f32)(sum / (f64)p.columns) : 0.0f;
    }
}
/// The mean magnitude of each column, by a block for 32 of them, in f64 and a fixed order.
template <class T> BG_DEVICE void bits_column_means(const BitsPackParams& p) {
    const u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    f64* shared = (f64*)shared_memory();
    for (u32 first = blockIdx.x * 32; first < p.columns; first += gridDim.x * 32) {
        const u32 column = first + lane();
        f64 sum = 0;
        if (column < p.columns)
            for (u32 row = warp; row < p.rows; row += warps) {
                const f64 x = (f64)load_value((const T*)p.input + ((u64)row * p.columns + column));
                sum += x < 0 ? -x : x;
            }
        __syncthreads();
        shared[threadIdx.x] = sum;
        __syncthreads();
        if (warp == 0 && column < p.columns) {
            for (u32 k = 1; k < warps; k++) sum += shared[k * WARP + lane()];
            p.scales[column] = p.rows ? (f32)(sum / (f64)p.rows) : 0.0f;
        }
    }
}
}  // namespace bg
