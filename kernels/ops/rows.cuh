// Compressed rows with the row of every entry at hand, and masks over matrices.
#pragma once
#include "ops/operand.cuh"

namespace bg {
/// A pattern. Entry k is at (entry_rows[k], indices[k]); a kernel that needs no entry_rows is given none.
struct Rows {
    const void* offsets;
    const u32* indices;
    const u32* entry_rows;
    u64 entries;
    u32 wide, reserved;

    BG_DEVICE u64 begin(u64 row) const { return wide ? load_readonly((const u64*)offsets + row) : load_readonly((const u32*)offsets + row); }
    BG_DEVICE u64 end(u64 row) const { return begin(row + 1); }
    /// The first entry of a row whose column is not below `column`; the row's end if there is none.
    BG_DEVICE u64 lower_bound(u32 row, u32 column) const { return lower_bound(begin(row), end(row), column); }
    BG_DEVICE u64 lower_bound(u64 from, u64 to, u32 column) const {
        while (from < to) {
            u64 middle = (from + to) / 2;
            if (load_readonly(indices + middle) < column) from = middle + 1;
            else to = middle;
        }
        return from;
    }
    /// Whether entry `k` lies in the row and column that a search for it was for.
    BG_DEVICE bool is(u64 k, u32 row, u32 column) const { return k < end(row) && load_readonly(indices + k) == column; }
};

/// Which positions of a matrix may be written: a pattern's entries, or the rows and columns that are marked.
struct MatrixMask {
    Rows pattern;
    const u32* truth;  // for each entry whether it counts; null if all do
    const u32* row_marks;
    const u32* column_marks;  // not null: bits, instead of the pattern
    u32 flags, reserved;      // of MaskFlag

    BG_DEVICE bool selects(u32 row, u32 column) const {
        if (!(flags & MASKED)) return true;
        bool chosen;
        if (column_marks) {
            chosen = bit(row_marks, row) && bit(column_marks, column);
        } else {
            u64 k = pattern.lower_bound(row, column);
            chosen = pattern.is(k, row, column) && (!truth || load_readonly(truth + k));
        }
        return chosen != ((flags & COMPLEMENT) != 0);
    }
};

/// The last position whose offset is not above `k`, of `count` ascending ones.
BG_DEVICE u64 upper_position(const u64* offsets, u64 count, u64 k) {
    u64 from = 0, to = count;
    while (from + 1 < to) {
        u64 middle = (from + to) / 2;
        if (load_readonly(offsets + middle) <= k) from = middle;
        else to = middle;
    }
    return from;
}
}  // namespace bg
