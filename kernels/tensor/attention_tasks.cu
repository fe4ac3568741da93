// Builds the tasks of tensor/attention_tasks.cuh: how many of each kind a window gives, a scan of both between, and the tasks; or all in one pass.
#include "formats/lookback.cuh"
#include "tensor/attention_tasks.cuh"

namespace bg {
struct RowTasksBuild {
    const u32* offsets;
    const u32* order;   // rows, a window each; null: windows in their order
    u32* pieces;        // for each window: the pieces that it gives; in the fill, where they begin
    u32* others;        // likewise the other tasks
    uint4* tasks;
    u32 row_count;
    u32 windows;
    u32 window;         // rows of a window
    u32 piece_count;    // of all windows; in the fill
    u32 piece;          // entries of a piece at most
    u32 unused;
};

/// A build in one pass. The host knows bounds of how many pieces and other tasks there are: `build.piece_count` is that of pieces.
struct RowTasksPass {
    RowTasksBuild build;  // tasks are zeroed
    u64* status;          // a ticket and one status word for each block, zeroed
};
/// The first bit of the second of two sums in one word of the look-back.
constexpr u32 OTHERS = 31;

/// Calls `piece(row, first entry, end)` for the pieces of a window and `other(row, rows, first entry, end)` for its other tasks, in order.
template <class Piece, class Other> BG_DEVICE void cut_window(const RowTasksBuild& p, u32 window, Piece piece, Other other) {
    const u32 row = p.order ? p.order[window] : window * p.window, count = p.order ? 1u : min_of(p.window, p.row_count - row);
    const u32 begin = p.offsets[row];
    // Neighbouring rows that are not too long together, and the long ones in pieces.
    u32 first = row, start = begin, from = begin;
    auto flush = [&](u32 next) {
        if (next > first) other(first, next - first, start, from);
    };
    for (u32 r = row; r < row + count; r++) {
        const u32 to = p.offsets[r + 1];
        if (to - from > p.piece || to - start > attention::WINDOW_ENTRIES) {
            flush(r);
            first = r;
            start = from;
        }
        if (to - from > p.piece) {
            for (u32 e = from; e < to; e += p.piece) piece(r, e, min_of(e + p.piece, to));
            first = r + 1;
            start = to;
        }
        from = to;
    }
    flush(row + count);
}

BG_KERNEL(attention_tasks_count, RowTasksBuild, 256, 4) {
    for (u32 w = blockIdx.x * blockDim.x + threadIdx.x; w < p.windows; w += gridDim.x * blockDim.x) {
        u32 pieces = 0, others = 0;
        cut_window(p, w, [&](u32, u32, u32) { pieces++; }, [&](u32, u32, u32, u32) { others++; });
        p.pieces[w] = pieces;
        p.others[w] = others;
    }
}
/// Stores the tasks of a window from these places on.
BG_DEVICE void store_window(const RowTasksBuild& p, u32 window, u32 piece, u32 other) {
    cut_window(
        p, window, [&](u32 row, u32 from, u32 to) { p.tasks[piece++] = make_uint4(row, 1, from, to); },
        [&](u32 row, u32 count, u32 from, u32 to) { p.tasks[other++] = make_uint4(row, count, from, to); });
}
BG_KERNEL(attention_tasks_fill, RowTasksBuild, 256, 4) {
    for (u32 w = blockIdx.x * blockDim.x + threadIdx.x; w < p.windows; w += gridDim.x * blockDim.x)
        store_window(p, w, p.pieces[w], p.piece_count + p.others[w]);
}

/// A thread for each window.
BG_KERNEL(attention_tasks_pass, RowTasksPass, 256, 4) {
    u64* scratch = (u64*)shared_memory();  // 33 sums of the block's scan, what comes before the block, a ticket
    const u32 block = take_ticket((u32*)p.status, (u32*)(scratch + 34)), window = block * blockDim.x + threadIdx.x;
    u32 pieces = 0, others = 0;
    if (window < p.build.windows) cut_window(p.build, window, [&](u32, u32, u32) { pieces++; }, [&](u32, u32, u32, u32) { others++; });
    u64 total, within = block_scan_exclusive((u64)others << OTHERS | pieces, scratch, total);
    if (threadIdx.x < WARP) {
        const u64 before = look_back(p.status + 1, block, total);
        if (threadIdx.x == 0) scratch[33] = before;
    }
    __syncthreads();
    within += scratch[33];
    const u32 piece = (u32)(within & ((1ull << OTHERS) - 1)), other = p.build.piece_count + (u32)(within >> OTHERS);
    if (window < p.build.windows) store_window(p.build, window, piece, other);
}
}  // namespace bg
