// A local numbering for meshes that lost theirs: vertices by breadth-first level from a far vertex, within a level by the place of the
// first neighbour in the level before, then by number (Cuthill and McKee, 1969, without their sorting by degree).
//
// Narrow levels are walked by block 0 alone, which needs no barrier of the grid; wide ones by all blocks, each a run of the level's
// vertices. All blocks are resident.
//
// Invariant: a vertex's claim is `base` plus the place of its first neighbour placed; `base` falls by n from sweep to sweep, so that older
// claims lose to newer ones and nothing is cleared between. Places depend on nothing else: the order is the same whatever the grid.
#include "common/grid.cuh"
#include "formats/rows.cuh"

namespace bg {
struct OrderParams {
    RowOffsets offsets;
    const u32* indices;
    u32* claims;      // n words, all bits set
    u32* queue;       // n places: the old vertex of each new number
    u32* totals;      // a word for each block
    u32* result;      // see the enumeration below
    GridState* state;
    HostLink link;
    u32 n;
    u32 start;        // a vertex of the component to be walked first; all bits set: the first that has entries (there is one)
    u32 sweeps;       // of that component: each starts where the one before ended
    u32 components;   // at most; the rest keeps its order, at the end
    u32 narrow;       // widest level that block 0 walks alone
    u32 limit;        // end after about so many vertices (a probe); all bits set: walk everything
    u32 longest;      // entries looked at of a row
    u32 unused;
};
enum OrderResult { ORDER_PLACED, ORDER_LEVELS, ORDER_WIDEST, ORDER_COMPONENTS };

struct LevelWalk {
    const OrderParams& p;
    u32* scratch;  // 40 words of shared memory
    u32 base;

    BG_DEVICE LevelWalk(const OrderParams& params, u32* shared) : p(params), scratch(shared), base(0) {}

    BG_DEVICE u64 row_end(u32 vertex, u64 start) { return min_of(p.offsets.at((u64)vertex + 1), start + p.longest); }
    /// Every vertex of the run claims its neighbours.
    BG_DEVICE void claim(u32 begin, u32 end) {
        for (u32 place = begin + threadIdx.x; place < end; place += blockDim.x) {
            u32 vertex = load_l2(p.queue + place), mark = base + place;
            u64 k = p.offsets.at(vertex), last = row_end(vertex, k);
            for (; k < last; k += 4) {
                u32 neighbour[4];
                bool better[4];
                for (u32 i = 0; i < 4; i++) neighbour[i] = load_readonly(p.indices + min_of(k + i, last - 1));
                for (u32 i = 0; i < 4; i++) better[i] = load_l2(p.claims + neighbour[i]) > mark;
                for (u32 i = 0; i < 4; i++) {
                    if (better[i]) atomicMin(p.claims + neighbour[i], mark);
                }
            }
        }
    }
    /// Which of the up to four entries of a row from k on are children of its vertex, as bits. Its own claim is older, but for the
    /// root's.
    BG_DEVICE u32 children_of(u64 k, u64 last, u32 vertex, u32 mark, u32 (&neighbour)[4]) {
        u32 claim[4], bits = 0;
        for (u32 i = 0; i < 4; i++) neighbour[i] = load_readonly(p.indices + min_of(k + i, last - 1));
        for (u32 i = 0; i < 4; i++) claim[i] = load_l2(p.claims + neighbour[i]);
        for (u32 i = 0; i < 4; i++) bits |= (k + i < last && claim[i] == mark && neighbour[i] != vertex ? 1u : 0u) << i;
        return bits;
    }
    /// Places the children of a run of vertices from `out` on (or only counts them); gives the number of children.
    BG_DEVICE u32 place(u32 begin, u32 end, u32 out, bool counting) {
        u32 sum = 0;
        for (u32 first = begin; first < end; first += blockDim.x) {
            u32 at = first + threadIdx.x, children = 0, vertex = 0, neighbour[4];
            u64 chosen = 0, row = 0, last = 0;
            if (at < end) {
                vertex = load_l2(p.queue + at);
                row = p.offsets.at(vertex);
                last = row_end(vertex, row);
                for (u64 k = row; k < last; k += 4) {
                    u32 bits = children_of(k, last, vertex, base + at, neighbour);
                    children += (u32)__popc(bits);
                    if (k - row < 64) chosen |= (u64)bits << (k - row);
                }
            }
            u32 total, before = block_scan_exclusive(children, scratch, total);
            if (!counting && children) {
                u32 place = out + sum + before;
                for (; chosen; chosen &= chosen - 1) p.queue[place++] = load_readonly(p.indices + row + (u32)__ffsll((i64)chosen) - 1);
                // Long rows are looked through again.
                for (u64 k = row + 64; k < last; k += 4) {
                    for (u32 bits = children_of(k, last, vertex, base + at, neighbour); bits; bits &= bits - 1) {
                        p.queue[place++] = load_readonly(p.indices + k + (u32)__ffs(bits) - 1);
                    }
                }
            }
            sum += total;
        }
        return sum;
    }
    /// The vertex of fewest entries, then of smallest number, among places; block 0, in all its threads.
    BG_DEVICE u32 least_connected(u32 begin, u32 end) {
        u64 best = ~0ull;
        for (u32 at = begin + threadIdx.x; at < end; at += blockDim.x) {
            u32 vertex = load_l2(p.queue + at);
            u64 degree = p.offsets.at((u64)vertex + 1) - p.offsets.at(vertex);
            best = min_of(best, degree << 32 | vertex);
        }
        return (u32)block_least(best);
    }
    /// The first vertex from `from` on that is not placed and has entries; all bits set if there is none. Block 0.
    BG_DEVICE u32 next_root(u32 from) {
        for (u64 first = from; first < p.n; first += blockDim.x) {
            u64 vertex = first + threadIdx.x, found = ~0ull;
            if (vertex < p.n && load_l2(p.claims + vertex) >= p.n && p.offsets.at(vertex + 1) > p.offsets.at(vertex)) found = vertex;
            found = block_least(found);
            if (found != ~0ull) return (u32)found;
        }
        return ~0u;
    }
    /// Appends what is not placed, in its own order. Block 0.
    BG_DEVICE void append(u32 out) {
        for (u64 first = 0; first < p.n; first += (u64)blockDim.x * 4) {
            u32 left = 0, total;
            u64 own = first + (u64)threadIdx.x * 4;
            for (u32 k = 0; k < 4; k++) left |= (own + k < p.n && load_l2(p.claims + own + k) >= p.n ? 1u : 0u) << k;
            u32 place = out + block_scan_exclusive((u32)__popc(left), scratch, total);
            for (; left; left &= left - 1) p.queue[place++] = (u32)own + (u32)__ffs(left) - 1;
            out += total;
        }
    }
    BG_DEVICE u64 block_least(u64 value) {
        u64* words = (u64*)(scratch + 40);
        for (u32 d = 16; d; d >>= 1) value = min_of(value, shuffle_xor(value, d));
        __syncthreads();
        if (lane() == 0) words[threadIdx.x / WARP] = value;
        __syncthreads();
        for (u32 w = 0; w < blockDim.x / WARP; w++) value = min_of(value, words[w]);
        return value;
    }
};
}  // namespace bg
using namespace bg;

BG_KERNEL(order_levels, OrderParams, 1024, 1) {
    u32* shared = (u32*)shared_memory();
    Grid grid(p.state, p.link, shared);
    LevelWalk walk(p, shared + 4);
    bool first_block = blockIdx.x == 0;
    u32 placed = 0, root = p.start, component = 0, sweep = 0, cursor = 0, widest = 0, levels_of_first = 0;
    if (first_block && root == ~0u) root = walk.next_root(0);
    for (;;) {
        u32 sweeps = component == 0 ? p.sweeps : 1;
        walk.base = (sweeps - 1 - sweep) * p.n;
        if (first_block && threadIdx.x == 0) {
            p.queue[placed] = root;
            p.claims[root] = walk.base + placed;
        }
        __syncthreads();
        u32 begin = placed, end = placed + 1, last = placed, levels = 0;
        while (begin < end) {
            if (end - begin <= p.narrow) {
                if (first_block) {
                    while (begin < end && end - begin <= p.narrow && end - placed < p.limit) {
                        walk.claim(begin, end);
                        __syncthreads();
                        u32 children = walk.place(begin, end, end, false);
                        __syncthreads();
                        last = begin;
                        begin = end;
                        end += children;
                        widest = max_of(widest, children);
                        levels++;
                    }
                    if (end - placed >= p.limit) begin = end;
                    if (threadIdx.x == 0) {
                        grid.add_a(begin);
                        grid.add_b(end);
                        grid.add_c(levels);
                    }
                }
                Meeting m = grid.meet();
                if (m.stop) return;
                begin = m.a;
                end = m.b;
                levels = m.c;
            } else {
                u32 share = ceil_div(end - begin, gridDim.x);
                u32 own = min_of(end, begin + blockIdx.x * share), own_end = min_of(end, own + share);
                walk.claim(own, own_end);
                if (grid.meet().stop) return;
                u32 count = walk.place(own, own_end, 0, true);
                if (threadIdx.x == 0) {
                    p.totals[blockIdx.x] = count;
                    grid.add_a(count);
                }
                Meeting m = grid.meet();
                if (m.stop) return;
                u32 before = 0;
                for (u32 b = threadIdx.x; b < blockIdx.x; b += blockDim.x) before += load_volatile(p.totals + b);
                before = block_sum(before, walk.scratch);
                walk.place(own, own_end, end + before, false);
                if (grid.meet().stop) return;
                last = begin;
                begin = end;
                end += m.a;
                widest = max_of(widest, m.a);
                levels++;
            }
            if (end - placed >= p.limit) break;
        }
        // Block 0 chooses where to go on; the others learn whether there is anything left.
        sweep++;
        bool again = sweep < sweeps;
        if (first_block) {
            if (component == 0) levels_of_first = levels;
            if (again) {
                root = walk.least_connected(last, end);
            } else if (p.limit != ~0u || component + 1 >= p.components) {
                root = ~0u;
            } else {
                root = walk.next_root(cursor);
                cursor = root;
            }
            if (threadIdx.x == 0) {
                grid.add_a(root != ~0u);
                grid.add_b(end);
            }
        }
        Meeting m = grid.meet();
        if (m.stop) return;
        if (!again) {
            placed = m.b;
            component++;
            sweep = 0;
        }
        if (!m.a) break;
    }
    if (first_block) {
        if (p.limit == ~0u) walk.append(placed);
        if (threadIdx.x == 0) {
            p.result[ORDER_PLACED] = placed;
            p.result[ORDER_LEVELS] = levels_of_first;
            p.result[ORDER_WIDEST] = widest;
            p.result[ORDER_COMPONENTS] = component;
        }
        grid.report(levels_of_first);
    }
}
