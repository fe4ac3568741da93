// Matrices of few bits in general: packing of any element type, values of codes, dense products of codes, and sums of codes over the entries of
// a sparse matrix, each with any steps, any epilogue and any kind of result. For what the forms of bits_pack, bits_product and bits_aggregate lack.
//
// A warp has 32 columns of a row of a result, a lane each, so that a plane of their codes is one vote.
#pragma once
#include "common/warp.cuh"
#include "tensor/epilogue.cuh"
#include "tensor/types.cuh"

namespace bg {
/// What has a step of its own.
enum BitsStepsOf : u32 { STEPS_ONE = 0, STEPS_ROWS = 1, STEPS_COLUMNS = 2 };

/// What codes stand for: scale (code - zero).
struct BitsSteps {
    const f32* scales;
    const f32* zeros;
    u64 scale_stride;  // elements from a step to the next
    u64 zero_stride;
    f32 scale, zero;   // of all codes, where they share a step
    u32 of;            // BitsStepsOf
    u32 signs;         // whether these are signs, whose values are the scale and its negative; their zero point is a half
};
/// A matrix of codes: planes of lines of words, as crates/bitgraph-bittensor lays them out.
struct BitsCodes {
    const u32* words;
    BitsSteps steps;
    u64 plane;         // words of a plane
    u32 stride;        // words of a line
    u32 planes;
    u32 columns;       // whether lines are columns
    u32 reserved;
};

/// What a result is stored as.
enum BitsStored : u32 { STORED_ELEMENTS = 0, STORED_SIGNS = 1, STORED_LEVELS = 2 };
/// Elements, or lines of words along rows.
struct BitsTarget {
    TensorOut elements;
    u32* words;
    u64 plane;
    u32 stride;
    u32 planes;
    u32 stored;        // BitsStored
    u32 reserved;
};

BG_DEVICE f32 step_scale(const BitsSteps& s, u64 row, u64 column) {
    return s.of == STEPS_ONE ? s.scale : load_readonly(s.scales + (s.of == STEPS_ROWS ? row : column) * s.scale_stride);
}
BG_DEVICE f32 step_zero(const BitsSteps& s, u64 row, u64 column) {
    if (s.signs) return 0.5f;
    return s.of == STEPS_ONE ? s.zero : load_readonly(s.zeros + (s.of == STEPS_ROWS ? row : column) * s.zero_stride);
}
/// Scale and zero point in terms of codes, those of signs too: twice their scale, around a half.
BG_DEVICE f64 code_scale(const BitsSteps& s, u64 row, u64 column) { return (f64)step_scale(s, row, column) * (s.signs ? 2.0 : 1.0); }
BG_DEVICE f64 code_zero(const BitsSteps& s, u64 row, u64 column) { return (f64)step_zero(s, row, column); }

BG_DEVICE u32 code_at(const BitsCodes& x, u64 row, u64 column) {
    const u64 line = x.columns ? column : row, bit = x.columns ? row : column, at = line * x.stride + bit / 32;
    u32 code = 0;
    for (u32 p = 0; p < x.planes; p++) code |= (load_readonly(x.words + p * x.plane + at) >> (bit & 31u) & 1u) << p;
    return code;
}
BG_DEVICE f32 value_at(const BitsCodes& x, u64 row, u64 column) {
    const u32 code = code_at(x, row, column);
    const f32 scale = step_scale(x.steps, row, column);
    if (x.steps.signs) return code ? scale : -scale;
    return scale * ((f32)code - step_zero(x.steps, row, column));
}

/// Stores a code of each lane as bit `lane()` of a word of every plane. Lanes beyond the matrix have code 0.
BG_DEVICE void store_codes(u32* words, u64 plane, u32 planes, u64 at, u32 code) {
    for (u32 p = 0; p < planes; p++) {
        const u32 word = ballot((code >> p & 1u) != 0);
        if (lane() == 0) words[p * plane + at] = word;
    }
}
/// Stores what the lanes of a warp have of a row: `x` went through the epilogue.
BG_DEVICE void store_result(const BitsTarget& y, u64 row, u32 word, u32 columns, f32 x) {
    const u32 column = word * WARP + lane();
    const bool within = column < columns;
    if (y.stored == STORED_ELEMENTS) {
        if (within) store_as(y.elements, row, column, x);
        return;
    }
    const u32 code = !within ? 0u : y.stored == STORED_SIGNS ? (u32)(x > 0.0f) : (u32)x;
    store_codes(y.words, y.plane, y.planes, row * y.stride + word, code);
}
/// A value through the epilogue, and stored.
BG_DEVICE void store_finished(const BitsTarget& y, const TensorEpilogue& epilogue, u64 row, u32 word, u32 columns, f32 value) {
    const u32 column = word * WARP + lane();
    f32 x[1] = {value};
    if (column < columns) finish(epilogue, row, OneColumn{column}, x);
    store_result(y, row, word, columns, x[0]);
}

/// What a code is made of.
enum BitsCoding : u32 { CODE_SIGN = 0, CODE_STEP = 1, CODE_POSITIVE = 2, CODE_LEVEL = 3 };

struct BitsPackGeneral {
    TensorView x;
    BitsSteps steps;
    const f32* thresholds;  // for each column; null: 0
    u32* words;
    u64 plane;
    u64 rows;
    u32 columns;
    u32 stride;
    u32 planes;
    u32 lines_are_columns;
    u32 coding;             // BitsCoding
    u32 floor;              // whether positions are rounded down
    u32 used;               // words of a line that hold elements
    u32 reserved;
    TensorEpilogue epilogue;  // of elements that become signs or levels, in lines of rows
};
BG_DEVICE u32 code_of(const BitsPackGeneral& p, f32 x, u64 row, u64 column) {
    if (p.coding == CODE_SIGN) return x >= (p.thresholds ? load_readonly(p.thresholds + column) : 0.0f);
    if (p.coding == CODE_POSITIVE) return x > 0.0f;
    if (p.coding == CODE_LEVEL) return (u32)x;
    const f32 top = (f32)((1u << p.planes) - 1), position = x / step_scale(p.steps, row, column) + step_zero(p.steps, row, column);
    // What is no number has code 0.
    const f32 inside = position > 0.0f ? (position < top ? position : top) : 0.0f;
    return (u32)(p.floor ? inside : inside + 0.5f);
}
/// A warp for each word of a line.
BG_DEVICE void bits_pack_any(const BitsPackGeneral& p) {
    const u64 lines = p.lines_are_columns ? p.columns : p.rows, warps = (u64)gridDim.x * (blockDim.x / WARP);
    for (u64 at = (u64)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; at < lines * p.used; at += warps) {
        const u64 line = at / p.used, word = at % p.used, bit = word * WARP + lane();
        const u64 row = p.lines_are_columns ? bit : line, column = p.lines_are_columns ? line : bit;
        const bool within = row < p.rows && column < p.columns;
        u32 code = 0;
        if (within) {
            f32 x[1] = {load_as<f32>(p.x, row, column)};
            finish(p.epilogue, row, OneColumn{(u32)column}, x);
            code = code_of(p, x[0], row, column);
        }
        store_codes(p.words, p.plane, p.planes, line * p.stride + word, code);
    }
}

struct BitsUnpackGeneral {
    BitsCodes x;
    TensorOut y;
    u64 rows;
    u32 columns;
    u32 reserved;
};
BG_DEVICE void bits_unpack_any(const BitsUnpackGeneral& p) {
    const u64 all = p.rows * p.columns, step = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < all; at += step) {
        const u64 row = at / p.columns, column = at % p.columns;
        store_as(p.y, row, column, value_at(p.x, row, column));
    }
}

struct BitsMeansGeneral {
    TensorView x;
    TensorOut means;  // of one column
    u64 rows;
    u32 columns;
    u32 reserved;
};
/// The mean magnitude of each row, by a warp, in f64.
BG_DEVICE void bits_means_any(const BitsMeansGeneral& p) {
    const u64 warps = (u64)gridDim.x * (blockDim.x / WARP);
    for (u64 row = (u64)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; row < p.rows; row += warps) {
        f64 sum = 0;
        for (u32 column = lane(); column < p.columns; column += WARP) {
            const f64 x = load_as<f64>(p.x, row, column);
            sum += x < 0 ? -x : x;
        }
        sum = butterfly_sum(sum);
        if (lane() == 0) store_as(p.means, row, 0, p.columns ? sum / (f64)p.columns : 0.0);
    }
}

struct BitsLineSums {
    const u32* words;
    i64* sums;
    u64 plane;
    u64 lines;
    u32 stride;
    u32 planes;
    u32 used;
    u32 reserved;
};
/// The sum of the codes of each line, by a warp.
BG_DEVICE void bits_line_sums_any(const BitsLineSums& p) {
    const u64 warps = (u64)gridDim.x * (blockDim.x / WARP);
    for (u64 line = (u64)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; line < p.lines; line += warps) {
        i64 sum = 0;
        for (u32 q = 0; q < p.planes; q++) {
            const u32* words = p.words + q * p.plane + line * p.stride;
            for (u32 w = lane(); w < p.used; w += WARP) sum += (i64)__popc(load_readonly(words + w)) << q;
        }
        sum = butterfly_sum(sum);
        if (lane() == 0) p.sums[line] = sum;
    }
}

struct BitsGemmGeneral {
    BitsCodes a;           // lines are rows
    BitsCodes b;           // lines are columns
    BitsTarget y;
    const i32* products;   // rows x columns: the sums of products of codes; null: they are found here
    const i64* sums_a;     // of the codes of each line; null where the other side's zero points are 0
    const i64* sums_b;
    u64 rows;
    u64 length;
    u32 columns;
    u32 used;              // words of a line that hold elements
    u32 tiles;             // words of a row of the result
    u32 whole;             // whether results are whole numbers that wrap, stored as they are
    TensorEpilogue epilogue;
};
/// The sum of the products of the codes of two lines: ones of ANDs, weighted by both planes.
BG_DEVICE i64 product_of_lines(const BitsGemmGeneral& p, u64 row, u64 column) {
    i64 sum = 0;
    for (u32 q = 0; q < p.a.planes; q++) {
        const u32* a = p.a.words + q * p.a.plane + row * p.a.stride;
        for (u32 r = 0; r < p.b.planes; r++) {
            const u32* b = p.b.words + r * p.b.plane + column * p.b.stride;
            u64 ones = 0;
            for (u32 w = 0; w < p.used; w++) ones += (u32)__popc(load_readonly(a + w) & load_readonly(b + w));
            sum += (i64)(ones << (q + r));
        }
    }
    return sum;
}
BG_DEVICE void bits_gemm_any(const BitsGemmGeneral& p) {
    const u64 all = p.rows * p.tiles, warps = (u64)gridDim.x * (blockDim.x / WARP);
    for (u64 at = (u64)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; at < all; at += warps) {
        const u64 row = at / p.tiles;
        const u32 word = (u32)(at % p.tiles), column = word * WARP + lane();
        const bool within = column < p.columns;
        i64 sum = 0, sum_a = 0, sum_b = 0;
        if (within) {
            sum = p.products ? (i64)load_readonly(p.products + row * p.columns + column) : product_of_lines(p, row, column);
            sum_a = p.sums_a ? load_readonly(p.sums_a + row) : 0;
            sum_b = p.sums_b ? load_readonly(p.sums_b + column) : 0;
        }
        if (p.whole) {
            // Codes that stand for themselves, and signs as 2 code - 1. Sums below 2^63 wrap as i32.
            const i64 by_a = p.a.steps.signs ? 2 : 1, by_b = p.b.steps.signs ? 2 : 1, less_a = by_a - 1, less_b = by_b - 1;
            const i64 number = by_a * by_b * sum + less_a * less_b * (i64)p.length - by_a * less_b * sum_a - less_a * by_b * sum_b;
            if (within) store_as(p.y.elements, row, column, (i32)number);
            continue;
        }
        f64 value = 0;
        if (within) {
            const f64 zero_a = code_zero(p.a.steps, row, 0), zero_b = code_zero(p.b.steps, 0, column);
            const f64 codes = (f64)sum - zero_b * (f64)sum_a - zero_a * (f64)sum_b + (f64)p.length * zero_a * zero_b;
            value = code_scale(p.a.steps, row, 0) * code_scale(p.b.steps, 0, column) * codes;
        }
        store_finished(p.y, p.epilogue, row, word, p.columns, (f32)value);
    }
}

/// What sums over entries become.
enum BitsSumsAs : u32 { SUMS_REAL = 0, SUMS_WHOLE = 1, SUMS_COUNTS = 2 };

struct BitsSpmmGeneral {
    BitsCodes x;           // lines are rows
    BitsTarget y;
    const void* offsets;
    const u32* indices;
    TensorView row_scale;
    u64 rows;
    u32 columns;
    u32 tiles;             // words of a row of the result
    u32 wide;              // offsets of 64 bits
    u32 own;               // whether every row has one more entry, its own
    u32 sums_as;           // BitsSumsAs
    u32 share;             // warps that share a row's entries: one, or all of a block
    TensorEpilogue epilogue;
};
/// The code of a lane's column in a row of the features.
BG_DEVICE u64 code_of_row(const BitsCodes& x, u64 row, u32 word) {
    const u32* words = x.words + row * x.stride + word;
    u32 code = 0;
    for (u32 p = 0; p < x.planes; p++) code |= (load_readonly(words + p * x.plane) >> lane() & 1u) << p;
    return code;
}
BG_DEVICE void bits_spmm_any(const BitsSpmmGeneral& p) {
    u64* shared = (u64*)shared_memory();
    const u32 in_block = blockDim.x / WARP, units = in_block / p.share, part = threadIdx.x / WARP % p.share;
    const u64 all = p.rows * p.tiles, step = (u64)gridDim.x * units;
    // All warps that share a unit take the same turns.
    for (u64 at = (u64)blockIdx.x * units + threadIdx.x / WARP / p.share; at < all; at += step) {
        const u64 row = at / p.tiles;
        const u32 word = (u32)(at % p.tiles), column = word * WARP + lane();
        const u64 begin = p.wide ? load_readonly((const u64*)p.offsets + row) : load_readonly((const u32*)p.offsets + row);
        const u64 end = p.wide ? load_readonly((const u64*)p.offsets + row + 1) : load_readonly((const u32*)p.offsets + row + 1);
        u64 sum = 0;
        for (u64 k = begin + part; k < end; k += p.share) sum += code_of_row(p.x, load_readonly(p.indices + k), word);
        if (p.own && part == 0) sum += code_of_row(p.x, row, word);
        if (p.share > 1) {
            shared[threadIdx.x] = sum;
            __syncthreads();
            if (part == 0) {
                for (u32 other = 1; other < p.share; other++) sum += shared[threadIdx.x + other * WARP];
            }
            __syncthreads();
            if (part != 0) continue;
        }
        const u64 messages = end - begin + p.own;
        const bool within = column < p.columns;
        if (p.sums_as == SUMS_COUNTS) {
            store_codes(p.y.words, p.y.plane, p.y.planes, row * p.y.stride + word, within ? (u32)sum : 0u);
            continue;
        }
        if (p.sums_as == SUMS_WHOLE) {
            const i64 number = p.x.steps.signs ? 2 * (i64)sum - (i64)messages : (i64)sum;
            if (within) store_as(p.y.elements, row, column, (i32)number);
            continue;
        }
        f32 value = 0;
        if (within) {
            value = (f32)(code_scale(p.x.steps, row, column) * ((f64)sum - (f64)messages * code_zero(p.x.steps, row, column)));
            value *= scale_of<f32>(p.row_scale, row);
        }
        store_finished(p.y, p.epilogue, row, word, p.columns, value);
    }
}

struct BitsFold {
    i32* thresholds;       // for each column: the smallest number whose sign is the other one than that of `lowest`
    u32* flips;            // words of columns whose sign is +1 below that
    i32 lowest, highest;   // numbers that there can be, and 0 lies between
    u32 columns;
    u32 words;             // of a line
    TensorEpilogue epilogue;
};
BG_DEVICE bool is_positive(const TensorEpilogue& epilogue, u32 column, i32 number) {
    f32 x[1] = {(f32)number};
    finish(epilogue, 0, OneColumn{column}, x);
    return x[0] > 0.0f;
}
/// An epilogue that ends in a sign, and rises or falls with what goes into it, as a threshold of whole numbers: by halving, a lane for each
/// column. No rounding is left to differ, since the epilogue itself is asked.
BG_DEVICE void bits_fold_any(const BitsFold& p) {
    const u32 warps = gridDim.x * (blockDim.x / WARP);
    for (u32 word = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; word < p.words; word += warps) {
        const u32 column = word * WARP + lane();
        bool turned = false;
        if (column < p.columns) {
            // The ends first; then `low` has the sign of the first, `high` that of the last.
            bool first = false, last = false;
            i32 low = p.lowest, high = p.highest;
#pragma unroll 1
            for (u32 turn = 0; turn < 2 || (first != last && high - low > 1); turn++) {
                const i32 at = turn == 0 ? low : turn == 1 ? high : low + (high - low) / 2;
                const bool found = is_positive(p.epilogue, column, at);
                if (turn == 0) first = found;
                else if (turn == 1) last = found;
                else if (found == first) low = at;
                else high = at;
            }
            turned = first && !last;
            p.thresholds[column] = first != last ? high : first ? p.lowest : p.highest + 1;
        }
        const u32 flips = ballot(turned);
        if (lane() == 0) p.flips[word] = flips;
    }
}
}  // namespace bg
