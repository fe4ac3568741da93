// A local numbering for meshes that lost theirs: vertices by breadth-first level from a far vertex, within a level by the places of the
// first and of the last neighbour in the level before, then by number (Cuthill and McKee, 1969, without their sorting by degree; the last
// neighbour keeps the diagonals of grids straight).
//
// Narrow levels are walked by block 0 alone, which needs no barrier of the grid; wide ones by all blocks, each a run of the level's
// vertices. All blocks are resident.
//
// Four lanes take a vertex: what bounds a level is how many lines one multiprocessor can ask for.
//
// Invariant: a vertex's claim is `base` plus the place of its first neighbour placed; `base` falls by n from sweep to sweep, so that older
// claims lose to newer ones and nothing is cleared between; the last neighbour is kept alike, rising. Places depend on nothing else: the
// order is the same whatever the grid.
#include "common/grid.cuh"
#include "formats/rows.cuh"

namespace bg {
struct OrderParams {
    RowOffsets offsets;
    const u32* indices;
    u32* claims;      // n words, all bits set
    u32* latest;      // n words, zeroed: the last neighbour in the level before
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

constexpr u32 QUAD = 4;

struct LevelWalk {
    const OrderParams& p;
    u32* scratch;  // 40 words of shared memory
    u32 base, rising;

    BG_DEVICE LevelWalk(const OrderParams& params, u32* shared) : p(params), scratch(shared), base(0), rising(0) {}

    BG_DEVICE u64 row_end(u32 vertex, u64 start) { return min_of(p.offsets.at((u64)vertex + 1), start + p.longest); }
    /// Every vertex of the run claims its neighbours in the next level; `level` is where the level starts.
    BG_DEVICE void claim(u32 begin, u32 end, u32 level) {
        for (u32 place = begin + threadIdx.x / QUAD; place < end; place += blockDim.x / QUAD) {
            u32 vertex = load_l2(p.queue + place), mark = base + place;
            u64 row = p.offsets.at(vertex), last = row_end(vertex, row);
            for (u64 k = row + threadIdx.x % QUAD; k < last; k += QUAD) {
                u32 neighbour = load_readonly(p.indices + k), claimed = load_l2(p.claims + neighbour);
                // Earlier levels claimed theirs with smaller places.
                if (claimed < base + level || neighbour == vertex) continue;
                if (claimed > mark) reduce_min(p.claims + neighbour, mark);
                reduce_max(p.latest + neighbour, rising + place);
            }
        }
    }
    BG_DEVICE u64 sibling_key(u32 child) { return (u64)load_l2(p.latest + child) << 32 | child; }
    /// Places the children of a run of vertices from `out` on (or only counts them); gives the number of children.
    BG_DEVICE u32 place(u32 begin, u32 end, u32 out, bool counting) {
        u32 sum = 0, own = threadIdx.x % QUAD;
        for (u32 first = begin; first < end; first += blockDim.x / QUAD) {
            u32 at = first + threadIdx.x / QUAD, children = 0, vertex = 0, child = 0;
            u64 row = 0, last = 0;
            if (at < end) {
                vertex = load_l2(p.queue + at);
                row = p.offsets.at(vertex);
                last = row_end(vertex, row);
                for (u64 k = row + own; k < last; k += QUAD) {
                    u32 neighbour = load_readonly(p.indices + k);
                    if (load_l2(p.claims + neighbour) != base + at || neighbour == vertex) continue;
                    child = neighbour;
                    children++;
                }
            }
            u32 total, before = out + sum + block_scan_exclusive(children, scratch, total);
            sum += total;
            if (counting) continue;
            u32 head = shuffle(before, lane() & ~(QUAD - 1)), family = children;
            for (u32 d = 1; d < QUAD; d <<= 1) family += shuffle_xor(family, d);
            bool is_short = last - row <= QUAD;
            // Short rows: each lane has at most one child and ranks it among its siblings.
            u64 key = is_short && children && family > 1 ? sibling_key(child) : ~0ull;
            u32 rank = 0;
            for (u32 d = 1; d < QUAD; d++) rank += shuffle_xor(key, d) < key;
            if (is_short) {
                if (children) p.queue[head + rank] = child;
            } else if (children) {
                u32 place = before;
                for (u64 k = row + own; k < last; k += QUAD) {
                    u32 neighbour = load_readonly(p.indices + k);
                    if (load_l2(p.claims + neighbour) == base + at && neighbour != vertex) p.queue[place++] = neighbour;
                }
            }
            warp_sync();
            if (!is_short && own == 0 && family > 1) sort_siblings(head, family);
        }
        return sum;
    }
    BG_DEVICE void sort_siblings(u32 head, u32 count) {
        for (u32 i = 1; i < count; i++) {
            u32 child = load_l2(p.queue + head + i), j = i;
            u64 key = sibling_key(child);
            for (; j > 0; j--) {
                u32 other = load_l2(p.queue + head + j - 1);
                if (sibling_key(other) < key) break;
                p.queue[head + j] = other;
            }
            p.queue[head + j] = child;
        }
    }
    /// The vertex of fewest entries, then of smallest number, among places; block 0, in all its threads.
    BG_DEVICE u32 min_connected(u32 begin, u32 end) {
        u64 best = ~0ull;
        for (u32 at = begin + threadIdx.x; at < end; at += blockDim.x) {
            u32 vertex = load_l2(p.queue + at);
            u64 degree = p.offsets.at((u64)vertex + 1) - p.offsets.at(vertex);
            best = min_of(best, degree << 32 | vertex);
        }
        return (u32)block_min(best);
    }
    /// The first vertex from `from` on that is not placed and has entries; all bits set if there is none. Block 0.
    BG_DEVICE u32 next_root(u32 from) {
        for (u64 first = from; first < p.n; first += (u64)blockDim.x * 8) {
            u64 found = ~0ull;
            for (u32 i = 0; i < 8; i++) {
                u64 vertex = first + i * blockDim.x + threadIdx.x;
                bool left = vertex < p.n && load_l2(p.claims + vertex) >= p.n;
                if (left && p.offsets.at(vertex + 1) > p.offsets.at(vertex)) found = min_of(found, vertex);
            }
            if (!__syncthreads_or(found != ~0ull)) continue;
            return (u32)block_min(found);
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
    BG_DEVICE u64 block_min(u64 value) {
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
        walk.rising = sweep * p.n;
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
                        walk.claim(begin, end, begin);
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
                walk.claim(own, own_end, begin);
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
                root = walk.min_connected(last, end);
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
        if (p.limit == ~0u && placed < p.n) walk.append(placed);
        if (threadIdx.x == 0) {
            p.result[ORDER_PLACED] = placed;
            p.result[ORDER_LEVELS] = levels_of_first;
            p.result[ORDER_WIDEST] = widest;
            p.result[ORDER_COMPONENTS] = component;
        }
        grid.report(levels_of_first);
    }
}
