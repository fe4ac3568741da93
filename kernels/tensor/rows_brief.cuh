// Short rows on their way: groups of LANES lanes go on from row to row, and ask ahead for what a row's work starts with.
//
// A short row is over before its memory has come, and what it asks for depends on what it has got: its bounds, then its columns, then what those
// name. So a group asks for the bounds of one row, for the columns of the row before it, and for what the columns name of the row before that,
// while it works at a fourth. Over a grid of four neighbours this took half the time of one row after the other, and a third where rows of f32 go
// backward (H200). Longer rows in steps of 32 entries were tried: what a step has to remember costs more than the wait.
#pragma once
#include "tensor/attention_tasks.cuh"
#include "tensor/attention_vector.cuh"

namespace bg {
/// Entries in flight, besides what is asked ahead: of more, fewer warps fit.
constexpr u32 BRIEF_DEEP = 4;

/// A row of 32 entries at most, 32 / LANES of which each lane holds: entry `me + h * LANES` as number `h`.
template <u32 LANES> struct BriefRow {
    static constexpr u32 HELD = WARP / LANES;
    u32 begin, end, columns[HELD];

    BG_DEVICE u32 entry(u32 h) const { return begin + h * LANES + lane() % LANES; }
    BG_DEVICE bool has(u32 h) const { return entry(h) < end; }
    /// A row behind the last has no entries.
    BG_DEVICE void load_bounds(const RowTasks& rows, u32 row) {
        begin = end = 0;
        if (row >= rows.row_count) return;
        begin = load_readonly(rows.offsets + row);
        end = load_readonly(rows.offsets + row + 1);
    }
    BG_DEVICE void load_columns(const RowTasks& rows) {
#pragma unroll
        for (u32 h = 0; h < HELD; h++) columns[h] = has(h) ? load_readonly(rows.indices + entry(h)) : 0;
    }
};

/// Three rows of a group, which all groups of a warp walk together. Rows are taken in their order.
template <u32 LANES> struct BriefRows {
    const u32 groups;
    u32 row;
    BriefRow<LANES> now, next, later;

    BG_DEVICE explicit BriefRows(const RowTasks& rows)
        : groups(gridDim.x * blockDim.x / LANES), row((blockIdx.x * blockDim.x + threadIdx.x) / LANES) {
        now.load_bounds(rows, row);
        next.load_bounds(rows, row + groups);
        later.load_bounds(rows, row + 2 * groups);
        now.load_columns(rows);
        next.load_columns(rows);
    }
    BG_DEVICE bool goes_on(const RowTasks& rows) const { return any(row < rows.row_count); }
    /// Asks for the columns of the row after the next, and for the bounds of the row behind it, which it gives.
    BG_DEVICE BriefRow<LANES> ask(const RowTasks& rows) {
        BriefRow<LANES> asked;
        asked.load_bounds(rows, row + 3 * groups);
        later.load_columns(rows);
        return asked;
    }
    BG_DEVICE void go(const BriefRow<LANES>& asked) {
        warp_sync();
        now = next;
        next = later;
        later = asked;
        row += groups;
    }
};

/// Asks for what BRIEF_DEEP entries from `j` on of the lanes' number `h` name: 16 bytes of rows of `columns` elements, from the lane's own place in
/// row 0 on, if it has one.
template <class T, u32 LANES>
BG_DEVICE void load_named(uint4 (&found)[BRIEF_DEEP], const BriefRow<LANES>& row, u32 h, u32 j, const T* place, u32 columns, bool active) {
    const u32 group = lane() - lane() % LANES;
#pragma unroll
    for (u32 u = 0; u < BRIEF_DEEP; u++) {
        const u32 from = shuffle(row.columns[h], group + j + u);
        const bool in = active && h * LANES + j + u < row.end - row.begin;
        found[u] = in ? load_vector<T, Wide<T>::value>(place + (u64)from * columns) : make_uint4(0, 0, 0, 0);
    }
}
/// Whether entries from `j` on of a lane's number `h` are there in any group of the warp; the first are always looked at.
template <u32 LANES> BG_DEVICE bool goes_to(const BriefRow<LANES>& row, u32 h, u32 j) {
    return h + j == 0 || any(h * LANES + j < row.end - row.begin);
}
}  // namespace bg
