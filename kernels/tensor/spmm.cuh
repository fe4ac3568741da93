// What all forms of products of a sparse matrix with dense features share: row i of the result is r(i) times the sum over the entries (i, j)
// of e(i, j) c(j) x(j), plus a matrix and a bias, and then a threshold at zero. Sums are of f32 in a fixed order.
#pragma once
#include "common/dtype.cuh"
#include "common/warp.cuh"
#include "tuning/spmm.cuh"

namespace bg {
struct SpmmOperands {
    const void* features;        // matrix columns x columns
    void* output;                // rows x columns
    const void* values;          // one for each entry, in CSR order; null: 1
    const f32* scale_columns;    // c, one for each column of the matrix; null: 1
    const f32* scale_rows;       // r, one for each row; null: 1
    const f32* bias;             // one for each column of the features; null: 0
    const void* addend;          // rows x columns, added before the bias; null: 0
    const f32* addend_scale;     // what the addend is multiplied by, one for each column of the features; null: 1
    const f32* exact;            // where the features are rounded copies: what they are of, as f32, without the scales of columns
    const f32* unscale;          // of rounded copies: what takes back the power of two that they were multiplied by
    u32 columns;                 // of the features
    u32 narrow_values;           // whether values are of the features' type, and not f32
    u32 wide_output;             // whether the output is f32, and not of the features' type
    u32 mean;                    // whether r is divided by the number of entries of the row
    u32 relu;
    u32 narrow_addend;           // whether the addend is of the features' type, and not f32
    u32 bare;                    // whether nothing follows the sums: no scales of rows, mean, addend, bias or threshold
    u32 unused;
};

/// Elements of T that a lane loads at once: 16 bytes.
template <class T> struct PerLane { static constexpr u32 value = 16 / sizeof(T); };

/// 16 bytes of features, or one element in the lowest bits of `x`.
template <class T, u32 VECTOR> BG_DEVICE uint4 load_raw(const T* p) {
    if constexpr (VECTOR > 1) return load_readonly((const uint4*)p);
    else if constexpr (sizeof(T) == 4) return make_uint4(load_readonly((const u32*)p), 0, 0, 0);
    else return make_uint4(load_readonly((const u16*)p), 0, 0, 0);
}
/// Elements 2 i and 2 i + 1 of a word of halves.
template <class T> BG_DEVICE f32 low_half(u32 word) {
    if constexpr (same_type<T, bf16>::value) return __uint_as_float(word << 16);
    else return widen(T{(u16)word});
}
template <class T> BG_DEVICE f32 high_half(u32 word) {
    if constexpr (same_type<T, bf16>::value) return __uint_as_float(word & 0xffff0000u);
    else return widen(T{(u16)(word >> 16)});
}
/// sums += weight * raw; without the product unless WEIGHTED.
template <class T, u32 VECTOR, bool WEIGHTED> BG_DEVICE void add_raw(f32 (&sums)[VECTOR], const uint4& raw, f32 weight) {
    const u32 words[4] = {raw.x, raw.y, raw.z, raw.w};
    auto add = [&](u32 i, f32 x) { sums[i] = WEIGHTED ? sums[i] + weight * x : sums[i] + x; };
    if constexpr (VECTOR == 1) {
        if constexpr (sizeof(T) == 4) add(0, __uint_as_float(raw.x));
        else add(0, low_half<T>(raw.x));
    } else {
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            if constexpr (sizeof(T) == 4) {
                add(i, __uint_as_float(words[i]));
            } else {
                add(2 * i, low_half<T>(words[i]));
                add(2 * i + 1, high_half<T>(words[i]));
            }
        }
    }
}

/// The weight of an entry: its value times the scale of its column.
template <class T> BG_DEVICE f32 entry_weight(const SpmmOperands& o, u32 entry, u32 column) {
    f32 weight = 1;
    if (o.values) weight = o.narrow_values ? (f32)load_entry<T>(o.values, entry) : load_entry<f32>(o.values, entry);
    if (o.scale_columns) weight *= load_readonly(o.scale_columns + column);
    return weight;
}

/// Adds the entries `begin..end` to a lane's sums, LOADS rows of features in flight. `x` is the lane's place in row 0. A row of features is
/// fewer than 2^32 bytes: one multiplication gives an address.
template <class T, u32 VECTOR, u32 LOADS, bool WEIGHTED>
BG_DEVICE void add_entries(const SpmmOperands& o, const u32* indices, const T* x, u32 begin, u32 end, f32 (&sums)[VECTOR]) {
    const u32 pitch = o.columns * (u32)sizeof(T);
    auto row = [&](u32 column) { return load_raw<T, VECTOR>((const T*)((const u8*)x + (u64)column * pitch)); };
    u32 e = begin;
    for (; e + LOADS <= end; e += LOADS) {
        u32 columns[LOADS];
        uint4 rows[LOADS];
        f32 weights[LOADS];
#pragma unroll
        for (u32 j = 0; j < LOADS; j++) columns[j] = load_readonly(indices + e + j);
#pragma unroll
        for (u32 j = 0; j < LOADS; j++) rows[j] = row(columns[j]);
        if constexpr (WEIGHTED) {
#pragma unroll
            for (u32 j = 0; j < LOADS; j++) weights[j] = entry_weight<T>(o, e + j, columns[j]);
        }
#pragma unroll
        for (u32 j = 0; j < LOADS; j++) add_raw<T, VECTOR, WEIGHTED>(sums, rows[j], WEIGHTED ? weights[j] : 1.0f);
    }
    if (e >= end) return;
    // Fewer are left, asked for together as well.
    u32 columns[LOADS - 1];
    uint4 rows[LOADS - 1];
    f32 weights[LOADS - 1];
#pragma unroll
    for (u32 j = 0; j < LOADS - 1; j++) columns[j] = e + j < end ? load_readonly(indices + e + j) : 0;
#pragma unroll
    for (u32 j = 0; j < LOADS - 1; j++) rows[j] = e + j < end ? row(columns[j]) : make_uint4(0, 0, 0, 0);
    if constexpr (WEIGHTED) {
#pragma unroll
        for (u32 j = 0; j < LOADS - 1; j++) weights[j] = e + j < end ? entry_weight<T>(o, e + j, columns[j]) : 0.0f;
    }
#pragma unroll
    for (u32 j = 0; j < LOADS - 1; j++)
        if (!WEIGHTED || e + j < end) add_raw<T, VECTOR, WEIGHTED>(sums, rows[j], WEIGHTED ? weights[j] : 1.0f);
}

/// Takes the copies' power of two back from sums over copies of features; false, and zeros, where one of them is not finite.
template <u32 COUNT> BG_DEVICE bool unscale_finite(const SpmmOperands& o, f32 (&sums)[COUNT]) {
    // Anything finite times zero is zero.
    f32 probe = 0;
#pragma unroll
    for (u32 i = 0; i < COUNT; i++) probe += sums[i] * 0.0f;
    const bool finite = probe == 0;
    const f32 unscale = load_readonly(o.unscale);
#pragma unroll
    for (u32 i = 0; i < COUNT; i++) sums[i] = finite ? sums[i] * unscale : 0.0f;
    return finite;
}
/// Adds the entries `begin..end`, of COUNT neighbouring columns, over the features that the copies are of.
template <u32 COUNT> BG_DEVICE void add_exact(const SpmmOperands& o, const u32* indices, u32 column, u32 begin, u32 end, f32 (&sums)[COUNT]) {
    for (u32 e = begin; e < end; e++) {
        const u32 j = load_readonly(indices + e);
        const f32 weight = o.scale_columns ? load_readonly(o.scale_columns + j) : 1.0f;
        const f32* x = o.exact + (u64)j * o.columns + column;
#pragma unroll
        for (u32 i = 0; i < COUNT; i += 2) {
            const float2 pair = load_readonly((const float2*)(x + i));
            sums[i] += weight * pair.x;
            sums[i + 1] += weight * pair.y;
        }
    }
}
/// The sums of entries `begin..end` over copies of features, of COUNT neighbouring columns: without the copies' power of two where they are
/// finite, else formed once more from the features that the copies are of.
template <u32 COUNT> BG_DEVICE void settle(const SpmmOperands& o, const u32* indices, u32 column, u32 begin, u32 end, f32 (&sums)[COUNT]) {
    if (!unscale_finite(o, sums)) add_exact(o, indices, column, begin, end, sums);
}

/// What a row's sums are multiplied by.
BG_DEVICE f32 row_factor(const SpmmOperands& o, u32 row, u32 length) {
    if (o.bare) return 1;
    f32 factor = o.scale_rows ? load_readonly(o.scale_rows + row) : 1.0f;
    if (o.mean && length > 1) factor /= (f32)length;
    return factor;
}

/// Adds the addend's COUNT neighbouring columns at a place; WHOLE as `finish` has it.
template <class T, u32 COUNT, bool WHOLE> BG_DEVICE void add_other(const SpmmOperands& o, u64 place, u32 column, f32 (&y)[COUNT]) {
    if (!o.addend) return;
    f32 z[COUNT];
    if constexpr (WHOLE && COUNT >= 4) {
        if (sizeof(T) == 4 || !o.narrow_addend) {
#pragma unroll
            for (u32 i = 0; i < COUNT; i += 4) {
                const float4 four = load_readonly((const float4*)((const f32*)o.addend + place + i));
                z[i] = four.x;
                z[i + 1] = four.y;
                z[i + 2] = four.z;
                z[i + 3] = four.w;
            }
        } else {
#pragma unroll
            for (u32 i = 0; i < COUNT; i += 4) {
                const uint2 four = load_readonly((const uint2*)((const u16*)o.addend + place + i));
                if constexpr (sizeof(T) == 2) {
                    z[i] = low_half<T>(four.x);
                    z[i + 1] = high_half<T>(four.x);
                    z[i + 2] = low_half<T>(four.y);
                    z[i + 3] = high_half<T>(four.y);
                }
            }
        }
    } else {
#pragma unroll
        for (u32 i = 0; i < COUNT; i++) {
            z[i] = 0;
            if (!WHOLE && column + i >= o.columns) continue;
            z[i] = o.narrow_addend ? (f32)load_entry<T>(o.addend, place + i) : load_entry<f32>(o.addend, place + i);
        }
    }
#pragma unroll
    for (u32 i = 0; i < COUNT; i++) {
        const bool scaled = o.addend_scale && (WHOLE || column + i < o.columns);
        y[i] += scaled ? z[i] * load_readonly(o.addend_scale + column + i) : z[i];
    }
}

/// Stores COUNT neighbouring columns of a row, rounded once. WHOLE: all COUNT are within the row, and aligned to their number.
template <class T, u32 COUNT, bool WHOLE>
BG_DEVICE void finish(const SpmmOperands& o, u32 row, u32 column, f32 factor, const f32 (&sums)[COUNT]) {
    const u64 place = (u64)row * o.columns + column;
    f32 y[COUNT];
#pragma unroll
    for (u32 i = 0; i < COUNT; i++) y[i] = sums[i];
    if (!o.bare) {
#pragma unroll
        for (u32 i = 0; i < COUNT; i++) y[i] *= factor;
        add_other<T, COUNT, WHOLE>(o, place, column, y);
#pragma unroll
        for (u32 i = 0; i < COUNT; i++) {
            const bool within = WHOLE || column + i < o.columns;
            if (o.bias && within) y[i] += load_readonly(o.bias + column + i);
            // Not a maximum, which would turn a NaN into 0.
            if (o.relu) y[i] = y[i] < 0 ? 0.0f : y[i];
        }
    }
    if constexpr (WHOLE && COUNT >= 4) {
        if (sizeof(T) == 4 || o.wide_output) {
#pragma unroll
            for (u32 i = 0; i < COUNT; i += 4) *(float4*)((f32*)o.output + place + i) = make_float4(y[i], y[i + 1], y[i + 2], y[i + 3]);
        } else {
            u32 words[COUNT / 2];
#pragma unroll
            for (u32 i = 0; i < COUNT / 2; i++) {
                if constexpr (sizeof(T) == 2) words[i] = (u32)Narrow<T>::of(y[2 * i]).bits | (u32)Narrow<T>::of(y[2 * i + 1]).bits << 16;
            }
            if constexpr (COUNT == 8) *(uint4*)((u16*)o.output + place) = make_uint4(words[0], words[1], words[2], words[3]);
            else *(uint2*)((u16*)o.output + place) = make_uint2(words[0], words[1]);
        }
    } else {
#pragma unroll
        for (u32 i = 0; i < COUNT; i++) {
            if (!WHOLE && column + i >= o.columns) break;
            if (o.wide_output) ((f32*)o.output)[place + i] = y[i];
            else ((T*)o.output)[place + i] = Narrow<T>::of(y[i]);
        }
    }
}
}  // namespace bg
