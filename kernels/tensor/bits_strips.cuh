// Sums of signs with every gather from shared memory. A strip is 16 columns of the lines that any row names, 2 bytes of each, so that one
// multiprocessor holds a strip of some hundred thousand lines. Lines are numbered by their place among the named ones; a word of the strip is
// lines 2 i and 2 i + 1. A row's neighbours are split by parity, and an index word names two of them, an even and an odd one: their halves make
// one word for the vertical counters, whose two halves meet at the end. An index word is turned left by two bits, so that either place becomes
// an address by a mask, and not by a shift, a mask and a sum: the loop does little else.
//
// A slice is what a warp does at once: index words of 32 lanes side by side. A short row has one lane, a longer one 2 to 32, whose counters meet
// at the end; what 32 lanes would take long for is a hub, cut into pieces that meet in memory. Slices of hubs come first, those of rows of one
// lane last. Where lanes of a slice have fewer neighbours than others, they name a line of zeros.
#pragma once
#include "common/again.cuh"
#include "common/stretch.cuh"
#include "tensor/bits_aggregate.cuh"

namespace bg {
struct BitsStripsParams {
    BitsEpilogue epilogue;    // of signs
    const u32* lines;         // of the features
    const u32* named;         // those that are named; null: all
    u16* strips;              // of `pitch` lines each, with zeros behind the named ones
    const u32* slices;        // the first unit of each slice; a unit is 4 index words of each lane
    const uint4* entries;     // one for each lane and unit, and two units more, which are read and not used
    const uint2* rows;        // of each slice's lanes: the row, or NO_STRIP_ROW, and its degree
    const u32* hubs;          // of each slice that is a piece: its hub
    const u32* pieces;        // the first slice of each hub, and where the last one ends
    u32* counts;              // of each hub and strip: 16 counts, and the pieces that are done
    u32* met;                 // of meet_once()
    u32 ends[6];              // where slices end: pieces, and those of rows of 32, 16, 8, 4 and 2 lanes
    u32 named_count;
    u32 pitch;
    u32 slice_count;
    u32 strip_count;
    u32 hub_count;
    u32 unused;
};
constexpr u32 NO_STRIP_ROW = 0xffffffffu;
/// Words that the pieces of a hub share, for a strip.
constexpr u32 HUB_WORDS = 17;

/// Adds the upper half of a counter to the lower one, into one plane more; what the upper half is then means nothing.
template <u32 PLANES> BG_DEVICE void join_halves(const u32 (&c)[PLANES], u32 (&sums)[PLANES + 1]) {
    u32 carry = 0;
#pragma unroll
    for (u32 i = 0; i < PLANES; i++) full_add(c[i], c[i] >> 16, carry, sums[i], carry);
    sums[PLANES] = carry;
}

/// Stores the signs of 16 columns of a row, turned where columns are.
BG_DEVICE void store_strip_signs(const BitsStripsParams& p, u32 signs, u32 row, u32 strip) {
    const BitsEpilogue& e = p.epilogue;
    const u32 word = strip / 2, shift = (strip & 1u) * 16;
    if (e.flips) signs ^= load_readonly(e.flips + word) >> shift;
    ((u16*)e.output)[(u64)row * e.stride * 2 + strip] = (u16)(signs & bits_within(e.columns, word) >> shift);
}
/// The same of a counter.
template <u32 PLANES> BG_DEVICE void store_strip(const BitsStripsParams& p, const u32 (&sums)[PLANES], u32 row, u32 degree, u32 strip) {
    const BitsEpilogue& e = p.epilogue;
    u32 signs;
    if (e.planes) signs = twice_at_least<PLANES>(sums, e.offset - degree, e.planes + strip / 2, e.plane_count, e.stride, (strip & 1u) * 16);
    else signs = at_least<PLANES>(sums, (degree + 1) / 2);
    store_strip_signs(p, signs, row, strip);
}
/// Adds what a piece of a hub counted, the same in all lanes, to the hub's counts; whichever piece ends last makes signs of them.
template <u32 PLANES> BG_DEVICE void store_piece(const BitsStripsParams& p, const u32 (&sums)[PLANES], u32 slice, u32 row, u32 degree, u32 strip) {
    const BitsEpilogue& e = p.epilogue;
    const u32 hub = load_readonly(p.hubs + slice), bit = lane() & 15u, column = strip * 16 + bit;
    u32* counts = p.counts + (u64)(hub * p.strip_count + strip) * HUB_WORDS;
    u32 count = 0;
#pragma unroll
    for (u32 i = 0; i < PLANES; i++) count |= (sums[i] >> bit & 1u) << i;
    if (lane() < 16) reduce_add(counts + lane(), count);
    fence_device();
    warp_sync();
    bool last = false;
    if (lane() == 0) last = atomicAdd(counts + 16, 1u) + 1 == load_readonly(p.pieces + hub + 1) - load_readonly(p.pieces + hub);
    if (!any(last)) return;
    fence_device();
    const i64 sum = 2 * (i64)load_l2(counts + bit) - (i64)degree;
    const i64 lowest = e.thresholds && column < e.columns ? (i64)load_readonly(e.thresholds + column) : 0;
    const u32 signs = bg::ballot(sum >= lowest);
    if (lane() == 0) store_strip_signs(p, signs, row, strip);
}

/// Lines to strips, with zeros behind them, and no counts of hubs. Each block takes as many pairs of lines, and each thread a word of a pair.
BG_DEVICE void split_lines(const BitsStripsParams& p) {
    const u32 stride = p.epilogue.stride, pairs = p.pitch / 2, each = ceil_div(pairs, gridDim.x);
    const u32 begin = min_of(blockIdx.x * each, pairs), count = min_of(each, pairs - begin);
    u32 pair = threadIdx.x / stride, word = threadIdx.x - pair * stride;
    const u32 pairs_on = blockDim.x / stride, words_on = blockDim.x - pairs_on * stride;
    auto load = [&](u32 line) { return load_readonly(p.lines + ((u64)line * stride + word)); };
    while (pair < count) {
        const u32 place = 2 * (begin + pair);
        u32 even = 0, odd = 0;
        if (place + 1 < p.named_count) {
            // Both lines at once: a branch for each would have them wait for each other.
            u32 line = place, next = place + 1;
            if (p.named) line = load_readonly(p.named + place), next = load_readonly(p.named + place + 1);
            even = load(line), odd = load(next);
        } else if (place < p.named_count) {
            even = load(p.named ? load_readonly(p.named + place) : place);
        }
        u32* to = (u32*)p.strips + ((u64)word * p.pitch + begin + pair);
        to[0] = __byte_perm(even, odd, 0x5410);
        to[pairs] = __byte_perm(even, odd, 0x7632);
        pair += pairs_on, word += words_on;
        if (word >= stride) word -= stride, pair++;
    }
    const u64 words = (u64)p.hub_count * p.strip_count * HUB_WORDS;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (u64)gridDim.x * blockDim.x) p.counts[i] = 0;
}

/// A block holds a strip, and takes every so many slices; blocks of one strip lie `strip_count` apart. Index words are loaded two units ahead,
/// those of the next slice too. After `made()` the block's first thread sees all strips in memory. Of the 15.7 us that an H200 takes for 100
/// thousand rows of 32 random entries, 7.8 go to a launch, the strips and their copies; of the rest, conflicts of banks and stores cost some .5
/// each, and the instructions of a unit and of a slice about as much as each other.
template <class Made> BG_DEVICE void bits_from_strips(const BitsStripsParams& p, Made made) {
    u8* shared = shared_memory();
    StretchCopy copy((u64*)(shared + (u64)p.pitch * 2), p.pitch * 2);
    const u32 strip = blockIdx.x % p.strip_count, share = gridDim.x / p.strip_count, step = share * (blockDim.x / WARP);
    u32 slice = blockIdx.x / p.strip_count + share * (threadIdx.x / WARP);
    const u32* slices = plain(p.slices);
    auto units_of = [&](u32 at) {
        return at < p.slice_count ? make_uint2(load_readonly(slices + at), load_readonly(slices + at + 1)) : make_uint2(0, 0);
    };
    uint2 units = units_of(slice), next = units_of(slice + step);
    const uint4* entries = plain(p.entries + lane());
    const uint2* rows = plain(p.rows + lane());
    uint4 first, second;
    auto load = [&](u32 unit) {
        const uint4* from = entries + (u64)unit * WARP;
        first = load_readonly(from);
        second = load_readonly(from + WARP);
    };
    load(units.x);
    made();
    copy.start(shared, p.strips + (u64)strip * p.pitch);
    copy.wait();
    auto low = [&](u32 index) { return index & 0x3fffcu; };
    auto high = [&](u32 index) { return __byte_perm(index, 0, 0x1032) & 0x3fffcu; };
    // The address of shared memory anew each time: it becomes a uniform register, which a load adds by itself.
    auto word = [&](u32 place) { return *(const u32*)(shared_memory() + place); };
    for (; slice < p.slice_count; slice += step) {
        const uint2 line = load_readonly(rows + (u64)slice * WARP);
        const u32 row = line.x, degree = line.y;
        const uint2 after = units_of(slice + 2 * step);
        u32 c[bits::STRIP_PLANES], sums[bits::STRIP_PLANES + 1];
#pragma unroll
        for (u32& plane : c) plane = 0;
        if (units.x == units.y) load(next.x);
        u32 unit = units.x;
        while (unit + 2 <= units.y) {
            const u32 index[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
            u32 even[8], odd[8];
#pragma unroll
            for (u32 j = 0; j < 8; j++) even[j] = low(index[j]), odd[j] = high(index[j]);
            unit += 2;
            load(unit < units.y ? unit : next.x);
#pragma unroll
            for (u32 j = 0; j < 8; j++) even[j] = __byte_perm(word(even[j]), word(odd[j]), 0x7610);
            count_words<bits::STRIP_PLANES>(c, even);
        }
        if (unit < units.y) {
            const u32 index[4] = {first.x, first.y, first.z, first.w};
            u32 even[4], odd[4];
#pragma unroll
            for (u32 j = 0; j < 4; j++) even[j] = low(index[j]), odd[j] = high(index[j]);
            load(next.x);
#pragma unroll
            for (u32 j = 0; j < 4; j++) even[j] = __byte_perm(word(even[j]), word(odd[j]), 0x7610);
            count_words<bits::STRIP_PLANES>(c, even);
        }
        join_halves(c, sums);
        if (slice >= p.ends[5]) {
            if (row != NO_STRIP_ROW) store_strip(p, sums, row, degree, strip);
        } else {
            constexpr u32 ONE = bits::STRIP_PLANES + 1;
            u32 all[ONE + 5];
#pragma unroll
            for (u32 i = 0; i < ONE + 5; i++) all[i] = i < ONE ? sums[i < ONE ? i : 0] : 0;
            u32 lanes = 2;
            join_lanes<ONE, 1, 2>(all);
            if (slice < p.ends[4]) join_lanes<ONE + 1, 2, 2>(all), lanes = 4;
            if (slice < p.ends[3]) join_lanes<ONE + 2, 4, 2>(all), lanes = 8;
            if (slice < p.ends[2]) join_lanes<ONE + 3, 8, 2>(all), lanes = 16;
            if (slice < p.ends[1]) join_lanes<ONE + 4, 16, 2>(all), lanes = 32;
            if (slice < p.ends[0]) store_piece(p, all, slice, row, degree, strip);
            else if (row != NO_STRIP_ROW && lane() % lanes == 0) store_strip(p, all, row, degree, strip);
        }
        units = next, next = after;
    }
}
}  // namespace bg
