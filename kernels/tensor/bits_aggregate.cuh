// Sums of rows of signs over the neighbours of a vertex. A row is a task of LANES x S lanes: LANES of them hold VECTOR words of the columns
// each, S of them share its entries, and the vertical counters of those meet at the end. Rows lie in classes by their number of entries, in
// each of which S is fixed, the longest first; a row of more than PIECE entries is cut, its pieces leave 16-bit counts in memory, and
// whichever ends last adds them. Counts are whole numbers, so that no order of additions matters.
#pragma once
#include "common/dtype.cuh"
#include "tensor/bits_counters.cuh"
#include "tuning/bits.cuh"

namespace bg {
/// What the sums become.
enum BitsOutput : u32 { BITS_SIGNS, BITS_I16, BITS_I32, BITS_F16, BITS_F32, BITS_COUNTS };

struct BitsEpilogue {
    void* output;            // words of signs as the features lie, planes of such words, or rows x columns of numbers
    const i32* thresholds;   // for each column: the smallest sum whose sign is +1; null: 0
    const u32* planes;       // the same, and `offset` added, plane by plane; null where thresholds are
    const u32* flips;        // words of columns whose sign is turned; null: none
    const f32* scale_rows;   // for each row, of sums as floats; null: 1
    u32 kind;
    u32 columns;
    u32 stride;              // words of a line
    u32 plane_count;         // of thresholds, or of counts
    u32 offset;              // a power of two above any sum and any threshold
    u32 lines;               // of a plane of counts
};

struct BitsAggregateParams {
    BitsEpilogue epilogue;
    const u32* features;     // a line of `stride` words for each column of the matrix
    const u32* offsets;
    const u32* indices;
    const u32* order;        // rows, longest first; null: as they are
    const uint4* pieces;     // row, first entry, end, place of the row among the cut ones
    const uint4* cut;        // first piece, pieces, entries, row
    u32* arrived;            // for each slice, by cut rows: pieces that are done; zeros between launches
    u16* partial;            // for each piece: its counts, `pitch` of them
    u32 warp_ends[4];        // of the pieces and the first three classes
    u32 row_ends[4];         // places in the order where those end: cut rows, then the classes
    u32 rows;
    u32 entries;
    u32 cut_count;
    u32 pitch;
    u32 slice_blocks;        // blocks of a slice of words
    u32 with_self;           // whether a row's own line is added
};

/// Stores COUNT numbers of a row from `column` on, each twice its count minus `degree`.
BG_DEVICE void store_sums4(const BitsEpilogue& e, u32 row, u32 column, u32 degree, const uint4& counts) {
    const u32 found[4] = {counts.x, counts.y, counts.z, counts.w};
    const u64 place = (u64)row * e.columns + column;
    const f32 scale = e.kind >= BITS_F16 && e.scale_rows ? load_readonly(e.scale_rows + row) : 1.0f;
    i32 sums[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) sums[i] = (i32)(2 * found[i] - degree);
    if (column + 4 <= e.columns && (e.columns & 3u) == 0) {
        switch (e.kind) {
            case BITS_I16: *(ushort4*)((u16*)e.output + place) = ushort4{(u16)sums[0], (u16)sums[1], (u16)sums[2], (u16)sums[3]}; break;
            case BITS_I32: *(int4*)((i32*)e.output + place) = make_int4(sums[0], sums[1], sums[2], sums[3]); break;
            case BITS_F16:
                *(ushort4*)((u16*)e.output + place) = ushort4{float_to_half((f32)sums[0] * scale), float_to_half((f32)sums[1] * scale),
                                                              float_to_half((f32)sums[2] * scale), float_to_half((f32)sums[3] * scale)};
                break;
            default:
                *(float4*)((f32*)e.output + place) =
                    make_float4((f32)sums[0] * scale, (f32)sums[1] * scale, (f32)sums[2] * scale, (f32)sums[3] * scale);
        }
        return;
    }
    // Rolled up, the next number moving to the front: every copy would hold the stores of every type of number.
#pragma unroll 1
    for (u32 i = 0; i < 4 && column + i < e.columns; i++) {
        const i32 sum = sums[0];
        switch (e.kind) {
            case BITS_I16: ((i16*)e.output)[place + i] = (i16)sum; break;
            case BITS_I32: ((i32*)e.output)[place + i] = sum; break;
            case BITS_F16: ((u16*)e.output)[place + i] = float_to_half((f32)sum * scale); break;
            default: ((f32*)e.output)[place + i] = (f32)sum * scale;
        }
        sums[0] = sums[1], sums[1] = sums[2], sums[2] = sums[3];
    }
}

/// The signs of a word of columns, of a counter.
template <u32 PLANES> BG_DEVICE u32 signs_of(const BitsEpilogue& e, const u32 (&c)[PLANES], u32 degree, u32 word) {
    u32 signs;
    if (e.planes) signs = twice_at_least<PLANES>(c, e.offset - degree, e.planes + word, e.plane_count, e.stride);
    else signs = at_least<PLANES>(c, (degree + 1) / 2);
    if (e.flips) signs ^= load_readonly(e.flips + word);
    return signs & bits_within(e.columns, word);
}

template <u32 VECTOR> BG_DEVICE void load_words(u32 (&x)[VECTOR], const u32* p) {
    if constexpr (VECTOR == 1) {
        x[0] = load_readonly(p);
    } else if constexpr (VECTOR == 2) {
        const uint2 v = load_readonly((const uint2*)p);
        x[0] = v.x, x[1] = v.y;
    } else {
        const uint4 v = load_readonly((const uint4*)p);
        x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
    }
}
template <u32 VECTOR> BG_DEVICE void store_words(u32* p, const u32 (&x)[VECTOR]) {
    if constexpr (VECTOR == 1) *p = x[0];
    else if constexpr (VECTOR == 2) *(uint2*)p = make_uint2(x[0], x[1]);
    else *(uint4*)p = make_uint4(x[0], x[1], x[2], x[3]);
}

/// The place of a word of a plane of counts.
BG_DEVICE u32* count_word(const BitsEpilogue& e, u32 plane, u32 row, u32 word) {
    return (u32*)e.output + ((u64)plane * e.lines + row) * e.stride + word;
}
/// Stores counters as they are: their planes are those of the codes. Bits beyond the matrix have counted nothing.
template <u32 VECTOR, u32 PLANES> BG_DEVICE void store_counts(const BitsEpilogue& e, u32 row, u32 word, const u32 (&c)[VECTOR][PLANES]) {
#pragma unroll
    for (u32 i = 0; i < PLANES; i++) {
        if (i >= e.plane_count) return;
        u32 words[VECTOR];
#pragma unroll
        for (u32 v = 0; v < VECTOR; v++) words[v] = c[v][i];
        store_words<VECTOR>(count_word(e, i, row, word), words);
    }
    for (u32 i = PLANES; i < e.plane_count; i++) {
        for (u32 v = 0; v < VECTOR; v++) count_word(e, i, row, word)[v] = 0;
    }
}

/// Bits of a number.
template <u32 X> struct BitsOf { static constexpr u32 value = 1 + BitsOf<X / 2>::value; };
template <> struct BitsOf<0> { static constexpr u32 value = 0; };

/// A lane's part of the entries `begin..end`. ALIGNED: BLOCK that follow each other, from a multiple of 4 on, so that columns come 16 bytes at a
/// time, then BLOCK of the next lane; else the lanes take them in turn.
template <u32 VECTOR, u32 BLOCK, u32 S, u32 USED, bool ALIGNED, u32 PLANES>
BG_DEVICE void count_entries(const BitsAggregateParams& p, const u32* x, u32 begin, u32 end, u32 part, u32 (&c)[VECTOR][PLANES]) {
    constexpr u32 APART = ALIGNED ? 1 : S;
    for (u32 k = ALIGNED ? (begin & ~3u) + part * BLOCK : begin + part; k < end; k += S * BLOCK) {
        u32 columns[BLOCK], found[BLOCK][VECTOR];
        if constexpr (ALIGNED) {
#pragma unroll
            for (u32 j = 0; j < BLOCK; j += 4) {
                uint4 v = make_uint4(0, 0, 0, 0);
                if (k + j + 4 <= p.entries) {
                    if (k + j < end) v = load_readonly((const uint4*)(p.indices + k + j));
                } else {
                    if (k + j < p.entries) v.x = load_readonly(p.indices + k + j);
                    if (k + j + 1 < p.entries) v.y = load_readonly(p.indices + k + j + 1);
                    if (k + j + 2 < p.entries) v.z = load_readonly(p.indices + k + j + 2);
                }
                columns[j] = v.x, columns[j + 1] = v.y, columns[j + 2] = v.z, columns[j + 3] = v.w;
            }
        } else {
#pragma unroll
            for (u32 j = 0; j < BLOCK; j++) columns[j] = k + j * APART < end ? load_readonly(p.indices + k + j * APART) : 0;
        }
#pragma unroll
        for (u32 j = 0; j < BLOCK; j++) {
#pragma unroll
            for (u32 v = 0; v < VECTOR; v++) found[j][v] = 0;
            if (k + j >= begin && k + j * APART < end) load_words<VECTOR>(found[j], x + (u64)columns[j] * p.epilogue.stride);
        }
#pragma unroll
        for (u32 v = 0; v < VECTOR; v++) {
            u32 words[BLOCK];
#pragma unroll
            for (u32 j = 0; j < BLOCK; j++) words[j] = found[j][v];
            count_words<USED>(c[v], words);
        }
    }
}

/// What a group of lanes does with a row or a piece of at most MOST entries; all lanes of the warp call it together. `piece` is its number,
/// where it is one.
template <u32 VECTOR, u32 LANES, u32 S, u32 MOST, bool PIECES, bool SIGNS>
BG_DEVICE void bits_task(const BitsAggregateParams& p, bool valid, u32 row, u32 begin, u32 end, u32 piece, bool first, u32 slice) {
    constexpr u32 BLOCK = VECTOR == 4 && LANES <= 2 ? 4 : 8;
    // What a lane gets at most, one more for the row's own line; then what all get together.
    constexpr u32 LANE_MOST = S == 1 ? MOST + 1 : (MOST + 3 + S * BLOCK - 1) / (S * BLOCK) * BLOCK + 1;
    constexpr u32 USED = BitsOf<LANE_MOST>::value, PLANES = USED + BitsOf<S>::value - 1;
    const u32 l = lane() % (LANES * S), part = l / LANES, word = (slice * LANES + l % LANES) * VECTOR;
    const bool active = valid && word < p.epilogue.stride;
    u32 c[VECTOR][PLANES];
#pragma unroll
    for (u32 v = 0; v < VECTOR; v++)
#pragma unroll
        for (u32 i = 0; i < PLANES; i++) c[v][i] = 0;
    if (active) {
        const u32* x = p.features + word;
        if (p.with_self && first && part == 0) {
            u32 own[VECTOR];
            load_words<VECTOR>(own, x + (u64)row * p.epilogue.stride);
#pragma unroll
            for (u32 v = 0; v < VECTOR; v++) c[v][0] = own[v];
        }
        // One lane alone would often go round once more for an aligned start.
        count_entries<VECTOR, BLOCK, S, USED, (S > 1)>(p, x, begin, end, part, c);
    }
    warp_sync();
#pragma unroll
    for (u32 v = 0; v < VECTOR; v++) join_lanes<USED, LANES, S>(c[v]);
    if (!active) return;
    // The lanes of a row hold the same: each takes some of its columns where they become numbers.
    constexpr u32 SHARE = S < 8 ? S : 8, EACH = 32 / SHARE;
    if constexpr (PIECES) {
        if (part >= SHARE) return;
        u16* to = p.partial + (u64)piece * p.pitch;
#pragma unroll
        for (u32 v = 0; v < VECTOR; v++)
#pragma unroll 1
            for (u32 i = 0; i < EACH; i += 4) {
                const uint4 n = four_counts(c[v], part * EACH + i);
                *(ushort4*)(to + (word + v) * 32 + part * EACH + i) = ushort4{(u16)n.x, (u16)n.y, (u16)n.z, (u16)n.w};
            }
    } else {
        const u32 degree = end - begin + p.with_self;
        if (SIGNS || p.epilogue.kind == BITS_SIGNS) {
            if (part != 0) return;
            u32 signs[VECTOR];
#pragma unroll
            for (u32 v = 0; v < VECTOR; v++) signs[v] = signs_of(p.epilogue, c[v], degree, word + v);
            store_words<VECTOR>((u32*)p.epilogue.output + ((u64)row * p.epilogue.stride + word), signs);
        } else if (p.epilogue.kind == BITS_COUNTS) {
            if (part == 0) store_counts<VECTOR>(p.epilogue, row, word, c);
        } else if (part < SHARE) {
            // Columns rolled up: every copy would hold the stores of every type of number.
#pragma unroll
            for (u32 v = 0; v < VECTOR; v++)
#pragma unroll 1
                for (u32 i = 0; i < EACH; i += 4) {
                    const u32 column = (word + v) * 32 + part * EACH + i;
                    if (column < p.epilogue.columns) store_sums4(p.epilogue, row, column, degree, four_counts(c[v], part * EACH + i));
                }
        }
    }
}

/// Adds the pieces of a cut row, by a warp, and stores what becomes of them; all lanes call it together.
template <u32 VECTOR, u32 LANES> BG_DEVICE void bits_join(const BitsAggregateParams& p, u32 place, u32 slice) {
    const BitsEpilogue& e = p.epilogue;
    const uint4 row = load_readonly(p.cut + place);
    const u32 degree = row.z + p.with_self, end = min_of((slice + 1) * LANES * VECTOR, e.stride);
    for (u32 word = slice * LANES * VECTOR; word < end; word++) {
        const u32 column = word * 32 + lane();
        u32 count = 0;
        for (u32 k = 0; k < row.y; k += bits::PARTIAL_LOADS) {
            u32 found[bits::PARTIAL_LOADS];
#pragma unroll
            for (u32 j = 0; j < bits::PARTIAL_LOADS; j++)
                found[j] = k + j < row.y ? load_l2(p.partial + ((u64)(row.x + k + j) * p.pitch + column)) : 0;
#pragma unroll
            for (u32 j = 0; j < bits::PARTIAL_LOADS; j++) count += found[j];
        }
        const i64 sum = 2 * (i64)count - (i64)degree;
        if (e.kind == BITS_SIGNS) {
            const i64 lowest = e.thresholds && column < e.columns ? (i64)load_readonly(e.thresholds + column) : 0;
            u32 signs = ballot(sum >= lowest);
            if (e.flips) signs ^= load_readonly(e.flips + word);
            if (lane() == 0) ((u32*)e.output)[(u64)row.w * e.stride + word] = signs & bits_within(e.columns, word);
        } else if (e.kind == BITS_COUNTS) {
            for (u32 i = 0; i < e.plane_count; i++) {
                const u32 ones = ballot((count >> i & 1u) != 0);
                if (lane() == 0) *count_word(e, i, row.w, word) = ones;
            }
        } else if (column < e.columns) {
            const u64 at = (u64)row.w * e.columns + column;
            const f32 scale = e.kind >= BITS_F16 && e.scale_rows ? load_readonly(e.scale_rows + row.w) : 1.0f;
            switch (e.kind) {
                case BITS_I16: ((i16*)e.output)[at] = (i16)sum; break;
                case BITS_I32: ((i32*)e.output)[at] = (i32)sum; break;
                case BITS_F16: ((u16*)e.output)[at] = float_to_half((f32)sum * scale); break;
                default: ((f32*)e.output)[at] = (f32)sum * scale;
            }
        }
    }
}

/// Rows of a class: `first` is the place of the warp's first one in the order.
template <u32 VECTOR, u32 LANES, u32 S, u32 MOST, bool SIGNS> BG_DEVICE void bits_class(const BitsAggregateParams& p, u32 first, u32 end, u32 slice) {
    const u32 place = first + lane() / (LANES * S);
    const bool valid = place < end;
    u32 row = 0, from = 0, to = 0;
    if (valid) {
        row = p.order ? load_readonly(p.order + place) : place;
        from = load_readonly(p.offsets + row), to = load_readonly(p.offsets + row + 1);
    }
    bits_task<VECTOR, LANES, S, MOST, false, SIGNS>(p, valid, row, from, to, 0, true, slice);
}

/// LANES lanes of VECTOR words each hold a line of features, or a slice of it.
template <u32 VECTOR, u32 LANES, bool SIGNS> BG_DEVICE void bits_aggregate(const BitsAggregateParams& p) {
    // Lanes that share the entries of a row, from the longest class down. Wide lines have enough lanes as they are.
    constexpr u32 WHOLE = WARP / LANES, SOME = LANES >= 4 ? 2 : 8, PAIR = 2;
    const u32 slice = blockIdx.x / p.slice_blocks, block = blockIdx.x - slice * p.slice_blocks;
    const u32 warp = block * (blockDim.x / WARP) + threadIdx.x / WARP;
    if (warp < p.warp_ends[0]) {
        const uint4 piece = load_readonly(p.pieces + warp);
        const uint4 row = load_readonly(p.cut + piece.w);
        bits_task<VECTOR, LANES, WHOLE, bits::PIECE, true, SIGNS>(p, true, piece.x, piece.y, piece.z, warp, warp == row.x, slice);
        fence_device();
        warp_sync();
        bool last = false;
        if (lane() == 0) {
            u32* arrived = p.arrived + ((u64)slice * p.cut_count + piece.w);
            last = atomicAdd(arrived, 1u) + 1 == row.y;
            if (last) *arrived = 0;
        }
        if (!any(last)) return;
        fence_device();
        bits_join<VECTOR, LANES>(p, piece.w, slice);
    } else if (warp < p.warp_ends[1]) {
        bits_class<VECTOR, LANES, WHOLE, bits::PIECE, SIGNS>(p, p.row_ends[0] + (warp - p.warp_ends[0]), p.row_ends[1], slice);
    } else if (warp < p.warp_ends[2]) {
        bits_class<VECTOR, LANES, SOME, bits::SHARED_ROW, SIGNS>(p, p.row_ends[1] + (warp - p.warp_ends[1]) * (WARP / (LANES * SOME)), p.row_ends[2], slice);
    } else if (warp < p.warp_ends[3]) {
        bits_class<VECTOR, LANES, PAIR, bits::PAIR_ROW, SIGNS>(p, p.row_ends[2] + (warp - p.warp_ends[2]) * (WARP / (LANES * PAIR)), p.row_ends[3], slice);
    } else {
        bits_class<VECTOR, LANES, 1, bits::LANE_ROW, SIGNS>(p, p.row_ends[3] + (warp - p.warp_ends[3]) * (WARP / LANES), p.rows, slice);
    }
}
}  // namespace bg
