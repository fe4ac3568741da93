// Weights of shortest paths: checked and summed up, and converted to the type that distances are summed in.
#include "common/dtype.cuh"
#include "common/warp.cuh"

namespace bg {
/// The element types, by the codes of the container.
enum WeightType : u32 { BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64 };

/// What the weights are like. The host starts it as { ~0, 0, 0, ~0, 0, 0, 0 }.
struct WeightSummary {
    u64 bad;          // the first position of a negative weight or NaN
    u32 broken;       // a weight is not a whole number below 2^63
    u32 zero;         // a weight is zero
    u64 least;        // bits of the least weight as f64
    u64 greatest;     // bits of the greatest finite weight as f64
    u64 whole;        // the greatest whole weight
    u64 finite;       // finite weights
    f64 sum;          // of the finite weights
};
struct SummaryParams {
    const u8* values;
    WeightSummary* summary;
    u64 count;
    u32 type, pad;
};
struct HeaviestParams {
    const u32* offsets;
    u64* heaviest;  // degree over the complement of the vertex; zeroed before
    u32 nodes, pad;
};
struct ConvertParams {
    const u8* values;
    u8* weights;
    u64 count;
    u32 type;
    u32 target;  // U32, U64, F32 or F64
};

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
template <class T> BG_DEVICE T warp_extreme(T value, bool greatest) {
    for (u32 d = 16; d; d >>= 1) {
        T other = shuffle_xor(value, d);
        value = (other > value) == greatest ? other : value;
    }
    return value;
}
}  // namespace bg

BG_KERNEL(sssp_summary, bg::SummaryParams, 256, 4) {
    using namespace bg;
    u64 bad = ~0ull, whole = 0, finite = 0;
    f64 least = __longlong_as_double(0x7ff0000000000000ll), greatest = 0, sum = 0;
    bool broken = false, zero = false;
    u64 threads = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += threads) {
        u64 integer;
        bool is_whole;
        f64 x = read_weight(p.values, p.type, i, integer, is_whole);
        if (!(x >= 0)) {
            bad = min_of(bad, i);
            continue;
        }
        if (is_whole) whole = max_of(whole, integer);
        else broken = true;
        zero = zero || x == 0;
        if (x - x == 0) {
            least = x < least ? x : least;
            greatest = x > greatest ? x : greatest;
            sum += x;
            finite++;
        }
    }
    bad = warp_extreme(bad, false);
    whole = warp_extreme(whole, true);
    finite = butterfly_sum(finite);
    sum = butterfly_sum(sum);
    // Bits of non-negative floats order like the floats.
    u64 least_bits = warp_extreme((u64)__double_as_longlong(least), false), greatest_bits = warp_extreme((u64)__double_as_longlong(greatest), true);
    broken = bg::any(broken);
    zero = bg::any(zero);
    if (lane() == 0) {
        if (bad != ~0ull) atomicMin(&p.summary->bad, bad);
        if (broken) atomicOr(&p.summary->broken, 1u);
        if (zero) atomicOr(&p.summary->zero, 1u);
        atomicMin(&p.summary->least, least_bits);
        atomicMax(&p.summary->greatest, greatest_bits);
        atomicMax(&p.summary->whole, whole);
        if (finite) {
            atomicAdd(&p.summary->finite, finite);
            atomicAdd(&p.summary->sum, sum);
        }
    }
}

BG_KERNEL(sssp_convert, bg::ConvertParams, 256, 4) {
    using namespace bg;
    u64 threads = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += threads) {
        u64 whole;
        bool is_whole;
        f64 x = read_weight(p.values, p.type, i, whole, is_whole);
        switch (p.target) {
            case U32: ((u32*)p.weights)[i] = (u32)whole; break;
            case U64: ((u64*)p.weights)[i] = whole; break;
            case F32: ((f32*)p.weights)[i] = (f32)x; break;
            default: ((f64*)p.weights)[i] = x; break;
        }
    }
}

BG_KERNEL(sssp_heaviest, bg::HeaviestParams, 256, 4) {
    using namespace bg;
    u64 best = 0;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        best = max_of(best, (u64)(p.offsets[v + 1] - p.offsets[v]) << 32 | (u32)~v);
    }
    best = warp_extreme(best, true);
    if (lane() == 0) atomicMax(p.heaviest, best);
}
