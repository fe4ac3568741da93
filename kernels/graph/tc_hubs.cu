// Triangles of graphs with hubs, in degree order. A member of a list that is a hub is asked through its bit row, by whole rows for
// long lists and bit by bit for short ones; the lists of other members are read past a set of the own list. Work is handed out
// longest list first.
#include "graph/tc_hubs.cuh"
#include "tuning/tc.cuh"

namespace bg { namespace tc {
/// Words after a warp's bitmap, which keep the next one aligned.
constexpr u32 PADDING = 4;

/// What a warp has in shared memory. The bitmap of the hubs follows all of them.
struct WarpShared {
    u32 list[NARROW_LIST];
    u32 slots[1u << TABLE_BITS];
};

struct HubCounter {
    const HubsParams& p;
    WarpShared* own;
    u32* bitmap;   // hubs bits, zero between vertices, and a word of zeros
    u64 total;

    /// Bits of two rows that are in the bitmap, up to so many words of 128 bits; READERS lanes together.
    BG_DEVICE u32 rows_in_bitmap(const uint4* row, u32 quads, const uint4* other, u32 other_quads) const {
        const uint4 zero = make_uint4(0, 0, 0, 0);
        u32 count = 0;
        for (u32 x = lane() % READERS, end = max_of(quads, other_quads); x < end; x += READERS) {
            uint4 a = x < quads ? load_readonly(row + x) : zero, b = x < other_quads ? load_readonly(other + x) : zero;
            uint4 mine = ((const uint4*)bitmap)[x];
            count += bits_in_both(a, mine) + bits_in_both(b, mine);
        }
        return count;
    }

    /// Entries of a packed list that are in the bitmap; READERS lanes together.
    BG_DEVICE u32 packed_in_bitmap(u32 begin, u32 end) const {
        const uint4* packed = (const uint4*)p.high;
        u32 count = 0, x = begin + lane() % READERS;
        for (; x + READERS < end; x += 2 * READERS) {
            uint4 a = load_readonly(packed + x), b = load_readonly(packed + x + READERS);
            count += listed_in(a, bitmap) + listed_in(b, bitmap);
        }
        if (x < end) count += listed_in(load_readonly(packed + x), bitmap);
        return count;
    }

    /// Entries of the lists of `list[begin .. end]` that `is_member` knows. READERS lanes read a list, two lists at a time.
    template <class Test> BG_DEVICE u32 past_lists(const u32* list, u32 begin, u32 end, Test is_member) const {
        const u32 reader = lane() / READERS, place = lane() % READERS, readers = WARP / READERS;
        u32 count = 0;
        for (u32 base = begin; base < end; base += WARP) {
            u32 first = 0, last = 0;
            if (base + lane() < end) {
                u32 v = list[base + lane()];
                first = load_readonly(p.offsets + v);
                last = load_readonly(p.offsets + v + 1);
            }
            for (u32 member = 0; member < min_of(WARP, end - base); member += 2 * readers) {
                u32 e = shuffle(first, member + reader) + place, e_end = shuffle(last, member + reader);
                u32 f = shuffle(first, member + readers + reader) + place, f_end = shuffle(last, member + readers + reader);
                for (; e < e_end || f < f_end; e += READERS, f += READERS) {
                    u32 a = e < e_end ? load_readonly(p.indices + e) : EMPTY, b = f < f_end ? load_readonly(p.indices + f) : EMPTY;
                    if (a != EMPTY) count += is_member(a);
                    if (b != EMPTY) count += is_member(b);
                }
                warp_sync();
            }
        }
        return count;
    }

    /// A list of any length, by the whole warp.
    BG_DEVICE void wide(u32 u) {
        const u32 begin = load_readonly(p.offsets + u), length = load_readonly(p.offsets + u + 1) - begin;
        const u32* list = p.indices + begin;
        u32 hubs = 0, lows = 0;
        for (u32 base = 0; base < length; base += WARP) {
            u32 w = base + lane() < length ? load_readonly(list + base + lane()) : EMPTY;
            if (w < p.hubs) atomicOr(bitmap + (w >> 5), 1u << (w & 31));
            hubs += (u32)__popc(ballot(w < p.hubs));
            lows += (u32)__popc(ballot(w < p.low && w < p.hubs));
        }
        warp_sync();
        const u32 reader = lane() / READERS, readers = WARP / READERS;
        u32 count = 0;
        // Readers take neighbouring members, whose rows are about as long. Vertex 0 has an empty row.
        for (u32 base = 0; base < lows; base += WARP) {
            u32 v = base + lane() < lows ? load_readonly(list + base + lane()) : 0;
            for (u32 member = 0; member < min_of(WARP, lows - base); member += 2 * readers) {
                u32 a = shuffle(v, member + reader), b = shuffle(v, member + readers + reader);
                count += rows_in_bitmap(p.matrix + row_start(a), row_quads(a), p.matrix + row_start(b), row_quads(b));
                warp_sync();
            }
        }
        // Far from the diagonal rows have few bits: those are listed.
        for (u32 base = lows; base < hubs; base += WARP) {
            bool one = base + lane() < hubs;
            u32 v = one ? load_readonly(list + base + lane()) : 0;
            u32 first = one ? load_readonly(p.high_starts + v) : 0, last = one ? load_readonly(p.high_starts + v + 1) : 0;
            u32 row = row_start(v), quads = one ? p.low / QUAD : 0;
            for (u32 member = 0; member < min_of(WARP, hubs - base); member += 2 * readers) {
                u32 a = member + reader, b = a + readers;
                count += rows_in_bitmap(p.matrix + shuffle(row, a), shuffle(quads, a), p.matrix + shuffle(row, b), shuffle(quads, b));
                u32 a_first = shuffle(first, a), a_last = shuffle(last, a), b_first = shuffle(first, b), b_last = shuffle(last, b);
                count += packed_in_bitmap(a_first, a_last) + packed_in_bitmap(b_first, b_last);
                warp_sync();
            }
        }
        count += past_lists(list, hubs, length, [&](u32 w) -> u32 {
            return w < p.hubs ? bitmap[w >> 5] >> (w & 31) & 1 : contains(list + hubs, length - hubs, w);
        });
        warp_sync();
        for (u32 i = lane(); i < hubs; i += WARP) bitmap[load_readonly(list + i) >> 5] = 0;
        warp_sync();
        total += count;
    }

    /// Some of the order's vertices with lists of at most NARROW_LIST entries, one after another by the whole warp. What the next
    /// one needs is asked for while one is worked on.
    BG_DEVICE void narrow(u32 first, u32 end) {
        u32 begin = 0, length = 0;
        if (first + lane() < end) {
            u32 u = load_readonly(p.order + first + lane());
            begin = load_readonly(p.offsets + u);
            length = load_readonly(p.offsets + u + 1) - begin;
        }
        u32 next[2] = {EMPTY, EMPTY};
        for (u32 k = 0; k <= end - first; k++) {
            u32 entries[2] = {next[0], next[1]};
            if (k < end - first) {
                u32 b = shuffle(begin, k), l = shuffle(length, k);
                for (u32 half = 0; half < 2; half++) {
                    u32 i = half * WARP + lane();
                    next[half] = i < l ? load_readonly(p.indices + b + i) : EMPTY;
                }
            }
            if (k > 0) narrow_list(entries, shuffle(length, k - 1));
        }
    }

    /// One of them, given its entries, two to a lane.
    BG_DEVICE void narrow_list(const u32 (&entries)[2], u32 length) {
        own->list[lane()] = entries[0];
        own->list[WARP + lane()] = entries[1];
        const u32 hubs = (u32)(__popc(ballot(entries[0] < p.hubs)) + __popc(ballot(entries[1] < p.hubs)));
        warp_sync();
        u32 count = 0;
        // Pair number t is (j, t - j (j - 1) / 2).
        const u32 pairs = hubs * (hubs - 1) / 2;
        for (u32 first = lane(); first - lane() < pairs; first += PAIRS * WARP) {
            u32 bits[PAIRS];
#pragma unroll
            for (u32 k = 0; k < PAIRS; k++) {
                u32 t = first + k * WARP;
                u32 j = (u32)((1.0f + sqrtf(1.0f + 8.0f * (f32)t)) * 0.5f);
                if (j * (j - 1) / 2 > t) j--;
                else if (j * (j + 1) / 2 <= t) j++;
                bits[k] = t < pairs ? adjacent(p.matrix, own->list[j], own->list[t - j * (j - 1) / 2]) : 0;
            }
#pragma unroll
            for (u32 k = 0; k < PAIRS; k++) count += bits[k];
        }
        if (hubs < length) {
            const WarpTable table{own->slots, TABLE_BITS};
            table.clear();
            warp_sync();
            for (u32 i = lane(); i < length; i += WARP) table.insert(own->list[i]);
            warp_sync();
            count += past_lists(own->list, hubs, length, [&](u32 w) -> u32 { return table.contains(w); });
        }
        warp_sync();
        total += count;
    }

    /// Some of the order's vertices with lists of at most FEW_LIST entries, READERS lanes each.
    BG_DEVICE void few(u32 first, u32 end) {
        for (u32 base = first; base < end; base += WARP) {
            u32 begin = 0, length = 0;
            if (base + lane() < end) {
                u32 u = load_readonly(p.order + base + lane());
                begin = load_readonly(p.offsets + u);
                length = load_readonly(p.offsets + u + 1) - begin;
            }
            for (u32 k = lane() / READERS; k < WARP; k += WARP / READERS) few_list(shuffle(begin, k), shuffle(length, k));
        }
    }

    BG_DEVICE void few_list(u32 begin, u32 length) {
        if (length < 2) return;
        u32 count = 0;
        for (u32 t = lane() % READERS, pairs = length * (length - 1) / 2; t < pairs; t += READERS) {
            u32 j = 1;
            while (j * (j + 1) / 2 <= t) j++;
            u32 v = load_readonly(p.indices + begin + j), w = load_readonly(p.indices + begin + t - j * (j - 1) / 2);
            if (v < p.hubs) {
                count += adjacent(p.matrix, v, w);
            } else {
                u32 first = load_readonly(p.offsets + v);
                count += contains(p.indices + first, load_readonly(p.offsets + v + 1) - first, w);
            }
        }
        total += count;
    }
};
}}  // namespace bg::tc

/// Sets the bits of the hubs' lists; the matrix is zero. A warp per row.
BG_KERNEL(tc_hubs_matrix, bg::tc::HubsParams, 256, 4) {
    using namespace bg;
    using namespace bg::tc;
    const u32 warps = blockDim.x / WARP;
    for (u32 v = blockIdx.x * warps + threadIdx.x / WARP; v < min_of(p.hubs, p.n); v += gridDim.x * warps) {
        u32* row = (u32*)(p.matrix + row_start(v));
        for (u32 e = load_readonly(p.offsets + v) + lane(), end = load_readonly(p.offsets + v + 1); e < end; e += WARP) {
            u32 w = load_readonly(p.indices + e);
            atomicOr(row + (w >> 5), 1u << (w & 31));
        }
    }
}

/// How many words of packed entries each hub from `low` on has; `high_starts` gets them.
BG_KERNEL(tc_hubs_high_count, bg::tc::HubsParams, 256, 4) {
    using namespace bg;
    using namespace bg::tc;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.hubs; v += gridDim.x * blockDim.x) {
        u32 count = 0;
        if (v < p.n && v > p.low) {
            u32 first = load_readonly(p.offsets + v), end = load_readonly(p.offsets + v + 1), begin = first, high = end;
            while (begin < high) {
                u32 middle = begin + (high - begin) / 2;
                if (load_readonly(p.indices + middle) < p.low) begin = middle + 1;
                else high = middle;
            }
            count = ceil_div(end - begin, PACKED);
        }
        p.high_starts[v] = count;
    }
}

/// Packs them, a warp per hub.
BG_KERNEL(tc_hubs_high_fill, bg::tc::HubsParams, 256, 4) {
    using namespace bg;
    using namespace bg::tc;
    const u32 warps = blockDim.x / WARP;
    for (u32 v = blockIdx.x * warps + threadIdx.x / WARP; v < min_of(p.hubs, p.n); v += gridDim.x * warps) {
        u32 out = load_readonly(p.high_starts + v) * PACKED, room = load_readonly(p.high_starts + v + 1) * PACKED;
        // They are the last of the row: taken from its end, the padding after them.
        for (u32 i = lane(); i < room - out; i += WARP) {
            u32 end = load_readonly(p.offsets + v + 1), length = end - load_readonly(p.offsets + v);
            u32 w = i < length ? load_readonly(p.indices + end - 1 - i) : p.hubs;
            p.high[out + i] = (u16)(w >= p.low ? w : p.hubs);
        }
    }
}

BG_KERNEL(tc_hubs, bg::tc::HubsParams, 256, 4) {
    using namespace bg;
    using namespace bg::tc;
    const u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP, words = p.hubs / 32 + PADDING;
    u64* scratch = (u64*)shared_memory();
    WarpShared* all = (WarpShared*)(scratch + 34);
    HubCounter counter{p, all + warp, (u32*)(all + warps) + warp * words, 0};
    for (u32 i = lane(); i < words; i += WARP) counter.bitmap[i] = 0;
    warp_sync();
    const u32 narrow_tickets = ceil_div(p.narrow - p.wide, NARROW_SHARE), few_tickets = ceil_div(p.few - p.narrow, FEW_SHARE);
    for (;;) {
        u32 ticket = 0;
        if (lane() == 0) ticket = atomicAdd(p.ticket, 1u);
        ticket = shuffle(ticket, 0);
        if (ticket < p.wide) {
            counter.wide(load_readonly(p.order + ticket));
        } else if (ticket - p.wide < narrow_tickets) {
            u32 first = p.wide + (ticket - p.wide) * NARROW_SHARE, end = min_of(first + NARROW_SHARE, p.narrow);
            counter.narrow(first, end);
        } else if (ticket - p.wide - narrow_tickets < few_tickets) {
            u32 first = p.narrow + (ticket - p.wide - narrow_tickets) * FEW_SHARE, end = min_of(first + FEW_SHARE, p.few);
            counter.few(first, end);
        } else {
            break;
        }
    }
    __syncthreads();
    add_block_total(p.total, counter.total, scratch);
}
