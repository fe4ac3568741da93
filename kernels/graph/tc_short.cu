// Triangles where oriented lists are short. A list is kept where it can be searched at once, in registers or in a hash table of the
// warp, and the lists of its members are read past it.
#include "graph/tc_lists.cuh"
#include "tuning/tc.cuh"

namespace bg { namespace tc {
struct ShortParams {
    const u32* offsets;
    const u32* indices;
    u64* total;
    u32 n;
    u32 table_bits;   // a warp's table has so many slots; at least twice the longest list
};

/// A thread per vertex, its list of at most LIST entries in registers.
template <u32 LIST> BG_DEVICE void count_by_thread(const ShortParams& p) {
    u32 count = 0;
    for (u32 u = blockIdx.x * blockDim.x + threadIdx.x; u < p.n; u += gridDim.x * blockDim.x) {
        u32 begin = load_readonly(p.offsets + u), length = load_readonly(p.offsets + u + 1) - begin;
        if (length < 2) continue;
        u32 own[LIST], first[LIST], last[LIST];
#pragma unroll
        for (u32 j = 0; j < LIST; j++) own[j] = j < length ? load_readonly(p.indices + begin + j) : EMPTY;
#pragma unroll
        for (u32 j = 0; j < LIST; j++) {
            first[j] = j < length ? load_readonly(p.offsets + own[j]) : 0;
            last[j] = j < length ? load_readonly(p.offsets + own[j] + 1) : 0;
        }
#pragma unroll
        for (u32 j = 0; j < LIST; j++) {
            for (u32 e = first[j]; e < last[j]; e++) {
                u32 w = load_readonly(p.indices + e);
#pragma unroll
                for (u32 i = 0; i < LIST; i++) count += w == own[i];
            }
        }
    }
    __syncthreads();
    add_block_total(p.total, count, (u64*)shared_memory());
}
}}  // namespace bg::tc

BG_KERNEL(tc_short_thread4, bg::tc::ShortParams, 256, 4) { bg::tc::count_by_thread<4>(p); }

BG_KERNEL(tc_short_thread8, bg::tc::ShortParams, 256, 4) { bg::tc::count_by_thread<8>(p); }

namespace bg { namespace tc {
/// How many entries of the lists of two members are in the table: the first DEEP of each lane at once, the rest in turn.
BG_DEVICE u32 past_table(const WarpTable& table, const u32* indices, const u32 (&begin)[MEMBERS], const u32 (&end)[MEMBERS]) {
    u32 w[MEMBERS * DEEP], seen[MEMBERS * DEEP], count = 0;
#pragma unroll
    for (u32 k = 0; k < MEMBERS * DEEP; k++) {
        u32 e = begin[k / DEEP] + k % DEEP * READERS;
        w[k] = e < end[k / DEEP] ? load_readonly(indices + e) : EMPTY;
    }
#pragma unroll
    for (u32 k = 0; k < MEMBERS * DEEP; k++) seen[k] = table.slots[table.home(w[k])];
#pragma unroll
    for (u32 k = 0; k < MEMBERS * DEEP; k++) count += w[k] != EMPTY && table.contains_past(w[k], seen[k]);
    for (u32 m = 0; m < MEMBERS; m++) {
        for (u32 e = begin[m] + DEEP * READERS; e < end[m]; e += READERS) count += table.contains(load_readonly(indices + e));
    }
    return count;
}

/// The same where the members lie in a window of numbers, a bit for each; those outside it have the bit after its end, which is 0.
BG_DEVICE u32 past_window(const u32* window, u32 low, const u32* indices, const u32 (&begin)[MEMBERS], const u32 (&end)[MEMBERS]) {
    u32 w[MEMBERS * DEEP], count = 0;
#pragma unroll
    for (u32 k = 0; k < MEMBERS * DEEP; k++) {
        u32 e = begin[k / DEEP] + k % DEEP * READERS;
        w[k] = min_of((e < end[k / DEEP] ? load_readonly(indices + e) : EMPTY) - low, WINDOW);
    }
#pragma unroll
    for (u32 k = 0; k < MEMBERS * DEEP; k++) count += window[w[k] >> 5] >> (w[k] & 31) & 1;
    for (u32 m = 0; m < MEMBERS; m++) {
        for (u32 e = begin[m] + DEEP * READERS; e < end[m]; e += READERS) {
            u32 at = min_of(load_readonly(indices + e) - low, WINDOW);
            count += window[at >> 5] >> (at & 31) & 1;
        }
    }
    return count;
}

/// Calls `past` for the lists of the members of `list`, MEMBERS for each group of readers at a time, and adds up.
template <class Past> BG_DEVICE u32 over_members(const ShortParams& p, const u32* list, u32 length, Past past) {
    const u32 reader = lane() / READERS, place = lane() % READERS, readers = WARP / READERS;
    u32 count = 0;
    for (u32 base = 0; base < length; base += WARP) {
        u32 first = 0, last = 0;
        if (base + lane() < length) {
            u32 v = load_readonly(list + base + lane());
            first = load_readonly(p.offsets + v);
            last = load_readonly(p.offsets + v + 1);
        }
        for (u32 member = reader; member - reader < min_of(WARP, length - base); member += MEMBERS * readers) {
            u32 from[MEMBERS], to[MEMBERS];
#pragma unroll
            for (u32 m = 0; m < MEMBERS; m++) {
                from[m] = shuffle(first, member + m * readers) + place;
                to[m] = shuffle(last, member + m * readers);
            }
            count += past(from, to);
            warp_sync();
        }
    }
    return count;
}
}}  // namespace bg::tc

/// A warp per vertex, its list in shared memory: as bits where it lies in a window, else in a hash table.
BG_KERNEL(tc_short_warp, bg::tc::ShortParams, 256, 6) {
    using namespace bg;
    using namespace bg::tc;
    const u32 warps = blockDim.x / WARP, stride = gridDim.x * warps;
    u64* scratch = (u64*)shared_memory();
    u32* window = (u32*)(scratch + 34) + threadIdx.x / WARP * (WINDOW / 32 + WINDOW_PADDING);
    u32* tables = (u32*)(scratch + 34) + warps * (WINDOW / 32 + WINDOW_PADDING);
    const WarpTable table{tables + ((threadIdx.x / WARP) << p.table_bits), p.table_bits};
    for (u32 i = lane(); i < WINDOW / 32 + WINDOW_PADDING; i += WARP) window[i] = 0;
    table.clear();
    warp_sync();
    u32 count = 0, u = blockIdx.x * warps + threadIdx.x / WARP;
    u32 next_begin = u < p.n ? load_readonly(p.offsets + u) : 0, next_end = u < p.n ? load_readonly(p.offsets + u + 1) : 0;
    while (u < p.n) {
        const u32 begin = next_begin, length = next_end - begin;
        const u32* list = p.indices + begin;
        // Asked for now, needed after this vertex.
        u += stride;
        if (u < p.n) {
            next_begin = load_readonly(p.offsets + u);
            next_end = load_readonly(p.offsets + u + 1);
        }
        if (length < 2) continue;
        u32 own = lane() < length ? load_readonly(list + lane()) : EMPTY, low = shuffle(own, 0);
        if (length <= WARP && shuffle(own, length - 1) - low < WINDOW) {
            u32 at = own - low;
            if (own != EMPTY) atomicOr(window + (at >> 5), 1u << (at & 31));
            warp_sync();
            count += over_members(p, list, length, [&](const u32 (&from)[MEMBERS], const u32 (&to)[MEMBERS]) {
                return past_window(window, low, p.indices, from, to);
            });
            if (own != EMPTY) window[at >> 5] = 0;
        } else {
            for (u32 i = lane(); i < length; i += WARP) table.insert(load_readonly(list + i));
            warp_sync();
            count += over_members(p, list, length, [&](const u32 (&from)[MEMBERS], const u32 (&to)[MEMBERS]) {
                return past_table(table, p.indices, from, to);
            });
            table.clear();
        }
        warp_sync();
    }
    __syncthreads();
    add_block_total(p.total, count, scratch);
}
