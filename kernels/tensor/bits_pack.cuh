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
    const float4* steps;     // scale, zero point, `inverse` and 0: one, or one for each row or column; null: signs
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

/// Whether quotients by a step are found by the inverse of its scale. The host gives 0 where that would not do, near the ends of the numbers.
BG_DEVICE bool has_inverse(float4 step) { return step.z != 0.0f; }
/// x / scale with the bits of a division, which costs twice as much: twice the remainder of a quotient, which a fused multiply-add knows exactly,
/// corrects it (Markstein's theorem, for an inverse that is the nearest number to it). A quotient that is far beyond any code stays as it comes,
/// and so does one that is infinite.
BG_DEVICE f32 quotient_by_inverse(f32 x, f32 scale, f32 inverse) {
    constexpr f32 FAR = 1.0e12f;
    const f32 near = x * inverse;
    f32 found = fmaf(fmaf(-near, scale, x), inverse, near);
    found = fmaf(fmaf(-found, scale, x), inverse, found);
    return fabsf(near) < FAR ? found : near;
}
template <bool INVERSE> BG_DEVICE u32 step_code(const BitsPackParams& p, f32 x, float4 step) {
    const f32 position = (INVERSE ? quotient_by_inverse(x, step.x, step.z) : x / step.x) + step.y;
    // What is no number has code 0.
    return (u32)(i32)(fminf(fmaxf(position, 0.0f), (f32)p.top) + (p.floor ? 0.0f : 0.5f));
}
BG_DEVICE u32 bits_sign(const BitsPackParams& p, f32 x, u32 column) {
    const f32 threshold = p.thresholds ? load_readonly(p.thresholds + column) : 0.0f;
    return p.above ? x > threshold : x >= threshold;
}

/// The codes of N elements that follow each other in a row, or if DOWN in a column; of those behind the first `left` they are 0. What their steps
/// have in common is looked at once.
template <u32 N, bool DOWN> BG_DEVICE void bits_codes(const BitsPackParams& p, const f32 (&x)[N], u32 row, u32 column, u32 left, u32 (&codes)[N]) {
    if (p.step_kind == (DOWN ? 1u : 2u)) {
#pragma unroll
        for (u32 i = 0; i < N; i++) {
            codes[i] = 0;
            if (i >= left) continue;
            const float4 step = load_readonly(p.steps + (DOWN ? row : column) + i);
            codes[i] = has_inverse(step) ? step_code<true>(p, x[i], step) : step_code<false>(p, x[i], step);
        }
        return;
    }
    const float4 step = load_readonly(p.steps + (p.step_kind == 0 || left == 0 ? 0 : DOWN ? column : row));
    if (has_inverse(step)) {
#pragma unroll
        for (u32 i = 0; i < N; i++) codes[i] = i < left ? step_code<true>(p, x[i], step) : 0;
    } else {
#pragma unroll
        for (u32 i = 0; i < N; i++) codes[i] = i < left ? step_code<false>(p, x[i], step) : 0;
    }
}
/// Byte `k` of each of four codes.
BG_DEVICE u32 bytes_of(u32 a, u32 b, u32 c, u32 d, u32 k) {
    const u32 which = k == 0 ? 0x0040 : 0x0051;
    return __byte_perm(__byte_perm(a, b, which), __byte_perm(c, d, which), 0x5410);
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
        for (u32 j = 0; j < WORDS; j++) {
            const bool within = rows[j] < p.rows && columns[j] < p.columns;
            const f32 one[1] = {x[j]};
            u32 code[1] = {0};
            if (p.steps) bits_codes<1, false>(p, one, rows[j], columns[j], within, code);
            else if (within) code[0] = bits_sign(p, x[j], columns[j]);
            codes[j] = code[0];
        }
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

/// Exchanges bits `SHIFT` further up of `low` with those of `high`, in the places of `mask`.
template <u32 SHIFT> BG_DEVICE void exchange_bits(u32& low, u32& high, u32 mask) {
    const u32 other = (low >> SHIFT ^ high) & mask;
    high ^= other;
    low ^= other << SHIFT;
}
/// Codes of 32 elements, element 8 b + k in byte b of word k, to their planes: bit i of word k is bit k of element i. Words and bits of a byte
/// change places, in three steps.
BG_DEVICE void codes_to_planes(u32 (&c)[8]) {
#pragma unroll
    for (u32 k = 0; k < 4; k++) exchange_bits<4>(c[k], c[k + 4], 0x0f0f0f0fu);
#pragma unroll
    for (u32 k = 0; k < 8; k++)
        if (!(k & 2u)) exchange_bits<2>(c[k], c[k + 2], 0x33333333u);
#pragma unroll
    for (u32 k = 0; k < 8; k += 2) exchange_bits<1>(c[k], c[k + 1], 0x55555555u);
}
/// Four words of four bytes, with words and bytes in each other's places.
BG_DEVICE void transpose_bytes(u32& a, u32& b, u32& c, u32& d) {
    const u32 ab_low = __byte_perm(a, b, 0x5140), ab_high = __byte_perm(a, b, 0x7362);
    const u32 cd_low = __byte_perm(c, d, 0x5140), cd_high = __byte_perm(c, d, 0x7362);
    a = __byte_perm(ab_low, cd_low, 0x5410);
    b = __byte_perm(ab_low, cd_low, 0x7632);
    c = __byte_perm(ab_high, cd_high, 0x5410);
    d = __byte_perm(ab_high, cd_high, 0x7632);
}

/// Where the elements are that the lanes of a warp hold when they take 32 words at a time, each of the G lanes of a word 16 bytes of G words.
template <class T> struct PackPlaces {
    static constexpr u32 V = 16 / sizeof(T), G = 32 / V, GROUPS = 32 / G;
    u32 rows[G], columns[G];
};
/// Reads them; of what is beyond the matrix the row is `p.rows`.
template <class T> BG_DEVICE void load_words(const BitsPackParams& p, u64 base, PackPlaces<T>& places, uint4 (&loaded)[PackPlaces<T>::G]) {
    using P = PackPlaces<T>;
    const u32 m = lane() % P::G, q = lane() / P::G;
    const u64 filled = (u64)p.rows * p.stride;
    // Where no row ends within a word, and all elements have one step, the matrix is one long row.
    const bool one_row = p.columns == p.stride * 32 && !p.thresholds && (!p.steps || p.step_kind == 0);
    const u64 first_row = one_row ? 0 : base / p.stride;
    const u32 first_word = (u32)(base - first_row * p.stride);
#pragma unroll
    for (u32 j = 0; j < P::G; j++) {
        const u64 word = base + j * P::GROUPS + q;
        u64 at = word * P::G + m;
        places.rows[j] = places.columns[j] = 0;
        if (!one_row) {
            const u32 here = first_word + j * P::GROUPS + q, further = here / p.stride;
            places.rows[j] = (u32)first_row + further;
            places.columns[j] = (here - further * p.stride) * 32 + m * P::V;
            at = ((u64)places.rows[j] * p.columns + places.columns[j]) / P::V;
        }
        if (word >= filled || places.columns[j] >= p.columns) places.rows[j] = p.rows;
        loaded[j] = places.rows[j] < p.rows ? load_stream((const uint4*)p.input + at) : make_uint4(0, 0, 0, 0);
    }
}
/// The G lanes of a word change places with their G items of N numbers: item j of lane m becomes item m of lane j.
template <u32 G, u32 N> BG_DEVICE void exchange_items(u32 (&items)[G][N]) {
#pragma unroll
    for (u32 span = G / 2; span > 0; span /= 2)
#pragma unroll
        for (u32 j = 0; j < G; j++) {
            if (j & span) continue;
            const bool upper = (lane() & span) != 0;
#pragma unroll
            for (u32 i = 0; i < N; i++) {
                const u32 other = shuffle_xor(upper ? items[j][i] : items[j + span][i], span);
                if (upper) items[j][i] = other;
                else items[j + span][i] = other;
            }
        }
}

/// Rows whose length is a multiple of 16 bytes: each of the G lanes that hold a word's elements takes those of G words, and ends with the whole of
/// one: by an exchange of its codes, a byte each, which then become planes at once.
template <class T, u32 PLANES> BG_DEVICE void bits_pack_vectors(const BitsPackParams& p) {
    using P = PackPlaces<T>;
    constexpr u32 V = P::V, G = P::G, BYTES = PLANES > 8 ? 2 : 1;
    const u32 warps = blockDim.x / WARP, m = lane() % G, q = lane() / G;
    const u64 all = (u64)p.lines * p.stride, step = (u64)gridDim.x * warps * 32;
    for (u64 base = ((u64)blockIdx.x * warps + threadIdx.x / WARP) * 32; base < all; base += step) {
        uint4 loaded[G];
        P places;
        load_words<T>(p, base, places, loaded);
        u32 codes[BYTES][G][V / 4];
#pragma unroll
        for (u32 j = 0; j < G; j++) {
            f32 x[V];
            u32 found[V];
#pragma unroll
            for (u32 i = 0; i < V; i++) x[i] = widen(((const T*)&loaded[j])[i]);
            bits_codes<V, false>(p, x, places.rows[j], places.columns[j], places.rows[j] < p.rows ? V : 0, found);
#pragma unroll
            for (u32 i = 0; i < V; i += 4)
#pragma unroll
                for (u32 k = 0; k < BYTES; k++) codes[k][j][i / 4] = bytes_of(found[i], found[i + 1], found[i + 2], found[i + 3], k);
        }
        const u64 word = base + m * P::GROUPS + q;
#pragma unroll
        for (u32 k = 0; k < BYTES; k++) {
            exchange_items<G, V / 4>(codes[k]);
            u32 c[8];
#pragma unroll
            for (u32 i = 0; i < 8; i++) c[i] = codes[k][i / (V / 4)][i % (V / 4)];
            // Word i holds elements 4 i to 4 i + 3.
            transpose_bytes(c[0], c[2], c[4], c[6]);
            transpose_bytes(c[1], c[3], c[5], c[7]);
            u32 planes[8] = {c[0], c[2], c[4], c[6], c[1], c[3], c[5], c[7]};
            codes_to_planes(planes);
#pragma unroll
            for (u32 i = 0; i < 8; i++)
                if (k * 8 + i < p.planes && word < all) p.output[(k * 8 + i) * p.plane + word] = planes[i];
        }
    }
}
/// The same of signs: a lane's bits of a word stand where they belong, and the exchange joins them.
template <class T> BG_DEVICE void bits_pack_sign_vectors(const BitsPackParams& p) {
    using P = PackPlaces<T>;
    constexpr u32 V = P::V, G = P::G;
    const u32 warps = blockDim.x / WARP, m = lane() % G, q = lane() / G;
    const u64 all = (u64)p.lines * p.stride, step = (u64)gridDim.x * warps * 32;
    for (u64 base = ((u64)blockIdx.x * warps + threadIdx.x / WARP) * 32; base < all; base += step) {
        uint4 loaded[G];
        P places;
        load_words<T>(p, base, places, loaded);
        u32 words[G];
#pragma unroll
        for (u32 j = 0; j < G; j++) {
            words[j] = 0;
            if (places.rows[j] >= p.rows) continue;
#pragma unroll
            for (u32 i = 0; i < V; i++) words[j] |= bits_sign(p, widen(((const T*)&loaded[j])[i]), places.columns[j] + i) << i;
            words[j] <<= m * V;
        }
#pragma unroll
        for (u32 span = G / 2; span > 0; span /= 2)
#pragma unroll
            for (u32 j = 0; j < span; j++) {
                const bool upper = (m & span) != 0;
                const u32 other = shuffle_xor(upper ? words[j] : words[j + span], span);
                words[j] = (upper ? words[j + span] : words[j]) | other;
            }
        const u64 word = base + m * P::GROUPS + q;
        if (word < all) p.output[word] = words[0];
    }
}
/// Lines of columns: a warp takes 32 columns of 32 rows, a word of each column; the words of a block's warps follow each other in memory. Blocks
/// beside each other read the same rows. PLANES are 0 for signs.
template <class T, u32 PLANES> BG_DEVICE void bits_pack_columns(const BitsPackParams& p) {
    constexpr u32 BYTES = PLANES > 8 ? 2 : 1;
    const u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP, word_blocks = ceil_div(p.stride, warps), column_blocks = ceil_div(p.lines, 32u);
    // For each plane the words of 32 columns, with a word more between columns, so that lanes write to places in different banks.
    const u32 pitch = warps + 1, out_line = threadIdx.x / warps, out_word = threadIdx.x % warps;
    u32* shared = (u32*)shared_memory();
    for (u64 block = blockIdx.x; block < (u64)word_blocks * column_blocks; block += gridDim.x) {
        const u32 word_block = (u32)(block / column_blocks), first_word = word_block * warps;
        const u32 first_column = (u32)(block - (u64)word_block * column_blocks) * 32, column = first_column + lane();
        const u32 row0 = (first_word + warp) * 32, line = first_column + out_line, at = first_word + out_word;
        f32 x[32];
#pragma unroll
        for (u32 j = 0; j < 32; j++) {
            const u32 row = row0 + j;
            x[j] = row < p.rows && column < p.columns ? load_value((const T*)p.input + ((u64)row * p.columns + column)) : 0.0f;
        }
        const u32 left = column < p.columns && row0 < p.rows ? min_of(p.rows - row0, 32u) : 0;
        __syncthreads();
        auto put = [&](u32 plane, u32 word) { shared[(plane * 32 + lane()) * pitch + warp] = word; };
        if constexpr (PLANES == 0) {
            u32 word = 0;
#pragma unroll
            for (u32 j = 0; j < 32; j++)
                if (j < left) word |= bits_sign(p, x[j], column) << j;
            put(0, word);
        } else {
            u32 found[32], codes[BYTES][8];
            bits_codes<32, true>(p, x, row0, column, left, found);
#pragma unroll
            for (u32 j = 0; j < 8; j++)
#pragma unroll
                for (u32 k = 0; k < BYTES; k++) codes[k][j] = bytes_of(found[j], found[j + 8], found[j + 16], found[j + 24], k);
#pragma unroll
            for (u32 k = 0; k < BYTES; k++) {
                codes_to_planes(codes[k]);
#pragma unroll
                for (u32 i = 0; i < 8; i++)
                    if (k * 8 + i < p.planes) put(k * 8 + i, codes[k][i]);
            }
        }
        __syncthreads();
        if (line < p.lines && at < p.stride)
            for (u32 plane = 0; plane < p.planes; plane++)
                p.output[plane * p.plane + (u64)line * p.stride + at] = shared[(plane * 32 + out_line) * pitch + out_word];
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
