// What a graph looks like, measured in a few passes: distances of entries from the diagonal, degree statistics, sampled rows.
// All results go to one array of 64-bit words, read back once.
#include "formats/rows.cuh"
#include "tuning/formats.cuh"

namespace bg {
struct DistanceParams {
    RowOffsets offsets;
    const u32* indices;
    u64 nnz;
    u64* output;  // sum, largest, then 33 counts by the bits of the distance; zeroed
};
struct DegreeParams {
    const u32* sorted;  // degrees, ascending
    u64* output;        // see below; zeroed
    u32 n;
    u32 ranks[6];
    u32 top;            // rows whose entries are summed: the last ones
};
enum DegreeResult { DEGREE_SQUARES, DEGREE_TOP, DEGREE_EMPTY, DEGREE_MIN, DEGREE_MOST, DEGREE_RANKS };
struct SampleParams {
    RowOffsets offsets;
    const u32* indices;
    const u32* rows;
    u64* output;  // for each: entries, and bit rows of tiles of 4, 8, 16, 32
    u32 n;
    u32 unused;
};
}  // namespace bg
using namespace bg;

BG_KERNEL(profile_distances, DistanceParams, 256, 4) {
    u32* counts = (u32*)shared_memory();
    void* rest = shared_memory() + 48 * 4;
    for (u32 i = threadIdx.x; i < 33; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    u64 sum = 0, piece = blockDim.x * DISTANCE_ITEMS;
    u32 most = 0;
    for (u64 start = blockIdx.x * piece; start < p.nnz; start += gridDim.x * piece) {
        u32 row[DISTANCE_ITEMS];
        entry_rows<DISTANCE_ITEMS>(p.offsets, p.nnz, start, row, rest);
        for (u32 i = 0; i < DISTANCE_ITEMS; i++) {
            u64 k = start + threadIdx.x / WARP * (DISTANCE_ITEMS * WARP) + i * WARP + lane();
            u32 column = k < p.nnz ? load_stream(p.indices + k) : row[i], distance = column < row[i] ? row[i] - column : column - row[i];
            sum += distance;
            most = max_of(most, distance);
            // Most entries of a warp are in the same few bins.
            u32 bin = k < p.nnz ? 32u - (u32)__clz(distance) : 40u, equal = match_any(bin);
            if (bin < 40 && lane() == (u32)__ffs(equal) - 1) atomicAdd(&counts[bin], (u32)__popc(equal));
        }
    }
    sum = butterfly_sum(sum);
    most = warp_max(most);
    if (lane() == 0) {
        atomicAdd(p.output, sum);
        atomicMax(p.output + 1, (u64)most);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < 33; i += blockDim.x) {
        if (counts[i]) atomicAdd(p.output + 2 + i, (u64)counts[i]);
    }
}

BG_KERNEL(profile_degrees, DegreeParams, 256, 4) {
    u64 squares = 0, top = 0;
    u32 empty = 0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += (u64)gridDim.x * blockDim.x) {
        u64 degree = p.sorted[i];
        squares += degree * degree;
        if (i >= p.n - p.top) top += degree;
        empty += degree == 0;
    }
    squares = butterfly_sum(squares);
    top = butterfly_sum(top);
    empty = warp_sum(empty);
    if (lane() == 0) {
        atomicAdd(p.output + DEGREE_SQUARES, squares);
        atomicAdd(p.output + DEGREE_TOP, top);
        atomicAdd(p.output + DEGREE_EMPTY, (u64)empty);
    }
    if (blockIdx.x == 0 && threadIdx.x < 6) p.output[DEGREE_RANKS + threadIdx.x] = p.sorted[p.ranks[threadIdx.x]];
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        p.output[DEGREE_MIN] = p.sorted[0];
        p.output[DEGREE_MOST] = p.sorted[p.n - 1];
    }
}

BG_KERNEL(profile_sample, SampleParams, 256, 4) {
    u32 at = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    u32 row = at < p.n ? p.rows[at] : 0;
    u64 low = at < p.n ? p.offsets.at(row) : 0, high = at < p.n ? p.offsets.at((u64)row + 1) : 0;
    u32 starts[4] = {0, 0, 0, 0};
    for (u64 k = low + lane(); k < high; k += WARP) {
        u32 column = load_readonly(p.indices + k), before = k > low ? load_readonly(p.indices + k - 1) : 0;
        // A bit row starts where the tile column changes.
        for (u32 i = 0; i < 4; i++) starts[i] += k == low || column >> (i + 2) != before >> (i + 2);
    }
    for (u32 i = 0; i < 4; i++) starts[i] = warp_sum(starts[i]);
    if (at >= p.n) return;
    u64* out = p.output + (u64)at * 5;
    if (lane() == 0) out[0] = high - low;
    if (lane() < 4) out[1 + lane()] = starts[lane()];
}
