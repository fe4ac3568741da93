// Sums of signs from strips in shared memory: the sums, the strips, and how rows become slices.
#include "tensor/bits_strips.cuh"

namespace bg {
BG_KERNEL(bits_strips, BitsStripsParams, 768, 1) { bits_from_strips(p); }

struct BitsSplit {
    const u32* lines;    // of `stride` words
    const u32* named;    // those that are named
    u16* strips;         // two for each word of a line, of `pitch` lines
    u32 named_count;
    u32 pitch;
    u32 stride;
    u32 unused;
};

/// Lines to strips, with zeros behind them.
BG_KERNEL(bits_split, BitsSplit, 256, 4) {
    const u64 all = (u64)p.pitch * p.stride;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += (u64)gridDim.x * blockDim.x) {
        const u32 word = (u32)(i / p.pitch), line = (u32)(i - (u64)word * p.pitch);
        u32 found = 0;
        if (line < p.named_count) found = load_readonly(p.lines + ((u64)load_readonly(p.named + line) * p.stride + word));
        p.strips[(u64)word * 2 * p.pitch + line] = (u16)found;
        p.strips[((u64)word * 2 + 1) * p.pitch + line] = (u16)(found >> 16);
    }
}

struct BitsSlices {
    const u32* offsets;
    const u32* indices;
    u32* flags;          // of each column: 1 if it is named
    const u32* places;   // of each column: its place among the named ones
    u32* lengths;        // of each row: index words
    u32* keys;           // that rows are sorted by
    u32* long_count;     // rows of more than LONG_ROW index words
    const u32* order;    // rows, sorted
    u32* units;          // of each slice; after a scan: the first of them
    uint4* entries;
    u32* rows_of;
    u32* degrees;
    u32 rows;
    u32 entry_count;
    u32 slice_count;
    u32 long_slices;
    u32 zero;            // the word of zeros of a strip
    u32 with_self;
};

BG_KERNEL(bits_slices_mark, BitsSlices, 256, 4) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.entry_count; i += (u64)gridDim.x * blockDim.x) p.flags[load_readonly(p.indices + i)] = 1;
    if (p.with_self)
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.rows; i += (u64)gridDim.x * blockDim.x) p.flags[i] = 1;
}

/// The place of neighbour `k` of a row; its own line is the last.
BG_DEVICE u32 slice_place(const BitsSlices& p, u32 row, u32 begin, u32 end, u32 k) {
    return load_readonly(p.places + (begin + k < end ? load_readonly(p.indices + begin + k) : row));
}

/// Rows by window, so that what is stored side by side lies near, and by descending length in it; a warp for each.
BG_KERNEL(bits_slices_measure, BitsSlices, 256, 4) {
    const u32 warps = blockDim.x / WARP;
    for (u32 row = blockIdx.x * warps + threadIdx.x / WARP; row < p.rows; row += gridDim.x * warps) {
        const u32 begin = load_readonly(p.offsets + row), end = load_readonly(p.offsets + row + 1), count = end - begin + p.with_self;
        u32 odd = 0;
        for (u32 k = lane(); k < count; k += WARP) odd += slice_place(p, row, begin, end, k) & 1u;
        odd = warp_sum(odd);
        if (lane() == 0) {
            const u32 length = max_of(odd, count - odd);
            p.lengths[row] = length;
            const bool is_long = length > bits::LONG_ROW;
            if (is_long) reduce_add(p.long_count, 1u);
            p.keys[row] = is_long ? 0u : (row / bits::WINDOW_ROWS + 1) << 8 | (255u - length);
        }
    }
}

/// The row of a lane of a slice.
BG_DEVICE u32 slice_row(const BitsSlices& p, u32 slice) {
    if (slice < p.long_slices) return load_readonly(p.order + slice);
    const u64 place = p.long_slices + (u64)(slice - p.long_slices) * WARP + lane();
    return place < p.rows ? load_readonly(p.order + place) : NO_STRIP_ROW;
}

BG_KERNEL(bits_slices_size, BitsSlices, 256, 4) {
    const u32 warps = blockDim.x / WARP;
    for (u32 slice = blockIdx.x * warps + threadIdx.x / WARP; slice < p.slice_count; slice += gridDim.x * warps) {
        const u32 row = slice_row(p, slice);
        const u32 longest = warp_max(row == NO_STRIP_ROW ? 0 : p.lengths[row]);
        if (lane() == 0) p.units[slice] = ceil_div(slice < p.long_slices ? ceil_div(longest, WARP) : longest, 8u);
    }
}

/// Half `half` of index word `k` of a lane of a slice that begins with unit `first`.
BG_DEVICE u16* index_of(const BitsSlices& p, u32 first, u32 at_lane, u32 k, u32 half) {
    const u64 place = ((u64)(first + k / 8) * 2 + (k & 7u) / 4) * WARP + at_lane;
    return (u16*)(p.entries + place) + (k & 3u) * 2 + half;
}
BG_DEVICE void set_index(const BitsSlices& p, u32 first, u32 at_lane, u32 k, u32 half, u32 word) {
    *index_of(p, first, at_lane, k, half) = (u16)word;
}

/// Orders the halves of index words of each lane so that lanes name words of different banks at the same time: lane after lane takes of its next
/// 32 the one whose bank is taken by fewest, or the word of zeros, which all can read at once, before a bank is taken three times.
BG_DEVICE void spread_banks(const BitsSlices& p, u32 first, u32 words, u32 half) {
    for (u32 k = 0; k < words; k++) {
        u32 load = 0;  // of the bank that has the lane's number
        for (u32 turn = 0; turn < WARP; turn++) {
            const bool is_one = k + lane() < words;
            u16* mine = index_of(p, first, turn, is_one ? k + lane() : k, half);
            const u32 word = *mine, taken = shuffle(load, word & 31u), cost = word == p.zero ? 3 : 2 * taken;
            const u32 best = warp_min(is_one ? cost << 8 | lane() : 0xffffffffu) & 0xffu, chosen = shuffle(word, best), before = shuffle(word, 0);
            if (best != 0 && lane() == best) *mine = (u16)before;
            if (best != 0 && lane() == 0) *mine = (u16)chosen;
            load += chosen != p.zero && lane() == (chosen & 31u);
            warp_sync();
        }
    }
}

BG_KERNEL(bits_slices_fill, BitsSlices, 256, 4) {
    const u32 warps = blockDim.x / WARP;
    for (u32 slice = blockIdx.x * warps + threadIdx.x / WARP; slice < p.slice_count; slice += gridDim.x * warps) {
        const u32 row = slice_row(p, slice), first = p.units[slice], words = (p.units[slice + 1] - first) * 8;
        const bool is_row = row != NO_STRIP_ROW;
        const u32 begin = is_row ? load_readonly(p.offsets + row) : 0, end = is_row ? load_readonly(p.offsets + row + 1) : 0;
        const u32 count = is_row ? end - begin + p.with_self : 0;
        p.rows_of[(u64)slice * WARP + lane()] = row;
        p.degrees[(u64)slice * WARP + lane()] = count;
        u32 used[2] = {0, 0};
        if (slice < p.long_slices) {
            // Dealt to the lanes in turn, the even and the odd ones for themselves.
            for (u32 base = 0; base < count; base += WARP) {
                const bool within = base + lane() < count;
                const u32 place = within ? slice_place(p, row, begin, end, base + lane()) : 0, before = (1u << lane()) - 1u;
                const u32 odd = ballot(within && (place & 1u)), even = ballot(within && !(place & 1u));
                const u32 rank = place & 1u ? used[1] + (u32)__popc(odd & before) : used[0] + (u32)__popc(even & before);
                if (within) set_index(p, first, rank % WARP, rank / WARP, place & 1u, place / 2);
                used[0] += (u32)__popc(even), used[1] += (u32)__popc(odd);
            }
            for (u32 half = 0; half < 2; half++)
                for (u32 rank = used[half] + lane(); rank < words * WARP; rank += WARP) set_index(p, first, rank % WARP, rank / WARP, half, p.zero);
        } else {
            for (u32 k = 0; k < count; k++) {
                const u32 place = slice_place(p, row, begin, end, k), half = place & 1u;
                set_index(p, first, lane(), half ? used[1]++ : used[0]++, half, place / 2);
            }
            for (u32 half = 0; half < 2; half++)
                for (u32 k = used[half]; k < words; k++) set_index(p, first, lane(), k, half, p.zero);
            warp_sync();
            for (u32 half = 0; half < 2; half++) spread_banks(p, first, words, half);
        }
        warp_sync();
    }
}
}  // namespace bg
