// Sums of signs from strips in shared memory: the sums, the strips, and how rows become slices.
#include "common/meet.cuh"
#include "tensor/bits_strips.cuh"

namespace bg {
/// All of it; launched cooperatively.
BG_KERNEL(bits_strips, BitsStripsParams, 768, 1) {
    bits_from_strips(p, [&] {
        split_lines(p);
        meet_once(p.met);
    });
}

/// The strips alone, and the sums alone: of more strips than the device holds at once.
BG_KERNEL(bits_split, BitsStripsParams, 256, 4) { split_lines(p); }
BG_KERNEL(bits_strips_made, BitsStripsParams, 768, 1) {
    bits_from_strips(p, [] {});
}

struct BitsSlices {
    const u32* offsets;
    const u32* indices;
    u32* flags;           // of each column: 1 if it is named
    const u32* places;    // of each column: its place among the named ones
    u32* lengths;         // of each row: index words
    u32* keys;            // that rows are sorted by
    u32* counts;          // rows that are hubs, and of 32, 16, 8, 4 and 2 lanes
    const u32* order;     // rows, sorted
    u32* pieces;          // of each hub: how many; after a scan: the first of them
    u32* hubs;            // of each piece: its hub
    u32* units;           // of each slice; after a scan: the first of them
    uint4* entries;
    uint2* rows_of;
    u32 row_ends[6];      // where classes end in the order, as `counts` has them
    u32 ends[6];          // where their slices end
    u32 rows;
    u32 entry_count;
    u32 slice_count;
    u32 unit_count;
    u32 zero;             // the word of zeros of a strip
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

/// Twofold as many lanes with each class; and that of hubs.
constexpr u32 HUB_CLASS = 6;
static_assert(bits::LANE_WORDS < 1u << bits::STRIP_PLANES && bits::ALONE_WORDS < 1u << bits::STRIP_PLANES, "what the planes of a lane count");
static_assert(bits::LANE_WORDS * 2 >= bits::ALONE_WORDS && bits::LANE_WORDS <= 2 * WARP, "places of keys");
BG_DEVICE u32 slice_class(u32 words) {
    if (words <= bits::ALONE_WORDS) return 0;
    u32 found = 1;
    while (found < HUB_CLASS && words > bits::LANE_WORDS << found) found++;
    return found;
}

/// Rows of many lanes by class and descending length; then those of one by window, so that what is stored side by side lies near, and by
/// descending length in it. A warp for each.
BG_KERNEL(bits_slices_measure, BitsSlices, 256, 4) {
    const u32 warps = blockDim.x / WARP;
    for (u32 row = blockIdx.x * warps + threadIdx.x / WARP; row < p.rows; row += gridDim.x * warps) {
        const u32 begin = load_readonly(p.offsets + row), end = load_readonly(p.offsets + row + 1), count = end - begin + p.with_self;
        u32 odd = 0;
        for (u32 k = lane(); k < count; k += WARP) odd += slice_place(p, row, begin, end, k) & 1u;
        odd = warp_sum(odd);
        if (lane() == 0) {
            const u32 length = max_of(odd, count - odd), found = slice_class(length);
            p.lengths[row] = length;
            if (found == 0) {
                p.keys[row] = (row / bits::WINDOW_ROWS + 1) << 8 | (255u - length);
            } else {
                reduce_add(p.counts + (HUB_CLASS - found), 1u);
                const u32 each = min_of(ceil_div(length, 1u << found), bits::LANE_WORDS);
                p.keys[row] = (HUB_CLASS - found) * WARP + min_of(bits::LANE_WORDS - each, WARP - 1);
            }
        }
    }
}

BG_KERNEL(bits_slices_cut, BitsSlices, 256, 4) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.row_ends[0]; i += gridDim.x * blockDim.x)
        p.pieces[i] = ceil_div(p.lengths[load_readonly(p.order + i)], bits::LANE_WORDS * WARP);
}
BG_KERNEL(bits_slices_pieces, BitsSlices, 256, 4) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.row_ends[0]; i += gridDim.x * blockDim.x)
        for (u32 piece = p.pieces[i]; piece < p.pieces[i + 1]; piece++) p.hubs[piece] = i;
}

/// What a lane of a slice has of a row: with `lanes` others of each of `pieces` slices, of which this is one.
struct SlicePart {
    u32 row;
    u32 lanes;
    u32 piece;
    u32 pieces;
};
BG_DEVICE SlicePart slice_part(const BitsSlices& p, u32 slice) {
    if (slice < p.ends[0]) {
        const u32 hub = p.hubs[slice], first = p.pieces[hub];
        return SlicePart{load_readonly(p.order + hub), WARP, slice - first, p.pieces[hub + 1] - first};
    }
    u32 lanes = WARP, begin = p.ends[0], row_begin = p.row_ends[0], row_end = p.row_ends[1];
#pragma unroll
    for (u32 i = 1; i < 6; i++)
        if (slice >= p.ends[i]) lanes = WARP >> i, begin = p.ends[i], row_begin = p.row_ends[i], row_end = i < 5 ? p.row_ends[i < 5 ? i + 1 : 5] : p.rows;
    const u64 place = row_begin + (u64)(slice - begin) * (WARP / lanes) + lane() / lanes;
    return SlicePart{place < row_end ? load_readonly(p.order + place) : NO_STRIP_ROW, lanes, 0, 1};
}

BG_KERNEL(bits_slices_size, BitsSlices, 256, 4) {
    const u32 warps = blockDim.x / WARP;
    for (u32 slice = blockIdx.x * warps + threadIdx.x / WARP; slice < p.slice_count; slice += gridDim.x * warps) {
        const SlicePart part = slice_part(p, slice);
        const u32 longest = warp_max(part.row == NO_STRIP_ROW ? 0 : ceil_div(p.lengths[part.row], part.lanes * part.pieces));
        if (lane() == 0) p.units[slice] = ceil_div(longest, 4u);
    }
}

/// Index word `k` of a lane of a slice that begins with unit `first`.
BG_DEVICE u32* index_of(const BitsSlices& p, u32 first, u32 at_lane, u32 k) {
    return (u32*)(p.entries + ((u64)(first + k / 4) * WARP + at_lane)) + (k & 3u);
}
/// Half `half` of it, as it is before the word is turned.
BG_DEVICE u16* half_of(const BitsSlices& p, u32 first, u32 at_lane, u32 k, u32 half) { return (u16*)index_of(p, first, at_lane, k) + half; }

/// Orders the halves of index words of each lane so that lanes name words of different banks at the same time: lane after lane takes of its next
/// 32 the one whose bank is taken by fewest, or the word of zeros, which all can read at once, before a bank is taken three times.
BG_DEVICE void spread_banks(const BitsSlices& p, u32 first, u32 words, u32 half) {
    for (u32 k = 0; k < words; k++) {
        u32 load = 0;  // of the bank that has the lane's number
        for (u32 turn = 0; turn < WARP; turn++) {
            const bool is_one = k + lane() < words;
            u16* mine = half_of(p, first, turn, is_one ? k + lane() : k, half);
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
        const SlicePart part = slice_part(p, slice);
        const u32 row = part.row, first = p.units[slice], words = (p.units[slice + 1] - first) * 4;
        const bool is_row = row != NO_STRIP_ROW;
        const u32 begin = is_row ? load_readonly(p.offsets + row) : 0, end = is_row ? load_readonly(p.offsets + row + 1) : 0;
        const u32 count = is_row ? end - begin + p.with_self : 0;
        p.rows_of[(u64)slice * WARP + lane()] = make_uint2(row, count);
        // Neighbours are dealt to the lanes of a row in turn, those of all of its pieces, the even and the odd ones for themselves.
        const u32 own = lane() % part.lanes, group = lane() - own, all = part.lanes * part.pieces, place_of_own = part.piece * part.lanes + own;
        const u32 mask = part.lanes == WARP ? FULL : ((1u << part.lanes) - 1u) << group, before = mask & ((1u << lane()) - 1u);
        const u32 most = warp_max(count);
        u32 used_even = 0, used_odd = 0;
        for (u32 base = 0; base < most; base += part.lanes) {
            const bool within = base + own < count;
            const u32 place = within ? slice_place(p, row, begin, end, base + own) : 0, half = place & 1u;
            const u32 odd = bg::ballot(within && half), even = bg::ballot(within && !half);
            const u32 rank = (half ? used_odd : used_even) + (u32)__popc((half ? odd : even) & before), at = rank % all;
            if (within && at / part.lanes == part.piece) *half_of(p, first, group + at % part.lanes, rank / all, half) = (u16)(place / 2);
            used_even += (u32)__popc(even & mask), used_odd += (u32)__popc(odd & mask);
        }
        for (u32 half = 0; half < 2; half++) {
            const u32 used = half ? used_odd : used_even;
            for (u32 k = used > place_of_own ? (used - place_of_own - 1) / all + 1 : 0; k < words; k++)
                *half_of(p, first, lane(), k, half) = (u16)p.zero;
        }
        warp_sync();
        for (u32 half = 0; half < 2; half++) spread_banks(p, first, words, half);
        for (u32 k = 0; k < words; k++) {
            u32* index = index_of(p, first, lane(), k);
            *index = *index << 2 | *index >> 30;
        }
    }
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < 2 * WARP; i += gridDim.x * blockDim.x)
        p.entries[(u64)p.unit_count * WARP + i] = make_uint4(0, 0, 0, 0);
}
}  // namespace bg
