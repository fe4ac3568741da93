// Builds the layout of pagerank_tiles.cuh on the device: positions, counts of a row's entries by column, slices, entries, and
// an order of the entries in which the lanes of a warp read different banks of shared memory.
#include "graph/pagerank_tiles.cuh"
#include "tuning/pagerank.cuh"

namespace bg {
struct TileSizes {
    u32 slices, entry_words, ids, longest, folds, pieces;
};

struct TileBuild {
    const u32* offsets;     // incoming arcs
    const u32* indices;
    const u32* order;       // vertices by falling number of arcs; null: natural positions
    u32* position;          // by vertex; null: natural
    u32* vertex;            // by position, NO_VERTEX where there is none; null: natural
    const f32* inverse;     // by vertex
    f32* inverse_at;        // by position
    u32* counts;            // per block and local row
    u32* place;             // per block and local row: slice * 32 + first lane
    uint2* slices;          // per block, `slice_room` each
    u16* ids;               // per block, `id_room` each
    TileSizes* sizes;       // per block
    uint2* folds;           // of cut rows, per tile `fold_room` each: {row, its first piece's sum | pieces << 16}
    u32* cold_counts;       // by position: arcs that no tile holds
    const u32* cold_offsets;
    u32* cold_indices;      // positions
    const RankTile* tiles;
    u32* data;
    u32* widest;            // the largest distance of an arc
    u32* readers;           // zeros, by position: a bit for every owner of a row that reads it
    u32* told;              // zero: how many of these bits there are
    u32 rows;               // vertices
    u32 dealt;              // vertices with positions
    u32 positions;
    u32 part, groups, columns;
    u32 local_rows;         // columns * part
    u32 halo;               // of a window; NO_VERTEX: all of a column
    u32 lane_entries;       // entries of a lane before a row gets another lane
    u32 sorted;             // 1: rows by length, else in natural order, one lane each; 2: entries by banks; 4: rows without entries, too
    u32 slice_room, id_room;
    u32 x_room;             // where the zeros behind x begin
    u32 core;               // positions from here on are in no tile
    u32 core_dealt;         // vertices below that
    u32 sweeps;             // tiles of a block, each with so many entries of x
    u32 x_span;
    u32 split;              // entries of a piece of a row; 0: rows are not cut
    u32 fold_room;
    u32 stretches;          // owners take stretches of `order` instead of every so many-th
};

/// Tiles of a group of blocks.
BG_DEVICE u32 group_tiles(const TileBuild& p) { return p.columns * p.sweeps; }

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
    return p.halo == NO_VERTEX || own < p.halo ? 0 : own - p.halo;
}
/// Which of a group's tiles holds a column, and its place in that tile's x; past the last for none.
struct Column {
    u32 tile, place;
};
BG_DEVICE Column column_of(const TileBuild& p, u32 group, u32 position) {
    if (p.columns * p.sweeps == 1) return {position < p.core ? 0u : 1u, position - window_from(p, group)};
    if (position >= p.core) return {group_tiles(p), 0};
    u32 span = p.groups * p.part, column = position / span, rest = position - column * span, sweep = rest / p.x_span;
    return {column * p.sweeps + sweep, rest - sweep * p.x_span};
}
BG_DEVICE u32 position_of(const TileBuild& p, u32 v) { return p.position ? p.position[v] : v; }

BG_KERNEL(tiles_widest, TileBuild, 256, 4) {
    u32 widest = 0, threads = gridDim.x * blockDim.x;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.rows; v += threads) {
        u32 from = p.offsets[v], to = p.offsets[v + 1], own = position_of(p, v);
        // In natural order rows ascend, so their ends tell.
        u32 step = p.position || to - from < 2 ? 1 : to - from - 1;
        for (u32 e = from; e < to; e += step) {
            u32 at = position_of(p, p.indices[e]);
            widest = max_of(widest, at < own ? own - at : at - own);
        }
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
    const u32* order;     // null: natural; else it is kept, but for isolated vertices
    u32 rows;
    u32 longest;
};
BG_KERNEL(tiles_keys, TileKeys, 256, 4) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.rows; i += gridDim.x * blockDim.x) {
        u32 v = p.order ? p.order[i] : i, arcs = p.offsets[v + 1] - p.offsets[v];
        bool isolated = arcs == 0 && p.degrees[v] == 0;
        p.keys[i] = isolated ? (p.order ? 1 : p.longest + 1) : (p.order ? 0 : p.longest - arcs);
        p.vertices[i] = v;
    }
}

/// Vertices to positions: the k-th largest degree to owner k mod owners, back and forth, so that owners carry alike; or in the order given.
BG_KERNEL(tiles_deal, TileBuild, 256, 4) {
    const u32 owners = p.groups * p.columns, threads = gridDim.x * blockDim.x;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.positions; i += threads) {
        if (p.halo != NO_VERTEX) {
            // A window keeps the order that it is given.
            u32 v = i < p.rows ? (p.order ? p.order[i] : i) : NO_VERTEX;
            p.inverse_at[i] = v == NO_VERTEX ? 0.0f : p.inverse[v];
            if (p.vertex) p.vertex[i] = v;
            continue;
        }
        u32 round = i / owners, at = i - round * owners, owner = round & 1 ? owners - 1 - at : at;
        u32 position = p.stretches ? i : owner * p.part + round, v = i < p.core_dealt ? p.order[i] : NO_VERTEX;
        if (round >= p.part) {
            // Those outside the core follow it in their order.
            u32 k = p.core_dealt + (i - owners * p.part);
            position = i;
            v = k < p.dealt ? p.order[k] : NO_VERTEX;
        }
        p.vertex[position] = v;
        p.inverse_at[position] = v == NO_VERTEX ? 0.0f : p.inverse[v];
        if (v != NO_VERTEX) p.position[v] = position;
    }
}

/// For each lane: how many of the lanes before it have the same `tile`; the last of these adds all to the tile's counter.
BG_DEVICE u32 rank_in_tile(u32* counters, u32 tile, bool valid) {
    u32 same = match_any(valid ? tile : NO_VERTEX - lane()), before = (u32)__popc(same & ((1u << lane()) - 1u)), count = 0;
    if (valid) count = load_volatile(counters + tile);
    __syncwarp();
    if (valid && (same >> lane()) == 1u) store_volatile(counters + tile, count + before + 1);
    __syncwarp();
    return count + before;
}

/// How many entries a row has in each tile; a warp a row, with a counter for each of its group's tiles.
BG_KERNEL(tiles_count, TileBuild, 256, 4) {
    const u32 warps = gridDim.x * (blockDim.x / WARP), tiles = group_tiles(p);
    u32* counters = (u32*)shared_memory() + threadIdx.x / WARP * tiles;
    for (u32 c = lane(); c < tiles; c += WARP) counters[c] = 0;
    __syncwarp();
    for (u32 k = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; k < p.core_dealt; k += warps) {
        u32 v = p.order ? p.order[k] : k, from = p.offsets[v], to = p.offsets[v + 1];
        Whereabouts w = whereabouts(p, position_of(p, v));
        if (tiles == 1 && p.core == NO_VERTEX) {
            if (lane() == 0) p.counts[(u64)w.group * p.local_rows + w.local] = to - from;
            continue;
        }
        for (u32 base = from; base < to; base += WARP) {
            u32 e = base + lane(), tile = e < to ? column_of(p, w.group, position_of(p, p.indices[e])).tile : tiles;
            rank_in_tile(counters, tile, tile < tiles);
        }
        // The counts are zero where nothing is written.
        for (u32 c = lane(); c < tiles; c += WARP) {
            u32 own = counters[c];
            if (own == 0) continue;
            p.counts[(u64)(w.group * tiles + c) * p.local_rows + w.local] = own;
            counters[c] = 0;
        }
        __syncwarp();
    }
}

/// Arcs that no tile holds: of the core's rows those from outside it, of the others all. A warp a row.
template <class Take> BG_DEVICE void walk_cold(const TileBuild& p, Take take) {
    const u32 warps = gridDim.x * (blockDim.x / WARP);
    for (u32 k = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; k < p.dealt; k += warps) {
        u32 v = p.order[k], from = p.offsets[v], to = p.offsets[v + 1], position = p.position[v], found = 0;
        for (u32 base = from; base < to; base += WARP) {
            u32 e = base + lane(), column = e < to ? p.position[p.indices[e]] : 0;
            bool cold = e < to && (position >= p.core || column >= p.core);
            u32 votes = ballot(cold);
            if (cold) take(position, found + (u32)__popc(votes & ((1u << lane()) - 1u)), column);
            found += (u32)__popc(votes);
        }
        if (p.cold_counts && lane() == 0) p.cold_counts[position] = found;
    }
}
BG_KERNEL(tiles_cold_count, TileBuild, 256, 4) { walk_cold(p, [](u32, u32, u32) {}); }
BG_KERNEL(tiles_cold_fill, TileBuild, 256, 4) {
    walk_cold(p, [&](u32 position, u32 at, u32 column) { p.cold_indices[p.cold_offsets[position] + at] = column; });
}

/// Which owners read a position; one column, at most 32 owners. A warp a row.
BG_KERNEL(tiles_readers, TileBuild, 256, 4) {
    const u32 warps = gridDim.x * (blockDim.x / WARP);
    u32 told = 0;
    for (u32 k = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; k < p.dealt; k += warps) {
        u32 v = p.order[k], owner = 1u << p.position[v] / p.part;
        for (u32 e = p.offsets[v] + lane(), to = p.offsets[v + 1]; e < to; e += WARP) {
            u32* word = p.readers + p.position[p.indices[e]];
            if (!(load_volatile(word) & owner)) told += !(atomicOr(word, owner) & owner);
        }
    }
    __syncwarp();
    told = warp_sum(told);
    if (lane() == 0 && told) atomicAdd(p.told, told);
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

/// Slices that a row of PLAN_KEYS - 1 entries or more is cut into.
BG_DEVICE u32 pieces_of(const TileBuild& p, u32 count) { return p.split ? ceil_div(count, p.split) : 1; }

/// The slices of a tile: rows sorted by length, stably, and packed. One thread block each.
BG_KERNEL(tiles_plan, TileBuild, 512, 1) {
    u32* starts = (u32*)shared_memory();         // per length, the longest first: where its rows begin
    u32* scratch = starts + PLAN_KEYS;            // 34
    u32* above = scratch + 34;                    // per shift: rows with a larger one
    u32* slices_before = above + 8;               // per shift: slices of the larger ones
    u32* ids_before = slices_before + 8;
    u32* cut = ids_before + 8;                    // rows that may be cut, their pieces, and sums that those of more than one need
    const u32 block = blockIdx.x, n = p.local_rows;
    const u32* counts = p.counts + (u64)block * n;
    u32* place = p.place + (u64)block * n;
    uint2* slices = p.slices + (u64)block * p.slice_room;
    u16* ids = p.ids + (u64)block * p.id_room;
    u32 slice_count, id_count, fold_count = 0, extra_sums = 0;
    const bool all = p.sorted & 4;
    if (p.sorted & 1) {
        for (u32 i = threadIdx.x; i < PLAN_KEYS; i += blockDim.x) starts[i] = 0;
        if (threadIdx.x < 8) above[threadIdx.x] = 0;
        if (threadIdx.x < 2) cut[threadIdx.x] = 0;
        __syncthreads();
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            u32 count = counts[i];
            if (count == 0 && !all) continue;
            atomicAdd(starts + (PLAN_KEYS - 1 - min_of(count, PLAN_KEYS - 1)), 1u);
            atomicAdd(above + row_shift(count, p.lane_entries), 1u);
            if (count >= PLAN_KEYS - 1) {
                atomicAdd(cut, 1u);
                atomicAdd(cut + 1, pieces_of(p, count));
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            u32 rows = 0, slice = 0, id = 0;
            for (u32 t = 6; t-- > 0;) {
                u32 own = above[t], packed = ceil_div(own << t, 32u);
                if (t == 5) packed += cut[1] - cut[0];
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
        // One warp ranks, so that rows of the same length keep their order. The longest may be cut, and come one after another.
        if (threadIdx.x < WARP) {
            u32 cut_slices = 0;
            for (u32 i = 0; i < n; i += WARP) {
                u32 row = i + lane(), count = row < n ? counts[row] : 0;
                const bool listed = count || (all && row < n);
                u32 key = listed ? PLAN_KEYS - 1 - min_of(count, PLAN_KEYS - 1) : PLAN_KEYS + lane();
                u32 same = match_any(key), rank = 0, pieces = key == 0 ? pieces_of(p, count) : 0;
                if (listed) rank = starts[key] + (u32)__popc(same & ((1u << lane()) - 1u));
                __syncwarp();
                if (listed && (same >> lane()) == 1u) starts[key] = rank + 1;
                if (any(pieces > 0)) {
                    u32 sums = pieces > 1 ? pieces : 0, pieces_end = scan_inclusive(pieces), sums_end = scan_inclusive(sums);
                    u32 folds_before = (u32)__popc(ballot(sums > 0) & ((1u << lane()) - 1u));
                    u32 slice = cut_slices + pieces_end - pieces, sum = extra_sums + sums_end - sums;
                    if (sums && fold_count + folds_before < p.fold_room)
                        p.folds[(u64)block * p.fold_room + fold_count + folds_before] = make_uint2(row, sum | pieces << 16);
                    if (pieces) place[row] = slice * 32;
                    for (u32 k = 0; k < pieces; k++) {
                        ids[slice + k] = (u16)(sums ? n + 1 + sum + k : row);
                        u32 length = p.split ? min_of(count - k * p.split, p.split) : count;
                        slices[slice + k] = make_uint2(length, (slice + k) + (5u << 29));
                    }
                    cut_slices += shuffle(pieces_end, WARP - 1);
                    extra_sums += shuffle(sums_end, WARP - 1);
                    fold_count += (u32)__popc(ballot(sums > 0));
                }
                __syncwarp();
                if (!listed || pieces) continue;
                u32 t = row_shift(count, p.lane_entries), within = rank - above[t] + (t == 5 ? cut[1] - cut[0] : 0);
                u32 packed = within << t, slice = slices_before[t] + packed / 32;
                place[row] = slice * 32 + packed % 32;
                ids[ids_before[t] + within] = (u16)row;
                if (packed % 32 == 0) slices[slice] = make_uint2(count, ids_before[t] + (slice - slices_before[t]) * (32 >> t) + (t << 29));
            }
            if (threadIdx.x == 0) {
                cut[2] = fold_count;
                cut[3] = extra_sums;
            }
        }
        __syncthreads();
        fold_count = cut[2];
        extra_sums = cut[3];
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
    if (threadIdx.x == 0) p.sizes[block] = TileSizes{slice_count, words, id_count, scratch[33], fold_count, extra_sums};
}

/// Entries to their places; a warp a row.
BG_KERNEL(tiles_fill, TileBuild, 256, 4) {
    const u32 warps = gridDim.x * (blockDim.x / WARP), tiles = group_tiles(p);
    u16* data = (u16*)p.data;
    u32* counters = (u32*)shared_memory() + threadIdx.x / WARP * tiles;
    for (u32 k = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; k < p.core_dealt; k += warps) {
        u32 v = p.order ? p.order[k] : k, from = p.offsets[v], to = p.offsets[v + 1];
        if (from == to) continue;
        Whereabouts w = whereabouts(p, position_of(p, v));
        for (u32 c = lane(); c < tiles; c += WARP) counters[c] = 0;
        __syncwarp();
        for (u32 first = from; first < to; first += WARP) {
            u32 e = first + lane();
            Column at = {tiles, 0};
            if (e < to) at = column_of(p, w.group, position_of(p, p.indices[e]));
            u32 entry = rank_in_tile(counters, at.tile, at.tile < tiles);
            if (at.tile >= tiles) continue;
            const u32 index = w.group * tiles + at.tile, place = p.place[(u64)index * p.local_rows + w.local];
            u32 slice = place / 32;
            uint2 d = p.slices[(u64)index * p.slice_room + slice];
            if (slice_shift(d) == 5 && p.split && entry >= p.split) {
                // A piece after the first: the slices of a cut row follow each other.
                slice += entry / p.split;
                entry %= p.split;
                d = p.slices[(u64)index * p.slice_room + slice];
            }
            const u32 t = slice_shift(d), in_slice = entry_place(slice_quads(d), place % 32 + (entry & ((1u << t) - 1)), entry >> t);
            data[2 * ((u64)p.tiles[index].data_at * 4 + p.tiles[index].entries_at + d.x) + in_slice] = (u16)at.place;
        }
        __syncwarp();
    }
}

/// The entries of a window of steps, reordered lane by lane so that each step reads as many banks as it can; a warp each. In every step
/// lanes bid for banks, for those first that most entries are left of; first a bank may be taken once, then twice.
BG_DEVICE void order_window(const TileBuild& p, u16* own, u32* left, u32 steps, u32 have) {
    const bool banks = p.sorted & 2;
    if (banks) {
        left[lane()] = 0;
        __syncwarp();
        for (u32 k = 0; k < have; k++) atomicAdd(left + (own[k * WARP + lane()] & 31u), 1u);
        __syncwarp();
    }
    for (u32 e = 0; e < steps; e++) {
        bool pending = have > e;
        u32 once = 0, twice = 0;
        if (banks)
            for (u32 round = 0; round < ORDER_ROUNDS && any(pending); round++) {
                const u32 full = round < ORDER_ROUNDS / 2 ? once : twice;
                u32 pick = NO_VERTEX, bank = 32 + lane(), most = 0;
                if (pending)
                    for (u32 k = e, end = min_of(have, e + ORDER_REACH); k < end; k++) {
                        u32 b = own[k * WARP + lane()] & 31u;
                        u32 rest = full >> b & 1u ? 0 : load_volatile(left + b);
                        if (rest > most) {
                            most = rest;
                            pick = k;
                            bank = b;
                        }
                    }
                __syncwarp();
                // The first of those that want a bank, counted from another lane every step.
                u32 same = match_any(bank), from = e * 5 & 31u;
                u32 winner = ((u32)__ffs((i32)__funnelshift_r(same, same, from)) - 1 + from) & 31u;
                bool won = pick != NO_VERTEX && winner == lane();
                if (won) {
                    u16 other = own[e * WARP + lane()];
                    own[e * WARP + lane()] = own[pick * WARP + lane()];
                    own[pick * WARP + lane()] = other;
                    pending = false;
                    left[bank]--;
                }
                u32 taken = __reduce_or_sync(FULL, won ? 1u << bank : 0u);
                twice |= once & taken;
                once |= taken;
            }
        if (banks && pending) atomicSub(left + (own[e * WARP + lane()] & 31u), 1u);
        __syncwarp();
        u32 bank = once == FULL ? 0 : (u32)__ffs((i32)~once) - 1;
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
    u32* left = (u32*)shared_memory() + threadIdx.x / WARP * (WARP + WARP * ORDER_STEPS / 2);
    u16* own = (u16*)(left + WARP);
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
            order_window(p, own, left, steps, have);
            __syncwarp();
            for (u32 e = 0; e < steps; e++) entries[entry_place(quads, lane(), first + e)] = own[e * WARP + lane()];
            __syncwarp();
        }
    }
}
}  // namespace bg
