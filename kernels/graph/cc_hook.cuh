// Connected components of symmetric graphs by hooking: each block owns a range of vertices and keeps their trees to itself.
//
// `local` says for each own vertex what it is hooked under: a value below ROOT is a vertex of the same range; otherwise the vertex is a
// root within the range and the value is ROOT plus the smallest vertex that it is known to be connected to. ALONE has no neighbours.
// Outside the block only `parent` is seen, which is never larger than the vertex. The steps:
//   hook      under the first neighbour, or the middle one where the first is outside and the middle one is not; no atomics;
//   jump      the roots of the range follow parents to their trees' roots; if one tree is left, all is done;
//   join      the trees of one or two more neighbours, by atomic minimum;
//   finish    vertices outside the giant unite with all their neighbours.
#pragma once
#include "graph/cc_forest.cuh"
#include "tuning/cc.cuh"

namespace bg { namespace cc {
constexpr u32 ROOT = 0x80000000u;

/// Shared memory of a block; `local` follows it where it fits.
struct HookShared {
    uint4 barrier;
    u32 stuck, outside, changed, giant;
    u32 trees, reserved[3];
    u32 keys[TABLE], values[TABLE];
};

/// The neighbour tried second, from the first of a row: the middle one, or the second.
BG_DEVICE u32 tried_second(u32 middle, u32 degree) { return middle ? (degree - 1) / 2 : 1; }

/// One block's view of the work.
struct Hooks {
    const CcParams& p;
    HookShared* shared;
    u32* local;
    u32 low, count;     // the own range
    bool in_shared;     // `local` is in shared memory
    u64 crossing;       // bit k: the k-th vertex of this thread is hooked inside, but has a neighbour below the range

    BG_DEVICE bool is_root(u32 x) const { return x >= ROOT; }

    /// The label of own vertex `i`; trees of the range are flat. ALONE gives its own number.
    BG_DEVICE u32 label_of(u32 i) const {
        u32 x = local[i];
        if (x < ROOT) x = local[x - low];
        return x == ALONE ? low + i : x & ~ROOT;
    }

    BG_DEVICE void hook() {
        crossing = 0;
        u32 turn = 0;
        for (u32 base = threadIdx.x - lane(); base < count; base += HOOK_IN_FLIGHT * blockDim.x) {
            u32 begin[HOOK_IN_FLIGHT], degree[HOOK_IN_FLIGHT], first[HOOK_IN_FLIGHT], middle[HOOK_IN_FLIGHT];
            if (p.near) {
#pragma unroll
                for (u32 j = 0; j < HOOK_IN_FLIGHT; j++) {
                    u32 i = base + j * blockDim.x + lane();
                    first[j] = i < count ? load_readonly(p.near + low + i) : ALONE;
                    middle[j] = i < count ? load_readonly(p.near + ((u64)p.n + low + i)) : ALONE;
                }
            } else {
#pragma unroll
                for (u32 j = 0; j < HOOK_IN_FLIGHT; j++) {
                    u32 i = base + j * blockDim.x + lane();
                    begin[j] = i < count ? load_readonly(p.offsets + low + i) : 0;
                    degree[j] = i < count ? load_readonly(p.offsets + low + i + 1) : 0;
                }
#pragma unroll
                for (u32 j = 0; j < HOOK_IN_FLIGHT; j++) {
                    degree[j] -= begin[j];
                    first[j] = degree[j] > 0 ? load_readonly(p.indices + begin[j]) : ALONE;
                    middle[j] = degree[j] > 1 ? load_readonly(p.indices + begin[j] + tried_second(p.middle, degree[j])) : ALONE;
                }
            }
#pragma unroll
            for (u32 j = 0; j < HOOK_IN_FLIGHT; j++, turn++) {
                u32 i = base + j * blockDim.x + lane(), v = low + i, x;
                if (first[j] == ALONE) {
                    x = ALONE;
                } else if (first[j] >= low) {
                    x = first[j] < v ? first[j] : ROOT | v;
                } else if (middle[j] >= low && middle[j] < v) {
                    x = middle[j];
                    crossing |= 1ull << (turn & 63);
                } else {
                    x = ROOT | first[j];
                }
                // A run of vertices that each are hooked under the one before goes to its start at once.
                u32 run = ballot(x == v - 1 && i < count && i > 0);
                if (run >> lane() & 1) {
                    u32 before = ~run & ((1u << lane()) - 1);
                    x = before ? v - lane() + 31 - (u32)__clz(before) : v - lane() - 1;
                }
                if (i < count) local[i] = x;
            }
        }
        __syncthreads();
        flatten();
    }

    /// Hooks every own vertex under its root in the range, and shows the others what it is hooked under. How many are roots of whole trees
    /// is in `shared->trees` then.
    BG_DEVICE void flatten() {
        bool lowered = false;
        u32 turn = 0, trees = 0;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x, turn++) {
            u32 v = low + i, x = load_volatile(local + i);
            if (is_root(x)) {
                p.parent[v] = x == ALONE ? v : x & ~ROOT;
                trees += x == (ROOT | v);
                continue;
            }
            u32 above;
            while ((above = load_volatile(local + (x - low))) < ROOT) x = above;
            // Others follow the same paths meanwhile.
            if (in_shared) atomicMin(local + i, x);
            else local[i] = x;
            p.parent[v] = x;
            // Only where the root has no link out of the range: one is enough.
            if (above == (ROOT | x) && (crossing >> (turn & 63) & 1)) {
                u32 first = load_readonly(p.indices + load_readonly(p.offsets + v));
                if (first < low) {
                    atomicMin(local + (x - low), ROOT | first);
                    lowered = true;
                }
            }
        }
        if (lowered) shared->changed = 1;
        __syncthreads();
        if (shared->changed) {
            trees = 0;
            for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
                u32 x = local[i];
                if (is_root(x) && x != ALONE) p.parent[low + i] = x & ~ROOT;
                trees += x == (ROOT | (low + i));
            }
        }
        warp_sync();
        trees = warp_sum(trees);
        if (lane() == 0 && trees) atomicAdd(&shared->trees, trees);
        __syncthreads();
    }

    /// Follows the roots of the range to the roots of their trees; how many of them are such roots is added to `shared->stuck`.
    /// `giant` is a root of before the last links, ALONE if none is known.
    BG_DEVICE void jump(u32 giant) {
        u32 stuck = 0;
        // Many roots of a range share a label: the giant's is followed once, and the last one followed is remembered.
        u32 known = ALONE, known_root = ALONE;
        const u32 giant_root = giant == ALONE ? ALONE : follow(giant);
        for (u32 base = threadIdx.x; base - threadIdx.x < count; base += IN_FLIGHT * blockDim.x) {
            u32 at[IN_FLIGHT], start[IN_FLIGHT];
            u32 active = 0, hops = 0;
#pragma unroll
            for (u32 j = 0; j < IN_FLIGHT; j++) {
                u32 i = base + j * blockDim.x;
                at[j] = start[j] = 0;
                if (i < count) {
                    u32 x = local[i];
                    if (is_root(x) && x != ALONE) {
                        at[j] = start[j] = x & ~ROOT;
                        if (at[j] == giant && giant != low + i) {
                            if (giant_root != giant) {
                                local[i] = ROOT | giant_root;
                                p.parent[low + i] = giant_root;
                            }
                        } else if (at[j] == known && known != low + i) {
                            if (known_root != known) {
                                local[i] = ROOT | known_root;
                                p.parent[low + i] = known_root;
                            }
                        } else {
                            active |= 1u << j;
                        }
                    }
                }
            }
            while (active) {
                u32 next[IN_FLIGHT];
                hops++;
#pragma unroll
                for (u32 j = 0; j < IN_FLIGHT; j++) {
                    if (active >> j & 1) next[j] = load_cached(p.parent + at[j]);
                }
#pragma unroll
                for (u32 j = 0; j < IN_FLIGHT; j++) {
                    if (!(active >> j & 1)) continue;
                    u32 i = base + j * blockDim.x;
                    if (next[j] == at[j]) {
                        active &= ~(1u << j);
                        if (at[j] == low + i) {
                            stuck++;
                        } else {
                            local[i] = ROOT | at[j];
                            if (hops > 1) p.parent[low + i] = at[j];
                            known = start[j];
                            known_root = at[j];
                        }
                    } else {
                        at[j] = next[j];
                        // Long chains halve for those who follow them at the same time.
                        if (hops > 2) p.parent[low + i] = next[j];
                    }
                }
            }
        }
        warp_sync();
        stuck = warp_sum(stuck);
        if (lane() == 0 && stuck) atomicAdd(&shared->stuck, stuck);
        __syncthreads();
    }

    BG_DEVICE u32 follow(u32 v) const {
        for (u32 above; (above = load_cached(p.parent + v)) != v;) v = above;
        return v;
    }

    /// The root that most of a sample are under goes to `shared->giant`. The first warp calls it while no link is made; then all
    /// blocks find the same.
    BG_DEVICE void find_giant() {
        u32 most = most_frequent(follow(sampled_vertex(lane(), p.n)));
        if (lane() == 0) shared->giant = most;
    }

    /// Writes the labels; those that are not of the giant are counted in `shared->outside`.
    BG_DEVICE void write_labels(u32 giant) {
        u32 outside = 0;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            u32 label = label_of(i);
            p.labels[low + i] = label;
            outside += label != giant && local[i] != ALONE;
        }
        warp_sync();
        outside = warp_sum(outside);
        if (lane() == 0 && outside) atomicAdd(&shared->outside, outside);
    }

    BG_DEVICE void clear_table() {
        for (u32 i = threadIdx.x; i < TABLE; i += blockDim.x) {
            shared->keys[i] = ALONE;
            shared->values[i] = ALONE;
        }
    }

    /// Joins the trees that `a` and `b` are in. What the larger one was hooked under before is joined next, so that no link is lost
    /// (Rem's algorithm). Returns whether there was anything to join.
    BG_DEVICE bool hook(u32 a, u32 b) {
        bool linked = false;
        while (a != b) {
            u32 high = max_of(a, b), under = min_of(a, b);
            u32 before = atomicMin(p.parent + high, under);
            linked |= before > under;
            if (before == high) break;
            a = before;
            b = under;
        }
        return linked;
    }

    /// Hooks the larger under the smaller, if that is lower than what it is hooked under: cheaper, and may lose a link.
    BG_DEVICE bool lower(u32 high, u32 under) {
        if (load_volatile(p.parent + high) <= under) return false;
        reduce_min(p.parent + high, under);
        return true;
    }

    /// The same by way of the block's table, where there is room.
    BG_DEVICE bool lower_noted(u32 high, u32 under) {
        u32 slot = (high * 0x9E3779B1u) >> 21;
        for (u32 k = 0; k < TABLE_PROBES; k++, slot = (slot + 1) & (TABLE - 1)) {
            u32 key = load_volatile(shared->keys + slot);
            if (key == ALONE) key = atomicCAS(shared->keys + slot, ALONE, high);
            if (key != ALONE && key != high) continue;
            if (load_volatile(shared->values + slot) > under) atomicMin(shared->values + slot, under);
            return false;
        }
        return lower(high, under);
    }

    /// Joins two trees by way of the block's table, where there is room. On graphs with many neighbours a vertex lost links hardly
    /// matter, and looking before every atomic pays; on sparse ones every link is kept.
    BG_DEVICE bool link(u32 a, u32 b) {
        if (p.loose) return a != b && lower_noted(max_of(a, b), min_of(a, b));
        while (a != b) {
            u32 high = max_of(a, b), under = min_of(a, b), slot = (high * 0x9E3779B1u) >> 21, key = ALONE;
            for (u32 k = 0; k < TABLE_PROBES; k++, slot = (slot + 1) & (TABLE - 1)) {
                key = load_volatile(shared->keys + slot);
                if (key == ALONE) key = atomicCAS(shared->keys + slot, ALONE, high);
                if (key == ALONE || key == high) break;
            }
            if (key != ALONE && key != high) return hook(a, b);
            if (load_volatile(shared->values + slot) == under) return false;
            u32 before = atomicMin(shared->values + slot, under);
            if (before == ALONE) return false;
            a = before;
            b = under;
        }
        return false;
    }

    /// Notes the links to so many neighbours of every vertex; whether any was made at once.
    template <u32 NEIGHBOURS> BG_DEVICE bool join_neighbours(u32 round, u32 giant) {
        constexpr u32 VERTICES = JOIN_IN_FLIGHT / NEIGHBOURS;
        bool linked = false;
        for (u32 base = threadIdx.x; base - threadIdx.x < count; base += VERTICES * blockDim.x) {
            u32 begin[VERTICES], end[VERTICES], own[VERTICES], other[JOIN_IN_FLIGHT];
            const bool beside = p.near && round == 0;
#pragma unroll
            for (u32 j = 0; j < VERTICES; j++) {
                u32 i = base + j * blockDim.x;
                own[j] = i < count && local[i] != ALONE ? label_of(i) : giant;
                begin[j] = end[j] = 0;
                if (own[j] != giant && !beside) {
                    begin[j] = load_readonly(p.offsets + low + i);
                    end[j] = load_readonly(p.offsets + low + i + 1);
                }
            }
#pragma unroll
            for (u32 j = 0; j < JOIN_IN_FLIGHT; j++) {
                u32 first = begin[j / NEIGHBOURS], last = end[j / NEIGHBOURS], back = 2 * round + j % NEIGHBOURS;
                if (beside) {
                    u32 i = base + j / NEIGHBOURS * blockDim.x;
                    other[j] = own[j / NEIGHBOURS] != giant ? load_readonly(p.near + (2 + j % NEIGHBOURS) * (u64)p.n + low + i) : ALONE;
                    continue;
                }
                if (back >= last - first && first < last) back %= last - first;
                other[j] = first < last ? load_readonly(p.indices + last - 1 - back) : ALONE;
            }
            // Trees are flat or nearly so; where this is not the root yet, joining jumps on.
            for (u32 hop = 0; hop < HOPS; hop++) {
#pragma unroll
                for (u32 j = 0; j < JOIN_IN_FLIGHT; j++) {
                    if (other[j] != ALONE) other[j] = load_cached(p.parent + other[j]);
                }
            }
#pragma unroll
            for (u32 j = 0; j < JOIN_IN_FLIGHT; j++) {
                if (other[j] != ALONE) linked |= link(own[j / NEIGHBOURS], other[j]);
            }
        }
        return linked;
    }

    /// Joins the trees of one or two neighbours of every vertex that is not of the giant, from the end of its row, `2 * round`
    /// further in. Whether any link was made is in `shared->changed`.
    BG_DEVICE void join(u32 round, bool two, u32 giant) {
        if (threadIdx.x == 0) shared->changed = 0;
        clear_table();
        __syncthreads();
        bool linked = two ? join_neighbours<2>(round, giant) : join_neighbours<1>(round, giant);
        __syncthreads();
        for (u32 i = threadIdx.x; i < TABLE; i += blockDim.x) {
            u32 high = shared->keys[i];
            if (high != ALONE) linked |= p.loose ? lower(high, shared->values[i]) : hook(high, shared->values[i]);
        }
        if (linked) shared->changed = 1;
        __syncthreads();
    }
};
}}  // namespace bg::cc
