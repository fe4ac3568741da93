// Shortest paths on graphs of small diameter with whole weights: sweeps over rows sorted by weight, without queues.
//
// Needs: an arc packs into 32 bits (weight over id), sums stay below 2^31, states of all vertices fit the shared memory of the
// device, all blocks resident.
//
// Every thread owns vertices. A pushing sweep relaxes, for each vertex below a rising threshold, the arcs whose sums fall below
// it; since rows are sorted, a state {distance, position, weight of the next arc} says where to go on. Once the vertices at or
// above the threshold hold few arcs, the threshold stays until nothing moves; then all below it is final and the rest pulls:
// the row of a vertex is read until a weight reaches its distance, and without atomics, since only the owner writes.
// Rows longer than a limit are dealt out to pieces, each sorted by itself, and a warp takes a piece.
#include "graph/sssp.cuh"

namespace bg {
struct SweepParams {
    GridState* state;
    HostLink link;
    const u32* first;     // quad where a row starts; 0, which holds no arcs, for rows in pieces
    const u8* lengths;    // quads of a row; 0 for rows in pieces
    const uint4* quads;   // four arcs each, ending in arcs of all ones
    const uint4* pieces;  // {vertex, first quad, quads, -}
    u32* distances;       // by the numbers of the rows
    const u32* order;     // vertex of each row; null: its number
    const u32* places;    // row of each vertex
    u32* result;          // by the vertices; unused without an order
    u32 nodes, source;
    u32 piece_count;
    u32 slots;            // vertices of a thread
    u32 warp_pieces;      // pieces of a warp
    u32 shift;            // bits of an id
    u32 long_step;        // what the threshold grows by while few vertices move
    u32 short_step;       // and while many do
    u32 few;              // vertices
    u32 rest;             // quads of the vertices that pull at the end; 0: all are pushed to (directed graphs)
    u32 most_sweeps;      // gives up pushing after
    u32 pad;
};

/// The weight of the next arc in a state; all weights are below.
constexpr u32 NEXT = 0xfffffu;
constexpr u32 INFINITE = 0xffffffffu;

/// ROWS: vertices that a thread takes at once; 1 where it owns no more.
template <u32 ROWS> struct Sweep {
    const SweepParams& p;
    Grid grid;
    u32* sums;
    uint2* states;
    uint2* piece_states;
    u32 end;           // the weight in arcs of all ones
    u32 mask;          // of an id
    u32 warps;         // of a block
    u32 threshold, before;
    u32 moved, above, event;  // of this thread in this sweep

    BG_DEVICE Sweep(const SweepParams& params, u8* shared) : p(params), grid(params.state, params.link, shared) {
        sums = (u32*)(shared + 16);
        states = (uint2*)(shared + 64);
        piece_states = states + p.slots * blockDim.x;
        end = 0xffffffffu >> p.shift;
        mask = (1u << p.shift) - 1;
        warps = blockDim.x / WARP;
    }
    BG_DEVICE u32 vertex(u32 slot) const { return (slot * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x; }
    BG_DEVICE u32 piece(u32 index) const { return index * warps * gridDim.x + threadIdx.x / WARP * gridDim.x + blockIdx.x; }

    /// Adds up over the grid, and waits for it.
    BG_DEVICE bool meet() {
        u32 e = warp_sum(moved), u = warp_sum(above), m = warp_max(~event);
        if (lane() == 0) {
            if (e) atomicAdd(sums, e);
            if (u) atomicAdd(sums + 1, u);
            if (m) atomicMax(sums + 2, m);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            BarrierSlot* slot = &p.state->slots[grid.turn & 3];
            if (sums[0]) reduce_add(&slot->a, sums[0]);
            if (sums[1]) reduce_add(&slot->b, sums[1]);
            if (sums[2]) reduce_max(&slot->c, sums[2]);
            sums[0] = sums[1] = sums[2] = 0;
        }
        Meeting all = grid.meet();
        moved = all.a;
        above = all.b;
        event = ~all.c;
        return all.stop;
    }
    /// Relaxes one arc; false if it has to wait for a higher threshold.
    BG_DEVICE bool relax(u32 arc, u32 distance, u32 from, u32& waiting) {
        u32 weight = arc >> p.shift, sum = distance + weight;
        if (weight != end && sum < threshold) {
            if (sum >= from) reduce_min(p.distances + (arc & mask), sum);
            return true;
        }
        waiting = min_of(waiting, weight);
        return false;
    }
    BG_DEVICE void push_pieces() {
        for (u32 base = 0; base < p.warp_pieces; base += WARP) {
            u32 own = base + lane(), index = piece(own);
            bool on = own < p.warp_pieces && index < p.piece_count;
            uint2* state = piece_states + own * warps + threadIdx.x / WARP;
            uint4 row = make_uint4(0, 0, 0, 0);
            u32 distance = INFINITE, position = 0, next = end, from = before;
            if (on) {
                row = load_readonly(p.pieces + index);
                distance = load_l2(p.distances + row.x);
                if (distance >= threshold) {
                    above += row.z;
                    event = min_of(event, distance);
                    on = false;
                } else {
                    uint2 old = *state;
                    position = old.y >> 20;
                    next = old.y & NEXT;
                    if (distance != old.x) {
                        position = next = 0;
                        from = 0;
                    }
                }
            }
            for (u32 active = ballot(on && next != end && distance + next < threshold); active; active &= active - 1) {
                u32 who = __ffs(active) - 1;
                u32 d = shuffle(distance, who), start = shuffle(row.y, who), quads = shuffle(row.z, who), at = shuffle(position, who);
                u32 smallest = shuffle(from, who), waiting;
                if (lane() == 0) moved++;
                for (;;) {
                    uint4 q = make_uint4(~0u, ~0u, ~0u, ~0u);
                    if (at + lane() < quads) q = load_readonly(p.quads + start + at + lane());
                    waiting = end + 1;
                    relax(q.x, d, smallest, waiting);
                    relax(q.y, d, smallest, waiting);
                    relax(q.z, d, smallest, waiting);
                    relax(q.w, d, smallest, waiting);
                    u32 done = __popc(ballot(waiting == end + 1));
                    at += done;
                    if (done < WARP) {
                        waiting = shuffle(waiting, done);
                        break;
                    }
                }
                if (lane() == who) {
                    position = at;
                    next = waiting;
                }
            }
            if (on) {
                *state = make_uint2(distance, position << 20 | next);
                if (next != end) event = min_of(event, distance + next);
            }
        }
    }
    BG_DEVICE void push_rows() {
        for (u32 base = 0; base < p.slots; base += ROWS) {
            u32 distance[ROWS], start[ROWS];
            uint2 state[ROWS];
            uint4 quad[ROWS];
            bool go[ROWS];
#pragma unroll
            for (u32 i = 0; i < ROWS; i++) {
                u32 v = vertex(base + i);
                distance[i] = base + i < p.slots && v < p.nodes ? load_l2(p.distances + v) : INFINITE;
            }
#pragma unroll
            for (u32 i = 0; i < ROWS; i++) {
                go[i] = false;
                start[i] = 0;
                state[i] = make_uint2(0, 0);
                if (base + i < p.slots) {
                    state[i] = states[(base + i) * blockDim.x + threadIdx.x];
                    if (distance[i] < threshold) {
                        u32 position = state[i].y >> 20 & 63u, next = state[i].y & NEXT;
                        if (distance[i] != state[i].x) position = next = 0;
                        go[i] = next != end && distance[i] + next < threshold;
                        if (go[i]) start[i] = load_readonly(p.first + vertex(base + i)) + position;
                    }
                }
            }
#pragma unroll
            for (u32 i = 0; i < ROWS; i++) {
                quad[i] = make_uint4(~0u, ~0u, ~0u, ~0u);
                if (go[i]) quad[i] = load_readonly(p.quads + start[i]);
            }
#pragma unroll
            for (u32 i = 0; i < ROWS; i++) {
                if (base + i >= p.slots) continue;
                if (distance[i] >= threshold) {
                    above += state[i].y >> 26;
                    event = min_of(event, distance[i]);
                    continue;
                }
                u32 position = state[i].y >> 20 & 63u, next = state[i].y & NEXT, from = before;
                if (distance[i] != state[i].x) {
                    position = next = 0;
                    from = 0;
                }
                if (go[i]) {
                    moved++;
                    u32 at = start[i];
                    uint4 q = quad[i];
                    for (;;) {
                        next = end + 1;
                        relax(q.x, distance[i], from, next);
                        relax(q.y, distance[i], from, next);
                        relax(q.z, distance[i], from, next);
                        relax(q.w, distance[i], from, next);
                        if (next <= end) break;
                        position++;
                        q = load_readonly(p.quads + ++at);
                    }
                    states[(base + i) * blockDim.x + threadIdx.x] = make_uint2(distance[i], (state[i].y & 0xfc000000u) | position << 20 | next);
                }
                if (next != end) event = min_of(event, distance[i] + next);
            }
        }
    }
    /// The smallest sum over a quad; `cut` if the rest of the row is of no use.
    BG_DEVICE u32 pull(uint4 q, u32 distance, u32 changed, bool& cut) {
        u32 arcs[4] = {q.x, q.y, q.z, q.w}, near[4];
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            u32 weight = arcs[i] >> p.shift;
            near[i] = INFINITE;
            if (weight != end && weight + changed < distance) near[i] = load_l2(p.distances + (arcs[i] & mask));
            else cut = true;
        }
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            // The sum falls below what was not reached only by overflow.
            u32 sum = near[i] + (arcs[i] >> p.shift);
            distance = min_of(distance, max_of(sum, near[i]));
        }
        return distance;
    }
    /// `lowest`: the smallest distance that changed in the sweep before. Distances of at least `settled` pull.
    BG_DEVICE void pull_pieces(u32 settled, u32 lowest) {
        for (u32 base = 0; base < p.warp_pieces; base += WARP) {
            u32 own = base + lane(), index = piece(own), distance = 0;
            bool on = own < p.warp_pieces && index < p.piece_count;
            uint4 row = make_uint4(0, 0, 0, 0);
            if (on) {
                row = load_readonly(p.pieces + index);
                distance = load_l2(p.distances + row.x);
            }
            for (u32 active = ballot(on && distance >= settled && distance > lowest); active; active &= active - 1) {
                u32 who = __ffs(active) - 1;
                u32 d = shuffle(distance, who), v = shuffle(row.x, who), start = shuffle(row.y, who), quads = shuffle(row.z, who), old = d;
                for (u32 at = 0; at < quads; at += WARP) {
                    bool cut = false;
                    uint4 q = make_uint4(~0u, ~0u, ~0u, ~0u);
                    if (at + lane() < quads) q = load_readonly(p.quads + start + at + lane());
                    d = warp_min(pull(q, d, lowest, cut));
                    if (any(cut)) break;
                }
                if (d < old && lane() == 0) {
                    reduce_min(p.distances + v, d);
                    moved = 1;
                    event = min_of(event, d);
                }
            }
        }
    }
    BG_DEVICE void pull_rows(u32 settled, u32 lowest, bool first) {
        for (u32 base = 0; base < p.slots; base += ROWS) {
            u32 old[ROWS], start[ROWS], near[4 * ROWS];
            uint4 quad[ROWS];
            bool on[ROWS], cut[ROWS];
#pragma unroll
            for (u32 i = 0; i < ROWS; i++) {
                u32 v = vertex(base + i);
                old[i] = 0;
                if (base + i < p.slots && v < p.nodes && states[(base + i) * blockDim.x + threadIdx.x].y >> 26) old[i] = load_l2(p.distances + v);
            }
#pragma unroll
            for (u32 i = 0; i < ROWS; i++) {
                on[i] = old[i] >= settled && old[i] > lowest;
                // After the first sweep the state holds the weight of the lightest arc.
                if (on[i] && !first) on[i] = old[i] > lowest + (states[(base + i) * blockDim.x + threadIdx.x].y & NEXT);
                start[i] = on[i] ? load_readonly(p.first + vertex(base + i)) : 0;
            }
#pragma unroll
            for (u32 i = 0; i < ROWS; i++) {
                quad[i] = make_uint4(~0u, ~0u, ~0u, ~0u);
                if (on[i]) quad[i] = load_readonly(p.quads + start[i]);
            }
            // The first quads of all rows together, so that many loads are under way.
#pragma unroll
            for (u32 i = 0; i < ROWS; i++) {
                u32 arcs[4] = {quad[i].x, quad[i].y, quad[i].z, quad[i].w};
                cut[i] = !on[i];
#pragma unroll
                for (u32 e = 0; e < 4; e++) {
                    u32 weight = arcs[e] >> p.shift;
                    near[4 * i + e] = INFINITE;
                    if (on[i] && weight != end && weight + lowest < old[i]) near[4 * i + e] = load_l2(p.distances + (arcs[e] & mask));
                    else cut[i] = true;
                }
            }
#pragma unroll
            for (u32 i = 0; i < ROWS; i++) {
                if (!on[i]) continue;
                u32 arcs[4] = {quad[i].x, quad[i].y, quad[i].z, quad[i].w}, distance = old[i];
                uint2* state = states + (base + i) * blockDim.x + threadIdx.x;
                if (first) state->y = (state->y & ~NEXT) | arcs[0] >> p.shift;
#pragma unroll
                for (u32 e = 0; e < 4; e++) {
                    u32 sum = near[4 * i + e] + (arcs[e] >> p.shift);
                    distance = min_of(distance, max_of(sum, near[4 * i + e]));
                }
                for (u32 at = start[i] + 1; !cut[i]; at++) distance = pull(load_readonly(p.quads + at), distance, lowest, cut[i]);
                if (distance < old[i]) {
                    p.distances[vertex(base + i)] = distance;
                    moved = 1;
                    event = min_of(event, distance);
                }
            }
        }
    }
};
template <u32 ROWS> BG_DEVICE void sweep_search(const SweepParams& p) {
    Sweep<ROWS> sweep(p, shared_memory());
    const u32 source = p.places ? p.places[p.source] : p.source;
    for (u32 slot = 0; slot < p.slots; slot++) {
        u32 v = sweep.vertex(slot), length = 0;
        if (v < p.nodes) {
            length = p.lengths[v];
            p.distances[v] = v == source ? 0 : INFINITE;
        }
        sweep.states[slot * blockDim.x + threadIdx.x] = make_uint2(INFINITE, length << 26);
    }
    for (u32 i = threadIdx.x; i < p.warp_pieces * sweep.warps; i += blockDim.x) sweep.piece_states[i] = make_uint2(INFINITE, 0);
    if (threadIdx.x < 4) sweep.sums[threadIdx.x] = 0;
    __syncthreads();
    sweep.moved = sweep.above = 0;
    sweep.event = INFINITE;
    if (sweep.meet()) return;

    u32 sweeps = 0;
    bool hold = false, gave_up = false;
    sweep.threshold = p.long_step;
    sweep.before = 0;
    for (;;) {
        sweeps++;
        sweep.moved = sweep.above = 0;
        sweep.event = INFINITE;
        sweep.push_pieces();
        sweep.push_rows();
        if (sweep.meet()) return;
        sweep.grid.report(sweeps);
        sweep.before = sweep.threshold;
        if (sweep.moved == 0 && (hold || sweep.event == INFINITE)) break;
        hold = sweep.above <= p.rest && p.rest != 0;
        if (!hold) {
            // Where nothing moved, straight to the next distance at which something will.
            if (sweep.moved == 0) sweep.threshold = max_of(sweep.threshold, sweep.event);
            sweep.threshold += sweep.moved < p.few ? p.long_step : p.short_step;
        }
        if (sweeps >= p.most_sweeps) {
            gave_up = true;
            break;
        }
    }
    u32 settled = sweep.threshold, lowest = 0;
    for (bool first = true; hold && !gave_up; first = false) {
        sweeps++;
        sweep.moved = 0;
        sweep.event = INFINITE;
        sweep.pull_pieces(settled, lowest);
        sweep.pull_rows(settled, lowest, first);
        if (sweep.meet()) return;
        if (sweep.moved == 0) break;
        lowest = sweep.event;
    }
    // Nothing changed in the last sweep: every block is done writing.
    for (u32 slot = 0; p.order && slot < p.slots; slot++) {
        u32 v = sweep.vertex(slot);
        if (v < p.nodes) p.result[load_readonly(p.order + v)] = load_l2(p.distances + v);
    }
    sweep.grid.report(gave_up ? sweeps | GAVE_UP : sweeps);
}
}  // namespace bg

BG_KERNEL(sssp_sweep, bg::SweepParams, 1024, 1) { bg::sweep_search<4>(p); }
BG_KERNEL(sssp_sweep_single, bg::SweepParams, 1024, 1) { bg::sweep_search<1>(p); }
