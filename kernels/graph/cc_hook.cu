// Connected components by hooking, in one cooperative launch of a block per multiprocessor: trees of each block's range in shared
// memory where they fit, else in memory. Symmetric graphs of fewer than 2^31 vertices.
#include "graph/cc_hook.cuh"

namespace bg { namespace cc {
/// Unites what is outside the giant with all its neighbours; then labels are right.
BG_DEVICE bool finish(const CcParams& p, Hooks& hooks, Grid& grid, u32 giant) {
    u32* queued = &p.state->reserved[0];
    for (u32 base = threadIdx.x - lane(); base < hooks.count; base += blockDim.x) {
        u32 i = base + lane(), v = hooks.low + i, begin = 0, end = 0;
        if (i < hooks.count && hooks.local[i] != ALONE && hooks.label_of(i) != giant) {
            begin = load_readonly(p.offsets + v);
            end = load_readonly(p.offsets + v + 1);
        }
        if (any(end > begin)) unite_rows(p.parent, p.indices, v, begin, end, p.long_rows, queued, Itself{});
    }
    if (grid.meet().stop) return false;
    u32 rows = load_volatile(queued);
    if (rows) {
        u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
        unite_long_rows(p.parent, p.offsets, p.indices, p.long_rows, rows, thread, threads, Itself{});
        if (grid.meet().stop) return false;
    }
    u32 root = find_root_fresh(p.parent, giant);
    for (u32 i = threadIdx.x; i < hooks.count; i += blockDim.x) {
        if (hooks.local[i] == ALONE) continue;
        u32 label = hooks.label_of(i);
        if (label != giant) {
            p.labels[hooks.low + i] = find_root_fresh(p.parent, label);
        } else if (root != giant) {
            p.labels[hooks.low + i] = root;
        }
    }
    return true;
}

template <bool SHARED> BG_DEVICE void hook_components(const CcParams& p) {
    HookShared* shared = (HookShared*)shared_memory();
    Grid grid(p.state, p.link, &shared->barrier);
    const u32 n = p.n, range = ceil_div(ceil_div(n, gridDim.x), WARP) * WARP, low = min_of(blockIdx.x * range, n);
    Hooks hooks{p, shared, SHARED ? (u32*)(shared + 1) : p.local + low, low, min_of(range, n - low), SHARED, 0};
    if (threadIdx.x == 0) {
        shared->stuck = 0;
        shared->outside = 0;
        shared->changed = 0;
        shared->giant = ALONE;
        shared->trees = 0;
    }
    __syncthreads();
    hooks.hook();
    if (threadIdx.x == 0) grid.add_a(shared->trees);
    Meeting seen = grid.meet();
    if (seen.stop) return;
    grid.report(1);

    hooks.jump(ALONE);
    if (seen.a <= 1) {
        hooks.write_labels(ALONE);
        return;
    }
    // More than one tree ends here, so there is more than one in all, and joining need not wait for the others' counts.
    const u32 mine = shared->stuck;
    const bool two = range <= FEW_VERTICES * blockDim.x;
    if (mine > 1 && !two) {
        // A guess that need not be the same in all blocks: links to a giant are seen from its outside.
        if (threadIdx.x < WARP) hooks.find_giant();
        __syncthreads();
    }
    if (mine > 1) hooks.join(0, two, shared->giant);
    else hooks.write_labels(ALONE);
    if (threadIdx.x == 0) {
        grid.add_a(mine);
        if (mine > 1 && shared->changed) grid.add_b(1);
    }
    seen = grid.meet();
    if (seen.stop) return;
    grid.report(2);
    if (seen.b == 0) {
        hooks.join(0, two, shared->giant);
        if (grid.meet().stop) return;
    }

    u32 before = seen.a;
    for (u32 round = 1;; round++) {
        if (threadIdx.x == 0) {
            shared->stuck = 0;
            shared->outside = 0;
        }
        __syncthreads();
        u32 giant_before = shared->giant;
        __syncthreads();
        if (threadIdx.x < WARP) hooks.find_giant();
        hooks.jump(giant_before);
        hooks.write_labels(shared->giant);
        __syncthreads();
        if (threadIdx.x == 0) {
            grid.add_a(shared->stuck);
            grid.add_b(shared->outside);
        }
        seen = grid.meet();
        if (seen.stop) return;
        grid.report(2 + round);
        if (seen.a <= 1) return;
        if (seen.b < n / OUTSIDE_SHARE || round >= MOST_ROUNDS || seen.a >= before - before / 10) break;
        before = seen.a;
        hooks.join(round, true, shared->giant);
        if (grid.meet().stop) return;
    }
    finish(p, hooks, grid, shared->giant);
}
}}  // namespace bg::cc

BG_KERNEL(cc_hook_shared, bg::cc::CcParams, 1024, 1) { bg::cc::hook_components<true>(p); }

BG_KERNEL(cc_hook_memory, bg::cc::CcParams, 1024, 1) { bg::cc::hook_components<false>(p); }
