// Exclusive prefix sums of u32 values, one pass over the data: each block scans a piece and looks back for what comes before it.
//
// Invariant: output[i] is the sum of the inputs before i, output[n] the sum of all; input and output may be the same array.
#include "formats/lookback.cuh"
#include "tuning/formats.cuh"

namespace bg {
struct ScanParams {
    const u32* input;
    void* output;  // n + 1 sums
    u64* state;    // a ticket and one status word for each block, zeroed
    u64 n;
};

/// Elements of a warp: in each round four neighbours for each lane.
constexpr u32 SCAN_WARP = SCAN_ROUNDS * 4 * WARP;

BG_DEVICE void store4(u32* out, const u32 (&v)[4]) { *(uint4*)out = make_uint4(v[0], v[1], v[2], v[3]); }
BG_DEVICE void store4(u64* out, const u64 (&v)[4]) {
    ((ulonglong2*)out)[0] = make_ulonglong2(v[0], v[1]);
    ((ulonglong2*)out)[1] = make_ulonglong2(v[2], v[3]);
}

template <class T> BG_DEVICE void scan(const ScanParams& p) {
    T* scratch = (T*)shared_memory();          // 33 sums of the block scan
    T* prefix = scratch + 33;                  // what comes before this block
    u32* word = (u32*)(scratch + 34);
    u32 block = take_ticket((u32*)p.state, word);
    T* output = (T*)p.output;
    u64 start = (u64)block * (blockDim.x / WARP * SCAN_WARP) + threadIdx.x / WARP * SCAN_WARP + lane() * 4;
    u32 values[SCAN_ROUNDS][4];
    bool whole = start + SCAN_WARP <= p.n;
    u64 first = start - lane() * 4;  // of the warp
    for (u32 r = 0; r < SCAN_ROUNDS; r++) {
        u64 at = start + r * 4 * WARP;
        if (whole) {
            uint4 v = *(const uint4*)(p.input + at);
            values[r][0] = v.x, values[r][1] = v.y, values[r][2] = v.z, values[r][3] = v.w;
        } else {
            for (u32 k = 0; k < 4; k++) values[r][k] = at + k < p.n ? p.input[at + k] : 0;
        }
    }
    // What comes before each round's four, within the warp.
    T before[SCAN_ROUNDS], sum = 0;
    for (u32 r = 0; r < SCAN_ROUNDS; r++) {
        if (first + r * 4 * WARP >= p.n) break;
        T own = (T)values[r][0] + values[r][1] + values[r][2] + values[r][3];
        T inclusive = scan_inclusive(own);
        before[r] = sum + inclusive - own;
        sum += shuffle(inclusive, WARP - 1);
    }
    T total;
    // Each warp counts once, in its first lane; the others take that lane's place in the block.
    T within = block_scan_exclusive(lane() == 0 ? sum : T(0), scratch, total);
    within = shuffle(within, 0);
    if (threadIdx.x < WARP) {
        T found = (T)look_back(p.state + 1, block, total);
        if (threadIdx.x == 0) {
            *prefix = found;
            u64 end = (u64)(block + 1) * (blockDim.x / WARP * SCAN_WARP);
            if (end >= p.n && end - blockDim.x / WARP * SCAN_WARP <= p.n && block + 1 == gridDim.x) output[p.n] = found + total;
        }
    }
    __syncthreads();
    within += *prefix;
    for (u32 r = 0; r < SCAN_ROUNDS; r++) {
        if (first + r * 4 * WARP >= p.n) break;
        u64 at = start + r * 4 * WARP;
        T sums[4];
        sums[0] = within + before[r];
        for (u32 k = 1; k < 4; k++) sums[k] = sums[k - 1] + values[r][k - 1];
        if (whole) {
            store4(output + at, sums);
        } else {
            for (u32 k = 0; k < 4; k++) {
                if (at + k < p.n) output[at + k] = sums[k];
            }
        }
    }
}
}  // namespace bg

BG_KERNEL(scan_u32, bg::ScanParams, 256, 4) { bg::scan<u32>(p); }
BG_KERNEL(scan_u64, bg::ScanParams, 256, 3) { bg::scan<u64>(p); }
