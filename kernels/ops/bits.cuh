// Products of bit matrices: the schemes of Bit-GraphBLAS (Tables II and III) on tiles of 4, 8, 16 and 32.
//
// A tile and the vector's bits at its columns meet in one logical operation. Several lanes take the tiles of a row of tiles in turn
// and their results are merged by shuffles; a row of tiles is never shared between blocks, but for the long ones, which the
// general kernels sum (ops/mxv_tiles.cuh). Integers and bits: exact, and the same in every run.
#pragma once
#include "ops/mxv_tiles.cuh"

namespace bg {
/// The SIZE bits of a vector at tile column c.
template <u32 SIZE> BG_DEVICE u32 vector_bits(const void* x, u32 c) {
    if constexpr (SIZE == 4) return load_readonly((const u8*)x + (c >> 1)) >> (4 * (c & 1)) & 15u;
    else if constexpr (SIZE == 8) return load_readonly((const u8*)x + c);
    else if constexpr (SIZE == 16) return load_readonly((const u16*)x + c);
    else return load_readonly((const u32*)x + c);
}

struct BitsParams {
    u64 rows, columns;
    const void* tile_offsets;
    const u32* tile_columns;
    const void* tiles;
    const void* list_offsets;  // of a hybrid, else null
    const u32* list_indices;
    const void* x;
    Mask mask;
    void* y;
    u32 limit;  // tiles above which a row of tiles is left to others
    u32 lanes;  // for a row of tiles, or, where lanes are rows, for a row
    u32 tile_wide, list_wide;
    u32 list_limit;  // the same for rows of the list
    u32 reserved;
};

/// The mask's bits for the rows of a tile row.
template <u32 SIZE> BG_DEVICE u32 mask_of_tile(const Mask& mask, u64 tile_row) {
    u64 row = tile_row * SIZE;
    u32 word = mask_word(mask, row >> 5) >> (row & 31);
    return SIZE == 32 ? word : word & ((1u << (SIZE & 31)) - 1);
}

BG_DEVICE bool list_bit(const void* x, u32 column) { return bit((const u32*)x, column); }

/// One bit for each byte of `a` that is not zero.
BG_DEVICE u32 nonzero_bytes(u64 a) {
    a |= a >> 4;
    a |= a >> 2;
    a |= a >> 1;
    a &= 0x0101010101010101ull;
    return (u32)(a * 0x0102040810204080ull >> 56);
}
/// One bit for each four bits of `a` that are not all zero.
BG_DEVICE u32 nonzero_nibbles(u32 a) {
    a |= a >> 2;
    a |= a >> 1;
    a &= 0x1111u;
    return (a | a >> 3 | a >> 6 | a >> 9) & 15u;
}

/// bin-bin-bin, tiles of one word: `lanes` lanes for a row of tiles, a byte of the result for each 8 rows.
template <u32 SIZE> BG_DEVICE void bits_words(const BitsParams& p) {
    static_assert(SIZE == 4 || SIZE == 8, "tiles of one word");
    typedef u64 Word;
    u64 tile_row = thread_index() / p.lanes;
    u32 slot = threadIdx.x % p.lanes;
    u64 tile_rows = ceil_div<u64>(p.rows, SIZE);
    u32 wanted = 0;
    Word sum = 0;
    if (tile_row < tile_rows) wanted = mask_of_tile<SIZE>(p.mask, tile_row);
    if (wanted) {
        u64 begin = load_offset(p.tile_offsets, p.tile_wide, tile_row), end = load_offset(p.tile_offsets, p.tile_wide, tile_row + 1);
        if (end - begin > p.limit) end = begin;
        constexpr u32 AHEAD = 4;
        for (u64 t = begin + slot; t < end; t += AHEAD * p.lanes) {
            u32 column[AHEAD];
            Word tile[AHEAD];
#pragma unroll
            for (u32 j = 0; j < AHEAD; j++) {
                // Past the end the last tile again: it changes nothing, and no load waits for a condition.
                u64 at = min_of<u64>(t + j * p.lanes, end - 1);
                column[j] = load_readonly(p.tile_columns + at);
                if constexpr (SIZE == 8) tile[j] = load_readonly((const u64*)p.tiles + at);
                else tile[j] = load_readonly((const u16*)p.tiles + at);
            }
#pragma unroll
            for (u32 j = 0; j < AHEAD; j++) {
                if constexpr (SIZE == 8) sum |= tile[j] & (Word)vector_bits<8>(p.x, column[j]) * 0x0101010101010101ull;
                else sum |= tile[j] & vector_bits<4>(p.x, column[j]) * 0x1111u;
            }
        }
        if (p.list_offsets) {
            // A lane has a row of the list, so that entries need not say theirs.
            for (u32 r = slot; r < SIZE; r += p.lanes) {
                u64 row = tile_row * SIZE + r;
                if (row >= p.rows || !(wanted >> r & 1)) continue;
                u64 k = load_offset(p.list_offsets, p.list_wide, row), last = load_offset(p.list_offsets, p.list_wide, row + 1);
                // Long rows of the list are left to others as well.
                if (last - k > p.list_limit) continue;
                bool found = false;
                for (; k < last && !found; k++) found = list_bit(p.x, load_readonly(p.list_indices + k));
                if (found) sum |= (Word)1 << (SIZE * r);
            }
        }
    }
    warp_sync();
    for (u32 d = p.lanes >> 1; d; d >>= 1) sum |= shuffle_xor(sum, d);
    if constexpr (SIZE == 8) {
        if (slot == 0 && tile_row < ceil_div<u64>(p.rows, 32) * 4) ((u8*)p.y)[tile_row] = (u8)(nonzero_bytes(sum) & wanted);
    } else {
        // Two rows of tiles make a byte.
        u32 own = nonzero_nibbles((u32)sum) & wanted;
        u32 next = p.lanes < WARP ? shuffle_xor(own, p.lanes) : 0;
        if (slot == 0 && tile_row % 2 == 0 && tile_row / 2 < ceil_div<u64>(p.rows, 32) * 4) ((u8*)p.y)[tile_row / 2] = (u8)(own | next << 4);
    }
}

/// bin-bin-bin, tiles of a word a row: a lane for each row, `lanes` for each of those.
template <u32 SIZE> BG_DEVICE void bits_rows(const BitsParams& p) {
    static_assert(SIZE == 16 || SIZE == 32, "tiles of a word a row");
    u32 group = SIZE * p.lanes, r = threadIdx.x % SIZE, slot = threadIdx.x / SIZE % p.lanes;
    u64 tile_row = thread_index() / group;
    u32 wanted = 0, sum = 0;
    if (tile_row * SIZE < p.rows) wanted = mask_of_tile<SIZE>(p.mask, tile_row);
    if (wanted) {
        u64 begin = load_offset(p.tile_offsets, p.tile_wide, tile_row), end = load_offset(p.tile_offsets, p.tile_wide, tile_row + 1);
        if (end - begin > p.limit) end = begin;
#pragma unroll 4
        for (u64 t = begin + slot; t < end; t += p.lanes) sum |= tile_bits<SIZE>(p.tiles, t, r) & vector_bits<SIZE>(p.x, load_readonly(p.tile_columns + t));
    }
    warp_sync();
    u32 bits = ballot(sum != 0);
    if constexpr (SIZE == 32) {
        if (lane() == 0 && tile_row < ceil_div<u64>(p.rows, 32)) ((u32*)p.y)[tile_row] = bits & wanted;
    } else {
        bits = p.lanes == 2 ? (bits | bits >> 16) : bits >> (lane() & 16);
        if (r == 0 && slot == 0 && tile_row < ceil_div<u64>(p.rows, 32) * 2) ((u16*)p.y)[tile_row] = (u16)(bits & wanted);
    }
}

/// bin-bin-full: how many entries of each row meet a bit of x, as u32; 0 for rows that the mask leaves out.
template <u32 SIZE> BG_DEVICE void bits_count(const BitsParams& p) {
    u32 group = SIZE * p.lanes, r = threadIdx.x % SIZE, slot = threadIdx.x / SIZE % p.lanes;
    u64 row = thread_index() / group * SIZE + r;
    u32 count = 0;
    bool inside = row < p.rows;
    if (inside && mask_selects(p.mask, row)) {
        u64 begin = load_offset(p.tile_offsets, p.tile_wide, row / SIZE), end = load_offset(p.tile_offsets, p.tile_wide, row / SIZE + 1);
#pragma unroll 4
        for (u64 t = begin + slot; t < end; t += p.lanes) {
            count += __popc(tile_bits<SIZE>(p.tiles, t, r) & vector_bits<SIZE>(p.x, load_readonly(p.tile_columns + t)));
        }
    }
    warp_sync();
    for (u32 d = group >> 1; d >= SIZE; d >>= 1) count += shuffle_xor(count, d);
    if (inside && slot == 0) ((u32*)p.y)[row] = count;
}

/// Sums of x over eight columns, by the bits of one row of a tile: all are loaded, which costs less than finding the few.
BG_DEVICE f32 sum_eight(const f32* x, u32 bits) {
    float4 a = load_readonly((const float4*)x), b = load_readonly((const float4*)x + 1);
    f32 even = (bits & 1 ? a.x : 0.0f) + (bits & 4 ? a.z : 0.0f) + (bits & 16 ? b.x : 0.0f) + (bits & 64 ? b.z : 0.0f);
    f32 odd = (bits & 2 ? a.y : 0.0f) + (bits & 8 ? a.w : 0.0f) + (bits & 32 ? b.y : 0.0f) + (bits & 128 ? b.w : 0.0f);
    return even + odd;
}
BG_DEVICE f64 sum_eight(const f64* x, u32 bits) {
    f64 even = 0, odd = 0;
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
        double2 pair = load_readonly((const double2*)x + j);
        even += bits >> (2 * j) & 1 ? pair.x : 0.0;
        odd += bits >> (2 * j + 1) & 1 ? pair.y : 0.0;
    }
    return even + odd;
}

/// The same by finding the bits, for tiles of other sizes and at the edge.
template <class T> BG_DEVICE T sum_bits(const T* x, u32 bits) {
    T sum = T(0);
    for (; bits; bits &= bits - 1) sum += load_readonly(x + (__ffs(bits) - 1));
    return sum;
}

/// bin-full-full over (plus, times): the sum of x over each row's entries; 0 for rows that the mask leaves out. With a list, that of a
/// hybrid too. Lanes take tiles in turn and are added in a fixed order.
template <class T, u32 SIZE> BG_DEVICE void bits_sum(const BitsParams& p) {
    u32 group = SIZE * p.lanes, r = threadIdx.x % SIZE, slot = threadIdx.x / SIZE % p.lanes;
    u64 row = thread_index() / group * SIZE + r;
    const T* x = (const T*)p.x;
    T sum = T(0);
    bool inside = row < p.rows;
    if (inside && mask_selects(p.mask, row)) {
        u64 begin = load_offset(p.tile_offsets, p.tile_wide, row / SIZE), end = load_offset(p.tile_offsets, p.tile_wide, row / SIZE + 1);
        if constexpr (SIZE == 8) {
            // The last tile of a row may reach past the last column, and is not summed whole then.
            bool edge = end > begin && (u64)load_readonly(p.tile_columns + end - 1) * 8 + 8 > p.columns;
            u64 whole = end - edge;
#pragma unroll 4
            for (u64 t = begin + slot; t < whole; t += p.lanes) {
                sum += sum_eight(x + (u64)load_readonly(p.tile_columns + t) * 8, tile_bits<8>(p.tiles, t, r));
            }
            if (edge && slot == 0) sum += sum_bits(x + (u64)load_readonly(p.tile_columns + whole) * 8, tile_bits<8>(p.tiles, whole, r));
        } else {
#pragma unroll 2
            for (u64 t = begin + slot; t < end; t += p.lanes) {
                sum += sum_bits(x + (u64)load_readonly(p.tile_columns + t) * SIZE, tile_bits<SIZE>(p.tiles, t, r));
            }
        }
        if (p.list_offsets) {
            u64 k = load_offset(p.list_offsets, p.list_wide, row), last = load_offset(p.list_offsets, p.list_wide, row + 1);
#pragma unroll 4
            for (k += slot; k < last; k += p.lanes) sum += load_readonly(x + load_readonly(p.list_indices + k));
        }
    }
    warp_sync();
    for (u32 d = group >> 1; d >= SIZE; d >>= 1) sum += shuffle_xor(sum, d);
    if (inside && slot == 0) ((T*)p.y)[row] = sum;
}

struct BitProductParams {
    const void* a_offsets;
    const u32* a_columns;
    const void* a_tiles;
    const void* b_offsets;  // of the transpose of b
    const u32* b_columns;
    const void* b_tiles;
    const u32* mask_rows;  // the row of each tile of the mask
    const u32* mask_columns;
    const void* mask_tiles;
    u64 mask_count;
    u64* sum;  // zeroed
    u32 a_wide, b_wide;
};

/// How many entries two tiles' rows share, over the pairs of rows that a mask's tile names; `b` is transposed.
template <u32 SIZE> BG_DEVICE u64 tile_product(const void* a, u64 i, const void* b, u64 j, const void* mask, u64 m) {
    u64 sum = 0;
    if constexpr (SIZE == 8) {
        // Row r of a meets row r + k of b in turn k: b turned by k bytes.
        u64 left = load_readonly((const u64*)a + i), right = load_readonly((const u64*)b + j), wanted = load_readonly((const u64*)mask + m);
#pragma unroll
        for (u32 k = 0; k < 8; k++) {
            u64 turned = k ? right >> 8 * k | right << (64 - 8 * k) : right;
            // The mask's bits at (r, r + k), spread over the bytes.
            u64 diagonal = k ? (0x8040201008040201ull << k & (u64)(0xffu & 0xffu << k) * 0x0101010101010101ull)
                                   | (0x8040201008040201ull >> (8 - k) & (u64)(0xffu >> (8 - k)) * 0x0101010101010101ull)
                             : 0x8040201008040201ull;
            u64 chosen = wanted & diagonal;
            chosen |= chosen >> 4;
            chosen |= chosen >> 2;
            chosen |= chosen >> 1;
            sum += __popcll(left & turned & (chosen & 0x0101010101010101ull) * 255u);
        }
    } else {
        for (u32 r = 0; r < SIZE; r++) {
            u32 wanted = tile_bits<SIZE>(mask, m, r), left = tile_bits<SIZE>(a, i, r);
            if (!left) continue;
            for (; wanted; wanted &= wanted - 1) sum += __popc(left & tile_bits<SIZE>(b, j, (u32)__ffs(wanted) - 1));
        }
    }
    return sum;
}

/// bin-bin-sum, masked: a group of 8 lanes for each tile of the mask, which searches the shorter row of tiles in the longer.
template <u32 SIZE> BG_DEVICE void bits_product(const BitProductParams& p) {
    constexpr u32 GROUP = 8;
    u64 sum = 0;
    u64 groups = thread_count() / GROUP;
    u32 slot = threadIdx.x % GROUP;
    for (u64 m = thread_index() / GROUP; m < p.mask_count; m += groups) {
        u32 i = p.mask_rows[m], j = p.mask_columns[m];
        u64 left = load_offset(p.a_offsets, p.a_wide, i), left_end = load_offset(p.a_offsets, p.a_wide, (u64)i + 1);
        u64 right = load_offset(p.b_offsets, p.b_wide, j), right_end = load_offset(p.b_offsets, p.b_wide, (u64)j + 1);
        bool turn = left_end - left > right_end - right;
        const u32* longer = turn ? p.a_columns : p.b_columns;
        const u32* shorter = turn ? p.b_columns : p.a_columns;
        u64 from = turn ? left : right, to = turn ? left_end : right_end, end = turn ? right_end : left_end;
        for (u64 k = (turn ? right : left) + slot; k < end; k += GROUP) {
            u32 column = load_readonly(shorter + k);
            u64 low = from, high = to;
            while (low < high) {
                u64 middle = (low + high) / 2;
                if (load_readonly(longer + middle) < column) low = middle + 1;
                else high = middle;
            }
            if (low >= to) break;
            from = low;
            if (load_readonly(longer + low) != column) continue;
            sum += tile_product<SIZE>(p.a_tiles, turn ? low : k, p.b_tiles, turn ? k : low, p.mask_tiles, m);
        }
    }
    warp_sync();
    sum = butterfly_sum(sum);
    // Whole numbers: the order of the blocks does not show.
    if (lane() == 0 && sum) atomicAdd(p.sum, sum);
}
}  // namespace bg
