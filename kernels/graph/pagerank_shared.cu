// PageRank with the operand in shared memory, f32, one block a multiprocessor; the layout is that of pagerank_tiles.cuh.
//
// window   natural order, one column; blocks exchange the borders of their windows
// grid     vertices dealt anew, several columns; blocks exchange partial sums in their group, then shares in their column
//
// Needs even teleport, and dangling vertices that either have no arcs at all or drop their score: then the mass of an iteration is
// known beforehand, and blocks wait only for those whose values they read. Scores are never negative, so that the sign bit can tell
// rounds apart.
//
// A block's change of an iteration comes from its old shares, which are in shared memory until the new ones replace them. Its warps
// leave their parts there, and one of them tells the grid. With a tolerance all blocks wait for the residual in the next iteration, behind
// the sweep, which takes as long; it is left there if the one before has converged, whose scores are its shares over their weights. An
// iteration without a look does nothing of this. Results repeat bit for bit.
#include "graph/pagerank_looks.cuh"
#include "graph/pagerank_shared.cuh"

namespace bg {
enum RankForm : u32 { WINDOW, GRID };

/// Residuals are added in units of 2^-53; above them is the number of blocks that have.
constexpr f64 RESIDUAL_ONE = 9007199254740992.0;
constexpr u32 COUNT_SHIFT = 55;
constexpr u64 RESIDUAL_MASK = (1ull << COUNT_SHIFT) - 1;
/// In the place of the next iteration to look at.
constexpr u32 CONVERGED = 0xffffffffu;
/// Looks whose residuals are in flight.
constexpr u32 RESIDUAL_TURNS = 6;

/// Of a look, counted from 0: there may be none in an iteration.
BG_DEVICE u64* residual_word(GridState* state, u32 look) { return (u64*)(state->reserved + 1) + look % RESIDUAL_TURNS; }

/// The residual of a look, in fixed point, once all blocks have added to it; `seen` is what the word was a while ago.
BG_DEVICE u64 await_residual(const SharedRankParams& p, u32 look, u64 seen, u32* over) {
    const u64* word = residual_word(p.state, look);
    Wait wait(p.state, over);
    while (seen >> COUNT_SHIFT != gridDim.x && wait.more()) seen = load_volatile(word);
    return seen & RESIDUAL_MASK;
}

/// Writes a block's four sums at place `i` of its positions as scores.
BG_DEVICE void write_scores(const SharedRankParams& p, u32 position, float4 y) {
    const f32 value[4] = {y.x, y.y, y.z, y.w};
    for (u32 k = 0; k < 4; k++) {
        u32 v = p.vertex ? p.vertex[position + k] : position + k;
        if (v < p.vertices) p.scores[v] = value[k];
    }
}

/// Vectors of four shares to x, from number `skip_from` on `skip` further, once they are of the round. Many loads that come too early
/// would only be in the way of what they wait for, so few are waited for at first. Blocks begin at `turned`, each elsewhere.
BG_DEVICE void await_shares(const SharedRankParams& p, const f32* from, f32* x, u32 count, u32 turned, u32 skip_from, u32 skip, u32 tag, u32* over) {
    constexpr u32 AHEAD = 4;
    auto place = [&](u32 i) {
        i += turned;
        if (i >= count) i -= count;
        return i < skip_from ? i : i + skip;
    };
    auto take = [&](u32 at, uint4 words) {
        Wait wait(p.state, over);
        while (is_stale(words, tag) && wait.more()) words = load_volatile4(from + 4 * at);
        ((uint4*)x)[at] = make_uint4(words.x & ~TAG, words.y & ~TAG, words.z & ~TAG, words.w & ~TAG);
    };
    u32 first = threadIdx.x;
    if (p.samples) {
        // A few threads wait for vectors from everywhere; then nearly all are there.
        if (threadIdx.x < p.samples && threadIdx.x < count) {
            u32 at = place((u32)((u64)threadIdx.x * count / min_of(p.samples, count)));
            Wait wait(p.state, over);
            for (uint4 words = load_volatile4(from + 4 * at); is_stale(words, tag) && wait.more();) words = load_volatile4(from + 4 * at);
        }
        __syncthreads();
    } else {
        if (first < count) {
            u32 at = place(first);
            take(at, load_volatile4(from + 4 * at));
        }
        first += blockDim.x;
    }
    for (u32 i = first; i < count; i += AHEAD * blockDim.x) {
        uint4 words[AHEAD];
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++)
            if (i + k * blockDim.x < count) words[k] = load_volatile4(from + 4 * place(i + k * blockDim.x));
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++)
            if (i + k * blockDim.x < count) take(place(i + k * blockDim.x), words[k]);
    }
}

template <u32 FORM, bool RESIDENT> BG_DEVICE void shared_rank(const SharedRankParams& p) {
    static_assert(16 + WARP * sizeof(u64) + sizeof(ResidualLooks) <= RANK_HEADER, "the header must fit");
    u8* memory = shared_memory();
    u32* over = (u32*)memory;
    u32* decided = over + 1;
    u64* parts = (u64*)(memory + 16);  // what each warp adds to a residual
    ResidualLooks* residuals = (ResidualLooks*)(parts + WARP);  // the first thread's
    const RankTile tile = p.tiles[blockIdx.x];
    const u32 C = p.columns, group = blockIdx.x / C, column = blockIdx.x - group * C, room = p.x_room + 32;
    const u32 warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    f32* x = (f32*)(memory + RANK_HEADER);
    f32* sums = x + room;
    f32* own_weight = sums + p.sum_room;
    u32* resident = (u32*)(own_weight + p.own_room);
    const u32* data = p.data + (u64)tile.data_at * 4;
    if constexpr (RESIDENT) {
        for (u32 i = threadIdx.x; i < tile.words / 4; i += blockDim.x) ((uint4*)resident)[i] = load_readonly((const uint4*)data + i);
        data = resident;
    }
    const f32 d = (f32)p.damping, even = 1.0f / (f32)p.vertices;
    // Of a share: damping / outdegree; 1 for a dangling vertex, and 0 where there is none.
    auto weight_of = [&](f32 inverse) { return inverse > 0 ? d * inverse : -inverse; };
    for (u32 i = threadIdx.x; i < p.sum_room; i += blockDim.x) sums[i] = 0;
    for (u32 i = threadIdx.x; i < tile.own_count; i += blockDim.x) own_weight[i] = weight_of(p.inverse[tile.own_from + i]);
    for (u32 i = threadIdx.x; i < tile.x_count; i += blockDim.x) x[i] = even * weight_of(p.inverse[tile.x_from + i]);
    if (threadIdx.x < 32) x[p.x_room + threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        *over = *decided = 0;
        *residuals = ResidualLooks(p.tolerance, p.max_iterations);
    }
    const bool watch = p.tolerance > 0.0;
    const f64 isolated = (f64)p.lost / p.vertices;
    f64 mass = 1.0 - p.damping + p.damping * isolated, mass_before = 1.0;
    u32 cancel = 0, answer = p.max_iterations - 1;
    Looks looks;
    // Tells the grid this block's part of the residual of an iteration, after a barrier of the block. Vertices without a position move
    // together with the mass.
    auto tell_residual = [&](u32 iteration, u32 look) {
        if (warp != warps - 1) return;
        u64 add = warp_sum_fixed(lane() < warps ? parts[lane()] : 0ull);
        if (lane() > 0) return;
        if (blockIdx.x == 0) add += (u64)(magnitude(mass - mass_before) * p.isolated_count / p.vertices * RESIDUAL_ONE);
        add += 1ull << COUNT_SHIFT;
        const u64 total = atomicAdd(residual_word(p.state, look), add) + add;
        if (iteration + 1 == p.max_iterations && total >> COUNT_SHIFT == gridDim.x) p.result->residual = (total & RESIDUAL_MASK) << 7;
    };
    // The iteration from which on residuals are formed; looks; whether the last iteration was one.
    u32 next_look = watch ? 0 : p.max_iterations - 1, told = 0;
    bool looked = false;
    __syncthreads();

    for (u32 it = 0;; it++) {
        const bool last = it + 1 == p.max_iterations;
        const f32 base = (f32)mass * even;
        u64 seen = 0;
        if (looked && threadIdx.x == 0) seen = load_volatile(residual_word(p.state, told - 1));
        f32* shares = p.shares[it & 1];
        const u32 tag = tag_of(p.share_rounds[it & 1] + (it >> 1));
        // A window without an inside tells its borders as soon as they are known.
        const bool tell = FORM == WINDOW && p.early && !last;
        auto keep_sum = [&](u32 row, f32 sum) { sums[row] = sum; };
        if (tell) {
            auto emit = [&](u32 row, f32 sum) {
                sums[row] = sum;
                if (row < tile.own_count && (row < p.halo || row + p.halo >= tile.own_count))
                    store_volatile((u32*)(shares + tile.own_from + row), tagged(own_weight[row] * (sum + base), tag));
            };
            sweep_slices<RESIDENT>(data, tile, x, tile.slices, NO_VERTEX, 0, emit);
        } else {
            // The inside of a window was summed while its borders were on their way.
            const u32 inner = FORM == WINDOW && it > 0 ? tile.inner : 0;
            sweep_slices<RESIDENT>(data, tile, x, tile.slices - inner, tile.inner_from, inner, keep_sum);
        }
        if (threadIdx.x == 0) {
            if (looked) {
                const u64 fixed = await_residual(p, told - 1, seen, over);
                const f64 residual = (f64)fixed / RESIDUAL_ONE;
                if (residual < p.tolerance) {
                    *decided = CONVERGED;
                    if (blockIdx.x == 0) p.result->residual = fixed << 7;
                } else {
                    residuals->saw(it - 1, residual);
                    *decided = residuals->next;
                }
                // All have added to the word of this look, after they had read that of the one before: no thread looks at that any more.
                if (blockIdx.x == 0 && told >= 2) *residual_word(p.state, told - 2) = 0;
            }
            if (blockIdx.x == 0) {
                if (cancel) {
                    p.state->stopped = 1;
                    *over = 1;
                }
                if (p.link.cancel && looks.due()) {
                    cancel = load_volatile(p.link.cancel);
                    store_volatile(p.link.progress, it);
                }
            }
        }
        __syncthreads();
        if (load_volatile(over)) return;
        if (looked) {
            next_look = load_volatile(decided);
            if (next_look == CONVERGED) {
                answer = it - 1;
                mass = mass_before;
                break;
            }
        }
        const bool measure = it >= next_look;

        f32* own = x + (tile.own_from - tile.x_from);
        f32 change = 0;
        auto add_change = [&](f32 share, f32 before, f32 weight) {
            if (weight > 0) change += change_of(share, before, weight);
        };
        if (FORM == GRID) {
            // To each column of the group the sums of its rows, then own rows from all.
            const u32 tag_partial = tag_of(p.partial_rounds[it & 1] + (it >> 1)), part4 = p.part / 4;
            f32* partials = p.partials[it & 1] + (u64)group * C * C * p.part;
            for (u32 i = threadIdx.x; i < C * part4; i += blockDim.x) {
                u32 to = i / part4, k = i - to * part4;
                if (to == column) continue;
                float4 s = ((const float4*)sums)[i];
                uint4 words = make_uint4(tagged(s.x, tag_partial), tagged(s.y, tag_partial), tagged(s.z, tag_partial), tagged(s.w, tag_partial));
                store_volatile4(partials + ((u64)to * C + column) * p.part + 4 * k, words);
            }
            const u32* inbox = (const u32*)partials + (u64)column * C * p.part;
            for (u32 i = threadIdx.x; i < tile.own_count; i += blockDim.x) {
                u32 words[MOST_COLUMNS - 1];
#pragma unroll
                for (u32 k = 0; k < MOST_COLUMNS - 1; k++)
                    if (k + 1 < C) words[k] = load_volatile(inbox + (k + (k >= column)) * p.part + i);
                f32 y = sums[column * p.part + i] + base;
#pragma unroll
                for (u32 k = 0; k < MOST_COLUMNS - 1; k++)
                    if (k + 1 < C) {
                        Wait wait(p.state, over);
                        while (is_stale(words[k], tag_partial) && wait.more()) words[k] = load_volatile(inbox + (k + (k >= column)) * p.part + i);
                        y += untagged(words[k]);
                    }
                const u32 position = tile.own_from + i;
                const f32 weight = own_weight[i], share = weight * y;
                if (measure) add_change(share, own[i], weight);
                if (!last) store_volatile((u32*)(shares + position), tagged(share, tag));
                if (last) {
                    u32 v = p.vertex[position];
                    if (v != NO_VERTEX) p.scores[v] = y;
                }
            }
        } else {
            for (u32 i = 4 * threadIdx.x; i < tile.own_count; i += 4 * blockDim.x) {
                const u32 position = tile.own_from + i;
                float4 y = *(const float4*)(sums + i);
                const float4 weight = *(const float4*)(own_weight + i), before = *(const float4*)(own + i);
                y = make_float4(y.x + base, y.y + base, y.z + base, y.w + base);
                const float4 share = make_float4(y.x * weight.x, y.y * weight.y, y.z * weight.z, y.w * weight.w);
                if (!last) {
                    *(float4*)(own + i) = share;
                    if (!p.early && (i < p.halo || i + 4 + p.halo > tile.own_count))
                        store_volatile4(shares + position, make_uint4(tagged(share.x, tag), tagged(share.y, tag), tagged(share.z, tag), tagged(share.w, tag)));
                }
                if (measure) {
                    add_change(share.x, before.x, weight.x);
                    add_change(share.y, before.y, weight.y);
                    add_change(share.z, before.z, weight.z);
                    add_change(share.w, before.w, weight.w);
                }
                if (last) write_scores(p, position, y);
            }
        }
        if (measure) {
            change = butterfly_sum(change);
            if (lane() == 0) parts[warp] = (u64)((f64)change * RESIDUAL_ONE);
            __syncthreads();
            tell_residual(it, told);
            told++;
        }
        looked = measure;
        if (last) break;

        // What others made of this block's x; own shares of a window are there already.
        const u32 skip_from = FORM == WINDOW ? (tile.own_from - tile.x_from) / 4 : NO_VERTEX, skip = FORM == WINDOW ? tile.own_count / 4 : 0;
        if (FORM == WINDOW && tile.inner > 0) {
            __syncthreads();
            sweep_slices<RESIDENT>(data, tile, x, tile.inner, 0, tile.inner_from, keep_sum);
        }
        // Whole lines, so that a warp's loads touch no more of them than they must.
        const u32 count = tile.x_count / 4 - skip, turned = FORM == GRID ? (u32)((u64)count * group / p.groups) & ~31u : 0;
        // Without samples the first shares are taken at once, while slower warps may still read the old ones.
        if (FORM == GRID && !p.samples) __syncthreads();
        await_shares(p, shares + tile.x_from, x, count, turned, skip_from, skip, tag, over);
        __syncthreads();
        mass_before = mass;
        mass = 1.0 - p.damping + p.damping * isolated * mass;
    }

    if (answer + 1 < p.max_iterations) {
        // All of them are in shared memory. Where damping leaves next to nothing of a share, the score is what all have.
        constexpr f32 SMALLEST_WEIGHT = 1e-30f;
        const f32* own = x + (tile.own_from - tile.x_from);
        for (u32 i = threadIdx.x; i < tile.own_count; i += blockDim.x) {
            const u32 v = p.vertex ? p.vertex[tile.own_from + i] : tile.own_from + i;
            if (v < p.vertices) p.scores[v] = own_weight[i] > SMALLEST_WEIGHT ? own[i] / own_weight[i] : (f32)mass * even;
        }
    }
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.isolated_count; i += gridDim.x * blockDim.x) p.scores[p.isolated[i]] = (f32)mass * even;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        p.result->iterations = answer + 1;
        p.state->steps = answer + 1;
    }
}

BG_KERNEL(pagerank_window, SharedRankParams, 1024, 1) { shared_rank<WINDOW, true>(p); }
BG_KERNEL(pagerank_window_streamed, SharedRankParams, 1024, 1) { shared_rank<WINDOW, false>(p); }
BG_KERNEL(pagerank_grid, SharedRankParams, 1024, 1) { shared_rank<GRID, true>(p); }
BG_KERNEL(pagerank_grid_streamed, SharedRankParams, 1024, 1) { shared_rank<GRID, false>(p); }
}  // namespace bg
