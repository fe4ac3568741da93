// Compressed rows to bit tiles: how a tile row's tiles are found, in order, from its sorted rows.
//
// Two forms. Few tiles: a lane for each row, all lanes of the tile row merging their rows, one tile a step. Many tiles: a block
// marks the tile columns in a bitmap in shared memory, counts its way through it, and places each entry by its rank; where the
// bitmap would not fit, window by window. Which form a tile row takes is foreseen from its number of entries, or after a few steps of
// merging from how many entries they took: the same in every pass.
//
// Invariant: tiles of a tile row come in ascending order of columns, none is empty, and bits are those of `bitgraph-b2sr`.
#pragma once
#include "formats/rows.cuh"
#include "tuning/formats.cuh"

namespace bg {
struct TileParams {
    RowOffsets bands;    // where the entries of tile rows start
    RowOffsets offsets;  // where the entries of rows start
    const u32* indices;
    const u32* sample;   // null, or the bands of 32 rows to look at
    RowOffsets places;   // where the tiles of a tile row go; without words: where its entries start
    u32* columns;        // null: the tiles are only counted
    void* words;
    u32* counts;         // null, or for the number of tiles of each tile row
    u64* total;          // null, or for their sum, and the entries seen
    u32* heavy;          // tile rows of too many tiles: [0] their number, from [4] on themselves
    u32* ticket;         // zeroed
    u32* stored;         // hybrid: tiles kept of each band
    u32* listed;         // hybrid: entries of each row that are left to the list
    u32 tile_rows;       // of the matrix, or of the sample
    u32 tile_columns;
    u32 limit;           // steps that the lanes of a tile row take at most, as foreseen
    u32 window;          // tile columns of the bitmap, a multiple of 64
    u32 first_pass;      // whether heavy tile rows are to be noted
    u32 min_entries;     // hybrid: of a stored tile
    f64 min_share;       // hybrid: of a band's entries in its stored tiles
};

/// The hybrid's rule for a band.
BG_DEVICE bool band_keeps(const TileParams& p, u64 held, u64 entries) { return !((f64)held < p.min_share * (f64)entries); }

template <u32 SHIFT> struct TileOf;
template <> struct TileOf<2> { typedef u16 Row; };
template <> struct TileOf<3> { typedef u8 Row; };
template <> struct TileOf<4> { typedef u16 Row; };
template <> struct TileOf<5> { typedef u32 Row; };

/// Over the lanes of a tile row.
template <u32 SHIFT> BG_DEVICE u32 lanes_min(u32 value) {
    if constexpr (SHIFT == 5) {
        return warp_min(value);
    } else {
        for (u32 d = 1; d < (1u << SHIFT); d <<= 1) value = min_of(value, shuffle_xor(value, d));
        return value;
    }
}
template <u32 SHIFT> BG_DEVICE u32 lanes_sum(u32 value) {
    for (u32 d = 1; d < (1u << SHIFT); d <<= 1) value += shuffle_xor(value, d);
    return value;
}

template <u32 SHIFT, bool HYBRID> BG_DEVICE void tiles_light(const TileParams& p) {
    constexpr u32 SIZE = 1u << SHIFT, NONE = ~0u >> SHIFT;
    typedef typename TileOf<SHIFT>::Row Row;
    u32 r = lane() & (SIZE - 1);
    u64 number = ((u64)blockIdx.x * blockDim.x + threadIdx.x) >> SHIFT, t = number;
    bool exists = number < p.tile_rows;
    if (p.sample && exists) {
        t = (u64)p.sample[number >> (5 - SHIFT)] << (5 - SHIFT) | (number & ((32u >> SHIFT) - 1));
        exists = t < p.bands.rows;
    }
    u64 low = 0, high = 0, at = 0, end = 0;
    if (exists) {
        low = p.bands.at(t);
        high = p.bands.at(t + 1);
    }
    // There are at least entries / SIZE^2 tiles.
    bool light = exists && high - low <= ((u64)p.limit << (2 * SHIFT));
    if (p.first_pass && exists && !light && r == 0) p.heavy[4 + atomicAdd(p.heavy, 1u)] = (u32)t;
    u64 row = t * SIZE + r;
    if (light) {
        at = p.offsets.at(row);
        end = p.offsets.at(row + 1);
    }
    u64 out = light && p.places.words ? p.places.at(t) : low;
    // The row's next three entries: loads run ahead of the merging.
    u32 next = at < end ? load_readonly(p.indices + at) : ~0u;
    u32 second = at + 1 < end ? load_readonly(p.indices + at + 1) : ~0u;
    u32 third = at + 2 < end ? load_readonly(p.indices + at + 2) : ~0u;
    u32 found = 0, stored = 0, held = 0, kept = 0;
    u64 first = at;
    for (u32 step = 0;; step++) {
        if (step == TRIAL_STEPS) {
            // The rows' columns ascend together: the steps to come are in proportion to the entries left.
            u64 taken = lanes_sum<SHIFT>((u32)(at - first)), entries = high - low;
            if (light && taken < entries && entries > p.limit && entries * TRIAL_STEPS > taken * p.limit) {
                light = false;
                at = end;
                next = second = third = ~0u;
                if (p.first_pass && r == 0) p.heavy[4 + atomicAdd(p.heavy, 1u)] = (u32)t;
            }
        }
        u32 column = lanes_min<SHIFT>(next >> SHIFT);
        bool live = column != NONE;
        if (!any(live)) break;
        u32 bits = 0;
        while (live && next >> SHIFT == column) {
            bits |= 1u << (next & (SIZE - 1));
            next = second;
            second = third;
            third = at + 3 < end ? load_readonly(p.indices + at + 3) : ~0u;
            at++;
        }
        if (p.columns) {
            u32 packed = SHIFT == 2 ? lanes_sum<SHIFT>(bits << (r * 4)) : bits;
            if (live) {
                if (SHIFT == 2) {
                    if (r == 0) ((u16*)p.words)[out + found] = (u16)packed;
                } else {
                    ((Row*)p.words)[(out + found) * SIZE + r] = (Row)packed;
                }
                if (r == 0) p.columns[out + found] = column;
            }
        }
        if (HYBRID) {
            u32 count = lanes_sum<SHIFT>((u32)__popc(bits));
            if (count >= p.min_entries) {
                stored += live;
                held += count;
                kept += (u32)__popc(bits);
            }
        }
        found += live;
    }
    if (HYBRID && light) {
        bool keeps = band_keeps(p, held, high - low);
        if (r == 0) p.stored[t] = keeps ? stored : 0;
        if (row < p.offsets.rows) p.listed[row] = (u32)(p.offsets.at(row + 1) - p.offsets.at(row)) - (keeps ? kept : 0);
    }
    if (light && r == 0 && p.counts) p.counts[t] = found;
    if (p.total) {
        u32 sum = warp_sum(light && r == 0 ? found : 0);
        u64 seen = butterfly_sum(r == 0 ? high - low : 0ull);
        if (lane() == 0 && sum) atomicAdd(p.total, (u64)sum);
        if (lane() == 0 && seen) atomicAdd(p.total + 1, seen);
    }
}

/// Shared memory of a block that takes heavy tile rows: see `tiles_heavy`.
struct HeavyShared {
    u64 starts[32], ends[32];  // the rows' entries within the window
    u32 flat[34];              // exclusive prefix sums of their numbers
    u32 base[34];              // tiles before each warp's words, and all
    u32 sums[12];              // hybrid: stored, held, kept of each row
    u32 number;
    u32 padding;
};

template <u32 SHIFT, bool HYBRID> BG_DEVICE void tiles_heavy(const TileParams& p) {
    constexpr u32 SIZE = 1u << SHIFT;
    typedef typename TileOf<SHIFT>::Row Row;
    HeavyShared* s = (HeavyShared*)shared_memory();
    u64* marks = (u64*)(s + 1);
    u32 words = p.window / 64, warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    u32* before = (u32*)(marks + words);
    // Each warp counts through a run of words, a power of two of them.
    u32 run = 5;
    while ((warps << run) < words) run++;
    u32 heavy = load_volatile(p.heavy);
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) s->number = atomicAdd(p.ticket, 1u);
        if (threadIdx.x < 12) s->sums[threadIdx.x] = 0;
        __syncthreads();
        if (s->number >= heavy) break;
        u32 t = p.heavy[4 + s->number];
        u64 low = p.bands.at(t), high = p.bands.at((u64)t + 1), out = p.places.words ? p.places.at(t) : low;
        u32 found = 0, stored = 0, held = 0;
        for (u64 left = 0; left < p.tile_columns; left += p.window) {
            if (warp == 0) {
                u64 start = 0, end = 0;
                if (lane() < SIZE) {
                    start = p.offsets.at((u64)t * SIZE + lane());
                    end = p.offsets.at((u64)t * SIZE + lane() + 1);
                    if (left > 0) start = first_not_below(p.indices, start, end, left << SHIFT);
                    if (left + p.window < p.tile_columns) end = first_not_below(p.indices, start, end, (left + p.window) << SHIFT);
                }
                u32 inclusive = scan_inclusive((u32)(end - start));
                s->starts[lane()] = start;
                s->ends[lane()] = end;
                s->flat[lane()] = inclusive - (u32)(end - start);
                if (lane() == WARP - 1) s->flat[WARP] = inclusive;
            }
            for (u32 i = threadIdx.x; i < words; i += blockDim.x) marks[i] = 0;
            __syncthreads();
            u32 entries = s->flat[WARP];
            // Entry k of the window: its row, its place, and whether it is its row's first in its tile.
            auto locate = [&](u32 k, u32& row, u64& at, u32& column) {
                row = 0;
                for (u32 step = SIZE / 2; step; step /= 2) row += k >= s->flat[row + step] ? step : 0;
                at = s->starts[row] + (k - s->flat[row]);
                column = load_readonly(p.indices + at);
                return at == s->starts[row] || load_readonly(p.indices + at - 1) >> SHIFT != column >> SHIFT;
            };
            for (u32 k = threadIdx.x; k < entries; k += blockDim.x) {
                u32 row, column;
                u64 at;
                if (locate(k, row, at, column)) {
                    u32 bit = (column >> SHIFT) - (u32)left;
                    atomicOr((u32*)marks + (bit >> 5), 1u << (bit & 31));
                }
            }
            __syncthreads();
            u32 carry = 0;
            for (u32 i = (warp << run) + lane(); i < ((warp + 1) << run); i += WARP) {
                u32 count = i < words ? (u32)__popcll(marks[i]) : 0, inclusive = scan_inclusive(count);
                if (i < words) before[i] = carry + inclusive - count;
                carry += shuffle(inclusive, WARP - 1);
            }
            if (lane() == 0) s->base[warp] = carry;
            __syncthreads();
            if (warp == 0) {
                u32 own = lane() < warps ? s->base[lane()] : 0, inclusive = scan_inclusive(own);
                s->base[lane()] = inclusive - own;
                if (lane() == WARP - 1) s->base[WARP] = inclusive;
            }
            __syncthreads();
            u32 tiles = s->base[WARP];
            if (p.columns) {
                u64 first = out + found;
                for (u32 i = threadIdx.x; i < words; i += blockDim.x) {
                    u64 place = first + s->base[i >> run] + before[i];
                    for (u64 bits = marks[i]; bits; bits &= bits - 1) {
                        p.columns[place++] = (u32)left + i * 64 + (u32)__ffsll((i64)bits) - 1;
                    }
                }
                if (SHIFT == 2) {
                    for (u32 i = threadIdx.x; i < tiles; i += blockDim.x) ((u16*)p.words)[first + i] = 0;
                } else {
                    for (u64 i = threadIdx.x; i < (u64)tiles * SIZE; i += blockDim.x) ((Row*)p.words)[first * SIZE + i] = 0;
                }
                __syncthreads();
                for (u32 k = threadIdx.x; k < entries; k += blockDim.x) {
                    u32 row, column;
                    u64 at;
                    if (!locate(k, row, at, column)) continue;
                    u32 tile = (column >> SHIFT) - (u32)left, bits = 0;
                    u64 end = s->ends[row], word = marks[tile >> 6] & ((1ull << (tile & 63)) - 1);
                    u64 place = first + s->base[tile >> 6 >> run] + before[tile >> 6] + (u32)__popcll(word);
                    for (u32 next = column; next >> SHIFT == column >> SHIFT;) {
                        bits |= 1u << (next & (SIZE - 1));
                        at++;
                        if (at == end) break;
                        next = load_readonly(p.indices + at);
                    }
                    if (SHIFT == 2) {
                        // Two tiles share a word; a neighbour's tile is or'ed with nothing.
                        atomicOr((u32*)p.words + (place >> 1), bits << (row * 4 + (place & 1) * 16));
                    } else {
                        ((Row*)p.words)[place * SIZE + row] = (Row)bits;
                    }
                }
                if (HYBRID) {
                    __syncthreads();
                    u32 kept[8] = {0, 0, 0, 0, 0, 0, 0, 0}, own_stored = 0, own_held = 0;
                    for (u32 i = threadIdx.x; i < tiles; i += blockDim.x) {
                        u64 tile = ((const u64*)p.words)[first + i];
                        u32 count = (u32)__popcll(tile);
                        if (count < p.min_entries) continue;
                        own_stored++;
                        own_held += count;
                        for (u32 k = 0; k < 8; k++) kept[k] += (u32)__popc((u32)(tile >> (8 * k)) & 0xffu);
                    }
                    own_stored = warp_sum(own_stored);
                    own_held = warp_sum(own_held);
                    if (any(own_stored != 0)) {
                        for (u32 k = 0; k < 8; k++) {
                            u32 sum = warp_sum(kept[k]);
                            if (lane() == 0) atomicAdd(&s->sums[2 + k], sum);
                        }
                        if (lane() == 0) {
                            atomicAdd(&s->sums[0], own_stored);
                            atomicAdd(&s->sums[1], own_held);
                        }
                    }
                }
            }
            found += tiles;
            __syncthreads();
        }
        if (HYBRID) {
            stored = s->sums[0];
            held = s->sums[1];
            bool keeps = band_keeps(p, held, high - low);
            u64 row = (u64)t * SIZE + threadIdx.x;
            if (threadIdx.x == 0) p.stored[t] = keeps ? stored : 0;
            if (threadIdx.x < SIZE && row < p.offsets.rows) {
                u32 degree = (u32)(p.offsets.at(row + 1) - p.offsets.at(row));
                p.listed[row] = degree - (keeps ? s->sums[2 + threadIdx.x] : 0);
            }
        }
        if (threadIdx.x == 0) {
            if (p.counts) p.counts[t] = found;
            if (p.total) atomicAdd(p.total, (u64)found);
        }
    }
}
}  // namespace bg
