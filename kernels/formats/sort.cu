// Stable radix sort, eight bits a pass, each pass one sweep over the data (Adinets and Merrill, "Onesweep", 2022): a block ranks a piece
// of keys by digit in shared memory, looks back digit by digit for what comes before, and writes runs of equal digits.
//
// Invariant: keys of equal digits keep their order. A launch sorts at most 2^28 keys (a portion), because a status word has 30 bits for
// a count; a portion hands the places of its digits on to the next.
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
constexpr u32 DIGITS = 256;
constexpr u32 SORT_PARTIAL = 1u << 30;
constexpr u32 SORT_COMPLETE = 2u << 30;
constexpr u32 SORT_VALUE = SORT_PARTIAL - 1;

struct SortParams {
    const void* keys;
    void* sorted_keys;
    const void* values;
    void* sorted_values;
    const u32* places;  // where each digit's keys go, from this portion on
    u32* next_places;   // the same after this portion
    u32* state;         // a ticket, and from word DIGITS on a status word for each block and digit, zeroed
    u32 n;              // keys of this portion
    u32 shift;
    u32 mask;           // of the digit, after shifting
    u32 unused;
};
struct SortCountParams {
    const void* keys;
    u32* counts;  // DIGITS for each pass, zeroed
    u64 n;
    u32 first_bit;
    u32 end_bit;
};
struct SortPlaceParams {
    u32* counts;  // in: counts, out: places; a block for each pass
};

struct Nothing {};
template <class K> struct SortShape { static constexpr u32 ITEMS = sizeof(K) == 4 ? 16 : 12; };

template <class K> BG_DEVICE u32 digit_of(K key, u32 shift, u32 mask) { return (u32)(key >> shift) & mask; }

/// How often each digit of each pass occurs.
template <class K> BG_DEVICE void count_digits(const SortCountParams& p) {
    u32* counts = (u32*)shared_memory();
    u32 passes = ceil_div(p.end_bit - p.first_bit, 8u);
    for (u32 i = threadIdx.x; i < passes * DIGITS; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    const K* keys = (const K*)p.keys;
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += step * 4) {
        K some[4];
        for (u32 k = 0; k < 4; k++) some[k] = i + k * step < p.n ? load_stream(keys + i + k * step) : K(0);
        for (u32 pass = 0; pass < passes; pass++) {
            u32 shift = p.first_bit + 8 * pass, bits = min_of(8u, p.end_bit - shift);
            for (u32 k = 0; k < 4; k++) {
                if (i + k * step < p.n) atomicAdd(&counts[pass * DIGITS + digit_of(some[k], shift, (1u << bits) - 1)], 1u);
            }
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < passes * DIGITS; i += blockDim.x) {
        if (counts[i]) atomicAdd(&p.counts[i], counts[i]);
    }
}

/// Exclusive prefix sums over DIGITS words of shared memory, in place, by one warp.
BG_DEVICE void scan_digits(u32* words) {
    u32 own[DIGITS / WARP], sum = 0;
    for (u32 k = 0; k < DIGITS / WARP; k++) {
        own[k] = words[lane() * (DIGITS / WARP) + k];
        sum += own[k];
    }
    u32 before = scan_inclusive(sum) - sum;
    for (u32 k = 0; k < DIGITS / WARP; k++) {
        words[lane() * (DIGITS / WARP) + k] = before;
        before += own[k];
    }
}

template <class K, class V> BG_DEVICE void sort_sweep(const SortParams& p) {
    constexpr u32 ITEMS = SortShape<K>::ITEMS;
    constexpr bool PAIRS = !same_type<V, Nothing>::value;
    u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP, piece = blockDim.x * ITEMS;
    u32* starts = (u32*)shared_memory();      // where a digit's keys start in the piece
    u32* moves = starts + DIGITS;             // from a place in the piece to a place in the result
    u32* word = moves + DIGITS;
    u32* counts = word + 32;                  // of each warp and digit; then what comes before the warp's
    u8* exchange = (u8*)(counts + warps * DIGITS);
    for (u32 i = threadIdx.x; i < warps * DIGITS; i += blockDim.x) counts[i] = 0;
    if (threadIdx.x == 0) *word = atomicAdd(p.state, 1u);
    __syncthreads();
    u32 block = *word, first = block * piece, valid = min_of(piece, p.n - first);

    // A warp's keys in its order: turn by turn, lane by lane. Absent keys have all bits set and come last of all.
    const K* keys = (const K*)p.keys + first + warp * (ITEMS * WARP) + lane();
    u32 own_start = warp * (ITEMS * WARP) + lane();
    K key[ITEMS];
    for (u32 i = 0; i < ITEMS; i++) key[i] = own_start + i * WARP < valid ? load_stream(keys + i * WARP) : ~K(0);
    u32 rank[ITEMS], *own_counts = counts + warp * DIGITS, below = (1u << lane()) - 1;
    for (u32 i = 0; i < ITEMS; i++) {
        u32 digit = digit_of(key[i], p.shift, p.mask);
        u32 equal = match_any(digit);
        u32 before = own_counts[digit];
        warp_sync();
        if ((equal & below) == 0) own_counts[digit] = before + (u32)__popc(equal);
        warp_sync();
        rank[i] = before + (u32)__popc(equal & below);
    }
    __syncthreads();

    u32* status = p.state + DIGITS;
    for (u32 d = threadIdx.x; d < DIGITS; d += blockDim.x) {
        u32 sum = 0;
        for (u32 w = 0; w < warps; w++) {
            u32 count = counts[w * DIGITS + d];
            counts[w * DIGITS + d] = sum;
            sum += count;
        }
        starts[d] = sum;
        moves[d] = d == p.mask ? sum - (piece - valid) : sum;
        store_volatile(status + (u64)block * DIGITS + d, (block == 0 ? SORT_COMPLETE : SORT_PARTIAL) | moves[d]);
    }
    __syncthreads();
    if (warp == 0) scan_digits(starts);
    __syncthreads();
    for (u32 i = 0; i < ITEMS; i++) {
        u32 digit = digit_of(key[i], p.shift, p.mask);
        rank[i] += starts[digit] + own_counts[digit];
        ((K*)exchange)[rank[i]] = key[i];
    }
    for (u32 d = threadIdx.x; d < DIGITS; d += blockDim.x) {
        u32 own = moves[d], before = 0;
        for (u32 b = block; b > 0;) {
            const u32* at = status + (u64)(b - 1) * DIGITS + d;
            u32 seen = load_volatile(at);
            for (u32 turn = 0; seen == 0; turn++) {
                spin_pause(turn);
                seen = load_volatile(at);
            }
            before += seen & SORT_VALUE;
            if (seen >= SORT_COMPLETE) break;
            b--;
        }
        if (block > 0) store_volatile(status + (u64)block * DIGITS + d, SORT_COMPLETE | (before + own));
        u32 place = p.places[d] + before;
        moves[d] = place - starts[d];
        if (block + 1 == gridDim.x) p.next_places[d] = place + own;
    }
    __syncthreads();
    u32 target[ITEMS];
    for (u32 i = 0; i < ITEMS; i++) {
        u32 at = threadIdx.x + i * blockDim.x;
        K moved = ((K*)exchange)[at];
        target[i] = moves[digit_of(moved, p.shift, p.mask)] + at;
        if (at < valid) ((K*)p.sorted_keys)[target[i]] = moved;
    }
    if constexpr (PAIRS) {
        const V* values = (const V*)p.values + first + own_start;
        V value[ITEMS];
        for (u32 i = 0; i < ITEMS; i++) value[i] = own_start + i * WARP < valid ? load_stream(values + i * WARP) : V(0);
        __syncthreads();
        for (u32 i = 0; i < ITEMS; i++) ((V*)exchange)[rank[i]] = value[i];
        __syncthreads();
        for (u32 i = 0; i < ITEMS; i++) {
            u32 at = threadIdx.x + i * blockDim.x;
            if (at < valid) ((V*)p.sorted_values)[target[i]] = ((V*)exchange)[at];
        }
    }
}
}  // namespace bg

BG_KERNEL(sort_count_u32, bg::SortCountParams, 256, 4) { bg::count_digits<u32>(p); }
BG_KERNEL(sort_count_u64, bg::SortCountParams, 256, 4) { bg::count_digits<u64>(p); }
BG_KERNEL(sort_places, bg::SortPlaceParams, 32, 1) {
    u32* words = (u32*)shared_memory();
    u32* counts = p.counts + blockIdx.x * bg::DIGITS;
    for (u32 i = threadIdx.x; i < bg::DIGITS; i += blockDim.x) words[i] = counts[i];
    __syncthreads();
    if (threadIdx.x < bg::WARP) bg::scan_digits(words);
    __syncthreads();
    for (u32 i = threadIdx.x; i < bg::DIGITS; i += blockDim.x) counts[i] = words[i];
}
BG_KERNEL(sort_sweep_u32, bg::SortParams, 256, 4) { bg::sort_sweep<u32, bg::Nothing>(p); }
BG_KERNEL(sort_sweep_u32_u32, bg::SortParams, 256, 3) { bg::sort_sweep<u32, u32>(p); }
BG_KERNEL(sort_sweep_u32_u64, bg::SortParams, 256, 3) { bg::sort_sweep<u32, u64>(p); }
BG_KERNEL(sort_sweep_u64, bg::SortParams, 256, 3) { bg::sort_sweep<u64, bg::Nothing>(p); }
BG_KERNEL(sort_sweep_u64_u32, bg::SortParams, 256, 3) { bg::sort_sweep<u64, u32>(p); }
BG_KERNEL(sort_sweep_u64_u64, bg::SortParams, 256, 3) { bg::sort_sweep<u64, u64>(p); }
