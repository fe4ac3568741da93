// Rows of a matrix as tasks of one warp each: windows of a few rows, whole rows where a window is too long, pieces of rows where a row is.
//
// Invariant: every entry lies in one task; a row without entries lies in one, too. Pieces of one row follow each other, the first of all
// tasks are pieces, and the entries of a task follow each other.
#pragma once
#include "common/memory.cuh"
#include "common/warp.cuh"
#include "tuning/attention.cuh"

namespace bg {
struct RowTasks {
    const u32* offsets;
    const u32* indices;
    const uint4* tasks;  // first row, rows, first entry, end; null: windows in their order, none of them cut
    u32* arrived;        // for each piece: of its row, at the row's first piece, how many are done; zeros between launches
    u32 task_count;
    u32 piece_count;     // tasks that are pieces
    u32 row_count;
    u32 entry_count;
    u32 window;          // rows of a window
    u32 unused;
};

/// A task as its warp takes it.
struct RowTask {
    u32 row, count, begin, end;
    bool piece;
};

/// Task `index`; the same in all lanes.
BG_DEVICE RowTask row_task(const RowTasks& rows, u32 index) {
    if (rows.tasks) {
        const uint4 task = load_readonly(rows.tasks + index);
        return RowTask{task.x, task.y, task.z, task.w, index < rows.piece_count};
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

/// What a warp that is done with a piece learns: whether it was the last of its row, and which the row's pieces are.
struct RowPieces {
    u32 first, count;
    bool last;
};
/// Called by the whole warp after it wrote what the piece gave. The last one to arrive sees what all wrote.
BG_DEVICE RowPieces piece_done(const RowTasks& rows, const RowTask& task, u32 index) {
    const u32 start = load_readonly(rows.offsets + task.row), length = load_readonly(rows.offsets + task.row + 1) - start;
    RowPieces pieces;
    pieces.first = index - (task.begin - start) / attention::PIECE_ENTRIES;
    pieces.count = ceil_div(length, attention::PIECE_ENTRIES);
    fence_device();
    warp_sync();
    u32 before = 0;
    if (lane() == 0) {
        before = atomicAdd(rows.arrived + pieces.first, 1u);
        if (before + 1 == pieces.count) rows.arrived[pieces.first] = 0;
    }
    before = shuffle(before, 0);
    pieces.last = before + 1 == pieces.count;
    fence_device();
    return pieces;
}
}  // namespace bg
