// Rows of a matrix as tasks of one warp each: windows of a few rows, whole rows where a window is too long, pieces of rows where a row is.
//
// Invariant: every entry lies in one task; a row without entries lies in one, too. Pieces of one row follow each other, the first of all
// tasks are pieces, and the entries of a task follow each other. Where they are not counted before, there are as many as there may be.
#pragma once
#include "common/memory.cuh"
#include "common/warp.cuh"
#include "tuning/attention.cuh"

namespace bg {
struct RowTasks {
    const u32* offsets;
    const u32* indices;
    const uint4* tasks;  // first row, rows, first entry, end; zeros: none; null: windows in their order, none of them cut
    u32* arrived;        // for each piece: of its row, at the row's first piece, how many are done; zeros between launches
    u32 task_count;
    u32 piece_count;     // tasks that are pieces, or none
    u32 row_count;
    u32 entry_count;
    u32 window;          // rows of a window
    u32 piece;           // entries of a piece at most
};

/// A task as its warp takes it; one without rows is none.
struct RowTask {
    u32 row, count, begin, end;
    bool piece;
};

/// Task `index`; the same in all lanes.
BG_DEVICE RowTask row_task(const RowTasks& rows, u32 index) {
    if (rows.tasks) {
        const uint4 task = load_readonly(rows.tasks + index);
        return RowTask{task.x, task.y, task.z, task.w, index < rows.piece_count && task.y != 0};
    }
    const u32 row = index * rows.window, count = min_of(rows.window, rows.row_count - row);
    return RowTask{row, count, load_readonly(rows.offsets + row), load_readonly(rows.offsets + row + count), false};
}

/// The entries of row `row` that lie in the task.
BG_DEVICE u32 first_entry(const RowTasks& rows, const RowTask& task, u32 row) {
    return max_of(load_readonly(rows.offsets + row), task.begin);
}
BG_DEVICE u32 end_entry(const RowTasks& rows, const RowTask& task, u32 row) {
    return min_of(load_readonly(rows.offsets + row + 1), task.end);
}

/// The pieces of a row: the first one, and how many they are.
struct RowPieces {
    u32 first, count;
};
BG_DEVICE RowPieces pieces_of(const RowTasks& rows, const RowTask& task, u32 index) {
    if (!task.piece) return RowPieces{0, 0};
    const u32 start = load_readonly(rows.offsets + task.row), length = load_readonly(rows.offsets + task.row + 1) - start;
    return RowPieces{index - (task.begin - start) / rows.piece, ceil_div(length, rows.piece)};
}
/// Whether the piece was the last of its row. Called by the whole warp after it wrote what pieces gave, `counts` set in one lane for each of
/// them. The last one to arrive sees what all wrote.
BG_DEVICE bool last_piece(const RowTasks& rows, const RowPieces& pieces, bool counts) {
    fence_device();
    warp_sync();
    bool last = false;
    if (counts) {
        last = atomicAdd(rows.arrived + pieces.first, 1u) + 1 == pieces.count;
        if (last) rows.arrived[pieces.first] = 0;
    }
    warp_sync();
    fence_device();
    return last;
}
/// The same where a warp has one piece; all its lanes learn it.
BG_DEVICE bool is_last_piece(const RowTasks& rows, const RowPieces& pieces) { return any(last_piece(rows, pieces, lane() == 0)); }
}  // namespace bg
