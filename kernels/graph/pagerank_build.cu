// Builds the layout of pagerank_tiles.cuh on the device: positions, counts of a row's entries by column, slices, entries, and
// an order of the entries in which the lanes of a warp read different banks of shared memory.
#include "graph/pagerank_tiles.cuh"

namespace bg {
/// Counts of the planning sort; longer rows are not told apart, each is alone in its slice anyway.
constexpr u32 PLAN_KEYS = 2048;
/// Steps that are ordered together.
constexpr u32 ORDER_STEPS = 32;
/// Entries of a lane looked through for a free bank.
constexpr u32 ORDER_REACH = 12;

struct TileSizes {
    u32 slices, entry_words, ids, longest;
};

struct TileBuild {
    const u32* offsets;     // incoming arcs
    const u32* indices;
    const u32* order;       // vertices by falling number of arcs; null: natural positions
    u32* position;          // by vertex; null: natural
    u32* vertex;            // by position, NOBODY where there is none; null: natural
    const f32* inverse;     // by vertex
    f32* inverse_at;        // by position
    u32* counts;            // per block and local row
    u32* place;             // per block and local row: slice * 32 + first lane
    uint2* slices;          // per block, `slice_room` each
    u16* ids;               // per block, `id_room` each
    TileSizes* sizes;       // per block
    const RankTile* tiles;
    u32* data;
    u32* widest;            // the largest distance of an arc
    u32 rows;               // vertices
    u32 dealt;              // vertices with positions
    u32 positions;
    u32 part, groups, columns;
    u32 local_rows;         // columns * part
    u32 halo;               // of a window; NOBODY: all of a column
    u32 lane_entries;       // entries of a lane before a row gets another lane
    u32 sorted;             // rows by length; else in natural order, one lane each
    u32 slice_room, id_room;
    u32 x_room;             // where the zeros behind x begin
    u32 reserved;
};

/// Where a vertex's rows lie: its group and the row number there.
struct Whereabouts {
    u32 group, local;
};
BG_DEVICE Whereabouts whereabouts(const TileBuild& p, u32 position) {
    u32 owner = position / p.part, own = position - owner * p.part;
    u32 column = owner / p.groups;
    return {owner - column * p.groups, column * p.part + own};
}
BG_DEVICE u32 window_from(const TileBuild& p, u32 group) {
    u32 own = group * p.part;
    return p.halo == NOBODY || own < p.halo ? 0 : own - p.halo;
}
BG_DEVICE u32 position_of(const TileBuild& p, u32 v) { return p.position ? p.position[v] : v; }

BG_KERNEL(tiles_widest, TileBuild, 256, 4) {
    u32 widest = 0, warps = gridDim.x * blockDim.x / WARP;
    for (u32 base = (blockIdx.x * blockDim.x + threadIdx.x) / WARP * WARP; base < p.rows; base += warps * WARP) {
        // Rows ascend, so their ends tell.
        u32 v = base + lane();
        if (v >= p.rows) continue;
        u32 from = p.offsets[v], to = p.offsets[v + 1];
        if (from == to) continue;
        u32 first = p.indices[from], last = p.indices[to - 1];
        if (first < v) widest = max_of(widest, v - first);
        if (last > v) widest = max_of(widest, last - v);
    }
    __syncwarp();
    widest = warp_max(widest);
    if (lane() == 0) atomicMax(p.widest, widest);
}

struct TileKeys {
    const u32* offsets;   // incoming arcs
    const u32* degrees;   // outgoing
    u32* keys;            // rising with falling numbers of arcs; isolated vertices last
    u32* vertices;
    u32 rows;
    u32 longest;
};
BG_KERNEL(tiles_keys, TileKeys, 256, 4) {
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.rows; v += gridDim.x * blockDim.x) {
        u32 arcs = p.offsets[v + 1] - p.offsets[v];
        p.keys[v] = arcs == 0 && p.degrees[v] == 0 ? p.longest + 1 : p.longest - arcs;
        p.vertices[v] = v;
    }
}

/// Vertices to positions: the k-th heaviest to owner k mod owners, back and forth, so that owners carry alike.
BG_KERNEL(tiles_deal, TileBuild, 256, 4) {
    const u32 owners = p.groups * p.columns, threads = gridDim.x * blockDim.x;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.positions; i += threads) {
        if (!p.order) {
            p.inverse_at[i] = i < p.rows ? p.inverse[i] : 0.0f;
            continue;
        }
        u32 round = i / owners, at = i - round * owners, owner = round & 1 ? owners - 1 - at : at;
        u32 position = owner * p.part + round, v = i < p.dealt ? p.order[i] : NOBODY;
        if (round < p.part) {
            p.vertex[position] = v;
            p.inverse_at[position] = v == NOBODY ? 0.0f : p.inverse[v];
        }
        if (v != NOBODY) p.position[v] = position;
    }
}

/// How many entries a row has in each column; a warp a row.
BG_KERNEL(tiles_count, TileBuild, 256, 4) {
    const u32 warps = gridDim.x * (blockDim.x / WARP), column_span = p.groups * p.part;
    for (u32 k = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; k < p.dealt; k += warps) {
        u32 v = p.order ? p.order[k] : k, from = p.offsets[v], to = p.offsets[v + 1];
        Whereabouts w = whereabouts(p, position_of(p, v));
        u32 own = 0;
        if (p.columns == 1) own = to - from;
        else
            for (u32 base = from; base < to; base += WARP) {
                u32 e = base + lane(), column = e < to ? position_of(p, p.indices[e]) / column_span : p.columns;
                for (u32 c = 0; c < p.columns; c++) {
                    u32 votes = ballot(column == c);
                    if (lane() == c) own += (u32)__popc(votes);
                }
            }
        if (lane() < p.columns) p.counts[(u64)(w.group * p.columns + lane()) * p.local_rows + w.local] = own;
    }
}

/// Lanes of a row, as a power of two.
BG_DEVICE u32 row_shift(u32 count, u32 lane_entries) {
    u32 t = 0;
    while (t < 5 && count > lane_entries << t) t++;
    return t;
}
BG_DEVICE void slice_shape(u32 count, u32 t, u32& quads, u32& half) {
    u32 steps = (count + (1u << t) - 1) >> t, rest = steps & 3;
    quads = steps / 4 + (rest == 3);
    half = rest == 1 || rest == 2;
}

/// The slices of a block: rows sorted by length, stably, and packed. One thread block each.
BG_KERNEL(tiles_plan, TileBuild, 512, 1) {
    u32* starts = (u32*)shared_memory();         // per length, the longest first: where its rows begin
    u32* scratch = starts + PLAN_KEYS;            // 34
    u32* above = scratch + 34;                    // per shift: rows with a larger one
    u32* slices_before = above + 8;               // per shift: slices of the larger ones
    u32* ids_before = slices_before + 8;
    const u32 block = blockIdx.x, n = p.local_rows;
    const u32* counts = p.counts + (u64)block * n;
    u32* place = p.place + (u64)block * n;
    uint2* slices = p.slices + (u64)block * p.slice_room;
    u16* ids = p.ids + (u64)block * p.id_room;
    u32 slice_count, id_count;
    if (p.sorted) {
        for (u32 i = threadIdx.x; i < PLAN_KEYS; i += blockDim.x) starts[i] = 0;
        if (threadIdx.x < 8) above[threadIdx.x] = 0;
        __syncthreads();
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            u32 count = counts[i];
            if (count == 0) continue;
            atomicAdd(starts + (PLAN_KEYS - 1 - min_of(count, PLAN_KEYS - 1)), 1u);
            atomicAdd(above + row_shift(count, p.lane_entries), 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            u32 rows = 0, slice = 0, id = 0;
            for (u32 t = 6; t-- > 0;) {
                u32 own = above[t], packed = ceil_div(own << t, 32u);
                above[t] = rows;
                slices_before[t] = slice;
                ids_before[t] = id;
                rows += own;
                slice += packed;
                id += packed * (32 >> t);
            }
            slices_before[6] = slice;
            ids_before[6] = id;
        }
        u32 base = 0;
        for (u32 i = 0; i < PLAN_KEYS; i += blockDim.x) {
            u32 at = i + threadIdx.x, total = 0, own = at < PLAN_KEYS ? starts[at] : 0;
            u32 start = base + block_scan_exclusive(own, scratch, total);
            if (at < PLAN_KEYS) starts[at] = start;
            base += total;
            __syncthreads();
        }
        slice_count = slices_before[6];
        id_count = ids_before[6];
        for (u32 i = threadIdx.x; i < id_count; i += blockDim.x) ids[i] = (u16)n;
        __syncthreads();
        // One warp ranks, so that rows of the same length keep their order.
        if (threadIdx.x < WARP)
            for (u32 i = 0; i < n; i += WARP) {
                u32 row = i + lane(), count = row < n ? counts[row] : 0;
                u32 key = count ? PLAN_KEYS - 1 - min_of(count, PLAN_KEYS - 1) : PLAN_KEYS + lane();
                u32 same = match_any(key), rank = 0;
                if (count) rank = starts[key] + (u32)__popc(same & ((1u << lane()) - 1u));
                __syncwarp();
                if (count && (same >> lane()) == 1u) starts[key] = rank + 1;
                __syncwarp();
                if (!count) continue;
                u32 t = row_shift(count, p.lane_entries), packed = (rank - above[t]) << t, slice = slices_before[t] + packed / 32;
                place[row] = slice * 32 + packed % 32;
                ids[ids_before[t] + (rank - above[t])] = (u16)row;
                if (packed % 32 == 0) slices[slice] = make_uint2(count, ids_before[t] + (slice - slices_before[t]) * (32 >> t) + (t << 29));
            }
        __syncthreads();
    } else {
        slice_count = ceil_div(n, 32u);
        id_count = slice_count * 32;
        for (u32 slice = threadIdx.x / WARP; slice < slice_count; slice += blockDim.x / WARP) {
            u32 row = slice * 32 + lane(), longest = warp_max(row < n ? counts[row] : 0);
            if (row < n) place[row] = row;
            ids[row] = (u16)min_of(row, n);
            if (lane() == 0) slices[slice] = make_uint2(longest, slice * 32);
        }
        __syncthreads();
    }
    u32 words = 0, longest = 0;
    for (u32 i = 0; i < slice_count; i += blockDim.x) {
        u32 s = i + threadIdx.x, quads = 0, half = 0, total = 0;
        uint2 d = make_uint2(0, 0);
        if (s < slice_count) {
            d = slices[s];
            slice_shape(d.x, d.y >> 29, quads, half);
            longest = max_of(longest, quads);
        }
        u32 at = words + block_scan_exclusive(slice_words(quads, half), scratch, total);
        if (s < slice_count) slices[s] = make_uint2(at, (d.y & 0xe000ffffu) | quads << 16 | half << 28);
        words += total;
        __syncthreads();
    }
    longest = warp_max(longest);
    if (threadIdx.x == 0) scratch[33] = 0;
    __syncthreads();
    if (lane() == 0) atomicMax(scratch + 33, longest);
    __syncthreads();
    if (threadIdx.x == 0) p.sizes[block] = TileSizes{slice_count, words, id_count, scratch[33]};
}

/// Entries to their places; a warp a row.
BG_KERNEL(tiles_fill, TileBuild, 256, 4) {
    const u32 warps = gridDim.x * (blockDim.x / WARP), column_span = p.groups * p.part;
    u16* data = (u16*)p.data;
    for (u32 k = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; k < p.dealt; k += warps) {
        u32 v = p.order ? p.order[k] : k, from = p.offsets[v], to = p.offsets[v + 1];
        if (from == to) continue;
        Whereabouts w = whereabouts(p, position_of(p, v));
        // Lane c holds what column c needs: the slice, its place, and how many entries are there already.
        u32 block = w.group * p.columns + lane(), place = 0, filled = 0;
        uint2 d = make_uint2(0, 0);
        u64 base = 0;
        if (lane() < p.columns && p.counts[(u64)block * p.local_rows + w.local]) {
            place = p.place[(u64)block * p.local_rows + w.local];
            d = p.slices[(u64)block * p.slice_room + place / 32];
            base = 2 * ((u64)p.tiles[block].data_at * 4 + p.tiles[block].entries_at + d.x);
        }
        __syncwarp();
        for (u32 first = from; first < to; first += WARP) {
            u32 e = first + lane(), column = p.columns, place_in_x = 0, before = 0;
            if (e < to) {
                u32 at = position_of(p, p.indices[e]);
                column = p.columns == 1 ? 0 : at / column_span;
                place_in_x = p.columns == 1 ? at - window_from(p, w.group) : at - column * column_span;
            }
            for (u32 c = 0; c < p.columns; c++) {
                u32 votes = ballot(column == c);
                if (column == c) before = (u32)__popc(votes & ((1u << lane()) - 1u));
            }
            u32 source = min_of(column, p.columns - 1);
            u32 its_place = shuffle(place, source), its_filled = shuffle(filled, source), its_shape = shuffle(d.y, source);
            u64 its_base = shuffle(base, source);
            if (column < p.columns) {
                u32 t = its_shape >> 29, entry = its_filled + before;
                u32 at = entry_place(its_shape >> 16 & 0xfffu, its_place % 32 + (entry & ((1u << t) - 1)), entry >> t);
                data[its_base + at] = (u16)place_in_x;
            }
            for (u32 c = 0; c < p.columns; c++) {
                u32 votes = ballot(column == c);
                if (lane() == c) filled += (u32)__popc(votes);
            }
        }
    }
}

/// The entries of a window of steps, reordered lane by lane so that each step reads as many banks as it can; a warp each.
BG_DEVICE void order_window(const TileBuild& p, u16* own, u32 steps, u32 have) {
    for (u32 e = 0; e < steps; e++) {
        bool pending = have > e;
        u32 used = 0;
        if (p.sorted)
            for (u32 round = 0; round < 4 && any(pending); round++) {
                u32 pick = NOBODY, bank = 32 + lane();
                if (pending)
                    for (u32 k = e, end = min_of(have, e + ORDER_REACH); k < end; k++) {
                        u32 b = own[k * WARP + lane()] & 31u;
                        if (used >> b & 1u) continue;
                        pick = k;
                        bank = b;
                        break;
                    }
                __syncwarp();
                // The first of those that want a bank, counted from another lane every step.
                u32 same = match_any(bank), from = e * 5 & 31u;
                u32 winner = ((u32)__ffs((i32)__funnelshift_r(same, same, from)) - 1 + from) & 31u;
                bool won = pick != NOBODY && winner == lane();
                if (won) {
                    u16 other = own[e * WARP + lane()];
                    own[e * WARP + lane()] = own[pick * WARP + lane()];
                    own[pick * WARP + lane()] = other;
                    pending = false;
                }
                used |= __reduce_or_sync(FULL, won ? 1u << bank : 0u);
            }
        u32 bank = used == FULL ? 0 : (u32)__ffs((i32)~used) - 1;
        if (have <= e) own[e * WARP + lane()] = (u16)(p.x_room + ((bank - p.x_room) & 31u));
    }
}

/// A block's descriptors and row ids, and the order of its entries.
BG_KERNEL(tiles_order, TileBuild, 256, 2) {
    const RankTile tile = p.tiles[blockIdx.x];
    u32* data = p.data + (u64)tile.data_at * 4;
    const uint2* slices = p.slices + (u64)blockIdx.x * p.slice_room;
    for (u32 i = threadIdx.x; i < tile.entries_at / 2; i += blockDim.x) ((uint2*)data)[i] = i < tile.slices ? slices[i] : make_uint2(0, 0);
    const u16* ids = p.ids + (u64)blockIdx.x * p.id_room;
    u32 id_room = (tile.words - tile.ids_at) * 2, id_count = p.sizes[blockIdx.x].ids;
    for (u32 i = threadIdx.x; i < id_room; i += blockDim.x) ((u16*)(data + tile.ids_at))[i] = i < id_count ? ids[i] : (u16)p.local_rows;
    u16* own = (u16*)shared_memory() + threadIdx.x / WARP * WARP * ORDER_STEPS;
    for (u32 s = threadIdx.x / WARP; s < tile.slices; s += blockDim.x / WARP) {
        uint2 d = slices[s];
        u32 quads = slice_quads(d), all = 4 * quads + 2 * slice_half(d);
        u16* entries = (u16*)(data + tile.entries_at + d.x);
        for (u32 first = 0; first < all; first += ORDER_STEPS) {
            u32 steps = min_of(all - first, ORDER_STEPS), have = 0;
            for (u32 e = 0; e < steps; e++) {
                u16 entry = entries[entry_place(quads, lane(), first + e)];
                own[e * WARP + lane()] = entry;
                have += entry != NO_ENTRY;
            }
            __syncwarp();
            order_window(p, own, steps, have);
            __syncwarp();
            for (u32 e = 0; e < steps; e++) entries[entry_place(quads, lane(), first + e)] = own[e * WARP + lane()];
            __syncwarp();
        }
    }
}
}  // namespace bg
