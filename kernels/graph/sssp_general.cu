// Shortest paths on any graph, with any weights that are not negative: near-far stepping in one cooperative launch.
//
// Vertices nearer than a threshold are relaxed in rounds until none is left, the others wait in a far list; then the threshold
// moves to the smallest waiting distance plus delta. A round reads the near queue, collects what it improved in shared memory,
// and appends it to the next queue in pieces of a row, so that a hub is shared by many warps.
//
// A vertex is queued at most once per round and waits at most once, so the queues have a fixed size: every improvement leaves a
// tag (the round, or FAR) beside the distance, and only the one that changes the tag queues. Tags of near rounds win over FAR.
//
// Method: A. Davidson, S. Baxter, M. Garland, J. Owens, "Work-efficient parallel GPU methods for single-source shortest
// paths", IPDPS 2014 (near-far piles).
#include "graph/sssp.cuh"
#include "tuning/sssp.cuh"

namespace bg {
/// The smallest waiting distances: of this threshold, of the next (filled while the far list is read), and one being cleared.
struct FarMin {
    u64 cells[4];
};

template <class Bits> struct NearFarParams {
    GridState* state;
    HostLink link;
    const u32* offsets;
    const u32* indices;
    const Bits* weights;  // null: every arc has length 1
    u64* words;           // distances and, where both fit 64 bits, tags
    u32* tags;            // tags of wide distances
    Bits* distances;      // the result
    uint4* near0;         // {vertex, first entry, entries, -}
    uint4* near1;
    u32* far0;
    u32* far1;
    FarMin* smallest;
    u64 delta;            // bits in the type of the distances
    u32 nodes, source;
    u32 target;           // stop once its distance is final; NO_VERTEX: never
    u32 piece;            // entries of a row per queue entry
    u32 lanes;            // that share a queue entry; a power of two
    u32 stage;            // vertices, near and far each, that a block collects before it writes to the queues directly
};

/// Distances of 32 bits: the word is distance and tag, one atomic decides both.
template <class Key, u32 bytes> struct Distances {
    u64* words;
    BG_DEVICE Distances(u64* w, u32*) : words(w) {}
    BG_DEVICE void reset(u32 v, u32 distance) { words[v] = (u64)distance << 32; }
    BG_DEVICE u32 read(u32 v) const { return (u32)(load_l2(words + v) >> 32); }
    /// Whether the caller must queue `v`.
    BG_DEVICE bool improve(u32 v, u32 distance, u32 tag, bool& better) {
        u64 old = atomicMin(words + v, (u64)distance << 32 | tag);
        better = (u32)(old >> 32) > distance;
        return better && (u32)old != tag;
    }
    BG_DEVICE void retag(u32 v, u32 distance, u32 tag) { words[v] = (u64)distance << 32 | tag; }
};
/// Distances of 64 bits: the tag follows in a second atomic. It only grows, so that a far improvement that comes late does not
/// hide that the vertex is queued.
template <class Key> struct Distances<Key, 8> {
    u64* words;
    u32* tags;
    BG_DEVICE Distances(u64* w, u32* t) : words(w), tags(t) {}
    BG_DEVICE void reset(u32 v, u64 distance) {
        words[v] = distance;
        tags[v] = 0;
    }
    BG_DEVICE u64 read(u32 v) const { return load_l2(words + v); }
    BG_DEVICE bool improve(u32 v, u64 distance, u32 tag, bool& better) {
        better = atomicMin(words + v, distance) > distance;
        return better && atomicMax(tags + v, tag) < tag;
    }
    BG_DEVICE void retag(u32 v, u64, u32 tag) { tags[v] = tag; }
};

/// One block's view of the search.
template <class Key> struct NearFar {
    typedef typename Key::Bits Bits;
    const NearFarParams<Bits>& p;
    Grid grid;
    Distances<Key, sizeof(Bits)> known;
    u64* shared_min;
    u32 *staged_near, *staged_far;  // counters
    u32* scratch;                   // 36 words: 33 of the scan, two positions
    uint4* near_stage;              // {vertex, start of its row, entries, -}
    u32* far_stage;
    Bits threshold;
    u32 near_tag, far_tag;
    Bits smallest;                     // of the far distances that this thread found

    BG_DEVICE NearFar(const NearFarParams<Bits>& params, u8* shared)
        : p(params), grid(params.state, params.link, shared), known(params.words, params.tags) {
        shared_min = (u64*)(shared + 16);
        staged_near = (u32*)(shared + 24);
        staged_far = staged_near + 1;
        scratch = (u32*)(shared + 32);
        near_stage = (uint4*)(shared + 256);
        far_stage = (u32*)(near_stage + p.stage);
        smallest = Key::UNREACHED;
    }
    BG_DEVICE BarrierSlot* slot() { return &p.state->slots[grid.turn & 3]; }
    /// A vertex with its row.
    BG_DEVICE uint4 row_of(u32 v) const {
        u32 start = load_readonly(p.offsets + v);
        return make_uint4(v, start, load_readonly(p.offsets + v + 1) - start, 0);
    }
    BG_DEVICE u32 pieces(uint4 row) const { return ceil_div(row.z, p.piece); }
    BG_DEVICE void put_piece(uint4* queue, u32 at, uint4 row, u32 index) const {
        u32 done = index * p.piece;
        queue[at] = make_uint4(row.x, row.y + done, min_of(row.z - done, p.piece), 0);
    }
    BG_DEVICE void clear_stage() {
        if (threadIdx.x == 0) {
            *staged_near = 0;
            *staged_far = 0;
            *shared_min = ~0ull;
        }
        smallest = Key::UNREACHED;
        __syncthreads();
    }
    /// Collects up to ARCS vertices per lane, near and far. All lanes call it.
    BG_DEVICE void collect(const uint4 (&row)[ARCS], const bool (&near)[ARCS], const bool (&far)[ARCS], uint4* next, u32* far_next, u32 far_base) {
        u32 below = (1u << lane()) - 1, near_at[ARCS], far_at[ARCS], near_sum = 0, far_sum = 0;
#pragma unroll
        for (u32 j = 0; j < ARCS; j++) {
            u32 mask = ballot(near[j]);
            near_at[j] = near_sum + __popc(mask & below);
            near_sum += __popc(mask);
            mask = ballot(far[j]);
            far_at[j] = far_sum + __popc(mask & below);
            far_sum += __popc(mask);
        }
        u32 near_base = 0, far_position = 0;
        if (lane() == 0) {
            if (near_sum) near_base = atomicAdd(staged_near, near_sum);
            if (far_sum) far_position = atomicAdd(staged_far, far_sum);
        }
        near_base = shuffle(near_base, 0);
        far_position = shuffle(far_position, 0);
#pragma unroll
        for (u32 j = 0; j < ARCS; j++) {
            if (near[j]) {
                u32 at = near_base + near_at[j];
                if (at < p.stage) {
                    near_stage[at] = row[j];
                } else {
                    u32 count = pieces(row[j]);
                    at = count ? atomicAdd(&slot()->a, count) : 0;
                    for (u32 k = 0; k < count; k++) put_piece(next, at + k, row[j], k);
                }
            }
            if (far[j]) {
                u32 at = far_position + far_at[j];
                if (at < p.stage) far_stage[at] = row[j].x;
                else far_next[far_base + atomicAdd(&slot()->b, 1u)] = row[j].x;
            }
        }
    }
    /// Writes what the block collected to the queues. `cell` gets the smallest far distance.
    BG_DEVICE void flush(uint4* next, u32* far_next, u32 far_base, u64* cell) {
        if (any(smallest != Key::UNREACHED)) {
            Bits warp = warp_min(smallest);
            if (lane() == 0) atomicMin(shared_min, (u64)warp);
        }
        __syncthreads();
        u32 near_count = min_of(*staged_near, p.stage), far_count = min_of(*staged_far, p.stage);
        if (near_count == 0 && far_count == 0) {
            if (threadIdx.x == 0 && *shared_min != ~0ull) atomicMin(cell, *shared_min);
            return;
        }
        if (threadIdx.x == 0 && *shared_min != ~0ull) atomicMin(cell, *shared_min);
        // Few entries: each warp finds room for its own, without barriers of the block. The warps that have none do the far ones.
        if (near_count <= 256 && far_count <= 256) {
            const u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
            for (u32 first = warp * WARP; first < near_count; first += warps * WARP) put_rows(next, first + lane(), near_count, 0, false);
            for (u32 first = (warps - 1 - warp) * WARP; first < far_count; first += warps * WARP) {
                u32 n = min_of(far_count - first, WARP), at = 0;
                if (lane() == 0) at = atomicAdd(&slot()->b, n);
                at = shuffle(at, 0);
                if (lane() < n) far_next[far_base + at + lane()] = far_stage[first + lane()];
            }
            return;
        }
        u32 own = 0, total;
        for (u32 i = threadIdx.x; i < near_count; i += blockDim.x) own += pieces(near_stage[i]);
        u32 at = block_scan_exclusive(own, scratch, total);
        if (threadIdx.x == 0) {
            scratch[34] = total ? atomicAdd(&slot()->a, total) : 0;
            scratch[35] = far_base + (far_count ? atomicAdd(&slot()->b, far_count) : 0);
        }
        __syncthreads();
        at += scratch[34];
        far_next += scratch[35];
        for (u32 first = threadIdx.x & ~31u; first < near_count; first += blockDim.x) at = put_rows(next, first + lane(), near_count, at, true);
        for (u32 i = threadIdx.x; i < far_count; i += blockDim.x) far_next[i] = far_stage[i];
    }
    /// Writes the pieces of a staged row of each lane, from `at` on if the place is known; returns the place after them.
    BG_DEVICE u32 put_rows(uint4* next, u32 i, u32 staged, u32 at, bool placed) {
        uint4 row = i < staged ? near_stage[i] : make_uint4(0, 0, 0, 0);
        u32 count = pieces(row);
        if (!placed) {
            u32 inclusive = scan_inclusive(count), sum = shuffle(inclusive, WARP - 1), base = 0;
            if (lane() == 0 && sum) base = atomicAdd(&slot()->a, sum);
            at = shuffle(base, 0) + inclusive - count;
        }
        if (count <= 8) {
            for (u32 k = 0; k < count; k++) put_piece(next, at + k, row, k);
        }
        for (u32 hubs = ballot(count > 8); hubs; hubs &= hubs - 1) {
            u32 who = __ffs(hubs) - 1, n = shuffle(count, who), a = shuffle(at, who);
            uint4 hub = make_uint4(shuffle(row.x, who), shuffle(row.y, who), shuffle(row.z, who), 0);
            for (u32 k = lane(); k < n; k += WARP) put_piece(next, a + k, hub, k);
        }
        return at + count;
    }
    /// Relaxes the arcs of the near queue.
    BG_DEVICE void relax(const uint4* queue, u32 count, uint4* next, u32* far_next, u32 far_base) {
        const u32 lanes = p.lanes, sub = lane() & (lanes - 1), per_warp = WARP / lanes;
        const u32 warps = gridDim.x * (blockDim.x / WARP), warp = threadIdx.x / WARP * gridDim.x + blockIdx.x;
        for (u32 base = warp * per_warp; base < count; base += warps * per_warp) {
            u32 e = base + lane() / lanes;
            uint4 entry = e < count ? load_l2(queue + e) : make_uint4(0, 0, 0, 0);
            Bits distance = entry.z ? known.read(entry.x) : Bits(0);
            u32 longest = warp_max(entry.z);
            for (u32 o = 0; o < longest; o += ARCS * lanes) {
                uint4 row[ARCS];
                Bits sum[ARCS], now[ARCS];
                bool near[ARCS], far[ARCS], wanted = false;
#pragma unroll
                for (u32 j = 0; j < ARCS; j++) {
                    u32 k = o + j * lanes + sub;
                    bool on = k < entry.z;
                    row[j].x = on ? load_readonly(p.indices + entry.y + k) : NO_VERTEX;
                    sum[j] = on ? (p.weights ? load_readonly(p.weights + entry.y + k) : Key::ONE) : Bits(0);
                }
#pragma unroll
                for (u32 j = 0; j < ARCS; j++) {
                    now[j] = row[j].x != NO_VERTEX ? known.read(row[j].x) : Bits(0);
                    sum[j] = Key::extend(distance, sum[j]);
                }
#pragma unroll
                for (u32 j = 0; j < ARCS; j++) {
                    near[j] = far[j] = false;
                    if (sum[j] < now[j]) {
                        bool is_near = sum[j] < threshold, better;
                        // The row is under way while the atomic is.
                        if (is_near) row[j] = row_of(row[j].x);
                        bool queue_it = known.improve(row[j].x, sum[j], is_near ? near_tag : far_tag, better);
                        near[j] = queue_it && is_near;
                        far[j] = queue_it && !is_near;
                        if (better && !is_near) smallest = min_of(smallest, sum[j]);
                    }
                    wanted = wanted || near[j] || far[j];
                }
                if (any(wanted)) collect(row, near, far, next, far_next, far_base);
            }
        }
    }
    /// Reads the far list after the threshold moved up from `before`.
    BG_DEVICE void split(const u32* queue, u32 count, Bits before, uint4* next, u32* far_next) {
        for (u32 base = blockIdx.x * blockDim.x + (threadIdx.x & ~31u); base < count; base += gridDim.x * blockDim.x) {
            u32 e = base + lane();
            uint4 row[ARCS] = {};
            bool near[ARCS] = {}, far[ARCS] = {};
            if (e < count) {
                row[0].x = load_l2(queue + e);
                Bits distance = known.read(row[0].x);
                // Below the old threshold it has been relaxed already.
                if (distance >= before) {
                    near[0] = distance < threshold;
                    far[0] = !near[0];
                    if (far[0]) smallest = min_of(smallest, distance);
                    known.retag(row[0].x, distance, near[0] ? near_tag : far_tag);
                    if (near[0]) row[0] = row_of(row[0].x);
                }
            }
            collect(row, near, far, next, far_next, 0);
        }
    }
};

/// The tags of a round: see Distances. Wide distances need tags that grow.
template <u32 bytes> struct Tags {
    static BG_DEVICE u32 near(u32 round) { return round; }
    static BG_DEVICE u32 far(u32) { return 0xffffffffu; }
};
template <> struct Tags<8> {
    static BG_DEVICE u32 near(u32 round) { return 2 * round + 1; }
    static BG_DEVICE u32 far(u32 round) { return 2 * round; }
};

template <class Key> BG_DEVICE void near_far(const NearFarParams<typename Key::Bits>& p) {
    typedef typename Key::Bits Bits;
    NearFar<Key> search(p, shared_memory());
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (u32 v = thread; v < p.nodes; v += threads) search.known.reset(v, v == p.source ? Bits(0) : Key::UNREACHED);
    const uint4 source = search.row_of(p.source);
    u32 near_count = search.pieces(source);
    for (u32 k = thread; k < near_count; k += threads) search.put_piece(p.near0, k, source, k);
    if (thread < 4) p.smallest->cells[thread] = ~0ull;
    if (search.grid.meet().stop) return;

    u32 far_count = 0, epoch = 0, round = 1;
    bool near_turn = false, far_turn = false;  // which of the two queues holds the current entries
    search.threshold = max_of(Key::extend(Bits(0), (Bits)p.delta), Bits(1));
    search.far_tag = Tags<sizeof(Bits)>::far(round);
    while (near_count || far_count) {
        search.near_tag = Tags<sizeof(Bits)>::near(round++);
        search.clear_stage();
        const uint4* near = near_turn ? p.near1 : p.near0;
        uint4* next = near_turn ? p.near0 : p.near1;
        u64* cell = &p.smallest->cells[epoch & 3];
        bool relaxing = near_count != 0;
        if (relaxing) {
            u32* far = far_turn ? p.far1 : p.far0;
            search.relax(near, near_count, next, far, far_count);
            search.flush(next, far, far_count, cell);
        } else {
            const u32* far = far_turn ? p.far1 : p.far0;
            u32* far_next = far_turn ? p.far0 : p.far1;
            Bits before = search.threshold, from = (Bits)load_volatile(cell);
            // Above the smallest distance even where adding delta changes nothing, or nothing would ever be near.
            search.threshold = max_of(Key::extend(from, (Bits)p.delta), (Bits)(from + 1));
            search.far_tag = Tags<sizeof(Bits)>::far(round - 1);
            if (thread == 0) p.smallest->cells[(epoch + 2) & 3] = ~0ull;
            epoch++;
            search.split(far, far_count, before, next, far_next);
            search.flush(next, far_next, 0, &p.smallest->cells[epoch & 3]);
            far_turn = !far_turn;
            search.grid.report(epoch);
        }
        Meeting sum = search.grid.meet();
        if (sum.stop) return;
        near_turn = !near_turn;
        near_count = sum.a;
        far_count = relaxing ? far_count + sum.b : sum.b;
        if (p.target != NO_VERTEX && near_count == 0 && search.known.read(p.target) < search.threshold) break;
    }
    for (u32 v = thread; v < p.nodes; v += threads) p.distances[v] = search.known.read(v);
}
}  // namespace bg

BG_KERNEL(sssp_general_u32, bg::NearFarParams<u32>, 1024, 1) { bg::near_far<bg::WholeKey>(p); }
BG_KERNEL(sssp_general_u64, bg::NearFarParams<u64>, 1024, 1) { bg::near_far<bg::WideKey>(p); }
BG_KERNEL(sssp_general_f32, bg::NearFarParams<u32>, 1024, 1) { bg::near_far<bg::RealKey>(p); }
BG_KERNEL(sssp_general_f64, bg::NearFarParams<u64>, 1024, 1) { bg::near_far<bg::DoubleKey>(p); }
