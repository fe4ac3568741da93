// Types of shortest paths: weights checked and summed up, and converted to the type that distances are summed in; distances converted to the
// type that is asked for.
#include "common/dtype.cuh"
#include "common/warp.cuh"

namespace bg {
/// The element types, by the codes of the container.
enum WeightType : u32 { BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64 };

/// What the weights are like; zeroed before.
struct WeightSummary {
    u64 bad;          // the complement of the first position of a negative weight or NaN
    u64 broken;       // a weight is not a whole number below 2^63
    u64 whole;        // the largest whole weight
    u64 finite;       // finite weights
    f64 sum;          // of the finite weights

    BG_DEVICE void add(const WeightSummary& other) {
        if (other.bad) atomicMax(&bad, other.bad);
        if (other.broken) broken = 1;
        if (other.whole) atomicMax(&whole, other.whole);
        if (other.finite) {
            atomicAdd(&finite, other.finite);
            atomicAdd(&sum, other.sum);
        }
    }
};
struct SummaryParams {
    const u8* values;
    WeightSummary* summary;
    u64 count;
    u32 dtype, pad;
};
struct MaxDegreeParams {
    const u32* offsets;
    u64* max_degree;  // degree over the complement of the vertex; zeroed before
    u32 nodes, pad;
};
struct ConvertParams {
    const u8* values;
    u8* weights;
    u64 count;
    u32 dtype;
    u32 target;  // U32, U64, F32 or F64
};

struct ResultParams {
    const u8* distances;
    u8* results;
    u32* lost;     // set if a distance does not fit; null: all fit
    u32 nodes;
    u32 native;    // U32, U64, F32 or F64
    u32 dtype;     // these, I32 or I64; a float type if the other is one
    u32 target;    // farther vertices count as not reached; all bits set: none
};

/// The distance of a vertex, whole or real; false if it is the largest value of its type, which means "not reached".
BG_DEVICE bool read_distance(const u8* distances, u32 type, u64 v, u64& whole, f64& real) {
    switch (type) {
        case U32: whole = ((const u32*)distances)[v]; return (u32)whole != 0xffffffffu;
        case U64: whole = ((const u64*)distances)[v]; return whole != ~0ull;
        case F32: real = (f64)((const f32*)distances)[v]; break;
        default: real = ((const f64*)distances)[v]; break;
    }
    return real - real == 0;
}
/// Whole numbers below the largest value of their type, which unreached vertices get; whether one does not fit.
template <class T> BG_DEVICE bool write_whole(u8* results, u64 v, bool reached, u64 whole, T largest) {
    ((T*)results)[v] = reached ? (T)whole : largest;
    return reached && whole >= (u64)largest;
}

/// A weight as f64 (rounded beyond 53 bits) and, where it is whole, as u64.
BG_DEVICE f64 read_weight(const u8* values, u32 type, u64 i, u64& whole, bool& is_whole) {
    f64 x = 0;
    i64 integer = 0;
    switch (type) {
        case BOOL: integer = values[i] != 0; break;
        case U8: integer = values[i]; break;
        case I8: integer = ((const i8*)values)[i]; break;
        case I16: integer = ((const i16*)values)[i]; break;
        case I32: integer = ((const i32*)values)[i]; break;
        case I64: integer = ((const i64*)values)[i]; break;
        case U16: integer = ((const u16*)values)[i]; break;
        case U32: integer = ((const u32*)values)[i]; break;
        case U64:
            whole = ((const u64*)values)[i];
            is_whole = true;
            return (f64)whole;
        default:
            x = type == F64 ? ((const f64*)values)[i]
                            : (f64)(type == F32   ? ((const f32*)values)[i]
                                    : type == F16 ? half_to_float(((const u16*)values)[i])
                                                  : __uint_as_float((u32)((const u16*)values)[i] << 16));
            is_whole = x >= 0 && x < 9223372036854775808.0 && (f64)(u64)x == x;
            whole = is_whole ? (u64)x : 0;
            return x;
    }
    is_whole = true;
    whole = integer < 0 ? 0 : (u64)integer;
    return (f64)integer;
}
BG_DEVICE u64 warp_max(u64 value) {
    for (u32 d = 16; d; d >>= 1) value = max_of(value, shuffle_xor(value, d));
    return value;
}
}  // namespace bg

BG_KERNEL(sssp_summary, bg::SummaryParams, 256, 4) {
    using namespace bg;
    WeightSummary* block = (WeightSummary*)shared_memory();
    if (threadIdx.x == 0) *block = WeightSummary{};
    __syncthreads();
    WeightSummary own{};
    bool broken = false;
    u64 threads = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += threads) {
        u64 integer;
        bool is_whole;
        f64 x = read_weight(p.values, p.dtype, i, integer, is_whole);
        if (!(x >= 0)) {
            own.bad = max_of(own.bad, ~i);
            continue;
        }
        if (is_whole) own.whole = max_of(own.whole, integer);
        else broken = true;
        if (x - x == 0) {
            own.sum += x;
            own.finite++;
        }
    }
    own = WeightSummary{warp_max(own.bad), (u64)bg::any(broken), warp_max(own.whole), butterfly_sum(own.finite), butterfly_sum(own.sum)};
    if (lane() == 0) block->add(own);
    __syncthreads();
    if (threadIdx.x == 0) p.summary->add(*block);
}

BG_KERNEL(sssp_convert, bg::ConvertParams, 256, 4) {
    using namespace bg;
    u64 threads = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += threads) {
        u64 whole;
        bool is_whole;
        f64 x = read_weight(p.values, p.dtype, i, whole, is_whole);
        switch (p.target) {
            case U32: ((u32*)p.weights)[i] = (u32)whole; break;
            case U64: ((u64*)p.weights)[i] = whole; break;
            case F32: ((f32*)p.weights)[i] = (f32)x; break;
            default: ((f64*)p.weights)[i] = x; break;
        }
    }
}

BG_KERNEL(sssp_max_degree, bg::MaxDegreeParams, 256, 4) {
    using namespace bg;
    u64 best = 0;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        best = max_of(best, (u64)(p.offsets[v + 1] - p.offsets[v]) << 32 | (u32)~v);
    }
    best = warp_max(best);
    if (lane() == 0 && best > load_volatile(p.max_degree)) atomicMax(p.max_degree, best);
}

BG_KERNEL(sssp_result, bg::ResultParams, 256, 4) {
    using namespace bg;
    const bool real = p.native == F32 || p.native == F64;
    const f64 infinite = __longlong_as_double(0x7ff0000000000000ll);
    u64 end = ~0ull;
    f64 real_end = infinite;
    if (p.target != 0xffffffffu && !read_distance(p.distances, p.native, p.target, end, real_end)) end = ~0ull, real_end = infinite;
    bool lost = false;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        u64 whole = 0;
        f64 x = 0;
        bool reached = read_distance(p.distances, p.native, v, whole, x) && (real ? x <= real_end : whole <= end);
        switch (p.dtype) {
            case U32: lost |= write_whole<u32>(p.results, v, reached, whole, 0xffffffffu); break;
            case U64: lost |= write_whole<u64>(p.results, v, reached, whole, ~0ull); break;
            case I32: lost |= write_whole<i32>(p.results, v, reached, whole, 0x7fffffff); break;
            case I64: lost |= write_whole<i64>(p.results, v, reached, whole, 0x7fffffffffffffffll); break;
            case F32: ((f32*)p.results)[v] = !reached ? (f32)infinite : real ? (f32)x : (f32)whole; break;
            default: ((f64*)p.results)[v] = !reached ? infinite : real ? x : (f64)whole; break;
        }
    }
    if (lost && p.lost) *p.lost = 1;
}
