// Sums of signs with every gather from shared memory. A strip is 16 columns of the lines that any row names, 2 bytes of each, so that one
// multiprocessor holds a strip of some hundred thousand lines. Lines are numbered by their place among the named ones; a word of the strip is
// lines 2 i and 2 i + 1. A row's neighbours are split by parity, and an index word names two of them, an even and an odd one: their halves make
// one word for the vertical counters, whose two halves meet at the end.
//
// 32 rows are a slice, a lane for each, of index words side by side; a row of many neighbours has a slice to itself. Where rows of a slice have
// fewer, they name a line of zeros.
#pragma once
#include "common/async.cuh"
#include "tensor/bits_aggregate.cuh"

namespace bg {
struct BitsStripsParams {
    BitsEpilogue epilogue;    // of signs
    const u16* strips;        // of `pitch` lines each, with zeros behind the named ones
    const u32* slices;        // the first unit of each slice; a unit is 8 index words of each lane
    const uint4* entries;     // two for each lane and unit
    const u32* rows;          // of each slice's lanes; NO_STRIP_ROW
    const u32* degrees;       // of those rows
    u32 pitch;
    u32 slice_count;
    u32 long_count;           // slices of one row each, which are the first
    u32 strip_count;
};
constexpr u32 NO_STRIP_ROW = 0xffffffffu;

/// Adds the upper half of a counter to the lower one, into one plane more.
template <u32 PLANES> BG_DEVICE void join_halves(const u32 (&c)[PLANES], u32 (&sums)[PLANES + 1]) {
    u32 carry = 0;
#pragma unroll
    for (u32 i = 0; i < PLANES; i++) full_add(c[i] & 0xffffu, c[i] >> 16, carry, sums[i], carry);
    sums[PLANES] = carry;
}

/// Stores the signs of 16 columns of a row.
template <u32 PLANES> BG_DEVICE void store_strip(const BitsStripsParams& p, const u32 (&sums)[PLANES], u32 row, u32 degree, u32 strip) {
    const BitsEpilogue& e = p.epilogue;
    const u32 word = strip / 2, shift = (strip & 1u) * 16;
    u32 signs;
    if (e.planes) signs = twice_at_least<PLANES>(sums, e.offset - degree, e.planes + word, e.plane_count, e.stride, shift);
    else signs = at_least<PLANES>(sums, (degree + 1) / 2);
    if (e.flips) signs ^= load_readonly(e.flips + word) >> shift;
    ((u16*)e.output)[(u64)row * e.stride * 2 + strip] = (u16)(signs & bits_within(e.columns, word) >> shift);
}

/// A block holds a strip, and takes every so many slices; blocks of one strip lie `strip_count` apart. Index words are loaded a unit ahead,
/// those of the next slice too.
BG_DEVICE void bits_from_strips(const BitsStripsParams& p) {
    u8* shared = shared_memory();
    const u32 strip = blockIdx.x % p.strip_count, share = gridDim.x / p.strip_count, step = share * (blockDim.x / WARP);
    u32 slice = blockIdx.x / p.strip_count + share * (threadIdx.x / WARP);
    auto units_of = [&](u32 at) {
        return at < p.slice_count ? make_uint2(load_readonly(p.slices + at), load_readonly(p.slices + at + 1)) : make_uint2(0, 0);
    };
    uint2 units = units_of(slice), next = units_of(slice + step);
    uint4 first = make_uint4(0, 0, 0, 0), second = first;
    auto load = [&](u32 unit) {
        const uint4* from = p.entries + ((u64)unit * 2 * WARP + lane());
        first = load_readonly(from);
        second = load_readonly(from + WARP);
    };
    if (units.x < units.y) load(units.x);
    const u16* from = p.strips + (u64)strip * p.pitch;
    for (u32 i = threadIdx.x; i < p.pitch / 8; i += blockDim.x) copy_async16(shared + i * 16, from + i * 8);
    commit_copies();
    wait_copies();
    __syncthreads();
    const u32* words = (const u32*)shared;
    for (; slice < p.slice_count; slice += step) {
        const u32 row = load_readonly(p.rows + (u64)slice * WARP + lane()), degree = load_readonly(p.degrees + (u64)slice * WARP + lane());
        const uint2 after = units_of(slice + 2 * step);
        auto count = [&](auto& c) {
#pragma unroll
            for (u32& plane : c) plane = 0;
            if (units.x == units.y && next.x < next.y) load(next.x);
            for (u32 unit = units.x; unit < units.y; unit++) {
                const u32 index[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
                if (unit + 1 < units.y) load(unit + 1);
                else if (next.x < next.y) load(next.x);
                u32 even[8], odd[8];
#pragma unroll
                for (u32 j = 0; j < 8; j++) {
                    even[j] = words[index[j] & 0xffffu];
                    odd[j] = words[index[j] >> 16];
                }
#pragma unroll
                for (u32 j = 0; j < 8; j++) even[j] = __byte_perm(even[j], odd[j], 0x7610);
                count_words<sizeof(c) / sizeof(u32)>(c, even);
            }
        };
        if (slice < p.long_count) {
            u32 c[bits::LONG_PLANES], halves[bits::LONG_PLANES + 1], sums[bits::LONG_PLANES + 6];
            count(c);
            join_halves(c, halves);
#pragma unroll
            for (u32 i = 0; i < bits::LONG_PLANES + 6; i++) sums[i] = i <= bits::LONG_PLANES ? halves[i <= bits::LONG_PLANES ? i : 0] : 0;
            join_lanes<bits::LONG_PLANES + 1, 1, WARP>(sums);
            if (lane() == 0) store_strip(p, sums, row, degree, strip);
        } else {
            u32 c[bits::STRIP_PLANES], sums[bits::STRIP_PLANES + 1];
            count(c);
            join_halves(c, sums);
            if (row != NO_STRIP_ROW) store_strip(p, sums, row, degree, strip);
        }
        units = next, next = after;
    }
}
}  // namespace bg
