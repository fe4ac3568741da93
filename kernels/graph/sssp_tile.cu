// Shortest paths on graphs whose parts fit the shared memory of a block: meshes and grids in one part per multiprocessor, small
// graphs in one.
//
// Needs: whole weights below 65535, distances below TILE_INFINITE, at most 65000 vertices and 1023 quads a row in a part, all
// blocks resident, at least as many threads as blocks and as many as a quarter of a part's entrances.
//
// A block keeps distances, rows and arcs of its part and relaxes its own queue, one barrier of the block a hop; there is no
// barrier of the grid. A word is twice the distance, plus 1 if the vertex is not queued, so that one atomic minimum improves it and says
// whether to queue it. Arcs into another part send the sum into the inbox of their head by an atomic minimum: a distance is its
// own message. Vertices that such arcs enter come first in their part, so that the inbox lies like the words.
// Entries at or above the smallest queued distance of all blocks plus delta go round again; a stale minimum only delays.
// End: a counter counts batches of sends. An idle block publishes the count that it read before it found its inbox unchanged;
// once all have published the same, no message is unread and no thread is at work.
#include "graph/sssp_tile.cuh"

namespace bg {
struct TileParams {
    GridState* state;
    HostLink link;
    const TileHead* heads;
    const u8* blobs;
    const u32* order;      // vertex at a place; null: its place
    const u32* places;     // place of a vertex; null: the vertex
    u32* inbox;            // of this run
    u32* next_inbox;       // cleaned for the next one
    u32* control;          // {batches sent, over, -...} then what each block published, from PUBLISHED on
    u32* next_control;
    u32* minima;           // smallest queued distance of each block
    u32* next_minima;
    u32* distances;        // the result
    u32 source;
    u32 blob_bytes;        // of the largest part
    u32 queue;             // vertices of the largest part, rounded up
    u32 delta;             // 0: no threshold
    u32 period;            // hops between looks at the inbox
    u32 pad;
};
constexpr u32 PUBLISHED = 32;

struct TileShared {
    u32 queued[4], smallest[4], others[4];  // by turn: entries of a queue, its smallest distance, that of the other blocks
    u32 batches, over, unequal, sent, published;
    u32 last_hop;  // all blocks leave before this one
    u32 pad[14];
};

template <u32 LANES, bool SHORT> BG_DEVICE void tile_search(const TileParams& p) {
    TileShared* s = (TileShared*)shared_memory();
    u16* queue = (u16*)(shared_memory() + 128);
    u16* next_queue = queue + p.queue;
    u8* blob = (u8*)(next_queue + p.queue);
    u32* words = (u32*)(blob + p.blob_bytes);
    const TileHead head = p.heads[blockIdx.x];
    const u32 sub = lane() % LANES, below = (1u << lane()) - 1, threads = blockDim.x;
    const u32 slots = ceil_div(head.entrances, 4u), block = blockIdx.x, blocks = gridDim.x;
    // Queues are short: the last warps have smallest to do, and look after everything else.
    const u32 from_last = threads - 1 - threadIdx.x;
    const bool keeper = from_last == 0;
    const u32 first = threadIdx.x / WARP * (WARP / LANES), step = threads / WARP * (WARP / LANES);
    const u32 first_place = min_of(first + lane() / LANES, p.queue - 1);
    u32* inbox = p.inbox + head.inbox;

    {
        const uint4* from = (const uint4*)(p.blobs + head.blob);
        uint4* to = (uint4*)blob;
        const u32 n = head.bytes / 16;
        for (u32 base = threadIdx.x; base < n; base += 8 * threads) {
            uint4 x[8];
#pragma unroll
            for (u32 j = 0; j < 8; j++) if (base + j * threads < n) x[j] = load_readonly(from + base + j * threads);
#pragma unroll
            for (u32 j = 0; j < 8; j++) if (base + j * threads < n) to[base + j * threads] = x[j];
        }
    }
    for (u32 i = threadIdx.x; i < 4 * slots; i += threads) p.next_inbox[head.inbox + i] = TILE_INFINITE;
    if (threadIdx.x == 0) {
        p.next_control[PUBLISHED + block] = 0;
        p.next_minima[block] = TILE_INFINITE;
    }
    if (block == 0 && threadIdx.x < PUBLISHED) p.next_control[threadIdx.x] = 0;
    const u32 source = (p.places ? p.places[p.source] : p.source) - head.first;
    const bool owns_source = source < head.count;
    // Places of a queue are read before it is known how long it is.
    for (u32 i = threadIdx.x; i < p.queue; i += threads) ((u32*)queue)[i] = 0;
    for (u32 i = threadIdx.x; i < ceil_div(head.count, 4u) * 4; i += threads) words[i] = owns_source && i == source ? 0u : 2 * TILE_INFINITE + 1;
    if (threadIdx.x < 3) {
        s->queued[threadIdx.x] = 0;
        s->smallest[threadIdx.x] = s->others[threadIdx.x] = TILE_INFINITE;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (owns_source) {
            s->queued[0] = 1;
            s->smallest[0] = 0;
            queue[0] = (u16)source;
        }
        s->batches = s->over = s->sent = s->published = 0;
        s->unequal = s->last_hop = ~0u;
    }
    __syncthreads();

    const u32* rows = (const u32*)blob;
    const uint4* arcs = (const uint4*)(blob + head.edges);
    const u16* send_starts = (const u16*)(blob + head.send_starts);
    const uint2* sends = (const uint2*)(blob + head.sends);
    u32 now = 0, next = 1, after = 2;                 // turns of the counters
    u32 seen_now = 0, seen_next = 1, seen_after = 2;  // turns of the others' smallest
    u32 others = TILE_INFINITE, loaded_min = TILE_INFINITE, phase = 0, hops = 0, stop = 0;
    bool fresh = false;
    Looks looks;
    uint4 mail = make_uint4(0, 0, 0, 0);

    // Queues the vertices whose slots, four to a thread, hold less than their words.
    auto take = [&](u32 slot, uint4 letters, u32 turn, u16* to) {
        u32 got[4] = {letters.x, letters.y, letters.z, letters.w};
        uint4 have = *(const uint4*)(words + 4 * slot);
        u32 known[4] = {have.x, have.y, have.z, have.w};
        bool any_taken = false;
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            if (got[j] < known[j] >> 1 && (atomicMin(words + 4 * slot + j, 2 * got[j]) & 1u)) {
                to[atomicAdd(&s->queued[turn], 1u)] = (u16)(4 * slot + j);
                if (p.delta) atomicMin(&s->smallest[turn], got[j]);
                any_taken = true;
            }
        }
        return any_taken;
    };

    for (;;) {
        // All that a hop begins with is asked for at once: the entries before it is known whether there are any.
        const u32 count = load_volatile(&s->queued[now]), first_entry = load_volatile(queue + first_place);
        const u32 last_hop = load_volatile(&s->last_hop);
        u32 own = 0, seen = 0, first_word = 0;
        if (p.delta) {
            own = load_volatile(&s->smallest[now]);
            seen = load_volatile(&s->others[seen_now]);
            first_word = load_volatile(words + first_entry);
        }
        if (count == 0) {
            if (blocks == 1) break;
            if (p.delta && threadIdx.x == 0) store_volatile(p.minima + block, TILE_INFINITE);
            __syncthreads();
            bool over = false;
            u64 since = 0;
            for (u32 turn = 0;; turn++) {
                bool check = (turn & 3) == 3;
                if (check) {
                    if (threadIdx.x == 0) {
                        if (s->sent) {
                            fence_device();
                            atomicAdd(p.control, 1u);
                            s->sent = 0;
                            fence_device();
                        }
                        s->batches = load_volatile(p.control);
                        s->over = load_volatile(p.control + 1);
                        fence_device();
                        if ((turn & 4095u) == 4095u) {
                            u64 t = clock_ns();
                            if (since == 0) since = t;
                            if (t - since > BARRIER_BOUND_NS) {
                                p.state->failed = 1;
                                store_volatile(p.control + 1, 1);
                            }
                        }
                        if (block == 0 && p.link.cancel && looks.due() && load_volatile(p.link.cancel)) {
                            p.state->stopped = 1;
                            store_volatile(p.control + 1, 1);
                        }
                    }
                    __syncthreads();
                    if (s->over) {
                        over = true;
                        break;
                    }
                }
                bool got = false;
                for (u32 slot = threadIdx.x; slot < slots; slot += threads) got |= take(slot, load_volatile4(inbox + 4 * slot), now, queue);
                if (__syncthreads_or(got)) break;
                if (check) {
                    u32 batches = s->batches;
                    if (threadIdx.x == 0 && s->published != batches + 1) {
                        store_volatile(p.control + PUBLISHED + block, batches + 1);
                        s->published = batches + 1;
                    }
                    if (block == 0) {
                        for (u32 b = threadIdx.x; b < blocks; b += threads) {
                            if (load_volatile(p.control + PUBLISHED + b) != batches + 1) s->unequal = turn;
                        }
                        __syncthreads();
                        if (threadIdx.x == 0 && s->unequal != turn) store_volatile(p.control + 1, 1);
                    }
                    __syncthreads();
                }
                spin_pause(0);
            }
            if (over) break;
            phase = 0;
            continue;
        }
        hops++;
        if (last_hop == hops) break;
        if (fresh) others = seen;
        const u32 threshold = p.delta ? min_of(own, others) + p.delta : TILE_INFINITE;
        if (keeper) {
            if (fresh) s->others[seen_after] = TILE_INFINITE;
            s->queued[after] = 0;
            s->smallest[after] = TILE_INFINITE;
            if (p.delta) store_volatile(p.minima + block, own);
        }
        fresh = false;
        if (phase == 0) {
            // Loaded now, looked at after the hop.
            if (p.delta && from_last < blocks) loaded_min = load_volatile(p.minima + from_last);
            if (from_last < slots) mail = load_volatile4(inbox + 4 * from_last);
            if (keeper && blocks > 1) stop = load_volatile(p.control + 1);
        }
        for (u32 base = first; base < count; base += step) {
            u32 e = base + lane() / LANES, v = first_entry, word = first_word;
            bool has = e < count;
            if (base != first) {
                v = has ? queue[e] : 0;
                if (p.delta) word = load_volatile(words + v);
            }
            if (sub == 0 && has) {
                if (threshold == TILE_INFINITE || word >> 1 < threshold) {
                    atomicOr(words + v, 1u);
                    word = load_volatile(words + v);
                }
            }
            u32 start = v, quads = 1;
            if (!SHORT) {
                u32 row = rows[v];
                start = row >> 10;
                quads = row & 1023u;
            }
            uint4 q = make_uint4(0, 0, 0, 0);
            if (sub < quads) q = arcs[start + sub];
            u32 send = 0, send_end = 0;
            if (has && blocks > 1) {
                send = send_starts[v] + sub;
                send_end = send_starts[v + 1];
            }
            if (LANES > 1) word = shuffle(word, lane() & ~(LANES - 1));
            u32 distance = word >> 1;
            bool live = has && distance < threshold, waits = has && !live && sub == 0;
            u32 longest = SHORT ? 1u : warp_max(live ? quads : 1u);
            for (u32 o = 0; o < longest; o += LANES) {
                const bool on = live && o + sub < quads;
                if (!SHORT && o && on) q = arcs[start + o + sub];
                u32 arc[4] = {q.x, q.y, q.z, q.w}, to[4], sum[4], have[4], old[4], at[4], mask[4], total = 0;
                bool push[4];
#pragma unroll
                for (u32 i = 0; i < 4; i++) {
                    to[i] = arc[i] & 0xffffu;
                    sum[i] = distance + (arc[i] >> 16);
                    have[i] = on ? load_volatile(words + to[i]) : 0;
                }
#pragma unroll
                for (u32 i = 0; i < 4; i++) old[i] = shared_min_if(sum[i] < have[i] >> 1, words + to[i], 2 * sum[i], have[i]);
#pragma unroll
                for (u32 i = 0; i < 4; i++) push[i] = sum[i] < have[i] >> 1 && (old[i] & 1u) && 2 * sum[i] < old[i];
                if (o == 0 && waits) {
                    push[0] = true;
                    to[0] = v;
                    sum[0] = distance;
                }
#pragma unroll
                for (u32 i = 0; i < 4; i++) {
                    mask[i] = ballot(push[i]);
                    at[i] = total + __popc(mask[i] & below);
                    total += __popc(mask[i]);
                }
                if (total == 0) continue;
                u32 position = 0;
                if (lane() == 0) position = atomicAdd(&s->queued[next], total);
                if (p.delta) {
                    u32 smallest = TILE_INFINITE;
#pragma unroll
                    for (u32 i = 0; i < 4; i++) if (push[i]) smallest = min_of(smallest, sum[i]);
                    smallest = warp_min(smallest);
                    if (lane() == 0) atomicMin(&s->smallest[next], smallest);
                }
                position = shuffle(position, 0);
#pragma unroll
                for (u32 i = 0; i < 4; i++) if (push[i]) next_queue[position + at[i]] = (u16)to[i];
            }
            if (live && send < send_end) {
                s->sent = 1;
                for (; send < send_end; send += 4 * LANES) {
                    uint2 letters[4];
#pragma unroll
                    for (u32 j = 0; j < 4; j++) letters[j] = sends[min_of(send + j * LANES, send_end - 1)];
#pragma unroll
                    for (u32 j = 0; j < 4; j++) {
                        if (send + j * LANES < send_end) reduce_min(p.inbox + letters[j].x, distance + letters[j].y);
                    }
                }
            }
        }
        if (++phase == p.period) {
            phase = 0;
            if (p.delta && from_last < ceil_div(blocks, WARP) * WARP) {
                u32 smallest = warp_min(from_last < blocks ? loaded_min : TILE_INFINITE);
                if (lane() == 0) atomicMin(&s->others[seen_next], smallest);
            }
            if (from_last < slots) take(from_last, mail, next, next_queue);
            if (keeper && stop) s->last_hop = hops + 1;
            if (p.delta) {
                u32 t = seen_now;
                seen_now = seen_next;
                seen_next = seen_after;
                seen_after = t;
                fresh = true;
            }
        }
        if (block == 0 && keeper && (hops & 63u) == 0 && p.link.cancel && looks.due()) {
            store_volatile(p.link.progress, hops);
            if (load_volatile(p.link.cancel)) {
                p.state->stopped = 1;
                store_volatile(p.control + 1, 1);
                s->last_hop = hops + 1;
            }
        }
        __syncthreads();
        u32 t = now;
        now = next;
        next = after;
        after = t;
        u16* u = queue;
        queue = next_queue;
        next_queue = u;
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(&p.state->steps, hops);
    for (u32 i = threadIdx.x; i < head.count; i += threads) {
        u32 distance = words[i] >> 1, place = head.first + i;
        p.distances[p.order ? p.order[place] : place] = distance == TILE_INFINITE ? ~0u : distance;
    }
}
}  // namespace bg

BG_KERNEL(sssp_tile_short, bg::TileParams, 1024, 1) { bg::tile_search<1, true>(p); }
BG_KERNEL(sssp_tile_2, bg::TileParams, 1024, 1) { bg::tile_search<2, false>(p); }
BG_KERNEL(sssp_tile_4, bg::TileParams, 1024, 1) { bg::tile_search<4, false>(p); }
