// Where the entries of a result are: the structure of matrix operations, without values. Each kernel also says which entry of which
// operand a result's entry comes from, so that the values are made by the element-wise kernels.
//
// Invariant: results have their rows in ascending order of columns; one thread for each entry, no atomics.
#include "common/convert.cuh"
#include "ops/rows.cuh"

namespace bg {
enum MergeKind : u32 { MERGE_UNION = 0, MERGE_INTERSECTION = 1, MERGE_WRITE = 2, MERGE_ACCUMULATE = 3 };

/// Merges two patterns of one shape. `write` and `accumulate` are C<mask, replace> = C accum T, with C first.
struct MergeParams {
    Rows a, b;
    MatrixMask mask;
    u64 rows;
    u32* kept_a;  // whether a result's entry comes from each entry of a (and, if it is there too, of b)
    u32* kept_b;  // the same for the entries of b that a lacks
    const u32* places_a;  // prefix sums of both, with the totals
    const u32* places_b;
    u32* offsets;
    u32* indices;
    u32* source_a;
    u32* source_b;
    u32 kind, reserved;
};

/// Whether a position is kept, and from which operands.
BG_DEVICE bool merge_keeps(const MergeParams& p, u32 row, u32 column, bool& in_a, bool& in_b) {
    if (p.kind == MERGE_UNION) return true;
    if (p.kind == MERGE_INTERSECTION) return in_a && in_b;
    if (p.mask.selects(row, column)) {
        if (p.kind == MERGE_WRITE) in_a = false;
    } else {
        in_b = false;
        if (p.mask.flags & REPLACE) in_a = false;
    }
    return in_a || in_b;
}

template <class F> BG_DEVICE void for_each_of_both(const MergeParams& p, F f) {
    for (u64 k = thread_index(); k < p.a.entries + p.b.entries; k += thread_count()) {
        bool first = k < p.a.entries;
        u64 own = first ? k : k - p.a.entries;
        const Rows& mine = first ? p.a : p.b;
        const Rows& other = first ? p.b : p.a;
        u32 row = mine.entry_rows[own], column = mine.indices[own];
        u64 at = other.lower_bound(row, column);
        bool both = other.is(at, row, column);
        bool in_a = first || both, in_b = !first || both;
        // An entry that is in both is the first's business.
        bool keeps = (first || !both) && merge_keeps(p, row, column, in_a, in_b);
        f(first, own, at, column, keeps, in_a, in_b);
    }
}

struct ExpandParams {
    Rows a, b;
    MatrixMask mask;
    u32* counts;         // for each entry of a: the entries of the row of b that its column names
    const u64* offsets;  // prefix sums of the counts
    u64 total;
    u64* keys;           // row << column_bits | column, or 1 << marker for a product that the mask leaves out
    u64* pairs;          // entry of a << 32 | entry of b
    u32 column_bits, marker;
};
struct HeadsParams {
    const u64* keys;
    u32* flags;
    u64 n;
    u32 marker, reserved;
};
struct SegmentsParams {
    const u64* keys;
    const u32* starts;  // where each distinct key starts
    u32* entry_rows;
    u32* indices;
    u64 n;
    u32 column_bits, reserved;
};
struct KroneckerParams {
    Rows a, b;
    const u64* offsets;  // of the result's rows
    u64 rows, entries;
    u32 b_rows, b_columns;
    u32* counts;  // of the result's rows
    u32* indices;
    u32* source_a;
    u32* source_b;
};
struct RelabelKeysParams {
    Rows a;
    const u32* new_rows;
    const u32* new_columns;
    u64* keys;
    u32* positions;
    u32 column_bits, reserved;
};
struct PairSourcesParams {
    const u64* pairs;
    const u64* before;  // null, or pairs whose second parts the first parts of `pairs` name
    u32* sources;       // the second parts of `before`, or of `pairs`
    u64 n;
};
struct FirstsParams {
    Rows a;
    const u32* places;  // prefix sums of flags over the entries of a
    u32* offsets;       // of the kept entries' rows
    u64 rows;
};
struct SlotsParams {
    const u32* indices;
    u32* slots;  // all NONE
    u64 n;
};
struct IndexListParams {
    const u32* indices;
    const u32* present;  // null if all are
    u32* list;
    u64 n;
    u64 len;
};
struct PresenceParams {
    Operand v;
    u32* flags;
    u64 n;
};
struct ConvertParams {
    const void* values;
    void* out;
    u64 n;
    u32 from, to;  // of ElementType
};
struct LongRowsParams {
    const void* offsets;
    u64 rows;
    u32* list;
    u32* count;  // zeroed
    u32 limit, wide;
    u32 capacity, reserved;
};
}  // namespace bg

using namespace bg;

BG_KERNEL(merge_flags, MergeParams, 256, 4) {
    for_each_of_both(p, [&](bool first, u64 own, u64, u32, bool keeps, bool, bool) { (first ? p.kept_a : p.kept_b)[own] = keeps; });
}
BG_KERNEL(merge_scatter, MergeParams, 256, 4) {
    for_each_of_both(p, [&](bool first, u64 own, u64 at, u32 column, bool keeps, bool in_a, bool in_b) {
        if (!keeps) return;
        u32 to = first ? p.places_a[own] + p.places_b[at] : p.places_a[at] + p.places_b[own];
        p.indices[to] = column;
        p.source_a[to] = in_a ? (u32)(first ? own : at) : NONE;
        p.source_b[to] = in_b ? (u32)(first ? at : own) : NONE;
    });
    for (u64 r = thread_index(); r <= p.rows; r += thread_count()) p.offsets[r] = p.places_a[p.a.begin(r)] + p.places_b[p.b.begin(r)];
}

BG_KERNEL(expand_counts, ExpandParams, 256, 4) {
    for (u64 k = thread_index(); k < p.a.entries; k += thread_count()) {
        u32 row = p.a.indices[k];
        p.counts[k] = (u32)(p.b.end(row) - p.b.begin(row));
    }
}
BG_KERNEL(expand, ExpandParams, 256, 4) {
    for (u64 t = thread_index(); t < p.total; t += thread_count()) {
        u64 left = upper_position(p.offsets, p.a.entries, t);
        u64 right = p.b.begin(p.a.indices[left]) + (t - p.offsets[left]);
        u32 row = p.a.entry_rows[left], column = p.b.indices[right];
        p.keys[t] = p.mask.selects(row, column) ? (u64)row << p.column_bits | column : (u64)1 << p.marker;
        p.pairs[t] = left << 32 | right;
    }
}
/// The first of every run of equal keys that the mask selects.
BG_KERNEL(segment_heads, HeadsParams, 256, 4) {
    for (u64 t = thread_index(); t < p.n; t += thread_count()) {
        u64 key = p.keys[t];
        p.flags[t] = !(key >> p.marker & 1) && (t == 0 || p.keys[t - 1] != key);
    }
}
BG_KERNEL(segment_places, SegmentsParams, 256, 4) {
    for (u64 s = thread_index(); s < p.n; s += thread_count()) {
        u64 key = p.keys[p.starts ? p.starts[s] : s];
        p.entry_rows[s] = (u32)(key >> p.column_bits);
        p.indices[s] = (u32)(key & (((u64)1 << p.column_bits) - 1));
    }
}

BG_KERNEL(kronecker_counts, KroneckerParams, 256, 4) {
    for (u64 r = thread_index(); r < p.rows; r += thread_count()) {
        u64 i = r / p.b_rows, k = r % p.b_rows;
        p.counts[r] = (u32)((p.a.end(i) - p.a.begin(i)) * (p.b.end(k) - p.b.begin(k)));
    }
}
BG_KERNEL(kronecker_fill, KroneckerParams, 256, 4) {
    for (u64 t = thread_index(); t < p.entries; t += thread_count()) {
        u64 r = upper_position(p.offsets, p.rows + 1, t);
        u64 i = r / p.b_rows, k = r % p.b_rows, within = t - p.offsets[r], width = p.b.end(k) - p.b.begin(k);
        u64 left = p.a.begin(i) + within / width, right = p.b.begin(k) + within % width;
        p.indices[t] = p.a.indices[left] * p.b_columns + p.b.indices[right];
        p.source_a[t] = (u32)left;
        p.source_b[t] = (u32)right;
    }
}

/// The keys of entries moved to other rows and columns.
BG_KERNEL(relabel_keys, RelabelKeysParams, 256, 4) {
    for (u64 k = thread_index(); k < p.a.entries; k += thread_count()) {
        p.keys[k] = (u64)p.new_rows[p.a.entry_rows[k]] << p.column_bits | p.new_columns[p.a.indices[k]];
        p.positions[k] = (u32)k;
    }
}
BG_KERNEL(pair_sources, PairSourcesParams, 256, 4) {
    for (u64 t = thread_index(); t < p.n; t += thread_count()) {
        u64 pair = p.pairs[t];
        p.sources[t] = (u32)(p.before ? p.before[pair >> 32] : pair);
    }
}
/// Row offsets of the entries that flags keep.
BG_KERNEL(kept_offsets, FirstsParams, 256, 4) {
    for (u64 r = thread_index(); r <= p.rows; r += thread_count()) p.offsets[r] = p.places[p.a.begin(r)];
}
/// slots[indices[k]] = k, the last one where an index occurs several times.
BG_KERNEL(last_slots, SlotsParams, 256, 4) {
    for (u64 k = thread_index(); k < p.n; k += thread_count()) {
        u32 index = p.indices[k];
        if (index != NONE) atomicMax((i32*)&p.slots[index], (i32)k);
    }
}
/// The positions that a vector of indices names: NONE for those that are absent or out of range.
BG_KERNEL(index_list, IndexListParams, 256, 4) {
    for (u64 k = thread_index(); k < p.n; k += thread_count()) {
        u32 index = p.indices[k];
        p.list[k] = (!p.present || bit(p.present, k)) && index < p.len ? index : NONE;
    }
}
/// Whether each position of a vector holds an entry: 0 or 1.
BG_KERNEL(presence_flags, PresenceParams, 256, 4) {
    for (u64 i = thread_index(); i < p.n; i += thread_count()) p.flags[i] = !p.v.present || bit(p.v.present, i);
}
/// Values of one type as those of another: the nearest, or the first or last of a type that ends before them.
BG_KERNEL(convert_values, ConvertParams, 256, 4) {
    for (u64 i = thread_index(); i < p.n; i += thread_count()) {
        if (p.from == I64 && p.to == U64) {
            i64 x = ((const i64*)p.values)[i];
            ((u64*)p.out)[i] = x < 0 ? 0 : (u64)x;
        } else if (p.from == U64 && p.to == I64) {
            u64 x = ((const u64*)p.values)[i];
            ((i64*)p.out)[i] = (i64)min_of(x, (u64)Limits<i64>::largest());
        } else {
            store_number(p.out, p.to, i, load_number(p.values, p.from, i));
        }
    }
}
/// Rows of more entries than a limit, in any order.
BG_KERNEL(long_rows, LongRowsParams, 256, 4) {
    for (u64 r = thread_index(); r < p.rows; r += thread_count()) {
        u64 begin = p.wide ? ((const u64*)p.offsets)[r] : ((const u32*)p.offsets)[r];
        u64 end = p.wide ? ((const u64*)p.offsets)[r + 1] : ((const u32*)p.offsets)[r + 1];
        if (end - begin <= p.limit) continue;
        u32 at = atomicAdd(p.count, 1u);
        if (at < p.capacity) p.list[at] = (u32)r;
    }
}
